"""Admission control: it decides which searches run now, which wait, and which are refused.

A search takes a thread for each of its parts, up to the limit of its kind, and all the memory that its budget allows.
Single calls ("interactive") may use all threads and go first; positions of batches and reviews ("bulk") leave some
threads to them. Both queues are bounded. A call is refused at once if it would wait for more than PATIENCE of its time.

Callers share the threads: the next search is one of the caller with the fewest threads, a full queue drops the last
search of the caller with the most, and while several callers are active, each leaves some threads to the others.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from server.refusals import Refusal
from solver.control import NEVER_NS

T = TypeVar("T")
Kind = Literal["interactive", "bulk"]
# Refuse a call that would wait for more than this share of its time.
PATIENCE = 0.2
# Weight of the latest search in the moving average of search times.
LEARNING = 0.1
RETRY_LEAST_SECONDS = 0.05
# Time after its last call in which a caller counts as active.
ACTIVE_SECONDS = 2.0
# Maximum number of callers whose last turn is remembered.
TURNS_MAX = 1_000


class Wording(NamedTuple):
    """The words of refusals: the settings of the queues, and the reasons for refusing a wait."""

    queues: Mapping[Kind, str] = {"interactive": "interactive_queue", "bulk": "bulk_queue"}
    searches: str = "searches"
    long_wait: str = "the search would wait in the queue for much of its time"
    no_thread: str = "no thread was free before the call's deadline"


@dataclass(eq=False, slots=True)
class Ticket:
    """The place of a search in a queue; once admitted, its threads and memory."""

    kind: Kind
    weight: int  # threads
    memory: int  # bytes
    expected_ns: int  # expected duration
    may_be_next: bool  # it may be submitted early and wait in the pool for a thread
    admitted: asyncio.Future[None]
    caller: Hashable = None
    started_ns: int = 0


WORDING = Wording()


class Admission:
    """The queues of a server, and its running searches. Belongs to the event loop's thread."""

    def __init__(
        self,
        threads: int,
        reserved: int,
        queues: dict[Kind, int],
        memory_max: int | None = None,
        *,
        ahead: int = 0,
        for_others: int = 1,
        wording: Wording = WORDING,
    ) -> None:
        self._wording = wording
        self._reserved = reserved
        self._for_others = for_others  # threads that each caller leaves to others while others are active
        # Number of searches submitted early, so that the pool has the next one when a thread is free. Searches with a
        # time limit are not submitted early: their time would run out in the pool.
        self._ahead = ahead
        self._memory_max = memory_max  # of all running searches, in bytes; None: no limit
        self._limits = self._limits_of(threads)
        self._queues_max = queues
        self._waiting: dict[Kind, list[Ticket]] = {"interactive": [], "bulk": []}
        self._running: set[Ticket] = set()
        self._latest_calls: dict[Hashable, int] = {}  # by the last two callers: the time of their last call
        self._turns: dict[Hashable, int] = {}  # by caller: the number of its search that started last
        self._next_turn = itertools.count(1).__next__
        self._usual_ns = 100_000_000.0  # expected duration of a search without a time limit: a moving average
        self._closed = False

    def resize(self, threads: int) -> None:
        """Set the number of threads. Waiting searches stay in their queues."""
        if threads != self._limits["interactive"]:
            self._limits = self._limits_of(threads)
            for kind, queue in self._waiting.items():
                for ticket in queue:
                    ticket.weight = self.threads_for(kind, ticket.weight)
            self._admit_waiting()

    def _limits_of(self, threads: int) -> dict[Kind, int]:
        return {"interactive": threads, "bulk": max(threads - self._reserved, 1)}

    @property
    def running(self) -> int:
        return len(self._running) - self._next

    def waiting(self, kind: Kind) -> int:
        return len(self._waiting[kind]) + (self._next if kind == "interactive" else 0)

    @property
    def _next(self) -> int:
        """The number of searches that wait in the pool."""
        running = tuple(self._running)  # a copy: Prometheus reads this on a thread of its own
        return max(_weight(running) - self._limits["interactive"], 0)

    def threads_for(self, kind: Kind, shares: int) -> int:
        return min(shares, self._limits[kind])

    async def enter(
        self,
        kind: Kind,
        shares: int,
        time_ns: int | None,
        begin_by_ns: int = NEVER_NS,
        memory: int = 0,
        caller: Hashable = None,
    ) -> Ticket:
        """Wait for threads and memory.

        `time_ns` is the search's time limit, on which its maximum wait depends. A search that has not started at
        `begin_by_ns`, on the monotonic clock, is refused.
        """
        left_ns = NEVER_NS if begin_by_ns == NEVER_NS else max(begin_by_ns - time.monotonic_ns(), 0)
        if time_ns is not None:
            time_ns = min(time_ns, left_ns)
        ticket = Ticket(
            kind,
            self.threads_for(kind, shares),
            memory,
            min(int(self._usual_ns) if time_ns is None else time_ns, left_ns),
            kind == "interactive" and time_ns is None,
            asyncio.get_running_loop().create_future(),
            caller,
        )
        self._note_call(caller)
        if self._may_begin(ticket):
            self._begin(ticket)
            return ticket
        wait_ns = self._expected_wait_ns(ticket)
        if kind == "interactive" and time_ns is not None and wait_ns > time_ns * PATIENCE:
            raise overloaded(wait_ns, self._wording.long_wait)
        if self._is_full(kind):
            self._displace(kind, caller, wait_ns)
        self._waiting[kind].append(ticket)
        try:
            async with asyncio.timeout(None if left_ns == NEVER_NS else left_ns / 1e9):
                await ticket.admitted
        except TimeoutError:
            self._give_up(ticket)
            raise Refusal("DEADLINE_TOO_SHORT", "", self._wording.no_thread) from None
        except asyncio.CancelledError:
            self._give_up(ticket)
            raise
        return ticket

    def check_room(self, kind: Kind, caller: Hashable) -> None:
        """Refuse a search if all threads are taken and its queue is full, before its request is read."""
        are_taken = _weight(self._running) >= self._limits[kind]
        if are_taken and self._is_full(kind) and not self._may_displace(kind, caller):
            raise self._full(kind, int(self._usual_ns))

    def leave(self, ticket: Ticket) -> None:
        """Free the threads of a search that has ended."""
        if ticket in self._running:
            self._running.remove(ticket)
            self._usual_ns += LEARNING * (time.monotonic_ns() - ticket.started_ns - self._usual_ns)
        self._admit_waiting()

    def admit_all(self) -> None:
        """Admit every waiting search: the server is stopping, and searches end at once."""
        self._closed = True
        self._admit_waiting()

    # --- queues ---

    def _admit_waiting(self) -> None:
        for queue in filter(None, self._waiting.values()):
            for ticket in self._in_turn(queue):
                if self._closed or self._fits(ticket):
                    queue.remove(ticket)
                    if not ticket.admitted.done():
                        self._begin(ticket)
                elif not self._has_its_share(ticket):
                    break  # else narrow searches would overtake a wide one forever

    def _may_begin(self, ticket: Ticket) -> bool:
        """Return whether a new search may start before the waiting ones."""
        return self._fits(ticket) and all(map(self._has_its_share, self._waiting[ticket.kind]))

    def _begin(self, ticket: Ticket) -> None:
        if ticket.weight > self._share and self._is_shared(ticket.caller):
            ticket.weight = min(ticket.weight, self._share)
        ticket.started_ns = time.monotonic_ns()
        self._running.add(ticket)
        self._turns[ticket.caller] = self._next_turn()
        if len(self._turns) > TURNS_MAX:
            self._turns = {other.caller: self._turns.get(other.caller, 0) for other in self._all()}
        if not ticket.admitted.done():
            ticket.admitted.set_result(None)

    def _give_up(self, ticket: Ticket) -> None:
        if ticket in self._running:  # it was admitted at the same moment
            self.leave(ticket)
        elif ticket in self._waiting[ticket.kind]:
            self._waiting[ticket.kind].remove(ticket)
            self._admit_waiting()

    def _in_turn(self, tickets: Iterable[Ticket]) -> list[Ticket]:
        """Sort tickets by the number of threads that their caller has before them, then by their caller's last turn."""
        threads: Counter[Hashable] = Counter()
        for running in self._running:
            threads[running.caller] += running.weight
        places = []
        for ticket in tickets:
            places.append((threads[ticket.caller], self._turns.get(ticket.caller, 0), ticket))
            threads[ticket.caller] += ticket.weight
        return [ticket for *_, ticket in sorted(places, key=lambda place: place[:2])]

    def _is_full(self, kind: Kind) -> bool:
        return self.waiting(kind) >= self._queues_max[kind]

    def _may_displace(self, kind: Kind, caller: Hashable) -> bool:
        """Return whether another caller has more searches in a queue than this one would have."""
        queue = self._waiting[kind]
        return _most_common(queue)[1] > sum(waiting.caller == caller for waiting in queue) + 1

    def _displace(self, kind: Kind, caller: Hashable, wait_ns: int) -> None:
        """Drop the last search of the caller with the most in a full queue, or refuse that of `caller` itself."""
        if not self._may_displace(kind, caller):
            raise self._full(kind, wait_ns)
        queue = self._waiting[kind]
        greediest, _ = _most_common(queue)
        last = next(waiting for waiting in reversed(queue) if waiting.caller == greediest)
        queue.remove(last)
        if not last.admitted.done():
            last.admitted.set_exception(self._full(kind, wait_ns))

    def _full(self, kind: Kind, wait_ns: int) -> Refusal:
        queue, most = self._wording.queues[kind], self._queues_max[kind]
        return overloaded(wait_ns, f"{queue}: {most} {self._wording.searches} may wait, and the queue is full")

    # --- room ---

    def _fits(self, ticket: Ticket) -> bool:
        memory = sum(running.memory for running in self._running) + ticket.memory
        of_kind = (running for running in self._running if running.kind == ticket.kind)
        ahead = min(self._ahead, self._queues_max["interactive"]) if ticket.may_be_next else 0
        return (
            not self._has_its_share(ticket)
            and _weight(self._running) + ticket.weight <= self._limits["interactive"] + ahead
            and _weight(of_kind) + ticket.weight <= self._limits[ticket.kind] + ahead
            and (self._memory_max is None or memory <= self._memory_max)
            # Bulk work does not overtake a single call that waits for threads.
            and (ticket.kind == "interactive" or all(map(self._has_its_share, self._waiting["interactive"])))
        )

    def _has_its_share(self, ticket: Ticket) -> bool:
        """Return whether one more search of this caller would take threads that are kept for other callers."""
        threads = _weight(running for running in self._running if running.caller == ticket.caller)
        total = threads + min(ticket.weight, self._share)
        return threads > 0 and total > self._share and self._is_shared(ticket.caller)

    @property
    def _share(self) -> int:
        """The number of threads that one caller may have while others are active."""
        return max(self._limits["interactive"] - self._for_others, 1)

    def _is_shared(self, caller: Hashable) -> bool:
        """Return whether another caller is active."""
        since = time.monotonic_ns() - int(ACTIVE_SECONDS * 1e9)
        return any(other != caller and at > since for other, at in self._latest_calls.items()) or any(
            ticket.caller != caller for ticket in self._all()
        )

    def _all(self) -> Iterator[Ticket]:
        return itertools.chain(self._running, *self._waiting.values())

    def _note_call(self, caller: Hashable) -> None:
        self._latest_calls.pop(caller, None)
        self._latest_calls[caller] = time.monotonic_ns()
        if len(self._latest_calls) > 2:
            del self._latest_calls[next(iter(self._latest_calls))]

    def _expected_wait_ns(self, ticket: Ticket) -> int:
        """Return the time until this search would start, if every search takes its expected time."""
        running = [other for other in self._running if ticket.kind == "interactive" or other.kind == "bulk"]
        waiting = self._in_turn([*self._waiting[ticket.kind], ticket])
        waiting = waiting[: waiting.index(ticket) + 1]
        wait_ns = self._wait_ns(running, waiting, self._limits[ticket.kind])
        if self._is_shared(ticket.caller):
            own = [other for other in self._running if other.caller == ticket.caller]
            own_waiting = [other for other in waiting if other.caller == ticket.caller]
            wait_ns = max(wait_ns, self._wait_ns(own, own_waiting, self._share))
        return wait_ns

    def _wait_ns(self, running: list[Ticket], waiting: list[Ticket], threads: int) -> int:
        """Return the time until the last of `waiting` starts, with this number of threads for all of them."""
        now = time.monotonic_ns()
        order = itertools.count()
        ends = [(max(other.started_ns + other.expected_ns, now), next(order), other) for other in running]
        heapq.heapify(ends)
        free = threads - _weight(running)
        memory = self._memory_max
        free_memory = None if memory is None else memory - sum(other.memory for other in running)
        begins = now
        for ahead in waiting:
            weight = min(ahead.weight, threads)
            while ends and (free < weight or (free_memory is not None and free_memory < ahead.memory)):
                begins, _, ended = heapq.heappop(ends)
                free += min(ended.weight, threads)
                free_memory = None if free_memory is None else free_memory + ended.memory
            free -= weight
            free_memory = None if free_memory is None else free_memory - ahead.memory
            heapq.heappush(ends, (begins + ahead.expected_ns, next(order), ahead))
        return max(begins - now, 0)


def _most_common(tickets: Iterable[Ticket]) -> tuple[Hashable, int]:
    """Return the caller with the most tickets, and their number."""
    callers = Counter(ticket.caller for ticket in tickets).most_common(1)
    return callers[0] if callers else (None, 0)


def _weight(tickets: Iterable[Ticket]) -> int:
    return sum(ticket.weight for ticket in tickets)


def overloaded(wait_ns: int, why: str) -> Refusal:
    return Refusal("OVERLOADED", "", why, retry_after=max(wait_ns / 1e9, RETRY_LEAST_SECONDS))


async def retry_when_full(work: Callable[[], Awaitable[T]]) -> T:
    """Run background work; when the server is full, wait and retry."""
    while True:
        try:
            return await work()
        except Refusal as refusal:
            if refusal.reason not in ("OVERLOADED", "QUOTA_EXHAUSTED") or refusal.retry_after is None:
                raise
            await asyncio.sleep(refusal.retry_after)
