from array import array
from collections.abc import Sequence
from typing import Self

from engine_cy.values import Game, Position

def set_name(game: Game) -> str:
    """Return the name of the set of weights for `game`, such as `oriflamme-3`."""

def features_of(position: Position) -> tuple[int, tuple[tuple[float, ...], ...]]:
    """Return the index of the row of weights for `position`, and the features of each seat."""

def contest(game: Game, games: int, seed: int, seats: int) -> float:
    """Return the share of the wins of `seats` (bit p: player p), who play by the playout policy against random play."""

class PositionList:
    """Positions of games of one set, as a fit reads them: rows of weights, features of all seats, payoffs to learn."""

    def __new__(cls, game: Game) -> Self: ...
    def add(self, position: Position, payoffs: Sequence[float]) -> None:
        """Add a position with the payoffs to learn, such as those of the end of its game."""

    def arrays(self) -> tuple[bytes, bytes, bytes, bytes, bytes]:
        """Return the positions as bytes.

        These are the rows (int32), the number of features of each seat (int32), their numbers (uint16), their values
        (float32), and the payoffs of each seat (float64).
        """

class SelfPlay:
    """Self-play of a policy, for training: of playouts, or the prior.

    A share `strangers` of the seats plays its game at random, a share `veterans` by an earlier policy (`remember`).
    """

    def __new__(
        cls, game: Game, seed: int, strangers: float, veterans: float = 0.0, *, of_prior: bool = False
    ) -> Self: ...
    def remember(self, marks: Sequence[float]) -> None:
        """Add a policy, by the weights of its marks, to the earlier ones."""

    def contest(self, games: int, seats: int) -> float:
        """Return the share of the wins of `seats` (bit p: player p), who play by the policy.

        The others play by the earlier policies that `remember` added.
        """

    def gradient(self, games: int, trust: float, heat: float) -> array[float]:
        """Return the policy gradient by the weights of the marks, summed over `games`, as doubles.

        The advantage of a player's actions in a stage is a value after them minus the evaluation before the stage. The
        value mixes the evaluation after the stage (share `trust`) and the payoff. `heat` is the weight of the entropy:
        at the optimum, an action that wins `heat` less often than another is e times less probable.
        """

    def positions(self, games: int, midway: float) -> PositionList:
        """Return positions of `games`: all at the beginnings of stages, and a share `midway` of the others."""
