"""Run questions in processes on this machine, one at a time each; a process that dies is replaced.

A process runs one question at a time, so a dying process identifies the question that may have killed it.
"""

from __future__ import annotations

import os
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Condition, Lock, Thread
from typing import Any, NamedTuple, TypeVar

from solver.answer import answer_of
from solver.control import Control
from solver.merge import Share
from solver.pool import cores
from solver.pool.base import PendingAnswer, WorkerLostError, answer_from, answer_without_parts, completed, wait_for
from solver.pool.child_process import ChildProcess
from solver.pool.job_bytes import (
    WorkerError,
    decode_job,
    decode_share,
    encode_job,
    encode_share,
    read_answer,
    unpack,
    write_answer,
)
from solver.pool.parts import Progress, run_parts
from solver.question import Question, SearchQuestion, pack

T = TypeVar("T")
R = TypeVar("R")

QUESTION, CALL = "question", "call"
STOP = b"stop"
PROGRESS, RESULT = b"p", b"r"  # first byte of a worker's messages
TRIES = 3  # workers that one question may lose


class _Task(NamedTuple):
    """Hold the work of a process: a question as bytes, or a pickled call."""

    kind: str  # QUESTION or CALL
    payload: bytes
    answer: PendingAnswer
    finish: Callable[[bytes], Any]
    control: Control
    report: Callable[[bytes], None] | None = None
    numbers: Sequence[int] | None = None  # the parts of the question to compute; None: all
    tries_max: int = TRIES
    tries: int = 0


