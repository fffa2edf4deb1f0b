from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from engine_cy.values import Game

VERSION: Final[int]
SIZES: Final[dict[str, int]]
WEIGHTS: Final[Path]

def set_name(game: Game) -> str:
    """The set of weights that is used in `game`, such as `castle_village_port-3`."""

def load_weights(path: Path = ...) -> None:
    """Read the weights from a file; done at import. Not while anybody else uses them."""

def set_weights(
    name: str, marks: Sequence[float] | None = None, features: Sequence[Sequence[float]] | None = None
) -> None:
    """Replace weights of a set. Not while anybody else uses them."""

def contest(game: Game, games: int, seed: int, seats: int) -> float:
    """What share of the wins goes to `seats` (bit p: player p), who play as playouts do; the others play at random."""

class SelfPlay:
    """Games of the playouts' policy against itself, to learn from; strangers play at random now and then."""

    def __new__(cls, game: Game, seed: int, strangers: float) -> Self: ...
    def gradient(self, games: int, trust: float, heat: float) -> array[float]:
        """How the weights of the marks should change, summed over `games`, as doubles.

        What a player did in a turn is credited with what he wins beyond what the evaluation gave him before; a share
        `trust` of that is judged by the evaluation after the turn, the rest by the end of the game. `heat` keeps the
        policy mixed: where learning ends, an action that wins `heat` less often than another is taken e times less.
        """

    def positions(self, games: int, midway: float) -> list[tuple[int, bytes, bytes, bytes, tuple[float, ...]]]:
        """Positions at the beginnings of turns of `games`, and of the others a share of `midway`.

        Each as its row, the number of features of each seat (int32), their numbers (uint16), their values (float32),
        and the shares of the win in the end.
        """
