from typing import Any, Final, Self, final

from engine_cy.values import Game, View
from solver.beliefs import WorldSampler
from solver.config import SearchParameters

CHECKED: Final[bool]  # whether this build makes the checks of debug_checks.pxd

SMALLEST_TREE_BYTES: Final[int]

def bytes_beside_tree(decisions: int) -> int:
    """Bytes that a searcher takes beside its tree: its own, and those of its tallies."""

@final
class Searcher:
    """One tree, grown from one view by one thread at a time."""

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
        """`among` are the decisions at the root that are considered, by their steps: all legal ones if it is empty.
        `only` is one that is taken without a choice. `records` keeps the observer's payoff of each world."""

    @property
    def game(self) -> Game: ...
    @property
    def observer(self) -> int: ...
    @property
    def iterations(self) -> int: ...
    @property
    def counted(self) -> int:
        """Of the iterations, those whose worlds fit the view."""

    @property
    def worlds(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def edges(self) -> int: ...
    @property
    def tree_bytes(self) -> int:
        """Bytes that the tree takes."""

    @property
    def used_bytes(self) -> int:
        """Bytes of the nodes and edges that are there, without the room for more."""

    def stop(self) -> None:
        """Have the search end soon; from any thread."""

    def run(self, iterations: int, nanoseconds: int = 0, thread_time: bool = False) -> str:
        """Search on for so many worlds that fit the view, or until the time is up (0: no limit) or `stop` is called;
        return which of them it was. The clock is the monotonic one, or counts what this thread alone computes."""

    def recorded_payoffs(self, begin: int = 0) -> bytes:
        """The observer's payoffs in the worlds that counted, from number `begin` on, as bytes of doubles; only where
        `records` was asked for."""

    def follow(self, view: View, taken: list[tuple[int, tuple[int, ...]]], belief: WorldSampler | None = None) -> None:
        """Go on from `view`, a later one of the same game, with the tree as it is. `taken` is what was done since, each
        the player and the steps as the observer saw them: nodes that still mean the same are found again."""

    def line(self, decision: tuple[int, ...], longest: int, seed: int) -> tuple[bytes, list[tuple[int, ...]]]:
        """How play is likely to go on behind a decision: a world, as bytes, and the steps of each whole decision there,
        each the most tried one, as far as enough was tried; chance as it falls."""

    def rule_of_thumb(self) -> tuple[int, ...]:
        """The decision that the game's knowledge takes at once: its steps."""

    def results(self) -> list[tuple[Any, ...]]:
        """For each whole decision at the root, in the order of `view.legal_actions()` or of `among`: all sums, as a row
        of plain numbers, see `solver.merge.Tally`. If the observer is not to act: once, for all that others may do."""
