"""gRPC servers of this process, on real sockets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
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
    """Serve these services on a thread; yield a channel to them."""
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


@contextmanager
def listening(add: Callable[[grpc.Server], object]) -> Iterator[str]:
    """Run a plain gRPC server, to which `add` adds handlers; yield its address."""
    listener = grpc.server(ThreadPoolExecutor(4))
    add(listener)
    port = listener.add_insecure_port("127.0.0.1:0")
    listener.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        listener.stop(None).wait()
