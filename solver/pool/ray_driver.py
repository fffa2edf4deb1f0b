"""Ray's driver, a process of its own, and the actors that search: the only file that imports Ray.

`ray_pool.py` starts it, as `main`, and speaks to it in the frames of `driver_channel.py`. A process of its own, because
Ray ends a driver whose head is lost, takes its signals, and starts a second Ray when it is asked too late. Only bytes
and numbers go to actors and come back; no exception does.
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
from solver.pool.job_bytes import answered, decode_job, encode_share, unpack
from solver.pool.leftovers import end_session
from solver.pool.parts import Progress, run_parts
from solver.question import pack

T = TypeVar("T")

SEARCHES_MAX = 8  # calls that one worker has under way; more wait
STOPS_KEPT = 10_000  # the latest stops that came before their calls
TICK = 0.5  # s between two looks at the workers
WEDGED_AFTER = 2.5  # s without an answer of a worker
NOBODY_AFTER = 5.0  # s that a call waits for a worker
JOIN_S = 8.0  # to be let into a cluster; Ray itself tries for 20 s and more
STARTS_MAX = 3  # workers that fail one after the other before any is there


class Worker:
    """One core. Calls run on threads of their own, so that control calls come through."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, Control] = {}
        self._stopped: OrderedDict[int, None] = OrderedDict()
        self._noted: dict[int, Sequence[Share]] = {}

    @ray.method(concurrency_group="search")
    def search(self, message: bytes) -> bytes:
        """Compute a group of parts; return their shares. One argument, since each of them takes its time."""
        call, first, terms, job = read_call(message)
        until_ns = NEVER_NS if terms.left_ms == float("inf") else time.monotonic_ns() + int(terms.left_ms * 1e6)

        def compute(control: Control) -> bytes:
            question = decode_job(job)
            numbers = range(first, question.n_parts, terms.step)

            def note(shares: Sequence[Share]) -> None:
                self._noted[call] = shares[first :: terms.step]

            question.get_ready()
            progress = Progress(question, note if terms.interval_ms else None, terms.interval_ms)
            return pack_shares(run_parts(question, numbers, control, progress))

        return answered(partial(self._run, call, Control(until_ns=until_ns), compute))

    @ray.method(concurrency_group="search")
    def batch(self, call: int, jobs: bytes) -> bytes:
        """Compute several questions, each whole; return the shares of each."""

        def compute(control: Control) -> bytes:
            return pack([answered(partial(compute_whole, job, control)) for job in unpack(jobs)])

        return self._run(call, Control(), compute)

    @ray.method(concurrency_group="control")
    def stop(self, call: int) -> None:
        """End a call soon. It may overtake its call: they come on different threads."""
        with self._lock:
            self._stopped[call] = None
            if len(self._stopped) > STOPS_KEPT:
                self._stopped.popitem(last=False)
            control = self._running.get(call)
        if control:
            control.stop()

    @ray.method(concurrency_group="control")
    def peek(self, call: int) -> bytes:
        """Return the shares of a search as of its last pause; empty: nothing yet."""
        return pack_shares(self._noted.get(call, ()))

    @ray.method(concurrency_group="control")
    def ready(self) -> bytes:
        """Return the process, the node and the engine of this worker."""
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
                self._noted.pop(call, None)


def compute_whole(job: bytes, control: Control) -> bytes:
    question = decode_job(job)
    question.get_ready()
    return pack_shares(run_parts(question, range(question.n_parts), control, Progress(question)))


def pack_shares(shares: Sequence[Share]) -> bytes:
    return pack(list(map(encode_share, shares)))


# Ray's type stubs know no `concurrency_groups`, hence Any. Ray does not restart a worker that ends, as it takes seconds
# to report that; another one begins in its place.
_options: dict[str, Any] = {
    "num_cpus": 1,
    "enable_task_events": False,  # reporting every call to Ray's dashboard takes its time
    "max_restarts": 0,
    "max_task_retries": 0,
    "scheduling_strategy": "SPREAD",
    "concurrency_groups": {"search": SEARCHES_MAX, "control": 2},
}
RemoteWorker: Any = ray.remote(**_options)(Worker)


class Member:
    """One of the workers."""

    def __init__(self) -> None:
        self.handle = RemoteWorker.remote()
        self.born = time.monotonic()
        self.asked: float | None = None  # when it was asked for a sign of life, if it has not answered
        self.ready = False
        self.refused = ""  # why it is not used; it stays, so that no other begins in its place
        self.pid = 0
        self.node = ""
        self.calls: set[int] = set()
        self.reserved = False  # for a call that must be alone: it gets no other
        self.is_alone = False  # it has such a call


