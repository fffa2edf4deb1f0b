"""Review a game decision by decision: each seat's losses, given its information at the time, and the parts of its luck.

A seat's expected share of the win begins at a fair share and ends at the outcome. Each change on the way belongs to one
part: losses of its own decisions, chance (the deal included), mistakes of opponents, or hidden cards, which are the
rest. Sums are exact fractions, so the parts add up. All shares are calibrated where the ruleset has a fit: losses,
which comparisons measure by the means of playouts, are converted before anything is added or graded.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple, Unpack

from engine_cy import CHANCE, Action, Position, View
from engine_cy.action_log import History
from engine_cy.record import Record
from engine_cy.values import read_seat
from solver.answer import Answer, Estimate, Move, SeatExpectation, calibrated_loss
from solver.compare import Comparison
from solver.config import Budget, InvalidQuestionError, check_budget, read_config
from solver.named_beliefs import Beliefs
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
    follows_chance: bool = False  # chance acted last, or this is the start


@dataclass(frozen=True, slots=True)
class ChanceCheck:
    """Hold a table beside actions of chance, at which another seat than the one to act needs its expected win."""

    seat: int
    view: View
    history: History | None
    follows_chance: bool


Step = Decision | ChanceCheck


@dataclass(frozen=True, slots=True)
class Verdict:
    """Hold the review of one decision: its loss against the best one, and its grade.

    `win_loss` is in the shares of `best` and `played`, calibrated or not; its `raw` is the one of the comparison.
    """

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
    # The change of each seat's expected win from the best move to the played one; empty without a loss.
    changes: tuple[float, ...] = ()
    # The moves of the search, each seat's expected result, and the deciding seat's beliefs if the judge keeps them.
    moves: tuple[Move, ...] = ()
    seats: tuple[SeatExpectation, ...] = ()
    beliefs: Beliefs | None = None

    @property
    def value(self) -> float | None:
        """The seat's expected win before its decision; None if nothing was searched."""
        return self.best.win.mean if self.best.win is not None else None


@dataclass(frozen=True, slots=True)
class Prospect:
    """Hold the answer to a chance check: the seat's expected win, or None if nothing was searched."""

    check: ChanceCheck
    value: float | None
    reproducible: bool


def decisions(record: Record, seat: int | None = None) -> Iterator[Decision]:
    """Yield the decisions of a seat, or of all seats.

    A record as one seat saw it has only the views of that seat. The game is replayed once for all seats, and once for
    the view of each.
    """
    return (step for step in steps(record, seat) if isinstance(step, Decision))


def count_decisions(record: Record, seat: int | None = None) -> int:
    """Return the number of decisions of a seat, or of all seats, without making their views."""
    judged = record.observer if seat is None else seat
    acting = [table.to_act for table, _ in zip(record.tables(), record.actions, strict=False)]
    return sum(number not in (None, CHANCE) and judged in (None, number) for number in acting)


def steps(record: Record, seat: int | None = None) -> Iterator[Step]:
    """Yield the decisions of a seat, or of all seats, and the chance checks of a whole game, in the order of play."""
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

    def look(table: Position | View, number: int) -> tuple[View, History | None]:
        view = table.view(number) if isinstance(table, Position) else table
        before = logs[number].copy() if number in logs else None
        if before is not None:
            before.end = view
        return view, before

    is_chance = True  # the deal
    known: int | None = None  # the seat whose decision was the last action: its expected win is known
    for index, (table, action) in enumerate(zip(record.tables(), record.actions, strict=False)):
        acting = table.to_act
        followed_chance, is_chance = is_chance, acting == CHANCE
        decision = None
        if acting is not None and acting in seats:
            decision = Decision(index, acting, *look(table, acting), _action(record, action), followed_chance)
        decides = decision is not None and decision.view.forced_action is None
        if observer is None and followed_chance != is_chance:
            for number in seats:
                if number != (acting if decides and followed_chance else known):
                    yield ChanceCheck(number, *look(table, number), followed_chance)
        if decision is not None:
            yield decision
        known = acting if decides else None
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
    of the questions. With `keeps_beliefs`, verdicts have the beliefs of the deciding seats. The `lines` most visited
    moves have a likely continuation.
    """

    def __init__(
        self, budget: Budget, *, keeps_beliefs: bool = False, lines: int = 1, **options: Unpack[QuestionOptions]
    ) -> None:
        self.budget = check_budget(budget)
        self.keeps_beliefs = keeps_beliefs
        self.lines = lines
        self.config = read_config(options.get("config", "default"))
        self._options = options

    @property
    def searches(self) -> bool:
        """Whether the configuration searches; another has no expected win."""
        return self.config.how == "search"

    def search(self, step: Step) -> SearchQuestion:
        """Return the search for the best decision, or for the expected win of a seat."""
        return SearchQuestion(step.view, self._part(2), lines=self.lines, **self._options_of(step))

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

    def _options_of(self, step: Step) -> QuestionOptions:
        """Return the question options for a decision, without a model of the deciding seat itself."""
        players = step.view.game.n_players
        models = {
            seat: model
            for seat, model in (self._options.get("models") or {}).items()
            if read_seat(seat, players, "models") != step.seat
        }
        return {**self._options, "models": models, "history": step.history}


def prospect_of(check: ChanceCheck, answer: Answer) -> Prospect:
    """Return what a search says about a seat's expected win."""
    value = answer.seats[check.seat].win.mean if answer.seats else None
    return Prospect(check, value, answer.reproducible)


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
        moves=answer.moves,
        seats=answer.seats,
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
    difference = alternative.win_difference
    loss = calibrated_loss(answer, best, difference) if difference is not None and difference.mean > 0 else None
    if difference is None or loss is None or loss.mean <= 0:  # the comparison does not confirm that it is better
        return replace(verdict, best=played)
    # The changes of the other seats' shares are calibrated like that of the deciding seat.
    factor = loss.mean / difference.mean
    return replace(
        verdict,
        win_loss=loss,
        points_loss=alternative.points_difference,
        grade=grade_of(loss),
        changes=tuple(
            factor * (one - two) for one, two in zip(comparison.moves[0].seats, alternative.seats, strict=True)
        ),
    )


