"""Run Ray's driver and the actors that search: the only file that imports Ray.

`ray_pool.py` starts the driver as a process (`main`) and exchanges the frames of `driver_channel.py` with it. It needs
a process of its own because Ray kills a driver whose head is lost, installs signal handlers, and starts a second Ray on
a call after its end. Only bytes and numbers pass to and from actors, never exceptions.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NoReturn, TypeVar

import ray
from ray.exceptions import RayActorError

from solver.control import NEVER_NS, Control
from solver.expected_signature import SIGNATURE
from solver.merge import Share
from solver.pool.driver_channel import Channel, Frame, FrameKind, calls_of, read_call
from solver.pool.job_bytes import decode_job, encode_share, unpack, write_answer
from solver.pool.leftovers import end_session
from solver.pool.parts import Progress, run_parts
from solver.question import pack

T = TypeVar("T")

SEARCHES_MAX = 8  # concurrent calls of a worker; more are queued
STOPS_KEPT = 10_000  # the latest stops that overtook their calls
TICK = 0.5  # s, interval of checks on the workers
WEDGED_AFTER = 2.5  # s, timeout of a worker's heartbeat
CALL_TIMEOUT = 5.0  # s that a call waits for a worker
JOIN_S = 8.0  # timeout for joining a cluster; Ray itself tries for 20 s and more
STARTS_MAX = 3  # consecutive failed starts before the driver gives up


class Worker:
    """A Ray actor with one core. Searches and control calls run on separate threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, Control] = {}
        self._stopped: OrderedDict[int, None] = OrderedDict()
        self._progress: dict[int, Sequence[Share]] = {}

    @ray.method(concurrency_group="search")
    def search(self, message: bytes) -> bytes:
        """Compute a group of parts; return their shares. A single argument, because Ray adds overhead for each."""
        call, first, options, job = read_call(message)
        until_ns = NEVER_NS if options.left_ms == float("inf") else time.monotonic_ns() + int(options.left_ms * 1e6)

        def compute(control: Control) -> bytes:
            question = decode_job(job)
            numbers = range(first, question.n_parts, options.step)

            def note(shares: Sequence[Share]) -> None:
                self._progress[call] = shares[first :: options.step]

            question.prepare()
            progress = Progress(question, note if options.interval_ms else None, options.interval_ms)
            return pack_shares(run_parts(question, numbers, control, progress))

        return write_answer(partial(self._run, call, Control(until_ns=until_ns), compute))

    @ray.method(concurrency_group="search")
    def batch(self, call: int, jobs: bytes) -> bytes:
        """Compute several whole questions; return the shares of each."""

        def compute(control: Control) -> bytes:
            return pack([write_answer(partial(compute_whole, job, control)) for job in unpack(jobs)])

        return self._run(call, Control(), compute)

    @ray.method(concurrency_group="control")
    def stop(self, call: int) -> None:
        """End a call soon. A stop may overtake its call, as they arrive on different threads."""
        with self._lock:
            self._stopped[call] = None
            if len(self._stopped) > STOPS_KEPT:
                self._stopped.popitem(last=False)
            control = self._running.get(call)
        if control:
            control.stop()

    @ray.method(concurrency_group="control")
    def peek(self, call: int) -> bytes:
        """Return the shares of a search as of its last pause; empty: none yet."""
        return pack_shares(self._progress.get(call, ()))

    @ray.method(concurrency_group="control")
    def ready(self) -> bytes:
        """Return the process id, node id and engine signature of this worker, as JSON."""
        return json.dumps([os.getpid(), ray.get_runtime_context().get_node_id(), SIGNATURE]).encode()

    def _run(self, call: int, control: Control, compute: Callable[[Control], T]) -> T:
        with self._lock:
            self._running[call] = control
            stopped = call in self._stopped
        if stopped:
            control.stop()
        try:
            return compute(control)
        finally:
            with self._lock:
                del self._running[call]
                self._stopped.pop(call, None)
                self._progress.pop(call, None)


def compute_whole(job: bytes, control: Control) -> bytes:
    question = decode_job(job)
    question.prepare()
    return pack_shares(run_parts(question, range(question.n_parts), control, Progress(question)))


def pack_shares(shares: Sequence[Share]) -> bytes:
    return pack(list(map(encode_share, shares)))


