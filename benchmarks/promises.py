"""Check promises of the service: deadlines, fairness, bounded memory, clear refusals, and lost workers.

The figures are counts and milliseconds, without another side to compare with. `--full` makes all the repetitions that
the goals require; without it the suite ends within ten minutes.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import grpc
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from benchmarks import questions, report
from benchmarks.measure import Figure
from benchmarks.questions import question, second_round, timed
from benchmarks.report import Goal, Measured, Result
from benchmarks.servers import BUSY, OWN_CONNECTION, SUGGEST, ServerProcess, free_port, processes, python, serving
from benchmarks.service import percentile
from benchmarks.worst_case import MIB, resident
from eminence.v1 import referee_pb2, rules_pb2, solver_pb2_grpc, view_pb2
from eminence.v1 import solver_pb2 as pb
from engine_cy import new_game
from server.codec import records
from server.codec.views import write_view
from solver import Budget, solve

GOALS = {
    "deadlines_kept": Goal(0.99, None),
    "short_deadlines_kept": Goal(0.95, None),
    "overshoot_ms": Goal(25, 24),
    "others_p50": Goal(2, 1.5),
    "rss_connection_mib": Goal(64, 32),
    "mutants_answered_badly": Goal(0, -1),
    "answered_with_lost_workers": Goal(0.995, None),
}
MEANINGS = {
    "deadlines_kept": "answers among calls whose deadline, 0.3 s or more, is the only limit",
    "short_deadlines_kept": "the same with deadlines of 0.1 s",
    "overshoot_ms": "how late `solve` and Suggest end, 99th percentile, with 1 and 256 shares, on a busy machine",
    "others_p50": "median time of Suggest(1000 iterations) during an attack by another caller, against before",
    "rss_connection_mib": "growth of memory in MiB, search trees apart, under the worst traffic of one connection",
    "mutants_answered_badly": "random requests answered with INTERNAL, UNKNOWN or a refusal without details",
    "answered_with_lost_workers": "answers while a Ray worker is killed every 3 s",
}


class Scale(NamedTuple):
    """Number and duration of the measurements."""

    deadline_calls: int = 3  # for each deadline, client, network and load
    overshoots: int = 1
    attack_seconds: float = 4.0
    mutants: int = 20_000
    kill_seconds: float = 30.0


SHORT, FULL = Scale(), Scale(20, 4, 10.0, 100_000, 120.0)


def run(scale: Scale = SHORT, only: Collection[str] = ()) -> Result:
    """Measure the figures in `only`, or all."""
    return report.measure_figures(MEASURES, scale, only)


def as_text(result: Result) -> str:
    return report.as_text("promises: loopback", GOALS, MEANINGS, result)


LOAD = 4

# --- deadlines -------------------------------------------------------------------------------------------------

DEADLINES = (0.1, 0.3, 1.0, 1.001, 2.001, 4.0, 10.01, 12.05)
WAY_SECONDS = 0.02
NODE_MODULES = Path(__file__).parents[1] / "examples" / "typescript" / "node_modules"


def measure_deadlines(scale: Scale) -> dict[str, Measured]:
    clients: dict[str, Callable[[str, Sequence[float]], list[str]]] = {"python": python_calls}
    if shutil.which("node") and NODE_MODULES.is_dir():
        clients["node"] = node_calls
    lost: Counter[str] = Counter()
    codes: dict[bool, list[str]] = {True: [], False: []}
    for busy in (0, LOAD):
        for is_delayed in (False, True):
            network = f"load {busy}, {'20 ms each way' if is_delayed else 'direct'}"
            with serving("--threads", "2") as server, processes(busy, *BUSY), address_of(server, is_delayed) as address:
                for name, answered in run_clients(clients, address, scale.deadline_calls).items():
                    for seconds, code in answered:
                        codes[seconds < 0.3].append(code)
                        if code != "OK":
                            lost[f"{name}, {network}, {seconds} s: {code}"] += 1
    details = {"clients": list(clients), "lost": dict(lost)}
    return {
        "deadlines_kept": (Figure(share_answered(codes[False]), 0.0), details | {"calls": len(codes[False])}),
        "short_deadlines_kept": (Figure(share_answered(codes[True]), 0.0), {"calls": len(codes[True])}),
    }


def share_answered(codes: Sequence[str]) -> float:
    return codes.count("OK") / len(codes)


def run_clients(
    clients: Mapping[str, Callable[[str, Sequence[float]], list[str]]], address: str, calls: int
) -> dict[str, list[tuple[float, str]]]:
    """Run the clients in parallel; each calls with all deadlines, in its own order."""
    answered: dict[str, list[tuple[float, str]]] = {}

    def call(name: str) -> None:
        deadlines = list(DEADLINES) * calls
        random.Random(name).shuffle(deadlines)
        answered[name] = list(zip(deadlines, clients[name](address, deadlines), strict=True))

    threads = [threading.Thread(target=call, args=[name]) for name in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answered


def endless_request() -> bytes:
    return question(1, pb.Budget(iterations=10**12)).SerializeToString()


def python_calls(address: str, deadlines: Sequence[float]) -> list[str]:
    with grpc.insecure_channel(address, OWN_CONNECTION) as channel:
        grpc.channel_ready_future(channel).result(60)
        return [code_of(channel, seconds) for seconds in deadlines]


def code_of(channel: grpc.Channel, seconds: float) -> str:
    call: Any = channel.unary_unary(SUGGEST)
    try:
        call(endless_request(), timeout=seconds)
    except grpc.RpcError as error:
        return str(error.code().name)
    return "OK"


def node_calls(address: str, deadlines: Sequence[float]) -> list[str]:
    script = str(Path(__file__).with_name("deadline_client.mjs"))
    command = ["node", script, str(NODE_MODULES), address, *map(str, deadlines)]
    result = subprocess.run(command, input=base64.b64encode(endless_request()), capture_output=True, check=True)
    codes: list[str] = json.loads(result.stdout)
    return codes


@contextmanager
def address_of(server: ServerProcess, is_delayed: bool) -> Iterator[str]:
    """Yield an address of the server, delayed by 20 ms each way if `is_delayed`."""
    if not is_delayed:
        yield server.address
        return
    code = f"from benchmarks.promises import delay; delay({server.address!r})"
    with processes(1, *python(code)) as (proxy,):
        assert proxy.stdout is not None
        yield proxy.stdout.readline().decode().strip()


def delay(target: str) -> None:
    """Forward connections to `target`, with a delay in both directions, until killed."""
    host, _, port = target.rpartition(":")

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        async def send() -> None:
            while True:
                at, piece = await pieces.get()
                await asyncio.sleep(at - loop.time())
                if not piece:
                    return writer.close()
                writer.write(piece)

        sending = asyncio.ensure_future(send())
        piece = b" "
        while piece:
            piece = await reader.read(2**16)
            pieces.put_nowait((loop.time() + WAY_SECONDS, piece))
        await sending

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        other_reader, other_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(forward(reader, other_writer), forward(other_reader, writer), return_exceptions=True)

    async def listen() -> None:
        server = await asyncio.start_server(connect, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()[:2]
        print(f"{host}:{port}", flush=True)
        await server.serve_forever()

    asyncio.run(listen())


# --- overshoot -------------------------------------------------------------------------------------------------

# Time limits in milliseconds, and the number of searches of each.
SEARCHES = ((100, 50), (1_000, 10), (6_000, 2))
MANY_SHARES = 256


def measure_overshoot(scale: Scale) -> dict[str, Measured]:
    late: dict[str, list[float]] = {}
    with serving() as server, server.channel() as channel, processes(LOAD, *BUSY):
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        for milliseconds, calls in SEARCHES:
            for shares in (1, MANY_SHARES):
                for seed in range(calls * scale.overshoots):
                    view, request = second_round(seed), question(seed, timed(milliseconds))
                    request.options.shares = shares
                    search = partial(solve, view, Budget(time_ms=milliseconds), shares=shares, seed=seed)
                    for name, run_once in (("solve", search), ("Suggest", partial(stub.Suggest, request))):
                        key = f"{name} {milliseconds} ms, {shares} shares"
                        late.setdefault(key, []).append(milliseconds_of(run_once) - milliseconds)
    p99 = {name: round(percentile(each, 99), 1) for name, each in late.items()}
    return {"overshoot_ms": (Figure(max(p99.values()), 0.0), p99)}


def milliseconds_of(run_once: Callable[[], object]) -> float:
    start = time.perf_counter()
    run_once()
    return (time.perf_counter() - start) * 1e3


# --- the effect of one caller on others ---------------------------------------------------------------------------

BYTES_PER_SECOND = MIB
VICTIM, ATTACKER = "victim-token", "attacker-token"


def measure_others(scale: Scale) -> dict[str, Measured]:
    details: dict[str, Any] = {}
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as tokens:
        for token in (VICTIM, ATTACKER):
            digest = hashlib.sha256(token.encode()).hexdigest()
            tokens.write(f'[{token}]\ntoken_sha256 = "{digest}"\n')
        tokens.flush()
        for name in ATTACKS:
            port = free_port()
            with serving("--tokens", tokens.name, "--metrics", f"127.0.0.1:{port}") as server:
                details[name] = ratio_under(server, name, port, scale.attack_seconds)
    worst = max(details, key=lambda name: details[name]["ratio"])
    return {"others_p50": (Figure(details[worst]["ratio"], 0.0), {"worst": worst, **details})}


def ratio_under(server: ServerProcess, attack_name: str, metrics_port: int, seconds: float) -> dict[str, float]:
    """Return the median times of a caller's answers before and during an attack by another, and their ratio."""
    with server.channel() as channel:
        p50_of(channel, 1.0)
        idle = p50_of(channel, seconds)
        code = f"from benchmarks.promises import attack; attack({attack_name!r}, {server.address!r}, {metrics_port})"
        # The attacker's own CPU time is not the server's: `nice` leaves it only idle cores.
        with processes(1, "nice", "-n", "19", *python(code)) as (attacker,):
            assert attacker.stdout is not None
            attacker.stdout.readline()
            time.sleep(0.5)
            attacked = p50_of(channel, seconds)
    return {"idle_ms": round(idle, 2), "attacked_ms": round(attacked, 2), "ratio": round(attacked / idle, 2)}


