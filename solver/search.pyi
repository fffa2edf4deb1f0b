from typing import Any, Final, Self, final

from engine_cy.values import Game, View
from solver.beliefs import WorldSampler
from solver.config import SearchParameters

CHECKED: Final[bool]  # whether this build makes the checks of debug_checks.pxd

SMALLEST_TREE_BYTES: Final[int]

def bytes_beside_tree(decisions: int) -> int:
    """Return the size of a searcher without its tree, in bytes: its own fields and its tallies."""

@final
class Searcher:
    """Grow a tree from one view, on one thread at a time."""

    def __new__(
        cls,
        view: View,
        settings: SearchParameters,
        bytes_max: int,
        seed: int,
        stream: int,
        only: tuple[int, ...] = (),
        belief: WorldSampler | None = None,
        among: tuple[tuple[int, ...], ...] = (),
        records: bool = False,
    ) -> Self:
        """Create a searcher with an empty tree.

        `among` are the decisions to consider at the root, by their steps; empty: all legal ones. `only` is a decision
        that every iteration takes. `records` keeps the observer's payoff in each world.
        """

    @property
    def game(self) -> Game: ...
    @property
    def observer(self) -> int: ...
    @property
    def iterations(self) -> int: ...
    @property
    def counted(self) -> int:
        """The number of iterations in worlds that fit the view."""

    @property
    def worlds(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def edges(self) -> int: ...
    @property
    def tree_bytes(self) -> int:
        """The allocated size of the tree in bytes."""

    @property
    def used_bytes(self) -> int:
        """The size of the nodes and edges in bytes, without the spare capacity."""

    def stop(self) -> None:
        """End the search soon; any thread may call this."""

    def run(self, iterations: int, nanoseconds: int = 0, thread_time: bool = False) -> str:
        """Search in more worlds that fit the view, until a limit; return "iterations", "time" or "stopped".

        The limits are the number of such worlds, the time (0: no limit), and a call of `stop`. The clock is the
        monotonic one, or this thread's CPU time.
        """

    def recorded_payoffs(self, begin: int = 0) -> bytes:
        """Return the observer's payoffs in the worlds that fit the view, from number `begin` on, as bytes of doubles.

        They exist only with `records`.
        """

    def follow(self, view: View, taken: list[tuple[int, tuple[int, ...]]], belief: WorldSampler | None = None) -> None:
        """Continue from `view`, a later one of the same game, with the present tree.

        `taken` are the decisions since, as the observer saw them: the player and the steps of each. Nodes with the same
        key keep their statistics.
        """

    def line(self, decision: tuple[int, ...], longest: int, seed: int) -> tuple[bytes, list[tuple[int, ...]]]:
        """Return the likely continuation after a decision: a sampled world, as bytes, and the steps of each decision.

        Each decision is the most visited one, as long as one has enough visits; chance is sampled.
        """

    def heuristic_decision(self) -> tuple[int, ...]:
        """Return the steps of the decision of the game's heuristic policy, without a search."""

    def results(self) -> list[tuple[Any, ...]]:
        """Return the sums of each whole decision at the root, as rows of plain numbers: see `solver.merge.Tally`.

        They are in the order of `view.legal_actions()` or of `among`. If the observer is not to act, a single row sums
        over all decisions of others.
        """
