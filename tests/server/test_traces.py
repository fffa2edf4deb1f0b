"""Traces: what a collector is told of calls, and that they can be left out."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.trace.v1 import trace_pb2
from process import PLACE, free_port, health_stub, server, stub, suggest, view
from test_safety import as_client, digest
from waiting import HANG_S

from eminence.v1 import referee_pb2, referee_pb2_grpc, view_pb2
from eminence.v1 import solver_pb2 as pb

START = PLACE + "| seen by A"
# https://www.w3.org/TR/trace-context: version, trace, parent, flags.
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self._told = threading.Condition()

    def Export(self, request: Any, context: Any) -> Any:
        with self._told:
            self.requests.append(request)
            self._told.notify_all()
        return trace_service_pb2.ExportTraceServiceResponse()

    @property
    def spans(self) -> list[Any]:
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def wait_for(self, number: int) -> list[Any]:
        with self._told:
            assert self._told.wait_for(lambda: len(self.spans) >= number, HANG_S), self.spans
        return self.spans


@contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    collector = Collector()
    listener = grpc.server(ThreadPoolExecutor(2))
    add: Any = trace_service_pb2_grpc.add_TraceServiceServicer_to_server
    add(collector, listener)
    port = listener.add_insecure_port("127.0.0.1:0")
    listener.start()
    try:
        yield collector, f"127.0.0.1:{port}"
    finally:
        listener.stop(0).wait()


def said(span: Any) -> dict[str, Any]:
    """The attributes of a span."""
    return {
        attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value")) for attribute in span.attributes
    }


def test_a_collector_is_told_of_every_call_and_no_card(tmp_path: Path) -> None:
    (tmp_path / "tokens.toml").write_text(f'[alice]\ntoken_sha256 = "{digest("a-secret")}"\n', "utf-8")
    with (
        collecting() as (collector, address),
        server("--traces", address, "--tokens", str(tmp_path / "tokens.toml")) as running,
        running.channel() as channel,
    ):
        adviser, alice = stub(channel), as_client("a-secret")
        traced = {**alice, "metadata": (*alice["metadata"], ("traceparent", f"00-{TRACE}-{PARENT}-01"))}
        begun = time.time_ns()
        adviser.Suggest(suggest(START, iterations=500), **traced)
        adviser.Suggest.future(suggest("A:Lord >B:Heir C:? | seen by B", iterations=5), **alice).exception()
        adviser.Suggest.future(suggest(START, iterations=5), timeout=60).exception()
        assert [step.last for step in adviser.Analyze(pb.AnalyzeRequest(view=view(START), budget=LITTLE), **alice)]
        left = adviser.Analyze(pb.AnalyzeRequest(view=view(START), budget=pb.Budget(iterations=10**11)), **alice)
        next(left)
        left.cancel()
        items = [
            pb.AnalyzeBatchRequest(item=pb.BatchItem(id=str(n), view=view(START), budget=pb.Budget(iterations=n)))
            for n in (40, 41, 42)  # the first of them is known from before
        ]
        assert len(list(adviser.AnalyzeBatch(iter(items), **alice))) == 3
        referee: Any = referee_pb2_grpc.RefereeServiceStub(channel)
        referee.Deal(referee_pb2.DealRequest(game=view_pb2.GameSpec(game_id="oriflamme", players=3)), **alice)
        health_stub(channel).Check(health_pb2.HealthCheckRequest(), timeout=60)
        spans = collector.wait_for(7)
        ended = time.time_ns()
    assert sorted((span.name.rpartition(".")[2], said(span)["rpc.grpc.status_code"]) for span in spans) == [
        ("RefereeService/Deal", 0),
        ("SolverService/Analyze", 0),
        ("SolverService/Analyze", 1),
        ("SolverService/AnalyzeBatch", 0),
        ("SolverService/Suggest", 0),
        ("SolverService/Suggest", 3),
        ("SolverService/Suggest", 16),
    ]
    by_end = {(said(span)["rpc.method"], said(span)["rpc.grpc.status_code"]): span for span in spans}

    first = by_end["Suggest", 0]
    assert (first.trace_id.hex(), first.parent_span_id.hex()) == (TRACE, PARENT)
    assert first.kind == trace_pb2.Span.SPAN_KIND_SERVER
    assert begun <= first.start_time_unix_nano <= first.end_time_unix_nano <= ended
    told = said(first)
    assert (told["rpc.system"], told["rpc.service"]) == ("grpc", "eminence.v1.SolverService")
    assert (told["eminence.searches"], told["eminence.iterations"]) == (1, 500)
    assert told["eminence.queue_ms"] >= 0
    assert told["eminence.search_ms"] > 0
    took_ms = (first.end_time_unix_nano - first.start_time_unix_nano) / 1e6
    assert told["eminence.queue_ms"] + told["eminence.search_ms"] <= took_ms

    assert said(by_end["Suggest", 3])["eminence.reason"] == "HIDDEN_CARD"
    assert said(by_end["Suggest", 16])["eminence.reason"] == "UNAUTHENTICATED"
    assert "eminence.searches" not in said(by_end["Suggest", 3])
    assert said(by_end["Analyze", 0])["eminence.iterations"] == 40
    assert said(by_end["Analyze", 1])["eminence.searches"] == 1
    assert said(by_end["AnalyzeBatch", 0])["eminence.searches"] == 2
    assert said(by_end["AnalyzeBatch", 0])["eminence.iterations"] == 83
    assert len({span.trace_id for span in spans}) == 7
    assert all(not span.parent_span_id for span in spans if span is not first)

    sent = "".join(map(str, collector.requests))
    assert 'string_value: "eminence"' in sent
    for secret in ("Lord", "Heir", "Ambush", "Spy", "secret", "seen by", "alice"):
        assert secret not in sent


LITTLE = pb.Budget(iterations=40)


def test_the_last_spans_are_sent_before_the_end() -> None:
    flags = ("--reflection", "--traces")
    with collecting() as (collector, address), server(*flags, address) as running, running.channel() as channel:
        stub(channel).Suggest(suggest(START, iterations=5), timeout=60)
        # Services that are not ours are told of, too.
        reflect: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked = reflection_pb2.ServerReflectionRequest(list_services="")
        assert len(list(reflect.ServerReflectionInfo(iter([asked]), timeout=60))) == 1
        assert running.stop() == 0
        assert [said(span)["rpc.method"] for span in collector.spans] == ["Suggest", "ServerReflectionInfo"]


def test_a_collector_that_is_not_there_fails_no_call() -> None:
    with server("--traces", f"127.0.0.1:{free_port()}") as running, running.channel() as channel:
        for _ in range(20):
            stub(channel).Suggest(suggest(START, iterations=5), timeout=60)
        assert running.stop() == 0


@pytest.mark.timing
def test_a_collector_that_is_not_there_does_not_hold_up_the_end() -> None:
    with server("--traces", f"127.0.0.1:{free_port()}") as running, running.channel() as channel:
        stub(channel).Suggest(suggest(START, iterations=5), timeout=60)
        begun = time.monotonic()
        assert running.stop() == 0
        assert time.monotonic() - begun < 4


WITHOUT = "import sys; sys.modules.update({'opentelemetry.exporter.otlp.proto.grpc.trace_exporter': None}); "


@pytest.mark.parametrize("flags", [[], ["--traces", "127.0.0.1:4317"]])
def test_without_its_packages_only_who_asks_for_traces_is_refused(flags: list[str]) -> None:
    code = WITHOUT + (
        "from server.__main__ import main; import server.app; "
        "assert not any(name.startswith('opentelemetry.sdk') for name in sys.modules); "
        "main(['--address', '127.0.0.1:0', *sys.argv[1:]])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not flags:
            process.terminate()
        _, error = process.communicate(timeout=HANG_S)
    if flags:
        assert process.returncode == 1
        assert error.startswith("eminence: traces: the packages for it are not installed: pip install 'eminence[tel")
        assert "Traceback" not in error
    else:
        assert line.startswith("listening on "), error
