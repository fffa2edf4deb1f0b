from typing import Literal, Self, overload

from engine_cy import Position, Rng, View
from engine_cy.action_log import History

class WorldSampler:
    """A source of worlds for a search. Searches on several threads may share it once it is ready, unless it says
    otherwise."""

    @property
    def view(self) -> View: ...
    def get_ready(self) -> None:
        """Build the tables for sampling. Marginals do not need them."""

    def sample_world(self, seed: int | Rng = 0) -> Position:
        """Sample one of the positions, as likely as it seems; `seed` is a number or an Rng."""

class Belief(WorldSampler):
    """How likely the worlds are that fit a view: from what the table shows, and a history if there is one.

    `trust` is the power that all weights are raised to: 1 takes them as they were learned, 0 makes all worlds alike.
    """

    def __new__(cls, view: View, history: History | None = None, trust: float = 1.0) -> Self: ...
    @property
    def trust(self) -> float: ...
    @overload
    def chances(
        self, player: int, named: Literal[False] = ...
    ) -> tuple[dict[int, dict[int, float]], dict[int, float]] | None:
        """What `player` hides: for each spot, by the game's number for it, how likely each kind is; and how many of
        each kind are in his hand in the mean. Kinds are numbers of the game, or named, in the order of their numbers.
        None: it is too much to be weighed."""

    @overload
    def chances(
        self, player: int, named: Literal[True]
    ) -> tuple[dict[int, dict[str, float]], dict[str, float]] | None: ...
    @property
    def effective_worlds(self) -> float:
        """How many worlds, all as likely, would leave as much open: 1 / the sum of the squares of their chances."""

class SecretCard(WorldSampler):
    """Worlds in which the other players do not know one of the observer's face-down cards: it is of the kinds that they
    may take it for, as often as they do.

    A card of another kind changes places with the true one, wherever the observer has that. All other worlds come in
    the order in which the belief alone draws them. One search at a time may use it.
    """

    def __new__(cls, belief: Belief, spot: int, seed: int = 0) -> Self: ...
    @property
    def guessed(self) -> float:
        """How likely the card is of its true kind, to who does not see it."""

def own_spots(view: View) -> list[tuple[int, int]]:
    """The observer's own face-down cards: the game's number of each spot, and of the kind that lies there."""
