"""A search on Ray's workers, embedded on this machine or in a cluster, that goes on without them if it must.

Ray runs in a process of its own (`ray_actors.py`), so nothing here imports it, and nothing that happens to it ends this
process. While there is no Ray, threads of this process do the work, answers say so, and Ray is tried again.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Literal, NamedTuple

from solver.backends.base import Job, progress_of
from solver.backends.leftovers import end_session
from solver.backends.link import Frame, Kind, Link, write_shares
from solver.backends.threads import Threads
from solver.backends.wire import decode_share, encode_job, read_answer
from solver.batch import Chunk, LocalThreads, WorkerLostError
from solver.merge import Share
from solver.watch import NEVER_NS, Watch

WORKERS_MAX = 256
LATE_MS = 45.0  # how much longer than its budget a share may take before it is given up
WAY_MS = 10.0  # that a share may be under way, where an answer must not be late
STOPPING_MS = 100.0  # how long shares that were told to stop may take
PARTS, PARTS_FROM_MS = 4, 100.0  # so often, in searches of so long, workers say what they have found
LEAST_MS = 5.0  # a share is not begun again for less
KILLS_MAX = 2  # workers that one share may cost
CONNECT_S = 1.0  # to find out whether there is anybody at an address
START_S = 60.0  # for Ray to begin
SILENCE_S = 8.0  # without a sign of life from Ray's driver
PAUSES_S = (0.2, 5.0)  # between two attempts to get Ray back, at first and at last

REPLACED = "a worker was lost; its share was begun again on another"
HERE = "Ray is not there; this was searched on threads here"
MISSING = "a worker was lost or late"


class RayUnavailableError(RuntimeError):
    """Ray cannot be had; the message says why."""


class SearchLostError(RuntimeError):
    """Nothing came of a search: every worker that it was given to was lost."""


class Health(NamedTuple):
    """How a backend is: `workers` can be used now; `note` says what is wrong."""

    state: Literal["starting", "ready", "lost", "closed"]
    workers: int
    note: str


class RayActors:
    """Computes shares on Ray's workers, one a core.

    Without an address, and without RAY_ADDRESS in the environment or with address="local", Ray runs on this machine,
    with as many workers as cores, or `workers`. With an address, host:port of a cluster's head, or "auto" for the
    cluster of this machine, the workers are as many as the CPUs that the cluster has, up to `workers`, and follow them.
    The constructor returns when workers are there and raises RayUnavailableError if there will be none; with
    wait=False it returns at once, and `health` tells. What is searched here while there is no Ray is searched on
    threads of the `executor`, if there is one. Call `close` at the end, or use it in a `with`.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        address: str | None = None,
        wait: bool = True,
        executor: Executor | None = None,
    ) -> None:
        self._address = read_address(os.environ.get("RAY_ADDRESS", "") if address is None else address)
        most = WORKERS_MAX if self._address else len(os.sched_getaffinity(0))
        if workers is not None and not 1 <= workers <= WORKERS_MAX:
            raise RayUnavailableError(f"workers: {workers} is not in 1..{WORKERS_MAX}")
        self._workers = workers or most
        self._changed = threading.Condition()
        self._health = Health("starting", 0, "Ray is starting")
        self._link: Link | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._calls: dict[int, Callable[[Frame], None]] = {}
        self._last_call = 0
        self._closed = threading.Event()
        self.here = Threads(len(os.sched_getaffinity(0)), executor)
        self._local: LocalThreads | None = None
        self._failures = 0
        self._keeper = threading.Thread(target=self._keep, name="ray", daemon=True)
        self._keeper.start()
        if wait:
            self._wait()

    @property
    def health(self) -> Health:
        return self._health

    @property
    def width(self) -> int:
        """How many workers there are; threads here, if there are none."""
        return self._health.workers or len(os.sched_getaffinity(0))

    def run(self, job: Job, watch: Watch | None = None) -> list[Share]:
        """All shares in their order; where one is missing, an empty one, or what was last known of it.

        One that was lost is begun again on another worker, for the rest of its time. If all of them are lost,
        SearchLostError is raised.
        """
        search = _Search(self, job, watch)
        return search.run()

    def submit(self, jobs: bytes) -> Chunk:
        """Packed jobs for a batch; see `solver.batch`."""
        answers: Future[bytes] = Future()
        here: list[Chunk] = []

        def deliver(frame: Frame) -> None:
            if frame.kind == Kind.FOUND:
                settle(lambda: answers.set_result(frame.payload))
            elif frame.kind == Kind.LOST:
                settle(lambda: answers.set_exception(WorkerLostError("the worker was lost")))
            elif frame.kind == Kind.GONE:
                here.append(self._here().submit(jobs))
                here[0].answers.add_done_callback(lambda done: settle(lambda: answers.set_result(done.result())))

        def settle(how: Callable[[], None]) -> None:
            if answers.set_running_or_notify_cancel():
                how()

        def stop() -> None:
            self.tell(Kind.STOP, call)
            for chunk in here:
                chunk.stop()

        (call,) = self.begin(Kind.BATCH, jobs, deliver)
        return Chunk(answers, stop)

    def close(self) -> None:
        """End all workers, and the Ray that was begun here."""
        self._closed.set()
        link, process = self._link, self._process
        if link:
            link.close()
        if process:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        self._keeper.join(10)
        if self._local:
            self._local.close()

    def __enter__(self) -> RayActors:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- calls ---

    def begin(self, kind: Kind, payload: bytes, deliver: Callable[[Frame], None], n: int = 1) -> range:
        """Have something done, in so many calls. `deliver` is told what comes of each, on another thread, or at once if
        nobody is there."""
        with self._changed:
            calls = range(self._last_call + 1, self._last_call + 1 + n)
            self._last_call += n
            link = self._link if self._health.state == "ready" else None
            if link:
                self._calls.update(dict.fromkeys(calls, deliver))
        if link is None or not link.send(kind, calls[0], payload):
            for call in calls:
                if link is None or self.forget(call):
                    deliver(Frame(Kind.GONE, call, b""))
        return calls

    def tell(self, kind: Kind, call: int) -> None:
        link = self._link
        if link and call in self._calls:
            link.send(kind, call)

    def forget(self, call: int) -> bool:
        """Nobody waits for this call any more; whether somebody did."""
        with self._changed:
            return self._calls.pop(call, None) is not None

    def _here(self) -> LocalThreads:
        with self._changed:
            if self._local is None:
                self._local = LocalThreads(len(os.sched_getaffinity(0)))
            return self._local

    # --- Ray's driver, from its start to its end, over and over ---

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
        """Start a driver and listen to it until its end. Whether it had workers."""
        try:
            if self._address and self._address != "auto":
                probe(self._address)
        except RayUnavailableError as error:
            self._set(Health("lost", 0, str(error)))
            return False
        ours, theirs = socket.socketpair()
        with theirs:
            process = self._start(theirs)
        ours.settimeout(SILENCE_S)
        link = Link(ours)
        with self._changed:
            self._link, self._process = link, process
        late = threading.Timer(START_S, process.kill)
        late.start()
        if self._closed.is_set():
            link.close()
        try:
            served, why = self._listen(link, late)
        finally:
            late.cancel()
        self._give_up(link, process, f"{self._where}: {why}")
        return served

    def _listen(self, link: Link, late: threading.Timer) -> tuple[bool, str]:
        served, why = False, "its driver ended"
        while frame := link.receive():
            if frame.kind == Kind.STATE:
                state = json.loads(frame.payload)
                # All of an embedded Ray's workers, or the first of a cluster's.
                if state["workers"] and (served or self._address or state["workers"] >= state["of"]):
                    late.cancel()
                    served = True
                if served:
                    self._set(Health("ready", state["workers"], state["note"]))
            elif frame.kind == Kind.FAILED:
                why = frame.payload.decode()
            else:
                deliver = self._calls.get(frame.call) if frame.kind == Kind.PART else self._pop(frame.call)
                if deliver:
                    deliver(frame)
        return served, why

    def _pop(self, call: int) -> Callable[[Frame], None] | None:
        with self._changed:
            return self._calls.pop(call, None)

    def _give_up(self, link: Link, process: subprocess.Popen[bytes], why: str) -> None:
        with self._changed:
            self._link = None
            calls, self._calls = self._calls, {}
        self._set(Health("lost", 0, why))
        link.close()
        if not self._closed.is_set():
            process.kill()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        end_session(process.pid)
        for call, deliver in calls.items():
            deliver(Frame(Kind.GONE, call, b""))

    def _set(self, health: Health) -> None:
        with self._changed:
            self._health = health
            self._changed.notify_all()

    @property
    def _where(self) -> str:
        return f"Ray at {self._address}" if self._address else "Ray on this machine"

    def _start(self, end: socket.socket) -> subprocess.Popen[bytes]:
        root = str(Path(__file__).parents[2])
        known = os.environ.get("PYTHONPATH")
        environment = {
            # For those who do not say otherwise. Tokens are asked for, and ours is made if there is none.
            "RAY_AUTH_MODE": "token",
            # So long a driver whose head is lost stays.
            "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
            # Workers give way to who asks, but not as far as Ray has them: where other programs keep all cores busy,
            # they would be late, and be taken for stuck.
            "RAY_worker_niceness": "5",
            **os.environ,
            "PYTHONPATH": f"{root}{os.pathsep}{known}" if known else root,
            "RAY_USAGE_STATS_ENABLED": "0",
            # Else the first call after the end of Ray starts another one.
            "RAY_ENABLE_AUTO_CONNECT": "0",
            # Else workers that were started by `uv run` build the project anew, each in a copy.
            "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        }
        environment.pop("RAY_ADDRESS", None)  # it goes before the address that we give
        return subprocess.Popen(
            [
                *(sys.executable, "-P", "-c", "from solver.backends.ray_actors import main; main()"),
                *(str(end.fileno()), self._address, str(self._workers)),
            ],
            env=environment,
            pass_fds=[end.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt from the keyboard is for us
        )


# --- one search ---------------------------------------------------------------------------------------------------


class _Search:
    """The shares of one job: which are under way, which are found, and until when to wait for the others."""

    def __init__(self, pool: RayActors, job: Job, watch: Watch | None) -> None:
        self._pool = pool
        self._job = job
        self._watch = watch or Watch()
        self._inbox: SimpleQueue[Frame | None] = SimpleQueue()
        self._under_way: dict[int, int] = {}  # call -> number of the share
        self._found: dict[int, Share] = {}
        self._progress = progress_of(job, self._watch)
        self._kills = [0] * job.shares
        self._here: list[int] = []  # numbers of shares that nobody else does
        self._note = ""
        now = time.monotonic()
        self._ends = min(
            now + job.budget.time_ms / 1000 if job.budget.time_ms else float("inf"), _seconds(self._watch.until_ns)
        )
        answer_by = _seconds(self._watch.answer_by_ns)
        self._ends = min(self._ends, answer_by - min(WAY_MS / 1000, max(answer_by - now, 0) / 2))
        # No share is waited for any longer.
        self._last = min(self._ends + LATE_MS / 1000, answer_by)
        self._interval = self._pause_ms()
        self._due = now + self._interval / 1000 if self._interval else float("inf")
        self._peeks = 0

    def run(self) -> list[Share]:
        message = encode_job(self._rest() or self._job)
        with self._watch.stopping(lambda: self._inbox.put(None)):
            try:
                self._begin(range(self._job.shares), message)
                while self._under_way and self._step():
                    pass
            finally:
                # Late ones, and all of them after an interrupt or an error, so that their workers are free.
                for call in self._under_way:
                    self._pool.tell(Kind.STOP, call)
                    self._pool.forget(call)
            self._search_here()
        return self._all()

    def _pause_ms(self) -> float:
        """How often workers say what they have found: as often as is asked for; else some times before the end, as what
        is lost or late after that counts all the same. 0: never."""
        if self._watch.report:
            return max(self._watch.interval_ms, 1.0)
        time_ms = (self._ends - time.monotonic()) * 1000
        return time_ms / PARTS if PARTS_FROM_MS <= time_ms < float("inf") else 0.0

    def _begin(self, numbers: Sequence[int], message: bytes) -> None:
        head = write_shares(numbers, int(self._interval))
        calls = self._pool.begin(Kind.SEARCH, head + message, self._inbox.put, len(numbers))
        self._under_way.update(zip(calls, numbers, strict=True))

    def _step(self) -> bool:
        """Wait for the next thing to happen; whether there is anything left to wait for."""
        now = time.monotonic()
        if now >= self._due:
            self._ask_for_parts()
            self._due = now + self._interval / 1000
        if now >= self._last:
            return False
        until = min(self._last, self._due) - now
        try:
            frame = self._inbox.get(timeout=None if until == float("inf") else max(until, 0.0))
        except Empty:
            return True
        if frame is None:
            self._stop()
        elif frame.call in self._under_way:
            self._take(frame, self._under_way[frame.call])
        return True

    def _take(self, frame: Frame, number: int) -> None:
        if frame.kind == Kind.PART:
            if frame.payload:
                self._progress.put(number, decode_share(frame.payload))
            self._peeks -= 1
            if self._peeks == 0:
                self._progress.tell()
            return
        del self._under_way[frame.call]
        if frame.kind == Kind.FOUND:
            share = decode_share(read_answer(frame.payload))
            self._found[number] = share
            self._progress.put(number, share)
        elif frame.kind == Kind.LOST:
            self._kills[number] += 1
            self._begin_again(number)
        elif not self._kills[number]:
            self._here.append(number)

    def _begin_again(self, number: int) -> None:
        job = self._rest()
        if job and self._kills[number] < KILLS_MAX:
            self._note = REPLACED
            self._begin([number], encode_job(job))

    def _rest(self) -> Job | None:
        """The job with the time that is left; None: none is."""
        if self._watch.stopped:
            return None
        if self._ends == float("inf"):
            return self._job
        left = (self._ends - time.monotonic()) * 1000
        return replace(self._job, budget=replace(self._job.budget, time_ms=left)) if left >= LEAST_MS else None

    def _stop(self) -> None:
        for call in self._under_way:
            self._pool.tell(Kind.STOP, call)
        self._last = min(self._last, time.monotonic() + STOPPING_MS / 1000)

    def _ask_for_parts(self) -> None:
        if self._peeks > 0:
            self._progress.tell()  # somebody did not answer the last time
        self._peeks = len(self._under_way)
        for call in self._under_way:
            self._pool.tell(Kind.PEEK, call)

    def _search_here(self) -> None:
        """What is left to be done and has harmed no worker: where such a share went, this process would go too."""
        rest = self._rest()
        if rest is None and not self._stopped and not any(part.iterations for part in self._progress.found):
            # There has to be an answer, however late everybody was.
            rest = replace(self._job, budget=replace(self._job.budget, time_ms=LEAST_MS))
            self._here = [number for number, kills in enumerate(self._kills) if not kills][:1]
        if rest is None or not self._here:
            return
        self._note = HERE
        found = self._pool.here.run_some(rest, self._here, self._watch, self._progress)
        self._found.update(zip(self._here, found, strict=True))

    @property
    def _stopped(self) -> bool:
        return self._watch.stopped

    def _all(self) -> list[Share]:
        shares = [self._found.get(number) or self._missing(number) for number in range(self._job.shares)]
        if not self._stopped and all(share.missing and not share.iterations for share in shares):
            raise SearchLostError(f"all {len(shares)} shares of a search were lost, and {sum(self._kills)} workers")
        if self._note:
            shares[0] = replace(shares[0], note=self._note)
        return shares

    def _missing(self, number: int) -> Share:
        """What stands for a share that did not end."""
        stopped = self._stopped and number not in self._under_way.values()
        if not stopped:
            self._note = self._note or MISSING
        share = self._progress.found[number]
        return replace(share, stopped_by="stopped" if self._stopped else "lost", missing=0 if stopped else 1)


def _seconds(moment_ns: int) -> float:
    return float("inf") if moment_ns == NEVER_NS else moment_ns / 1e9


# --- addresses ----------------------------------------------------------------------------------------------------

# How a connection of HTTP/2 begins, on both sides: so does every one of gRPC, and Ray speaks nothing else.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
_SETTINGS = 4


def read_address(address: str) -> str:
    """An address as it is used: empty for a Ray of our own."""
    if address in ("", "local"):
        return ""
    host, _, port = address.rpartition(":")
    if address != "auto" and (not host or "/" in host or not port.isdecimal() or not 1 <= int(port) <= 65535):
        raise RayUnavailableError(f"address: {address!r} is not host:port of a Ray head, such as 10.0.0.1:6379")
    return address


def probe(address: str) -> None:
    """Raise RayUnavailableError at once if nobody is there who might be a Ray head: Ray itself takes minutes."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_S) as connection:
            if os.environ.get("RAY_USE_TLS") == "1":
                return
            connection.settimeout(CONNECT_S / 2)
            connection.sendall(_PREFACE)
            answer = connection.recv(9)
    except OSError as error:
        reason = "it says nothing" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise RayUnavailableError(f"address: nobody at {address} answers as a Ray head does: {reason}") from None
    if len(answer) < 9 or answer[3] != _SETTINGS:
        raise RayUnavailableError(f"address: what answers at {address} is not a Ray head; its port is 6379 by default")
