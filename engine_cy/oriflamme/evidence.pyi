from collections.abc import Sequence
from pathlib import Path
from typing import Final

from engine_cy.action_log import History
from engine_cy.values import Position, View

VERSION: Final[int]
SIZES: Final[dict[str, int]]
BELIEFS: Final[Path]

def set_weights(name: str, bare: Sequence[float], told: Sequence[float], factors: Sequence[float]) -> None:
    """Replace weights for a set such as 'oriflamme-3'; only the fitting does so, before anybody else looks."""

def load_weights(path: Path = ...) -> None:
    """Read the weights from a file."""

def traces(
    view: View, player: int, history: History
) -> tuple[list[int], list[int], int, list[int], list[tuple[int, list[list[int]], list[float], list[float]]]]:
    """For the fitting: what speaks for `player`'s cards being where, before it is weighed.

    The game's numbers of the kinds that may be anywhere, and how many of each; how many cards are in hand; for each
    kind the number of its trace in hand; and for each spot its number and for each kind the numbers of the traces, and
    what the history says of its placement and of its being left.
    """

def secrets(position: Position, player: int, spots: list[int]) -> tuple[list[int], list[int]]:
    """For the fitting: the kinds of `player`'s cards in these spots, and of those in his hand."""
