from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from engine_cy.values import Game

VERSION: Final[int]
SIZES: Final[dict[str, int]]
WEIGHTS: Final[Path]

def set_name(game: Game) -> str:
    """Return the name of the set of weights for `game`, such as `castle_village_port-3`."""

def load_weights(path: Path = ...) -> None:
    """Read the weights from a file; done at import. Not thread-safe."""

def set_weights(
    name: str, marks: Sequence[float] | None = None, features: Sequence[Sequence[float]] | None = None
) -> None:
    """Replace weights of a set such as `castle_village_port-3`. Not thread-safe: for the fitting."""

def contest(game: Game, games: int, seed: int, seats: int) -> float:
    """Return the share of wins of `seats` (bit p: player p), which play as playouts do; the others play at random."""

class SelfPlay:
    """Games of the playouts' policy against itself, for learning; now and then a seat, a stranger, plays at random.

    `strangers` is the probability that a seat does so for a game.
    """

    def __new__(cls, game: Game, seed: int, strangers: float) -> Self: ...
    def gradient(self, games: int, trust: float, heat: float) -> array[float]:
        """Return the gradient of the weights of the marks, summed over `games`, as doubles.

        The credit for a player's actions in a turn is their share of the win minus the evaluation before the turn. A
        fraction `trust` of the credit takes the evaluation after the turn in place of the result. `heat` keeps the
        policy mixed: once learning converges, an action that wins `heat` less often than another is e times rarer.
        """

    def positions(self, games: int, midway: float) -> list[tuple[int, bytes, bytes, bytes, tuple[float, ...]]]:
        """Return positions of `games`: all at the beginnings of turns, and a fraction `midway` of the others.

        Each is (row, number of features of each seat, their numbers, their values, shares of the win in the end), the
        middle three as bytes of int32, uint16 and float32.
        """
