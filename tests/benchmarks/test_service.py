"""Every goal of the benchmark of the service can be missed: the figures of a good and of a bad server."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from sockets import listening

from benchmarks import json_lines, questions, service, worst_case
from benchmarks.__main__ import main
from benchmarks.measure import Figure
from benchmarks.questions import mixed_views
from benchmarks.report import Measured
from benchmarks.servers import ServerProcess
from benchmarks.service import GOALS, MEANINGS, Drain, Load, Rates, TimedAnswer, Times
from benchmarks.worst_case import MIB, Growth, Request, TimeSpan, checking, longest_check, worst_median
from server.codec.views import read_view
from server.rpc.routes import MESSAGE_MAX

WELL = TimedAnswer(0, 0.052, 10_000, "OK")
AT_CAPACITY = Load(10.0, [WELL] * 400)


def offered(*answers: TimedAnswer, good: int = 400, health: float = 2.0) -> Load:
    return Load(10.0, [*[WELL] * good, *answers], [health] * 100)


def after(good: Any, bad: Any, summarise: Any) -> tuple[Measured, Measured]:
    return summarise(good), summarise(bad)


def of_load(name: str, bad: Load) -> tuple[Measured, Measured]:
    refused = TimedAnswer(0, 0.004, 0, "RESOURCE_EXHAUSTED")
    rounds = ([(AT_CAPACITY, load)] * 7 for load in (offered(*[refused] * 900), bad))
    good, missed = (service.overload_figures(each)[name] for each in rounds)
    return good, missed


def stalled(longest: dict[str, list[float]]) -> Measured:
    return worst_median(longest, ["compare", "review"])


def beyond_cap(growths: dict[str, list[Growth]]) -> Measured:
    return worst_case.growth_beyond_cap(growths, {"compare": 1 * MIB, "suggest": 256 * MIB})


def growth(peak_mib: int) -> Growth:
    return Growth(peak_mib * MIB, 0)


# `idle` is not counted.
HARDLY_STALLED = {"idle": [99.0] * 3, "compare": [2.0, 14.0, 90.0], "review": [3.0] * 3}
SMALL = {"compare": [growth(30), growth(39), growth(70)], "suggest": [growth(290)] * 3}
IN_TIME = [3.0] * 985 + [19.0] * 15
DRAINED = Drain(["OK"] * 10, ["UNAVAILABLE"] * 10, 0.6, 0)
# The measurements of a good server and of a bad one.
TWINS: dict[str, list[tuple[Measured, Measured]]] = {
    "overhead_ms": [after([Times(3.6, 3.0, 0.5)] * 7, [Times(3.8, 3.0, 0.5)] * 7, service.overhead)],
    "throughput": [after([Rates(570, 700, 7_000)] * 7, [Rates(550, 700, 7_000)] * 7, service.throughput)],
    "cached_ms": [after([(0.6, 0.4)] * 7, [(0.7, 0.4)] * 7, service.cached_overhead)],
    "json_lines": [after([json_lines.Rates(910, 1000)] * 7, [json_lines.Rates(890, 1000)] * 7, json_lines.json_lines)],
    "stall_ms": [after(HARDLY_STALLED, HARDLY_STALLED | {"compare": [2.0, 16.0, 90.0]}, stalled)],
    "rss_mib": [
        after(SMALL, SMALL | {"suggest": [growth(300)] * 3}, beyond_cap),
        after(SMALL, SMALL | {"compare": [growth(45)] * 3}, beyond_cap),
    ],
    "overshoot_idle_ms": [after(IN_TIME, [3.0] * 985 + [21.0] * 15, service.overrun)],
    "overshoot_busy_ms": [after(IN_TIME, [3.0] * 985 + [51.0] * 15, service.overrun)],
    "iterations_vs_in_process": [after([(97, 100)] * 5, [(94, 100)] * 5, service.iterations_ratio)],
    "cancel_p99_ms": [
        after([4.0] * 300, [4.0] * 290 + [60.0] * 10, lambda taken: service.cancel_time(taken, [1.0])),
    ],
    "overload_goodput": [
        of_load("overload_goodput", offered(good=370)),  # too few
        of_load("overload_goodput", offered(*[TimedAnswer(0, 0.101, 10_000, "OK")] * 900, good=370)),  # ... or late
        of_load("overload_goodput", offered(*[TimedAnswer(0, 0.050, 6_900, "OK")] * 900, good=370)),  # ... or cut short
        of_load("overload_goodput", offered(*[TimedAnswer(0, 0.001, 0, "UNKNOWN")] * 900, good=370)),  # ... or fail
    ],
    "shed_p99_ms": [of_load("shed_p99_ms", offered(*[TimedAnswer(0, 0.030, 0, "RESOURCE_EXHAUSTED")] * 900))],
    "health_p99_ms": [of_load("health_p99_ms", offered(health=26.0))],
    "drain_lost": [
        after([DRAINED] * 50, [DRAINED] * 49 + [DRAINED._replace(taken=["OK"] * 9 + [code])], service.lost_calls)
        for code in ("UNAVAILABLE", "CANCELLED")
    ]
    + [after([DRAINED] * 50, [DRAINED] * 49 + [DRAINED._replace(exit_code=-9)], service.lost_calls)],
    "loop_lag_p99_ms": [
        after(
            {0.001: 90, 0.01: 100, 0.025: 100, float("inf"): 100},
            {0.001: 90, 0.01: 98, 0.025: 100, float("inf"): 100},
            service.lag_percentile,
        )
    ],
}


def test_all_goals_have_a_meaning_and_a_twin() -> None:
    assert list(GOALS) == list(TWINS)
    assert list(MEANINGS) == list(GOALS)


@pytest.mark.parametrize("name", GOALS)
def test_a_bad_server_misses_the_goal_and_a_good_one_does_not(name: str) -> None:
    for good, bad in TWINS[name]:
        assert GOALS[name].verdict(good[0].value) != "MISSED"
        assert GOALS[name].verdict(bad[0].value) == "MISSED"


class Slow(grpc.GenericRpcHandler):
    """Answers every call after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def service(self, details: Any) -> Any:
        def answer(raw: bytes, context: Any) -> bytes:
            time.sleep(self._seconds)
            return raw

        return grpc.unary_unary_rpc_method_handler(answer)


