"""A game, decision by decision: what each seat lost by what it knew then, and what luck did."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from engine_cy import Action, Position, View
from engine_cy.record import Record
from solver.abreast import Comparing
from solver.analysis import Estimate, Move
from solver.backends.base import Backend
from solver.config import DEFAULT_ITERATIONS, Budget, Config, InvalidBudgetError, Model
from solver.found import find
from solver.solve import job_at
from solver.watch import Watch

# By the share of the win that was lost; a loss smaller than so many of its errors is never worse than fine.
GRADES = (("fine", 0.02), ("inaccuracy", 0.05), ("mistake", 0.10))
ERRORS = 2.0


@dataclass(frozen=True, slots=True)
class Decision:
    """Somebody's turn in a record: what was seen then, and what was done."""

    index: int  # of the action in the record
    seat: int
    view: View
    history: Record  # what was seen up to here
    played: Action


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one decision."""

    decision: Decision
    played: Move
    best: Move
    win_loss: Estimate
    points_loss: Estimate | None
    grade: str  # "best", "fine", "inaccuracy", "mistake" or "blunder"
    forced: bool
    iterations: int
    stopped_by: str
    reproducible: bool

    @property
    def value(self) -> float | None:
        """What the seat could expect before it decided; None if nothing was searched."""
        return self.best.win.mean if self.best.win is not None else None


def decisions(record: Record, seat: int | None = None) -> Iterator[Decision]:
    """Every decision of a seat, or of all; of a record that one seat saw, only that seat's can be told."""
    observer = record.observer
    if observer is not None:
        if seat not in (None, observer):
            raise InvalidBudgetError("seat: this record was seen by another seat, whose decisions alone can be judged")
        seat = observer
    seen = {
        number: record if observer is not None else record.seen_from(number)
        for number in (range(record.game.n_players) if seat is None else [seat])
    }
    for index, (table, action) in enumerate(zip(record.tables(), record.actions, strict=False)):
        acting = table.to_act
        if acting is None or acting < 0 or acting not in seen:
            continue
        view = table.view(acting) if isinstance(table, Position) else table
        history = replace(seen[acting], actions=seen[acting].actions[:index], result=None)
        yield Decision(index, acting, view, history, _action(record, action))


def _action(record: Record, text: str) -> Action:
    what, _, _ = text.partition("=")
    return record.game.action(what.strip())


def grade_of(loss: Estimate) -> str:
    """How good a decision is that lost so much against the best one."""
    if loss.mean <= 0:
        return "best"
    if loss.mean < ERRORS * loss.error:
        return "fine"
    return next((grade for grade, bound in GRADES if loss.mean < bound), "blunder")


