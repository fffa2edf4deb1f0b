"""Worker processes for installed games: no code of such a game runs in this process, not even its import.

A worker answers one call at a time. If the code of a game raises, hangs or ends its process, the call ends with a
refusal (GAME_FAULT) that names the game, and the process is replaced: other calls go on.
"""

from __future__ import annotations

import json
import pickle
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Condition, Lock, Thread
from typing import Any

from eminence.v1 import solver_pb2 as pb
from server.plugin_worker import (
    ANSWER,
    BEAT,
    BEGUN,
    END,
    FAULT,
    READY,
    REFUSAL,
    RETIRING,
    Job,
    Setup,
    Stop,
    response_class,
    serve_parent,
)
from server.refusals import Refusal
from server.rpc.deadline import Deadline
from solver.control import NEVER_NS
from solver.pool.child_process import ChildProcess

# The largest answer, in bytes.
ANSWER_MAX = 2**22
# Time in which a process starts.
START_S = 60.0
# Time for a process to report its fault, or to end a call that was stopped, before it is killed.
GRACE_S = 1.0
# Searches in a worker end earlier than the call by this time, in which their answers travel.
EARLY_NS = 50_000_000
AWAKE_S = 0.1
RETRY_SECONDS = 1.0


class PluginCall(Future[None]):
    """A call in a worker process. Its answers go to `receive` as bytes, on a thread of the pool; then it is done."""

    def __init__(self, pool: PluginPool, job: Job, receive: Callable[[bytes], object]) -> None:
        super().__init__()
        self.job, self.receive = job, receive
        self.stop_reason = 0
        self.abandoned_at: float | None = None
        self.has_begun = self.is_repeated = False
        self._pool = pool
        self.set_running_or_notify_cancel()

    def stop(self, reason: Any) -> None:
        """Let the call end soon with the results so far; the first reason counts."""
        self._pool.stop(self, reason)

    def abandon(self) -> None:
        """Stop the call, whose reader has left."""
        self.abandoned_at = time.monotonic()
        self.stop(pb.STOP_REASON_CANCELLED)

    def end(self, error: BaseException | None = None) -> None:
        """Set the result or the error."""
        with suppress(InvalidStateError):
            if error is None:
                self.set_result(None)
            else:
                self.set_exception(error)