@contextmanager
def answering(seconds: float) -> Iterator[ServerProcess]:
    """Run a server with one slow handler, in place of a server process."""
    process = ServerProcess.__new__(ServerProcess)
    with listening(lambda listener: listener.add_generic_rpc_handlers((Slow(seconds),))) as process.address:
        yield process


@pytest.mark.slow
def test_the_measures_tell_a_slow_server_from_the_echo() -> None:
    with answering(0.5) as slow, answering(0.0) as fast:
        ours, echo = service.cached_times(slow, fast, [b""], calls=5)
        rates = [service.answers_per_second(server, mixed_views(2), 1.0) for server in (slow, fast)]
    assert ours > 400 > echo
    assert rates[0] < 0.5 * rates[1]


def test_the_ceiling_of_the_throughput_counts_an_echo_for_each_search() -> None:
    assert Rates(0, 500, 2_000).ceiling == pytest.approx(400)


def test_the_order_of_the_sides_rotates() -> None:
    calls: list[str] = []
    service.medians(3, lambda _: calls.append("A"), lambda _: calls.append("B"), lambda _: calls.append("C"))
    assert "".join(calls) == "ABCBCACAB"


def test_only_the_requested_figures_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def unrequested(scale: service.Scale) -> dict[str, Measured]:
        raise AssertionError

    def both(scale: service.Scale) -> dict[str, Measured]:
        return {name: (Figure(1, 0), {}) for name in ("cached_ms", "drain_lost")}

    monkeypatch.setattr(service, "MEASURES", {("rss_mib",): unrequested, ("cached_ms", "drain_lost"): both})
    assert list(service.run(only=["drain_lost"]).figures) == ["drain_lost"]


