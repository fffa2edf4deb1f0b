"""The contract over HTTP: Connect, gRPC-Web and JSON, answered by the handlers of the gRPC server.

connectrpc reads and writes the protocols. Its codecs pass bytes here: the handlers parse them, so both doors refuse the
same requests. (Its own codecs would ignore unknown fields, and send the texts of exceptions to clients.)
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, NamedTuple

import grpc
import msgspec.json
from connectrpc.code import Code
from connectrpc.codec import Codec
from connectrpc.compression.gzip import GzipCompression
from connectrpc.errors import ConnectError, ErrorDetail
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.request import RequestContext
from connectrpc.server import ConnectASGIApplication, Endpoint
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2
from protobuf.wkt import Any as WireAny
from protobuf.wkt import Struct

from server.codec.json_mapping import from_json, read_object, to_json
from server.rpc.callers import Callers
from server.rpc.routes import MESSAGE_MAX
from server.rpc.status import abort, code_of, refusal_of
from server.telemetry import Telemetry

# The largest body of a request: JSON may take twice as many bytes as protobuf.
BODY_MAX = 2 * MESSAGE_MAX
# Longer JSON is read, and longer answers are written, on another thread.
JSON_HERE_BYTES = 2_048
STATUS_KEY = "grpc-status-details-bin"
# The details of refusals whose fields JSON clients can read.
_DETAILS: dict[str, type[Message]] = {
    kind.DESCRIPTOR.full_name: kind
    for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.RetryInfo)
}
_writer = ThreadPoolExecutor(1, "json")

# The handler and the peer of the task's call, which the door found before it read the request.
current_call: ContextVar[Call] = ContextVar("web call")


class Call(NamedTuple):
    """A call that the door let in: its handler, and the peer in gRPC's words."""

    handler: Any
    peer: str


class Ended(grpc.aio.AbortError):
    """The end of a call by `WebContext.abort`."""

    def __init__(self, code: grpc.StatusCode, text: str, metadata: Iterable[tuple[str, Any]]) -> None:
        super().__init__()
        self.code, self.text, self.metadata = code, text, dict(metadata)


class WebContext:
    """The part of gRPC's context that handlers use."""

    def __init__(self, peer: str, request: RequestContext[Any, Any]) -> None:
        self._peer, self._request = peer, request
        self._code: grpc.StatusCode | None = None

    def peer(self) -> str:
        return self._peer

    def code(self) -> grpc.StatusCode | None:
        return self._code

    def time_remaining(self) -> float | None:
        left_ms = self._request.timeout_ms
        return None if left_ms is None else left_ms / 1000

    async def abort(self, code: grpc.StatusCode, details: str = "", trailing_metadata: Any = ()) -> None:
        self._code = code
        raise Ended(code, details, trailing_metadata)


class Payload(NamedTuple):
    """A message on its way: its bytes or, from and to a JSON client, its JSON."""

    body: bytes
    is_json: bool


class _Bytes(Codec[Payload, Payload]):
    """Passes bodies unread."""

    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name

    def encode(self, message: Payload) -> bytes:
        return message.body

    def decode(self, data: bytes | bytearray, message_class: type[Payload]) -> Payload:
        return Payload(bytes(data), self._name == "json")


class _ReadableDetail(ErrorDetail):
    """A detail of a refusal; a JSON client also gets its fields."""

    def value(self, _: Any = None) -> Any:
        kind = _DETAILS.get(self.type_name)
        if kind is None:
            return None
        return Struct.from_json(msgspec.json.encode(to_json(kind.FromString(self.message_bytes))).decode())


def application(
    services: Iterable[ServiceDescriptor], telemetry: Telemetry, callers: Callers
) -> ConnectASGIApplication[None]:
    """Return the ASGI application that answers the methods of `services`. Each call needs its `current_call`."""
    endpoints: dict[str, Any] = {}
    for service in services:
        for method in service.methods:
            endpoints[f"/{service.full_name}/{method.name}"] = _endpoint(method, telemetry, callers)

    class Application(ConnectASGIApplication[None]):
        @property
        def path(self) -> str:
            return ""

    return Application(
        service=None,
        endpoints=lambda _: endpoints,
        codecs=[_Bytes("proto"), _Bytes("json")],
        compressions=[GzipCompression()],
        read_max_bytes=BODY_MAX,
    )


