"""A collector of OpenTelemetry traces."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from sockets import listening
from waiting import HANG_S


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """A collector that keeps the spans it receives."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self._received = threading.Condition()

    def Export(self, request: Any, context: Any) -> Any:
        with self._received:
            self.requests.append(request)
            self._received.notify_all()
        return trace_service_pb2.ExportTraceServiceResponse()

    @property
    def spans(self) -> list[Any]:
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def wait_for(self, number: int) -> list[Any]:
        with self._received:
            assert self._received.wait_for(lambda: len(self.spans) >= number, HANG_S), self.spans
        return self.spans


@contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    """Run a collector; yield it and its address."""
    collector = Collector()
    add: Any = trace_service_pb2_grpc.add_TraceServiceServicer_to_server
    with listening(partial(add, collector)) as address:
        yield collector, address


def attributes_of(span: Any) -> dict[str, Any]:
    return {
        attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value")) for attribute in span.attributes
    }
