"""Many positions: a stream of jobs goes in, a stream of answers comes out, and little is kept in between."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Container, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, Protocol, TypeVar

from solver.backends.base import Job
from solver.backends.serial import Serial
from solver.backends.wire import (
    WireError,
    answered,
    decode_job,
    decode_share,
    encode_job,
    encode_share,
    pack,
    read_answer,
    unpack,
)
from solver.merge import Share, merge
from solver.solve import answer_at_once
from solver.watch import Watch

T = TypeVar("T")

CHUNK_S = 0.02  # jobs go to workers in chunks that take about so long,
CHUNK_BYTES = 65_536  # and have no more bytes, nor their answers: what is larger goes through Ray's object store
CHUNK_MAX = 64
AHEAD = 1024  # jobs that are read before they are begun, so that urgent ones can overtake
IDLE_S = 0.02  # after which to look again for a job, where there was none
TRIES = 3  # workers that may be lost over one job


class Item(NamedTuple):
    """A job of a batch. Higher priorities are begun first, equal ones as they came."""

    job: Job
    priority: int = 0


class Answer(NamedTuple):
    """What came of the job with this number, counted from 0: what all its shares found, or the error it ended with."""

    number: int
    found: Share | None
    error: Exception | None = None


class WorkerLostError(RuntimeError):
    """The worker of a call ended or does not answer."""


class Chunk(NamedTuple):
    """Jobs under way: their answers, and how to end them soon."""

    answers: Future[bytes]
    stop: Callable[[], None]


class Pool(Protocol):
    """Computes packed jobs somewhere. A chunk fails with WorkerLostError if its worker was lost."""

    @property
    def width(self) -> int:
        """How many chunks it can work on at a time."""

    def submit(self, jobs: bytes) -> Chunk: ...


def answer(job: Job, watch: Watch | None = None) -> Share:
    """What one process finds for a job: what `solve` rests its answer on."""
    found = answer_at_once(job)
    return merge(Serial().run(job, watch)) if found is None else found


def answer_all(jobs: bytes, watch: Watch | None = None) -> bytes:
    """Packed answers to packed jobs."""
    return pack([answered(partial(_answer_one, job, watch)) for job in unpack(jobs)])


def _answer_one(job: bytes, watch: Watch | None) -> bytes:
    return encode_share(answer(decode_job(job), watch))


class LocalThreads:
    """Threads of this process."""

    def __init__(self, workers: int) -> None:
        self.width = workers
        self._executor = ThreadPoolExecutor(workers)

    def submit(self, jobs: bytes) -> Chunk:
        watch = Watch()
        return Chunk(self._executor.submit(answer_all, jobs, watch), watch.stop)

    def close(self) -> None:
        self._executor.shutdown(cancel_futures=True)


def end_with_parent() -> None:
    """Have this worker end when the process that began it does, even if that was killed and could tell nobody."""
    parent = parent_process()
    assert parent is not None

    def follow() -> None:
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=follow, daemon=True).start()


def submit_quietly(executor: ProcessPoolExecutor, call: Callable[..., T], *args: Any) -> Future[T]:
    """Have a worker compute. This may begin one, which inherits what is blocked: Ctrl-C, which a terminal tells all of
    them, is for this process to deal with."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return executor.submit(call, *args)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class LocalProcesses:
    """Processes on this machine, begun anew if one of them ends. A chunk that has begun cannot be stopped."""

    def __init__(self, workers: int) -> None:
        self.width = workers
        self._executor = self._new()

    def _new(self) -> ProcessPoolExecutor:
        # Not by fork: threads may hold locks that nobody gives back in the copy.
        return ProcessPoolExecutor(self.width, get_context("spawn"), initializer=end_with_parent)

    def submit(self, jobs: bytes) -> Chunk:
        try:
            inner = submit_quietly(self._executor, answer_all, jobs)
        except BrokenProcessPool:
            self._executor = self._new()
            inner = submit_quietly(self._executor, answer_all, jobs)
        outer: Future[bytes] = Future()

        def done(future: Future[bytes]) -> None:
            if future.cancelled():
                outer.cancel()
            if not outer.set_running_or_notify_cancel():
                return  # nobody waits for it any more
            if isinstance(error := future.exception(), BrokenProcessPool):
                outer.set_exception(WorkerLostError(str(error)))
            elif error:
                outer.set_exception(error)
            else:
                outer.set_result(future.result())

        inner.add_done_callback(done)
        return Chunk(outer, lambda: None)

    def close(self) -> None:
        self._executor.shutdown(cancel_futures=True)


