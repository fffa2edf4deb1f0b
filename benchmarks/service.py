"""Measure the service over loopback: its overhead, time limits, behaviour under load, and shutdown.

The server runs in another process, and this process is its client. Two processes of the same code differ in speed, so
figures that compare a server with another side start a new server in every round.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import signal
import time
import urllib.request
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from statistics import median
from typing import Any, NamedTuple, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks import report
from benchmarks.json_lines import measure_json_lines
from benchmarks.measure import Figure, figure
from benchmarks.questions import mixed_views, question, second_round, timed
from benchmarks.report import Goal, Measured, Result
from benchmarks.servers import BUSY, OWN_CONNECTION, SUGGEST, ServerProcess, echoing, free_port, processes, serving
from benchmarks.worst_case import measure_memory, measure_stall
from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc
from engine_cy import View
from server.codec.views import write_view
from solver import Budget, solve
from solver.pool import cores

T = TypeVar("T")

GOALS = {
    "overhead_ms": Goal(0.7, 0.45),
    "throughput": Goal(0.88, 0.95),
    "cached_ms": Goal(0.25, 0.0),
    "json_lines": Goal(0.9, 1.0),
    "stall_ms": Goal(15, 5),
    "rss_mib": Goal(40, 20),
    "overshoot_idle_ms": Goal(20, 10),
    "overshoot_busy_ms": Goal(50, 25),
    "iterations_vs_in_process": Goal(0.95, 0.98),
    "cancel_p99_ms": Goal(50, 5),
    "overload_goodput": Goal(0.95, None),
    "shed_p99_ms": Goal(25, 24),
    "health_p99_ms": Goal(25, 24),
    "drain_lost": Goal(0, -1),
    "loop_lag_p99_ms": Goal(10, 4),
}
MEANINGS = {
    "overhead_ms": "median time of Suggest(1000 iterations), one client, minus that of `solve` in this process",
    "throughput": "answers/s of 8 clients against 1 / (1/in process on all cores + 1/echo of the same messages)",
    "cached_ms": "median time of a Suggest with a cached answer, minus that of an echo of the same messages",
    "json_lines": "positions/s over JSON lines against AnalyzeBatch, 100 iterations each",
    "stall_ms": "the longest health check while one heavy request is handled; the worst of several requests",
    "rss_mib": "MiB that one heavy request adds to the server's memory beyond its memory cap; the worst of several",
    "overshoot_idle_ms": "how late answers to Suggest(100 ms) are, 99th percentile",
    "overshoot_busy_ms": "the same while other processes keep all cores busy",
    "iterations_vs_in_process": "iterations of Suggest(1 s) against solve(1 s) in this process",
    "cancel_p99_ms": "from a client's cancel to a free search thread, 99th percentile, with the round trip of a probe",
    "overload_goodput": "good answers at four times the capacity, against the capacity before and after",
    "shed_p99_ms": "time of refusals under that load, 99th percentile",
    "health_p99_ms": "time of health checks under that load, 99th percentile",
    "drain_lost": "accepted calls without an answer, over all SIGTERMs under load",
    "loop_lag_p99_ms": "lag of the event loop while all threads search, 99th percentile (upper bound of its bucket)",
}


class Scale(NamedTuple):
    """Number and duration of the measurements."""

    rounds: int = 7  # each with new servers
    calls: int = 200  # of one client, per round and side
    load_seconds: float = 1.0  # of many clients, per round and side
    memory_rounds: int = 2
    timed_calls: int = 400
    seconds_searched: int = 5  # pairs of one-second searches
    cancels: int = 300
    overload_seconds: float = 30.0
    overload_factor: float = 4.0
    drains: int = 20


FULL = Scale()


def run(scale: Scale = FULL, only: Collection[str] = ()) -> Result:
    """Measure the figures in `only`, or all."""
    return report.measure_figures(MEASURES, scale, only)


def as_text(result: Result) -> str:
    return report.as_text("service: loopback", GOALS, MEANINGS, result)


def percentile(values: Sequence[float], percent: float) -> float:
    return sorted(values)[min(int(len(values) * percent / 100), len(values) - 1)]


# --- against a search in this process, and an echo ---------------------------------------------------------------

ITERATIONS = 1000
LINES = 8  # the server's default
CLIENTS = 8
QUESTIONS_CACHED = 20


def measure_overhead(scale: Scale) -> dict[str, Measured]:
    views = mixed_views(scale.calls)
    rounds = []
    for _ in range(scale.rounds):
        with sides_of(views) as (ours, echo):
            rounds.append(times_of(ours, echo, views))
    return {"overhead_ms": overhead(rounds)}


def times_of(server: ServerProcess, other: ServerProcess, views: Sequence[View]) -> Times:
    requests = requests_of(views)
    with calling(server) as call, calling(other) as call_echo:
        ours, in_process, echo = medians(
            len(views),
            lambda number: call(requests[number]),
            lambda number: search(views[number], number),
            lambda number: call_echo(requests[number]),
        )
    return Times(ours, in_process, echo)


class Times(NamedTuple):
    """Median milliseconds of a call on each side, in one round."""

    ours: float
    in_process: float
    echo: float


def overhead(rounds: Sequence[Times]) -> Measured:
    details = {name: [round(getattr(each, name), 3) for each in rounds] for name in Times._fields}
    return figure([each.ours - each.in_process for each in rounds]), details


def measure_cached(scale: Scale) -> dict[str, Measured]:
    views = mixed_views(QUESTIONS_CACHED)
    rounds = []
    for _ in range(scale.rounds):
        with sides_of(views, "--cache-mb", "64") as (ours, echo):
            rounds.append(cached_times(ours, echo, requests_of(views), 5 * scale.calls))
    return {"cached_ms": cached_overhead(rounds)}


def cached_times(
    server: ServerProcess, other: ServerProcess, requests: Sequence[bytes], calls: int
) -> tuple[float, float]:
    """Repeat answered requests; return our median milliseconds and the echo's."""
    with calling(server) as call, calling(other) as call_echo:
        ours, echo = medians(
            calls,
            lambda number: call(requests[number % len(requests)]),
            lambda number: call_echo(requests[number % len(requests)]),
        )
    return ours, echo


