"""Several moves in the same worlds: which is better, and by how much.

What the worlds have in common cancels out, so small differences show. Each move is an arm that is searched on its own;
every arm of a share meets the same worlds in the same order, and differences are taken world by world afterwards.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from engine_cy import Action
from solver.answer import REPRODUCIBLE, Estimate, estimate, knowledge_of
from solver.expected_signature import signature_of
from solver.merge import Share, Tally, why_ended
from solver.numbers import sum_differences
from solver.question import BURST, ComparisonQuestion
from solver.stopping import SURE_AFTER

ZERO = Estimate(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class ComparedMove:
    """A move beside the first one: what it wins, and how much more, in the same worlds.

    Points are only known of the playouts that went to the end, which are not the same ones for both, so the error of
    their difference is that of two means. A value that no world tells is None.
    """

    action: Action
    win: Estimate | None
    points: Estimate | None
    win_difference: Estimate | None
    points_difference: Estimate | None


@dataclass(frozen=True)
class Comparison:
    """The answer to a comparison question: the moves in the order in which they were named."""

    question: ComparisonQuestion
    moves: tuple[ComparedMove, ...]
    # Worlds that all moves met.
    worlds: int
    stopped_by: str  # as in an Answer
    elapsed_ms: float
    # Parts that did not end, as their worker was lost or late.
    missing: int = 0
    note: str = ""

    @property
    def signature(self) -> str:
        return signature_of(self.question.view.game)

    @property
    def iterations(self) -> int:
        return self.worlds * len(self.moves)

    @property
    def reproducible(self) -> bool:
        """Whether the same question has the same answer again."""
        return self.stopped_by in REPRODUCIBLE and not self.missing

    @property
    def knowledge(self) -> str:
        return knowledge_of(self.question)

    def __str__(self) -> str:
        first, *others = self.moves
        lines = [f"{first.action}  ({self.worlds} worlds, {self.elapsed_ms:.0f} ms)"]
        for move in others:
            if (gain := move.win_difference) is not None:
                lines.append(f"  {move.action!s:24} win {100 * gain.mean:+.1f} % ± {100 * gain.error:.1f}")
        return "\n".join(lines)


class Differences:
    """The payoffs of every arm less those of the first one, world by world: their sums and sums of squares."""

    def __init__(self, arms: int) -> None:
        self.worlds = 0
        self._totals = [0.0] * arms
        self._squares = [0.0] * arms

    def add(self, payoffs: Sequence[array[float]], begin: int, end: int) -> None:
        """Add a burst of worlds: the payoffs of each arm there. Floating-point sums depend on the order of bursts."""
        for arm in range(1, len(payoffs)):
            total, squares = sum_differences(payoffs[arm], payoffs[0], begin, end)
            self._totals[arm] += total
            self._squares[arm] += squares
        self.worlds += end - begin

    def of(self, arm: int) -> Estimate:
        return estimate(self.worlds, self._totals[arm], self._squares[arm])

    def are_sure(self, confidence: float) -> bool:
        """Whether every arm differs from the first by more than chance explains, by Chebyshev's inequality, which
        holds whatever the playouts pay; the risk is shared among the arms."""
        if self.worlds < SURE_AFTER:
            return False
        others = [self.of(arm) for arm in range(1, len(self._totals))]
        errors = math.sqrt(len(others) / (1 - confidence))
        return all(abs(other.mean) > errors * other.error for other in others)


def comparison_of(question: ComparisonQuestion, shares: Sequence[Share], began: float) -> Comparison:
    """The answer made of all parts, in their order; the question began then, by `time.perf_counter`."""
    n = len(question.actions)
    arms = [shares[arm::n] for arm in range(n)]
    differences = _differences(arms)
    player = question.view.observer
    tallies = [reduce(lambda a, b: a + b, (share.tallies[0] for share in arm)) for arm in arms]
    first = _points(tallies[0], player)
    moves = [ComparedMove(question.actions[0], _win(tallies[0], player), first, ZERO, ZERO)]
    for arm in range(1, len(arms)):
        points = _points(tallies[arm], player)
        moves.append(
            ComparedMove(
                action=question.actions[arm],
                win=_win(tallies[arm], player),
                points=points,
                win_difference=differences.of(arm) if differences.worlds else None,
                points_difference=_less(points, first) if points and first else None,
            )
        )
    return Comparison(
        question=question,
        moves=tuple(moves),
        worlds=differences.worlds,
        stopped_by=why_ended(shares),
        elapsed_ms=(time.perf_counter() - began) * 1000,
        missing=sum(share.missing for share in shares),
        note=next((share.note for share in shares if share.note), ""),
    )


def _differences(arms: Sequence[Sequence[Share]]) -> Differences:
    """Of the worlds that all arms of a share met, burst by burst in turn."""
    payoffs = [[array("d", share.payoffs) for share in arm] for arm in arms]
    by_share = list(zip(*payoffs, strict=True))
    met = [min(map(len, arrays)) for arrays in by_share]
    differences = Differences(len(arms))
    for begin in range(0, max(met), BURST):
        for arrays, worlds in zip(by_share, met, strict=True):
            if begin < worlds:
                differences.add(arrays, begin, min(begin + BURST, worlds))
    return differences


def _win(tally: Tally, player: int) -> Estimate | None:
    return estimate(tally.visits, tally.payoffs[player], tally.squares[player]) if tally.visits else None


def _points(tally: Tally, player: int) -> Estimate | None:
    return estimate(tally.ended, tally.scores[player], tally.score_squares[player]) if tally.ended else None


def _less(one: Estimate, other: Estimate) -> Estimate:
    return Estimate(one.mean - other.mean, math.hypot(one.error, other.error), math.hypot(one.spread, other.spread))