class Processes:
    """Compute whole questions, one in each process; `submit` never spreads a question over processes."""

    is_reentrant = False

    def __init__(self, workers: int | None = None) -> None:
        self.width = workers or cores()
        self._changed = Condition()
        self._tasks: deque[_Task] = deque()
        self._closed = False
        self._workers = [_Worker(self) for _ in range(self.width)]

    @property
    def pids(self) -> list[int]:
        """The ids of the processes that are alive."""
        return [pid for worker in self._workers if (pid := worker.pid) is not None]

    def submit(self, question: Question, control: Control | None = None, *, width: int | None = None) -> Future[Any]:
        control, started = control or Control(), time.perf_counter()
        answer = PendingAnswer(control)

        def finish(message: bytes) -> Any:
            shares = [decode_share(share) for share in unpack(read_answer(message))]
            trivial_answer = None if shares else answer_without_parts(question, started)
            return answer_from(question, shares, started) if trivial_answer is None else trivial_answer

        def report(message: bytes) -> None:
            shares = [decode_share(share) for share in unpack(message)]
            if control.report and isinstance(question, SearchQuestion):
                control.report(answer_of(question, shares, started))

        try:
            job = encode_job(question)
        except Exception as error:
            answer.answer(error)
            return answer
        self._put(_Task(QUESTION, job, answer, finish, control, report if control.report else None))
        return answer

    def submit_parts(self, job: bytes, numbers: Sequence[int], control: Control) -> Future[bytes]:
        """Compute some parts of a job in one process; return a future of their shares, as `write_answer` writes them.

        The future ends with a WorkerLostError if that process dies: there is no retry.
        """
        answer = PendingAnswer(control)
        self._put(_Task(QUESTION, job, answer, bytes, control, numbers=numbers, tries_max=1))
        return answer

    def compute(self, question: Question, control: Control) -> Any:
        return wait_for(self.submit(question, control), control)

    def map(self, function: Callable[[T], R], items: Iterable[T], *, in_order: bool = True) -> Iterator[R]:
        call = partial(_unless_stopped, function)

        def begin(item: T) -> Future[R]:
            return self.call(call, item, Control(), tries_max=1)

        for _, future in completed(begin, items, in_order=in_order, ahead=2 * self.width):
            yield future.result()

    def call(
        self, function: Callable[[T, Control], R], item: T, control: Control, *, tries_max: int = TRIES
    ) -> Future[R]:
        """Call a function in a process, with `item` and a control there.

        Stopping `control` stops the control in the process; reports to the latter are forwarded to `control`.
        """
        answer = PendingAnswer(control)

        def report(message: bytes) -> None:
            if control.report:
                control.report(pickle.loads(message))

        payload = pickle.dumps((function, item))
        task = _Task(CALL, payload, answer, _result_of_call, control, report if control.report else None)
        self._put(task._replace(tries_max=tries_max))
        return answer

    def close(self) -> None:
        with self._changed:
            self._closed = True
            dropped, self._tasks = list(self._tasks), deque()
            self._changed.notify_all()
        for task in dropped:
            task.answer.answer(CancelledError())
        for worker in self._workers:
            worker.end()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- for workers ---

    def _put(self, task: _Task, *, first: bool = False) -> None:
        with self._changed:
            if not self._closed:
                if first:
                    self._tasks.appendleft(task)
                else:
                    self._tasks.append(task)
                self._changed.notify()
                return
        task.answer.answer(CancelledError())

    def next_task(self) -> _Task | None:
        """Wait for a task and return it; return None when the pool is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._tasks or self._closed)
            return self._tasks.popleft() if self._tasks else None

    def lose(self, task: _Task) -> None:
        """Retry a task that lost its worker, or fail it if it lost too many."""
        if self._closed:
            task.answer.answer(CancelledError())
        elif task.tries + 1 < task.tries_max:
            self._put(task._replace(tries=task.tries + 1), first=True)
        else:
            workers = f"{task.tries + 1} workers were" if task.tries else "a worker was"
            task.answer.answer(WorkerLostError(f"{workers} lost over this"))


class _Worker:
    """A thread of this process, and the child process to which it sends tasks."""

    def __init__(self, pool: Processes) -> None:
        self._pool = pool
        self._child = ChildProcess(serve_parent)
        self._sending = Lock()
        self._task: _Task | None = None  # the last task sent
        self._thread = Thread(target=self._run, name="process", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        return self._child.pid

    def end(self) -> None:
        self._child.end()
        self._thread.join(10)

    def _run(self) -> None:
        while (task := self._pool.next_task()) is not None:
            try:
                self._serve(self._child.start(), task)
            except (OSError, EOFError):
                self._child.discard()
                self._pool.lose(task)
        self._child.discard()

    def _serve(self, connection: Connection, task: _Task) -> None:
        """Send a task to the process and wait for its end."""
        interval_ms = task.control.interval_ms if task.report else 0.0
        head = pickle.dumps((task.kind, interval_ms, task.control.until_ns, task.control.stopped, task.numbers))
        with self._sending:
            self._task = task
            connection.send_bytes(head)
            connection.send_bytes(task.payload)
        with task.control.stopping(lambda: self._stop(connection, task)):
            while (message := connection.recv_bytes())[:1] == PROGRESS:
                self._report(task, message[1:])
        try:
            task.answer.answer(task.finish(message[1:]))
        except Exception as error:
            task.answer.answer(error)

    def _report(self, task: _Task, message: bytes) -> None:
        """Report progress; an exception in the report ends the search."""
        try:
            if task.report and not task.answer.done():
                task.report(message)
        except Exception as error:
            task.answer.answer(error)
            task.control.stop()

    def _stop(self, connection: Connection, task: _Task) -> None:
        """Stop a task, unless it has ended and the next one has been sent."""
        with suppress(OSError), self._sending:
            if self._task is task:
                connection.send_bytes(STOP)


def _result_of_call(message: bytes) -> Any:
    is_result, outcome = pickle.loads(message)
    if not is_result:
        raise outcome
    return outcome


# --- in the worker ------------------------------------------------------------------------------------------------


def serve_parent(connection: Connection) -> None:
    """Compute the parent's tasks, one after the other; exit when the parent ends, even if it was killed."""
    tasks: SimpleQueue[tuple[str, float, bytes, Control, Sequence[int] | None]] = SimpleQueue()

    def listen() -> None:
        control = Control()
        try:
            while True:
                head = connection.recv_bytes()
                if head == STOP:
                    control.stop()
                    continue
                kind, interval_ms, until_ns, stopped, numbers = pickle.loads(head)
                control = Control(until_ns=until_ns)
                if stopped:
                    control.stop()
                tasks.put((kind, interval_ms, connection.recv_bytes(), control, numbers))
        except (EOFError, OSError):
            os._exit(0)

    Thread(target=listen, daemon=True).start()
    while True:
        kind, interval_ms, payload, control, numbers = tasks.get()
        if kind == CALL:
            connection.send_bytes(RESULT + _call(payload, control, interval_ms, connection))
        else:
            compute = partial(_compute, payload, numbers, control, interval_ms, connection)
            connection.send_bytes(RESULT + write_answer(compute))


def _compute(
    job: bytes, numbers: Sequence[int] | None, control: Control, interval_ms: float, connection: Connection
) -> bytes:
    """Return the shares of a question, packed; none if the answer needs no search."""
    question = decode_job(job)
    if answer_without_parts(question, time.perf_counter()) is not None:
        return b""

    def report(shares: Sequence[Share]) -> None:
        connection.send_bytes(PROGRESS + pack(list(map(encode_share, shares))))

    question.prepare()
    progress = Progress(question, report if interval_ms else None, interval_ms)
    numbers = range(question.n_parts) if numbers is None else numbers
    return pack(list(map(encode_share, run_parts(question, numbers, control, progress))))


def _unless_stopped(function: Callable[[T], R], item: T, control: Control) -> R:
    if control.stopped:
        raise CancelledError
    return function(item)


def _call(pickled: bytes, control: Control, interval_ms: float, connection: Connection) -> bytes:
    """Make a call; return its pickled result or exception."""

    def report(progress: Any) -> None:
        connection.send_bytes(PROGRESS + pickle.dumps(progress))

    control.report, control.interval_ms = report if interval_ms else None, interval_ms
    try:
        function, item = pickle.loads(pickled)
        return pickle.dumps((True, function(item, control)))
    except Exception as error:
        try:
            return pickle.dumps((False, error))
        except Exception:
            return pickle.dumps((False, WorkerError(f"{type(error).__name__}: {error}")))
