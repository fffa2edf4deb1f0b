"""Batches on Ray: how questions are put into chunks, and which question is refused when workers are lost."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import pytest
from searches import opening_view
from waiting import HANG_S, wait_until

from solver import Budget, Control, SearchQuestion
from solver.pool import ray_batch
from solver.pool.base import PendingAnswer, WorkerLostError, compute_here
from solver.pool.driver_channel import Frame, FrameKind
from solver.pool.job_bytes import decode_job, encode_job, encode_share, unpack, write_answer
from solver.pool.parts import run_parts
from solver.pool.ray_batch import Batches
from solver.pool.ray_pool import RayPool
from solver.question import pack


class FakePool:
    """A pool that answers at once, or with `holds` when a test calls the held answers."""

    def __init__(self, width: int = 2, *, holds: bool = False) -> None:
        self.width, self.is_ready, self.is_closed = width, True, False
        self.started: list[tuple[FrameKind, list[int]]] = []  # the seeds of each call
        self.stopped: list[int] = []
        self.held: list[Callable[[], None]] = []
        self.killers: set[int] = set()
        self._holds = holds
        self.calls = 0
        self._numbers = itertools.count(1)
        self.batches = Batches(cast(RayPool, self))

    def begin(self, kind: FrameKind, payload: bytes, deliver: Callable[[Frame], None]) -> range:
        call = self.calls = next(self._numbers)
        searches = list(map(decode_job, unpack(payload)))
        seeds = [search.seed for search in searches]
        self.started.append((kind, seeds))
        if not self.is_ready:
            deliver(Frame(FrameKind.NO_WORKER, call, b""))
        elif self.killers & set(seeds):
            deliver(Frame(FrameKind.LOST, call, b""))
        else:
            replies = [write_answer(partial(compute, search)) for search in searches]
            answer = partial(deliver, Frame(FrameKind.RESULT, call, pack(replies)))
            if self._holds:
                self.held.append(answer)
            else:
                answer()
        return range(call, call + 1)

    def send(self, kind: FrameKind, call: int) -> None:
        assert kind == FrameKind.STOP
        self.stopped.append(call)

    def submit(self, *seeds: int, iterations: int = 2) -> list[Future[Any]]:
        return [self.batches.submit(question_of(seed, iterations)) for seed in seeds]


def compute(search: Any) -> bytes:
    return pack(list(map(encode_share, run_parts(search, range(search.n_parts), Control()))))


@contextmanager
def fake_pool(width: int = 2, *, holds: bool = False) -> Iterator[FakePool]:
    pool = FakePool(width, holds=holds)
    try:
        yield pool
    finally:
        pool.is_closed = True
        pool.batches.close()


def question_of(seed: int, iterations: int = 2) -> SearchQuestion:
    return SearchQuestion(opening_view(), Budget(iterations=iterations), seed=seed)


def test_quick_questions_share_a_chunk_and_unknown_ones_have_their_own() -> None:
    with fake_pool() as pool:
        for future in pool.submit(*range(400)):
            future.result(HANG_S)
        sizes = [len(seeds) for _, seeds in pool.started]
        assert sizes[0] == 1
        assert 5 < max(sizes) <= ray_batch.CHUNK_MAX
        assert sum(sizes) == 400
        # A new budget is not assumed to be quick.
        before = len(pool.started)
        for future in pool.submit(*range(4), iterations=3):
            future.result(HANG_S)
        assert len(pool.started[before][1]) == 1


def test_at_most_two_chunks_for_each_worker_are_in_flight() -> None:
    with fake_pool(holds=True) as pool:
        pending = pool.submit(*range(20))
        wait_until(lambda: len(pool.held) == 4)
        time.sleep(0.05)
        assert len(pool.held) == 4
        while not all(future.done() for future in pending):
            wait_until(lambda: bool(pool.held) or all(future.done() for future in pending))
            for answer in [pool.held.pop() for _ in range(len(pool.held))]:
                answer()


def test_only_a_question_that_loses_workers_on_its_own_is_refused() -> None:
    with fake_pool() as pool:
        for future in pool.submit(*range(400)):
            future.result(HANG_S)  # from now on they share chunks
        pool.started.clear()
        pool.killers = {1020}
        pending = dict(zip(range(1000, 1100), pool.submit(*range(1000, 1100)), strict=True))
        errors = {seed: future.exception(HANG_S) for seed, future in pending.items()}
        assert [seed for seed, error in errors.items() if error] == [1020]
        assert isinstance(errors[1020], WorkerLostError)
        together = next(seeds for kind, seeds in pool.started if kind == FrameKind.BATCH and 1020 in seeds)
        assert len(together) > 1
        alone = [seeds for kind, seeds in pool.started if kind == FrameKind.ALONE]
        assert all(len(seeds) == 1 for seeds in alone)
        assert sorted(seed for (seed,) in alone) == sorted([*together, *[1020] * (ray_batch.TRIES - 1)])


def test_a_question_that_lost_a_worker_waits_for_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_pool(1) as pool:
        pool.killers = {7}
        (pending,) = pool.submit(7)
        wait_until(lambda: len(pool.started) == 1 + ray_batch.TRIES)
        assert isinstance(pending.exception(HANG_S), WorkerLostError)

        pool.killers, pool.is_ready = set(), False
        (innocent,) = pool.submit(8)  # computed here
        assert innocent.result(HANG_S).moves == compute_here(question_of(8)).moves

        # Question 9 lost a worker in a chunk, and 10 on its own. Then Ray is gone.
        entries = {}
        for seed, tries in ((9, 0), (10, 1)):
            (future,) = pool.submit(seed)
            future.result(HANG_S)
            entry = ray_batch._Entry(1000 + seed, question_of(seed), b"", PendingAnswer(Control()), 0.0)
            entry.job, entry.tries, entry.lost = encode_job(entry.question), tries, time.monotonic()
            entries[seed] = entry
            pool.batches._inbox.put(partial(pool.batches._entries.__setitem__, entry.number, entry))
            pool.batches._inbox.put(partial(pool.batches._suspects.append, entry.number))
        time.sleep(3 * ray_batch.TICK_S)
        assert not any(entry.pending.done() for entry in entries.values())
        monkeypatch.setattr(ray_batch, "HOLD_S", 0.0)
        assert entries[9].pending.result(HANG_S).moves == compute_here(question_of(9)).moves
        assert isinstance(entries[10].pending.exception(HANG_S), WorkerLostError)


def test_a_question_that_is_cancelled_in_the_queue_is_never_sent() -> None:
    with fake_pool(1, holds=True) as pool:
        pending = pool.submit(*range(10))
        wait_until(lambda: len(pool.held) == 2)
        pending[9].cancel()
        assert pending[9].result(HANG_S).stopped_by == "stopped"
        while not all(future.done() for future in pending):
            wait_until(lambda: bool(pool.held) or all(future.done() for future in pending))
            for answer in [pool.held.pop() for _ in range(len(pool.held))]:
                answer()
        assert 9 not in [seed for _, seeds in pool.started for seed in seeds]


def test_a_call_is_stopped_when_all_of_its_questions_are_cancelled() -> None:
    with fake_pool(1) as pool:
        for future in pool.submit(*range(100)):
            future.result(HANG_S)  # from now on they share chunks
        pool.started.clear()
        pool._holds = True
        pending = dict(zip(range(100, 120), pool.submit(*range(100, 120)), strict=True))
        wait_until(lambda: bool(pool.held))
        while max(len(seeds) for _, seeds in pool.started) == 1:
            n = len(pool.started)
            pool.held.pop(0)()
            wait_until(lambda n=n: len(pool.started) > n)  # type: ignore[misc]
        last = max(range(len(pool.started)), key=lambda i: len(pool.started[i][1]))
        call = pool.calls - len(pool.started) + 1 + last
        first, *others = [pending[seed] for seed in pool.started[last][1]]
        assert others
        for other in others:
            other.cancel()
        time.sleep(0.05)
        assert pool.stopped == []
        first.cancel()
        wait_until(lambda: pool.stopped == [call])


def test_closing_cancels_questions_in_flight() -> None:
    with fake_pool(1, holds=True) as pool:
        pending = pool.submit(*range(10))
        wait_until(lambda: len(pool.held) == 2)
    for future in pending:
        with pytest.raises(CancelledError):
            future.result(HANG_S)
