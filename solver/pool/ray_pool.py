"""Compute questions on Ray's workers, embedded on this machine or in a cluster, and answer even when they fail.

Ray runs in a process of its own (`ray_driver.py`), so this module does not import it, and its failures cannot end this
process. While Ray is unavailable, threads of this process compute, a note in the answers says so, and the pool
restarts Ray.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp
from typing import Any, Literal, NamedTuple, TypeVar

from solver.control import Control
from solver.extras import MissingExtraError
from solver.pool import cores
from solver.pool.base import PendingAnswer, SearchLostError, WorkersLostError, completed
from solver.pool.driver_channel import Channel, Frame, FrameKind
from solver.pool.leftovers import end_session
from solver.pool.processes import Processes
from solver.pool.ray_batch import Batches
from solver.pool.ray_search import (
    HERE,
    KILLS_MAX,
    LATE_MS,
    MISSING,
    REPLACED,
    SpreadSearch,
)
from solver.pool.threads import Threads
from solver.question import Question

__all__ = [
    "HERE",
    "KILLS_MAX",
    "LATE_MS",
    "MISSING",
    "REPLACED",
    "WORKERS_MAX",
    "Health",
    "RayPool",
    "RayUnavailableError",
    "SearchLostError",
    "WorkersLostError",
    "read_address",
]

T = TypeVar("T")
R = TypeVar("R")

WORKERS_MAX = 256
SEARCHES_MAX = 256  # searches in flight; a thread waits for each
CALLERS = 4  # threads of `map` for each worker: they wait for questions most of the time
FOLDERS = "/tmp"  # parent of the folders for Ray's files; a short path, as socket paths have at most 107 characters
CONNECT_S = 1.0  # timeout for connecting to an address
START_S = 60.0  # timeout for starting Ray
SILENCE_S = 8.0  # timeout of the driver's heartbeat
PAUSES_S = (0.2, 5.0)  # backoff between attempts to restart Ray: first and longest pause


class RayUnavailableError(RuntimeError):
    """Report that Ray cannot be used; the message has the reason."""


class Health(NamedTuple):
    """Hold the state of a pool: the number of usable workers, and a note about any problem."""

    state: Literal["starting", "ready", "lost", "closed"]
    workers: int
    note: str


class RayPool:
    """Compute questions on Ray's workers, one per core.

    With a control, the parts of a question are spread over workers; without one, workers get chunks of whole questions.

    With address="local", or without an address and without RAY_ADDRESS in the environment, Ray runs on this machine,
    with one worker per core, or with `workers` workers. An address is host:port of a cluster's head, or "auto" for the
    cluster of this machine; the number of workers then follows the CPUs of the cluster, up to `workers`.

    The constructor returns when workers are ready. It raises RayUnavailableError if Ray does not start, and
    MissingExtraError if it is not installed. With wait=False it returns at once; `health` has the state. While Ray is
    unavailable, searches run on threads of this process, each of which calls `initializer` once. Call `close` at the
    end, or use the pool in a `with` statement.
    """

    is_reentrant = True

    def __init__(
        self,
        workers: int | None = None,
        *,
        address: str | None = None,
        wait: bool = True,
        initializer: Callable[[], None] | None = None,
    ) -> None:
        if find_spec("ray") is None:  # Ray's driver imports it, in another process
            raise MissingExtraError("ray", "a search on Ray's workers")
        self._address = read_address(os.environ.get("RAY_ADDRESS", "") if address is None else address)
        most = WORKERS_MAX if self._address else cores()
        if workers is not None and not 1 <= workers <= WORKERS_MAX:
            raise RayUnavailableError(f"workers: {workers} is not in 1..{WORKERS_MAX}")
        self._workers = workers or most
        self._changed = threading.Condition()
        self._health = Health("starting", 0, "Ray is starting")
        self._channel: Channel | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._calls: dict[int, Callable[[Frame], None]] = {}
        self._last_call = 0
        self._closed = threading.Event()
        # Threads start on demand. A thread of `here` never waits for another one.
        self.local_threads = Threads(SEARCHES_MAX, initializer)
        # Local processes for searches that may have killed a worker; they start on demand.
        self.local_processes = Processes()
        self._executor = ThreadPoolExecutor(SEARCHES_MAX, "search", initializer)
        self._searches: set[SpreadSearch] = set()
        self._batches = Batches(self)
        self._failures = 0
        self._keeper = threading.Thread(target=self._keep, name="ray", daemon=True)
        self._keeper.start()
        if wait:
            self._wait()

    @property
    def health(self) -> Health:
        return self._health

    @property
    def is_ready(self) -> bool:
        return self._health.state == "ready"

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    @property
    def width(self) -> int:
        """The number of workers; without any, the number of local threads."""
        return self._health.workers or cores()

    def submit(self, question: Question, control: Control | None = None, *, width: int | None = None) -> Future[Any]:
        """Compute a question on at most `width` workers; return a future at once.

        With a control, a group of parts that loses its worker is restarted for the rest of its time, on another worker
        or in a local process. Without any result, the future ends with a WorkersLostError, or with a SearchLostError if
        the search killed its workers. Without a control, it ends with a WorkerLostError if the question lost several
        workers while alone on them.
        """
        if control is None:
            return self._batches.submit(question)
        answer = PendingAnswer(control)
        try:
            search = SpreadSearch(self, question, control, width or self.width)
            self._executor.submit(self._search, search, answer).add_done_callback(
                lambda task: answer.answer(CancelledError()) if task.cancelled() else None
            )
        except RuntimeError:
            answer.answer(CancelledError())  # closed
        return answer

    def compute(self, question: Question, control: Control) -> Any:
        """Return the answer to a question; the calling thread coordinates the workers, so no other thread starts."""
        search = SpreadSearch(self, question, control, self.width)
        self._searches.add(search)
        try:
            return search.run()
        finally:
            self._searches.discard(search)

    def map(self, function: Callable[[T], R], items: Iterable[T], *, in_order: bool = True) -> Iterator[R]:
        """Call a function with each item, on `CALLERS` local threads per worker; the function submits questions here.

        Functions are not sent to Ray, as the workers do not unpickle.
        """
        callers = CALLERS * self.width
        executor = ThreadPoolExecutor(callers, "map")

        def begin(item: T) -> Future[R]:
            return executor.submit(function, item)

        try:
            for _, future in completed(begin, items, in_order=in_order, ahead=2 * callers):
                yield future.result()
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Cancel all work in flight; end all workers, and Ray if this pool started it."""
        self._closed.set()
        for search in list(self._searches):
            search.control.stop()
        channel, process = self._channel, self._process
        if channel:
            channel.close()
        if process:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        self._keeper.join(10)
        self._batches.close()
        self._executor.shutdown(cancel_futures=True)
        self.local_threads.close()
        self.local_processes.close()

    def __enter__(self) -> RayPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _search(self, search: SpreadSearch, answer: PendingAnswer) -> None:
        self._searches.add(search)
        try:
            answer.answer(search.run())
        except BaseException as error:
            answer.answer(error)
        finally:
            self._searches.discard(search)

    # --- calls ---

    def begin(self, kind: FrameKind, payload: bytes, deliver: Callable[[Frame], None], n: int = 1) -> range:
        """Start `n` calls and return their numbers.

        `deliver` gets the frames of each, on another thread; if Ray is unavailable, it gets NO_WORKER at once.
        """
        with self._changed:
            calls = range(self._last_call + 1, self._last_call + 1 + n)
            self._last_call += n
            channel = self._channel if self.is_ready else None
            if channel:
                self._calls.update(dict.fromkeys(calls, deliver))
        if channel is None or not channel.send(kind, calls[0], payload):
            for call in calls:
                if channel is None or self.forget(call):
                    deliver(Frame(FrameKind.NO_WORKER, call, b""))
        return calls

    def send(self, kind: FrameKind, call: int) -> None:
        """Send a frame without payload about a call in flight."""
        channel = self._channel
        if channel and call in self._calls:
            channel.send(kind, call)

    def forget(self, call: int) -> bool:
        """Forget a call; return whether it was pending."""
        with self._changed:
            return self._calls.pop(call, None) is not None

    # --- Ray's driver: start it, listen to it, restart it ---

    def _wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._health.state == "ready" or self._failures, START_S)
        if self._health.state != "ready":
            note = self._health.note
            self.close()
            raise RayUnavailableError(note)

    def _keep(self) -> None:
        pause, longest = PAUSES_S
        while not self._closed.is_set():
            if self._serve():
                pause = PAUSES_S[0]
            with self._changed:
                self._failures += 1
                self._changed.notify_all()
            self._closed.wait(pause)
            pause = min(2 * pause, longest)
        self._set(Health("closed", 0, "closed"))

    def _serve(self) -> bool:
        """Start a driver and listen to it until it ends; return whether it had workers."""
        try:
            if self._address and self._address != "auto":
                probe(self._address)
        except RayUnavailableError as error:
            self._set(Health("lost", 0, str(error)))
            return False
        client_end, driver_end = socket.socketpair()
        folder = mkdtemp(prefix="eminence-ray-", dir=FOLDERS)  # readable by this user only
        with driver_end:
            process = self._start(driver_end, folder)
        channel = Channel(client_end, SILENCE_S)
        with self._changed:
            self._channel, self._process = channel, process
        late = threading.Timer(START_S, process.kill)
        late.start()
        if self._closed.is_set():
            channel.close()
        try:
            served, reason = self._listen(channel, late)
        finally:
            late.cancel()
        self._give_up(channel, process, f"{self._where}: {reason}")
        shutil.rmtree(folder, ignore_errors=True)
        return served

    def _listen(self, channel: Channel, late: threading.Timer) -> tuple[bool, str]:
        served, reason = False, "its driver ended"
        while frame := channel.receive():
            if frame.kind == FrameKind.STATE:
                state = json.loads(frame.payload)
                # Wait for all workers of an embedded Ray, but only for the first one of a cluster.
                if state["workers"] and (served or self._address or state["workers"] >= state["of"]):
                    late.cancel()
                    served = True
                if served:
                    self._set(Health("ready", state["workers"], state["note"]))
            elif frame.kind == FrameKind.FAILED:
                reason = frame.payload.decode()
            else:
                deliver = self._calls.get(frame.call) if frame.kind == FrameKind.PROGRESS else self._pop(frame.call)
                if deliver:
                    deliver(frame)
        return served, reason

    def _pop(self, call: int) -> Callable[[Frame], None] | None:
        with self._changed:
            return self._calls.pop(call, None)

    def _give_up(self, channel: Channel, process: subprocess.Popen[bytes], reason: str) -> None:
        with self._changed:
            self._channel = None
            calls, self._calls = self._calls, {}
        self._set(Health("lost", 0, reason))
        channel.close()
        if not self._closed.is_set():
            process.kill()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        end_session(process.pid)
        for call, deliver in calls.items():
            deliver(Frame(FrameKind.NO_WORKER, call, b""))

    def _set(self, health: Health) -> None:
        with self._changed:
            self._health = health
            self._changed.notify_all()

    @property
    def _where(self) -> str:
        return f"Ray at {self._address}" if self._address else "Ray on this machine"

    def _start(self, end: socket.socket, folder: str) -> subprocess.Popen[bytes]:
        root = str(Path(__file__).parents[2])
        python_path = os.environ.get("PYTHONPATH")
        environment = {
            # Require a token by default. An embedded Ray gets a random one: Ray would store one that it generates in a
            # file that all users can read.
            "RAY_AUTH_MODE": "token",
            **({} if self._address or "RAY_AUTH_TOKEN_PATH" in os.environ else {"RAY_AUTH_TOKEN": token_hex(32)}),
            # Timeout of a driver whose head is lost.
            "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
            # Workers run below this process's priority, but above Ray's default niceness: on a busy machine, they would
            # be late and miss their heartbeats.
            "RAY_worker_niceness": "5",
            **os.environ,
            "PYTHONPATH": f"{root}{os.pathsep}{python_path}" if python_path else root,
            "RAY_USAGE_STATS_ENABLED": "0",
            # Otherwise the first call after the end of Ray starts another one.
            "RAY_ENABLE_AUTO_CONNECT": "0",
            # Otherwise workers started by `uv run` rebuild the project, each in a copy.
            "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        }
        environment.pop("RAY_ADDRESS", None)  # it would override the address in the arguments
        return subprocess.Popen(
            [
                *(sys.executable, "-P", "-c", "from solver.pool.ray_driver import main; main()"),
                *(str(end.fileno()), self._address, str(self._workers), folder),
            ],
            env=environment,
            pass_fds=[end.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # only this process handles Ctrl-C
        )


# --- addresses ----------------------------------------------------------------------------------------------------

# The preface of an HTTP/2 connection and an empty SETTINGS frame: a Ray head speaks gRPC, so it answers with SETTINGS.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
_SETTINGS = 4


def read_address(address: str) -> str:
    """Check an address and return it; return "" for a Ray on this machine."""
    if address in ("", "local"):
        return ""
    host, _, port = address.rpartition(":")
    if address != "auto" and (not host or "/" in host or not port.isdecimal() or not 1 <= int(port) <= 65535):
        raise RayUnavailableError(f"address: {address!r} is not host:port of a Ray head, such as 10.0.0.1:6379")
    return address


def probe(address: str) -> None:
    """Raise RayUnavailableError if no Ray head listens at an address: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_S) as connection:
            if os.environ.get("RAY_USE_TLS") == "1":
                return
            connection.settimeout(CONNECT_S / 2)
            connection.sendall(_PREFACE)
            answer = connection.recv(9)
    except OSError as error:
        reason = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise RayUnavailableError(f"address: no Ray head at {address}: {reason}") from None
    if len(answer) < 9 or answer[3] != _SETTINGS:
        raise RayUnavailableError(f"address: the server at {address} is not a Ray head; its port is 6379 by default")
