"""The methods of a server, and the interceptors before them, shared by gRPC and HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import grpc

# The largest request, in bytes of protobuf.
MESSAGE_MAX = 2**17


class CallDetails(NamedTuple):
    """A call before its request is read: `grpc.HandlerCallDetails`, which gRPC alone can make."""

    method: str
    invocation_metadata: tuple[tuple[str, str], ...]


class Routes:
    """The handlers of all methods by their paths, such as /eminence.v1.SolverService/Suggest."""

    def __init__(self, interceptors: Sequence[grpc.aio.ServerInterceptor] = ()) -> None:
        self.interceptors = interceptors
        self.handlers: list[grpc.GenericRpcHandler] = []

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        self.handlers.extend(handlers)

    async def find(self, details: CallDetails) -> Any:
        """Return the handler of a call, as the interceptors leave it: one that refuses if they refuse the call."""
        find: Callable[[Any], Awaitable[Any]] = self._find
        for interceptor in reversed(self.interceptors):
            find = partial(interceptor.intercept_service, find)
        return await find(details)

    async def _find(self, details: Any) -> Any:
        for handler in self.handlers:
            if (method := handler.service(details)) is not None:
                return method
        return None
