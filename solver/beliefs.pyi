from typing import Literal, Self, overload

from engine_cy import Position, Rng, View
from engine_cy.action_log import History

class WorldSampler:
    """Sample worlds for a search.

    Searches on several threads may share an instance after `prepare`, unless its class excludes that.
    """

    @property
    def view(self) -> View: ...
    def prepare(self) -> None:
        """Build the tables for sampling. Marginals do not need them."""

    def sample_world(self, seed: int | Rng = 0) -> Position:
        """Sample a position by its posterior probability; `seed` is a number or an Rng."""

class Belief(WorldSampler):
    """Hold the posterior over the worlds that fit a view, given the table and, if present, the history.

    `trust` is the exponent of all weights: 1 uses them as learned, 0 makes all worlds equally likely.
    """

    def __new__(cls, view: View, history: History | None = None, trust: float = 1.0) -> Self: ...
    @property
    def trust(self) -> float: ...
    @overload
    def chances(
        self, player: int, named: Literal[False] = ...
    ) -> tuple[dict[int, dict[int, float]], dict[int, float]] | None:
        """Return the marginals of a player's hidden cards, or None if their secrets are too many to weigh.

        The first dictionary has, for each spot by the game's number for it, the probability of each kind; the second
        has the expected number of cards of each kind in hand. Keys are the game's numbers of kinds, or names if
        `named`, in the order of the numbers.
        """

    @overload
    def chances(
        self, player: int, named: Literal[True]
    ) -> tuple[dict[int, dict[str, float]], dict[str, float]] | None: ...
    @property
    def effective_worlds(self) -> float:
        """The effective number of worlds: 1 / the sum of their squared probabilities."""

class SecretCard(WorldSampler):
    """Sample worlds in which the other players do not know one of the observer's face-down cards.

    The card is of a kind sampled from the others' marginal. If that is not its true kind, it swaps places with a card
    of that kind, wherever the observer has it. Worlds with the true kind come in the same order as from the belief
    alone. Only one search at a time may use an instance.
    """

    def __new__(cls, belief: Belief, spot: int, seed: int = 0) -> Self: ...
    @property
    def guessed(self) -> float:
        """The other players' probability that the card is of its true kind."""

def own_spots(view: View) -> list[tuple[int, int]]:
    """Return the observer's face-down cards: the game's numbers of each spot and of the kind that lies there."""
