"""Ray's driver, a process of its own, and the actors that search: the only file that imports Ray.

`cluster.py` starts it, as `main`, and speaks to it in the frames of `link.py`. A process of its own, because Ray ends a
driver whose head is lost, takes its signals, and starts a second Ray when it is asked too late. Only bytes and numbers
go to actors and come back; no exception does.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NoReturn, TypeVar

import ray
from ray.exceptions import RayActorError

from solver.backends.base import run_share, start_share
from solver.backends.leftovers import end_session
from solver.backends.link import Frame, Kind, Link, read_shares
from solver.backends.wire import answered, decode_job, encode_share
from solver.batch import answer_all
from solver.merge import Share
from solver.version import SIGNATURE
from solver.watch import Watch

T = TypeVar("T")

CALL = struct.Struct("<QHI")  # the number of a call, then of its share, then ms between two parts
SEARCHES_MAX = 8  # calls that one worker has under way; more wait
STOPS_KEPT = 10_000  # stops that came before their calls are remembered, the last so many
TICK = 0.5  # s between two looks at the pool
WEDGED_AFTER = 2.5  # s without an answer of a worker
NOBODY_AFTER = 5.0  # s that a call waits for a worker to be there
JOIN_S = 8.0  # to be let into a cluster; Ray itself tries for 20 s and more
STARTS_MAX = 3  # workers that fail one after the other before any is there


class Worker:
    """One core. Calls run on threads of their own, so that control calls come through."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, Watch] = {}
        self._stopped: OrderedDict[int, None] = OrderedDict()
        self._parts: dict[int, Share] = {}

    @ray.method(concurrency_group="search")
    def search(self, message: bytes) -> bytes:
        """A share of a search: a `CALL`, then the job, as one argument: each of them takes its time."""
        call, number, interval_ms = CALL.unpack_from(message)

        def compute() -> bytes:
            started = start_share(decode_job(message[CALL.size :]), number)
            report = (lambda shares: self._parts.update({call: shares[number]})) if interval_ms else None
            return encode_share(self._watched(call, Watch(report, interval_ms), partial(run_share, started)))

        return answered(compute)

    @ray.method(concurrency_group="search")
    def batch(self, call: int, jobs: bytes) -> bytes:
        """Several jobs, each whole."""
        return self._watched(call, Watch(), partial(answer_all, jobs))

    @ray.method(concurrency_group="control")
    def stop(self, call: int) -> None:
        """End a call soon. It may overtake its call: they come on different threads."""
        with self._lock:
            self._stopped[call] = None
            if len(self._stopped) > STOPS_KEPT:
                self._stopped.popitem(last=False)
            watch = self._running.get(call)
        if watch:
            watch.stop()

    @ray.method(concurrency_group="control")
    def peek(self, call: int) -> bytes:
        """What a search has found so far, as of its last pause; empty: nothing yet."""
        part = self._parts.get(call)
        return b"" if part is None else encode_share(part)

    @ray.method(concurrency_group="control")
    def ready(self) -> bytes:
        """Who this is."""
        return json.dumps([os.getpid(), ray.get_runtime_context().get_node_id(), SIGNATURE]).encode()

    def _watched(self, call: int, watch: Watch, compute: Callable[[Watch], T]) -> T:
        with self._lock:
            self._running[call] = watch
            stopped = call in self._stopped
        if stopped:
            watch.stop()
        try:
            return compute(watch)
        finally:
            with self._lock:
                del self._running[call]
                self._stopped.pop(call, None)
                self._parts.pop(call, None)


# Ray's type stubs know no `concurrency_groups`, hence Any. A worker that ends is not restarted by Ray, which takes
# seconds to say so then; the pool has another one begin.
_options: dict[str, Any] = {
    "num_cpus": 1,
    "enable_task_events": False,  # to tell Ray's dashboard of every call takes its time
    "max_restarts": 0,
    "max_task_retries": 0,
    "scheduling_strategy": "SPREAD",
    "concurrency_groups": {"search": SEARCHES_MAX, "control": 2},
}
RemoteWorker: Any = ray.remote(**_options)(Worker)


