"""OpenTelemetry traces of calls. The module needs the extra `telemetry`, and is imported only if traces are enabled.

A span holds the method, the status code, times and counts of a call. It holds neither cards nor the status' text, which
may name one, and an unknown method, which may be any text of a client, is called "other".
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
from server.telemetry import Telemetry

HEALTH = "/grpc.health.v1.Health/"
# The interval of exports, and the timeout of the last one.
EXPORT_EVERY_MS = 1_000
LAST_SPANS_SECONDS = 1.0
# Metadata keys of the parent span.
PARENT_KEYS = ("traceparent", "tracestate")
# The status codes that OpenTelemetry's conventions count as errors of the server; the others are the client's.
SERVER_ERRORS = {"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"}


class Traces(grpc.aio.ServerInterceptor):
    """Sends a span of every call, except health checks, to the collector at `address`."""

    def __init__(self, address: str, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", "eminence")})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=address, insecure=True)
        self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=EXPORT_EVERY_MS))
        self._tracer = self._provider.get_tracer("eminence")
        self._propagator = TraceContextTextMapPropagator()

    def end(self) -> None:
        """Send the last spans. Wait at most LAST_SPANS_SECONDS for a collector that does not answer."""
        ending = threading.Thread(target=self._provider.shutdown, daemon=True)
        ending.start()
        ending.join(LAST_SPANS_SECONDS)

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], details: grpc.HandlerCallDetails
    ) -> Any:
        handler = await continuation(details)
        if handler is None or details.method.startswith(HEALTH):
            return handler
        carrier = {key: value for key, value in details.invocation_metadata or () if key in PARENT_KEYS}
        name = details.method.removeprefix("/") if self._telemetry.knows(details.method) else "other"
        return self._traced(handler, name, self._propagator.extract(carrier))

    def _traced(self, handler: Any, method: str, parent: Parent) -> Any:
        """Wrap a handler so that it runs inside a span."""
        inner = handler.unary_unary or handler.unary_stream or handler.stream_stream

        async def answer(request: Any, context: Context) -> Any:
            with self._span(method, parent, context):
                return await inner(request, context)

        async def stream(request: Any, context: Context) -> AsyncIterator[Any]:
            with self._span(method, parent, context):
                async with aclosing(inner(request, context)) as responses:
                    async for response in responses:
                        yield response

        # A handler that refuses before it reads (`TokenAuth`) is no generator, even if the call is a stream.
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
        service, _, name = method.rpartition("/")
        attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": name}
        span = self._tracer.start_span(method, parent, SpanKind.SERVER, attributes)
        attach(set_span_in_context(span, parent))  # never detached: the context belongs to this call's task alone
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