def cached_overhead(rounds: Sequence[tuple[float, float]]) -> Measured:
    """Compare our median milliseconds with the echo's, round by round."""
    details = {"ours": [round(ours, 3) for ours, _ in rounds], "echo": [round(echo, 3) for _, echo in rounds]}
    return figure([ours - echo for ours, echo in rounds]), details


def measure_throughput(scale: Scale) -> dict[str, Measured]:
    views = mixed_views(scale.calls)
    rounds = []
    for number in range(scale.rounds):
        with sides_of(views) as (ours, echo):
            rounds.append(rates_of(ours, echo, views, scale.load_seconds, number))
    return {"throughput": throughput(rounds)}


def rates_of(server: ServerProcess, other: ServerProcess, views: Sequence[View], seconds: float, number: int) -> Rates:
    """Measure the sides in turn, in another order in each round."""
    sides: dict[str, Callable[[], float]] = {
        "ours": lambda: answers_per_second(server, views, seconds),
        "in_process": lambda: searches_per_second(views, seconds),
        "echo": lambda: answers_per_second(other, views, seconds),
    }
    return Rates(**{name: sides[name]() for name in rotated(sides, number)})


class Rates(NamedTuple):
    """Answers per second of each side, in one round."""

    ours: float
    in_process: float
    echo: float

    @property
    def ceiling(self) -> float:
        """The rate of a server whose only overhead is that of an echo."""
        return 1 / (1 / self.in_process + 1 / self.echo)


def throughput(rounds: Sequence[Rates]) -> Measured:
    details: dict[str, Any] = {name: [round(getattr(each, name)) for each in rounds] for name in Rates._fields}
    details["vs_in_process"] = round(median(each.ours / each.in_process for each in rounds), 3)
    return figure([each.ours / each.ceiling for each in rounds]), details


