"""The positions of one AnalyzeBatch call: their order, and the answers that are sent."""

from __future__ import annotations

import asyncio
import itertools
from bisect import bisect_left, insort
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from eminence.v1 import solver_pb2 as pb
from server.messages.requests import check_id, read_interval, read_priority
from server.refusals import Refusal, missing
from server.rpc.admission import retry_when_full
from server.rpc.callers import current_caller
from server.rpc.deadline import Deadline
from server.rpc.status import refusal_of, status_of
from server.services.core import SearchSlot


@dataclass(eq=False, slots=True)
class _BatchItem:
    """A position from its request to its last answer: it waits in a queue, then a worker answers it."""

    id: str
    raw: bytes  # the serialized message: parsed, it takes up to thirty times as much memory
    place: tuple[int, int] = (0, 0)  # in a queue
    every_ms: float = 0.0  # interval of progress reports; 0: none
    is_counted: bool = False  # by the caller's quota
    is_cancelled: bool = False
    answering: asyncio.Task[pb.AnalyzeBatchResponse] | None = None
    slot: SearchSlot | None = None


class _Queue:
    """Items that wait for a worker."""

    def __init__(self) -> None:
        self._items: list[tuple[tuple[int, int], _BatchItem]] = []  # sorted; the next one is the last
        self._changed = asyncio.Event()
        self._is_closed = False

    def add(self, item: _BatchItem) -> None:
        insort(self._items, (item.place, item))
        self._changed.set()

    def remove(self, item: _BatchItem) -> None:
        del self._items[bisect_left(self._items, (item.place,))]

    def close(self) -> None:
        """Mark the end: no item is added any more."""
        self._is_closed = True
        self._changed.set()

    async def next(self) -> _BatchItem | None:
        """Wait for an item; return None when the queue is closed and empty."""
        while not self._items:
            if self._is_closed:
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._items.pop()[1]


