"""A batch: every job has one answer, that of a search alone; in order, or urgent ones first; and little is kept."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine_cy import View, new_game
from solver import Budget, solve
from solver.backends.base import Job
from solver.backends.wire import WorkerError, answered, encode_job, pack, unpack
from solver.batch import (
    Answer,
    Chunk,
    Item,
    LocalProcesses,
    LocalThreads,
    WorkerLostError,
    analyze_many,
    answer,
    answer_all,
)
from solver.solve import as_analysis, make_job


def view(seed: int = 3) -> View:
    position = new_game("oriflamme", "en-2019", 4).deal(seed)
    return position.view(position.to_act or 0)


def jobs(n: int, iterations: int = 20) -> Iterator[Job]:
    seen = [view(seed) for seed in range(5)]
    return (make_job(seen[i % 5], Budget(iterations=iterations), seed=i, workers=1 + i % 2) for i in range(n))


class Fake:
    """A pool whose answers are there at once, or never, as it is told."""

    def __init__(self, width: int = 2) -> None:
        self.width = width
        self.sizes: list[int] = []
        self.stopped = 0
        self.killers: set[bytes] = set()

    def submit(self, packed: bytes) -> Chunk:
        wanted = unpack(packed)
        self.sizes.append(len(wanted))
        found: Future[bytes] = Future()
        if self.killers & set(wanted):
            found.set_exception(WorkerLostError("killed"))
        else:
            found.set_result(answer_all(packed))

        def stop() -> None:
            self.stopped += 1

        return Chunk(found, stop)


@pytest.fixture(scope="module", params=["threads", "processes"])
def pool(request: pytest.FixtureRequest) -> Iterator[Any]:
    made = LocalThreads(2) if request.param == "threads" else LocalProcesses(2)
    yield made
    made.close()


def test_every_job_has_its_answer_in_order(pool: Any) -> None:
    found = list(analyze_many(jobs(60), pool))
    assert found == [Answer(i, answer(job)) for i, job in enumerate(jobs(60))]


def test_answers_may_come_as_they_are_found(pool: Any) -> None:
    found = list(analyze_many(jobs(60), pool, in_order=False))
    assert sorted(found, key=lambda one: one.number) == list(analyze_many(jobs(60), pool))


def test_an_answer_is_what_solve_says() -> None:
    for config in ("default", "level-2", "greedy"):
        job = make_job(view(), Budget(iterations=200), config=config, seed=4, workers=2)
        analysis = as_analysis(job, answer(job), begun=0.0)
        alone = solve(view(), Budget(iterations=200), config=config, seed=4, workers=2)
        assert (analysis.best, analysis.moves, analysis.stopped_by) == (alone.best, alone.moves, alone.stopped_by)


def test_urgent_ones_are_begun_first() -> None:
    items = [Item(job, priority=i % 3) for i, job in enumerate(jobs(30))]
    found = [one.number for one in analyze_many(items, Fake(1), in_order=False)]
    assert [number % 3 for number in found] == [2] * 10 + [1] * 10 + [0] * 10
    for rest in range(3):
        equal = [number for number in found if number % 3 == rest]
        assert equal == sorted(equal)


def test_no_more_is_read_than_is_needed() -> None:
    read = 0

    def counted() -> Iterator[Job]:
        nonlocal read
        for job in itertools.cycle(jobs(5)):
            read += 1
            yield job

    stream = analyze_many(counted(), Fake(2), ahead=10)
    for given in range(40):
        next(stream)
        assert read <= given + 11
    stream.close()


def test_a_long_batch_takes_no_memory() -> None:
    class Quick(Fake):
        def submit(self, packed: bytes) -> Chunk:
            found: Future[bytes] = Future()
            found.set_result(pack([same] * len(unpack(packed))))
            return Chunk(found, lambda: None)

    job = next(jobs(1))
    same = unpack(answer_all(pack([encode_job(job)])))[0]
    stream = analyze_many(itertools.repeat(job), Quick(2), ahead=200)
    for _ in range(2000):
        next(stream)
    tracemalloc.start()
    try:
        for _ in range(200):
            next(stream)
        gc.collect()  # what earlier tests left behind is not this one's
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(4000):
            next(stream)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 200_000
    finally:
        tracemalloc.stop()


def test_who_was_interrupted_goes_on_where_he_was() -> None:
    whole = list(analyze_many(jobs(40), Fake()))
    stream = analyze_many(jobs(40), Fake(), in_order=False)
    first = [next(stream) for _ in range(13)]
    stream.close()
    done = {one.number for one in first}
    rest = list(analyze_many(jobs(40), Fake(), skip=done))
    assert [one.number for one in rest] == [i for i in range(40) if i not in done]
    assert sorted(first + rest, key=lambda one: one.number) == whole
    assert list(analyze_many(jobs(40), Fake(), skip=range(40))) == []


def test_a_break_in_the_stream_of_jobs_holds_nothing_up(pool: Any) -> None:
    """None: there is no job just now."""
    given = 0

    def halting() -> Iterator[Job | None]:
        nonlocal given
        yield from jobs(3)
        while given < 3:  # goes on only when those before are answered
            yield None
        yield from jobs(2)

    for one in analyze_many(halting(), pool):
        given += 1
        assert one.error is None
    assert given == 5


def test_small_jobs_go_together_and_large_ones_alone() -> None:
    small, large = Fake(), Fake()
    list(analyze_many(jobs(300, 1), small))
    assert max(small.sizes) > 5
    list(analyze_many(jobs(6, 20_000), large))
    assert max(large.sizes) == 1


def test_a_bad_job_is_told_and_the_others_go_on() -> None:
    good = list(jobs(3))
    bad = replace(good[0], config=replace(good[0].config, nodes="all"))  # type: ignore[arg-type]
    found = list(analyze_many([good[0], bad, good[2]], Fake()))
    assert [one.error is None for one in found] == [True, False, True]
    assert "nodes" in str(found[1].error)


def test_a_job_that_kills_its_workers_is_given_up_and_the_others_are_not() -> None:
    many = list(jobs(50, 1))
    pool = Fake()
    pool.killers = {encode_job(many[20])}
    found = list(analyze_many(many, pool))
    assert [one.number for one in found] == list(range(50))
    assert [one.number for one in found if one.error] == [20]
    assert isinstance(found[20].error, WorkerLostError)


def test_closing_ends_what_is_under_way() -> None:
    class Never(Fake):
        def submit(self, packed: bytes) -> Chunk:
            if self.sizes:
                return Chunk(Future(), super().submit(packed).stop)
            return super().submit(packed)

    pool = Never()
    stream = analyze_many(jobs(50), pool)
    next(stream)
    stream.close()
    assert pool.stopped == 3  # of two chunks a worker, one was answered and made room for another


def test_a_process_is_killed_and_nothing_is_lost() -> None:
    pool = LocalProcesses(2)
    try:
        stream = analyze_many(jobs(60, 3000), pool)
        found = [next(stream)]
        victims = list(pool._executor._processes)
        os.kill(victims[0], signal.SIGKILL)
        found += stream
        assert found == [Answer(i, answer(job)) for i, job in enumerate(jobs(60, 3000))]
    finally:
        pool.close()


def test_what_fails_for_no_reason_of_the_job_is_told() -> None:
    class Broken(Fake):
        def submit(self, packed: bytes) -> Chunk:
            found: Future[bytes] = Future()
            found.set_result(pack([answered(lambda: bytes(1 // 0)) for _ in unpack(packed)]))
            return Chunk(found, lambda: None)

    (found,) = analyze_many(jobs(1), Broken())
    assert isinstance(found.error, WorkerError)


def test_processes_end_with_the_one_that_began_them_even_if_it_is_killed(tmp_path) -> None:
    program = tmp_path / "begins.py"
    program.write_text(
        "import os, time\n"
        "from solver.batch import LocalProcesses, pack\n"
        "if __name__ == '__main__':\n"
        "    pool = LocalProcesses(2)\n"
        "    pool.submit(pack([])).answers.result()\n"
        "    print(*pool._executor._processes, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True) as begins:
        assert begins.stdout is not None
        workers = [int(number) for number in begins.stdout.readline().split()]
        assert workers
        begins.kill()
    deadline = time.monotonic() + 10
    while any(is_alive(number) for number in workers):
        assert time.monotonic() < deadline, "workers are left over"
        time.sleep(0.05)


def is_alive(number: int) -> bool:
    """Whether there is a process with this number that has not ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_answer_that_nobody_waits_for_is_dropped_without_a_word(caplog) -> None:
    pool = LocalProcesses(1)
    chunk = pool.submit(pack([encode_job(next(jobs(1)))]))
    assert chunk.answers.cancel()
    pool.close()
    assert caplog.text == ""
