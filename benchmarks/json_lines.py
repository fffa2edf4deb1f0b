"""Measure JSON lines against AnalyzeBatch: positions per second of the same searches, over a pipe and over gRPC.

Both clients are this process, and both read the answers: messages of gRPC, objects of JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from benchmarks.measure import figure
from benchmarks.questions import mixed_views
from benchmarks.report import Measured
from benchmarks.servers import ServerProcess, serving
from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc
from engine_cy import View
from server.codec.json_mapping import to_json
from server.codec.views import write_view

ITERATIONS = 100
# One caller: no thread is reserved for single calls.
FLAGS = ("--reserved", "0")
# Slices of a round, each with a part of the positions; the sides alternate.
SLICES, PARTS = 24, 4


class Rates(NamedTuple):
    """Positions per second of each side, in one round."""

    lines: float
    batch: float


def measure_json_lines(rounds: int, positions: int) -> dict[str, Measured]:
    views = mixed_views(positions)
    return {"json_lines": json_lines([_rates(views) for _ in range(rounds)])}


def json_lines(rounds: Sequence[Rates]) -> Measured:
    details: dict[str, Any] = {name: [round(getattr(each, name)) for each in rounds] for name in Rates._fields}
    return figure([each.lines / each.batch for each in rounds]), details


def _rates(views: Sequence[View]) -> Rates:
    taken = {"lines": 0.0, "batch": 0.0}
    requests = _requests(views)
    with serving(*FLAGS) as server, _engine() as engine:
        for number in range(SLICES + 1):
            part = requests[number % PARTS :: PARTS]
            # Both sides get what a client of theirs builds itself: objects of JSON, messages of gRPC.
            objects = [to_json(request) for request in part]
            sides = {"lines": partial(_over_lines, engine, objects), "batch": partial(_over_grpc, server, part)}
            for name in sorted(sides, reverse=bool(number % 2)):
                start = time.perf_counter()
                sides[name]()
                taken[name] += (time.perf_counter() - start) if number else 0.0  # the first slice warms up
    positions = sum(len(requests[number % PARTS :: PARTS]) for number in range(1, SLICES + 1))
    return Rates(**{name: positions / seconds for name, seconds in taken.items()})


def _requests(views: Sequence[View]) -> list[pb.SuggestRequest]:
    budget = pb.Budget(iterations=ITERATIONS)
    return [
        pb.SuggestRequest(view=write_view(view), budget=budget, options=pb.Options(seed=seed))
        for seed, view in enumerate(views)
    ]


def _over_grpc(server: ServerProcess, requests: Sequence[pb.SuggestRequest]) -> None:
    items = (
        pb.AnalyzeBatchRequest(
            item=pb.BatchItem(id=f"{number}", view=request.view, budget=request.budget, options=request.options)
        )
        for number, request in enumerate(requests)
    )
    with server.channel() as channel:
        stub: Any = solver_pb2_grpc.SolverServiceStub(channel)
        answers = {response.id for response in stub.AnalyzeBatch(items) if response.HasField("suggestion")}
    assert len(answers) == len(requests)


def _over_lines(engine: subprocess.Popen[bytes], requests: Sequence[Any]) -> None:
    assert engine.stdin is not None
    assert engine.stdout is not None

    def write(pipe: Any) -> None:
        for number, request in enumerate(requests):
            line = {"id": f"{number}", "method": "Suggest", "request": request}
            pipe.write(json.dumps(line).encode() + b"\n")
        pipe.flush()

    writer = threading.Thread(target=write, args=(engine.stdin,))
    writer.start()
    answers = {line["id"] for line in map(json.loads, _read(engine, len(requests))) if "answer" in line}
    writer.join()
    assert len(answers) == len(requests)


def _read(engine: subprocess.Popen[bytes], number: int) -> Iterator[bytes]:
    assert engine.stdout is not None
    for _ in range(number):
        yield engine.stdout.readline()


@contextmanager
def _engine() -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "server", "--stdio", "--cache-mb", "0", "--log", "error"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as engine:
        try:
            yield engine
        finally:
            engine.kill()
