"""On every pool, a control reports on a search without changing its answer, and stops it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median

import pytest
from pools import InlinePool
from searches import opening_view
from waiting import HANG_S

from solver import Answer, Budget, Control, SearchQuestion, solve
from solver.answer import answer_of
from solver.merge import empty_share, merge
from solver.pool.base import Pool, compute_here
from solver.pool.parts import begin_part
from solver.pool.processes import Processes
from solver.pool.threads import Threads

# With one thread or process, shares take turns.
FACTORIES: dict[str, Callable[[], Pool]] = {
    "inline": InlinePool,
    "threads": lambda: Threads(2),
    "one thread": lambda: Threads(1),
    "processes": lambda: Processes(1),
}


@pytest.fixture(scope="module", params=FACTORIES)
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    created = FACTORIES[request.param]()
    created.submit(SearchQuestion(opening_view(), Budget(iterations=10))).result()  # starts the process
    yield created
    created.close()


@pytest.mark.parametrize(
    "budget", [Budget(iterations=40_000), Budget(iterations=40_000, confidence=0.99)], ids=["plain", "confidence"]
)
def test_reports_do_not_change_the_answer(pool: Pool, budget: Budget) -> None:
    reports: list[Answer] = []
    reported = solve(opening_view(), budget, seed=4, shares=2, pool=pool, control=Control(reports.append, 5))
    alone = solve(opening_view(), budget, seed=4, shares=2, pool=pool)
    assert (reported.moves, reported.nodes, reported.stopped_by) == (alone.moves, alone.nodes, alone.stopped_by)
    assert reports
    for report in reports:
        assert sum(move.visits for move in report.moves) == report.iterations <= alone.iterations
        assert report.best in opening_view().legal_actions()
        assert len(report.seats) == 4
    counts = [report.iterations for report in reports]
    assert counts == sorted(counts)


def test_reports_arrive_at_the_interval(pool: Pool) -> None:
    reports: list[Answer] = []

    def report(answer: Answer) -> None:
        reports.append(answer)
        if len(reports) == 4:
            control.stop()

    control = Control(report, 50)
    answer = solve(opening_view(), Budget(time_ms=1000), pool=pool, control=control)
    assert 2 <= len(reports) <= answer.elapsed_ms / 50 + 1


def test_a_stop_ends_the_search(pool: Pool) -> None:
    control = Control(lambda _: control.stop(), 5)
    # On one worker, the second of two shares has not started.
    answer = solve(opening_view(), Budget(iterations=10**12), shares=2, pool=pool, control=control)
    assert answer.stopped_by == "stopped"
    assert not answer.reproducible
    assert sum(move.visits for move in answer.moves) == answer.iterations > 0


def test_cancelling_a_future_stops_its_search(pool: Pool) -> None:
    if isinstance(pool, InlinePool):
        pytest.skip("this pool computes before it returns the future")
    reported = threading.Event()
    control = Control(lambda _: reported.set(), 1)
    future = pool.submit(SearchQuestion(opening_view(), Budget(iterations=10**9)), control)
    assert reported.wait(HANG_S)
    assert not future.cancel()  # it still gets an answer, from the iterations so far
    answer = future.result(HANG_S)
    assert answer.stopped_by == "stopped"
    assert answer.iterations > 0


@pytest.mark.timing
def test_a_cancelled_search_answers_within_50_ms_on_processes() -> None:
    """The median over searches in flight."""
    waits = []
    with Processes(1) as pool:
        for seed in range(9):
            reported = threading.Event()
            control = Control(lambda _, reported=reported: reported.set(), 5)  # type: ignore[misc]
            future = pool.submit(SearchQuestion(opening_view(), Budget(iterations=10**12), seed=seed), control)
            assert reported.wait(HANG_S)
            start = time.monotonic()
            control.stop()
            answer = future.result(HANG_S)
            waits.append(time.monotonic() - start)
            assert answer.stopped_by == "stopped"
            assert sum(move.visits for move in answer.moves) == answer.iterations > 0
            assert answer.seats
            assert answer.missing == 0
    assert median(waits) < 0.05


def test_a_control_that_is_stopped_before_its_search_ends_it_at_once(pool: Pool) -> None:
    control = Control()
    control.stop()
    answer = solve(opening_view(), Budget(iterations=10**9), shares=2, pool=pool, control=control)
    assert (answer.iterations, answer.stopped_by) == (0, "stopped")


@pytest.mark.parametrize("shares", [1, 3])
def test_a_search_ends_at_its_deadline(pool: Pool, shares: int) -> None:
    """A part that has several shares leaves at most half of its time to sum them up."""
    for budget in (Budget(iterations=10**9), Budget(iterations=10**9, confidence=0.999_999), Budget(time_ms=60_000)):
        until_ns = time.monotonic_ns() + 60_000_000
        answer = solve(opening_view(), budget, shares=shares, pool=pool, control=Control(until_ns=until_ns))
        assert time.monotonic_ns() >= until_ns - (30_000_000 if shares > 1 else 0)
        assert (answer.stopped_by, answer.reproducible) == ("time", False)
        assert answer.iterations > 0


def test_a_search_after_its_deadline_still_has_an_answer(pool: Pool) -> None:
    answer = solve(opening_view(), Budget(time_ms=0.001), shares=2, pool=pool, control=Control(until_ns=0))
    assert (answer.stopped_by, answer.iterations > 0) == ("time", True)


def test_an_error_in_a_report_ends_its_search_only(pool: Pool) -> None:
    def fail(answer: Answer) -> None:
        raise ZeroDivisionError("the report is broken")

    control = Control(fail, 5)
    with pytest.raises(ZeroDivisionError, match="the report is broken"):
        solve(opening_view(), Budget(iterations=10**9), pool=pool, control=control)
    for _ in range(3):
        answer = solve(opening_view(), Budget(iterations=500), seed=2, pool=pool)
        assert (answer.iterations, answer.stopped_by) == (500, "iterations")


def test_a_late_stop_does_not_end_a_later_search(pool: Pool) -> None:
    first = Control()
    solve(opening_view(), Budget(iterations=100), pool=pool, control=first)
    second = Control(lambda _: first.stop(), 1)
    answer = solve(opening_view(), Budget(iterations=30_000), pool=pool, control=second)
    assert (answer.iterations, answer.stopped_by) == (30_000, "iterations")


def test_lost_shares_add_nothing_and_are_counted() -> None:
    question = SearchQuestion(opening_view(), Budget(iterations=200), seed=3, shares=2)
    whole = compute_here(question)
    shares = [compute_here(only_share(question, number)).total for number in range(2)]
    assert merge(shares).tallies == whole.total.tallies
    lost = replace(empty_share(len(whole.moves), 4), stopped_by="lost", missing=1, note="a worker was lost")
    answer = answer_of(question, [lost, *shares, lost], 0.0)
    assert (answer.total.tallies, answer.iterations) == (whole.total.tallies, whole.iterations)
    assert (answer.missing, answer.note, answer.stopped_by) == (2, "a worker was lost", "lost")
    assert (whole.missing, whole.note, whole.stopped_by) == (0, "", "iterations")
    assert (answer.reproducible, whole.reproducible) == (False, True)


def only_share(question: SearchQuestion, number: int) -> SearchQuestion:
    """Return the question with the iterations of one share; the other shares have none."""
    each = [question.iterations_of(share) * (share == number) for share in range(question.shares)]
    return SearchQuestion(question.view, question.budget, seed=question.seed, shares=2, share_iterations=each)


def test_parts_of_one_question_are_independent_searches() -> None:
    question = SearchQuestion(opening_view(), Budget(iterations=200), seed=3, shares=2)
    searchers = [begin_part(question, number) for number in range(2)]
    for number, searcher in enumerate(searchers):
        searcher.run(question.iterations_of(number))
    assert searchers[0].results() != searchers[1].results()
