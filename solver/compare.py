"""Compare several moves in the same worlds: which is better, and by how much.

Common random numbers cancel the variance between worlds, so small differences show. Each move is an arm with a search
tree of its own. Every arm of a share gets the same worlds in the same order; differences are taken world by world
afterwards.
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
    """Hold a move's estimates and their differences from the first move's, in the same worlds.

    Only playouts that reached the end of the game have points, and these are not the same ones for both moves, so the
    error of a difference of points is that of two independent means. A value without data is None. `seats` is the
    expected payoff of every seat, empty without data.
    """

    action: Action
    win: Estimate | None
    points: Estimate | None
    win_difference: Estimate | None
    points_difference: Estimate | None
    seats: tuple[float, ...]


@dataclass(frozen=True)
class Comparison:
    """Hold the answer to a comparison question: the moves in the order of the question."""

    question: ComparisonQuestion
    moves: tuple[ComparedMove, ...]
    # Worlds in which all moves were searched.
    worlds: int
    stopped_by: str  # as in an Answer
    elapsed_ms: float
    # Parts that did not finish, because their worker was lost or late.
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
        """Whether the same question gets the same answer again."""
        return self.stopped_by in REPRODUCIBLE and not self.missing

    @property
    def knowledge(self) -> str:
        return knowledge_of(self.question)

    def _repr_html_(self) -> str:
        from solver.notebook import comparison_html  # not above: only notebooks need it

        return comparison_html(self)

    def __str__(self) -> str:
        first, *others = self.moves
        lines = [f"{first.action}  ({self.worlds} worlds, {self.elapsed_ms:.0f} ms)"]
        for move in others:
            if (gain := move.win_difference) is not None:
                lines.append(f"  {move.action!s:24} win {100 * gain.mean:+.1f} % ± {100 * gain.error:.1f}")
        return "\n".join(lines)


class Differences:
    """Accumulate the payoffs of every arm minus those of the first, world by world: sums and sums of squares."""

    def __init__(self, arms: int) -> None:
        self.worlds = 0
        self._totals = [0.0] * arms
        self._squares = [0.0] * arms

    def add(self, payoffs: Sequence[array[float]], begin: int, end: int) -> None:
        """Add the payoffs of each arm in a burst of worlds. Floating-point sums depend on the order of bursts."""
        for arm in range(1, len(payoffs)):
            total, squares = sum_differences(payoffs[arm], payoffs[0], begin, end)
            self._totals[arm] += total
            self._squares[arm] += squares
        self.worlds += end - begin

    def of(self, arm: int) -> Estimate:
        return estimate(self.worlds, self._totals[arm], self._squares[arm])

    def are_sure(self, confidence: float) -> bool:
        """Return whether every arm differs from the first by more than chance explains.

        Chebyshev's inequality bounds the error probability for any distribution of payoffs; the arms share the risk.
        """
        if self.worlds < SURE_AFTER:
            return False
        others = [self.of(arm) for arm in range(1, len(self._totals))]
        errors = math.sqrt(len(others) / (1 - confidence))
        return all(abs(other.mean) > errors * other.error for other in others)


def comparison_of(question: ComparisonQuestion, shares: Sequence[Share], started: float) -> Comparison:
    """Return the answer made of all parts, in their order. `started` is the question's start, by `perf_counter`."""
    n = len(question.actions)
    arms = [shares[arm::n] for arm in range(n)]
    differences = _differences(arms)
    player = question.view.observer
    tallies = [reduce(lambda a, b: a + b, (share.tallies[0] for share in arm)) for arm in arms]
    first = _points(tallies[0], player)
    moves = [ComparedMove(question.actions[0], _win(tallies[0], player), first, ZERO, ZERO, _seats(tallies[0]))]
    for arm in range(1, len(arms)):
        points = _points(tallies[arm], player)
        moves.append(
            ComparedMove(
                action=question.actions[arm],
                win=_win(tallies[arm], player),
                points=points,
                win_difference=differences.of(arm) if differences.worlds else None,
                points_difference=_less(points, first) if points and first else None,
                seats=_seats(tallies[arm]),
            )
        )
    return Comparison(
        question=question,
        moves=tuple(moves),
        worlds=differences.worlds,
        stopped_by=why_ended(shares),
        elapsed_ms=(time.perf_counter() - started) * 1000,
        missing=sum(share.missing for share in shares),
        note=next((share.note for share in shares if share.note), ""),
    )


def _differences(arms: Sequence[Sequence[Share]]) -> Differences:
    """Return the differences over the worlds that all arms of a share searched, burst by burst, shares in turn."""
    payoffs = [[array("d", share.payoffs) for share in arm] for arm in arms]
    by_share = list(zip(*payoffs, strict=True))
    common_worlds = [min(map(len, arrays)) for arrays in by_share]
    differences = Differences(len(arms))
    for begin in range(0, max(common_worlds), BURST):
        for arrays, worlds in zip(by_share, common_worlds, strict=True):
            if begin < worlds:
                differences.add(arrays, begin, min(begin + BURST, worlds))
    return differences


def _win(tally: Tally, player: int) -> Estimate | None:
    return estimate(tally.visits, tally.payoffs[player], tally.squares[player]) if tally.visits else None


def _seats(tally: Tally) -> tuple[float, ...]:
    return tuple(paid / tally.visits for paid in tally.payoffs) if tally.visits else ()


def _points(tally: Tally, player: int) -> Estimate | None:
    return estimate(tally.ended, tally.scores[player], tally.score_squares[player]) if tally.ended else None


def _less(one: Estimate, other: Estimate) -> Estimate:
    return Estimate(one.mean - other.mean, math.hypot(one.error, other.error), math.hypot(one.spread, other.spread))
