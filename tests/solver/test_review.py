"""Reviews: decisions, their verdicts on any pool, grades, and luck: all that happens between a seat's decisions, those
included that left it no choice."""

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

FEW = Budget(iterations=40)


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
def a_record() -> Record:
    return random_record("oriflamme", "en-2019", 3, 2, until=30)


def test_luck_is_counted_between_forced_decisions_too(pool):
    """Where others do not see that a move is forced, it is searched: so the seat's expectation then is known."""
    record = random_record("oriflamme_prototype", None, 4, 0)
    verdicts = list(judge_all(Judge(FEW), decisions(record), pool))
    score = ScoreKeeper(record)
    lucks = [score.add(verdict) for verdict in verdicts]
    assert [luck is None for luck in lucks] == [verdict.value is None for verdict in verdicts]
    assert any(luck for verdict, luck in zip(verdicts, lucks, strict=True) if verdict.forced)
    for seat in score.seats():
        stood, summed = 1 / 4, 0.0
        mine = [
            (verdict, luck) for verdict, luck in zip(verdicts, lucks, strict=True) if verdict.decision.seat == seat.seat
        ]
        for verdict, luck in mine:
            if verdict.value is not None:
                assert luck == pytest.approx(verdict.value - stood)
                stood, summed = verdict.value - verdict.win_loss.mean, summed + verdict.value - stood
        assert seat.luck == pytest.approx(summed + record.end.payoffs[seat.seat] - stood)
        assert seat.grades.total() == sum(not verdict.forced for verdict, _ in mine)


def test_a_decision_holds_what_its_seat_saw():
    record = a_record()
    for decision in decisions(record):
        assert decision.view.to_act == decision.view.observer == decision.seat
        assert decision.history.record.observer == decision.seat
        assert decision.history.end == decision.view
        assert decision.played in decision.view.legal_actions()
    assert {decision.seat for decision in decisions(record, 1)} == {1}
    # Of a record that one seat saw, its decisions are the same ones.
    seen = record.seen_from(1)
    assert [(d.index, d.view, d.history, d.played) for d in decisions(seen)] == [
        (d.index, d.view, d.history, d.played) for d in decisions(record, 1)
    ]
    with pytest.raises(InvalidQuestionError, match="seat: this record was seen by another seat"):
        list(decisions(seen, 2))


def alike(verdict: Verdict) -> object:
    """Everything about a verdict that repeats."""
    return replace(verdict, decision=None)  # type: ignore[arg-type]


def test_verdicts_are_the_same_on_every_pool_however_many_at_once(pool):
    record = a_record()
    judge = Judge(FEW, seed=5, shares=2)
    here = list(judge_all(judge, decisions(record)))
    assert any(verdict.win_loss.mean for verdict in here)
    assert all(verdict.reproducible for verdict in here)
    threads = list(judge_all(judge, decisions(record), pool))
    with Processes(1) as processes:
        others = list(judge_all(judge, decisions(record), processes))
    assert list(map(alike, here)) == list(map(alike, threads)) == list(map(alike, others))
    assert [verdict.decision.index for verdict in threads] == [decision.index for decision in decisions(record)]


def test_the_best_is_compared_with_the_played_one_in_the_same_worlds(pool):
    judge = Judge(Budget(iterations=400))
    worse = 0
    for verdict in judge_all(judge, decisions(a_record()), pool):
        assert verdict.best.win is None or 0 <= verdict.win_loss.mean < 1
        if verdict.forced:
            assert verdict.grade == "best"
            continue
        if verdict.grade == "best":
            assert verdict.win_loss.mean == 0
        else:
            worse += 1
            assert verdict.best.action != verdict.played.action == verdict.decision.played
            # Half of the iterations search, the other half is compared, two moves a world.
            assert verdict.iterations == 200 + 200
            assert verdict.grade == grade_of(verdict.win_loss)
    assert worse


def test_a_comparison_has_no_more_iterations_than_its_memory_has_room_for():
    """The search may have more."""
    judge = Judge(Budget(iterations=10**9, memory_mb=1.0))
    decision = next(d for d in decisions(a_record()) if len(d.view.legal_actions()) > 1)
    answer = compute_here(Judge(FEW).search(decision))
    other = next(action for action in decision.view.legal_actions() if action != answer.moves[0].action)
    question = judge.comparison(replace(decision, played=other), answer)
    assert question is not None
    assert question.budget.iterations is not None
    assert question.budget.iterations < 10**9 // 4
    assert judge.search(decision).budget.iterations == 10**9 // 2


def test_of_models_the_deciding_seat_has_none(pool):
    """It is the search itself."""
    verdicts = list(judge_all(Judge(FEW, models={"A": "random", "B": "noisy"}), decisions(a_record()), pool))
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
        # Below two errors, a loss may be none.
        (0.101, 0.06, "fine"),
    ],
)
def test_grades_are_by_the_loss_and_its_error(mean, error, grade):
    assert grade_of(Estimate(mean, error, 1.0)) == grade
