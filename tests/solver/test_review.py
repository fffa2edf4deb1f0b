"""Reviews: decisions, verdicts on every pool, grades, and luck between a seat's decisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

import pytest
from program import random_record

from engine_cy.record import Record
from solver import Budget, Estimate, InvalidQuestionError
from solver.pool.base import Pool, compute_here
from solver.pool.processes import Processes
from solver.pool.threads import Threads
from solver.review import Decision, Judge, ScoreKeeper, Verdict, decisions, grade_of, verdict_of
from solver.solve import compute

SHORT = Budget(iterations=40)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Threads(2) as threads:
        yield threads


def judge_all(judge: Judge, decisions: Iterable[Decision], pool: Pool | None = None) -> Iterator[Verdict]:
    for decision in decisions:
        answer = compute(judge.search(decision), pool)
        question = judge.comparison(decision, answer)
        yield verdict_of(decision, answer, None if question is None else compute(question, pool))


@cache
def example_record() -> Record:
    return random_record("oriflamme", "en-2019", 3, 2, until=30)


def test_luck_is_also_counted_between_forced_decisions(pool):
    """A move that the other players do not see as forced is searched, so the seat's expectation is known there."""
    record = random_record("oriflamme_prototype", None, 4, 0)
    verdicts = list(judge_all(Judge(SHORT), decisions(record), pool))
    score = ScoreKeeper(record)
    lucks = [score.add(verdict) for verdict in verdicts]
    assert [luck is None for luck in lucks] == [verdict.value is None for verdict in verdicts]
    assert any(luck for verdict, luck in zip(verdicts, lucks, strict=True) if verdict.forced)
    for seat in score.seats():
        expectation, luck_sum = 1 / 4, 0.0
        seat_verdicts = [
            (verdict, luck) for verdict, luck in zip(verdicts, lucks, strict=True) if verdict.decision.seat == seat.seat
        ]
        for verdict, luck in seat_verdicts:
            if verdict.value is not None:
                assert luck == pytest.approx(verdict.value - expectation)
                expectation, luck_sum = verdict.value - verdict.win_loss.mean, luck_sum + verdict.value - expectation
        assert seat.luck == pytest.approx(luck_sum + record.end.payoffs[seat.seat] - expectation)
        assert seat.grades.total() == sum(not verdict.forced for verdict, _ in seat_verdicts)


def test_a_decision_holds_only_what_its_seat_saw():
    record = example_record()
    for decision in decisions(record):
        assert decision.view.to_act == decision.view.observer == decision.seat
        assert decision.history is not None
        assert decision.history.record.observer == decision.seat
        assert decision.history.end == decision.view
        assert decision.played in decision.view.legal_actions()
    assert {decision.seat for decision in decisions(record, 1)} == {1}
    # A record as the seat saw it has the same decisions.
    seat_record = record.seen_from(1)
    assert [(d.index, d.view, d.history, d.played) for d in decisions(seat_record)] == [
        (d.index, d.view, d.history, d.played) for d in decisions(record, 1)
    ]
    with pytest.raises(InvalidQuestionError, match="seat: this record was seen by another seat"):
        list(decisions(seat_record, 2))


def alike(verdict: Verdict) -> object:
    """Return everything about a verdict that repeats."""
    return replace(verdict, decision=None)  # type: ignore[arg-type]


def test_verdicts_are_the_same_on_every_pool(pool):
    record = example_record()
    judge = Judge(SHORT, seed=5, shares=2)
    expected = list(judge_all(judge, decisions(record)))
    assert any(verdict.win_loss.mean for verdict in expected)
    assert all(verdict.reproducible for verdict in expected)
    on_threads = list(judge_all(judge, decisions(record), pool))
    with Processes(1) as processes:
        on_processes = list(judge_all(judge, decisions(record), processes))
    assert list(map(alike, expected)) == list(map(alike, on_threads)) == list(map(alike, on_processes))
    assert [verdict.decision.index for verdict in on_threads] == [decision.index for decision in decisions(record)]


def test_the_best_move_is_compared_with_the_played_one(pool):
    judge = Judge(Budget(iterations=400))
    n_worse = 0
    for verdict in judge_all(judge, decisions(example_record()), pool):
        assert verdict.best.win is None or 0 <= verdict.win_loss.mean < 1
        if verdict.forced:
            assert verdict.grade == "best"
            continue
        if verdict.grade == "best":
            assert verdict.win_loss.mean == 0
        else:
            n_worse += 1
            assert verdict.best.action != verdict.played.action == verdict.decision.played
            # Half of the iterations search; the other half compares two moves in each world.
            assert verdict.iterations == 200 + 200
            assert verdict.grade == grade_of(verdict.win_loss)
    assert n_worse


def test_memory_limits_the_iterations_of_a_comparison_but_not_of_the_search():
    judge = Judge(Budget(iterations=10**9, memory_mb=1.0))
    decision = next(d for d in decisions(example_record()) if len(d.view.legal_actions()) > 1)
    answer = compute_here(Judge(SHORT).search(decision))
    other = next(action for action in decision.view.legal_actions() if action != answer.moves[0].action)
    question = judge.comparison(replace(decision, played=other), answer)
    assert question is not None
    assert question.budget.iterations is not None
    assert question.budget.iterations < 10**9 // 4
    assert judge.search(decision).budget.iterations == 10**9 // 2


def test_a_model_of_the_deciding_seat_is_ignored(pool):
    """The search plays that seat."""
    verdicts = list(judge_all(Judge(SHORT, models={"A": "random", "B": "noisy"}), decisions(example_record()), pool))
    assert {verdict.decision.seat for verdict in verdicts} == {0, 1, 2}


@pytest.mark.parametrize(
    ("mean", "error", "grade"),
    [
        (-0.1, 0.01, "best"),
        (0.0, 0.0, "best"),
        (0.019, 0.001, "fine"),
        (0.049, 0.001, "inaccuracy"),
        (0.099, 0.001, "mistake"),
        (0.101, 0.001, "blunder"),
        # A loss below two errors is not significant.
        (0.101, 0.06, "fine"),
    ],
)
def test_grades_depend_on_the_loss_and_its_error(mean, error, grade):
    assert grade_of(Estimate(mean, error, 1.0)) == grade