# Any, as Ray's type stubs lack `concurrency_groups`. No restarts by Ray, which reports them seconds later: `Workers`
# starts another worker instead.
_options: dict[str, Any] = {
    "num_cpus": 1,
    "enable_task_events": False,  # avoid the overhead of reporting every call to Ray's dashboard
    "max_restarts": 0,
    "max_task_retries": 0,
    "scheduling_strategy": "SPREAD",
    "concurrency_groups": {"search": SEARCHES_MAX, "control": 2},
}
RemoteWorker: Any = ray.remote(**_options)(Worker)


class Member:
    """The driver's record of one worker."""

    def __init__(self) -> None:
        self.handle = RemoteWorker.remote()
        self.born = time.monotonic()
        self.pinged: float | None = None  # time of the pending heartbeat request, if any
        self.ready = False
        self.refused = ""  # reason why it is not used; it stays, so no other worker starts in its place
        self.pid = 0
        self.node = ""
        self.calls: set[int] = set()
        self.reserved = False  # kept free for a call of kind ALONE
        self.is_alone = False  # runs a call of kind ALONE


def choose(ready: Sequence[Member], kind: FrameKind) -> Member | None:
    """Return the worker for a call: the one with the fewest calls; for ALONE, a reserved one without calls."""
    if kind == FrameKind.ALONE:
        return next((member for member in ready if member.reserved and not member.calls), None)
    free = [member for member in ready if not member.reserved and not member.is_alone]
    return min(free, key=lambda member: len(member.calls), default=None)