def choose(ready: Sequence[Member], kind: FrameKind) -> Member | None:
    """Return the worker for a call: the one with the fewest, or one without any for a call that must be alone."""
    if kind == FrameKind.ALONE:
        return next((member for member in ready if member.reserved and not member.calls), None)
    free = [member for member in ready if not member.reserved and not member.is_alone]
    return min(free, key=lambda member: len(member.calls), default=None)


class Workers:
    """One for each CPU, up to a cap; those that are lost or do not answer are replaced."""

    def __init__(self, channel: Channel, cap: int) -> None:
        self._channel = channel
        self._cap = cap
        self._lock = threading.Lock()
        # What Ray's callbacks leave to be done: its thread, which brings all answers, must not wait for Ray.
        self._todo: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._members: list[Member] = []
        self._of: dict[int, Member] = {}
        self._waiting: deque[tuple[float, Frame]] = deque()
        self._target = 0
        self._failed_starts = 0
        self._node = ray.get_runtime_context().get_node_id()

    def handle(self, frame: Frame) -> None:
        """Do what the other process asks."""
        if frame.kind == FrameKind.STOP:
            self._stop(frame.call)
        elif frame.kind == FrameKind.PEEK:
            self._peek(frame.call)
        elif frame.kind in (FrameKind.SEARCH, FrameKind.AGAIN):
            self._place([Frame(frame.kind, *call) for call in calls_of(frame.payload, frame.call).items()])
        else:
            self._place([frame])

    def keep(self) -> None:
        """Look after the workers, until the process ends."""
        threading.Thread(target=self._count_cpus, daemon=True).start()
        due = time.monotonic()
        while True:
            with suppress(Empty):
                self._todo.get(timeout=max(due - time.monotonic(), 0.0))()
            if time.monotonic() >= due:
                due = time.monotonic() + TICK
                self._ping()
                self._grow()
                self._place()
                self._send_state()

    # --- calls ---

    def _place(self, frames: Sequence[Frame] = ()) -> None:
        """Begin calls, and those that wait, as far as there are workers for them."""
        now = time.monotonic()
        with self._lock:
            self._waiting.extend([(now, frame) for frame in frames])
            if not self._waiting:
                return
            ready = [member for member in self._members if member.ready]
            self._reserve(ready)
            begun, gone, still = [], [], deque[tuple[float, Frame]]()
            for since, frame in self._waiting:
                if (member := choose(ready, frame.kind)) is not None:
                    member.calls.add(frame.call)
                    member.is_alone = frame.kind == FrameKind.ALONE
                    self._of[frame.call] = member
                    begun.append((member, frame))
                elif frame.kind == FrameKind.AGAIN or (ready and frame.kind == FrameKind.SEARCH):
                    gone.append(frame)  # searches do not wait for a worker that is reserved
                else:
                    still.append((since, frame))
            self._waiting = still
        for member, frame in begun:
            self._begin(member, frame)
        for frame in gone:
            self._channel.send(FrameKind.GONE, frame.call)

    def _reserve(self, ready: Sequence[Member]) -> None:
        """Keep workers free for calls that must be alone: one, or up to half of them."""
        wanted = sum(frame.kind == FrameKind.ALONE for _, frame in self._waiting)
        room = max(len(ready) // 2, 1) - sum(member.is_alone for member in ready)
        others = [member for member in ready if not member.is_alone]
        if wanted:
            others.sort(key=lambda member: (not member.reserved, len(member.calls)))
        for i, member in enumerate(others):
            member.reserved = i < min(wanted, room)

    def _begin(self, member: Member, frame: Frame) -> None:
        if frame.kind in (FrameKind.SEARCH, FrameKind.AGAIN):
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
                return  # given up before
            del self._of[call]
            member.calls.discard(call)
            member.is_alone = False
            waits = bool(self._waiting)
        if error is None:
            self._channel.send(FrameKind.FOUND, call, future.result())
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
            self._channel.send(FrameKind.GONE, call)

    def _peek(self, call: int) -> None:
        with self._lock:
            member = self._of.get(call)
        if member:
            member.handle.peek.remote(call).future().add_done_callback(partial(self._peeked, call))

    def _peeked(self, call: int, future: Any) -> None:
        if future.exception() is None:
            self._channel.send(FrameKind.PART, call, future.result())

    # --- workers ---

    def _lose(self, member: Member) -> None:
        """Give up a worker; another one begins."""
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
            # Ray asks it to end, and waits for seconds for one that does not run.
            with suppress(OSError):
                os.kill(member.pid, signal.SIGKILL)
        if self._failed_starts >= STARTS_MAX:
            give_up(self._channel, "workers end as soon as they begin: is the same version of eminence on every node?")
        self._send_state()
        self._grow()

    def _grow(self) -> None:
        """Begin as many workers as there is room for; only the thread of `keep` does."""
        while len(self._members) < self._target:
            member = Member()
            with self._lock:
                self._members.append(member)
            self._ask(member)
        # Workers that no longer fit would stay pending forever.
        with self._lock:
            starting = [member for member in self._members if not member.ready]
            surplus = starting[: max(len(self._members) - self._target, 0)]
            self._members = [member for member in self._members if member not in surplus]
        for member in surplus:
            ray.kill(member.handle)

    def _ask(self, member: Member) -> None:
        member.asked = time.monotonic()
        member.handle.ready.remote().future().add_done_callback(partial(self._answered, member))

    def _answered(self, member: Member, future: Any) -> None:
        if future.exception() is not None:
            self._lose(member)
            return
        pid, node, signature = json.loads(future.result())
        if signature != SIGNATURE:
            self._refuse(member, f"a node has engine {signature}, and this is {SIGNATURE}")
            return
        with self._lock:
            first, member.ready = not member.ready, True
            member.asked, member.pid, member.node = None, pid, node
            self._failed_starts = 0
        if first:
            self._todo.put(self._send_state)
            self._todo.put(self._place)

    def _refuse(self, member: Member, why: str) -> None:
        """Do not use a worker that would find something else than this engine."""
        with self._lock:
            member.refused, member.asked = why, None
            is_all = all(one.refused for one in self._members)
        if is_all:
            give_up(self._channel, f"{why}: install one version everywhere")
        self._todo.put(self._send_state)

    def _ping(self) -> None:
        now = time.monotonic()
        with self._lock:
            wedged = [
                one
                for one in self._members
                if one.asked and (one.ready or one.refused) and now - one.asked > WEDGED_AFTER
            ]
            resting = [one for one in self._members if (one.ready or one.refused) and one.asked is None]
            expired = []
            while self._waiting and now - self._waiting[0][0] > NOBODY_AFTER:
                expired.append(self._waiting.popleft()[1])
        for member in wedged:
            self._lose(member)
        for member in resting:
            self._ask(member)
        for frame in expired:
            self._channel.send(FrameKind.GONE, frame.call)

    def _count_cpus(self) -> None:
        """On a thread of its own: a head that is lost never answers."""
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
    """Join the cluster at `address`; empty: start a Ray of our own on this machine, whose files are in `folder`."""
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
            _temp_dir=f"{folder}/ray",  # Ray lets everybody into this one
            **quiet,
        )


