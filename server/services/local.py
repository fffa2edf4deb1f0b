"""The service core without a server: requests have no caps, and are computed at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future
from types import coroutine
from typing import Any, TypeVar

from eminence.v1 import solver_pb2 as pb
from server.messages import answers
from server.messages.requests import Caps, Grant, read_search
from server.rpc.deadline import Deadline
from server.services import core
from solver.answer import Answer
from solver.config import ITERATIONS_MAX, MEMORY_MAX_MB, TIME_MAX_MS, Config
from solver.control import Control
from solver.pool.base import Pool, compute_here
from solver.question import MEGABYTE, Question

T = TypeVar("T")

MEMORY_DEFAULT_MB = 256
CAPS = Caps(TIME_MAX_MS, ITERATIONS_MAX, int(MEMORY_MAX_MB * MEGABYTE), MEMORY_DEFAULT_MB * MEGABYTE)


class LocalSlot:
    """All of a pool for one search, or without a pool the calling thread. Time counts from the call's arrival.

    `wait` awaits an answer of the pool; by default the calling thread waits, and Ctrl-C stops the search. If not
    `spreads`, the pool decides when the search starts and where its parts run.
    """

    def __init__(
        self,
        pool: Pool | None,
        deadline: Deadline,
        wait: Callable[[Future[Any]], Awaitable[Any]] | None = None,
        *,
        spreads: bool = True,
    ) -> None:
        self.deadline = deadline
        self.until_ns = deadline.latest_ns
        self.by_deadline = False
        self.stopped_for: Any = pb.STOP_REASON_UNSPECIFIED
        self._pool, self._wait, self._spreads = pool, wait or self._block, spreads
        self._end: Callable[[], object] = lambda: None  # ends the running question

    def begin(self, time_ms: float | None) -> None:
        """Set the end of the search."""
        assert time_ms is not None
        self.deadline.check()
        if self._spreads:
            self.until_ns, self.by_deadline = self.deadline.end_of(int(time_ms * 1e6), since_arrival=True)

    def stop(self, reason: Any) -> None:
        self.stopped_for = self.stopped_for or reason
        self._end()

    def cancel(self) -> None:
        self.stop(pb.STOP_REASON_CANCELLED)

    async def compute(
        self,
        question: Question,
        write: Callable[[Any], T],
        *,
        until_ns: int | None = None,
        report: Callable[[Answer], None] | None = None,
        every_ms: float = 0.0,
    ) -> T:
        control = Control(report, every_ms, until_ns=self.until_ns if until_ns is None else until_ns)
        if self._pool is None:
            self._run_until(control.stop)
            return write(compute_here(question, control))
        answer = self._pool.submit(question, control if self._spreads or report else None)
        self._run_until(answer.cancel)
        return write(await self._wait(answer))

    def _run_until(self, end: Callable[[], object]) -> None:
        self._end = end
        if self.stopped_for:
            end()

    async def _block(self, answer: Future[Any]) -> Any:
        return self.wait(answer.result)

    def wait(self, call: Callable[[], T]) -> T:
        """Call a function that waits; on Ctrl-C, stop the search and wait for its result."""
        try:
            return call()
        except KeyboardInterrupt:
            self.cancel()
            return call()


async def suggest(
    grant: Grant,
    slot: LocalSlot,
    every_ms: float = 0.0,
    report: Callable[[pb.Suggestion], None] | None = None,
) -> pb.Suggestion:
    """Answer a request, with a search if it needs one."""
    if core.needs_search(grant):
        slot.begin(grant.budget.time_ms)
        report = answers.timed_report(report, slot.deadline.arrival_ns)
        suggestion = await core.suggest(grant, slot, every_ms, report)
    else:
        suggestion = core.suggest_at_once(grant)
    answers.set_elapsed(suggestion, slot.deadline.arrival_ns)
    return suggestion


async def answer_item(
    item: pb.BatchItem,
    config: Config,
    slot: LocalSlot,
    every_ms: float,
    report: Callable[[pb.Suggestion], None] | None,
) -> pb.Suggestion:
    """Answer a position of a batch; without a search if it was cancelled before it started."""
    grant = read_search(item, CAPS, "item", config)
    if slot.stopped_for and grant.question is not None:
        return core.suggest_cancelled(grant)
    return await suggest(grant, slot, every_ms, report)


def answer_bytes(job: tuple[bytes, Config, Deadline], control: Control) -> bytes:
    """Answer a position of a batch on this thread. Raise expected errors as a Refusal, which can be pickled."""
    raw, config, deadline = job
    report_bytes = control.report
    report = None if report_bytes is None else lambda so_far: report_bytes(so_far.SerializeToString())
    slot = LocalSlot(None, deadline.restarted())  # its time counts from now
    try:
        with control.stopping(slot.cancel):
            item = pb.BatchItem.FromString(raw)
            return run_now(answer_item(item, config, slot, control.interval_ms, report)).SerializeToString()
    except Exception as error:
        from server.rpc.status import expected_refusal_of

        raise expected_refusal_of(error) or error from None


# --- coroutines without an event loop ---------------------------------------------------------------------------


def run_now(steps: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends; return its result. It needs no event loop."""
    try:
        steps.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    raise AssertionError("the coroutine awaits something else")


def run_later(steps: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine that awaits nothing but `until_done`, on the threads that complete the awaited futures."""
    result: Future[T] = Future()

    def resume(_: object) -> None:
        try:
            awaited: Future[Any] = steps.send(None)
        except StopIteration as ended:
            result.set_result(ended.value)
        except BaseException as error:
            result.set_exception(error)
        else:
            awaited.add_done_callback(resume)

    resume(None)
    return result


@coroutine
def until_done(future: Future[T]) -> Generator[Future[T], None, T]:
    """Await a future of another thread."""
    yield future
    return future.result()
