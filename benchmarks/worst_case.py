"""Measure how long the heaviest valid requests block the event loop, and how much memory they take.

A health check is the smallest call: while one waits, the server answers no other call either. A separate process makes
the checks, so that the client that sends the requests does not delay them.
"""

from __future__ import annotations

import gc
import pickle
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import grpc

from benchmarks import questions
from benchmarks.measure import figure
from benchmarks.report import Measured
from benchmarks.servers import OWN_CONNECTION, ServerProcess, serving
from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc
from engine_cy import new_game
from server.codec.views import write_view

HEALTH = "/grpc.health.v1.Health/Check"
TIMEOUT = 120
# Checks count until this long after an answer: the server still frees memory of the request then.
AFTER_SECONDS = 0.3
WARM_CALLS = 20
MIB = 2**20
DEFAULT_CAP = 256 * MIB  # of a server that is started without flags
SMALL_CAP = MIB // 8
# Iterations in which each share of a search visits each of almost a thousand moves.
ALL_MOVES = 400_000


class Request(NamedTuple):
    """A call of the service; only AnalyzeBatch has several messages."""

    method: str
    messages: Sequence[Any]
    is_counted: bool = True  # else only printed

    @property
    def memory_cap(self) -> int:
        budget = getattr(self.messages[0], "budget", pb.Budget())
        return budget.memory_bytes or DEFAULT_CAP

    def ask(self, channel: grpc.Channel) -> None:
        """Make the call and read all answers."""
        call = getattr(solver_pb2_grpc.SolverServiceStub(channel), self.method)
        if self.method == "AnalyzeBatch":
            assert not any(answer.HasField("error") for answer in call(iter(self.messages), timeout=TIMEOUT))
        elif self.method in ("Analyze", "Review"):
            list(call(self.messages[0], timeout=TIMEOUT))
        else:
            call(self.messages[0], timeout=TIMEOUT)


def warm_up(channel: grpc.Channel) -> None:
    for seed in range(WARM_CALLS):
        Request("Suggest", [questions.question(seed, pb.Budget(iterations=1000))]).ask(channel)


# --- stalls ----------------------------------------------------------------------------------------------------


class TimeSpan(NamedTuple):
    """A span of time, in seconds of the monotonic clock that all processes share."""

    begin: float
    end: float


def measure_stall(rounds: int) -> dict[str, Measured]:
    requests = long_requests()
    longest: dict[str, list[float]] = {name: [] for name in ["idle", *requests]}
    for _ in range(rounds):
        with serving() as server, server.channel() as channel:
            warm_up(channel)
            with checking(server) as read_checks:
                spans = {"idle": span_of(lambda: time.sleep(1))}
                for name, request in requests.items():
                    spans[name] = span_of(partial(request.ask, channel))
                checks = read_checks()
        for name, span in spans.items():
            longest[name].append(longest_check(checks, span))
    counted = [name for name, request in requests.items() if request.is_counted]
    worst, details = worst_median(longest, counted)
    sizes = {
        "history_actions": {
            name: len(request.messages[0].view.history.actions)
            for name, request in requests.items()
            if name.startswith("history")
        },
        "moves": len(questions.crowded_view().legal_actions()),
    }
    return {"stall_ms": (worst, details | sizes)}


def long_requests() -> dict[str, Request]:
    """Return the requests by name; the benchmark checks health during each."""
    longest = {
        "oriflamme": questions.longest_game(new_game("oriflamme", "en-2019", 5)),
        "castle": questions.longest_game(new_game("castle_village_port", "house", 5)),
        "own_tables": questions.longest_game(questions.own_tables()),
    }
    histories = {f"history_{name}": questions.history_request(record) for name, record in longest.items()}
    return {
        "ordinary": Request("Suggest", [questions.question(0, questions.timed(1_000))], is_counted=False),
        "review": Request("Review", [questions.review_request()]),
        **{name: Request("Suggest", [request]) for name, request in histories.items()},
        "batch": Request("AnalyzeBatch", questions.batch_requests(map(write_view, questions.mixed_views(1_000)))),
        "analyze": Request("Analyze", [questions.analyze_request()]),
        "suggest_256_shares": Request("Suggest", [questions.shared_request()], is_counted=False),
        "batch_of_histories": Request(
            "AnalyzeBatch", questions.batch_requests([histories["history_oriflamme"].view] * 250), is_counted=False
        ),
        # At the end: freeing its memory slows the next request down.
        "compare": Request("Compare", [questions.compare_request()]),
    }