class Batch:
    """One AnalyzeBatch call. Every item gets exactly one last answer or error; of progress, only the latest is sent."""

    def __init__(
        self,
        answer: Callable[..., Awaitable[pb.Suggestion]],
        at_once: int,
    ) -> None:
        self._answer, self._at_once = answer, at_once
        self._caller = current_caller()
        self._items: dict[str, _BatchItem] = {}  # without a last answer: they count against the caller's limits
        self._cancellable: dict[str, _BatchItem] = {}  # the subset that waits or is being answered
        self._order = itertools.count()
        self._waiting = _Queue()
        self._cancelled = _Queue()  # items cancelled before a worker took them
        self._tasks = asyncio.TaskGroup()
        # Bounded for backpressure: workers wait for a client that reads slowly.
        self._finals: asyncio.Queue[pb.AnalyzeBatchResponse] = asyncio.Queue(at_once)
        self._progress: dict[str, pb.Suggestion] = {}
        self._changed = asyncio.Event()
        self._deadline = Deadline(0)

    async def answers(
        self, requests: AsyncIterator[pb.AnalyzeBatchRequest], deadline: Deadline
    ) -> AsyncGenerator[pb.AnalyzeBatchResponse, None]:
        self._deadline = deadline
        all_done = asyncio.ensure_future(self._work_on(requests))
        all_done.add_done_callback(lambda _: self._changed.set())
        try:
            while not (all_done.done() and self._finals.empty()):
                self._changed.clear()
                for response in self._ready():
                    yield response
                if not self._progress and self._finals.empty() and not all_done.done():
                    await self._changed.wait()
            await all_done
        finally:
            all_done.cancel()
            await asyncio.gather(all_done, return_exceptions=True)

    def _ready(self) -> list[pb.AnalyzeBatchResponse]:
        progress, self._progress = self._progress, {}
        ready = [pb.AnalyzeBatchResponse(id=name, progress=so_far) for name, so_far in progress.items()]
        while not self._finals.empty():
            ready.append(self._finals.get_nowait())
        return ready

    async def _work_on(self, requests: AsyncIterator[pb.AnalyzeBatchRequest]) -> None:
        try:
            await self._work_with_tasks(requests)
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        finally:  # no worker is left to release the other items
            for item in list(self._items.values()):
                self._release(item)

    async def _work_with_tasks(self, requests: AsyncIterator[pb.AnalyzeBatchRequest]) -> None:
        async with self._tasks:
            for queue in (self._cancelled, *[self._waiting] * self._at_once):
                self._tasks.create_task(self._answer_items(queue))
            async for request in requests:
                refusal = self._take(request)
                del request  # free its memory before waiting for a slow client
                if refusal is not None:
                    await self._finals.put(refusal)
                    self._changed.set()
            self._waiting.close()
            self._cancelled.close()

    # --- requests ---

    def _take(self, request: pb.AnalyzeBatchRequest) -> pb.AnalyzeBatchResponse | None:
        """Execute a request's command; return the last answer to an item that is refused."""
        match request.WhichOneof("command"):
            case "item":
                return self._add(request.item)
            case "cancel":
                if item := self._cancellable.get(request.cancel.id):
                    self._cancel(item)
            case "cancel_all":
                for item in list(self._cancellable.values()):
                    self._cancel(item)
            case _:
                raise missing("command", "one of item, cancel, cancel_all is required")
        return None

    def _add(self, message: pb.BatchItem) -> pb.AnalyzeBatchResponse | None:
        check_id(message.id, self._items)
        item = _BatchItem(message.id, message.SerializeToString())
        try:
            item.place = (read_priority(message), -next(self._order))
            if message.HasField("interval"):
                item.every_ms = read_interval(message, "item.interval")
            self._hold(item)
        except Refusal as refusal:
            return _refusing(item, refusal)
        self._waiting.add(item)
        return None

    def _cancel(self, item: _BatchItem) -> None:
        del self._cancellable[item.id]
        item.is_cancelled = True
        if item.slot is not None:
            item.slot.stop(pb.STOP_REASON_CANCELLED)
        elif item.answering is not None:
            item.answering.cancel()  # it waits for a thread
        else:
            self._waiting.remove(item)
            self._cancelled.add(item)

    def _hold(self, item: _BatchItem) -> None:
        """Count an item against the caller's limits until its last answer is sent or the call ends."""
        self._caller.take("bytes", len(item.raw))
        try:
            self._caller.take("positions")
        except Refusal:
            self._caller.release("bytes", len(item.raw))
            raise
        self._items[item.id] = self._cancellable[item.id] = item

    def _release(self, item: _BatchItem) -> None:
        del self._items[item.id]
        self._progress.pop(item.id, None)
        self._caller.release("bytes", len(item.raw))
        self._caller.release("positions")
        item.raw = b""  # free it: an idle worker still refers to its last item

    # --- answers ---

    async def _answer_items(self, queue: _Queue) -> None:
        while (item := await queue.next()) is not None:
            await self._finals.put(await self._final(item))
            self._release(item)
            self._changed.set()

    async def _final(self, item: _BatchItem) -> pb.AnalyzeBatchResponse:
        """Return the last answer; answer an item again, at once, if it was cancelled while it waited for a thread."""
        if not item.is_cancelled:
            answering = item.answering = self._tasks.create_task(self._response(item))
            try:
                await asyncio.wait([answering])  # raises if this worker is cancelled, not if the item is
            finally:
                item.answering = None  # break the cycle: a cancelled task refers to its item
                self._cancellable.pop(item.id, None)
            if not answering.cancelled():
                return answering.result()
        return await self._response(item)

    async def _response(self, item: _BatchItem) -> pb.AnalyzeBatchResponse:
        answer = partial(self._suggestion, item)
        try:
            suggestion = await (answer() if item.is_cancelled else retry_when_full(answer))
        except Exception as error:
            return _refusing(item, error)
        return pb.AnalyzeBatchResponse(id=item.id, suggestion=suggestion)

    async def _suggestion(self, item: _BatchItem) -> pb.Suggestion:
        if not item.is_counted:
            self._caller.count_call()
            item.is_counted = True

        def keep_slot(slot: SearchSlot) -> None:
            item.slot = slot
            if item.is_cancelled:
                slot.stop(pb.STOP_REASON_CANCELLED)

        report = self._reporter(item) if item.every_ms else None
        return await self._answer(item.raw, self._deadline, item.every_ms, report, keep_slot, lambda: item.is_cancelled)

    def _reporter(self, item: _BatchItem) -> Callable[[pb.Suggestion], None]:
        loop = asyncio.get_running_loop()

        def put(so_far: pb.Suggestion) -> None:
            if self._items.get(item.id) is item:
                self._progress[item.id] = so_far
                self._changed.set()

        def report(so_far: pb.Suggestion) -> None:
            loop.call_soon_threadsafe(put, so_far)

        return report


def _refusing(item: _BatchItem, error: Exception) -> pb.AnalyzeBatchResponse:
    return pb.AnalyzeBatchResponse(id=item.id, error=status_of(refusal_of(error)))
