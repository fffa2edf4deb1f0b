"""A server on a real socket, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import grpc
import pytest

from eminence.v1 import referee_pb2, rules_pb2
from server.calls import Context, add_service
from server.referee_service import RefereeService
from server.rules_service import RulesService


class Faulty(RulesService):
    """A service with a bug."""

    async def ListGames(self, request: rules_pb2.ListGamesRequest, context: Context) -> rules_pb2.ListGamesResponse:
        raise KeyError("B holds the Ambush")


async def _serve(rules: RulesService, ready: threading.Event, stop: asyncio.Event, port: list[int]) -> None:
    server = grpc.aio.server()
    add_service(server, rules_pb2.DESCRIPTOR.services_by_name["RulesService"], rules)
    add_service(server, referee_pb2.DESCRIPTOR.services_by_name["RefereeService"], RefereeService())
    port.append(server.add_insecure_port("127.0.0.1:0"))
    await server.start()
    ready.set()
    await stop.wait()
    await server.stop(None)


def _channel(rules: RulesService) -> Iterator[grpc.Channel]:
    loop, ready, port = asyncio.new_event_loop(), threading.Event(), list[int]()
    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=[_serve(rules, ready, stop, port)])
    thread.start()
    assert ready.wait(10)
    with grpc.insecure_channel(f"127.0.0.1:{port[0]}") as channel:
        yield channel
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)
    loop.close()


@pytest.fixture(scope="session")
def channel() -> Iterator[grpc.Channel]:
    """A client's way to a server with RulesService and RefereeService."""
    yield from _channel(RulesService())


@pytest.fixture(scope="session")
def faulty_channel() -> Iterator[grpc.Channel]:
    """The same, where ListGames has a bug."""
    yield from _channel(Faulty())