@contextmanager
def sides_of(views: Sequence[View], *flags: str) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    """Start a server, send it each question once, and start an echo with its answers."""
    with ExitStack() as stack:
        server = stack.enter_context(serving(*flags))
        with calling(server) as call:
            answers = [call(request) for request in requests_of(views)]
        reasons = {pb.SuggestResponse.FromString(answer).suggestion.stop_reason for answer in answers}
        assert reasons == {pb.STOP_REASON_ITERATIONS}
        yield server, stack.enter_context(echoing(answers))


@contextmanager
def calling(server: ServerProcess) -> Iterator[Callable[[bytes], bytes]]:
    """Yield a call of Suggest on bytes, which leaves out the time in which a client encodes and decodes messages."""
    with server.channel() as channel:
        call: Any = channel.unary_unary(SUGGEST)
        yield call


def requests_of(views: Sequence[View]) -> list[bytes]:
    """Encode the requests; the number of a question is its seed, too."""
    budget = pb.Budget(iterations=ITERATIONS)
    return [
        pb.SuggestRequest(view=write_view(view), budget=budget, options=pb.Options(seed=seed)).SerializeToString()
        for seed, view in enumerate(views)
    ]


def search(view: View, seed: int) -> None:
    solve(view, Budget(iterations=ITERATIONS), seed=seed, lines=LINES)


def medians(calls: int, *sides: Callable[[int], object]) -> list[float]:
    """Return the median milliseconds of each side; they alternate, and each comes first equally often."""
    taken: list[list[float]] = [[] for _ in sides]
    for number in range(calls):
        for index in rotated(range(len(sides)), number):
            start = time.perf_counter()
            sides[index](number)
            taken[index].append((time.perf_counter() - start) * 1e3)
    return [median(each) for each in taken]


def rotated(values: Collection[T], by: int) -> list[T]:
    order = list(values)
    by %= len(order)
    return order[by:] + order[:by]


def searches_per_second(views: Sequence[View], seconds: float) -> float:
    """Search on one thread per core; return the searches per second of all threads together."""
    numbers = itertools.cycle(range(len(views)))
    threads = cores()
    start = time.perf_counter()

    def work(_: int) -> int:
        done = 0
        while time.perf_counter() < start + seconds:
            number = next(numbers)
            search(views[number], number)
            done += 1
        return done

    with ThreadPoolExecutor(threads) as pool:
        done = sum(pool.map(work, range(threads)))
    return done / (time.perf_counter() - start)


def answers_per_second(server: ServerProcess, views: Sequence[View], seconds: float) -> float:
    """Call from several clients, each on its own connection; return the answers per second of all together."""
    requests = itertools.cycle(requests_of(views))

    async def client(until: float) -> int:
        done = 0
        async with grpc.aio.insecure_channel(server.address, OWN_CONNECTION) as channel:
            call: Any = channel.unary_unary(SUGGEST)
            while time.perf_counter() < until:
                await call(next(requests))
                done += 1
        return done

    async def ask() -> float:
        start = time.perf_counter()
        done = await asyncio.gather(*(client(start + seconds) for _ in range(CLIENTS)))
        return sum(done) / (time.perf_counter() - start)

    return asyncio.run(ask())


# --- time ------------------------------------------------------------------------------------------------------


def measure_overshoot(scale: Scale) -> dict[str, Measured]:
    figures = {}
    with serving() as server:
        figures["overshoot_idle_ms"] = overshoot(server, scale.timed_calls)
        with processes(cores(), *BUSY):
            figures["overshoot_busy_ms"] = overshoot(server, scale.timed_calls)
    return figures


def overshoot(server: ServerProcess, calls: int, milliseconds: int = 100) -> Measured:
    late = []
    with server.channel() as channel:
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        for seed in range(calls):
            request = question(seed, timed(milliseconds))
            start = time.perf_counter()
            stub.Suggest(request, timeout=30)
            late.append((time.perf_counter() - start) * 1e3 - milliseconds)
    return overrun(late)


def overrun(late: list[float]) -> Measured:
    """Summarise overruns in milliseconds; the figure is the 99th percentile."""
    details = {"p50": percentile(late, 50), "p99.9": percentile(late, 99.9), "most": max(late), "calls": len(late)}
    return Figure(percentile(late, 99), 0.0), details