class PluginPool:
    """Worker processes, which start at once. `on_loss` is called when a process is lost; any thread may call it."""

    def __init__(self, workers: int, setup: Setup, on_loss: Callable[[], object] = lambda: None) -> None:
        self.setup, self.on_loss = setup, on_loss
        self._changed = Condition()
        self._calls: deque[PluginCall] = deque()
        self._is_closed = False
        self._workers = [_Worker(self) for _ in range(workers)]

    @property
    def pids(self) -> list[int]:
        """The ids of the processes that are alive."""
        return [pid for worker in self._workers if (pid := worker.pid) is not None]

    def submit(self, job: Job, receive: Callable[[bytes], object]) -> PluginCall:
        """Answer a call; return a future of its end."""
        call = PluginCall(self, job, receive)
        self.put(call)
        return call

    def begin(
        self, game_id: str, method: str, request: Any, deadline: Deadline, time_max_ms: float
    ) -> tuple[Iterator[Any], Callable[[Any], None]]:
        """Return the answers to a request as messages, and a function that stops the call, as `LocalClient.begin`."""
        waiting: SimpleQueue[bytes | None] = SimpleQueue()  # None at the end
        call = self.submit(self.job(game_id, method, request, deadline, time_max_ms), waiting.put)
        call.add_done_callback(lambda _: waiting.put(None))
        return _messages(call, waiting, response_class(method)), call.stop

    def job(self, game_id: str, method: str, request: Any, deadline: Deadline, time_max_ms: float) -> Job:
        """Return the job of a request. Its answers come within the time of its search and of a few methods."""
        search_s = _search_ms(request, time_max_ms) / 1000
        end_ns = deadline.latest_ns
        if end_ns != NEVER_NS:
            end_ns -= min(deadline.margin_ns, max(end_ns - time.monotonic_ns(), 0) // 2)
            deadline = deadline._replace(margin_ns=deadline.margin_ns + EARLY_NS)
        raw = request.SerializeToString()
        return Job(game_id, method, raw, deadline, end_ns, answer_s=search_s + 2 * self.setup.method_s)

    def stop(self, call: PluginCall, reason: Any) -> None:
        with self._changed:
            call.stop_reason = call.stop_reason or reason
            if call in self._calls and call.abandoned_at is not None:
                self._calls.remove(call)
                call.end(CancelledError())
                return
        for worker in self._workers:
            worker.stop(call)

    def close(self) -> None:
        """End all calls and processes."""
        with self._changed:
            self._is_closed = True
            dropped, self._calls = list(self._calls), deque()
            self._changed.notify_all()
        for call in dropped:
            call.end(CancelledError())
        for worker in self._workers:
            worker.end()

    # --- for workers ---

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def put(self, call: PluginCall, *, first: bool = False) -> None:
        with self._changed:
            if not self._is_closed:
                self._calls.appendleft(call) if first else self._calls.append(call)
                self._changed.notify()
                return
        call.end(CancelledError())

    def next_call(self) -> PluginCall | None:
        """Wait for a call and return it; return None when the pool is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._calls or self._is_closed)
            return self._calls.popleft() if self._calls else None


class _Worker:
    """A thread of this process, and the worker process to which it sends calls."""

    def __init__(self, pool: PluginPool) -> None:
        self._pool = pool
        self._child = ChildProcess(serve_parent, pool.setup)
        self._sending = Lock()
        self._call: PluginCall | None = None  # the running one
        self._thread = Thread(target=self._run, name="plugins", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        return self._child.pid

    def stop(self, call: PluginCall) -> None:
        """Stop a call if it runs here."""
        with suppress(OSError), self._sending:
            if self._call is call and self._child.connection is not None:
                self._child.connection.send_bytes(pickle.dumps(Stop(int(call.stop_reason))))

    def end(self) -> None:
        self._child.end()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._pool.is_closed:
            connection = self._start()
            if connection is None:
                # No process starts: a call would wait forever.
                call = self._pool.next_call()
                if call is not None:
                    why = "no worker process for installed games starts"
                    call.end(Refusal("UNAVAILABLE", "", why, retry_after=RETRY_SECONDS))
                continue
            while (call := self._pool.next_call()) is not None:
                if not self._serve(connection, call):
                    break
            self._child.discard()

    def _start(self) -> Connection | None:
        """Start a process, and wait until it is ready."""
        try:
            connection = self._child.start()
            if connection.poll(START_S) and connection.recv_bytes(1) == READY:
                return connection
        except (OSError, EOFError):
            pass
        self._child.discard()
        return None

    def _serve(self, connection: Connection, call: PluginCall) -> bool:
        """Answer a call; return whether the process can answer others."""
        error: Exception | None = None
        last = b""
        try:
            last = self._converse(connection, call)
            if last[:1] in (REFUSAL, FAULT):
                error = Refusal(*json.loads(last[1:]))
        except (OSError, EOFError):
            if not (call.has_begun or call.is_repeated):  # the process ended before: this is no fault of the game
                call.is_repeated = True
                self._pool.put(call, first=True)
                return False
            error = _fault(call, self._end_of_process())
        except Exception as raised:
            error = raised
        finally:
            with self._sending:
                self._call = None
        if self._pool.is_closed and error is not None:
            error = CancelledError()
        elif last[:1] in (b"", FAULT):
            self._pool.on_loss()
        call.end(error)
        return last[:1] in (END, REFUSAL)

    def _converse(self, connection: Connection, call: PluginCall) -> bytes:
        """Send a call, and pass its answers on; return the last message."""
        with self._sending:
            self._call = call
            connection.send_bytes(pickle.dumps(call.job))
        if call.stop_reason:
            self.stop(call)
        heard = answered = time.monotonic()
        while True:
            if not connection.poll(AWAKE_S):
                self._check_time(call, heard, answered)
                continue
            message = connection.recv_bytes(ANSWER_MAX)
            heard, kind = time.monotonic(), message[:1]
            if kind in (END, RETIRING, REFUSAL, FAULT):
                return message
            elif kind == ANSWER:
                answered = heard
                if call.abandoned_at is None:
                    call.receive(message[1:])
            elif kind == BEGUN:
                call.has_begun = True
            elif kind != BEAT:
                raise _fault(call, "its process sent what is no answer, and was ended")

    def _check_time(self, call: PluginCall, heard: float, answered: float) -> None:
        """Raise an error if the process is late: it reports its own faults earlier, unless the game stops it."""
        now = time.monotonic() - GRACE_S
        if (
            (call.abandoned_at is not None and now > call.abandoned_at)
            or now > heard + self._pool.setup.method_s
            or now > answered + call.job.answer_s
            or now * 1e9 > call.job.end_ns
        ):
            raise _fault(call, "its process did not answer in time, and was ended")

    def _end_of_process(self) -> str:
        """Describe the end of the process, or an answer that is too long."""
        code = self._child.exit_code(GRACE_S)
        if code is None:
            return f"its process sent an answer of more than {ANSWER_MAX} bytes, and was ended"
        how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        return f"its code ended the worker process ({how})"


def _fault(call: PluginCall, what: str) -> Refusal:
    return Refusal("GAME_FAULT", "", f"{call.job.game_id}: {what}")


def _search_ms(request: Any, time_max_ms: float) -> float:
    """Return the time limit of a request's search; 0 for a request without one."""
    if "budget" not in request.DESCRIPTOR.fields_by_name:
        return 0.0
    elif request.budget.HasField("time"):
        return min(float(request.budget.time.ToMicroseconds()) / 1000, time_max_ms)
    return time_max_ms


def _messages(call: PluginCall, waiting: SimpleQueue[bytes | None], kind: Any) -> Iterator[Any]:
    try:
        while (raw := _next(waiting, call)) is not None:
            yield kind.FromString(raw)
        call.result()
    finally:
        call.abandon()


def _next(waiting: SimpleQueue[bytes | None], call: PluginCall) -> bytes | None:
    """Wait for an answer; on Ctrl-C, stop the call and wait for its result."""
    try:
        return waiting.get()
    except KeyboardInterrupt:
        call.stop(pb.STOP_REASON_CANCELLED)
        return waiting.get()
