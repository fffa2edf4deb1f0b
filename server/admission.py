"""Which searches run now, which wait, and which are refused.

Every search takes as many of the threads as it has parts, up to all of its kind, and all the memory that its budget
allows. Single calls ("interactive") may use
all threads and go first; positions of batches and reviews ("bulk") leave some threads to them. Both queues are bounded,
and a call is refused at once where it would wait too long for its answer to be what was asked for.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from server.refusals import Refusal
from solver.control import NEVER_NS

T = TypeVar("T")
Kind = Literal["interactive", "bulk"]
# Refuse a call that would wait for more than this part of its time.
PATIENCE = 0.2
# How much the length of a search counts for the expected length of the next ones.
LEARNING = 0.1
RETRY_LEAST_SECONDS = 0.05


@dataclass(eq=False, slots=True)
class Ticket:
    """A place in a queue; once admitted, some threads."""

    kind: Kind
    weight: int
    memory: int  # bytes
    expected_ns: int  # how long it may take
    may_be_next: bool  # whether it may wait in the pool for a thread, ready to begin
    admitted: asyncio.Future[None]
    begun_ns: int = 0


class Admission:
    """Belongs to the event loop's thread."""

    def __init__(
        self,
        threads: int,
        reserved: int,
        queues: dict[Kind, int],
        memory_max: int | None = None,
        *,
        ahead: int = 0,
    ) -> None:
        self._reserved = reserved
        # Searches that wait in the pool, where a free thread finds the next one. A search with a limit of time does
        # not wait there: its time would run out.
        self._ahead = ahead
        self._memory_max = memory_max  # of all searches that run; None: no limit
        self._limits = self._limits_of(threads)
        self._queues_max = queues
        self._waiting: dict[Kind, deque[Ticket]] = {"interactive": deque(), "bulk": deque()}
        self._running: set[Ticket] = set()
        self._usual_ns = 100_000_000.0  # what searches without a limit of time took of late
        self._closed = False

    def resize(self, threads: int) -> None:
        """There are so many threads now. Nobody is sent away for it."""
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
        """How many searches wait in the pool."""
        return max(sum(ticket.weight for ticket in self._running) - self._limits["interactive"], 0)

    def threads_for(self, kind: Kind, shares: int) -> int:
        return min(shares, self._limits[kind])

    async def enter(
        self, kind: Kind, shares: int, time_ns: int | None, begin_by_ns: int = NEVER_NS, memory: int = 0
    ) -> Ticket:
        """Wait for threads and memory. `time_ns` is the search's limit of time, and its patience; at `begin_by_ns`, on
        the monotonic clock, it is too late to begin."""
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
        )
        queue = self._waiting[kind]
        if not queue and self._fits(ticket):
            self._begin(ticket)
            return ticket
        wait_ns = self._expected_wait_ns(ticket)
        if self.waiting(kind) >= self._queues_max[kind]:
            raise overloaded(wait_ns, f"{self.waiting(kind)} searches are waiting, and no more may")
        if kind == "interactive" and time_ns is not None and wait_ns > time_ns * PATIENCE:
            raise overloaded(wait_ns, "the search could not begin before much of its time is gone")
        queue.append(ticket)
        try:
            async with asyncio.timeout(None if left_ns == NEVER_NS else left_ns / 1e9):
                await ticket.admitted
        except TimeoutError:
            self._give_up(ticket)
            raise Refusal("DEADLINE_TOO_SHORT", "", "no thread was free before the call's deadline") from None
        except asyncio.CancelledError:
            self._give_up(ticket)
            raise
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """The search is over, and its threads are free."""
        if ticket in self._running:
            self._running.remove(ticket)
            self._usual_ns += LEARNING * (time.monotonic_ns() - ticket.begun_ns - self._usual_ns)
        self._admit_waiting()

    def admit_all(self) -> None:
        """Let everybody in who waits: the server is about to stop, and nobody searches for long any more."""
        self._closed = True
        self._admit_waiting()

    def _admit_waiting(self) -> None:
        for kind in ("interactive", "bulk"):
            queue = self._waiting[kind]
            while queue and (self._closed or self._fits(queue[0])):
                ticket = queue.popleft()
                if not ticket.admitted.done():
                    self._begin(ticket)

    def _begin(self, ticket: Ticket) -> None:
        ticket.begun_ns = time.monotonic_ns()
        self._running.add(ticket)
        if not ticket.admitted.done():
            ticket.admitted.set_result(None)

    def _give_up(self, ticket: Ticket) -> None:
        if ticket in self._running:  # it was admitted in the very moment
            self.leave(ticket)
        elif ticket in self._waiting[ticket.kind]:
            self._waiting[ticket.kind].remove(ticket)
            self._admit_waiting()

    def _fits(self, ticket: Ticket) -> bool:
        used = sum(running.weight for running in self._running)
        memory = sum(running.memory for running in self._running) + ticket.memory
        of_kind = sum(running.weight for running in self._running if running.kind == ticket.kind)
        ahead = min(self._ahead, self._queues_max["interactive"]) if ticket.may_be_next else 0
        return (
            used + ticket.weight <= self._limits["interactive"] + ahead
            and of_kind + ticket.weight <= self._limits[ticket.kind] + ahead
            and (self._memory_max is None or memory <= self._memory_max)
            # Bulk work does not take the place of somebody who waits.
            and not (ticket.kind == "bulk" and self._waiting["interactive"])
        )

    def _expected_wait_ns(self, ticket: Ticket) -> int:
        """How long until this one would begin, if every search takes as long as is expected of it."""
        now = time.monotonic_ns()
        order = itertools.count()
        ends = [
            (max(running.begun_ns + running.expected_ns, now), next(order), running)
            for running in self._running
            if ticket.kind == "interactive" or running.kind == "bulk"
        ]
        heapq.heapify(ends)
        free = self._limits[ticket.kind] - sum(running.weight for *_, running in ends)
        memory = self._memory_max
        free_memory = None if memory is None else memory - sum(running.memory for *_, running in ends)
        begins = now
        for ahead in (*self._waiting[ticket.kind], ticket):
            while ends and (free < ahead.weight or (free_memory is not None and free_memory < ahead.memory)):
                begins, _, ended = heapq.heappop(ends)
                free += ended.weight
                free_memory = None if free_memory is None else free_memory + ended.memory
            free -= ahead.weight
            free_memory = None if free_memory is None else free_memory - ahead.memory
            heapq.heappush(ends, (begins + ahead.expected_ns, next(order), ahead))
        return max(begins - now, 0)


def overloaded(wait_ns: int, why: str) -> Refusal:
    return Refusal("OVERLOADED", "", why, retry_after=max(wait_ns / 1e9, RETRY_LEAST_SECONDS))


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Run background work; when the server is full, wait and retry."""
    while True:
        try:
            return await work()
        except Refusal as refusal:
            if refusal.reason not in ("OVERLOADED", "QUOTA_EXHAUSTED") or refusal.retry_after is None:
                raise
            await asyncio.sleep(refusal.retry_after)