def measure_iterations(scale: Scale) -> dict[str, Measured]:
    searched = []
    with serving() as server, server.channel() as channel:
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        for seed in range(scale.seconds_searched):
            request = question(seed, timed(1000))
            served = stub.Suggest(request, timeout=30).suggestion.iterations
            searched.append((served, solve(second_round(seed), Budget(time_ms=1000), seed=seed).iterations))
    return {"iterations_vs_in_process": iterations_ratio(searched)}


def iterations_ratio(searched: list[tuple[int, int]]) -> Measured:
    """Compare the iterations of served searches with those of searches in this process."""
    return figure([served / own for served, own in searched]), {"served_and_own": searched}


def measure_cancel(scale: Scale) -> dict[str, Measured]:
    """Cancel a search on the only thread; a probe is answered once the thread is free."""
    taken, alone = [], []
    draw = random.Random(5)
    probe = question(0, pb.Budget(iterations=1))
    with serving("--threads", "1", "--reserved", "0") as server, server.channel() as channel:
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        for seed in range(scale.cancels):
            start = time.perf_counter()
            stub.Suggest(probe, timeout=30)
            alone.append((time.perf_counter() - start) * 1e3)
            call = stub.Suggest.future(question(seed, pb.Budget(iterations=10**11)), timeout=60)
            time.sleep(draw.uniform(0.005, 0.05))
            start = time.perf_counter()
            call.cancel()
            stub.Suggest(probe, timeout=30)
            taken.append((time.perf_counter() - start) * 1e3)
    return {"cancel_p99_ms": cancel_time(taken, alone)}


def cancel_time(taken: list[float], alone: list[float]) -> Measured:
    """Summarise the milliseconds until the answer to a probe, after a cancel and without one."""
    details = {"p50": median(taken), "most": max(taken), "probe_alone_p50": median(alone)}
    return Figure(percentile(taken, 99), 0.0), details


# --- load ------------------------------------------------------------------------------------------------------


class TimedAnswer(NamedTuple):
    question: int
    seconds: float
    iterations: int
    code: str


OVERLOAD_MS = 50
GRACE_MS = 50
# Share of the iterations at capacity that a good answer needs: a fifth of the time may pass in the queue.
EFFORT = 0.7
# Few enough to send each one several times while measuring capacity.
OVERLOAD_QUESTIONS = 25


class Load(NamedTuple):
    """The answers to the calls of a span of time."""

    seconds: float
    answers: Sequence[TimedAnswer]
    health: Sequence[float] = ()  # milliseconds of health checks in that time
    cpu_seconds: float = 0.0  # of the process that made the calls


def measure_overload(scale: Scale) -> dict[str, Measured]:
    """Alternate between capacity and overload, so that other programs affect both alike."""
    requests = [question(seed, timed(OVERLOAD_MS)).SerializeToString() for seed in range(OVERLOAD_QUESTIONS)]
    seconds = scale.overload_seconds / scale.rounds
    rounds = []
    with serving("--threads", "2") as server:
        before = asyncio.run(closed_loop(server, requests, 2, seconds / 2))
        for _ in range(scale.rounds):
            per_second = len(before.answers) / before.seconds * scale.overload_factor
            offered = asyncio.run(open_loop(server, requests, per_second, seconds))
            after = asyncio.run(closed_loop(server, requests, 2, seconds / 2))
            rounds.append((both(before, after), offered))
            before = after
    return overload_figures(rounds)


def both(one: Load, other: Load) -> Load:
    return Load(one.seconds + other.seconds, [*one.answers, *other.answers])


class Served(NamedTuple):
    """Number of good answers of an overloaded server, and of late and weak ones."""

    good: int
    late: int
    weak: int
    goodput: float  # good answers per second, relative to capacity


