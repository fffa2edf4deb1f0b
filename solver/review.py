"""A game, decision by decision: what each seat lost by what it knew then, and what luck did."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Unpack

from engine_cy import Action, Position, View
from engine_cy.action_log import History
from engine_cy.record import Record
from engine_cy.values import read_seat
from solver.answer import Answer, Estimate, Move
from solver.compare import Comparison
from solver.config import Budget, InvalidQuestionError, check_budget, read_config
from solver.question import ComparisonQuestion, QuestionOptions, SearchQuestion, comparison_iterations_max

# By the share of the win that was lost; a loss smaller than so many of its errors is never worse than fine.
GRADES = (("fine", 0.02), ("inaccuracy", 0.05), ("mistake", 0.10))
ERRORS = 2.0


@dataclass(frozen=True, slots=True)
class Decision:
    """Somebody's turn in a record: what was seen then, and what was done."""

    index: int  # of the action in the record
    seat: int
    view: View
    history: History  # what was seen up to here
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
    """Every decision of a seat, or of all; of a record that one seat saw, only that seat's can be told. The game is
    replayed once for all seats, and once for what each of them saw."""
    observer = record.observer
    if observer is not None:
        if seat not in (None, observer):
            problem = "this record was seen by another seat, whose decisions alone can be judged"
            raise InvalidQuestionError("seat", problem, reason="CONTRADICTION")
        seat = observer
    seats = range(record.game.n_players) if seat is None else [seat]
    seen = {number: record if observer is not None else record.seen_from(number) for number in seats}
    logs = {number: History(record.game) for number in seen}
    for number, log in logs.items():
        log.start = seen[number].start
    for index, (table, action) in enumerate(zip(record.tables(), record.actions, strict=False)):
        acting = table.to_act
        if acting is not None and acting in seen:
            view = table.view(acting) if isinstance(table, Position) else table
            log = logs[acting].copy()
            log.end = view
            yield Decision(index, acting, view, log, _action(record, action))
        for number, log in logs.items():
            log.add(table, seen[number].actions[index])


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


class Judge:
    """Judges decisions: a search for the best one with half of the budget, then the one that was played beside it in
    the same worlds with the other half. `budget` is for each decision; `thinking` as for every question."""

    def __init__(self, budget: Budget, **thinking: Unpack[QuestionOptions]) -> None:
        self.budget = check_budget(budget)
        self.config = read_config(thinking.get("config", "default"))
        self._thinking = thinking

    def search(self, decision: Decision) -> SearchQuestion:
        """The search for the best decision."""
        return SearchQuestion(decision.view, self._part(2), **self._thinking_of(decision))

    def comparison(self, decision: Decision, answer: Answer) -> ComparisonQuestion | None:
        """The comparison with the best one; None if that was played."""
        best = answer.moves[0].action
        if best == decision.played:
            return None
        # Of two moves, each has half.
        thinking, budget = self._thinking_of(decision), self._part(4)
        most = comparison_iterations_max(budget.memory_mb, 2, thinking.get("shares", 1))
        if budget.iterations is not None and budget.iterations > most:
            budget = replace(budget, iterations=most)
        return ComparisonQuestion(decision.view, [decision.played, best], budget, **thinking).with_belief_of(
            answer.question
        )

    def _part(self, parts: int) -> Budget:
        """A part of the budget's iterations. Of its time, the controls have the parts."""
        iterations = self.budget.iterations
        return replace(self.budget, iterations=None if iterations is None else max(iterations // parts, 1))

    def _thinking_of(self, decision: Decision) -> QuestionOptions:
        """How the seat itself plays is the search's own matter."""
        players = decision.view.game.n_players
        models = {
            seat: model
            for seat, model in (self._thinking.get("models") or {}).items()
            if read_seat(seat, players, "models") != decision.seat
        }
        return {**self._thinking, "models": models, "history": decision.history}


def verdict_of(decision: Decision, answer: Answer, comparison: Comparison | None) -> Verdict:
    """Return the verdict of a search, and of a comparison if there was one, on a decision."""
    played, best = answer.move(decision.played), answer.moves[0]
    verdict = Verdict(
        decision=decision,
        played=played,
        best=best,
        win_loss=Estimate(0.0, 0.0, 0.0),
        points_loss=Estimate(0.0, 0.0, 0.0),
        grade="best",
        forced=len(answer.moves) == 1,
        iterations=answer.iterations,
        stopped_by=answer.stopped_by,
        reproducible=answer.reproducible,
    )
    if comparison is None:
        return verdict
    verdict = replace(
        verdict,
        iterations=verdict.iterations + comparison.iterations,
        stopped_by=comparison.stopped_by,
        reproducible=verdict.reproducible and comparison.reproducible,
    )
    other = comparison.moves[1]  # the one held for best, less the one played
    loss = other.win_difference
    if loss is None or loss.mean <= 0:  # beside it, it is not better after all
        return replace(verdict, best=played)
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


class ScoreKeeper:
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
