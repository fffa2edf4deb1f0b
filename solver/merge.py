"""Adds up what several trees found at one root, in a fixed order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TypeVar

N = TypeVar("N", int, float)
Sums = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """What the playouts behind one decision came to, added up; all but the counts a number a seat."""

    visits: int
    ended: int  # of these, the playouts that went to the end: the others have no scores, leads and ranks
    payoffs: Sums
    squares: Sums
    scores: tuple[int, ...]
    score_squares: tuple[int, ...]
    leads: tuple[int, ...]
    ranks: tuple[tuple[int, ...], ...]

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.visits + other.visits,
            self.ended + other.ended,
            _add(self.payoffs, other.payoffs),
            _add(self.squares, other.squares),
            _add(self.scores, other.scores),
            _add(self.score_squares, other.score_squares),
            _add(self.leads, other.leads),
            tuple(map(_add, self.ranks, other.ranks)),
        )


def _add(a: tuple[N, ...], b: tuple[N, ...]) -> tuple[N, ...]:
    return tuple(map(add, a, b))


@dataclass(frozen=True, slots=True)
class Share:
    """What one tree found: a tally for each decision at the root, in the order of `view.legal_actions()`."""

    tallies: tuple[Tally, ...]
    iterations: int
    worlds: int
    nodes: int
    tree_bytes: int
    stopped_by: str
    # Lines of play behind some of the decisions, by their numbers.
    lines: tuple[tuple[int, tuple[str, ...]], ...] = ()
    # How many of the shares added up here did not come to their end: what was found of them until then counts.
    missing: int = 0
    # What somebody who reads the answer should know of how it came about; empty: nothing unusual.
    note: str = ""


_REASONS = ("", "stopped", "time", "confidence", "forced", "lost", "iterations")


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
        stopped_by=_why(shares),
        missing=sum(share.missing for share in shares),
        note=next((share.note for share in shares if share.note), ""),
    )


def _why(shares: Sequence[Share]) -> str:
    """What most of all made the end come when it did; empty while a share goes on."""
    reasons = {share.stopped_by for share in shares}
    return next(reason for reason in _REASONS if reason in reasons)


def empty_share(n_decisions: int, n_players: int) -> Share:
    """What is known without a search."""
    zeros, counts = (0.0,) * n_players, (0,) * n_players
    tally = Tally(0, 0, zeros, zeros, counts, counts, counts, (counts,) * n_players)
    return Share((tally,) * n_decisions, 0, 0, 0, 0, "iterations")
