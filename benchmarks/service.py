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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any, NamedTuple

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from benchmarks import report
from benchmarks.measure import Figure, figure, load
from benchmarks.report import Goal, Measured, Result
from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc
from engine_cy import View, new_game
from server.codec import views
from solver import Budget, solve

METHOD = "/eminence.v1.SolverService/Suggest"
SERVING = health_pb2.HealthCheckResponse.SERVING
GAME = ("oriflamme", "en-2019", 4)
CASTLE = ("castle_village_port", "house", 4)

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
    # Without goals.
    "cached_p50_vs_echo": "median time of a Suggest whose answer was kept, against the echo, one client",
    "castle_p50_vs_echo": "the first figure for a forced move of Castle, Village, Port",
}


class Scale(NamedTuple):
    """How much of everything to do."""

    # Many short rounds: other programs come and go, and sides are compared within a round.
    rounds: int = 21
    calls: int = 100  # of one client, a round and side
    load_seconds: float = 0.6  # of many callers, a round and side
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
        report.table(GOALS, result.figures),
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


def forced_view(spec: tuple[str, str, int] = GAME) -> View:
    """Its observer has one move, and everybody sees that."""
    game, draw = new_game(*spec), random.Random(1)
    for seed in range(200):
        position = game.deal(seed)
        while not position.is_over:
            seat = position.to_act
            if seat is not None and seat >= 0:
                view = position.view(seat)
                if view.forced_action is not None:
                    return view
            position = position.play(draw.choice(position.legal_actions()))
    raise AssertionError("no forced move in 200 games")


def table(seed: int) -> View:
    """What the player to act sees at the start of some game's second round: hardly two seeds have the same."""
    position, draw = new_game(*GAME).deal(seed), random.Random(seed)
    while position.table.round == 1:
        position = position.play(draw.choice(position.legal_actions()))
    assert position.to_act is not None
    return position.view(position.to_act)


def question(seed: int, budget: pb.Budget) -> pb.SuggestRequest:
    return pb.SuggestRequest(view=views.write_view(table(seed)), budget=budget)


def timed(milliseconds: int) -> pb.Budget:
    budget = pb.Budget()
    budget.time.FromMilliseconds(milliseconds)
    return budget


def percentile(values: Sequence[float], percent: float) -> float:
    return sorted(values)[min(int(len(values) * percent / 100), len(values) - 1)]


# --- beside an echo --------------------------------------------------------------------------------------------


def measure_against_echo(scale: Scale) -> dict[str, Measured]:
    request, castle = (pb.SuggestRequest(view=views.write_view(forced_view(spec))) for spec in (GAME, CASTLE))
    with serving() as server:
        with echo_of(server, request, pb.STOP_REASON_FORCED) as other:
            found = {"p50_vs_echo": one_client(server, other, request, scale)}
            for callers in (8, 64):
                found[f"rps{callers}_vs_echo"] = many_clients(server, other, request, callers, scale)
        with echo_of(server, castle, pb.STOP_REASON_FORCED) as other:
            found["castle_p50_vs_echo"] = one_client(server, other, castle, scale)
    request = question(1, pb.Budget(iterations=1000))
    with serving("--cache-mb", "1") as server, echo_of(server, request, pb.STOP_REASON_ITERATIONS) as other:
        found["cached_p50_vs_echo"] = one_client(server, other, request, scale)
    return found


@contextmanager
def echo_of(server: Server, request: pb.SuggestRequest, reason: Any) -> Iterator[Server]:
    """An echo with the server's answer, which has to end for this reason."""
    with server.channel() as channel:
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        answer = stub.Suggest(request, timeout=10)
    assert answer.suggestion.stop_reason == reason
    with echoing(answer) as other:
        yield other


def one_client(server: Server, other: Server, request: pb.SuggestRequest, scale: Scale) -> Measured:
    raw = request.SerializeToString()
    with server.channel() as ours, other.channel() as theirs:
        calls: list[Any] = [channel.unary_unary(METHOD) for channel in (ours, theirs)]
        for call in calls:
            for _ in range(200):
                answer = call(raw)
        medians = []
        for _ in range(scale.rounds):
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(scale.calls):
                for call, taken in zip(calls, times, strict=True):
                    begun = time.perf_counter()
                    call(raw)
                    taken.append(time.perf_counter() - begun)
            medians.append((median(times[0]) * 1e3, median(times[1]) * 1e3))
    found, told = beside_echo(medians)
    return found, told | {"request_bytes": len(raw), "answer_bytes": len(answer)}


