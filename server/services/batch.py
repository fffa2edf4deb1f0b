"""The positions of one AnalyzeBatch call: in what order they are begun, and what is sent of them."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from eminence.v1 import solver_pb2 as pb
from server.messages.requests import check_id, read_interval, read_priority
from server.refusals import Refusal, missing
from server.rpc.callers import current_caller
from server.rpc.deadline import Deadline
from server.rpc.status import refusal_of, status_of
from server.services.core import Slot


@dataclass(eq=False, slots=True)
class _Item:
    id: str
    raw: bytes  # of the message, which takes up to thirty times as much memory
    every_ms: float = 0.0  # between answers on the way; 0: none
    slot: Slot | None = None
    is_cancelled: bool = False
    is_waiting: bool = False
    answering: asyncio.Task[pb.Suggestion] | None = None


class Batch:
    """One call. Every item gets exactly one last answer or error; of answers on the way, only the latest is sent."""

    def __init__(
        self,
        answer: Callable[..., Awaitable[pb.Suggestion]],
        at_once: int,
    ) -> None:
        self._answer, self._at_once = answer, at_once
        self._items: dict[str, _Item] = {}  # that have no last answer yet
        self._waiting: list[tuple[int, int, _Item]] = []  # those that were cancelled, too, until they are popped
        self._caller = current_caller()
        self._order = itertools.count()
        self._has_waiting = asyncio.Semaphore(0)
        self._cancelled: asyncio.Queue[_Item | None] = asyncio.Queue()  # that did not begin; None at the end
        # Those who write wait for those who read, so that a slow client's answers do not pile up.
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
            for item in self._items.values():
                self._let_go(item)

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

    async def _work_with_tasks(self, requests: AsyncIterator[pb.AnalyzeBatchRequest]) -> None:
        async with asyncio.TaskGroup() as tasks:
            workers = [tasks.create_task(self._answer_items()) for _ in range(self._at_once)]
            tasks.create_task(self._answer_cancelled())
            async for request in requests:
                refused = self._take(request)
                del request  # it may be large, and the client may be slow to read and to send
                if refused is not None:
                    await self._send(refused)
            for _ in workers:  # each ends when nothing is left
                self._has_waiting.release()
            self._cancelled.put_nowait(None)

    def _take(self, request: pb.AnalyzeBatchRequest) -> pb.AnalyzeBatchResponse | None:
        """Do what a request asks for; return the last answer to an item that is refused."""
        match request.WhichOneof("command"):
            case "item":
                return self._add(request.item)
            case "cancel":
                self._cancel(request.cancel.id)
            case "cancel_all":
                for name in list(self._items):
                    self._cancel(name)
            case _:
                raise missing("command", "one of item, cancel, cancel_all is required")
        return None

    def _add(self, message: pb.BatchItem) -> pb.AnalyzeBatchResponse | None:
        check_id(message.id, self._items)
        item = _Item(message.id, message.SerializeToString())
        try:
            priority = read_priority(message)
            if message.HasField("interval"):
                item.every_ms = read_interval(message, "item.interval")
            self._hold(item)
        except Refusal as refusal:
            return _refusing(item, refusal)
        self._items[item.id] = item
        heapq.heappush(self._waiting, (-priority, next(self._order), item))
        self._has_waiting.release()
        return None

    def _hold(self, item: _Item) -> None:
        """Count what an item holds for as long as it has no answer, and while it waits."""
        self._caller.take("bytes", len(item.raw))
        try:
            self._caller.take("positions")
        except Refusal:
            self._caller.release("bytes", len(item.raw))
            raise
        item.is_waiting = True

    def _let_go(self, item: _Item) -> None:
        if item.is_waiting:
            self._leave_queue(item)
        self._caller.release("bytes", len(item.raw))

    def _cancel(self, name: str) -> None:
        item = self._items.get(name)
        if item is None or item.is_cancelled:
            return
        item.is_cancelled = True
        if item.slot is not None:
            item.slot.stop(pb.STOP_REASON_CANCELLED)
        elif item.is_waiting:
            self._leave_queue(item)
            self._cancelled.put_nowait(item)
        elif item.answering is not None:
            item.answering.cancel()  # it waits for a thread

    def _leave_queue(self, item: _Item) -> None:
        item.is_waiting = False
        self._caller.release("positions")

    async def _answer_items(self) -> None:
        while True:
            await self._has_waiting.acquire()
            if not self._waiting:
                return
            _, _, item = heapq.heappop(self._waiting)
            if item.is_waiting:
                self._leave_queue(item)
                await self._answer_one(item)

    async def _answer_cancelled(self) -> None:
        while (item := await self._cancelled.get()) is not None:
            await self._answer_one(item)

    async def _answer_one(self, item: _Item) -> None:
        try:
            final = pb.AnalyzeBatchResponse(id=item.id, suggestion=await self._suggestion(item))
        except Exception as error:
            final = _refusing(item, error)
        del self._items[item.id]
        self._progress.pop(item.id, None)
        self._let_go(item)
        await self._send(final)

    async def _suggestion(self, item: _Item) -> pb.Suggestion:
        item.answering = asyncio.ensure_future(self._answer_item(item))
        try:
            return await item.answering
        except asyncio.CancelledError:
            if not item.is_cancelled or not item.answering.cancelled():
                raise
        finally:
            item.answering = None  # a failed task refers to this item
        return await self._answer_item(item)  # at once, as nothing is searched any more

    async def _answer_item(self, item: _Item) -> pb.Suggestion:
        def begun(slot: Slot) -> None:
            item.slot = slot
            if item.is_cancelled:
                slot.stop(pb.STOP_REASON_CANCELLED)

        report = self._reporter(item.id) if item.every_ms else None
        return await self._answer(item.raw, self._deadline, item.every_ms, report, begun, lambda: item.is_cancelled)

    def _reporter(self, name: str) -> Callable[[pb.Suggestion], None]:
        loop = asyncio.get_running_loop()

        def put(so_far: pb.Suggestion) -> None:
            if name in self._items:
                self._progress[name] = so_far
                self._changed.set()

        def tell(so_far: pb.Suggestion) -> None:
            loop.call_soon_threadsafe(put, so_far)

        return tell

    async def _send(self, final: pb.AnalyzeBatchResponse) -> None:
        await self._finals.put(final)
        self._changed.set()


def _refusing(item: _Item, error: Exception) -> pb.AnalyzeBatchResponse:
    return pb.AnalyzeBatchResponse(id=item.id, error=status_of(refusal_of(error)))