def test_every_figure_has_one_measurement() -> None:
    assert [name for names in service.MEASURES for name in names] == list(GOALS)


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(SystemExit, match="--only: unknown figures: speed; known figures: overhead_ms"):
        main(["service", "--only", "speed"])


def test_an_answer_is_weak_by_the_effort_of_the_same_question() -> None:
    easy, hard = TimedAnswer(1, 0.05, 10_000, "OK"), TimedAnswer(2, 0.05, 5_000, "OK")
    capacity = Load(1.0, [easy, hard] * 10)
    verdict = service.count_good(capacity, Load(1.0, [hard] * 10 + [easy._replace(iterations=5_000)] * 4))
    assert (verdict.good, verdict.weak, verdict.goodput) == (10, 4, 0.5)


def test_a_late_and_weak_answer_is_subtracted_once() -> None:
    verdict = service.count_good(AT_CAPACITY, Load(10.0, [WELL] * 399 + [TimedAnswer(0, 0.2, 1, "OK")]))
    assert (verdict.good, verdict.late, verdict.weak) == (399, 1, 1)


# --- the heaviest requests -------------------------------------------------------------------------------------


def test_a_check_that_overlaps_the_span_counts() -> None:
    checks = [
        TimeSpan(0.0, 0.9),
        TimeSpan(0.91, 1.001),
        TimeSpan(1.5, 1.502),
        TimeSpan(1.999, 2.05),
        TimeSpan(2.06, 3.0),
    ]
    assert longest_check(checks, TimeSpan(1.0, 2.0)) == pytest.approx(91)


def test_checks_from_another_process_measure_a_slow_server() -> None:
    with answering(0.05) as server, checking(server) as read_checks:
        span = worst_case.span_of(lambda: time.sleep(0.2))
        longest = longest_check(read_checks(), span)
    assert longest >= 50


def test_resident_memory_follows_an_allocation() -> None:
    with subprocess.Popen([sys.executable, "-c", ALLOCATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        proc = Path(f"/proc/{process.pid}")
        assert process.stdout.readline() == b"ready\n"
        before = worst_case.resident(proc, "VmRSS")
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"allocated\n"
        assert 0.9 * 32 * MIB < worst_case.resident(proc, "VmRSS") - before < 1.5 * 32 * MIB
        assert worst_case.resident(proc, "VmHWM") >= before + 16 * MIB


# In its own process: memory that earlier tests have freed would hide the growth.
ALLOCATE = f"""
import sys
print("ready", flush=True)
sys.stdin.readline()
block = b"1" * {32 * MIB}
print("allocated", flush=True)
sys.stdin.readline()
"""


def test_mixed_views_differ_and_leave_a_choice() -> None:
    views = mixed_views(100)
    assert len({bytes(view) for view in views}) == 100
    assert all(view.to_act == view.observer and view.forced_action is None for view in views)
    assert {view.table.round for view in views} == {1, 2, 3, 4, 5, 6}


def test_the_heaviest_requests_are_valid() -> None:
    for request in (worst_case.long_requests() | worst_case.large_requests()).values():
        for message in request.messages:
            view = getattr(message, "item", message)
            assert message.ByteSize() < MESSAGE_MAX
            if request.method != "Review":
                read_view(view.view)
    assert len(questions.crowded_view().legal_actions()) == 986


@pytest.mark.slow
def test_a_heavy_request_is_answered_and_measured() -> None:
    request = questions.shared_request(worst_case.SMALL_CAP, worst_case.ALL_MOVES)
    growth = worst_case.growth(Request("Suggest", [request]))
    assert growth.peak >= growth.left
    assert growth.peak > MIB
