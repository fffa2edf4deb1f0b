from collections.abc import Sequence
from pathlib import Path
from typing import Final

from engine_cy.action_log import History
from engine_cy.values import Position, View

VERSION: Final[int]
SIZES: Final[dict[str, int]]
BELIEFS: Final[Path]

def set_weights(
    name: str, without_account: Sequence[float], with_account: Sequence[float], factors: Sequence[float]
) -> None:
    """Replace the weights of a set such as 'oriflamme-3'. Not thread-safe: no search may run."""

def load_weights(path: Path = ...) -> None:
    """Read the weights from a file; done at import. Not thread-safe: no search may run."""

def traces(
    view: View, player: int, history: History
) -> tuple[list[int], list[int], int, list[int], list[tuple[int, list[list[int]], list[float], list[float]]]]:
    """Return the unweighted evidence on the hidden cards of `player`, for training.

    The tuple holds the game's numbers of the hidden kinds, the number of cards of each, the number of cards in hand,
    and for each kind the index of its trace in hand. Its last item lists for each spot its number and, for each kind,
    the indices of its traces and the account's evidence from its placement and from being kept.
    """

def secrets(position: Position, player: int, spots: list[int]) -> tuple[list[int], list[int]]:
    """Return the kinds of `player`'s cards in these spots and in hand, for training."""