def analyze_many(
    jobs: Iterable[Job | Item | None],
    pool: Pool,
    *,
    in_order: bool = True,
    skip: Container[int] = (),
    ahead: int = AHEAD,
) -> Generator[Answer, None, None]:
    """Answers to many jobs, each exactly once: in the order of the jobs, or as they are found.

    No more than `ahead` jobs have been read and not been answered, so there may be any number. Who was interrupted goes
    on where he was: `skip` holds the numbers of jobs that need no answer any more. A job over which three workers were
    lost is answered with a WorkerLostError. A None among the jobs says that there is none just now; it has no number.
    Closing the iterator ends what is under way.
    """
    batch = _Batch(iter(jobs), pool, skip, max(ahead, 1))
    early: dict[int, Answer] = {}
    try:
        for found in batch.answers():
            if not in_order:
                batch.order.remove(found.number)
                yield found
                continue
            early[found.number] = found
            while batch.order and batch.order[0] in early:
                yield early.pop(batch.order.popleft())
    finally:
        batch.stop()


class _Entry(NamedTuple):
    number: int
    job: bytes
    tries: int


class _Batch:
    """Jobs that were read, those under way, and how many go together."""

    def __init__(self, jobs: Iterator[Job | Item | None], pool: Pool, skip: Container[int], ahead: int) -> None:
        self.order: deque[int] = deque()  # of the jobs that were read and whose answers nobody has yet
        self._jobs = jobs
        self._pool = pool
        self._skip = skip
        self._ahead = ahead
        self._numbered = 0
        self._ended = False
        self._read: list[tuple[int, int, _Entry]] = []  # a heap: urgent ones first, then as they came
        self._refused: list[Answer] = []
        self._again: list[_Entry] = []  # of chunks that were lost; they go alone, as one of them may be the reason
        self._chunks = 0
        self._under_way: dict[int, tuple[list[_Entry], float, Chunk]] = {}
        self._done: SimpleQueue[int] = SimpleQueue()
        self._seconds = CHUNK_S  # that a job takes
        self._bytes = 4096.0  # that a job or an answer has

    def answers(self) -> Iterator[Answer]:
        """As they are found."""
        while True:
            idle = self._fill()
            refused, self._refused = self._refused, []
            yield from refused
            if not self._under_way:
                if self._ended and not refused:
                    return
                if idle:
                    time.sleep(IDLE_S)
                continue
            with suppress(Empty):
                yield from self._take(self._done.get(timeout=IDLE_S if idle else None))

    def stop(self) -> None:
        for _, _, chunk in self._under_way.values():
            chunk.stop()
            chunk.answers.cancel()

    def _fill(self) -> bool:
        """Give the pool two chunks a worker, one to work on and one to go on with. Whether there was no job to read."""
        while len(self._under_way) < 2 * self._pool.width:
            idle = self._read_ahead()
            chunk = self._next_chunk()
            if not chunk:
                return idle
            self._begin(chunk)
        return False

    def _read_ahead(self) -> bool:
        while not self._ended and len(self.order) < self._ahead:
            try:
                item = next(self._jobs)
            except StopIteration:
                self._ended = True
                return False
            if item is None:
                return True
            number = self._numbered
            self._numbered += 1
            if number in self._skip:
                continue
            self.order.append(number)
            job, priority = item if isinstance(item, Item) else (item, 0)
            try:
                heappush(self._read, (-priority, number, _Entry(number, encode_job(job), 0)))
            except WireError as error:
                self._refused.append(Answer(number, None, error))
        return False

    def _next_chunk(self) -> list[_Entry]:
        if self._again:
            return [self._again.pop()]
        wanted = min(CHUNK_MAX, int(CHUNK_S / self._seconds), int(CHUNK_BYTES / self._bytes))
        chunk: list[_Entry] = []
        while self._read and len(chunk) < max(wanted, 1):
            chunk.append(heappop(self._read)[2])
        return chunk

    def _begin(self, entries: list[_Entry]) -> None:
        number = self._chunks = self._chunks + 1
        chunk = self._pool.submit(pack([entry.job for entry in entries]))
        self._under_way[number] = (entries, time.monotonic(), chunk)
        chunk.answers.add_done_callback(lambda _: self._done.put(number))

    def _take(self, number: int) -> Iterator[Answer]:
        entries, begun, chunk = self._under_way.pop(number)
        try:
            answers = unpack(chunk.answers.result())
        except WorkerLostError:
            for entry in entries:
                if entry.tries + 1 < TRIES:
                    self._again.append(entry._replace(tries=entry.tries + 1))
                else:
                    yield Answer(entry.number, None, WorkerLostError(f"{TRIES} workers were lost over this job"))
            return
        self._learn(entries, answers, time.monotonic() - begun)
        for entry, message in zip(entries, answers, strict=True):
            yield _as_answer(entry.number, message)

    def _learn(self, entries: list[_Entry], answers: list[bytes], seconds: float) -> None:
        """How long a job takes, and how large it is: half of the time, its chunk waited for the one before it."""
        n = len(entries)
        size = max(sum(map(len, answers)), sum(len(entry.job) for entry in entries)) / n
        self._seconds += (seconds / 2 / n - self._seconds) / 4
        self._bytes += (size - self._bytes) / 4


def _as_answer(index: int, message: bytes) -> Answer:
    try:
        return Answer(index, decode_share(read_answer(message)))
    except Exception as error:
        return Answer(index, None, error)
