from typing import Final

from engine_cy.action_log import History
from engine_cy.learned.weights import Weights
from engine_cy.values import Position, View

BELIEFS: Final[Weights]
STYLES: Final[tuple[str, ...]]  # of play
EACH: Final[int]  # traces of a card in a spot

def traces(
    view: View, player: int, history: History
) -> tuple[list[int], list[int], int, list[int], list[tuple[int, list[list[int]], list[float], list[float]]]]:
    """Return the unweighted evidence on the hidden cards of `player`, for training.

    The tuple holds the game's numbers of the hidden kinds, the number of cards of each, the number of cards in hand,
    and for each kind the index of its trace in hand. Its last item lists for each spot its number and, for each kind,
    the indices of its traces and the logged evidence from its placement and from being kept.
    """

def style_facts(view: View, player: int, history: History) -> list[float]:
    """Return the facts that speak for a player's style, for training."""

def secrets(position: Position, player: int, spots: list[int]) -> tuple[list[int], list[int]]:
    """Return the kinds of `player`'s cards in these spots and in hand, for training."""
