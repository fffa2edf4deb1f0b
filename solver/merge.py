"""Adds up what several trees found at one root, in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import add
from typing import Any


@dataclass(frozen=True, slots=True)
class Tally:
    """What the playouts behind one decision came to, added up.

    All sums are one row of numbers, which is added and sent as it is: a distributed search waits for that. First come
    `visits` and `ended`, then a number a seat of each of `payoffs`, `squares`, `scores`, `score_squares` and `leads`,
    then for each seat, a number a rank.
    """

    players: int
    sums: tuple[int | float, ...]

    @property
    def visits(self) -> int:
        return int(self.sums[0])

    @property
    def ended(self) -> int:
        """Of the visits, the playouts that went to the end: the others have no scores, leads and ranks."""
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
        """For each seat how often it came first, second, ..."""
        return tuple(self._of_seats(_COLUMNS + seat) for seat in range(self.players))

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.players, tuple(map(add, self.sums, other.sums)))

    def _of_seats(self, column: int) -> tuple[Any, ...]:
        begin = _COUNTS + column * self.players
        return self.sums[begin : begin + self.players]


_COUNTS, _COLUMNS = 2, 5  # of the whole decision, and of each seat


def tally_numbers(players: int) -> tuple[int, int, int]:
    """Of a tally's row: how many counts come first, then how many numbers with fractions, then how many counts."""
    return _COUNTS, 2 * players, (_COLUMNS - 2 + players) * players


@dataclass(frozen=True, slots=True)
class Share:
    """What one tree found: a tally for each decision at the root, in the order of `view.legal_actions()`."""

    tallies: tuple[Tally, ...]
    iterations: int
    worlds: int
    nodes: int
    tree_bytes: int
    stopped_by: str
    # Lines of play behind some of the decisions, by their numbers: each step is a seat and the code of its action.
    lines: tuple[tuple[int, tuple[tuple[int, tuple[int, ...]], ...]], ...] = ()
    # Of an arm of a comparison: what each world paid the observer, as bytes of doubles.
    payoffs: bytes = b""
    # How many of the shares added up here did not come to their end: what was found of them until then counts.
    missing: int = 0
    # What somebody who reads the answer should know of how it came about; empty: nothing unusual.
    note: str = ""


REASONS = ("", "stopped", "time", "confidence", "forced", "lost", "iterations")


def merge(shares: Sequence[Share]) -> Share:
    """All shares as one. Floating-point sums depend on their order, which is that of the shares."""
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
    """Return the most important reason why a search ended; empty while a share goes on."""
    reasons = {share.stopped_by for share in shares}
    return next(reason for reason in REASONS if reason in reasons)


@cache
def empty_share(n_decisions: int, n_players: int, stopped_by: str = "iterations") -> Share:
    """What is known without a search."""
    counts, fractions, more = tally_numbers(n_players)
    tally = Tally(n_players, (0,) * counts + (0.0,) * fractions + (0,) * more)
    return Share((tally,) * n_decisions, 0, 0, 0, 0, stopped_by)