class Member:
    """A worker of the pool."""

    def __init__(self) -> None:
        self.handle = RemoteWorker.remote()
        self.born = time.monotonic()
        self.asked: float | None = None  # when it was asked whether it is there, if it has not answered
        self.ready = False
        self.refused = ""  # why it is not used; it stays, so that no other begins where it is
        self.pid = 0
        self.node = ""
        self.calls: set[int] = set()


class Pool:
    """The workers: as many as there are CPUs, up to a cap; those that are lost or do not answer are replaced."""

    def __init__(self, link: Link, cap: int) -> None:
        self._link = link
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
        if frame.kind == Kind.STOP:
            self._stop(frame.call)
        elif frame.kind == Kind.PEEK:
            self._peek(frame.call)
        elif frame.kind == Kind.SEARCH:
            numbers, interval_ms, job = read_shares(frame.payload)
            for call, number in enumerate(numbers, frame.call):
                self._place(Frame(Kind.SEARCH, call, CALL.pack(call, number, interval_ms) + job))
        else:
            self._place(frame)

    def keep(self) -> None:
        """Look after the workers, until the process ends."""
        threading.Thread(target=self._count_for_ever, daemon=True).start()
        due = time.monotonic()
        while True:
            with suppress(Empty):
                self._todo.get(timeout=max(due - time.monotonic(), 0.0))()
            if time.monotonic() >= due:
                due = time.monotonic() + TICK
                self._ping()
                self._grow()
                self._tell()

    # --- calls ---

    def _place(self, frame: Frame) -> None:
        with self._lock:
            ready = [member for member in self._members if member.ready]
            if not ready:
                self._waiting.append((time.monotonic(), frame))
                return
            member = min(ready, key=lambda one: len(one.calls))
            member.calls.add(frame.call)
            self._of[frame.call] = member
        if frame.kind == Kind.SEARCH:
            ref = member.handle.search.remote(frame.payload)
        else:
            ref = member.handle.batch.remote(frame.call, frame.payload)
        ref.future().add_done_callback(partial(self._done, frame.call, member))

    def _done(self, call: int, member: Member, future: Any) -> None:
        error = future.exception()
        with self._lock:
            if self._of.get(call) is not member:
                return  # given up before
            if error is None:
                del self._of[call]
                member.calls.discard(call)
        if error is None:
            self._link.send(Kind.FOUND, call, future.result())
        elif isinstance(error, RayActorError):
            self._lose(member)
        else:
            with self._lock:
                del self._of[call]
                member.calls.discard(call)
            self._link.send(Kind.LOST, call)

    def _stop(self, call: int) -> None:
        with self._lock:
            member = self._of.get(call)
            waiting = [entry for entry in self._waiting if entry[1].call == call]
            for entry in waiting:
                self._waiting.remove(entry)
        if member:
            member.handle.stop.remote(call)
        for _ in waiting:
            self._link.send(Kind.GONE, call)

    def _peek(self, call: int) -> None:
        with self._lock:
            member = self._of.get(call)
        if member:
            member.handle.peek.remote(call).future().add_done_callback(partial(self._peeked, call))

    def _peeked(self, call: int, future: Any) -> None:
        if future.exception() is None:
            self._link.send(Kind.PART, call, future.result())

    # --- workers ---

    def _lose(self, member: Member) -> None:
        """A worker ended, or is given up; another one begins."""
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
            self._link.send(Kind.LOST, call)
        self._todo.put(partial(self._replace, member))

    def _replace(self, member: Member) -> None:
        ray.kill(member.handle)
        if member.pid and member.node == self._node:
            # Ray asks it to end, and waits for seconds for one that is stopped.
            with suppress(OSError):
                os.kill(member.pid, signal.SIGKILL)
        if self._failed_starts >= STARTS_MAX:
            give_up(self._link, "workers end as soon as they begin: is the same version of eminence on every node?")
        self._tell()
        self._grow()

    def _grow(self) -> None:
        """As many as there is room for; only the thread of `keep` adds any."""
        while len(self._members) < self._target:
            member = Member()
            with self._lock:
                self._members.append(member)
            self._ask(member)
        # Those for which there is no room any more would wait for ever.
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
            waiting = [frame for _, frame in self._waiting]
            self._waiting.clear()
        if first:
            self._todo.put(self._tell)
        for frame in waiting:
            self._todo.put(partial(self._place, frame))

    def _refuse(self, member: Member, why: str) -> None:
        """A worker that would find something else than we do."""
        with self._lock:
            member.refused, member.asked = why, None
            is_all = all(one.refused for one in self._members)
        if is_all:
            give_up(self._link, f"{why}: install one version everywhere")
        self._todo.put(self._tell)

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
            self._link.send(Kind.GONE, frame.call)

    def _count_for_ever(self) -> None:
        """On a thread of its own: a head that is lost lets nobody go who asks it."""
        resources: Any = ray.cluster_resources
        while True:
            cpus = int(resources().get("CPU", 0))
            if (target := min(self._cap, cpus)) != self._target:
                self._target = target
                self._todo.put(self._grow)
            time.sleep(TICK)

    def _tell(self) -> None:
        with self._lock:
            refused = [member.refused for member in self._members if member.refused]
            state = {
                "workers": sum(member.ready for member in self._members),
                "of": self._target - len(refused),
                "note": f"{refused[0]}: it is not used; install one version everywhere" if refused else "",
            }
        self._link.send(Kind.STATE, 0, json.dumps(state).encode())


