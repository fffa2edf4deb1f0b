"""Pools: answers equal to those of `compute_here`, batches in order or as completed, lost workers, closed pools."""

from __future__ import annotations

import gc
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest
from liars_dice import LiarsDice
from pools import InlinePool
from questions import ORIFLAMME, essence, questions
from searches import opening_view, searches
from waiting import HANG_S, wait_until

from engine_cy import new_game, python_game
from solver import Answer, Budget, Control, InvalidQuestionError, Question, SearchQuestion, solve
from solver.pool import cores, parts, processes
from solver.pool.base import Answered, Pool, WorkerLostError, answer_many, compute_here
from solver.pool.job_bytes import JobBytesError, WorkerError
from solver.pool.processes import Processes
from solver.pool.threads import Threads


def endless(seed: int = 0) -> SearchQuestion:
    return SearchQuestion(opening_view(), Budget(iterations=10**12), seed=seed)


def essences(answers: Any) -> list[tuple[int, Any, str]]:
    return [(number, essence(answer), str(error)) for number, answer, error in answers]


def expected_essences(batch: Any) -> list[tuple[int, Any, str]]:
    return essences(Answered(number, compute_here(question)) for number, question in enumerate(batch))


FACTORIES: dict[str, Callable[[], Pool]] = {
    "threads": lambda: Threads(2),
    "processes": lambda: Processes(2),
    "inline": InlinePool,
}


@pytest.fixture(scope="module", params=FACTORIES)
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    created = FACTORIES[request.param]()
    yield created
    created.close()


# --- one question ---------------------------------------------------------------------------------------------


OTHERS = [("oriflamme_prototype", "prototype", 2), ("castle_village_port", "house", 3)]


@pytest.mark.parametrize("spec", [ORIFLAMME, *(pytest.param(spec, marks=pytest.mark.slow) for spec in OTHERS)], ids=str)
def test_every_pool_gives_the_answers_of_compute_here(pool: Pool, spec: Any) -> None:
    shapes = set()
    for number, question in enumerate(questions(spec, seed=3, every=5)):
        expected = essence(compute_here(question))
        shapes.add(question.shape)
        for width in (None, 1, 2):
            # With a control, the parts are spread over workers.
            control = Control() if number % 2 else None
            assert essence(pool.submit(question, control, width=width).result(HANG_S)) == expected
    assert shapes == {"search", "comparison", "information"}


def test_every_pool_answers_forced_moves_and_configurations_without_a_search(pool: Pool) -> None:
    forced = new_game("oriflamme").position(">A:Soldier* B:Spy C:Heir").view("A")
    for question in (
        SearchQuestion(opening_view(), config="greedy", seed=4),
        SearchQuestion(opening_view(), config="random", seed=4),
        SearchQuestion(opening_view(), Budget(iterations=200), config="level-2", seed=4, shares=2),
        SearchQuestion(forced, Budget(iterations=10**9)),
    ):
        answer = pool.submit(question).result(HANG_S)
        assert essence(answer) == essence(compute_here(question))
        assert answer.best == solve(question).best
        assert answer.question is question


def test_submit_never_waits() -> None:
    for pool in (Threads(1), Processes(1)):
        control = Control()
        busy = pool.submit(endless(), control)
        later = [pool.submit(question) for question in searches(20)]
        assert not any(future.done() for future in later)
        control.stop()
        assert busy.result(HANG_S).stopped_by == "stopped"
        assert all(future.result(HANG_S).iterations == 20 for future in later)
        pool.close()


def test_a_function_is_mapped_in_parallel_in_order_or_as_completed(pool: Pool) -> None:
    items = [0.2, 0.0, 0.1, 0.05]
    assert list(pool.map(sleep_for, items)) == items
    assert sorted(pool.map(sleep_for, items, in_order=False)) == sorted(items)
    with pytest.raises(ZeroDivisionError):
        list(pool.map(reciprocal, [1, 0]))
    assert list(pool.map(reciprocal, [2])) == [0.5]