class Workers:
    """Manage one worker per CPU, up to a cap; replace workers that die or miss their heartbeat."""

    def __init__(self, channel: Channel, cap: int) -> None:
        self._channel = channel
        self._cap = cap
        self._lock = threading.Lock()
        # Work deferred by Ray's callbacks: they run on the thread that delivers all results and must not block on Ray.
        self._todo: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._members: list[Member] = []
        self._of: dict[int, Member] = {}
        self._waiting: deque[tuple[float, Frame]] = deque()
        self._target = 0
        self._failed_starts = 0
        self._node = ray.get_runtime_context().get_node_id()

    def handle(self, frame: Frame) -> None:
        """Handle a frame of the client process."""
        if frame.kind == FrameKind.STOP:
            self._stop(frame.call)
        elif frame.kind == FrameKind.PEEK:
            self._peek(frame.call)
        elif frame.kind in (FrameKind.SEARCH, FrameKind.RETRY):
            self._place([Frame(frame.kind, *call) for call in calls_of(frame.payload, frame.call).items()])
        else:
            self._place([frame])

    def keep(self) -> None:
        """Check and replace the workers until the process ends."""
        threading.Thread(target=self._count_cpus, daemon=True).start()
        due = time.monotonic()
        while True:
            with suppress(Empty):
                self._todo.get(timeout=max(due - time.monotonic(), 0.0))()
            if time.monotonic() >= due:
                due = time.monotonic() + TICK
                self._check_heartbeats()
                self._grow()
                self._place()
                self._send_state()

    # --- calls ---

    def _place(self, frames: Sequence[Frame] = ()) -> None:
        """Queue new calls; start queued calls for which there are workers."""
        now = time.monotonic()
        with self._lock:
            self._waiting.extend([(now, frame) for frame in frames])
            if not self._waiting:
                return
            ready = [member for member in self._members if member.ready]
            self._reserve(ready)
            started, rejected, still_waiting = [], [], deque[tuple[float, Frame]]()
            for since, frame in self._waiting:
                if (member := choose(ready, frame.kind)) is not None:
                    member.calls.add(frame.call)
                    member.is_alone = frame.kind == FrameKind.ALONE
                    self._of[frame.call] = member
                    started.append((member, frame))
                elif frame.kind == FrameKind.RETRY or (ready and frame.kind == FrameKind.SEARCH):
                    rejected.append(frame)  # searches do not wait for a reserved worker
                else:
                    still_waiting.append((since, frame))
            self._waiting = still_waiting
        for member, frame in started:
            self._begin(member, frame)
        for frame in rejected:
            self._channel.send(FrameKind.NO_WORKER, frame.call)

    def _reserve(self, ready: Sequence[Member]) -> None:
        """Reserve workers for calls of kind ALONE: up to half of them, and at least one."""
        demand = sum(frame.kind == FrameKind.ALONE for _, frame in self._waiting)
        room = max(len(ready) // 2, 1) - sum(member.is_alone for member in ready)
        others = [member for member in ready if not member.is_alone]
        if demand:
            others.sort(key=lambda member: (not member.reserved, len(member.calls)))
        for i, member in enumerate(others):
            member.reserved = i < min(demand, room)

    def _begin(self, member: Member, frame: Frame) -> None:
        if frame.kind in (FrameKind.SEARCH, FrameKind.RETRY):
            ref = member.handle.search.remote(frame.payload)
        else:
            ref = member.handle.batch.remote(frame.call, frame.payload)
        ref.future().add_done_callback(partial(self._done, frame.call, member))

    def _done(self, call: int, member: Member, future: Any) -> None:
        error = future.exception()
        if isinstance(error, RayActorError):
            self._lose(member)
            return
        with self._lock:
            if self._of.get(call) is not member:
                return  # the worker was given up
            del self._of[call]
            member.calls.discard(call)
            member.is_alone = False
            waits = bool(self._waiting)
        if error is None:
            self._channel.send(FrameKind.RESULT, call, future.result())
        else:
            self._channel.send(FrameKind.LOST, call)
        if waits:
            self._todo.put(self._place)

    def _stop(self, call: int) -> None:
        with self._lock:
            member = self._of.get(call)
            waiting = [entry for entry in self._waiting if entry[1].call == call]
            for entry in waiting:
                self._waiting.remove(entry)
        if member:
            member.handle.stop.remote(call)
        for _ in waiting:
            self._channel.send(FrameKind.NO_WORKER, call)

    def _peek(self, call: int) -> None:
        with self._lock:
            member = self._of.get(call)
        if member:
            member.handle.peek.remote(call).future().add_done_callback(partial(self._peeked, call))

    def _peeked(self, call: int, future: Any) -> None:
        if future.exception() is None:
            self._channel.send(FrameKind.PROGRESS, call, future.result())

    # --- workers ---

    def _lose(self, member: Member) -> None:
        """Give up a worker, fail its calls, and start another one."""
        with self._lock:
            if member not in self._members:
                return
            self._members.remove(member)
            calls, member.calls = member.calls, set()
            for call in calls:
                del self._of[call]
            if not member.ready and not member.refused:
                self._failed_starts += 1
        for call in calls:
            self._channel.send(FrameKind.LOST, call)
        self._todo.put(partial(self._replace, member))

    def _replace(self, member: Member) -> None:
        ray.kill(member.handle)
        if member.pid and member.node == self._node:
            # SIGKILL, as Ray's kill waits seconds for a process that hangs.
            with suppress(OSError):
                os.kill(member.pid, signal.SIGKILL)
        if self._failed_starts >= STARTS_MAX:
            give_up(self._channel, "workers end right after their start: is the same eminence version on every node?")
        self._send_state()
        self._grow()

    def _grow(self) -> None:
        """Start or end workers until their number fits the CPUs; called on the thread of `keep` only."""
        while len(self._members) < self._target:
            member = Member()
            with self._lock:
                self._members.append(member)
            self._ping(member)
        # Workers that no longer fit would stay pending forever.
        with self._lock:
            starting = [member for member in self._members if not member.ready]
            surplus = starting[: max(len(self._members) - self._target, 0)]
            self._members = [member for member in self._members if member not in surplus]
        for member in surplus:
            ray.kill(member.handle)

    def _ping(self, member: Member) -> None:
        member.pinged = time.monotonic()
        member.handle.ready.remote().future().add_done_callback(partial(self._pong, member))

    def _pong(self, member: Member, future: Any) -> None:
        if future.exception() is not None:
            self._lose(member)
            return
        pid, node, signature = json.loads(future.result())
        if signature != SIGNATURE:
            self._refuse(member, f"a node has engine {signature}, and this is {SIGNATURE}")
            return
        with self._lock:
            first, member.ready = not member.ready, True
            member.pinged, member.pid, member.node = None, pid, node
            self._failed_starts = 0
        if first:
            self._todo.put(self._send_state)
            self._todo.put(self._place)

    def _refuse(self, member: Member, reason: str) -> None:
        """Exclude a worker whose engine differs from this one: its answers might differ."""
        with self._lock:
            member.refused, member.pinged = reason, None
            is_all = all(one.refused for one in self._members)
        if is_all:
            give_up(self._channel, f"{reason}: install one version everywhere")
        self._todo.put(self._send_state)

    def _check_heartbeats(self) -> None:
        now = time.monotonic()
        with self._lock:
            wedged = [
                one
                for one in self._members
                if one.pinged and (one.ready or one.refused) and now - one.pinged > WEDGED_AFTER
            ]
            healthy = [one for one in self._members if (one.ready or one.refused) and one.pinged is None]
            expired = []
            while self._waiting and now - self._waiting[0][0] > CALL_TIMEOUT:
                expired.append(self._waiting.popleft()[1])
        for member in wedged:
            self._lose(member)
        for member in healthy:
            self._ping(member)
        for frame in expired:
            self._channel.send(FrameKind.NO_WORKER, frame.call)

    def _count_cpus(self) -> None:
        """Follow the number of CPUs. Needs its own thread: `cluster_resources` blocks forever when the head is lost."""
        resources: Any = ray.cluster_resources
        while True:
            cpus = int(resources().get("CPU", 0))
            if (target := min(self._cap, cpus)) != self._target:
                self._target = target
                self._todo.put(self._grow)
            time.sleep(TICK)

    def _send_state(self) -> None:
        with self._lock:
            refused = [member.refused for member in self._members if member.refused]
            state = {
                "workers": sum(member.ready for member in self._members),
                "of": self._target - len(refused),
                "note": f"{refused[0]}: it is not used; install one version everywhere" if refused else "",
            }
        self._channel.send(FrameKind.STATE, 0, json.dumps(state).encode())


# --- the process --------------------------------------------------------------------------------------------------


def join(address: str, workers: int, folder: str) -> None:
    """Join the cluster at `address`; if empty, start Ray on this machine, with its files in `folder`."""
    quiet: dict[str, Any] = {"logging_level": 50, "log_to_driver": False}
    if address:
        ray.init(address=address, **quiet)
    else:
        ray.init(
            address="local",
            num_cpus=workers,
            num_gpus=0,
            include_dashboard=False,
            object_store_memory=80 * 2**20,
            _temp_dir=f"{folder}/ray",  # a subfolder, as Ray makes it accessible to all users
            **quiet,
        )


TOKEN = "set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to a file, with the cluster's token"


def give_up(channel: Channel, reason: str) -> NoReturn:
    channel.send(FrameKind.FAILED, 0, reason.encode())
    os._exit(2)


def explain(error: BaseException) -> str:
    """Return the reason why Ray cannot be used, in one line."""
    text = str(error)
    if "ersion mismatch" in text:
        parts = [line.strip() for line in text.splitlines() if "Ray:" in line or "Python:" in line]
        return "its versions differ from ours: " + (", ".join(parts) or text.splitlines()[0])
    if "uthentication" in text or "token" in text:
        return f"it requires a token: {TOKEN}"
    return f"{type(error).__name__}: {text.strip().splitlines()[0] if text.strip() else 'no reason given'}"


def send_heartbeats(channel: Channel, started: threading.Event) -> None:
    """Send heartbeats until the workers do."""
    while not started.wait(TICK):
        channel.send(FrameKind.STATE, 0, b'{"workers": 0, "of": 0, "note": ""}')


def main() -> None:
    """Run the driver until the client process ends.

    Arguments: the socket's file descriptor, the address of a cluster (empty: none), the most workers, and the folder
    for the files of a Ray on this machine.
    """
    file, address, workers, folder = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    channel = Channel(socket.socket(fileno=file))
    started = threading.Event()
    if address:
        late = threading.Timer(JOIN_S, give_up, (channel, f"joining took longer than {JOIN_S:.0f} s; {TOKEN}"))
        late.start()
    threading.Thread(target=send_heartbeats, args=(channel, started), daemon=True).start()
    try:
        join(address, workers, folder)
        members = Workers(channel, workers)
    except BaseException as error:
        give_up(channel, explain(error))
    started.set()
    if address:
        late.cancel()
    threading.Thread(target=members.keep, daemon=True).start()
    while frame := channel.receive():
        members.handle(frame)
    # The client process has ended.
    if address:
        threading.Timer(5.0, os._exit, (0,)).start()  # `shutdown` may block forever when the head is lost
        ray.shutdown()
    elif os.getsid(0) == os.getpid():
        end_session(os.getpid())  # kill Ray at once: it has no state to save
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)