# --- the process --------------------------------------------------------------------------------------------------


def join(address: str, workers: int) -> None:
    """Join the cluster at `address`; empty: start a Ray of our own on this machine."""
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
            **quiet,
        )


TOKEN = "RAY_AUTH_TOKEN, or the file that RAY_AUTH_TOKEN_PATH names, has to hold the cluster's token"


def give_up(link: Link, why: str) -> NoReturn:
    link.send(Kind.FAILED, 0, why.encode())
    os._exit(2)


def explain(error: BaseException) -> str:
    """Why Ray cannot be had, in one line."""
    text = str(error)
    if "ersion mismatch" in text:
        parts = [line.strip() for line in text.splitlines() if "Ray:" in line or "Python:" in line]
        return "its versions differ from ours: " + (", ".join(parts) or text.splitlines()[0])
    if "uthentication" in text or "token" in text:
        return f"it wants a token: {TOKEN}"
    return f"{type(error).__name__}: {text.strip().splitlines()[0] if text.strip() else 'no reason given'}"


def live(link: Link, begun: threading.Event) -> None:
    """Say that this process is there until the pool does."""
    while not begun.wait(TICK):
        link.send(Kind.STATE, 0, b'{"workers": 0, "of": 0, "note": ""}')


def main() -> None:
    """argv: the number of the socket's file, the address (empty: none), the greatest number of workers."""
    file, address, workers = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    link = Link(socket.socket(fileno=file))
    begun = threading.Event()
    if address:
        late = threading.Timer(JOIN_S, give_up, (link, f"it lets nobody in within {JOIN_S:.0f} s; {TOKEN}"))
        late.start()
    threading.Thread(target=live, args=(link, begun), daemon=True).start()
    try:
        join(address, workers)
        pool = Pool(link, workers)
    except BaseException as error:
        give_up(link, explain(error))
    begun.set()
    if address:
        late.cancel()
    threading.Thread(target=pool.keep, daemon=True).start()
    while frame := link.receive():
        pool.handle(frame)
    # Whoever asked is gone.
    if address:
        threading.Timer(5.0, os._exit, (0,)).start()  # with its head lost, Ray may never come to an end
        ray.shutdown()
    elif os.getsid(0) == os.getpid():
        end_session(os.getpid())  # at once, and all of it: there is nothing to be kept
    os._exit(0)
