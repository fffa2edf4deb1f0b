"""The gRPC handlers of all services: they read messages, call the service, and turn every error into a status.

grpc.aio by itself answers malformed bytes and exceptions with UNKNOWN and the exception's text. These handlers
therefore take and return bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from inspect import isasyncgenfunction, iscoroutinefunction
from typing import Any, Protocol

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from server.codec.wire import read_message
from server.refusals import Refusal
from server.rpc.callers import Callers, Context, current_caller
from server.rpc.routes import Routes
from server.rpc.status import abort, code_of, refusal_of
from server.telemetry import Call, Method, Telemetry

# Longer messages are read on another thread.
READ_HERE_BYTES = 8_192
_reader = ThreadPoolExecutor(1, "reader")  # one thread: each has a malloc arena, which retains freed memory


def add_service(
    server: grpc.aio.Server | Routes,
    service: ServiceDescriptor,
    servicer: object,
    telemetry: Telemetry | None = None,
    callers: Callers | None = None,
    *,
    is_logged: bool = True,
    plugins: Plugins | None = None,
) -> None:
    """Serve the methods of a service over gRPC."""
    handlers = handlers_of(service, servicer, telemetry, callers, is_logged=is_logged, plugins=plugins)
    # Not `add_registered_method_handlers`: with it, a call takes longer the more methods are registered.
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service.full_name, handlers),))


def handlers_of(
    service: ServiceDescriptor,
    servicer: object,
    telemetry: Telemetry | None = None,
    callers: Callers | None = None,
    *,
    is_logged: bool = True,
    plugins: Plugins | None = None,
) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
    """Return the handlers of a service's methods by their names.

    A method of `servicer` that is no coroutine runs on another thread. `is_logged`: log every call, not only refused
    ones. Calls that name an installed game go to `plugins`.
    """
    telemetry, callers = telemetry or Telemetry(), callers or Callers()
    handlers = {}
    for method in service.methods:
        handle = getattr(servicer, method.name)
        if not (iscoroutinefunction(handle) or isasyncgenfunction(handle)):
            handle = _on_thread(handle)
        metrics = telemetry.method(f"/{service.full_name}/{method.name}", is_logged)
        handlers[method.name] = _handler(method, handle, metrics, callers, plugins)
    return handlers


class Plugins(Protocol):
    """The calls that name an installed game."""

    def game_of(self, request: Message) -> str | None:
        """Return the installed game that a request names, or None."""

    async def answer(self, game_id: str, method: str, request: Message, context: Context) -> bytes:
        """Return the bytes of the answer."""

    def stream(self, game_id: str, method: str, request: Message, context: Context) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the answers."""


def _on_thread(handle: Callable[[Any], Message]) -> Any:
    async def answer(request: Message, _context: Context) -> Message:
        async with current_caller().turn():
            return await asyncio.get_running_loop().run_in_executor(_reader, handle, request)

    return answer


class Unimplemented(grpc.GenericRpcHandler):
    """Refuses unknown methods, so that their calls are counted and logged. Add it after all services."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        method = self._telemetry.method_at(handler_call_details.method or "")

        async def refuse(_requests: Any, context: Context) -> None:
            with method.call() as call:
                call.code = "UNIMPLEMENTED"
                await context.abort(grpc.StatusCode.UNIMPLEMENTED, "unknown method")

        return grpc.stream_stream_rpc_method_handler(refuse)


async def _read(raw: bytes, kind: type[Message]) -> Message:
    """Parse a message; a long one on another thread."""
    if len(raw) <= READ_HERE_BYTES:
        return read_message(raw, kind)
    async with current_caller().turn():
        return await asyncio.get_running_loop().run_in_executor(_reader, read_message, raw, kind)


def _handler(
    method: MethodDescriptor, handle: Any, metrics: Method, callers: Callers, plugins: Plugins | None
) -> grpc.RpcMethodHandler[Any, Any]:
    kind = GetMessageClass(method.input_type)

    async def answer(raw: bytes, context: Context) -> bytes:
        with metrics.call() as call:
            try:
                with callers.calling(context) as caller, caller.holding("bytes", len(raw)):
                    request = await _read(raw, kind)
                    if plugins and (game_id := plugins.game_of(request)):
                        return await plugins.answer(game_id, method.name, request, context)
                    response: Message = await handle(request, context)
                    return response.SerializeToString()
            except BaseException as error:
                refusal = _refusal_for(error, call)
            del raw
            return await abort(context, refusal)

    async def stream(raw: bytes, context: Context) -> AsyncIterator[bytes]:
        with metrics.call() as call:
            try:
                with callers.calling(context) as caller, caller.holding("bytes", len(raw)):
                    request = await _read(raw, kind)
                    if plugins and (game_id := plugins.game_of(request)):
                        answers = plugins.stream(game_id, method.name, request, context)
                    else:
                        answers = _serialized(handle(request, context))
                    # Close the stream when the client cancels, instead of at the next garbage collection.
                    async with aclosing(answers) as responses:
                        async for response in responses:
                            yield response
                return
            except BaseException as error:
                refusal = _refusal_for(error, call)
            del raw
            await abort(context, refusal)

    async def converse(raws: AsyncIterator[bytes], context: Context) -> AsyncIterator[bytes]:
        with metrics.call() as call:
            try:
                with callers.calling(context):
                    requests = (await _read(raw, kind) async for raw in raws)
                    async with aclosing(handle(requests, context)) as responses:
                        async for response in responses:
                            yield response.SerializeToString()
                return
            except BaseException as error:
                refusal = _refusal_for(error, call)
            await abort(context, refusal)

    if method.client_streaming:
        return grpc.stream_stream_rpc_method_handler(converse)
    elif method.server_streaming:
        return grpc.unary_stream_rpc_method_handler(stream)
    return grpc.unary_unary_rpc_method_handler(answer)


async def _serialized(responses: AsyncGenerator[Message, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(responses):
        async for response in responses:
            yield response.SerializeToString()


def _refusal_for(error: BaseException, call: Call) -> Refusal:
    """Return the refusal of a failed call, and record its code and reason; re-raise cancellations and aborts."""
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        call.code = "CANCELLED"
        raise error
    if isinstance(error, grpc.aio.AbortError):
        call.code = "ABORTED"
        raise error
    if not isinstance(error, Exception):
        raise error
    refusal = refusal_of(error)
    call.code, call.reason = code_of(refusal), refusal.reason
    return _without_frames(refusal)


def _without_frames(refusal: Refusal) -> Refusal:
    """Remove a refusal's references to frames.

    A call in gRPC refers to the error that ends it, and the frames refer to the call. With this cycle, the request
    would stay in memory until the next garbage collection.
    """
    refusal.__traceback__ = refusal.__context__ = refusal.__cause__ = None
    return refusal