def test_queued_calls_are_dropped_when_the_iterator_of_results_is_closed(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second", "third", "fourth")]
    for folder in folders:
        folder.mkdir()
    (folders[0] / "may end").touch()
    with Processes(2) as pool:
        results = pool.map(work_in, folders)
        next(results)
        wait_until(lambda: all((folder / "started").exists() for folder in folders[1:3]))
        assert isinstance(results, Generator)
        results.close()
        for folder in folders:
            (folder / "may end").touch()
        assert list(pool.map(sleep_for, [0.0] * 8)) == [0.0] * 8
    assert not (folders[3] / "started").exists()


def work_in(folder: Path) -> None:
    (folder / "started").touch()
    wait_until((folder / "may end").exists)


def sleep_for(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def reciprocal(number: float) -> float:
    return 1 / number


# --- many questions -------------------------------------------------------------------------------------------


def test_every_question_has_its_answer_in_order(pool: Pool) -> None:
    assert essences(answer_many(searches(60), pool)) == expected_essences(searches(60))


def test_answers_may_arrive_as_they_are_computed(pool: Pool) -> None:
    answers = answer_many(searches(60), pool, in_order=False)
    assert essences(sorted(answers, key=lambda item: item.number)) == expected_essences(searches(60))


def test_the_order_of_answers_does_not_depend_on_their_durations() -> None:
    long = [SearchQuestion(opening_view(), Budget(iterations=30_000 if i % 7 == 0 else 5), seed=i) for i in range(28)]
    with Threads(2) as threads:
        assert [item.number for item in answer_many(long, threads)] == list(range(28))
        numbers = [item.number for item in answer_many(long, threads, in_order=False)]
    assert sorted(numbers) == list(range(28))
    assert numbers != list(range(28))


def test_questions_are_read_only_a_few_ahead(pool: Pool) -> None:
    read = 0

    def counted_questions() -> Iterator[Question]:
        nonlocal read
        for question in itertools.cycle(searches(5)):
            read += 1
            yield question

    for in_order in (True, False):
        read = 0
        stream = answer_many(counted_questions(), pool, ahead=10, in_order=in_order)
        for n_answered in range(40):
            next(stream)
            assert read <= n_answered + 20  # ten ahead, and ten more that are answered but not yet read
        stream.close()


def test_a_long_batch_needs_constant_memory() -> None:
    question = next(searches(1))
    answer = compute_here(question)

    class InstantPool(InlinePool):
        def answer(self, question: Question, control: Control | None) -> Any:
            return answer

    stream = answer_many(itertools.repeat(question), InstantPool(), ahead=200)
    for _ in range(2000):
        next(stream)
    tracemalloc.start()
    try:
        for _ in range(200):
            next(stream)
        gc.collect()  # garbage of earlier tests
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(4000):
            next(stream)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 200_000
    finally:
        tracemalloc.stop()


def test_an_interrupted_batch_can_be_completed_with_the_remaining_questions() -> None:
    whole = essences(answer_many(searches(40), InlinePool()))
    stream = answer_many(searches(40), InlinePool(), in_order=False)
    first = [next(stream) for _ in range(13)]
    stream.close()
    left = [number for number in range(40) if number not in {item.number for item in first}]
    rest = answer_many((question for i, question in enumerate(searches(40)) if i in left), InlinePool())
    remaining_answers = [item._replace(number=left[item.number]) for item in rest]
    assert essences(sorted(first + remaining_answers, key=lambda item: item.number)) == whole


def test_questions_may_depend_on_earlier_answers(pool: Pool) -> None:
    """An iterator may wait for the answers to all but the last `ahead` questions."""
    n_answered = 0

    def questions_on_demand() -> Iterator[Question]:
        for number, question in enumerate(searches(9)):
            assert n_answered >= number - 3
            yield question

    for item in answer_many(questions_on_demand(), pool, ahead=3):
        n_answered += 1
        assert item.error is None
    assert n_answered == 9


def test_an_invalid_question_gets_an_error_and_the_others_their_answers(pool: Pool) -> None:
    good = list(searches(3))
    bad = next(searches(1))
    bad.config = next(searches(1)).config.__class__("bad", nodes="all")  # type: ignore[arg-type]
    answers = list(answer_many([good[0], bad, good[2]], pool))
    assert [item.error is None for item in answers] == [True, False, True]
    assert answers[1].answer is None
    assert "all" in str(answers[1].error)


def test_a_question_that_cannot_be_sent_to_processes_gets_an_error() -> None:
    game = python_game(LiarsDice)  # without an id
    foreign = SearchQuestion(game.position("1 2 3 1x4, first A").view(1), Budget(iterations=10), config="plain")
    good = list(searches(2))
    with Processes(1) as pool:
        answers = list(answer_many([good[0], foreign, good[1]], pool))
    assert isinstance(answers[1].error, JobBytesError)
    assert [item.error for item in answers[::2]] == [None, None]


def test_a_question_that_kills_its_workers_gets_an_error_and_the_others_their_answers() -> None:
    many = list(searches(50, 1))
    answers = list(answer_many(many, InlinePool(killers=(many[20],))))
    assert [item.number for item in answers] == list(range(50))
    assert [item.number for item in answers if item.error] == [20]
    assert isinstance(answers[20].error, WorkerLostError)


def test_closing_a_batch_stops_its_searches_in_flight() -> None:
    for pool in (Threads(2), Processes(2)):
        quick = next(searches(1))
        stream = answer_many(itertools.chain([quick], map(endless, range(10))), pool)
        assert next(stream).answer.iterations == 20
        stream.close()
        # The workers are free again.
        assert pool.submit(quick).result(HANG_S).iterations == 20
        pool.close()


@pytest.mark.parametrize("make", [lambda: Threads(1), lambda: Processes(1)])
@pytest.mark.parametrize("is_one", [True, False])
def test_an_interrupt_from_another_thread_ends_a_wait(make: Callable[[], Pool], is_one: bool) -> None:
    pool, reported = make(), threading.Event()
    busy = pool.submit(endless(), Control(lambda _: reported.set(), 5))

    def interrupt() -> None:
        assert reported.wait(HANG_S)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)

    def wait() -> None:
        thread.start()
        if is_one:
            pool.compute(endless(), Control())
        else:
            list(answer_many([endless()], pool))

    with pytest.raises(KeyboardInterrupt):
        wait()
    thread.join()
    busy.cancel()
    pool.close()


# --- lost workers and closed pools ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_batch_is_complete_although_a_process_is_killed() -> None:
    with Processes(2) as pool:
        stream = answer_many(searches(60, 3000), pool)
        answers = [next(stream)]
        victim = pool.pids[0]
        os.kill(victim, signal.SIGKILL)
        answers += stream
        assert essences(answers) == expected_essences(searches(60, 3000))
        assert victim not in pool.pids
        assert len(pool.pids) == 2


@pytest.mark.slow
def test_a_question_is_computed_again_after_its_process_is_killed() -> None:
    with Processes(1) as pool:
        for n_kills in (1, 2):
            reported = threading.Event()
            question = SearchQuestion(opening_view(), Budget(iterations=300_000), seed=n_kills)
            control = Control(lambda _, reported=reported: reported.set(), 5)  # type: ignore[misc]
            future = pool.submit(question, control)
            for _ in range(n_kills):
                assert reported.wait(HANG_S)
                reported.clear()
                os.kill(pool.pids[0], signal.SIGKILL)
                wait_until(lambda: bool(pool.pids))
            assert essence(future.result(HANG_S)) == essence(compute_here(question))


def test_only_the_question_that_kills_every_process_gets_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = list(searches(12, 50))
    killer = endless()

    with Processes(1) as pool:

        def hunt() -> None:
            """Kill each process that gets the first question."""
            for _ in range(processes.TRIES):
                wait_until(lambda: pool.pids)
                [victim] = pool.pids
                os.kill(victim, signal.SIGKILL)
                wait_until(lambda victim=victim: victim not in pool.pids)  # type: ignore[misc]

        answers = answer_many([killer, *batch], pool)
        hunter = threading.Thread(target=hunt)
        hunter.start()
        first = next(answers)
        hunter.join()
        rest = list(answers)
    assert isinstance(first.error, WorkerLostError)
    assert str(first.error) == f"{processes.TRIES} workers were lost over this"
    assert essences([item._replace(number=item.number - 1) for item in rest]) == expected_essences(batch)


def test_a_mapped_call_whose_process_is_lost_is_not_retried() -> None:
    with Processes(1) as pool:
        with pytest.raises(WorkerLostError, match="a worker was lost over this"):
            list(pool.map(os._exit, [3]))
        assert list(pool.map(reciprocal, [4])) == [0.25]


def count_until_stopped(step: int, control: Control) -> int:
    """Report multiples of `step` until the control is stopped; return the last one."""
    number = 0
    while not control.stopped:
        number += step
        if control.report:
            control.report(number)  # type: ignore[arg-type]
        time.sleep(0.005)
    return number


@pytest.mark.parametrize("make", [lambda: Threads(1), lambda: Processes(1)])
def test_a_call_can_report_and_be_stopped(make: Callable[[], Any]) -> None:
    reported: list[Any] = []
    control = Control(reported.append, 1.0)
    with make() as pool:
        future = pool.call(count_until_stopped, 3, control)
        wait_until(lambda: len(reported) >= 3)
        control.stop()
        last = future.result(30)
    assert reported[:3] == [3, 6, 9]
    assert reported[-1] == last
    stopped = Control()
    stopped.stop()
    with make() as pool:
        assert pool.call(count_until_stopped, 3, stopped).result(30) == 0


def die_once(path: str, control: Control) -> str:
    if not Path(path).exists():
        Path(path).touch()
        os._exit(1)
    return "done"


def test_a_call_with_a_control_is_retried_when_its_process_is_lost(tmp_path: Path) -> None:
    with Processes(1) as pool:
        assert pool.call(die_once, str(tmp_path / "died"), Control()).result(60) == "done"


def test_an_error_that_cannot_be_pickled_is_raised_with_its_name() -> None:
    with Processes(1) as pool, pytest.raises(WorkerError, match="LocalError: why"):
        list(pool.map(raise_local_error, [1]))


def raise_local_error(_: int) -> None:
    class LocalError(Exception):
        pass

    raise LocalError("why")


@pytest.mark.parametrize("make", [lambda: Threads(1), lambda: Processes(1)])
def test_closing_a_pool_stops_searches_in_flight_and_cancels_queued_ones(make: Callable[[], Any]) -> None:
    pool = make()
    reported = threading.Event()
    busy = pool.submit(endless(), Control(lambda _: reported.set(), 5))
    waiting = pool.submit(endless())
    assert reported.wait(HANG_S)
    pool.close()
    for future in (waiting, pool.submit(endless())):
        with pytest.raises(CancelledError):
            future.result(HANG_S)
    # Threads stop their search, processes are killed.
    if isinstance(pool, Processes):
        with pytest.raises(CancelledError):
            busy.result(HANG_S)
        assert pool.pids == []
    else:
        assert busy.result(HANG_S).stopped_by == "stopped"


def test_a_pool_can_be_closed_while_its_processes_start() -> None:
    for pause in (0.0, 0.01, 0.05, 0.2):
        pool = Processes(2)
        futures = [pool.submit(endless(seed)) for seed in range(3)]
        time.sleep(pause)
        pool.close()
        assert pool.pids == []
        for future in futures:
            with pytest.raises(CancelledError):
                future.result(0)


@pytest.mark.slow
def test_processes_end_with_their_parent_even_if_it_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "idle.py"
    program.write_text(
        "import time\n"
        "from solver.pool.processes import Processes\n"
        "if __name__ == '__main__':\n"
        "    pool = Processes(2)\n"
        "    list(pool.map(time.sleep, [0.2] * 4))\n"
        "    print(*pool.pids, flush=True)\n"
        "    time.sleep(3600)\n"
    )
    # With processes that compute when their parent is killed.
    program.with_name("computes.py").write_text(
        program.read_text().replace("    time.sleep(3600)", "    list(pool.map(time.sleep, [3600] * 2))")
    )
    for name in ("idle.py", "computes.py"):
        with subprocess.Popen(
            [sys.executable, str(tmp_path / name)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        ) as process:
            assert process.stdout is not None
            workers = [int(number) for number in process.stdout.readline().split()]
            assert len(workers) == 2
            process.kill()
        wait_until(lambda workers=workers: not any(map(is_alive, workers)))  # type: ignore[misc]


def is_alive(number: int) -> bool:
    """Return whether a process runs and is no zombie."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_cancelled_future_logs_no_error(caplog: pytest.LogCaptureFixture) -> None:
    pool = Processes(1)
    future = pool.submit(next(searches(1)))
    future.cancel()
    pool.close()
    assert caplog.text == ""


# --- threads --------------------------------------------------------------------------------------------------


def test_concurrent_questions_with_parts_on_each_thread_do_not_deadlock() -> None:
    with Threads(2) as threads:
        pairs = [SearchQuestion(opening_view(), Budget(iterations=2000), seed=seed, shares=4) for seed in range(20)]
        futures = [threads.submit(question, Control()) for question in pairs]
        for question, future in zip(pairs, futures, strict=True):
            assert essence(future.result(HANG_S)) == essence(compute_here(question))


@pytest.mark.slow
def test_threads_can_share_one_belief() -> None:
    """Concurrent searches of one question sample from the same belief."""
    draw = random.Random(2)
    batch: list[SearchQuestion] = []
    for spec in (ORIFLAMME, ("castle_village_port", "house", 3)):
        for question in questions(spec, seed=4, every=9):
            if isinstance(question, SearchQuestion) and question.decides:
                history = question.history
                batch += [
                    SearchQuestion(question.view, Budget(iterations=900), shares=3, seed=seed, history=history)
                    for seed in range(2)
                ]
    answers = {question: essence(compute_here(SearchQuestion(**arguments_of(question)))) for question in batch}
    with Threads(4) as threads:
        order = [question for question in batch for _ in range(4)]
        draw.shuffle(order)
        futures = [(question, threads.submit(question, Control())) for question in order]
        for question, future in futures:
            answer: Answer = future.result(HANG_S)
            assert essence(answer) == answers[question]
            assert answer.question is question


def arguments_of(question: SearchQuestion) -> dict[str, Any]:
    """Return the arguments for an equal question with a belief of its own."""
    return {
        "view": question.view,
        "budget": question.budget,
        "shares": question.shares,
        "seed": question.seed,
        "history": question.history,
    }


def test_an_invalid_question_is_refused_before_it_reaches_the_pool() -> None:
    with pytest.raises(InvalidQuestionError), Threads(1) as threads:
        solve(opening_view(), shares=0, pool=threads)


def test_closing_threads_ends_a_question_that_waits_for_a_free_thread() -> None:
    threads = Threads(2)
    first = threads.submit(endless(), Control())
    reported = threading.Event()
    control = Control(lambda _: reported.set(), 5)
    second = threads.submit(SearchQuestion(opening_view(), Budget(iterations=10**12), shares=2), control)
    assert reported.wait(HANG_S)  # one share of the second question runs, the other one waits
    threads.close()
    assert first.done()
    assert second.done()


# --- trees -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_timed", "is_large", "order"),
    [
        (True, True, ["answered", "freed", "freed"]),
        (True, False, ["freed", "freed", "answered"]),
        (False, True, ["freed", "freed", "answered"]),
    ],
)
def test_a_search_with_a_time_limit_answers_before_its_large_trees_are_freed(
    is_timed: bool, is_large: bool, order: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Freeing a large tree takes milliseconds. Otherwise, each part frees its tree at its end to save memory."""
    events: list[str] = []
    begin = parts.begin_part
    is_watched = threading.Event()

    class WatchedSearcher:
        def __init__(self, question: Question, number: int) -> None:
            assert is_watched.wait(HANG_S)
            self._searcher = begin(question, number)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._searcher, name)

        def __del__(self) -> None:
            events.append("freed")

    monkeypatch.setattr(parts, "begin_part", WatchedSearcher)
    if is_large:
        monkeypatch.setattr(parts, "FREED_AT_ONCE_BYTES", 0)
    budget = Budget(iterations=100, time_ms=60_000 if is_timed else None)
    with Threads(1) as pool:
        future = pool.submit(SearchQuestion(opening_view(), budget, shares=2), Control())
        future.add_done_callback(lambda _: events.append("answered"))
        is_watched.set()
        future.result()
    assert events == order


def test_without_a_pool_a_search_has_at_most_a_thread_per_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a thread for each of 256 shares, a search ended seconds after its time limit."""
    widths: list[int] = []

    class WatchedThreads(Threads):
        def __init__(self, threads: int) -> None:
            widths.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(sys.modules["solver.solve"], "Threads", WatchedThreads)
    answer = solve(opening_view(), Budget(iterations=256), shares=256)
    assert answer.iterations == 256
    assert widths == [min(256, cores())]


def test_a_timed_search_with_many_shares_leaves_time_to_sum_them_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a core that is busy half of the time, the shares take twice their CPU time to sum up."""
    cpu_ns = 0
    sum_up = parts.sum_up

    def slow_sum_up(*arguments: Any) -> Any:
        nonlocal cpu_ns
        cpu_ns += 100_000
        return sum_up(*arguments)

    monkeypatch.setattr(parts, "sum_up", slow_sum_up)
    monkeypatch.setattr(time, "monotonic_ns", lambda: 0)
    monkeypatch.setattr(time, "thread_time_ns", lambda: cpu_ns)
    question = SearchQuestion(opening_view(), Budget(time_ms=1_000), shares=256)
    runs = [parts.PartRun(question, number, 10**9) for number in range(256)]
    for run in runs:
        run._ensure_searcher()
    parts._leave_time_to_end(runs, 2.0)
    assert {run.left_ns for run in runs} == {10**9 - 4 * 256 * 100_000 * 2}
    for _ in range(9):
        before_ns = runs[0].left_ns
        parts._leave_time_to_end(runs, 2.0)
        assert runs[0].left_ns >= before_ns // 2, "at most half of the time left is given up"


def test_a_timed_search_starts_no_more_shares_than_half_of_its_time_allows() -> None:
    """With 256 shares in 100 ms on a busy machine, all of the time went into their first turns."""
    now_ns = time.monotonic_ns()
    question = SearchQuestion(opening_view(), Budget(time_ms=100), shares=3)
    first, second, third = (parts.PartRun(question, number, now_ns + 10**12) for number in range(3))
    second.run_turn(1_000_000)
    for run in (first, third):
        run._starts_until_ns = now_ns
        run.run_turn(1_000_000)
    assert (first.ended_by, second.ended_by, third.ended_by) == ("", "", "time"), "an answer needs the first share"
    assert first.share().iterations > 0 < second.share().iterations
    assert third.share().iterations == 0