def beside_echo(rounds: list[tuple[float, float]]) -> Measured:
    """Ours and the echo's, in one round after the other."""
    told = {"ours": median(mine for mine, _ in rounds), "echo": median(echo for _, echo in rounds)}
    return figure([mine / echo for mine, echo in rounds]), told


def many_clients(server: Server, other: Server, request: pb.SuggestRequest, callers: int, scale: Scale) -> Measured:
    raw = request.SerializeToString()
    rates = []
    for number in range(scale.rounds):
        # Neither always comes first.
        order = (server, other) if number % 2 else (other, server)
        found = {side: calls_per_second(side, raw, callers, scale) for side in order}
        rates.append((found[server], found[other]))
    return beside_echo(rates)


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
    return lateness(late)


def lateness(late: list[float]) -> Measured:
    """By milliseconds after the time that was granted."""
    told = {"p50": percentile(late, 50), "p99.9": percentile(late, 99.9), "most": max(late), "calls": len(late)}
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
    searched = []
    with serving() as server, server.channel() as channel:
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        for seed in range(scale.seconds_searched):
            request = question(seed, timed(1000))
            served = stub.Suggest(request, timeout=30).suggestion.iterations
            searched.append((served, solve(table(seed), Budget(time_ms=1000), seed=seed).iterations))
    return {"iterations_vs_in_process": as_many_iterations(searched)}


def as_many_iterations(searched: list[tuple[int, int]]) -> Measured:
    """Served, and in this process."""
    return figure([served / own for served, own in searched]), {"served_and_own": searched}


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
    return {"cancel_p99_ms": cancelled(taken, alone)}


def cancelled(taken: list[float], alone: list[float]) -> Measured:
    """Milliseconds until the probe was answered, after a cancel and without."""
    told = {"p50": median(taken), "most": max(taken), "probe_alone_p50": median(alone)}
    return Figure(percentile(taken, 99), 0.0), told


# --- load ------------------------------------------------------------------------------------------------------


class Answer(NamedTuple):
    seconds: float
    iterations: int
    code: str


OVERLOAD_MS = 50
GRACE_MS = 50
# Of the iterations of an answer at capacity, so many are full effort: the queue may take a quarter of the time.
EFFORT = 0.7


class Load(NamedTuple):
    """What came of calls that were offered for so long."""

    seconds: float
    answers: list[Answer]
    health: Sequence[float] = ()  # milliseconds of health checks meanwhile
    cpu_seconds: float = 0.0  # of who made the calls


def measure_overload(scale: Scale) -> dict[str, Measured]:
    with serving("--threads", "2") as server:
        capacity = asyncio.run(closed_loop(server, 2, scale.overload_seconds / 4))
        per_second = len(capacity.answers) / capacity.seconds
        offered = asyncio.run(open_loop(server, per_second * scale.overload_factor, scale.overload_seconds))
    return overloaded(capacity, offered)


def overloaded(capacity: Load, offered: Load) -> dict[str, Measured]:
    """What is left of the capacity when more is offered, and how long refusals and health checks take."""
    per_second = len(capacity.answers) / capacity.seconds
    effort = EFFORT * median(answer.iterations for answer in capacity.answers)
    served = [answer for answer in offered.answers if answer.code == "OK"]
    good = [
        answer for answer in served if answer.seconds * 1e3 <= OVERLOAD_MS + GRACE_MS and answer.iterations >= effort
    ]
    shed = [answer.seconds * 1e3 for answer in offered.answers if answer.code == "RESOURCE_EXHAUSTED"]
    told = {
        "capacity_per_s": per_second,
        "offered": len(offered.answers),
        "good": len(good),
        "late": sum(answer.seconds * 1e3 > OVERLOAD_MS + GRACE_MS for answer in served),
        "weak": sum(answer.iterations < effort for answer in served),
        "shed": len(shed),
        "other": len(offered.answers) - len(served) - len(shed),
        "generator_cpu_share": offered.cpu_seconds / offered.seconds,
    }
    return {
        "overload_goodput": (Figure(len(good) / offered.seconds / per_second, 0.0), told),
        "shed_p99_ms": (Figure(percentile(shed, 99) if shed else 0.0, 0.0), {}),
        "health_p99_ms": (Figure(percentile(offered.health, 99), 0.0), {"checks": len(offered.health)}),
    }