class Judging:
    """Judges one decision: a search for the best one with half of the budget, then what was played beside it in the
    same worlds with the other half, by `until_ns` of the monotonic clock. `stop` may be called from any thread."""

    def __init__(
        self,
        decision: Decision,
        budget: Budget,
        *,
        config: str | Config = "default",
        seed: int = 0,
        shares: int = 1,
        models: Mapping[int, Model] | None = None,
        until_ns: int,
    ) -> None:
        self._decision = decision
        own: dict[int | str, Model] = {seat: model for seat, model in (models or {}).items() if seat != decision.seat}
        total = budget.iterations or DEFAULT_ITERATIONS
        # Two are compared, so each has a quarter.
        self._budgets = replace(budget, iterations=max(total // 2, 1)), replace(budget, iterations=max(total // 4, 1))
        self._options: dict[str, Any] = {"config": config, "seed": seed, "shares": shares, "models": own}
        self._job = job_at(
            decision.view,
            self._budgets[0],
            config=config,
            seed=seed,
            workers=shares,
            models=own,
            history=decision.history,
            lines=1,
        )
        self._first, self._second = Watch(until_ns=(time.monotonic_ns() + until_ns) // 2), Watch(until_ns=until_ns)

    def stop(self) -> None:
        self._first.stop()
        self._second.stop()

    def run(self, backend: Backend) -> Verdict:
        found = find(self._job, backend, self._first)
        analysis = found.analysis
        assert analysis is not None  # it was that seat's turn
        played, best = analysis.move(self._decision.played), analysis.moves[0]
        verdict = Verdict(
            decision=self._decision,
            played=played,
            best=best,
            win_loss=Estimate(0.0, 0.0, 0.0),
            points_loss=Estimate(0.0, 0.0, 0.0),
            grade="best",
            forced=len(analysis.moves) == 1,
            iterations=found.total.iterations,
            stopped_by=found.stopped_by,
            reproducible=found.reproducible,
        )
        return verdict if played is best else self._compare(verdict)

    def _compare(self, verdict: Verdict) -> Verdict:
        decision = self._decision
        comparing = Comparing(
            decision.view,
            (verdict.played.action, verdict.best.action),
            self._budgets[1],
            history=decision.history,
            **self._options,
        )
        found = comparing.run(self._second)
        other = found.actions[1]  # the one held for best, less the one played
        verdict = replace(
            verdict,
            iterations=verdict.iterations + found.iterations,
            stopped_by=found.stopped_by,
            reproducible=verdict.reproducible and found.stopped_by in ("iterations", "confidence"),
        )
        loss = other.win_difference
        if loss is None or loss.mean <= 0:  # beside it, it is not better after all
            return replace(verdict, best=verdict.played)
        return replace(verdict, win_loss=loss, points_loss=other.points_difference, grade=grade_of(loss))


@dataclass(slots=True)
class SeatScore:
    """How a seat played: its decisions that were not forced, by their grades, and what they lost in all. `luck` is what
    chance and hidden cards did to its share of the win; None if that is not known."""

    seat: int
    grades: Counter[str] = field(default_factory=Counter)
    losses: list[Estimate] = field(default_factory=list)
    points: list[Estimate] = field(default_factory=list)
    luck: float | None = None

    @property
    def win_loss(self) -> Estimate:
        return _sum(self.losses)

    @property
    def points_loss(self) -> Estimate:
        return _sum(self.points)


class Score:
    """Adds up what was judged. Luck is what happens between what a seat could expect after a decision and before its
    next one; before the deal, all are alike. It is known if nothing is hidden in the record."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._knows_luck = record.observer is None
        self._seats: dict[int, SeatScore] = {}
        # What each seat could expect after its last decision.
        self._stands_at: dict[int, float] = {}

    def add(self, verdict: Verdict) -> float | None:
        """One more decision; what luck did to its seat since the one before, None if that is not known."""
        number = verdict.decision.seat
        seat = self._seats.setdefault(number, SeatScore(number, luck=0.0 if self._knows_luck else None))
        if not verdict.forced:
            seat.grades[verdict.grade] += 1
            seat.losses.append(verdict.win_loss)
            if verdict.points_loss is not None:
                seat.points.append(verdict.points_loss)
        if verdict.value is None:
            return None
        luck = None
        if seat.luck is not None:
            luck = verdict.value - self._stands_at.get(number, 1 / self._record.game.n_players)
            seat.luck += luck
        self._stands_at[number] = verdict.value - verdict.win_loss.mean
        return luck

    def seats(self) -> list[SeatScore]:
        """Every seat that decided something. What came after the last decision is luck, too."""
        end = self._record.end
        found = []
        for number, seat in sorted(self._seats.items()):
            luck = seat.luck
            if luck is not None and end.is_over:
                luck += end.payoffs[number] - self._stands_at.get(number, 1 / self._record.game.n_players)
            found.append(replace(seat, luck=luck))
        return found


def _sum(parts: list[Estimate]) -> Estimate:
    """Of independent estimates."""
    mean = sum(part.mean for part in parts)
    return Estimate(mean, math.hypot(*(part.error for part in parts)), math.hypot(*(part.spread for part in parts)))