TOKEN = "RAY_AUTH_TOKEN, or the file that RAY_AUTH_TOKEN_PATH names, has to hold the cluster's token"


def give_up(channel: Channel, why: str) -> NoReturn:
    channel.send(FrameKind.FAILED, 0, why.encode())
    os._exit(2)


def explain(error: BaseException) -> str:
    """Return why Ray cannot be used, in one line."""
    text = str(error)
    if "ersion mismatch" in text:
        parts = [line.strip() for line in text.splitlines() if "Ray:" in line or "Python:" in line]
        return "its versions differ from ours: " + (", ".join(parts) or text.splitlines()[0])
    if "uthentication" in text or "token" in text:
        return f"it wants a token: {TOKEN}"
    return f"{type(error).__name__}: {text.strip().splitlines()[0] if text.strip() else 'no reason given'}"


def live(channel: Channel, begun: threading.Event) -> None:
    """Send a sign of life until the workers do."""
    while not begun.wait(TICK):
        channel.send(FrameKind.STATE, 0, b'{"workers": 0, "of": 0, "note": ""}')


def main() -> None:
    """argv: the number of the socket's file, the address (empty: none), the greatest number of workers, and the folder
    of a Ray of our own."""
    file, address, workers, folder = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    channel = Channel(socket.socket(fileno=file))
    begun = threading.Event()
    if address:
        late = threading.Timer(JOIN_S, give_up, (channel, f"it lets nobody in within {JOIN_S:.0f} s; {TOKEN}"))
        late.start()
    threading.Thread(target=live, args=(channel, begun), daemon=True).start()
    try:
        join(address, workers, folder)
        members = Workers(channel, workers)
    except BaseException as error:
        give_up(channel, explain(error))
    begun.set()
    if address:
        late.cancel()
    threading.Thread(target=members.keep, daemon=True).start()
    while frame := channel.receive():
        members.handle(frame)
    # The other process is gone.
    if address:
        threading.Timer(5.0, os._exit, (0,)).start()  # with its head lost, Ray may never come to an end
        ray.shutdown()
    elif os.getsid(0) == os.getpid():
        end_session(os.getpid())  # at once, and all of it: there is nothing to be kept
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)
