"""Many whole questions on their way to Ray's workers: in chunks, each answered, none refused for another's fault."""

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

CHUNK_S = 0.02  # questions go to workers in chunks that take about this long,
CHUNK_BYTES = 65_536  # and have no more bytes, nor their answers: what is larger goes through Ray's object store
CHUNK_MAX = 64
LOADS_MAX = 256  # of which it is remembered how long they take
TRIES = 3  # workers that may be lost over one question that was alone on each
TICK_S = 0.25  # between two looks at questions that wait for Ray
HOLD_S = 60.0  # how long questions that lost a worker wait for Ray to be there


class Batches:
    """Gives chunks of questions to workers, two each: one to work on and one to go on with.

    A worker takes all of its questions with it, so each of them is tried again, alone on a worker. Only workers that
    are lost then count against it. Everything below `submit` belongs to one thread.
    """

    def __init__(self, pool: RayPool) -> None:
        self._pool = pool
        self._inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._numbers = count(1)
        self._starting = Lock()
        self._thread: Thread | None = None
        self._here = Threads(cores())
        self._entries: dict[int, _Entry] = {}  # that have no answer yet
        self._waiting: deque[int] = deque()
        self._suspects: deque[int] = deque()  # those that wait to be alone
        self._chunks: dict[int, _Chunk] = {}  # under way, by their calls
        self._seconds: dict[_Load, float] = {}  # that a question takes
        self._bytes = 4096.0  # that a question or an answer has

    def submit(self, question: Question) -> Future[Any]:
        began, number = time.perf_counter(), next(self._numbers)
        pending = PendingAnswer(_EntryControl(lambda: self._inbox.put(partial(self._drop, number))))
        try:
            answer = answer_without_parts(question, began)
            if answer is None:
                entry = _Entry(number, question, encode_job(question), pending, began)
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
        """End what is under way. The pool takes no calls any more."""
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
                # A burst of questions goes into the same chunks.
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
        """Have a question end soon: its chunk is stopped once no other question of it is wanted."""
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
        room = max(self._pool.width // 2, 1) if self._pool.is_there else 0
        while alone < room and (entry := self._next_suspect()):
            self._begin([entry], alone=True)
            alone += 1
        while len(self._chunks) - alone < 2 * self._pool.width and (entries := self._next_chunk()):
            self._begin(entries)

    def _next_chunk(self) -> list[_Entry]:
        # The last ones are for all workers.
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
        """On any thread."""
        self._inbox.put(partial(self._take, frame))

    def _take(self, frame: Frame) -> None:
        chunk = self._chunks[frame.call]
        if frame.kind == FrameKind.GONE and not chunk.alone:
            self._here.call(self._compute_here, chunk).add_done_callback(
                lambda _: self._inbox.put(partial(self._leave, chunk))
            )
            return
        self._leave(chunk)
        entries = [entry for entry in chunk.entries if not entry.pending.done()]
        if frame.kind == FrameKind.FOUND:
            # Workers go on while answers are read.
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
        """A chunk is no longer under way."""
        del self._chunks[chunk.call]
        for entry in chunk.entries:
            entry.chunk = None
            if entry.pending.done():
                self._entries.pop(entry.number, None)

    def _learn(self, chunk: _Chunk, answers: Sequence[bytes]) -> None:
        """Learn how long questions take, and how large they are: half of the time, the chunk waited for another one."""
        n, seconds = len(chunk.entries), (time.monotonic() - chunk.began) / 2
        size = max(sum(map(len, answers)), sum(len(entry.job) for entry in chunk.entries)) / n
        self._bytes += (size - self._bytes) / 4
        ratio = seconds / sum(self._seconds_of(entry.question) for entry in chunk.entries)
        if len(self._seconds) > LOADS_MAX:
            self._seconds.clear()
        for load in {_load(entry.question) for entry in chunk.entries}:
            self._seconds[load] = self._seconds.get(load, CHUNK_S) * (1 + (ratio - 1) / 4)

    def _compute_here(self, chunk: _Chunk) -> None:
        """On a thread for what no worker computes."""
        for entry in chunk.entries:
            if not entry.pending.done():
                try:
                    entry.pending.answer(compute_here(entry.question, entry.pending.control))
                except BaseException as error:
                    entry.pending.answer(error)

    # --- questions that lost a worker ---

    def _suspect(self, entry: _Entry, was_alone: bool) -> None:
        """Try a question again, alone, unless that cost too many workers."""
        entry.tries += was_alone
        entry.lost = time.monotonic()
        if entry.is_dropped:
            self._end(entry, _stopped_answer(entry))
        elif entry.tries >= TRIES:
            self._end(entry, WorkerLostError(f"{TRIES} workers were lost over this question alone"))
        else:
            self._suspects.append(entry.number)

    def _end_holding(self) -> None:
        """Do without Ray where it does not come back: what cost a worker alone might cost this process, too."""
        due = time.monotonic() - HOLD_S
        held = [entry for number in self._suspects if (entry := self._entries.get(number)) is not None]
        self._suspects.clear()
        for entry in held:
            if entry.lost > due or self._pool.is_there:
                self._suspects.append(entry.number)
            elif entry.tries:
                self._end(entry, WorkerLostError(f"{entry.tries} workers were lost over this question; Ray is gone"))
            else:
                self._waiting.append(entry.number)


# What decides how long a question takes.
_Load = tuple[str, Budget, int]


def _load(question: Question) -> _Load:
    return question.shape, question.budget, question.n_parts


class _EntryControl(Control):
    """The control of one question; it keeps none of what the question holds."""

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
    began: float
    tries: int = 0  # workers that were lost over it alone
    lost: float = 0.0  # when the last one was
    chunk: _Chunk | None = None

    @property
    def is_dropped(self) -> bool:
        return self.pending.control.stopped


@dataclass(slots=True, eq=False)
class _Chunk:
    call: int
    entries: Sequence[_Entry]
    began: float
    alone: bool


def _answer(entry: _Entry, message: bytes) -> Any:
    try:
        return answer_from(entry.question, list(map(decode_share, unpack(read_answer(message)))), entry.began)
    except Exception as error:
        return error


def _stopped_answer(entry: _Entry) -> Any:
    """Return the answer to a question that was stopped before it began."""
    question = entry.question
    share = empty_share(question.n_tallies, question.view.game.n_players, stopped_by="stopped")
    return answer_from(question, [share] * question.n_parts, entry.began)
