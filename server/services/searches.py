"""The server's searches: they pass admission, then run on threads below the event loop's priority or on Ray."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from eminence.v1 import solver_pb2 as pb
from server.rpc.admission import Admission, Kind, Ticket
from server.rpc.callers import current_caller
from server.rpc.deadline import Deadline
from server.settings import Settings
from server.spans import add_to_span
from solver.answer import Answer
from solver.control import Control
from solver.pool.base import Pool
from solver.pool.ray_pool import Health, RayPool
from solver.pool.threads import Threads
from solver.question import MEGABYTE, Question

T = TypeVar("T")

# Run search threads this much below the event loop's priority. A larger value makes searches late on a busy machine.
NICENESS = 2
# Searches stop early by this percentile of recent overruns, estimated in steps; at most by LATENESS_MOST_NS and by
# LATENESS_PART of their time.
LATENESS_QUANTILE = 0.9
LATENESS_STEP_NS = 2_000_000
LATENESS_MOST_NS = 20_000_000
LATENESS_PART = 0.2
# Number of threads that an answer passes from its search to its reader.
HOPS = 3


class Lateness:
    """The usual overrun of searches: on busy cores, a thread is often not scheduled when its time ends.

    It is a quantile, because most searches are not late and a mean would say little. Steps towards each observation
    estimate it.
    """

    def __init__(self) -> None:
        self._usual_ns = 0.0

    def learn(self, late_ns: int) -> None:
        """Update the estimate with the overrun of a search."""
        step = LATENESS_QUANTILE if late_ns > self._usual_ns else LATENESS_QUANTILE - 1
        self._usual_ns = min(max(self._usual_ns + step * LATENESS_STEP_NS, 0.0), float(LATENESS_MOST_NS))

    def of(self, left_ns: int) -> int:
        """Return how much earlier a search with this remaining time should end."""
        return int(min(self._usual_ns, max(left_ns, 0) * LATENESS_PART))


class SearchTerms(NamedTuple):
    """The inputs of admission, and the time of a search."""

    kind: Kind
    shares: int
    memory_mb: float
    time_ms: float
    is_timed: bool  # the request has a time limit; else `time_ms` is the server's cap
    deadline: Deadline


class Searches:
    """All searches of a server. Belongs to the event loop's thread, and computes on others."""

    def __init__(self, settings: Settings) -> None:
        threads = settings.search_threads
        self.admission = Admission(
            threads,
            settings.reserved,
            {"interactive": settings.interactive_queue, "bulk": settings.bulk_queue},
            settings.memory_total_bytes,
            ahead=0 if settings.backend == "ray" else 1,
            for_others=settings.threads_for_others,
        )
        self._ray: RayPool | None = None
        if settings.backend == "ray":
            self._ray = RayPool(
                settings.ray_workers or None, address=settings.ray_address, wait=False, initializer=lower_priority
            )
        self._pool: Pool = self._ray or Threads(threads, lower_priority)
        self._lateness = Lateness()
        self._slots: set[AdmittedSearch] = set()
        self._is_hurrying = False

    def follow_ray(self) -> Health | None:
        """Set the number of threads to that of Ray's workers; return Ray's health, None if searches run on threads."""
        if self._ray is None:
            return None
        self.admission.resize(self._ray.width)
        return self._ray.health

    @asynccontextmanager
    async def admitted(self, terms: SearchTerms) -> AsyncIterator[AdmittedSearch]:
        """Wait for threads and memory, and hold them until the search ends, even if its caller leaves earlier."""
        terms.deadline.check()
        time_ns = int(terms.time_ms * 1e6) if terms.is_timed else None
        memory, queued_ns = int(terms.memory_mb * MEGABYTE), time.monotonic_ns()
        with current_caller().searching():
            ticket = await self.admission.enter(
                terms.kind, terms.shares, time_ns, terms.deadline.begin_by_ns, memory, current_caller().key
            )
            add_to_span(searches=1, queue_ms=(ticket.started_ns - queued_ns) / 1e6)
            slot = AdmittedSearch(self._pool, self._lateness, ticket, terms)
            self._slots.add(slot)
            if self._is_hurrying:
                slot.stop(pb.STOP_REASON_SHUTDOWN)
            try:
                yield slot
            finally:
                slot.leave(self._leave)

    def stop_searches(self) -> None:
        """Stop every search, so that it answers soon with the result so far; waiting searches, too."""
        self._is_hurrying = True
        for slot in self._slots:
            slot.stop(pb.STOP_REASON_SHUTDOWN)
        self.admission.admit_all()

    def end(self) -> None:
        if isinstance(self._pool, Threads):
            self._pool.close(wait=False)
        else:
            self._pool.close()

    def _leave(self, slot: AdmittedSearch) -> None:
        self._slots.discard(slot)
        self.admission.leave(slot.ticket)


