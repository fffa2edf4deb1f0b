"""The health service: watches, checks, and the end of the server."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from process import NOT_SERVING, SERVING, health_stub, server

from server.services.health import UNKNOWN, HealthService

REQUEST = health_pb2.HealthCheckRequest(service="")


def test_a_watch_that_does_not_read_delays_neither_others_nor_the_shutdown() -> None:
    async def run() -> None:
        service: Any = HealthService()
        service.set(["", "a"], NOT_SERVING)
        stuck, reading = service.Watch(REQUEST, None), service.Watch(REQUEST, None)
        assert (await anext(stuck)).status == NOT_SERVING
        assert (await anext(reading)).status == NOT_SERVING
        service.set([""], SERVING)
        assert (await anext(reading)).status == SERVING
        listing = await service.List(None, None)
        assert {name: answer.status for name, answer in listing.statuses.items()} == {"": SERVING, "a": NOT_SERVING}
        assert (await service.Check(health_pb2.HealthCheckRequest(service="a"), None)).status == NOT_SERVING
        service.end()
        service.set([""], SERVING)  # after the end: ignored
        assert [answer.status async for answer in reading] == [NOT_SERVING]
        assert [answer.status async for answer in stuck] == []  # it has read NOT_SERVING before

    asyncio.run(run())


def test_a_watch_of_an_unknown_service_waits_until_that_service_changes() -> None:
    async def run() -> None:
        service: Any = HealthService()
        watch = service.Watch(health_pb2.HealthCheckRequest(service="later"), None)
        assert (await anext(watch)).status == UNKNOWN
        pending = asyncio.ensure_future(anext(watch))
        for _ in range(10):
            await asyncio.sleep(0)
        service.set(["another"], SERVING)
        for _ in range(10):
            await asyncio.sleep(0)
        assert not pending.done()
        service.set(["later"], SERVING)
        assert (await pending).status == SERVING

    asyncio.run(run())


def test_a_check_of_an_unknown_service_answers_not_found() -> None:
    async def abort(code: grpc.StatusCode, details: str) -> None:
        raise RuntimeError(code.name)

    async def run() -> None:
        service: Any = HealthService()
        await service.Check(REQUEST, SimpleNamespace(abort=abort))

    with pytest.raises(RuntimeError, match="NOT_FOUND"):
        asyncio.run(run())


def test_watches_end_with_the_server() -> None:
    with server() as running, running.channel() as channel:
        watch = health_stub(channel).Watch(REQUEST, timeout=60)
        assert next(watch).status == SERVING
        running.process.terminate()
        assert [answer.status for answer in watch] == [NOT_SERVING]
        assert running.process.wait(60) == 0