def span_of(ask: Callable[[], object]) -> TimeSpan:
    begin = time.monotonic()
    ask()
    time.sleep(AFTER_SECONDS)
    return TimeSpan(begin, time.monotonic())


def longest_check(checks: Sequence[TimeSpan], span: TimeSpan) -> float:
    """Return the milliseconds of the longest check that overlaps the span."""
    return max(
        (check.end - check.begin) * 1e3 for check in checks if check.end >= span.begin and check.begin <= span.end
    )


def worst_median(values: Mapping[str, Sequence[float]], counted: Sequence[str]) -> Measured:
    """Return the largest median among the counted requests, and the medians of all."""
    medians = {name: round(median(each), 1) for name, each in values.items()}
    worst = max(counted, key=lambda name: median(values[name]))
    return figure(values[worst]), {"worst": worst, **medians}


@contextmanager
def checking(server: ServerProcess) -> Iterator[Callable[[], list[TimeSpan]]]:
    """Check the server's health from another process; yield a function that ends the checks and returns them."""
    code = "from benchmarks.worst_case import check_health; check_health()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, server.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout
    stdout.readline()

    def end() -> list[TimeSpan]:
        stdin.close()
        return [TimeSpan(*check) for check in pickle.load(stdout)]

    try:
        yield end
    finally:
        process.kill()
        process.wait()


def check_health() -> None:
    """Check every millisecond until standard input is closed; then write the start and end of each check."""
    gc.disable()
    checks = []
    with grpc.insecure_channel(sys.argv[1], OWN_CONNECTION) as channel:
        call: Any = channel.unary_unary(HEALTH)
        call(b"", timeout=TIMEOUT)
        print("checking", flush=True)
        while not select.select([sys.stdin], [], [], 0.001)[0]:
            begin = time.monotonic()
            call(b"", timeout=TIMEOUT)
            checks.append((begin, time.monotonic()))
    sys.stdout.buffer.write(pickle.dumps(checks))
    sys.stdout.flush()


# --- memory ----------------------------------------------------------------------------------------------------


class Growth(NamedTuple):
    """Growth of a server's resident memory by a request, in bytes: the peak, and a second after the answer."""

    peak: int
    left: int


def measure_memory(rounds: int) -> dict[str, Measured]:
    requests = large_requests()
    growths: dict[str, list[Growth]] = {name: [] for name in requests}
    for _ in range(rounds):
        for name, request in requests.items():
            growths[name].append(growth(request))
    return {"rss_mib": growth_beyond_cap(growths, {name: request.memory_cap for name, request in requests.items()})}


def large_requests() -> dict[str, Request]:
    requests = {"review": Request("Review", [questions.review_request()])}
    for name, cap in (("default", None), ("small", SMALL_CAP)):
        requests |= {
            f"compare_{name}_cap": Request("Compare", [questions.compare_request(cap)]),
            f"suggest_256_shares_{name}_cap": Request("Suggest", [questions.shared_request(cap)]),
            f"suggest_all_moves_{name}_cap": Request("Suggest", [questions.shared_request(cap, ALL_MOVES)]),
            f"analyze_{name}_cap": Request("Analyze", [questions.analyze_request(cap)]),
        }
    return requests


def growth(request: Request) -> Growth:
    """Measure a request at a fresh server, which holds no memory of other requests."""
    with serving("--no-self-test") as server, server.channel() as channel:
        warm_up(channel)
        process = Path("/proc", str(server.process.pid))
        before = resident(process, "VmRSS")
        (process / "clear_refs").write_text("5")  # resets the peak, VmHWM
        request.ask(channel)
        peak = resident(process, "VmHWM")
        time.sleep(1)
        return Growth(peak - before, resident(process, "VmRSS") - before)


def resident(process: Path, field: str) -> int:
    """Return the value of a field in /proc/PID/status, in bytes."""
    lines = (process / "status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def growth_beyond_cap(growths: Mapping[str, Sequence[Growth]], caps: Mapping[str, int]) -> Measured:
    """Return the MiB by which peaks exceed the memory cap of their request: the worst request, and all."""
    beyond = {name: [(each.peak - caps[name]) / MIB for each in rounds] for name, rounds in growths.items()}
    worst, details = worst_median(beyond, list(beyond))
    left = {name: round(median(each.left for each in rounds) / MIB, 1) for name, rounds in growths.items()}
    return worst, details | {"left": left}