class AdmittedSearch:
    """The threads of one search, from its admission to its end."""

    def __init__(self, pool: Pool, lateness: Lateness, ticket: Ticket, terms: SearchTerms) -> None:
        self.ticket = ticket
        self.stopped_for: Any = pb.STOP_REASON_UNSPECIFIED
        # Time counts from the arrival of the call; for bulk work, whose positions wait in the client's own queue, from
        # the start of the search.
        until_ns, self.by_deadline = terms.deadline.end_of(
            int(terms.time_ms * 1e6), since_arrival=terms.kind == "interactive"
        )
        late_ns = lateness.of(until_ns - time.monotonic_ns())
        # On a busy machine, the threads that carry an answer to its reader are as late as searches.
        self.until_ns = until_ns - (HOPS * late_ns if self.by_deadline else late_ns)
        self._pool, self._lateness, self._deadline = pool, lateness, terms.deadline
        self._control: Control | None = None
        self._running: Future[Any] | None = None

    def stop(self, reason: Any) -> None:
        """Stop the running question soon, and later ones at once; the first reason counts."""
        self.stopped_for = self.stopped_for or reason
        if self._control is not None:
            self._control.stop()

    async def compute(
        self,
        question: Question,
        write: Callable[[Any], T],
        *,
        until_ns: int | None = None,
        report: Callable[[Answer], None] | None = None,
        every_ms: float = 0.0,
    ) -> T:
        """Compute a question and write its answer, both on other threads."""
        started_ns, until_ns = time.monotonic_ns(), self.until_ns if until_ns is None else until_ns
        control = Control(report, every_ms, until_ns=until_ns, answer_by_ns=self._deadline.answer_by_ns(until_ns))
        self._control = control
        if self.stopped_for:
            control.stop()
        self._running = self._pool.submit(question, control, width=self.ticket.weight)
        written: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._running.add_done_callback(partial(_write, write, written))
        try:
            answer = await written
        except asyncio.CancelledError:
            self.stop(pb.STOP_REASON_CANCELLED)
            if time.monotonic_ns() >= self._deadline.latest_ns:  # the answer came too late
                self._learn(until_ns)
            raise
        ended_ns = self._learn(until_ns)
        add_to_span(search_ms=(ended_ns - started_ns) / 1e6, iterations=getattr(answer, "iterations", 0))
        return answer

    def _learn(self, until_ns: int) -> int:
        """Record the search's overrun, if it was late; return the current time."""
        ended_ns = time.monotonic_ns()
        if ended_ns > until_ns:
            self._lateness.learn(ended_ns - until_ns)
        return ended_ns

    def leave(self, on_end: Callable[[AdmittedSearch], None]) -> None:
        """Call `on_end` when the running question has ended."""
        loop = asyncio.get_running_loop()

        def end(_: object) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(on_end, self)

        if self._running is None or self._running.done():
            on_end(self)
        else:
            self._running.add_done_callback(end)


def _write(write: Callable[[Any], T], written: asyncio.Future[T], answer: Future[Any]) -> None:
    """Write an answer on the thread that computed it, and pass it to the event loop."""
    if written.cancelled():
        return  # the caller has left
    try:
        outcome, error = write(answer.result()), None
    except BaseException as raised:
        outcome, error = None, raised
    with suppress(RuntimeError):  # the loop is closed
        written.get_loop().call_soon_threadsafe(_hand_over, written, outcome, error)


def _hand_over(written: asyncio.Future[Any], outcome: Any, error: BaseException | None) -> None:
    if written.done():
        return
    if error is None:
        written.set_result(outcome)
    else:
        written.set_exception(error)


def lower_priority() -> None:
    """Run this thread below the event loop's priority."""
    os.nice(NICENESS)  # of this thread alone: on Linux, each thread has its own
