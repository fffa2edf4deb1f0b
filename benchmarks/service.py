"""The service over loopback: what it costs beside an echo, and whether it keeps its word about time, load and ends.

The server is a process of its own, and this process is its client. The *echo* is a server in the same mode (grpc.aio,
the same options) that parses the request and serializes a ready answer, and does nothing else.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from statistics import median
from typing import Any, NamedTuple

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks.measure import Figure, figure, load
from benchmarks.report import Goal, Measured, Result, table
from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc
from engine_cy import View, new_game
from server.codec import views
from solver import Budget, solve

METHOD = "/eminence.v1.SolverService/Suggest"
SERVING = health_pb2.HealthCheckResponse.SERVING
GAME = ("oriflamme", "en-2019", 4)

GOALS = {
    "p50_vs_echo": Goal(1.25, 1.12),
    "rps8_vs_echo": Goal(0.80, 0.90),
    "rps64_vs_echo": Goal(0.80, 0.90),
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
    "p50_vs_echo": "median time of a visibly forced Suggest, cache off, against the echo, one client",
    "rps8_vs_echo": "the same, requests per second of 8 callers",
    "rps64_vs_echo": "the same, of 64 callers",
    "overshoot_idle_ms": "answers to Suggest(100 ms): 99 of 100 are no later than so",
    "overshoot_busy_ms": "the same while other processes keep all cores busy",
    "iterations_vs_in_process": "iterations of Suggest(1 s) against solve(1 s) in this process",
    "cancel_p99_ms": "from a client's cancel to its thread being free, 99 of 100, the round trip of a probe included",
    "overload_goodput": "four times the capacity offered: good answers against capacity",
    "shed_p99_ms": "meanwhile, 99 of 100 refusals come within so long",
    "health_p99_ms": "meanwhile, 99 of 100 health checks",
    "drain_lost": "calls that were taken and not answered, over all SIGTERMs under load",
    "loop_lag_p99_ms": "how late the event loop wakes while all threads search, 99 of 100 (upper bound of its bucket)",
}


class Scale(NamedTuple):
    """How much of everything to do."""

    rounds: int = 7
    calls: int = 200  # of one client, a round and side
    load_seconds: float = 1.5  # of many callers, a round and side
    timed_calls: int = 1_000
    seconds_searched: int = 5  # pairs of searches of a second
    cancels: int = 300
    overload_seconds: float = 60.0
    overload_factor: float = 4.0
    drains: int = 50


FULL = Scale()


def run(scale: Scale = FULL) -> Result:
    """Measure everything."""
    before = load()
    figures: dict[str, Figure] = {}
    raw: dict[str, Any] = {}
    for measure in MEASURES:
        for name, (found, told) in measure(scale).items():
            figures[name] = found
            raw[name] = told
    return Result(figures, raw, {}, {"before": before, "after": load()})


def as_text(result: Result) -> str:
    lines = [
        f"service: loopback; load {result.load['before']} before, {result.load['after']} after",
        "",
        table(GOALS, result.figures),
        "",
        *(f"{name}: {meaning}" for name, meaning in MEANINGS.items()),
        "",
        *(f"{name}: {told}" for name, told in result.raw.items() if told),
    ]
    return "\n".join(lines)


# --- servers ---------------------------------------------------------------------------------------------------


class Server:
    """A server in a process of its own."""

    def __init__(self, command: list[str], given: bytes = b"") -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(given)
        self.process.stdin.close()
        self.address = self.process.stdout.readline().decode().split()[-1]

    def channel(self) -> grpc.Channel:
        return grpc.insecure_channel(self.address, [("grpc.use_local_subchannel_pool", 1)])

    def wait_until_serving(self) -> None:
        with self.channel() as channel:
            health: Any = health_pb2_grpc.HealthStub(channel)
            while health.Check(health_pb2.HealthCheckRequest(), timeout=30).status != SERVING:
                time.sleep(0.02)


@contextmanager
def serving(*flags: str) -> Iterator[Server]:
    """The server, which keeps no answers."""
    command = [sys.executable, "-m", "server", "--address", "127.0.0.1:0", "--cache-mb", "0", "--log", "error", *flags]
    server = Server(command)
    try:
        server.wait_until_serving()
        yield server
    finally:
        server.process.kill()
        server.process.wait()


@contextmanager
def echoing(answer: pb.SuggestResponse) -> Iterator[Server]:
    code = "from benchmarks.service import echo; echo()"
    server = Server([sys.executable, "-c", code], answer.SerializeToString())
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()


def echo() -> None:
    """Parse every request, and answer what came by the standard input."""

    class Echo(solver_pb2_grpc.SolverServiceServicer):
        def __init__(self, answer: pb.SuggestResponse) -> None:
            self._answer = answer

        async def Suggest(self, request: pb.SuggestRequest, context: Any) -> pb.SuggestResponse:
            return self._answer

    async def serve(answer: pb.SuggestResponse) -> None:
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0), ("grpc.max_concurrent_streams", 100)])
        servicer: Any = Echo(answer)  # type: ignore[abstract]
        solver_pb2_grpc.add_SolverServiceServicer_to_server(servicer, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        print(f"127.0.0.1:{port}", flush=True)
        await server.wait_for_termination()

    asyncio.run(serve(pb.SuggestResponse.FromString(sys.stdin.buffer.read())))


# --- questions -------------------------------------------------------------------------------------------------


def forced_view() -> View:
    """Its observer has one move, and everybody sees that."""
    game, draw = new_game(*GAME), random.Random(1)
    for seed in range(200):
        position = game.deal(seed)
        while not position.is_over:
            seat = position.to_act
            if seat is not None and seat >= 0:
                view = position.view(seat)
                if len(view.legal_actions()) == 1 and solve(view, Budget(iterations=1)).stopped_by == "forced":
                    return view
            position = position.play(draw.choice(position.legal_actions()))
    raise AssertionError("no forced move in 200 games")


def question(seed: int, budget: pb.Budget) -> pb.SuggestRequest:
    """What the first player sees at the start of some game, a new one for each seed."""
    return pb.SuggestRequest(view=views.write_view(new_game(*GAME).deal(seed).view(0)), budget=budget)


def timed(milliseconds: int) -> pb.Budget:
    budget = pb.Budget()
    budget.time.FromMilliseconds(milliseconds)
    return budget


def percentile(values: list[float], percent: float) -> float:
    return sorted(values)[min(int(len(values) * percent / 100), len(values) - 1)]


# --- beside an echo --------------------------------------------------------------------------------------------


def measure_against_echo(scale: Scale) -> dict[str, Measured]:
    request = pb.SuggestRequest(view=views.write_view(forced_view()))
    raw = request.SerializeToString()
    with ExitStack() as stack:
        server = stack.enter_context(serving())
        with server.channel() as channel:
            stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
            answer = stub.Suggest(request, timeout=10)
        assert answer.suggestion.stop_reason == pb.STOP_REASON_FORCED
        other = stack.enter_context(echoing(answer))
        sizes = {"request_bytes": len(raw), "answer_bytes": answer.ByteSize()}
        found: dict[str, Measured] = {"p50_vs_echo": one_client(server, other, raw, scale, sizes)}
        for callers in (8, 64):
            found[f"rps{callers}_vs_echo"] = many_clients(server, other, raw, callers, scale)
    return found


def one_client(server: Server, other: Server, raw: bytes, scale: Scale, sizes: dict[str, int]) -> Measured:
    with server.channel() as ours, other.channel() as theirs:
        calls: list[Any] = [channel.unary_unary(METHOD) for channel in (ours, theirs)]
        for call in calls:
            for _ in range(200):
                call(raw)
        medians: list[tuple[float, float]] = []
        for _ in range(scale.rounds):
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(scale.calls):
                for call, taken in zip(calls, times, strict=True):
                    begun = time.perf_counter()
                    call(raw)
                    taken.append(time.perf_counter() - begun)
            medians.append((median(times[0]), median(times[1])))
    told = {"ms": median(mine for mine, _ in medians) * 1e3, "echo_ms": median(echo for _, echo in medians) * 1e3}
    return figure([mine / echo for mine, echo in medians]), told | sizes


def many_clients(server: Server, other: Server, raw: bytes, callers: int, scale: Scale) -> Measured:
    rates = [
        (calls_per_second(server, raw, callers, scale), calls_per_second(other, raw, callers, scale))
        for _ in range(scale.rounds)
    ]
    told = {"per_second": median(mine for mine, _ in rates), "echo_per_second": median(echo for _, echo in rates)}
    return figure([mine / echo for mine, echo in rates]), told


def calls_per_second(server: Server, raw: bytes, callers: int, scale: Scale) -> float:
    async def loop() -> float:
        channels = [
            grpc.aio.insecure_channel(server.address, [("grpc.use_local_subchannel_pool", 1)])
            for _ in range(min(callers, 8))
        ]
        done, until = 0, time.perf_counter() + scale.load_seconds

        async def caller(number: int) -> None:
            nonlocal done
            call: Any = channels[number % len(channels)].unary_unary(METHOD)
            while time.perf_counter() < until:
                await call(raw)
                done += 1

        begun = time.perf_counter()
        await asyncio.gather(*map(caller, range(callers)))
        seconds = time.perf_counter() - begun
        for channel in channels:
            await channel.close()
        return done / seconds

    return asyncio.run(loop())


# --- time ------------------------------------------------------------------------------------------------------


def measure_overshoot(scale: Scale) -> dict[str, Measured]:
    found = {}
    with serving() as server:
        found["overshoot_idle_ms"] = overshoot(server, scale.timed_calls)
        with busy_cores():
            found["overshoot_busy_ms"] = overshoot(server, scale.timed_calls)
    return found


def overshoot(server: Server, calls: int, milliseconds: int = 100) -> Measured:
    late = []
    with server.channel() as channel:
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        for seed in range(calls):
            request = question(seed, timed(milliseconds))
            begun = time.perf_counter()
            stub.Suggest(request, timeout=30)
            late.append((time.perf_counter() - begun) * 1e3 - milliseconds)
    told = {"p50": percentile(late, 50), "p99.9": percentile(late, 99.9), "most": max(late), "calls": calls}
    return Figure(percentile(late, 99), 0.0), told


@contextmanager
def busy_cores() -> Iterator[None]:
    spin = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(spin) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def measure_iterations(scale: Scale) -> dict[str, Measured]:
    ratios, raw = [], []
    with serving() as server, server.channel() as channel:
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        for seed in range(scale.seconds_searched):
            request = question(seed, timed(1000))
            served = stub.Suggest(request, timeout=30).suggestion.iterations
            view = new_game(*GAME).deal(seed).view(0)
            own = solve(view, Budget(time_ms=1000), seed=seed).iterations
            ratios.append(served / own)
            raw.append((served, own))
    return {"iterations_vs_in_process": (figure(ratios), {"served_and_own": raw})}


def measure_cancel(scale: Scale) -> dict[str, Measured]:
    """With one thread, a probe that needs it is answered when the thread is free."""
    taken, alone = [], []
    draw = random.Random(5)
    probe = question(0, pb.Budget(iterations=1))
    with serving("--threads", "1", "--reserved", "0") as server, server.channel() as channel:
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        for seed in range(scale.cancels):
            begun = time.perf_counter()
            stub.Suggest(probe, timeout=30)
            alone.append((time.perf_counter() - begun) * 1e3)
            call = stub.Suggest.future(question(seed, pb.Budget(iterations=10**11)), timeout=60)
            time.sleep(draw.uniform(0.005, 0.05))
            begun = time.perf_counter()
            call.cancel()
            stub.Suggest(probe, timeout=30)
            taken.append((time.perf_counter() - begun) * 1e3)
    told = {"p50": median(taken), "most": max(taken), "probe_alone_p50": median(alone)}
    return {"cancel_p99_ms": (Figure(percentile(taken, 99), 0.0), told)}


# --- load ------------------------------------------------------------------------------------------------------


class Answer(NamedTuple):
    seconds: float
    iterations: int
    code: str


OVERLOAD_MS = 50
GRACE_MS = 50
# Of the iterations of an answer at capacity, so many are full effort: the queue may take a quarter of the time.
EFFORT = 0.7


def measure_overload(scale: Scale) -> dict[str, Measured]:
    with serving("--threads", "2") as server:
        at_capacity = asyncio.run(closed_loop(server, 2, scale.overload_seconds / 4))
        capacity = len(at_capacity) / (scale.overload_seconds / 4)
        effort = EFFORT * median(answer.iterations for answer in at_capacity)
        cpu = time.process_time()
        answers, health = asyncio.run(open_loop(server, capacity * scale.overload_factor, scale.overload_seconds))
        cpu = time.process_time() - cpu
    good = [
        answer
        for answer in answers
        if answer.code == "OK" and answer.seconds * 1e3 <= OVERLOAD_MS + GRACE_MS and answer.iterations >= effort
    ]
    served = [answer for answer in answers if answer.code == "OK"]
    shed = [answer.seconds * 1e3 for answer in answers if answer.code == "RESOURCE_EXHAUSTED"]
    told = {
        "capacity_per_s": capacity,
        "offered": len(answers),
        "good": len(good),
        "served": len(served),
        "shed": len(shed),
        "other": len(answers) - len(served) - len(shed),
        "generator_cpu_share": cpu / scale.overload_seconds,
    }
    return {
        "overload_goodput": (Figure(len(good) / scale.overload_seconds / capacity, 0.0), told),
        "shed_p99_ms": (Figure(percentile(shed, 99) if shed else 0.0, 0.0), {}),
        "health_p99_ms": (Figure(percentile(health, 99), 0.0), {"checks": len(health)}),
    }


async def closed_loop(server: Server, callers: int, seconds: float) -> list[Answer]:
    answers: list[Answer] = []
    until = time.perf_counter() + seconds
    async with grpc.aio.insecure_channel(server.address) as channel:

        async def caller(number: int) -> None:
            seed = number * 10**6
            while time.perf_counter() < until:
                seed += 1
                answers.append(await ask(channel, seed))

        await asyncio.gather(*map(caller, range(callers)))
    return answers


async def open_loop(server: Server, per_second: float, seconds: float) -> tuple[list[Answer], list[float]]:
    """Calls that come whether or not others are answered; and health checks meanwhile."""
    draw = random.Random(7)
    health: list[float] = []
    async with (
        grpc.aio.insecure_channel(server.address) as channel,
        grpc.aio.insecure_channel(server.address, [("grpc.use_local_subchannel_pool", 1)]) as other,
    ):

        async def check() -> None:
            stub: Any = health_pb2_grpc.HealthStub(other)
            while True:
                begun = time.perf_counter()
                await stub.Check(health_pb2.HealthCheckRequest())
                health.append((time.perf_counter() - begun) * 1e3)
                await asyncio.sleep(0.05)

        checking = asyncio.ensure_future(check())
        calls = []
        begun, at, seed = time.perf_counter(), 0.0, 10**9
        while at < seconds:
            at += draw.expovariate(per_second)
            await asyncio.sleep(max(begun + at - time.perf_counter(), 0))
            seed += 1
            calls.append(asyncio.ensure_future(ask(channel, seed)))
        answers = list(await asyncio.gather(*calls))
        checking.cancel()
    return answers, health


async def ask(channel: grpc.aio.Channel, seed: int) -> Answer:
    stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
    request = question(seed, timed(OVERLOAD_MS))
    begun = time.perf_counter()
    try:
        found = (await stub.Suggest(request, timeout=10)).suggestion
        return Answer(time.perf_counter() - begun, found.iterations, "OK")
    except grpc.aio.AioRpcError as error:
        return Answer(time.perf_counter() - begun, 0, error.code().name)


def measure_drains(scale: Scale) -> dict[str, Measured]:
    """Calls that search or wait when SIGTERM comes, and calls after it: the first are answered, the others told no."""
    lost = answered = refused = 0
    slowest = 0.0
    for number in range(scale.drains):
        with serving("--drain-ms", "100") as server, server.channel() as channel:
            stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
            request = question(number, pb.Budget(iterations=10**11))
            taken = [stub.Suggest.future(request, timeout=30) for _ in range(10)]
            time.sleep(0.15)
            begun = time.perf_counter()
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.02)
            late = [stub.Suggest.future(request, timeout=30) for _ in range(10)]
            lost += sum(call.exception() is not None for call in taken)
            answered += sum(call.exception() is None for call in taken)
            refused += sum(call.exception() is not None for call in late)
            server.process.wait(30)
            slowest = max(slowest, time.perf_counter() - begun)
    told = {"answered": answered, "refused_later": refused, "drains": scale.drains, "slowest_s": slowest}
    return {"drain_lost": (Figure(lost, 0.0), told)}


def measure_loop_lag(scale: Scale) -> dict[str, Measured]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    seconds = max(scale.timed_calls / 50, 3.0)
    with serving("--metrics", f"127.0.0.1:{port}") as server, server.channel() as channel:
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        before = lag_counts(port)
        calls = [
            stub.Suggest.future(question(n, timed(int(seconds * 1000))), timeout=60) for n in os.sched_getaffinity(0)
        ]
        for call in calls:
            call.result()
        after = lag_counts(port)
    counts = {bound: count - before[bound] for bound, count in after.items()}
    total = counts[float("inf")]
    worst = next(bound for bound, count in sorted(counts.items()) if count >= 0.99 * total)
    return {"loop_lag_p99_ms": (Figure(worst * 1e3, 0.0), {"wakes": total})}


def lag_counts(port: int) -> dict[float, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as page:
        lines = page.read().decode().splitlines()
    begin = 'eminence_loop_lag_seconds_bucket{le="'
    found = (line.removeprefix(begin).split('"} ') for line in lines if line.startswith(begin))
    return {float(bound): float(count) for bound, count in found}


MEASURES: list[Callable[[Scale], dict[str, Measured]]] = [
    measure_against_echo,
    measure_overshoot,
    measure_iterations,
    measure_cancel,
    measure_overload,
    measure_drains,
    measure_loop_lag,
]