def distinct(first: int, calls: float) -> Iterator[bytes]:
    """So many questions, each about another view; made before they are needed, that the clock counts only calls."""
    found: dict[bytes, None] = {}
    while len(found) < calls:
        found[question(first, timed(OVERLOAD_MS)).SerializeToString()] = None
        first += 1
    return iter(found)


async def closed_loop(server: Server, callers: int, seconds: float) -> Load:
    """Callers who wait for their answers before they ask again."""
    answers: list[Answer] = []
    requests = distinct(0, callers * seconds * 2e3 / OVERLOAD_MS)
    until = time.perf_counter() + seconds
    async with grpc.aio.insecure_channel(server.address) as channel:

        async def caller() -> None:
            while time.perf_counter() < until:
                answers.append(await ask(channel, next(requests)))

        await asyncio.gather(*(caller() for _ in range(callers)))
    return Load(seconds, answers)


async def open_loop(server: Server, per_second: float, seconds: float) -> Load:
    """Calls that come whether or not others are answered; and health checks meanwhile."""
    draw = random.Random(7)
    health: list[float] = []
    requests = distinct(10**9, per_second * seconds * 1.2 + 100)
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
        begun, at, cpu = time.perf_counter(), 0.0, time.process_time()
        while at < seconds:
            at += draw.expovariate(per_second)
            await asyncio.sleep(max(begun + at - time.perf_counter(), 0))
            calls.append(asyncio.ensure_future(ask(channel, next(requests))))
        answers = list(await asyncio.gather(*calls))
        checking.cancel()
    return Load(seconds, answers, health, time.process_time() - cpu)


async def ask(channel: grpc.aio.Channel, request: bytes) -> Answer:
    call: Any = channel.unary_unary(METHOD, response_deserializer=pb.SuggestResponse.FromString)
    begun = time.perf_counter()
    try:
        found = (await call(request, timeout=10)).suggestion
        return Answer(time.perf_counter() - begun, found.iterations, "OK")
    except grpc.aio.AioRpcError as error:
        return Answer(time.perf_counter() - begun, 0, error.code().name)


class Drain(NamedTuple):
    """What became of calls that searched or waited when SIGTERM came, by their codes, and of those after it."""

    taken: list[str]
    late: list[str]
    seconds: float  # until the process ended
    code: int  # of its end


def measure_drains(scale: Scale) -> dict[str, Measured]:
    return {"drain_lost": drained([drain(number) for number in range(scale.drains)])}


def drain(number: int) -> Drain:
    # What the self-test tests is the same every time, and takes longer than the rest of it.
    with serving("--drain-ms", "100", "--no-self-test") as server, server.channel() as channel:
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        request = question(number, pb.Budget(iterations=10**11))
        taken = [stub.Suggest.future(request, timeout=30) for _ in range(10)]
        time.sleep(0.15)
        begun = time.perf_counter()
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.02)
        late = [stub.Suggest.future(request, timeout=30) for _ in range(10)]
        answered, refused = ([code_of(call) for call in calls] for calls in (taken, late))
        ended = server.process.wait(30)
        return Drain(answered, refused, time.perf_counter() - begun, ended)


def code_of(call: Any) -> str:
    return "OK" if call.exception() is None else str(call.exception().code().name)


def drained(drains: list[Drain]) -> Measured:
    """Calls that were taken and not answered; a server that does not end well has lost all of its own."""
    lost = sum(len(one.taken) if one.code else len(one.taken) - one.taken.count("OK") for one in drains)
    told = {
        "answered": sum(one.taken.count("OK") for one in drains),
        "refused_later": sum(len(one.late) - one.late.count("OK") for one in drains),
        "drains": len(drains),
        "slowest_s": max(one.seconds for one in drains),
    }
    return Figure(lost, 0.0), told


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
    return {"loop_lag_p99_ms": lagging({bound: count - before[bound] for bound, count in after.items()})}


def lagging(counts: dict[float, float]) -> Measured:
    """How often the loop woke no later than each bound, in seconds."""
    total = counts[float("inf")]
    worst = next(bound for bound, count in sorted(counts.items()) if count >= 0.99 * total)
    return Figure(worst * 1e3, 0.0), {"wakes": total}


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
