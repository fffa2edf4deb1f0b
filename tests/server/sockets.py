"""A server on a real socket, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from waiting import HANG_S

from server.rpc.handlers import add_service

Services = list[tuple[ServiceDescriptor, object]]


async def _serve(services: Services, ready: threading.Event, stop: asyncio.Event, port: list[int]) -> None:
    server = grpc.aio.server()
    for service, servicer in services:
        add_service(server, service, servicer)
    port.append(server.add_insecure_port("127.0.0.1:0"))
    await server.start()
    ready.set()
    await stop.wait()
    await server.stop(None)


@contextmanager
def serving(services: Services) -> Iterator[grpc.Channel]:
    """A client's way to a server with these services."""
    loop, ready, port = asyncio.new_event_loop(), threading.Event(), list[int]()
    stop = asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=[_serve(services, ready, stop, port)])
    thread.start()
    assert ready.wait(HANG_S)
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port[0]}") as channel:
            yield channel
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(HANG_S)
        loop.close()
