"""Traces: the spans that the server exports for calls; without them, their packages are not needed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from collector import attributes_of, collecting
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from opentelemetry.proto.trace.v1 import trace_pb2
from process import PLACE, free_port, health_stub, server, stub, suggest, view
from tokens import as_client, write_tokens
from waiting import HANG_S

from eminence.v1 import referee_pb2, referee_pb2_grpc, view_pb2
from eminence.v1 import solver_pb2 as pb

START = PLACE + "| seen by A"
# https://www.w3.org/TR/trace-context: version, trace, parent, flags.
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.slow
def test_a_collector_receives_a_span_of_every_call_and_no_card(tmp_path: Path) -> None:
    with (
        collecting() as (collector, address),
        server("--traces", address, "--tokens", write_tokens(tmp_path, "a-secret")) as running,
        running.channel() as channel,
    ):
        adviser, alice = stub(channel), as_client("a-secret")
        traced = {**alice, "metadata": (*alice["metadata"], ("traceparent", f"00-{TRACE}-{PARENT}-01"))}
        started = time.time_ns()
        adviser.Suggest(suggest(START, iterations=500), **traced)
        adviser.Suggest.future(suggest("A:Lord >B:Heir C:? | seen by B", iterations=5), **alice).exception()
        adviser.Suggest.future(suggest(START, iterations=5), timeout=60).exception()
        assert [step.last for step in adviser.Analyze(pb.AnalyzeRequest(view=view(START), budget=LITTLE), **alice)]
        cancelled = adviser.Analyze(pb.AnalyzeRequest(view=view(START), budget=pb.Budget(iterations=10**11)), **alice)
        next(cancelled)
        cancelled.cancel()
        items = [
            pb.AnalyzeBatchRequest(item=pb.BatchItem(id=str(n), view=view(START), budget=pb.Budget(iterations=n)))
            for n in (40, 41, 42)  # the cache has the first of them
        ]
        assert len(list(adviser.AnalyzeBatch(iter(items), **alice))) == 3
        referee: Any = referee_pb2_grpc.RefereeServiceStub(channel)
        referee.Deal(referee_pb2.DealRequest(game=view_pb2.GameSpec(game_id="oriflamme", players=3)), **alice)
        health_stub(channel).Check(health_pb2.HealthCheckRequest(), timeout=60)
        spans = collector.wait_for(7)
        ended = time.time_ns()
    assert sorted((span.name.rpartition(".")[2], attributes_of(span)["rpc.grpc.status_code"]) for span in spans) == [
        ("RefereeService/Deal", 0),
        ("SolverService/Analyze", 0),
        ("SolverService/Analyze", 1),
        ("SolverService/AnalyzeBatch", 0),
        ("SolverService/Suggest", 0),
        ("SolverService/Suggest", 3),
        ("SolverService/Suggest", 16),
    ]
    by_end = {(attributes_of(span)["rpc.method"], attributes_of(span)["rpc.grpc.status_code"]): span for span in spans}

    first = by_end["Suggest", 0]
    assert (first.trace_id.hex(), first.parent_span_id.hex()) == (TRACE, PARENT)
    assert first.kind == trace_pb2.Span.SPAN_KIND_SERVER
    assert started <= first.start_time_unix_nano <= first.end_time_unix_nano <= ended
    attributes = attributes_of(first)
    assert (attributes["rpc.system"], attributes["rpc.service"]) == ("grpc", "eminence.v1.SolverService")
    assert (attributes["eminence.searches"], attributes["eminence.iterations"]) == (1, 500)
    assert attributes["eminence.queue_ms"] >= 0
    assert attributes["eminence.search_ms"] > 0
    took_ms = (first.end_time_unix_nano - first.start_time_unix_nano) / 1e6
    assert attributes["eminence.queue_ms"] + attributes["eminence.search_ms"] <= took_ms

    assert attributes_of(by_end["Suggest", 3])["eminence.reason"] == "HIDDEN_CARD"
    assert attributes_of(by_end["Suggest", 16])["eminence.reason"] == "UNAUTHENTICATED"
    assert "eminence.searches" not in attributes_of(by_end["Suggest", 3])
    assert attributes_of(by_end["Analyze", 0])["eminence.iterations"] == 40
    assert attributes_of(by_end["Analyze", 1])["eminence.searches"] == 1
    assert attributes_of(by_end["AnalyzeBatch", 0])["eminence.searches"] == 2
    assert attributes_of(by_end["AnalyzeBatch", 0])["eminence.iterations"] == 83
    assert len({span.trace_id for span in spans}) == 7
    assert all(not span.parent_span_id for span in spans if span is not first)

    exported = "".join(map(str, collector.requests))
    assert 'string_value: "eminence"' in exported
    for secret in ("Lord", "Heir", "Ambush", "Spy", "secret", "seen by", "alice"):
        assert secret not in exported


LITTLE = pb.Budget(iterations=40)


def test_the_last_spans_are_exported_before_the_server_ends() -> None:
    flags = ("--reflection", "--traces")
    with collecting() as (collector, address), server(*flags, address) as running, running.channel() as channel:
        stub(channel).Suggest(suggest(START, iterations=5), timeout=60)
        # Services of gRPC itself have spans, too.
        reflect: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        assert len(list(reflect.ServerReflectionInfo(iter([request]), timeout=60))) == 1
        assert running.stop() == 0
        assert [attributes_of(span)["rpc.method"] for span in collector.spans] == ["Suggest", "ServerReflectionInfo"]


@pytest.mark.slow
def test_no_call_fails_because_the_collector_is_unreachable() -> None:
    with server("--traces", f"127.0.0.1:{free_port()}") as running, running.channel() as channel:
        for _ in range(20):
            stub(channel).Suggest(suggest(START, iterations=5), timeout=60)
        assert running.stop() == 0


@pytest.mark.timing
def test_an_unreachable_collector_does_not_delay_the_shutdown() -> None:
    with server("--traces", f"127.0.0.1:{free_port()}") as running, running.channel() as channel:
        stub(channel).Suggest(suggest(START, iterations=5), timeout=60)
        started = time.monotonic()
        assert running.stop() == 0
        assert time.monotonic() - started < 4


WITHOUT = "import sys; sys.modules.update({'opentelemetry.exporter.otlp.proto.grpc.trace_exporter': None}); "


@pytest.mark.slow
@pytest.mark.parametrize("flags", [[], ["--traces", "127.0.0.1:4317"]])
def test_the_server_needs_the_packages_of_traces_only_with_the_flag(flags: list[str]) -> None:
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
        assert error == "eminence: --traces needs OpenTelemetry: pip install 'eminence[telemetry]'\n"
    else:
        assert line.startswith("listening on "), error
