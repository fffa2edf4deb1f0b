"""Add up the results of several trees with one root, in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import add
from typing import Any


@dataclass(frozen=True, slots=True)
class Tally:
    """Hold the sums over all playouts behind one decision.

    All sums are in one row of numbers, which is cheap to add and to send: a distributed search waits for both. First
    come `visits` and `ended`, then one number per seat for each of `payoffs`, `squares`, `scores`, `score_squares` and
    `leads`, then for each seat one number per rank.
    """

    players: int
    sums: tuple[int | float, ...]

    @property
    def visits(self) -> int:
        return int(self.sums[0])

    @property
    def ended(self) -> int:
        """The visits whose playouts reached the end of the game: the others have no scores, leads and ranks."""
        return int(self.sums[1])

    @property
    def payoffs(self) -> tuple[float, ...]:
        return self._of_seats(0)

    @property
    def squares(self) -> tuple[float, ...]:
        return self._of_seats(1)

    @property
    def scores(self) -> tuple[int, ...]:
        return self._of_seats(2)

    @property
    def score_squares(self) -> tuple[int, ...]:
        return self._of_seats(3)

    @property
    def leads(self) -> tuple[int, ...]:
        return self._of_seats(4)

    @property
    def ranks(self) -> tuple[tuple[int, ...], ...]:
        """For each seat, the number of times it came first, second, ..."""
        return tuple(self._of_seats(_COLUMNS + seat) for seat in range(self.players))

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.players, tuple(map(add, self.sums, other.sums)))

    def _of_seats(self, column: int) -> tuple[Any, ...]:
        begin = _COUNTS + column * self.players
        return self.sums[begin : begin + self.players]


_COUNTS, _COLUMNS = 2, 5  # numbers of the whole decision, and of each seat


def tally_numbers(players: int) -> tuple[int, int, int]:
    """Return the layout of a tally's row: the number of leading integers, of floats, and of trailing integers."""
    return _COUNTS, 2 * players, (_COLUMNS - 2 + players) * players


@dataclass(frozen=True, slots=True)
class Share:
    """Hold the result of one tree: a tally for each decision at the root, in the order of `view.legal_actions()`."""

    tallies: tuple[Tally, ...]
    iterations: int
    worlds: int
    nodes: int
    tree_bytes: int
    stopped_by: str
    # Lines of play behind some of the decisions, by their numbers: a sampled world, as bytes, and the codes of actions.
    lines: tuple[tuple[int, bytes, tuple[tuple[int, ...], ...]], ...] = ()
    # The observer's payoff in each world, as bytes of doubles; for arms of a comparison or an information question.
    payoffs: bytes = b""
    # The number of shares in this sum that did not finish; their partial results are included.
    missing: int = 0
    # A note to the reader of the answer about anything unusual in the search; usually empty.
    note: str = ""


REASONS = ("", "stopped", "time", "confidence", "forced", "lost", "iterations")


def merge(shares: Sequence[Share]) -> Share:
    """Return the sum of all shares. Floating-point sums depend on their order, which is the order of the shares."""
    columns = zip(*(share.tallies for share in shares), strict=True)
    return Share(
        tallies=tuple(reduce(lambda a, b: a + b, column) for column in columns),
        iterations=sum(share.iterations for share in shares),
        worlds=sum(share.worlds for share in shares),
        nodes=sum(share.nodes for share in shares),
        tree_bytes=sum(share.tree_bytes for share in shares),
        lines=shares[0].lines,
        stopped_by=why_ended(shares),
        missing=sum(share.missing for share in shares),
        note=next((share.note for share in shares if share.note), ""),
    )


def why_ended(shares: Sequence[Share]) -> str:
    """Return the most important reason why the shares ended; empty while one still runs."""
    reasons = {share.stopped_by for share in shares}
    return next(reason for reason in REASONS if reason in reasons)


@cache
def empty_share(n_decisions: int, n_players: int, stopped_by: str = "iterations") -> Share:
    """Return a share without visits."""
    counts, fractions, more = tally_numbers(n_players)
    tally = Tally(n_players, (0,) * counts + (0.0,) * fractions + (0,) * more)
    return Share((tally,) * n_decisions, 0, 0, 0, 0, stopped_by)
