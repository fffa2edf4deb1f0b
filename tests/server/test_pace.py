"""think_at_least: an answer is not earlier than that, and never later than the deadline."""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any

import pytest
from process import PLACE, server, view

from eminence.v1 import solver_pb2 as pb
from server.client import AsyncClient, Client
from server.client.local import LocalClient
from server.client.pace import pause

START = view(PLACE + "| seen by A")
SHORT = pb.Budget(iterations=10)


@pytest.mark.parametrize(
    ("took", "least", "deadline", "wait"),
    [
        (0.25, 1.0, None, 0.75),
        (0.25, 1.0, 60.0, 0.75),
        (0.25, 1.0, 0.5, 0.25),  # never later than the deadline
        (0.25, 0.0, 60.0, 0.0),
        (2.0, 1.0, 60.0, 0.0),
        (0.25, math.inf, 0.5, 0.25),
    ],
)
def test_a_call_waits_for_the_rest_of_its_time(monkeypatch, took, least, deadline, wait):
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 + took)
    assert pause(100.0, least, deadline) == wait


@pytest.fixture
def waits(monkeypatch):
    """Return the seconds that clients wait; they do not wait in fact."""
    waits: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr("server.client.blocking.time.sleep", waits.append)
    monkeypatch.setattr("server.client.aio.asyncio.sleep", note)
    monkeypatch.setattr("server.client.blocking.pause", lambda begun, least, deadline: (least, deadline))
    monkeypatch.setattr("server.client.local.pause", lambda begun, least, deadline: (least, deadline))
    monkeypatch.setattr("server.client.aio.pause", lambda begun, least, deadline: (least, deadline))
    return waits


def test_each_client_waits_after_its_answer(waits):
    with LocalClient() as client:
        answer = client.suggest(START, SHORT, think_at_least=3.0)
        assert answer.iterations == 10
        client.suggest(START, SHORT, seconds=7.0)
    assert waits == [(3.0, None), (0.0, 7.0)]


def test_a_client_of_a_server_waits_for_its_deadline_at_most(waits):
    async def asynchronously(address: str) -> Any:
        async with AsyncClient(address) as client:
            return await client.suggest(START, SHORT, think_at_least=3.0, seconds=9.0)

    with server() as running:
        del waits[:]
        with Client(running.address) as client:
            assert client.suggest(START, SHORT, think_at_least=2.0, seconds=8.0).iterations == 10
        assert asyncio.run(asynchronously(running.address)).iterations == 10
        assert [wait for wait in waits if isinstance(wait, tuple)] == [(2.0, 8.0), (3.0, 9.0)]


@pytest.mark.parametrize("least", [-1.0, math.nan, math.inf])
def test_a_pace_below_zero_is_refused(least):
    with (
        LocalClient() as client,
        pytest.raises(ValueError, match=r"think_at_least: .* is not a number of seconds, 0 or"),
    ):
        client.suggest(START, SHORT, think_at_least=least)