def p50_of(channel: grpc.Channel, seconds: float) -> float:
    call: Any = channel.unary_unary(SUGGEST)
    taken: list[float] = []
    end, seed = time.perf_counter() + seconds, 0
    while time.perf_counter() < end or len(taken) < 20:
        request = question(seed % 50, pb.Budget(iterations=1_000))
        request.options.seed = seed + 1
        start = time.perf_counter()
        call(request.SerializeToString(), metadata=as_caller(VICTIM), timeout=60)
        taken.append((time.perf_counter() - start) * 1e3)
        seed += 1
    return median(taken)


def as_caller(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


def empty_actions(seed: int = 0) -> pb.SuggestRequest:
    """Make the request with the most messages per byte: a history of empty actions."""
    request = question(seed, pb.Budget(iterations=1))
    request.view.history.actions.extend([view_pb2.SeenAction()] * ((2**17 - 1_000) // 2))
    return request


def unknown_fields() -> bytes:
    """Encode the same number of messages, with an unknown field in the last."""
    last = pb.SuggestRequest(view=view_pb2.View(history=view_pb2.History(actions=[view_pb2.SeenAction()])))
    unknown = last.SerializeToString().replace(b"\x0a\x00", b"\x0a\x03\xfa\x7f\x00")
    return empty_actions().SerializeToString() + unknown


def heavy_compare() -> pb.CompareRequest:
    request = questions.compare_request()
    request.budget.iterations = 256
    return request


class Attack(NamedTuple):
    """Traffic of one caller: a repeated message to a method, on `at_once` concurrent calls."""

    method: str
    message: Callable[[], bytes]
    at_once: int
    is_stream: bool = False  # else one call per message


ATTACKS: dict[str, Attack | None] = {
    "malformed": Attack("Suggest", lambda: b"\xff" * 200, 16),
    "empty actions": Attack("Suggest", lambda: empty_actions().SerializeToString(), 16),
    "unknown fields": Attack("Suggest", unknown_fields, 16),
    "long searches": Attack("Suggest", lambda: question(3, timed(60_000)).SerializeToString(), 100),
    "short searches": Attack("Suggest", lambda: question(3, timed(20)).SerializeToString(), 100),
    "long histories": Attack(
        "Suggest",
        lambda: questions.history_request(questions.longest_game(questions.own_tables())).SerializeToString(),
        100,
    ),
    "comparisons": Attack("Compare", lambda: heavy_compare().SerializeToString(), 100),
    "reviews": Attack("Review", lambda: questions.review_request().SerializeToString(), 20),
    "batches": Attack("AnalyzeBatch", lambda: item_of(question(3, timed(60_000))), 20, is_stream=True),
    "batches of empty actions": Attack("AnalyzeBatch", lambda: item_of(empty_actions()), 20, is_stream=True),
    "views of long records": Attack(
        "/eminence.v1.RefereeService/GetViews", lambda: views_of_a_record().SerializeToString(), 32
    ),
    "watches": Attack("/grpc.health.v1.Health/Watch", lambda: b"", 1_000),
    "half requests for metrics": None,
}


def views_of_a_record() -> referee_pb2.GetViewsRequest:
    record = questions.longest_game(new_game("castle_village_port", "house", 5))
    return referee_pb2.GetViewsRequest(standing=referee_pb2.Standing(record=records.write(record)))


def item_of(request: pb.SuggestRequest) -> bytes:
    item = pb.BatchItem(id="ID", view=request.view, budget=request.budget)
    return pb.AnalyzeBatchRequest(item=item).SerializeToString()


def attack(name: str, address: str, metrics_port: int) -> None:
    """Send the traffic of an attack, up to 1 MiB per second, until killed."""
    traffic = ATTACKS[name]
    if traffic is None:
        half_requests(metrics_port)
    else:
        asyncio.run(flood(traffic, address, as_caller(ATTACKER), BYTES_PER_SECOND))


async def flood(traffic: Attack, address: str, metadata: Any, bytes_per_second: float) -> None:
    message, path = traffic.message(), traffic.method
    if not path.startswith("/"):
        path = f"/eminence.v1.SolverService/{path}"
    pace = asyncio.Lock()

    async def paced() -> bytes:
        async with pace:
            await asyncio.sleep(len(message) / bytes_per_second)
        return message.replace(b"ID", random.randbytes(1).hex().encode()) if traffic.is_stream else message

    async with grpc.aio.insecure_channel(address, OWN_CONNECTION) as channel:

        async def call() -> None:
            while True:
                try:
                    method: Any = (channel.stream_stream if traffic.is_stream else channel.unary_stream)(path)
                    async for _ in method(messages() if traffic.is_stream else await paced(), metadata=metadata):
                        pass
                except grpc.aio.AioRpcError:
                    await asyncio.sleep(0.001)

        async def messages() -> Any:
            while True:
                yield await paced()

        await channel.channel_ready()
        print("attacking", flush=True)
        await asyncio.gather(*(call() for _ in range(traffic.at_once)))


def half_requests(port: int) -> None:
    print("attacking", flush=True)
    held: list[socket.socket] = []
    while True:
        held.append(socket.create_connection(("127.0.0.1", port)))
        try:
            held[-1].sendall(b"GET /metrics HTTP/1.1\r\nHost: ")
        except OSError:
            held[-1].close()
        if len(held) > 300:
            held.pop(0).close()
        time.sleep(0.005)


# Search trees count against the memory of budgets, not of the connection, so they are small here.
SMALL_TREES = ("--memory-max-mb", "4")


def measure_memory(scale: Scale) -> dict[str, Measured]:
    """Measure the memory that one connection can fill, without a limit of traffic."""
    grown = {}
    for name, traffic in ATTACKS.items():
        if traffic is not None:
            with serving(*SMALL_TREES) as server:
                with server.channel() as channel:
                    stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
                    for seed in range(20):
                        stub.Suggest(question(seed, pb.Budget(iterations=1000)), timeout=60)
                grown[name] = growth_under(server, traffic, scale.attack_seconds)
    worst = max(grown, key=lambda name: grown[name])
    return {"rss_connection_mib": (Figure(grown[worst], 0.0), {"worst": worst, **grown})}


def growth_under(server: ServerProcess, traffic: Attack, seconds: float) -> float:
    process = Path("/proc", str(server.process.pid))
    before = resident(process, "VmRSS")
    (process / "clear_refs").write_text("5")

    async def attack_for_some_time() -> None:
        flooding = flood(traffic._replace(at_once=100), server.address, None, 1e12)
        with suppress(TimeoutError):
            await asyncio.wait_for(flooding, seconds)

    asyncio.run(attack_for_some_time())
    return round((resident(process, "VmHWM") - before) / MIB, 1)


# --- random requests ------------------------------------------------------------------------------------------

SERVICES = (pb.DESCRIPTOR, rules_pb2.DESCRIPTOR, referee_pb2.DESCRIPTOR)
CALLERS = 16


def measure_mutants(scale: Scale) -> dict[str, Measured]:
    methods = [method for file in SERVICES for service in file.services_by_name.values() for method in service.methods]
    with serving("--time-max-ms", "20", "--iterations-max", "50", "--no-self-test") as server:
        codes = asyncio.run(call_at_random(server, methods, scale.mutants))
        is_alive = server.process.poll() is None
    bad = sum(n for code, n in codes.items() if code in ("INTERNAL", "UNKNOWN") or code.endswith(NO_DETAILS))
    details = {"requests": codes.total(), "methods": len(methods), "codes": dict(codes), "alive": is_alive}
    return {"mutants_answered_badly": (Figure(bad if is_alive else codes.total(), 0.0), details)}


NO_DETAILS = " without details"


async def call_at_random(server: ServerProcess, methods: Sequence[MethodDescriptor], n: int) -> Counter[str]:
    codes: Counter[str] = Counter()
    draw = random.Random(11)
    left = iter(range(n))
    async with grpc.aio.insecure_channel(server.address, OWN_CONNECTION) as channel:

        async def caller() -> None:
            for _ in left:
                method = draw.choice(methods)
                codes[await code_at_random(channel, method, mutant(method.input_type, draw))] += 1

        await asyncio.gather(*(caller() for _ in range(CALLERS)))
    return codes


async def code_at_random(channel: grpc.aio.Channel, method: MethodDescriptor, message: bytes) -> str:
    path = f"/{method.containing_service.full_name}/{method.name}"
    call: Any = channel.stream_stream(path)
    try:
        async for _ in call(iter([message]), timeout=30):
            pass
    except grpc.aio.AioRpcError as error:
        status = rpc_status.from_call(error)  # type: ignore[arg-type]
        info = error_details_pb2.ErrorInfo()
        has_details = status is not None and any(detail.Unpack(info) for detail in status.details)
        return error.code().name + ("" if has_details else NO_DETAILS)
    return "OK"


def mutant(kind: Descriptor, draw: random.Random) -> bytes:
    """Return a request of this type with valid and random fields, some with damaged bytes."""
    raw = bytearray(random_message(kind, draw, 0).SerializeToString())
    for _ in range(draw.choice((0, 0, 0, 1, 3)) if raw else 0):
        at = draw.randrange(len(raw))
        match draw.randrange(4):
            case 0:
                raw[at] = draw.randrange(256)
            case 1:
                raw[at:at] = draw.randbytes(draw.choice((1, 2, 9)))
            case 2:
                del raw[at : at + draw.choice((1, 2, 9))]
            case _:
                raw += raw[at : at + 40]
        if not raw:
            break
    return bytes(raw)


NUMBERS = (0, 1, 2, 3, 5, 7, 100, 2**31 - 1, -1, -(2**31))
TEXTS = (
    "",
    "?",
    "oriflamme",
    "castle_village_port",
    "en-2019",
    "house",
    "reveal",
    "select 9",
    "\U0001f600" * 500,
    "x" * 9_000,
)


def random_message(kind: Descriptor, draw: random.Random, depth: int) -> Message:
    message = GetMessageClass(kind)()
    if kind is view_pb2.View.DESCRIPTOR and draw.random() < 0.7:
        message.CopyFrom(write_view(VIEWS[draw.randrange(len(VIEWS))]))
        if draw.random() < 0.5:
            return message
    for field in kind.fields:
        if draw.random() < (0.6 if depth < 2 else 0.3) / (1 + depth / 4):
            try:
                set_at_random(message, field, draw, depth)
            except (ValueError, TypeError):
                message.ClearField(field.name)
    return message


def set_at_random(message: Message, field: FieldDescriptor, draw: random.Random, depth: int) -> None:
    if field.message_type is not None:
        parts = [random_message(field.message_type, draw, depth + 1) for _ in range(draw.choice((1, 1, 2, 6)))]
        if field.is_repeated:
            getattr(message, field.name).extend(parts)
        else:
            getattr(message, field.name).CopyFrom(parts[0])
        return
    values = TEXTS if field.type in (field.TYPE_STRING, field.TYPE_BYTES) else NUMBERS
    chosen: Any = [draw.choice(values) for _ in range(draw.choice((1, 1, 2, 6)))]
    if field.type == field.TYPE_BYTES:
        chosen = [text.encode() for text in chosen]
    if field.is_repeated:
        getattr(message, field.name).extend(chosen)
    else:
        setattr(message, field.name, chosen[0])


VIEWS = questions.mixed_views(50)

# --- lost workers ------------------------------------------------------------------------------------------------

KILL_EVERY_SECONDS = 3.0
SEARCH_MS = 200


def measure_lost_workers(scale: Scale) -> dict[str, Measured]:
    details: dict[str, Any] = {}
    for workers in (1, 2):
        with serving("--backend", "ray", "--ray-workers", str(workers)) as server:
            details[f"{workers} workers"] = asyncio.run(answers_while_killing(server, workers, scale.kill_seconds))
    shares = [codes.get("OK", 0) / sum(codes.values()) for codes in details.values()]
    internal = sum(codes.get("INTERNAL", 0) for codes in details.values())
    return {"answered_with_lost_workers": (Figure(0.0 if internal else min(shares), 0.0), details)}


async def answers_while_killing(server: ServerProcess, workers: int, seconds: float) -> dict[str, int]:
    """Send half the load that the workers can handle, and kill a worker every few seconds."""
    codes: Counter[str] = Counter()
    async with grpc.aio.insecure_channel(server.address, OWN_CONNECTION) as channel:
        while not workers_of(server):
            await asyncio.sleep(0.1)

        async def ask(seed: int) -> None:
            call: Any = channel.unary_unary(SUGGEST)
            try:
                await call(question(seed % 100, timed(SEARCH_MS)).SerializeToString(), timeout=30)
                codes["OK"] += 1
            except grpc.aio.AioRpcError as error:
                codes[error.code().name] += 1

        async def kill() -> None:
            draw = random.Random(3)
            while True:
                await asyncio.sleep(KILL_EVERY_SECONDS)
                if alive := workers_of(server):
                    os.kill(draw.choice(alive), signal.SIGKILL)
                    codes["killed"] += 1

        killing = asyncio.ensure_future(kill())
        calls = []
        for seed in range(int(seconds * 1000 / SEARCH_MS * workers / 2)):
            calls.append(asyncio.ensure_future(ask(seed)))
            await asyncio.sleep(SEARCH_MS / 1000 * 2 / workers)
        await asyncio.gather(*calls)
        killing.cancel()
    killed = codes.pop("killed", 0)
    assert killed
    return dict(codes)


def workers_of(server: ServerProcess) -> list[int]:
    """Return the processes of Ray's workers below the server."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    parents: dict[int, int] = {}
    workers = []
    for line in listed.splitlines():
        pid, parent, command = line.split(None, 2)
        parents[int(pid)] = int(parent)
        if command.startswith("ray::Worker"):
            workers.append(int(pid))
    return [pid for pid in workers if server.process.pid in ancestors(pid, parents)]


def ancestors(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    while pid := parents.get(pid, 0):
        yield pid


# Functions by the figures that they measure together.
MEASURES: dict[tuple[str, ...], Callable[[Scale], dict[str, Measured]]] = {
    ("deadlines_kept", "short_deadlines_kept"): measure_deadlines,
    ("overshoot_ms",): measure_overshoot,
    ("others_p50",): measure_others,
    ("rss_connection_mib",): measure_memory,
    ("mutants_answered_badly",): measure_mutants,
    ("answered_with_lost_workers",): measure_lost_workers,
}
