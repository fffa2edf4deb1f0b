"""Who may search now, who waits, and who is told to come back.

Every search takes as many of the threads as it has shares, up to all of its kind. Single calls ("interactive") may use
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

T = TypeVar("T")
Kind = Literal["interactive", "bulk"]
# Who cannot begin before so much of its time is gone is refused.
PATIENCE = 0.2
# How much a search's length counts for what the next ones are expected to take.
LEARNING = 0.1


@dataclass(eq=False, slots=True)
class Ticket:
    """A place in a queue; once admitted, some threads."""

    kind: Kind
    weight: int
    seconds: float  # that it is expected to take
    admitted: asyncio.Future[None]
    begun: float = 0.0


class Admission:
    """Belongs to the event loop's thread."""

    def __init__(self, threads: int, reserved: int, queues: dict[Kind, int]) -> None:
        self._reserved = reserved
        self._limits = self._limits_of(threads)
        self._queues_max = queues
        self._waiting: dict[Kind, deque[Ticket]] = {"interactive": deque(), "bulk": deque()}
        self._running: set[Ticket] = set()
        self._usual = 0.1  # seconds that searches without a limit of time took of late
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
        return len(self._running)

    def waiting(self, kind: Kind) -> int:
        return len(self._waiting[kind])

    def threads_for(self, kind: Kind, shares: int) -> int:
        return min(shares, self._limits[kind])

    async def enter(self, kind: Kind, shares: int, seconds: float | None, latest: float | None = None) -> Ticket:
        """Wait for threads. `seconds` is the search's limit of time, and its patience; `latest`, a moment on the
        monotonic clock, is when an answer would come too late."""
        ticket = Ticket(
            kind,
            self.threads_for(kind, shares),
            self._usual if seconds is None else seconds,
            asyncio.get_running_loop().create_future(),
        )
        queue = self._waiting[kind]
        if not queue and self._fits(ticket):
            self._begin(ticket)
            return ticket
        wait = self._expected_wait(ticket)
        if len(queue) >= self._queues_max[kind]:
            raise overloaded(wait, f"{len(queue)} searches are waiting, and no more may")
        if kind == "interactive" and seconds is not None and wait > seconds * PATIENCE:
            raise overloaded(wait, "the search could not begin before much of its time is gone")
        queue.append(ticket)
        try:
            async with asyncio.timeout(None if latest is None else max(latest - time.monotonic(), 0)):
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
            self._usual += LEARNING * (time.monotonic() - ticket.begun - self._usual)
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
        ticket.begun = time.monotonic()
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
        of_kind = sum(running.weight for running in self._running if running.kind == ticket.kind)
        return (
            used + ticket.weight <= self._limits["interactive"]
            and of_kind + ticket.weight <= self._limits[ticket.kind]
            # Bulk work does not take the place of somebody who waits.
            and not (ticket.kind == "bulk" and self._waiting["interactive"])
        )

    def _expected_wait(self, ticket: Ticket) -> float:
        """Seconds until this one would begin, if every search takes as long as is expected of it."""
        now = time.monotonic()
        order = itertools.count()
        ends = [
            (max(running.begun + running.seconds, now), next(order), running.weight)
            for running in self._running
            if ticket.kind == "interactive" or running.kind == "bulk"
        ]
        heapq.heapify(ends)
        free = self._limits[ticket.kind] - sum(weight for *_, weight in ends)
        begins = now
        for ahead in (*self._waiting[ticket.kind], ticket):
            while free < ahead.weight and ends:
                begins, _, weight = heapq.heappop(ends)
                free += weight
            free -= ahead.weight
            heapq.heappush(ends, (begins + ahead.seconds, next(order), ahead.weight))
        return max(begins - now, 0.0)


def overloaded(wait: float, why: str) -> Refusal:
    return Refusal("OVERLOADED", "", why, retry_after=max(wait, 0.05))


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Work that is nobody's who waits for a single answer: where the server is full, try again."""
    while True:
        try:
            return await work()
        except Refusal as refusal:
            if refusal.reason not in ("OVERLOADED", "QUOTA_EXHAUSTED") or refusal.retry_after is None:
                raise
            await asyncio.sleep(refusal.retry_after)
