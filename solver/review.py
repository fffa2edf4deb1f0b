"""Review a game decision by decision: each seat's losses, given its information at the time, and its luck."""

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

# The grades by the lost share of the win. A loss below ERRORS standard errors is never graded worse than "fine".
GRADES = (("fine", 0.02), ("inaccuracy", 0.05), ("mistake", 0.10))
ERRORS = 2.0


@dataclass(frozen=True, slots=True)
class Decision:
    """Hold one decision of a record: the seat, its view and history at the time, and the action it played."""

    index: int  # of the action in the record
    seat: int
    view: View
    history: History | None  # the actions before, as the seat saw them; None if the game cannot be followed
    played: Action


@dataclass(frozen=True, slots=True)
class Verdict:
    """Hold the review of one decision: its loss against the best one, and its grade."""

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
        """The seat's expected win before its decision; None if nothing was searched."""
        return self.best.win.mean if self.best.win is not None else None


def decisions(record: Record, seat: int | None = None) -> Iterator[Decision]:
    """Yield the decisions of a seat, or of all seats.

    A record as one seat saw it has only the views of that seat. The game is replayed once for all seats, and once for
    the view of each.
    """
    observer = record.observer
    if observer is not None:
        if seat not in (None, observer):
            problem = "this record was seen by another seat; only that seat's decisions can be judged"
            raise InvalidQuestionError("seat", problem, reason="CONTRADICTION")
        seat = observer
    seats = range(record.game.n_players) if seat is None else [seat]
    seen = {
        number: record if observer is not None else record.seen_from(number)
        for number in seats
        if record.game.has_history
    }
    logs = {number: History(record.game) for number in seen}
    for number, log in logs.items():
        log.start = seen[number].start
    for index, (table, action) in enumerate(zip(record.tables(), record.actions, strict=False)):
        acting = table.to_act
        if acting is not None and acting in seats:
            view = table.view(acting) if isinstance(table, Position) else table
            before = logs[acting].copy() if acting in logs else None
            if before is not None:
                before.end = view
            yield Decision(index, acting, view, before, _action(record, action))
        for number, log in logs.items():
            log.add(table, seen[number].actions[index])


def _action(record: Record, text: str) -> Action:
    action, _, _ = text.partition("=")
    return record.game.action(action.strip())


def grade_of(loss: Estimate) -> str:
    """Return the grade of a decision by its loss against the best one."""
    if loss.mean <= 0:
        return "best"
    if loss.mean < ERRORS * loss.error:
        return "fine"
    return next((grade for grade, bound in GRADES if loss.mean < bound), "blunder")


class Judge:
    """Judge decisions: search for the best one, then compare it with the one that was played in the same worlds.

    The search and the comparison get half of the budget each. `budget` is for each decision; `options` are those
    of the questions.
    """

    def __init__(self, budget: Budget, **options: Unpack[QuestionOptions]) -> None:
        self.budget = check_budget(budget)
        self.config = read_config(options.get("config", "default"))
        self._options = options

    def search(self, decision: Decision) -> SearchQuestion:
        """Return the search for the best decision."""
        return SearchQuestion(decision.view, self._part(2), **self._options_of(decision))

    def comparison(self, decision: Decision, answer: Answer) -> ComparisonQuestion | None:
        """Return the comparison of the played decision with the best one; None if the best one was played."""
        best = answer.moves[0].action
        if best == decision.played:
            return None
        # Half of the budget, split between two moves.
        options, budget = self._options_of(decision), self._part(4)
        most = comparison_iterations_max(budget.memory_mb, 2, options.get("shares", 1))
        if budget.iterations is not None and budget.iterations > most:
            budget = replace(budget, iterations=most)
        return ComparisonQuestion(decision.view, [decision.played, best], budget, **options).with_belief_of(
            answer.question
        )

    def _part(self, parts: int) -> Budget:
        """Return the budget with 1/`parts` of its iterations. The caller's controls divide the time."""
        iterations = self.budget.iterations
        return replace(self.budget, iterations=None if iterations is None else max(iterations // parts, 1))

    def _options_of(self, decision: Decision) -> QuestionOptions:
        """Return the question options for a decision, without a model of the deciding seat itself."""
        players = decision.view.game.n_players
        models = {
            seat: model
            for seat, model in (self._options.get("models") or {}).items()
            if read_seat(seat, players, "models") != decision.seat
        }
        return {**self._options, "models": models, "history": decision.history}


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
    alternative = comparison.moves[1]  # the best move of the search; differences are from the played one
    loss = alternative.win_difference
    if loss is None or loss.mean <= 0:  # the comparison does not confirm that it is better
        return replace(verdict, best=played)
    return replace(verdict, win_loss=loss, points_loss=alternative.points_difference, grade=grade_of(loss))


@dataclass(slots=True)
class SeatScore:
    """Hold the score of a seat: its luck, and the grades and losses of its decisions with a choice.

    `luck` is the effect of chance and hidden cards on its share of the win; None if unknown.
    """

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
    """Add up verdicts by seat.

    Luck is the change of a seat's expected win from after one decision to before the next; before the deal, every seat
    has a fair share. It is known only if the record hides nothing.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        self._knows_luck = record.observer is None
        self._seats: dict[int, SeatScore] = {}
        # Each seat's expected win after its last decision.
        self._expected: dict[int, float] = {}

    def add(self, verdict: Verdict) -> float | None:
        """Add a verdict; return its seat's luck since the decision before, or None if unknown."""
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
            luck = verdict.value - self._expected.get(number, 1 / self._record.game.n_players)
            seat.luck += luck
        self._expected[number] = verdict.value - verdict.win_loss.mean
        return luck

    def seats(self) -> list[SeatScore]:
        """Return the scores of all seats with a decision; luck includes the change after their last one."""
        end = self._record.end
        scores = []
        for number, seat in sorted(self._seats.items()):
            luck = seat.luck
            if luck is not None and end.is_over:
                luck += end.payoffs[number] - self._expected.get(number, 1 / self._record.game.n_players)
            scores.append(replace(seat, luck=luck))
        return scores


def _sum(parts: list[Estimate]) -> Estimate:
    """Return the sum of independent estimates."""
    mean = sum(part.mean for part in parts)
    return Estimate(mean, math.hypot(*(part.error for part in parts)), math.hypot(*(part.spread for part in parts)))
