"""Every goal of the service's benchmark can be missed: what a bad server would do to each figure."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from benchmarks import service
from benchmarks.report import Measured
from benchmarks.service import FULL, GOALS, MEANINGS, Answer, Drain, Load, Server
from eminence.v1 import solver_pb2 as pb

WELL = Answer(0.052, 10_000, "OK")
AT_CAPACITY = Load(10.0, [WELL] * 400)


def offered(*answers: Answer, good: int = 400, health: float = 2.0) -> Load:
    return Load(10.0, [*[WELL] * good, *answers], [health] * 100)


def after(good: Any, bad: Any, summarise: Any) -> tuple[Measured, Measured]:
    return summarise(good), summarise(bad)


def of_load(name: str, bad: Load) -> tuple[Measured, Measured]:
    refused = Answer(0.004, 0, "RESOURCE_EXHAUSTED")
    good = offered(*[refused] * 900)
    return service.overloaded(AT_CAPACITY, good)[name], service.overloaded(AT_CAPACITY, bad)[name]


IN_TIME = [3.0] * 985 + [19.0] * 15
DRAINED = Drain(["OK"] * 10, ["UNAVAILABLE"] * 10, 0.6, 0)
# What a good server and a bad one would have measured.
TWINS: dict[str, list[tuple[Measured, Measured]]] = {
    "p50_vs_echo": [after([(0.36, 0.3)] * 7, [(0.39, 0.3)] * 7, service.beside_echo)],
    "rps8_vs_echo": [after([(4_100, 5_000)] * 7, [(3_900, 5_000)] * 7, service.beside_echo)],
    "rps64_vs_echo": [after([(4_100, 5_000)] * 7, [(3_900, 5_000)] * 7, service.beside_echo)],
    "overshoot_idle_ms": [after(IN_TIME, [3.0] * 985 + [21.0] * 15, service.lateness)],
    "overshoot_busy_ms": [after(IN_TIME, [3.0] * 985 + [51.0] * 15, service.lateness)],
    "iterations_vs_in_process": [after([(97, 100)] * 5, [(94, 100)] * 5, service.as_many_iterations)],
    "cancel_p99_ms": [
        after([4.0] * 300, [4.0] * 290 + [60.0] * 10, lambda taken: service.cancelled(taken, [1.0])),
    ],
    "overload_goodput": [
        of_load("overload_goodput", offered(good=370)),  # too few
        of_load("overload_goodput", offered(*[Answer(0.101, 10_000, "OK")] * 900, good=370)),  # ... as many are late
        of_load("overload_goodput", offered(*[Answer(0.050, 6_900, "OK")] * 900, good=370)),  # ... or cut short
        of_load("overload_goodput", offered(*[Answer(0.001, 0, "UNKNOWN")] * 900, good=370)),  # ... or fail
    ],
    "shed_p99_ms": [of_load("shed_p99_ms", offered(*[Answer(0.030, 0, "RESOURCE_EXHAUSTED")] * 900))],
    "health_p99_ms": [of_load("health_p99_ms", offered(health=26.0))],
    "drain_lost": [
        after([DRAINED] * 50, [DRAINED] * 49 + [DRAINED._replace(taken=["OK"] * 9 + [code])], service.drained)
        for code in ("UNAVAILABLE", "CANCELLED")
    ]
    + [after([DRAINED] * 50, [DRAINED] * 49 + [DRAINED._replace(code=-9)], service.drained)],
    "loop_lag_p99_ms": [
        after(
            {0.001: 90, 0.01: 100, 0.025: 100, float("inf"): 100},
            {0.001: 90, 0.01: 98, 0.025: 100, float("inf"): 100},
            service.lagging,
        )
    ],
}


def test_all_goals_have_a_meaning_and_a_twin() -> None:
    assert list(GOALS) == list(TWINS)
    assert list(MEANINGS)[: len(GOALS)] == list(GOALS)


@pytest.mark.parametrize("name", GOALS)
def test_a_bad_server_misses_the_goal_and_a_good_one_does_not(name: str) -> None:
    for good, bad in TWINS[name]:
        assert GOALS[name].verdict(good[0].value) != "MISSED"
        assert GOALS[name].verdict(bad[0].value) == "MISSED"


class Slow(grpc.GenericRpcHandler):
    """Answers any call after so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def service(self, details: Any) -> Any:
        def answer(raw: bytes, context: Any) -> bytes:
            time.sleep(self._seconds)
            return raw

        return grpc.unary_unary_rpc_method_handler(answer)


@contextmanager
def answering(seconds: float) -> Iterator[Server]:
    server = grpc.server(ThreadPoolExecutor(2), [Slow(seconds)])
    found = Server.__new__(Server)
    found.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield found
    finally:
        server.stop(None)


def test_a_server_that_is_slower_than_the_echo_is_seen_to_be() -> None:
    scale = FULL._replace(rounds=3, calls=5, load_seconds=0.2)
    with answering(0.02) as slow, answering(0.0) as fast:
        p50, told = service.one_client(slow, fast, pb.SuggestRequest(), scale)
        rate, _ = service.many_clients(slow, fast, pb.SuggestRequest(), 2, scale)
    assert p50.value > 2
    assert told["ours"] > 20
    assert rate.value < 0.5


def test_all_questions_of_a_load_differ() -> None:
    assert len(set(service.distinct(5, 200))) == 200