class Luck(NamedTuple):
    """The parts of a seat's luck. Without the decisions of opponents, which are None, the hidden cards include them."""

    chance: Fraction
    opponents: Fraction | None
    hidden: Fraction

    @property
    def total(self) -> Fraction:
        return self.chance + (self.opponents or 0) + self.hidden

    def __sub__(self, other: Luck) -> Luck:
        opponents = None if self.opponents is None or other.opponents is None else self.opponents - other.opponents
        return Luck(self.chance - other.chance, opponents, self.hidden - other.hidden)


NO_LUCK = Luck(Fraction(0), Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True)
class SeatScore:
    """Hold the score of a seat: its luck, and the grades and losses of its decisions with a choice.

    `outcome` is its share of the win; in an unfinished game, the share that it expected last. It is a fair share plus
    luck minus losses. Both are None if the record hides cards.
    """

    seat: int
    grades: Counter[str]
    losses: tuple[Estimate, ...]
    points: tuple[Estimate, ...]
    luck: Luck | None
    outcome: Fraction | None

    @property
    def win_loss(self) -> Estimate:
        return _sum(self.losses)

    @property
    def points_loss(self) -> Estimate:
        return _sum(self.points)


@dataclass(slots=True)
class _Account:
    """The last expected win of a seat, and the causes of its changes so far. Amounts are exact."""

    expected: Fraction
    chance: Fraction = Fraction(0)
    opponents: Fraction = Fraction(0)
    hidden: Fraction = Fraction(0)
    mistakes: Fraction = Fraction(0)  # of opponents, since the last change
    before: Luck = NO_LUCK  # at the seat's last decision
    grades: Counter[str] = field(default_factory=Counter)
    losses: list[Estimate] = field(default_factory=list)
    points: list[Estimate] = field(default_factory=list)

    @property
    def luck(self) -> Luck:
        return Luck(self.chance, self.opponents, self.hidden)

    def move_to(self, value: Fraction, by_chance: bool) -> None:
        """Enter a new expected win, and find the causes of its change."""
        change, self.expected = value - self.expected, value
        if by_chance:
            self.chance += change
            return
        self.opponents += self.mistakes
        self.hidden += change - self.mistakes
        self.mistakes = Fraction(0)


class ScoreKeeper:
    """Add up verdicts by seat, and the causes of all changes of the seats' expected wins.

    Before the deal, every seat expects a fair share. Luck is known only if the record hides nothing, and the opponents'
    part of it only if the decisions of all seats are judged.
    """

    def __init__(self, record: Record, seat: int | None = None) -> None:
        self._record = record
        self._knows_luck = record.observer is None
        self._knows_opponents = seat is None
        n_players = record.game.n_players
        self._accounts = [_Account(Fraction(1, n_players)) for _ in range(n_players)]
        self._decided: set[int] = set()

    def add(self, verdict: Verdict) -> Luck | None:
        """Add a verdict; return its seat's luck since the decision before, or None if unknown."""
        decision = verdict.decision
        account = self._accounts[decision.seat]
        self._decided.add(decision.seat)
        if not verdict.forced:
            account.grades[verdict.grade] += 1
            account.losses.append(verdict.win_loss)
            if verdict.points_loss is not None:
                account.points.append(verdict.points_loss)
        if verdict.value is None:
            return None
        account.move_to(Fraction(verdict.value), decision.follows_chance)
        luck, account.before = account.luck - account.before, account.luck
        account.expected -= Fraction(verdict.win_loss.mean)
        for seat, change in enumerate(verdict.changes):
            if seat != decision.seat:
                self._accounts[seat].mistakes += Fraction(change)
        return self._known(luck)

    def check(self, prospect: Prospect) -> None:
        """Add what a seat expected before or after chance acted."""
        if prospect.value is not None:
            check = prospect.check
            self._accounts[check.seat].move_to(Fraction(prospect.value), check.follows_chance)

    def seats(self) -> list[SeatScore]:
        """Return the scores of all seats with a decision; luck includes the change after their last one."""
        *_, last, end = (None, *self._record.tables())
        if self._knows_luck and end is not None and end.is_over:
            by_chance = last is not None and last.to_act == CHANCE
            for account, payoff in zip(self._accounts, end.payoffs, strict=True):
                account.move_to(_exact(payoff), by_chance)
        return [
            SeatScore(
                seat,
                account.grades,
                tuple(account.losses),
                tuple(account.points),
                self._known(account.luck),
                account.expected if self._knows_luck else None,
            )
            for seat, account in enumerate(self._accounts)
            if seat in self._decided
        ]

    def _known(self, luck: Luck) -> Luck | None:
        if not self._knows_luck:
            return None
        return luck if self._knows_opponents else Luck(luck.chance, None, luck.hidden)


def _exact(payoff: float) -> Fraction:
    """Return a payoff as a fraction: a share of the win between at most 60 winners, such as 1/3, or the number."""
    near = Fraction(payoff).limit_denominator(60)
    return near if float(near) == payoff else Fraction(payoff)


def _sum(parts: Sequence[Estimate]) -> Estimate:
    """Return the sum of independent estimates."""
    mean = sum(part.mean for part in parts)
    return Estimate(mean, math.hypot(*(part.error for part in parts)), math.hypot(*(part.spread for part in parts)))
