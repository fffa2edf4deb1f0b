"""Traces of calls, as OpenTelemetry has them. Only imported when they are asked for: it needs the extra `telemetry`.

A span says which call it was, how it ended and what it took: never a card, nor a status' text, which may name one.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import grpc
from opentelemetry.context import Context as Parent
from opentelemetry.context import attach
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from server.rpc.callers import Context

HEALTH = "/grpc.health.v1.Health/"
# How long spans wait for others that go with them; and how long the last ones may take.
EXPORT_EVERY_MS = 1_000
LAST_SPANS_SECONDS = 1.0
# What of a call's metadata says whose child it is.
PARENT_KEYS = ("traceparent", "tracestate")
# What OpenTelemetry's conventions call a server's error; the others are the client's.
SERVER_ERRORS = {"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"}


class Traces(grpc.aio.ServerInterceptor):
    """Tells a collector at an address of every call but health checks."""

    def __init__(self, address: str) -> None:
        resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", "eminence")})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=address, insecure=True)
        self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=EXPORT_EVERY_MS))
        self._tracer = self._provider.get_tracer("eminence")
        self._propagator = TraceContextTextMapPropagator()

    def end(self) -> None:
        """Send the last spans. A collector that does not answer must not hold up the end."""
        ending = threading.Thread(target=self._provider.shutdown, daemon=True)
        ending.start()
        ending.join(LAST_SPANS_SECONDS)

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], details: grpc.HandlerCallDetails
    ) -> Any:
        handler = await continuation(details)
        if handler is None or details.method.startswith(HEALTH):
            return handler
        said = {key: value for key, value in details.invocation_metadata or () if key in PARENT_KEYS}
        return self._traced(handler, details.method, self._propagator.extract(said))

    def _traced(self, handler: Any, method: str, parent: Parent) -> Any:
        """A handler that does the same, inside a span."""
        inner = handler.unary_unary or handler.unary_stream or handler.stream_stream

        async def answer(request: Any, context: Context) -> Any:
            with self._span(method, parent, context):
                return await inner(request, context)

        async def stream(request: Any, context: Context) -> AsyncIterator[Any]:
            with self._span(method, parent, context):
                async with aclosing(inner(request, context)) as responses:
                    async for response in responses:
                        yield response

        # Who refuses before anything is read has no responses, whatever the kind of call.
        traced = stream if inspect.isasyncgenfunction(inner) else answer
        if handler.unary_unary:
            make: Any = grpc.unary_unary_rpc_method_handler
        elif handler.unary_stream:
            make = grpc.unary_stream_rpc_method_handler
        else:
            make = grpc.stream_stream_rpc_method_handler
        return make(traced, handler.request_deserializer, handler.response_serializer)

    @contextmanager
    def _span(self, method: str, parent: Parent, context: Context) -> Iterator[None]:
        service, _, name = method.removeprefix("/").partition("/")
        attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": name}
        span = self._tracer.start_span(f"{service}/{name}", parent, SpanKind.SERVER, attributes)
        attach(set_span_in_context(span, parent))  # for this call's task alone, so that nothing has to be detached
        code = None
        try:
            yield
        except (asyncio.CancelledError, GeneratorExit):
            code = grpc.StatusCode.CANCELLED
            raise
        finally:
            code = code or context.code() or grpc.StatusCode.OK
            span.set_attribute("rpc.grpc.status_code", code.value[0])
            if code.name in SERVER_ERRORS:
                span.set_status(Status(StatusCode.ERROR))
            span.end()
