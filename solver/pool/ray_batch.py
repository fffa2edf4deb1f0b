"""Send many whole questions to Ray's workers in chunks, and isolate the questions that kill workers."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from solver.config import Budget
from solver.control import Control
from solver.merge import empty_share
from solver.pool import cores
from solver.pool.base import PendingAnswer, WorkerLostError, answer_from, answer_without_parts, compute_here
from solver.pool.driver_channel import Frame, FrameKind
from solver.pool.job_bytes import decode_share, encode_job, read_answer, unpack
from solver.pool.threads import Threads
from solver.question import Question, pack

if TYPE_CHECKING:
    from solver.pool.ray_pool import RayPool

CHUNK_S = 0.02  # target duration of a chunk
CHUNK_BYTES = 65_536  # most bytes of a chunk, or of its answers: Ray passes larger messages through its object store
CHUNK_MAX = 64  # questions
LOADS_MAX = 256  # kinds of questions with an estimated duration
TRIES = 3  # workers that one question may lose while alone on each
TICK_S = 0.25  # interval of checks on questions that wait for Ray
HOLD_S = 60.0  # timeout of questions that lost a worker and wait for Ray


class Batches:
    """Send chunks of questions to workers, two per worker: one to compute, one queued.

    A worker that dies loses all its questions. Each of them is retried alone on a worker, and only workers lost then
    count against it. All methods but `submit` and `close` run on one thread.
    """

    def __init__(self, pool: RayPool) -> None:
        self._pool = pool
        self._inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._numbers = count(1)
        self._starting = Lock()
        self._thread: Thread | None = None
        self._here = Threads(cores())
        self._entries: dict[int, _Entry] = {}  # questions without an answer
        self._waiting: deque[int] = deque()
        self._suspects: deque[int] = deque()  # questions that lost a worker and wait for one of their own
        self._chunks: dict[int, _Chunk] = {}  # in flight, by their calls
        self._seconds: dict[_Load, float] = {}  # estimated duration of a question
        self._bytes = 4096.0  # estimated size of a question or an answer

    def submit(self, question: Question) -> Future[Any]:
        started, number = time.perf_counter(), next(self._numbers)
        pending = PendingAnswer(_EntryControl(lambda: self._inbox.put(partial(self._drop, number))))
        try:
            answer = answer_without_parts(question, started)
            if answer is None:
                entry = _Entry(number, question, encode_job(question), pending, started)
                self._start()
                self._inbox.put(partial(self._add, entry))
            else:
                pending.answer(answer)
        except Exception as error:
            pending.answer(error)
        if self._pool.is_closed:
            pending.answer(CancelledError())
        return pending

    def close(self) -> None:
        """Cancel all questions. The pool must no longer accept calls."""
        self._inbox.put(None)
        if self._thread is not None:
            self._thread.join(10)
        self._here.close()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = Thread(target=self._run, name="batches", daemon=True)
                self._thread.start()

    # --- on its thread ---

    def _run(self) -> None:
        try:
            while (event := self._next_event()) is not None:
                event()
                # Drain the inbox first, so a burst of questions shares chunks.
                if self._inbox.empty():
                    self._fill()
        finally:
            for entry in self._entries.values():
                entry.pending.answer(CancelledError())
                entry.pending.control.stop()

    def _next_event(self) -> Callable[[], None] | None:
        try:
            return self._inbox.get(timeout=TICK_S if self._suspects else None)
        except Empty:
            return self._end_holding

    def _add(self, entry: _Entry) -> None:
        self._entries[entry.number] = entry
        self._waiting.append(entry.number)

    def _drop(self, number: int) -> None:
        """End a question soon: stop its chunk once all questions of it are dropped."""
        entry = self._entries.get(number)
        if entry is None:
            return
        if entry.chunk is None:
            self._end(entry, _stopped_answer(entry))
        elif all(other.is_dropped for other in entry.chunk.entries):
            self._pool.send(FrameKind.STOP, entry.chunk.call)

    def _end(self, entry: _Entry, answer: Any) -> None:
        self._entries.pop(entry.number, None)
        entry.pending.answer(answer)

    # --- chunks ---

    def _fill(self) -> None:
        alone = sum(chunk.alone for chunk in self._chunks.values())
        room = max(self._pool.width // 2, 1) if self._pool.is_ready else 0  # workers that may serve one suspect each
        while alone < room and (entry := self._next_suspect()):
            self._begin([entry], alone=True)
            alone += 1
        while len(self._chunks) - alone < 2 * self._pool.width and (entries := self._next_chunk()):
            self._begin(entries)

    def _next_chunk(self) -> list[_Entry]:
        # Spread the last questions over all workers.
        most = min(CHUNK_MAX, int(CHUNK_BYTES / self._bytes), -(-len(self._waiting) // self._pool.width))
        chunk: list[_Entry] = []
        seconds = 0.0
        while self._waiting and len(chunk) < max(most, 1):
            if (entry := self._entries.get(self._waiting[0])) is not None:  # not dropped
                seconds += self._seconds_of(entry.question)
                if chunk and seconds > CHUNK_S:
                    break
                chunk.append(entry)
            self._waiting.popleft()
        return chunk

    def _next_suspect(self) -> _Entry | None:
        while self._suspects:
            if (entry := self._entries.get(self._suspects.popleft())) is not None:
                return entry
        return None

    def _seconds_of(self, question: Question) -> float:
        return self._seconds.get(_load(question), CHUNK_S)

    def _begin(self, entries: Sequence[_Entry], *, alone: bool = False) -> None:
        jobs = pack([entry.job for entry in entries])
        (call,) = self._pool.begin(FrameKind.ALONE if alone else FrameKind.BATCH, jobs, self._receive)
        chunk = self._chunks[call] = _Chunk(call, entries, time.monotonic(), alone)
        for entry in entries:
            entry.chunk = chunk

    def _receive(self, frame: Frame) -> None:
        """Receive the result of a call, on any thread."""
        self._inbox.put(partial(self._take, frame))

    def _take(self, frame: Frame) -> None:
        chunk = self._chunks[frame.call]
        if frame.kind == FrameKind.NO_WORKER and not chunk.alone:
            self._here.call(self._compute_here, chunk).add_done_callback(
                lambda _: self._inbox.put(partial(self._leave, chunk))
            )
            return
        self._leave(chunk)
        entries = [entry for entry in chunk.entries if not entry.pending.done()]
        if frame.kind == FrameKind.RESULT:
            # Refill the workers before decoding the answers.
            answers = unpack(frame.payload)
            self._learn(chunk, answers)
            self._fill()
            for entry, message in zip(chunk.entries, answers, strict=True):
                self._end(entry, _answer(entry, message))
        elif frame.kind == FrameKind.LOST:
            for entry in entries:
                self._suspect(entry, chunk.alone)
        else:
            self._suspects.extend(entry.number for entry in entries)

    def _leave(self, chunk: _Chunk) -> None:
        """Forget a chunk that is no longer in flight."""
        del self._chunks[chunk.call]
        for entry in chunk.entries:
            entry.chunk = None
            if entry.pending.done():
                self._entries.pop(entry.number, None)

    def _learn(self, chunk: _Chunk, answers: Sequence[bytes]) -> None:
        """Update the estimates of questions' duration and size. A chunk spends half of its time in a worker's queue."""
        n, seconds = len(chunk.entries), (time.monotonic() - chunk.started) / 2
        size = max(sum(map(len, answers)), sum(len(entry.job) for entry in chunk.entries)) / n
        self._bytes += (size - self._bytes) / 4
        ratio = seconds / sum(self._seconds_of(entry.question) for entry in chunk.entries)
        if len(self._seconds) > LOADS_MAX:
            self._seconds.clear()
        for load in {_load(entry.question) for entry in chunk.entries}:
            self._seconds[load] = self._seconds.get(load, CHUNK_S) * (1 + (ratio - 1) / 4)

    def _compute_here(self, chunk: _Chunk) -> None:
        """Compute a chunk in this process, on a thread, as no worker can."""
        for entry in chunk.entries:
            if not entry.pending.done():
                try:
                    entry.pending.answer(compute_here(entry.question, entry.pending.control))
                except BaseException as error:
                    entry.pending.answer(error)

    # --- questions that lost a worker ---

    def _suspect(self, entry: _Entry, was_alone: bool) -> None:
        """Retry a question alone on a worker, unless it has lost too many."""
        entry.tries += was_alone
        entry.lost = time.monotonic()
        if entry.is_dropped:
            self._end(entry, _stopped_answer(entry))
        elif entry.tries >= TRIES:
            self._end(entry, WorkerLostError(f"{TRIES} workers were lost over this question alone"))
        else:
            self._suspects.append(entry.number)

    def _end_holding(self) -> None:
        """Stop waiting for Ray after a timeout.

        A question that lost a worker alone fails, as it might kill this process too; the others are queued again.
        """
        oldest = time.monotonic() - HOLD_S
        held = [entry for number in self._suspects if (entry := self._entries.get(number)) is not None]
        self._suspects.clear()
        for entry in held:
            if entry.lost > oldest or self._pool.is_ready:
                self._suspects.append(entry.number)
            elif entry.tries:
                self._end(entry, WorkerLostError(f"{entry.tries} workers were lost over this question; Ray is down"))
            else:
                self._waiting.append(entry.number)


# The properties that determine how long a question takes.
_Load = tuple[str, Budget, int]


def _load(question: Question) -> _Load:
    return question.shape, question.budget, question.n_parts


class _EntryControl(Control):
    """The control of one question; it keeps no reference to the question."""

    def __init__(self, stopped: Callable[[], None]) -> None:
        super().__init__()
        self._stopped = stopped

    def stop(self) -> None:
        super().stop()
        self._stopped()


@dataclass(slots=True, eq=False)
class _Entry:
    number: int
    question: Question
    job: bytes
    pending: PendingAnswer
    started: float
    tries: int = 0  # workers lost while it was alone on them
    lost: float = 0.0  # time of the last loss
    chunk: _Chunk | None = None

    @property
    def is_dropped(self) -> bool:
        return self.pending.control.stopped


@dataclass(slots=True, eq=False)
class _Chunk:
    call: int
    entries: Sequence[_Entry]
    started: float
    alone: bool


def _answer(entry: _Entry, message: bytes) -> Any:
    try:
        return answer_from(entry.question, list(map(decode_share, unpack(read_answer(message)))), entry.started)
    except Exception as error:
        return error


def _stopped_answer(entry: _Entry) -> Any:
    """Return the answer to a question that was stopped before it started."""
    question = entry.question
    share = empty_share(question.n_tallies, question.view.game.n_players, stopped_by="stopped")
    return answer_from(question, [share] * question.n_parts, entry.started)