def overload_figures(rounds: Sequence[tuple[Load, Load]]) -> dict[str, Measured]:
    """Summarise rounds of capacity and overload: goodput, and the time of refusals and health checks."""
    served = [count_good(capacity, offered) for capacity, offered in rounds]
    answers = [answer for _, offered in rounds for answer in offered.answers]
    shed = [answer.seconds * 1e3 for answer in answers if answer.code == "RESOURCE_EXHAUSTED"]
    health = [check for _, offered in rounds for check in offered.health]
    details = {
        "goodput": [round(each.goodput, 3) for each in served],
        "capacity_per_s": round(median(len(capacity.answers) / capacity.seconds for capacity, _ in rounds), 1),
        "offered": len(answers),
        **{name: sum(getattr(each, name) for each in served) for name in ("good", "late", "weak")},
        "shed": len(shed),
        "other": sum(answer.code not in ("OK", "RESOURCE_EXHAUSTED") for answer in answers),
        "generator_cpu_share": round(median(offered.cpu_seconds / offered.seconds for _, offered in rounds), 3),
    }
    return {
        "overload_goodput": (figure([each.goodput for each in served]), details),
        "shed_p99_ms": (Figure(percentile(shed, 99) if shed else 0.0, 0.0), {}),
        "health_p99_ms": (Figure(percentile(health, 99), 0.0), {"checks": len(health)}),
    }


def count_good(capacity: Load, offered: Load) -> Served:
    """Count the good answers: in time, and with `EFFORT` of the iterations at capacity."""
    usual = usual_iterations(capacity.answers)
    served = [answer for answer in offered.answers if answer.code == "OK"]
    is_late = [answer.seconds * 1e3 > OVERLOAD_MS + GRACE_MS for answer in served]
    is_weak = [answer.iterations < EFFORT * usual[answer.question] for answer in served]
    good = sum(not late and not weak for late, weak in zip(is_late, is_weak, strict=True))
    return Served(good, sum(is_late), sum(is_weak), good / offered.seconds / (len(capacity.answers) / capacity.seconds))


def usual_iterations(answers: Sequence[TimedAnswer]) -> dict[int, float]:
    """Return the median iterations of each question, or of all questions if it has no answer."""
    of_question: dict[int, list[int]] = {number: [] for number in range(OVERLOAD_QUESTIONS)}
    for answer in answers:
        of_question[answer.question].append(answer.iterations)
    of_all = [answer.iterations for answer in answers]
    return {number: median(iterations or of_all) for number, iterations in of_question.items()}


async def closed_loop(server: ServerProcess, requests: Sequence[bytes], clients: int, seconds: float) -> Load:
    """Call from clients that wait for each answer before the next call."""
    answers: list[TimedAnswer] = []
    numbers = itertools.cycle(range(len(requests)))
    until = time.perf_counter() + seconds
    async with grpc.aio.insecure_channel(server.address) as channel:

        async def client() -> None:
            while time.perf_counter() < until:
                number = next(numbers)
                answers.append(await ask(channel, number, requests[number]))

        await asyncio.gather(*(client() for _ in range(clients)))
    return Load(seconds, answers)


async def open_loop(server: ServerProcess, requests: Sequence[bytes], per_second: float, seconds: float) -> Load:
    """Call at random moments, without waiting for answers; check health in parallel."""
    draw = random.Random(7)
    health: list[float] = []
    numbers = itertools.cycle(range(len(requests)))
    async with (
        grpc.aio.insecure_channel(server.address) as channel,
        grpc.aio.insecure_channel(server.address, OWN_CONNECTION) as other,
    ):

        async def check() -> None:
            stub: Any = health_pb2_grpc.HealthStub(other)
            while True:
                start = time.perf_counter()
                await stub.Check(health_pb2.HealthCheckRequest())
                health.append((time.perf_counter() - start) * 1e3)
                await asyncio.sleep(0.05)

        checking = asyncio.ensure_future(check())
        calls = []
        start, at, cpu = time.perf_counter(), 0.0, time.process_time()
        while at < seconds:
            at += draw.expovariate(per_second)
            await asyncio.sleep(max(start + at - time.perf_counter(), 0))
            number = next(numbers)
            calls.append(asyncio.ensure_future(ask(channel, number, requests[number])))
        answers = list(await asyncio.gather(*calls))
        checking.cancel()
    return Load(seconds, answers, health, time.process_time() - cpu)