def _endpoint(method: MethodDescriptor, telemetry: Telemetry, callers: Callers) -> Any:
    name, service = method.name, method.containing_service.full_name
    is_stream = method.server_streaming
    answer_kind = GetMessageClass(method.output_type)
    request_kind = GetMessageClass(method.input_type)
    info: MethodInfo[Payload, Payload] = MethodInfo(
        name=name,
        service_name=service,
        input=Payload,
        output=Payload,
        idempotency_level=IdempotencyLevel.UNKNOWN,  # no GET: requests would be in logs of URLs
        stream_type=StreamType.SERVER_STREAM if is_stream else StreamType.UNARY,
    )
    metrics = telemetry.method_at(f"/{service}/{name}")

    async def read(request: Payload, context: WebContext) -> bytes:
        """Return a request as bytes of protobuf."""
        raw = request.body
        if request.is_json:
            try:
                with callers.calling(context) as caller, caller.holding("bytes", len(raw)):  # type: ignore[arg-type]
                    async with caller.turn():
                        raw = await _run(len(raw), read_json, raw, request_kind)
            except Exception as error:
                refusal = refusal_of(error)
                with metrics.call() as call:
                    call.code, call.reason = code_of(refusal), refusal.reason
                await abort(context, refusal)  # type: ignore[arg-type]
        if len(raw) > MESSAGE_MAX:  # gRPC refuses it with the same code
            with metrics.call() as call:
                call.code = "RESOURCE_EXHAUSTED"
            why = f"the request has {len(raw)} bytes, more than {MESSAGE_MAX}"
            raise Ended(grpc.StatusCode.RESOURCE_EXHAUSTED, why, ())
        return raw

    async def write(raw: bytes, is_json: bool, context: WebContext) -> Payload:
        if not is_json:
            return Payload(raw, is_json)
        try:
            return Payload(await _run(len(raw), write_json, raw, answer_kind), is_json)
        except Exception as error:  # connectrpc would send its text
            await abort(context, error)  # type: ignore[arg-type]

    async def answer(request: Payload, connect: RequestContext[Any, Any]) -> Payload:
        handler, peer = current_call.get()
        context = WebContext(peer, connect)
        try:
            # A handler that refuses before it reads is one of streams, even if the call is not.
            if handler.unary_unary is None:
                await handler.stream_stream(None, context)
            raw = await handler.unary_unary(await read(request, context), context)
            return await write(raw, request.is_json, context)
        except Ended as ended:
            raise _error_of(ended, connect) from None

    async def stream(request: Payload, connect: RequestContext[Any, Any]) -> AsyncIterator[Payload]:
        handler, peer = current_call.get()
        context = WebContext(peer, connect)
        try:
            if handler.unary_stream is None:
                await handler.stream_stream(None, context)
            async with aclosing(handler.unary_stream(await read(request, context), context)) as responses:
                async for response in responses:
                    yield await write(response, request.is_json, context)
        except Ended as ended:
            raise _error_of(ended, connect) from None

    return Endpoint.server_stream(info, stream) if is_stream else Endpoint.unary(info, answer)


async def _run(size: int, convert: Any, raw: bytes, kind: type[Message]) -> bytes:
    if size <= JSON_HERE_BYTES:
        return bytes(convert(raw, kind))
    return bytes(await asyncio.get_running_loop().run_in_executor(_writer, convert, raw, kind))


def read_json(raw: bytes, kind: type[Message]) -> bytes:
    """Convert JSON to bytes of protobuf; refuse fields that the contract does not have."""
    return from_json(read_object(raw), kind()).SerializeToString()


def write_json(raw: bytes, kind: type[Message]) -> bytes:
    return msgspec.json.encode(to_json(kind.FromString(raw)))


def _error_of(ended: Ended, connect: RequestContext[Any, Any]) -> ConnectError:
    """Return the error in Connect's words; the details are those of the gRPC status."""
    details = []
    if (raw := ended.metadata.get(STATUS_KEY)) is not None:
        for detail in status_pb2.Status.FromString(raw).details:
            details.append(_ReadableDetail(WireAny(type_url=detail.type_url, value=detail.value)))
    if (pushback := ended.metadata.get("grpc-retry-pushback-ms")) is not None:
        connect.response_headers["retry-after"] = str(math.ceil(int(pushback) / 1000))
    code = "canceled" if ended.code.name == "CANCELLED" else ended.code.name.lower()
    return ConnectError(Code(code), ended.text, details)
