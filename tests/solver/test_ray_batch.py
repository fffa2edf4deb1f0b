"""Many questions on their way to Ray: how they go together, and which is blamed for a lost worker."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import pytest
from waiting import HANG_S, wait_until

from engine_cy import View, new_game
from solver import Budget, Control, SearchQuestion
from solver.pool import ray_batch
from solver.pool.base import PendingAnswer, WorkerLostError, compute_here
from solver.pool.driver_channel import Frame, FrameKind
from solver.pool.job_bytes import decode_job, encode_job, encode_share, unpack, write_answer
from solver.pool.parts import run_parts
from solver.pool.ray_batch import Batches
from solver.pool.ray_pool import RayPool
from solver.question import pack


class Fake:
    """A pool that answers at once, or when it is released."""

    def __init__(self, width: int = 2, *, holds: bool = False) -> None:
        self.width, self.is_there, self.is_closed = width, True, False
        self.begun: list[tuple[FrameKind, list[int]]] = []  # the seeds of each call
        self.stopped: list[int] = []
        self.held: list[Callable[[], None]] = []
        self.killers: set[int] = set()
        self._holds = holds
        self.calls = 0
        self._numbers = itertools.count(1)
        self.batches = Batches(cast(RayPool, self))

    def begin(self, kind: FrameKind, payload: bytes, deliver: Callable[[Frame], None]) -> range:
        call = self.calls = next(self._numbers)
        questions = list(map(decode_job, unpack(payload)))
        seeds = [question.seed for question in questions]
        self.begun.append((kind, seeds))
        if not self.is_there:
            deliver(Frame(FrameKind.NO_WORKER, call, b""))
        elif self.killers & set(seeds):
            deliver(Frame(FrameKind.LOST, call, b""))
        else:
            answers = [write_answer(partial(compute, question)) for question in questions]
            answer = partial(deliver, Frame(FrameKind.RESULT, call, pack(answers)))
            if self._holds:
                self.held.append(answer)
            else:
                answer()
        return range(call, call + 1)

    def send(self, kind: FrameKind, call: int) -> None:
        assert kind == FrameKind.STOP
        self.stopped.append(call)

    def submit(self, *seeds: int, iterations: int = 2) -> list[Future[Any]]:
        return [self.batches.submit(question(seed, iterations)) for seed in seeds]


def compute(question: Any) -> bytes:
    return pack(list(map(encode_share, run_parts(question, range(question.n_parts), Control()))))


@contextmanager
def fake(width: int = 2, *, holds: bool = False) -> Iterator[Fake]:
    made = Fake(width, holds=holds)
    try:
        yield made
    finally:
        made.is_closed = True
        made.batches.close()


def view() -> View:
    position = new_game("oriflamme", "en-2019", 4).deal(3)
    return position.view(position.to_act or 0)


def question(seed: int, iterations: int = 2) -> SearchQuestion:
    return SearchQuestion(view(), Budget(iterations=iterations), seed=seed)


def test_small_questions_go_together_and_large_ones_alone() -> None:
    with fake() as pool:
        for one in pool.submit(*range(400)):
            one.result(HANG_S)
        sizes = [len(seeds) for _, seeds in pool.begun]
        assert sizes[0] == 1
        assert 5 < max(sizes) <= ray_batch.CHUNK_MAX
        assert sum(sizes) == 400
        # A budget that was not met before is not taken for a small one.
        before = len(pool.begun)
        for one in pool.submit(*range(4), iterations=3):
            one.result(HANG_S)
        assert len(pool.begun[before][1]) == 1


def test_no_more_than_two_chunks_a_worker_are_under_way() -> None:
    with fake(holds=True) as pool:
        pending = pool.submit(*range(20))
        wait_until(lambda: len(pool.held) == 4)
        time.sleep(0.05)
        assert len(pool.held) == 4
        while not all(one.done() for one in pending):
            wait_until(lambda: bool(pool.held) or all(one.done() for one in pending))
            for answer in [pool.held.pop() for _ in range(len(pool.held))]:
                answer()


def test_only_what_loses_workers_alone_is_refused() -> None:
    with fake() as pool:
        for one in pool.submit(*range(400)):
            one.result(HANG_S)  # now they go together
        pool.begun.clear()
        pool.killers = {1020}
        pending = dict(zip(range(1000, 1100), pool.submit(*range(1000, 1100)), strict=True))
        errors = {seed: one.exception(HANG_S) for seed, one in pending.items()}
        assert [seed for seed, error in errors.items() if error] == [1020]
        assert isinstance(errors[1020], WorkerLostError)
        together = next(seeds for kind, seeds in pool.begun if kind == FrameKind.BATCH and 1020 in seeds)
        assert len(together) > 1
        alone = [seeds for kind, seeds in pool.begun if kind == FrameKind.ALONE]
        assert all(len(seeds) == 1 for seeds in alone)
        assert sorted(seed for (seed,) in alone) == sorted([*together, *[1020] * (ray_batch.TRIES - 1)])


def test_a_question_that_cost_a_worker_waits_for_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake(1) as pool:
        pool.killers = {7}
        (pending,) = pool.submit(7)
        wait_until(lambda: len(pool.begun) == 1 + ray_batch.TRIES)
        assert isinstance(pending.exception(HANG_S), WorkerLostError)

        pool.killers, pool.is_there = set(), False
        (innocent,) = pool.submit(8)  # computed here
        assert innocent.result(HANG_S).moves == compute_here(question(8)).moves

        # One cost a worker among others, and one when it was alone; then there is no Ray any more.
        entries = {}
        for seed, tries in ((9, 0), (10, 1)):
            (future,) = pool.submit(seed)
            future.result(HANG_S)
            entry = ray_batch._Entry(1000 + seed, question(seed), b"", PendingAnswer(Control()), 0.0)
            entry.job, entry.tries, entry.lost = encode_job(entry.question), tries, time.monotonic()
            entries[seed] = entry
            pool.batches._inbox.put(partial(pool.batches._entries.__setitem__, entry.number, entry))
            pool.batches._inbox.put(partial(pool.batches._suspects.append, entry.number))
        time.sleep(3 * ray_batch.TICK_S)
        assert not any(entry.pending.done() for entry in entries.values())
        monkeypatch.setattr(ray_batch, "HOLD_S", 0.0)
        assert entries[9].pending.result(HANG_S).moves == compute_here(question(9)).moves
        assert isinstance(entries[10].pending.exception(HANG_S), WorkerLostError)


def test_a_question_that_is_dropped_while_it_waits_is_never_sent() -> None:
    with fake(1, holds=True) as pool:
        pending = pool.submit(*range(10))
        wait_until(lambda: len(pool.held) == 2)
        pending[9].cancel()
        assert pending[9].result(HANG_S).stopped_by == "stopped"
        while not all(one.done() for one in pending):
            wait_until(lambda: bool(pool.held) or all(one.done() for one in pending))
            for answer in [pool.held.pop() for _ in range(len(pool.held))]:
                answer()
        assert 9 not in [seed for _, seeds in pool.begun for seed in seeds]


def test_a_call_is_stopped_once_nothing_else_is_in_it() -> None:
    with fake(1) as pool:
        for one in pool.submit(*range(100)):
            one.result(HANG_S)  # now they go together
        pool.begun.clear()
        pool._holds = True
        pending = dict(zip(range(100, 120), pool.submit(*range(100, 120)), strict=True))
        wait_until(lambda: bool(pool.held))
        while max(len(seeds) for _, seeds in pool.begun) == 1:
            n = len(pool.begun)
            pool.held.pop(0)()
            wait_until(lambda n=n: len(pool.begun) > n)  # type: ignore[misc]
        last = max(range(len(pool.begun)), key=lambda i: len(pool.begun[i][1]))
        call = pool.calls - len(pool.begun) + 1 + last
        first, *others = [pending[seed] for seed in pool.begun[last][1]]
        assert others
        for other in others:
            other.cancel()
        time.sleep(0.05)
        assert pool.stopped == []
        first.cancel()
        wait_until(lambda: pool.stopped == [call])


def test_closing_ends_what_is_under_way() -> None:
    with fake(1, holds=True) as pool:
        pending = pool.submit(*range(10))
        wait_until(lambda: len(pool.held) == 2)
    for one in pending:
        with pytest.raises(CancelledError):
            one.result(HANG_S)