async def ask(channel: grpc.aio.Channel, number: int, request: bytes) -> TimedAnswer:
    call: Any = channel.unary_unary(SUGGEST, response_deserializer=pb.SuggestResponse.FromString)
    start = time.perf_counter()
    try:
        answer = (await call(request, timeout=10)).suggestion
        return TimedAnswer(number, time.perf_counter() - start, answer.iterations, "OK")
    except grpc.aio.AioRpcError as error:
        return TimedAnswer(number, time.perf_counter() - start, 0, error.code().name)


class Drain(NamedTuple):
    """Status codes of calls that searched or waited at SIGTERM, and of calls after it."""

    taken: list[str]
    late: list[str]
    seconds: float  # until the process exited
    exit_code: int


def measure_drains(scale: Scale) -> dict[str, Measured]:
    return {"drain_lost": lost_calls([drain(number) for number in range(scale.drains)])}


def drain(number: int) -> Drain:
    # The self-test would take longer than the drain.
    with serving("--drain-ms", "100", "--no-self-test") as server, server.channel() as channel:
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        request = question(number, pb.Budget(iterations=10**11))
        taken = [stub.Suggest.future(request, timeout=30) for _ in range(10)]
        time.sleep(0.15)
        start = time.perf_counter()
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.02)
        late = [stub.Suggest.future(request, timeout=30) for _ in range(10)]
        answered, refused = ([code_of(call) for call in calls] for calls in (taken, late))
        exit_code = server.process.wait(30)
        return Drain(answered, refused, time.perf_counter() - start, exit_code)


def code_of(call: Any) -> str:
    return "OK" if call.exception() is None else str(call.exception().code().name)


def lost_calls(drains: list[Drain]) -> Measured:
    """Count accepted calls without an answer: all calls of a server that exits with an error."""
    lost = sum(len(one.taken) if one.exit_code else len(one.taken) - one.taken.count("OK") for one in drains)
    details = {
        "answered": sum(one.taken.count("OK") for one in drains),
        "refused_later": sum(len(one.late) - one.late.count("OK") for one in drains),
        "drains": len(drains),
        "slowest_s": max(one.seconds for one in drains),
    }
    return Figure(lost, 0.0), details


def measure_loop_lag(scale: Scale) -> dict[str, Measured]:
    port = free_port()
    seconds = max(scale.timed_calls / 50, 3.0)
    with serving("--metrics", f"127.0.0.1:{port}") as server, server.channel() as channel:
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        before = lag_counts(port)
        calls = [stub.Suggest.future(question(n, timed(int(seconds * 1000))), timeout=60) for n in range(cores())]
        for call in calls:
            call.result()
        after = lag_counts(port)
    return {"loop_lag_p99_ms": lag_percentile({bound: count - before[bound] for bound, count in after.items()})}


def lag_percentile(counts: dict[float, float]) -> Measured:
    """Return the 99th percentile of the loop's lag from cumulative counts by upper bound in seconds."""
    total = counts[float("inf")]
    worst = next(bound for bound, count in sorted(counts.items()) if count >= 0.99 * total)
    return Figure(worst * 1e3, 0.0), {"wakes": total}


def lag_counts(port: int) -> dict[float, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as page:
        lines = page.read().decode().splitlines()
    begin = 'eminence_loop_lag_seconds_bucket{le="'
    buckets = (line.removeprefix(begin).split('"} ') for line in lines if line.startswith(begin))
    return {float(bound): float(count) for bound, count in buckets}


# Functions by the figures that they measure together.
MEASURES: dict[tuple[str, ...], Callable[[Scale], dict[str, Measured]]] = {
    ("overhead_ms",): measure_overhead,
    ("throughput",): measure_throughput,
    ("cached_ms",): measure_cached,
    ("json_lines",): lambda scale: measure_json_lines(scale.rounds, scale.calls),
    ("stall_ms",): lambda scale: measure_stall(scale.rounds),
    ("rss_mib",): lambda scale: measure_memory(scale.memory_rounds),
    ("overshoot_idle_ms", "overshoot_busy_ms"): measure_overshoot,
    ("iterations_vs_in_process",): measure_iterations,
    ("cancel_p99_ms",): measure_cancel,
    ("overload_goodput", "shed_p99_ms", "health_p99_ms"): measure_overload,
    ("drain_lost",): measure_drains,
    ("loop_lag_p99_ms",): measure_loop_lag,
}
