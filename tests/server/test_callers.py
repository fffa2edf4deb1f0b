"""Bounds on one caller: each has a refusal that names its setting, and metrics."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from process import PLACE, SERVING, Server, health_stub, refusal_of, server, stub, suggest
from prometheus_client import CollectorRegistry
from sockets import serving
from tokens import as_client
from waiting import HANG_S, settle, wait_until

from eminence.v1 import rules_pb2, rules_pb2_grpc
from eminence.v1 import solver_pb2 as pb
from server import metrics_page
from server.refusals import Refusal
from server.rpc.callers import BOUNDS, Bound, Bounds, Caller, Callers, address_of, current_caller
from server.services import rules

START = PLACE + "| seen by A"


# --- callers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:192.0.2.7:5000", "192.0.2.7"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:5000", "2001:db8:1:2::"),
        ("ipv6:[::1]:5000", "::"),
        ("ipv6:%5Bfe80::1%25eth0%5D:1", "fe80::"),
        ("unix:", "unix"),
        ("unix:/tmp/client.sock", "unix"),
    ],
)
def test_connections_of_one_address_are_one_caller(peer: str, address: str) -> None:
    assert address_of(peer) == address


def context_from(address: str) -> Any:
    return SimpleNamespace(peer=lambda: f"ipv4:{address}:1")


def test_callers_are_forgotten_when_their_last_call_ends() -> None:
    async def call(callers: Callers, address: str, end: asyncio.Event) -> Caller:
        with callers.calling(context_from(address)) as caller:
            assert current_caller() is caller
            await end.wait()
        return caller

    async def run() -> None:
        refused: list[Bound] = []
        callers = Callers(Bounds(calls=2, on_refusal=refused.append))
        end = asyncio.Event()
        calls = [asyncio.ensure_future(call(callers, address, end)) for address in ("10.0.0.1", "10.0.0.1", "10.0.0.2")]
        await asyncio.sleep(0)
        assert callers.most("calls") == 2
        with pytest.raises(Refusal, match="caller_calls: one caller may hold 2") as error:
            await call(callers, "10.0.0.1", end)
        assert error.value.reason == "QUOTA_EXHAUSTED"
        assert error.value.retry_after
        assert refused == ["calls"]
        end.set()
        first, second, other = await asyncio.gather(*calls)
        assert first is second
        assert other is not first
        assert callers.most("calls") == 0
        later = await call(callers, "10.0.0.1", end)
        assert later is not first
        assert (later.key, other.key) == (first.key, "10.0.0.2")  # the same caller for admission

    asyncio.run(run())


@pytest.mark.parametrize("bound", BOUNDS)
def test_each_bound_names_its_setting(bound: Bound) -> None:
    caller = Caller(replace(Bounds(), **{bound: 10}))  # type: ignore[arg-type]
    why = f"caller_{bound}: one caller may hold 10, and this one holds 10"
    with caller.holding(bound, 10), pytest.raises(Refusal, match=why):
        caller.take(bound)
    caller.take(bound)


# --- a server --------------------------------------------------------------------------------------------------


def test_health_watches_count_as_calls_of_their_caller() -> None:
    with server("--caller-calls", "3", metrics=True) as running, running.channel() as channel:
        watches = [health_stub(channel).Watch(health_pb2.HealthCheckRequest()) for _ in range(3)]
        assert [next(watch).status for watch in watches] == [SERVING] * 3
        fourth = health_stub(channel).Watch(health_pb2.HealthCheckRequest())
        with pytest.raises(grpc.RpcError) as refused:
            next(fourth)
        assert refusal_of(refused.value)[:2] == ("RESOURCE_EXHAUSTED", "QUOTA_EXHAUSTED")
        with pytest.raises(grpc.RpcError, match="caller_calls"):
            stub(channel).Suggest(suggest(iterations=1))
        metrics = running.metrics()
        assert metrics['eminence_caller_most{bound="caller_calls"}'] == 3
        assert metrics['eminence_bound_refusals_total{bound="caller_calls"}'] == 2
        watches[0].cancel()
        wait_until(lambda: running.metrics()['eminence_caller_most{bound="caller_calls"}'] == 2)
        assert stub(channel).Suggest(suggest(iterations=1)).suggestion.iterations == 1


def test_a_request_of_more_bytes_than_a_caller_may_hold_is_refused() -> None:
    with server("--caller-bytes", "50") as running, running.channel() as channel:
        with pytest.raises(grpc.RpcError, match="caller_bytes: one caller may hold 50") as refused:
            stub(channel).Suggest(suggest(iterations=1))
        assert refusal_of(refused.value)[:2] == ("RESOURCE_EXHAUSTED", "QUOTA_EXHAUSTED")


def test_watching_health_needs_a_token_and_checking_it_does_not(tokens: str) -> None:
    with server("--tokens", tokens) as running, running.channel() as channel:
        health = health_stub(channel)
        assert health.Check(health_pb2.HealthCheckRequest(), timeout=60).status == SERVING
        with pytest.raises(grpc.RpcError) as refused:
            next(health.Watch(health_pb2.HealthCheckRequest(), timeout=60))
        assert refusal_of(refused.value)[1] == "UNAUTHENTICATED"
        assert next(health.Watch(health_pb2.HealthCheckRequest(), **as_client("a-secret"))).status == SERVING


def test_refusals_for_a_missing_token_are_counted_and_logged(tokens: str) -> None:
    with server("--tokens", tokens, metrics=True) as running, running.channel() as channel:
        for path in ("/eminence.v1.SolverService/Suggest", "/eminence.v1.Nothing/Nothing"):
            method: Any = channel.unary_unary(path)
            with pytest.raises(grpc.RpcError):
                method(b"", timeout=60)
        for name in ("Suggest", "other"):
            # The server counts a call after its client has received the refusal.
            wait_until(partial(is_counted, running, name))
        assert running.stop() == 0
        assert running.process.stderr is not None
        log = running.process.stderr.read()
    for name in ("Suggest", "other"):
        assert log.count(f'"method": "{name}", "code": "UNAUTHENTICATED"') == 1


def is_counted(running: Server, method: str) -> bool:
    labels = f'{{code="UNAUTHENTICATED",method="{method}",reason="UNAUTHENTICATED"}}'
    return running.metrics().get(f"eminence_calls_total{labels}") == 1


def test_the_quota_counts_the_positions_of_a_batch(tokens: str) -> None:
    """Use up three calls a minute with a batch of two positions."""
    with server("--tokens", tokens) as running, running.channel() as channel:
        items = [
            pb.AnalyzeBatchRequest(item=pb.BatchItem(id=str(i), view=suggest().view, budget=pb.Budget(iterations=1)))
            for i in range(2)
        ]
        answers = list(stub(channel).AnalyzeBatch(iter(items), **as_client("b-secret")))
        assert [answer.suggestion.iterations for answer in answers] == [1, 1]
        with pytest.raises(grpc.RpcError, match="calls_per_minute: more than 3 calls and positions"):
            stub(channel).Suggest(suggest(iterations=1), **as_client("b-secret"))


# --- the page of metrics ----------------------------------------------------------------------------------------


def test_incomplete_requests_for_metrics_cost_few_threads_and_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_page, "READ_SECONDS", 1.0)
    page = metrics_page.serve_metrics("127.0.0.1", 0, CollectorRegistry())
    before = threading.active_count()
    counts = {before}
    connections = []
    host, port = page.server_address[:2]
    for _ in range(100):
        connections.append(socket.create_connection((str(host), port)))
        with suppress(OSError):  # refused already
            connections[-1].sendall(b"GET /metrics HTTP/1.1\r\n")
        counts.add(threading.active_count())
    wait_until(lambda: max(*counts, threading.active_count()) > before)
    # A thread and a timer for each request, and those of as many requests that just end.
    assert max(counts) <= before + 4 * metrics_page.REQUESTS_MAX
    for connection in connections:  # the server closes all
        connection.settimeout(HANG_S)
        with suppress(ConnectionError):
            while connection.recv(1000):
                pass
        connection.close()
    wait_until(lambda: _is_answered(page.server_port))
    page.shutdown()
    page.server_close()


def _is_answered(port: int) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=HANG_S) as response:
        return bool(response.status == 200)
    return False


# --- turns ------------------------------------------------------------------------------------------------------


def test_a_caller_reads_one_request_at_a_time_and_blocks_no_other_caller() -> None:
    async def run() -> None:
        inside: list[str] = []

        async def enter(caller: Caller, name: str, leave: asyncio.Event) -> None:
            async with caller.turn():
                inside.append(name)
                await leave.wait()
                inside.remove(name)

        one, other, leave = Caller(), Caller(), asyncio.Event()
        entered = [asyncio.ensure_future(enter(one, name, leave)) for name in ("first", "second")]
        entered.append(asyncio.ensure_future(enter(other, "other", leave)))
        await settle()
        assert inside == ["first", "other"]
        leave.set()
        await asyncio.gather(*entered)

    asyncio.run(run())


def test_a_caller_with_queued_requests_pauses_after_each(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        pauses: list[float] = []
        now = [100.0]
        monkeypatch.setattr("server.rpc.callers.time", SimpleNamespace(monotonic=lambda: now[0]))
        loop = asyncio.get_running_loop()

        def call_later(seconds: float, call: Callable[[], None]) -> None:
            pauses.append(seconds)
            call()

        monkeypatch.setattr(loop, "call_later", call_later)
        caller = Caller()

        async def enter() -> None:
            async with caller.turn():
                await asyncio.sleep(0)
                now[0] += 2.0

        await asyncio.gather(enter(), enter())
        assert pauses == [2.0]  # none after the last one

    asyncio.run(run())


def test_handlers_that_compute_run_on_reader_threads() -> None:
    class Service:
        def ListGames(self, request: rules_pb2.ListGamesRequest) -> rules_pb2.ListGamesResponse:
            threads.append(threading.current_thread().name)
            with pytest.raises(RuntimeError, match="no running event loop"):
                asyncio.get_running_loop()
            return rules_pb2.ListGamesResponse()

        def __getattr__(self, name: str) -> Any:
            return self.ListGames

    threads: list[str] = []
    with serving([(rules.SERVICE, Service())]) as channel:
        games: Any = rules_pb2_grpc.RulesServiceStub(channel)
        games.ListGames(rules_pb2.ListGamesRequest(), timeout=60)
    assert threads[0].startswith("reader")


def test_unknown_methods_are_counted_and_logged() -> None:
    with server(metrics=True) as running, running.channel() as channel:
        method: Any = channel.unary_unary("/eminence.v1.Nothing/Nothing")
        with pytest.raises(grpc.RpcError) as refused:
            method(b"", timeout=60)
        assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
        counter = 'eminence_calls_total{code="UNIMPLEMENTED",method="other",reason=""}'
        wait_until(lambda: running.metrics().get(counter) == 1)


def test_connections_above_the_limit_are_refused() -> None:
    with server("--connections", "2") as running, running.channel() as one, running.channel() as two:
        request = health_pb2.HealthCheckRequest()
        for channel in (one, two):
            assert health_stub(channel).Check(request, timeout=60, wait_for_ready=True).status == SERVING
        with running.channel() as third, pytest.raises(grpc.RpcError) as refused:
            health_stub(third).Check(request, timeout=60)
        assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
