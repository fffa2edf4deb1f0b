"""JSON lines: the contract's calls, one a line, over a pipe (docs/json_lines.md).

A thread reads and parses lines. The event loop passes their requests, as bytes, to the handlers that also serve gRPC,
and another thread writes the answers. All positions of `Suggest` and `Analyze` are items of one `AnalyzeBatch` call.
Every amount is bounded: if too many requests are pending, or too many answers unread, no further line is read.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import msgspec.json
from google.protobuf.message import Message
from google.rpc import status_pb2

from eminence.v1 import solver_pb2 as pb
from engine_cy.errors import listed
from server.client.refusals import DETAILS_KEY, Refused, refused_with
from server.codec.json_mapping import from_json, read_object, to_json
from server.messages.requests import ID_MAX, INTERVAL_DEFAULT_MS, PRIORITY_MAX
from server.plugin_worker import request_class, response_class
from server.refusals import Refusal, missing
from server.rpc.status import status_of

LINE_MAX = 2**17
CHUNK = 2**16
# Answers that wait for the writing thread, and the largest number that it writes at once.
UNWRITTEN_MAX = 16
POSITIONS = ("Suggest", "Analyze")
KEYS = ("id", "method", "request", "priority")
# Delay before a call that found the queue full is tried again, if the refusal has none.
RETRY_SECONDS = 0.1

# gRPC's method handlers by the names of their methods; its types have no asynchronous ones.
Handlers = Mapping[str, Any]


class Request(NamedTuple):
    """A line with a request."""

    id: str
    method: str
    raw: bytes  # the serialized message of the method; for a position, that of an AnalyzeBatchRequest


class Cancel(NamedTuple):
    """A line that cancels a request."""

    id: str


class LineError(Exception):
    """The refusal of a line, and the id of its request, if it has a valid one."""

    def __init__(self, refusal: Refusal, id: str | None = None) -> None:
        super().__init__(refusal)
        self.refusal, self.id = refusal, id


# --- lines ------------------------------------------------------------------------------------------------------


def lines_of(descriptor: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield the number and the text of each line; None for a longer one than LINE_MAX, which is skipped."""
    rest, is_long, number = b"", False, 0
    while chunk := os.read(descriptor, CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            number += 1
            yield number, None if is_long or len(line) > LINE_MAX else line
            is_long = False
        if len(rest) > LINE_MAX:
            rest, is_long = b"", True
    if rest or is_long:
        yield number + 1, None if is_long else rest


def read_line(line: bytes, methods: Handlers) -> Request | Cancel:
    """Parse a line. Raises LineError."""
    id = None
    try:
        fields = read_object(line)
        if "cancel" in fields:
            return _read_cancel(fields)
        id = _read_id(fields)
        for name in fields:
            if name not in KEYS:
                raise Refusal("UNKNOWN_FIELD", name[:ID_MAX], f"is not a key of a line ({listed((*KEYS, 'cancel'))})")
        method = _read_method(fields, methods)
        request = fields.get("request", {})
        if not isinstance(request, dict):
            raise Refusal("MALFORMED_MESSAGE", "request", "is not an object")
        message = from_json(request, request_class(method)())
        if method in POSITIONS:
            message = pb.AnalyzeBatchRequest(item=_item(id, message, _read_priority(fields)))
        elif "priority" in fields:
            raise Refusal("CONTRADICTION", "priority", f"is for {listed(POSITIONS)} only")
        return Request(id, method, message.SerializeToString())
    except Refusal as refusal:
        raise LineError(refusal, id) from None


def _read_cancel(fields: Mapping[str, Any]) -> Cancel:
    if len(fields) > 1:
        other = next(name for name in fields if name != "cancel")
        raise Refusal("CONTRADICTION", "cancel", f"is set beside {other[:ID_MAX]!r}; a line that cancels has one key")
    return Cancel(_read_id(fields, "cancel"))


def _read_id(fields: Mapping[str, Any], name: str = "id") -> str:
    id = fields.get(name)
    if id is None:
        raise missing(name, f"a text of 1 to {ID_MAX} characters is required")
    if not isinstance(id, str) or not 1 <= len(id) <= ID_MAX:
        raise Refusal("OUT_OF_RANGE", name, f"is not a text of 1 to {ID_MAX} characters")
    return id


def _read_method(fields: Mapping[str, Any], methods: Handlers) -> str:
    method = fields.get("method")
    possible = f"one of {listed(name for name in methods if name != 'AnalyzeBatch')}"
    if method is None:
        raise missing("method", f"{possible} is required")
    if method == "AnalyzeBatch":
        raise Refusal("UNKNOWN_VALUE", "method", "'AnalyzeBatch': send each position as a line with Suggest or Analyze")
    if not isinstance(method, str) or method not in methods:
        raise Refusal("UNKNOWN_VALUE", "method", f"{str(method)[:ID_MAX]!r} is not {possible}")
    return method


def _read_priority(fields: Mapping[str, Any]) -> int:
    priority = fields.get("priority", 0)
    if type(priority) is not int or not -PRIORITY_MAX <= priority <= PRIORITY_MAX:
        raise Refusal("OUT_OF_RANGE", "priority", f"is not an integer in {-PRIORITY_MAX}..{PRIORITY_MAX}")
    return priority


def _item(id: str, request: Any, priority: int) -> pb.BatchItem:
    """Return the batch item with the question of Suggest or Analyze."""
    item = pb.BatchItem(id=id, priority=priority)
    for name in ("view", "budget", "options"):
        if request.HasField(name):
            getattr(item, name).CopyFrom(getattr(request, name))
    if isinstance(request, pb.AnalyzeRequest):
        if request.HasField("interval"):
            item.interval.CopyFrom(request.interval)
        else:
            item.interval.FromMilliseconds(int(INTERVAL_DEFAULT_MS))
    return item


def as_error(refused: Refused) -> dict[str, Any]:
    """Return a refusal as an object of JSON."""
    # Positions are items of a batch, and the paths of their fields begin with it.
    error: dict[str, Any] = {"code": refused.code}
    if refused.reason:
        error["reason"] = refused.reason
    if field := refused.field.removeprefix("item."):
        error["field"] = field
    error["message"] = refused.message.removeprefix("item.")
    if refused.retry_after is not None:
        error["retryAfter"] = refused.retry_after
    return error


def _refused(refusal: Refusal) -> Refused:
    return refused_with(status_of(refusal))


# --- calls ------------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class _Pending:
    """A request without its last answer. Positions have no task of their own."""

    request: Request
    task: asyncio.Task[None] | None = None
    is_cancelled: bool = False


class _Aborted(Exception):
    """The end of a call with a status."""


class _Context:
    """The part of gRPC's context that the handlers use. All lines are from one caller, and have no deadline."""

    def __init__(self) -> None:
        self.status: status_pb2.Status | None = None

    def peer(self) -> str:
        return "stdio:"

    def time_remaining(self) -> None:
        return None

    async def abort(self, _code: object, _details: str, metadata: tuple[tuple[str, Any], ...]) -> NoReturn:
        self.status = status_pb2.Status.FromString(dict(metadata)[DETAILS_KEY])
        raise _Aborted


class Room:
    """The bound on pending requests and their bytes. The reading thread waits here."""

    def __init__(self, requests: int, size: int) -> None:
        self._requests, self._size = requests, size
        self._changed = threading.Condition()

    def take(self, size: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._requests > 0 and self._size >= 0)
            self._requests -= 1
            self._size -= size

    def release(self, size: int) -> None:
        with self._changed:
            self._requests += 1
            self._size += size
            self._changed.notify()


class JsonLines:
    """One stream of lines: it calls `handlers` by their methods. Belongs to the event loop's thread."""

    def __init__(self, handlers: Handlers, room: Room, source: int = 0, sink: int = 1) -> None:
        self._handlers, self._room, self._source, self._sink = handlers, room, source, sink
        self._loop = asyncio.get_running_loop()
        self._pending: dict[str, _Pending] = {}
        self._refusing: set[asyncio.Task[None]] = set()
        self._items: asyncio.Queue[bytes | None] = asyncio.Queue()  # for the batch; None: the end
        self._unwritten: asyncio.Queue[tuple[dict[str, Any], Message | None]] = asyncio.Queue(UNWRITTEN_MAX)
        self._writer = ThreadPoolExecutor(1, "writer")
        self._running: list[asyncio.Task[None]] = []  # the batch and the writing of answers
        self._is_read = asyncio.Event()
        self._is_done = asyncio.Event()  # all lines are read, and nothing is pending
        self._is_closed = False

    def start(self) -> None:
        """Begin to read lines."""
        self._running = [asyncio.ensure_future(self._answer_positions()), asyncio.ensure_future(self._write())]
        threading.Thread(target=self._read, name="lines", daemon=True).start()

    async def wait(self) -> None:
        """Wait until the input has ended and all requests are answered. Raises an error of the output."""
        done = asyncio.ensure_future(self._is_done.wait())
        await asyncio.wait([done, *self._running], return_when=asyncio.FIRST_COMPLETED)
        done.cancel()
        for task in self._running:
            if task.done():
                task.result()

    def close(self) -> None:
        """Refuse further requests."""
        self._is_closed = True
        self._check_done()

    async def stop(self, seconds: float) -> None:
        """Wait until all pending requests are answered and the answers written, or for a time."""
        self.close()
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(seconds):
                await self.wait()
                await self._unwritten.join()
        for task in [*self._running, *self._tasks()]:
            task.cancel()

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [pending.task for pending in self._pending.values() if pending.task is not None]

    # --- reading: on a thread of its own ---

    def _read(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            try:
                for number, line in lines_of(self._source):
                    self._read_one(number, line)
            except OSError as error:
                self._refuse_line(0, Refusal("MALFORMED_MESSAGE", "", f"standard input: {error.strerror}"))
            self._loop.call_soon_threadsafe(self._end)

    def _read_one(self, number: int, line: bytes | None) -> None:
        if line is None:
            self._refuse_line(number, Refusal("TOO_LONG", "", f"the line is longer than {LINE_MAX} bytes"))
            return
        if not line.strip():
            return
        try:
            request = read_line(line, self._handlers)
        except LineError as error:
            self._refuse_line(number, error.refusal, error.id)
            return
        if isinstance(request, Cancel):
            self._run(self._cancel(number, request.id))
        else:
            self._room.take(len(request.raw))
            self._loop.call_soon_threadsafe(self._take, number, request)

    def _refuse_line(self, number: int, refusal: Refusal, id: str | None = None) -> None:
        self._run(self._refuse(number, refusal, id))

    def _run(self, steps: Any) -> None:
        """Run a coroutine on the event loop, and wait for it."""
        asyncio.run_coroutine_threadsafe(steps, self._loop).result()

    # --- requests ---

    def _take(self, number: int, request: Request) -> None:
        if request.id in self._pending:
            self._decline(
                number, request, Refusal("CONTRADICTION", "id", f"{request.id!r} is that of a pending request")
            )
        elif self._is_closed:
            self._decline(number, request, Refusal("UNAVAILABLE", "", "the engine is stopping"))
        elif request.method in POSITIONS:
            self._pending[request.id] = _Pending(request)
            self._items.put_nowait(request.raw)
        else:
            pending = self._pending[request.id] = _Pending(request)
            pending.task = asyncio.ensure_future(self._answer(request))

    def _decline(self, number: int, request: Request, refusal: Refusal) -> None:
        """Refuse a request. It takes room until its refusal is written."""

        async def refuse() -> None:
            await self._refuse(number, refusal, request.id)
            self._room.release(len(request.raw))

        task = asyncio.ensure_future(refuse())
        self._refusing.add(task)
        task.add_done_callback(self._refusing.discard)

    async def _cancel(self, number: int, id: str) -> None:
        pending = self._pending.get(id)
        if pending is None:
            why = f"{id!r} is not the id of a pending request"
            await self._refuse(number, Refusal("OUT_OF_RANGE", "cancel", why))
        elif pending.task is None:
            self._items.put_nowait(pb.AnalyzeBatchRequest(cancel=pb.CancelItem(id=id)).SerializeToString())
        elif not pending.is_cancelled:
            pending.is_cancelled = True
            pending.task.cancel()

    def _end(self) -> None:
        self._is_read.set()
        self._check_done()

    def _check_done(self) -> None:
        if not self._pending and (self._is_closed or self._is_read.is_set()):
            self._is_done.set()

    # --- answers ---

    async def _answer_positions(self) -> None:
        """Run the batch with all positions."""

        async def requests() -> AsyncIterator[bytes]:
            while (item := await self._items.get()) is not None:
                yield item

        async for raw in self._handlers["AnalyzeBatch"].stream_stream(requests(), _Context()):
            response = pb.AnalyzeBatchResponse.FromString(raw)
            request = self._pending[response.id].request
            match response.WhichOneof("outcome"):
                case "progress":
                    await self._send(request.id, pb.AnalyzeResponse(suggestion=response.progress), has_more=True)
                case "error":
                    await self._fail(request, refused_with(response.error))
                case _:
                    await self._finish_position(request, response.suggestion)

    async def _finish_position(self, request: Request, suggestion: pb.Suggestion) -> None:
        if request.method == "Analyze":
            await self._finish(request, pb.AnalyzeResponse(suggestion=suggestion, last=True))
        elif suggestion.stop_reason == pb.STOP_REASON_GAME_OVER:
            await self._fail(request, _refused(Refusal("GAME_OVER", "view", "the game is over")))
        elif not suggestion.HasField("best"):
            why = "its observer is not to act; Analyze answers with values and beliefs"
            await self._fail(request, _refused(Refusal("NOT_TO_ACT", "view", why)))
        else:
            await self._finish(request, pb.SuggestResponse(suggestion=suggestion))

    async def _answer(self, request: Request) -> None:
        """Answer any other call; one that finds the queue full waits and is tried again."""
        try:
            while (refused := await self._call(request)) is not None:
                if refused.reason != "OVERLOADED":
                    await self._fail(request, refused)
                    return
                await asyncio.sleep(refused.retry_after or RETRY_SECONDS)
        except asyncio.CancelledError:
            await self._fail(request, Refused("CANCELLED", "the request was cancelled"))

    async def _call(self, request: Request) -> Refused | None:
        """Call a handler and send its answers; return the refusal, if it refuses the call."""
        handler, context, kind = self._handlers[request.method], _Context(), response_class(request.method)
        try:
            if not handler.response_streaming:
                await self._finish(request, kind.FromString(await handler.unary_unary(request.raw, context)))
                return None
            async for raw in handler.unary_stream(request.raw, context):
                response = kind.FromString(raw)
                if response.HasField("summary"):
                    await self._finish(request, response)
                else:
                    await self._send(request.id, response, has_more=True)
        except _Aborted:
            assert context.status is not None
            return refused_with(context.status)
        return None

    async def _refuse(self, number: int, refusal: Refusal, id: str | None = None) -> None:
        """Refuse a line: by its id, unless another request has it, else by its number."""
        place = {"line": number} if id is None or id in self._pending else {"id": id}
        await self._put({**place, "error": as_error(_refused(refusal))}, None)

    async def _fail(self, request: Request, refused: Refused) -> None:
        await self._put({"id": request.id, "error": as_error(refused)}, None)
        self._forget(request)

    async def _finish(self, request: Request, answer: Message) -> None:
        await self._send(request.id, answer)
        self._forget(request)

    def _forget(self, request: Request) -> None:
        """Free the id and the room of a request whose last answer was just put into the queue."""
        del self._pending[request.id]
        self._room.release(len(request.raw))
        self._check_done()

    async def _send(self, id: str, answer: Message, *, has_more: bool = False) -> None:
        await self._put({"id": id, "more": True} if has_more else {"id": id}, answer)

    async def _put(self, line: dict[str, Any], answer: Message | None) -> None:
        await self._unwritten.put((line, answer))

    # --- writing ---

    async def _write(self) -> None:
        """Write the answers on another thread, those that are ready at once."""
        while True:
            ready = [await self._unwritten.get()]
            while not self._unwritten.empty():
                ready.append(self._unwritten.get_nowait())
            await self._loop.run_in_executor(self._writer, self._write_lines, ready)
            for _ in ready:
                self._unwritten.task_done()

    def _write_lines(self, ready: list[tuple[dict[str, Any], Message | None]]) -> None:
        text = memoryview(b"".join(_line(line, answer) for line, answer in ready))
        while text:
            text = text[os.write(self._sink, text) :]


def _line(line: dict[str, Any], answer: Message | None) -> bytes:
    if answer is not None:
        line["answer"] = to_json(answer)
    return msgspec.json.encode(line) + b"\n"
