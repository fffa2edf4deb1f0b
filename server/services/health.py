"""The gRPC health service.

The one of grpcio-health-checking holds a lock while it writes to a client: a client that does not read would block
every change of status, and the server's shutdown.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
from grpc_health.v1 import health_pb2

from server.rpc.callers import Context

_untyped: Any = health_pb2  # its type stubs lack List
SERVICE: Any = health_pb2.DESCRIPTOR.services_by_name["Health"]
NOT_SERVING, SERVING = health_pb2.HealthCheckResponse.NOT_SERVING, health_pb2.HealthCheckResponse.SERVING
UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


class HealthService:
    """The status of each service. Belongs to the event loop's thread."""

    def __init__(self) -> None:
        self._statuses: dict[str, Any] = {}
        self._changed = asyncio.Event()  # replaced after each change
        self._is_over = False

    def set(self, names: list[str], status: Any) -> None:
        if not self._is_over:
            self._statuses |= dict.fromkeys(names, status)
            self._notify()

    def end(self) -> None:
        """Set all services to not serving, permanently, and end the streams that watch them."""
        self._is_over = True
        self._statuses = dict.fromkeys(self._statuses, NOT_SERVING)
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def Check(self, request: health_pb2.HealthCheckRequest, context: Context) -> health_pb2.HealthCheckResponse:
        if request.service not in self._statuses:
            await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
        return health_pb2.HealthCheckResponse(status=self._statuses[request.service])

    async def List(self, request: Any, context: Context) -> Any:
        answers = {name: health_pb2.HealthCheckResponse(status=status) for name, status in self._statuses.items()}
        return _untyped.HealthListResponse(statuses=answers)

    async def Watch(
        self, request: health_pb2.HealthCheckRequest, context: Context
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        latest = None
        while True:
            changed, is_over = self._changed, self._is_over
            status = self._statuses.get(request.service, UNKNOWN)
            if status != latest:
                latest = status
                yield health_pb2.HealthCheckResponse(status=status)
            elif is_over:
                return
            else:
                await changed.wait()
