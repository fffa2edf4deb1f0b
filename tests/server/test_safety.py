"""Who may ask, how safely, and what is told of it: TLS, tokens, quotas, the cache, metrics, logs."""

from __future__ import annotations

import hashlib
import json
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from process import PLACE, SERVING, Server, health_stub, server, stub, suggest, told

from eminence.v1 import rules_pb2, rules_pb2_grpc
from server.client import Client
from server.rpc.auth import read_clients
from server.settings import SettingsError

START = PLACE + "| seen by A"


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@pytest.fixture
def tokens(tmp_path: Path) -> str:
    file = tmp_path / "tokens.toml"
    file.write_text(
        f'[alice]\ntoken_sha256 = "{digest("a-secret")}"\nsearches_at_once = 1\n'
        f'[bob]\ntoken_sha256 = "{digest("b-secret")}"\ncalls_per_minute = 3\n',
        "utf-8",
    )
    return str(file)


def as_client(token: str) -> Any:
    return {"metadata": (("authorization", f"Bearer {token}"),), "timeout": 60}


def failure(call: Any) -> tuple[str, str, str]:
    assert call.exception() is not None
    return told(call.exception())


def test_without_a_token_nothing_is_read(tokens: str) -> None:
    with server("--tokens", tokens, wait=False) as running, running.channel() as channel:
        running.wait_until_serving()  # which needs no token
        expected = ("UNAUTHENTICATED", "UNAUTHENTICATED", "")
        bad: Any = channel.unary_unary("/eminence.v1.SolverService/Suggest")
        assert failure(bad.future(b"\xff\xff", timeout=60)) == expected
        unknown: Any = channel.unary_unary("/eminence.v1.SolverService/Nothing")
        assert failure(unknown.future(b"", timeout=60)) == expected
        adviser = stub(channel)
        assert failure(adviser.Suggest.future(suggest(iterations=5), **as_client("c-secret"))) == expected
        rules: Any = rules_pb2_grpc.RulesServiceStub(channel)
        assert failure(rules.ListGames.future(rules_pb2.ListGamesRequest(), timeout=60)) == expected
        basic = {"metadata": (("authorization", "Basic a-secret"),), "timeout": 60}
        assert failure(adviser.Suggest.future(suggest(iterations=5), **basic)) == expected
        assert adviser.Suggest(suggest(iterations=5), **as_client("a-secret")).suggestion.iterations == 5
        with Client(running.address, token="a-secret") as client:
            assert client.suggest(suggest().view, suggest(iterations=5).budget).iterations == 5


def test_quotas_are_each_clients_own(tokens: str) -> None:
    with server("--tokens", tokens, "--threads", "2", metrics=True) as running, running.channel() as channel:
        adviser = stub(channel)
        long = adviser.Suggest.future(suggest(START, iterations=10**11), **as_client("a-secret"))
        running.wait_for_searches(1)
        second = adviser.Suggest.future(suggest(START, time_ms=50), **as_client("a-secret"))
        assert failure(second)[:2] == ("RESOURCE_EXHAUSTED", "QUOTA_EXHAUSTED")
        for _ in range(3):
            adviser.Suggest(suggest(iterations=5), **as_client("b-secret"))
        fourth = adviser.Suggest.future(suggest(iterations=5), **as_client("b-secret"))
        assert failure(fourth)[:2] == ("RESOURCE_EXHAUSTED", "QUOTA_EXHAUSTED")
        long.cancel()
        running.wait_for_searches(0)
        assert adviser.Suggest(suggest(START, iterations=50), **as_client("a-secret")).suggestion.iterations == 50


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "names no client"),
        ("[alice]\n", "tokens: alice.token_sha256"),
        ('[alice]\ntoken_sha256 = "12"\n', "tokens: alice.token_sha256"),
        (f'[alice]\ntoken_sha256 = "{"0" * 64}"\nquota = 3\n', "tokens: alice.quota: is none of"),
        (f'[alice]\ntoken_sha256 = "{"0" * 64}"\ncalls_per_minute = -1\n', "tokens: alice.calls_per_minute: -1"),
    ],
)
def test_a_file_of_tokens_that_makes_no_sense_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "tokens.toml").write_text(text, "utf-8")
    with pytest.raises(SettingsError, match=why):
        read_clients(str(tmp_path / "tokens.toml"))


# --- the cache -------------------------------------------------------------------------------------------------


def from_cache(running: Server) -> float:
    """Return how many answers came from the cache so far."""
    return running.metrics()["eminence_answers_from_cache_total"]


def test_answers_that_would_come_out_the_same_are_kept_for_each_client_alone(tokens: str) -> None:
    with server("--tokens", tokens, metrics=True) as running, running.channel() as channel:
        adviser = stub(channel)
        request = suggest(START, iterations=600)
        first = adviser.Suggest(request, **as_client("a-secret"))
        again = adviser.Suggest(request, **as_client("a-secret"))
        assert from_cache(running) == 1
        other = adviser.Suggest(request, **as_client("b-secret"))
        for answer in (first, again, other):
            answer.suggestion.ClearField("elapsed")
        assert first == again == other
        # What a clock ended is not kept.
        for _ in range(2):
            adviser.Suggest(suggest(START, time_ms=60), **as_client("a-secret"))
        assert from_cache(running) == 1


def test_the_cache_can_be_switched_off() -> None:
    with server("--cache-mb", "0", metrics=True) as running, running.channel() as channel:
        for _ in range(2):
            stub(channel).Suggest(suggest(START, iterations=600), timeout=60)
        assert from_cache(running) == 0
        assert running.metrics()["eminence_iterations_total"] == 1200


# --- TLS -------------------------------------------------------------------------------------------------------


class Papers:
    """Keys and certificates of an authority, a server and a client, and of a stranger's authority."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = self._make("authority", None)
        self.stranger = self._make("stranger", None)
        self._make("server", "authority")
        self._make("client", "authority")
        self._make("impostor", "stranger")

    def _make(self, name: str, signer: str | None) -> str:
        key, cert = self.folder / f"{name}.key", self.folder / f"{name}.pem"
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        command += ["-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", f"/CN={name}"]
        command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        if signer:
            command += ["-CA", str(self.folder / f"{signer}.pem"), "-CAkey", str(self.folder / f"{signer}.key")]
        subprocess.run(command, check=True, capture_output=True)
        return str(cert)

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def credentials(self, authority: str, client: str = "") -> grpc.ChannelCredentials:
        if not client:
            return grpc.ssl_channel_credentials(self.read(f"{authority}.pem"))
        return grpc.ssl_channel_credentials(
            self.read(f"{authority}.pem"), self.read(f"{client}.key"), self.read(f"{client}.pem")
        )


def is_let_in(address: str, credentials: grpc.ChannelCredentials | None) -> bool:
    channel = (
        grpc.secure_channel(address, credentials, [("grpc.use_local_subchannel_pool", 1)])
        if credentials
        else grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
    )
    with channel:
        call = health_stub(channel).Check.future(health_pb2.HealthCheckRequest(), timeout=60)
        return call.exception() is None


def test_only_who_shows_papers_is_let_in(tmp_path: Path) -> None:
    papers = Papers(tmp_path)
    flags = ["--tls-cert", str(tmp_path / "server.pem"), "--tls-key", str(tmp_path / "server.key")]
    with server(*flags, wait=False) as running:
        assert is_let_in(running.address, papers.credentials("authority"))
        assert not is_let_in(running.address, papers.credentials("stranger"))
        assert not is_let_in(running.address, None)
    with server(*flags, "--client-ca", papers.authority, wait=False) as running:
        assert is_let_in(running.address, papers.credentials("authority", "client"))
        assert not is_let_in(running.address, papers.credentials("authority"))
        assert not is_let_in(running.address, papers.credentials("authority", "impostor"))


# --- what it tells ---------------------------------------------------------------------------------------------


def services(running: Server) -> Any:
    with running.channel() as channel:
        reflect: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked = reflection_pb2.ServerReflectionRequest(list_services="")
        answers = reflect.ServerReflectionInfo(iter([asked]), timeout=60)
        return sorted(service.name for service in next(answers).list_services_response.service)


def test_reflection_is_told_only_if_asked_for() -> None:
    with server("--reflection") as running:
        assert services(running) == [
            "eminence.v1.RefereeService",
            "eminence.v1.RulesService",
            "eminence.v1.SolverService",
            "grpc.health.v1.Health",
            "grpc.reflection.v1alpha.ServerReflection",
        ]
    with server() as running, pytest.raises(grpc.RpcError) as failed:
        services(running)
    error: Any = failed.value
    assert error.code() == grpc.StatusCode.UNIMPLEMENTED


def test_malformed_bytes_never_end_in_unknown_whichever_service_they_are_for() -> None:
    garbage = b"\xff\xff\xff"
    health, reflect = "/grpc.health.v1.Health", "/grpc.reflection.v1alpha.ServerReflection"
    with server("--reflection") as running, running.channel() as channel:
        way: Any = channel
        calls: dict[str, Any] = {
            "Check": lambda: way.unary_unary(f"{health}/Check")(garbage, timeout=60),
            "List": lambda: way.unary_unary(f"{health}/List")(garbage, timeout=60),
            "Watch": lambda: list(way.unary_stream(f"{health}/Watch")(garbage, timeout=60)),
            "reflection": lambda: list(
                way.stream_stream(f"{reflect}/ServerReflectionInfo")(iter([garbage]), timeout=60)
            ),
            "Suggest": lambda: way.unary_unary("/eminence.v1.SolverService/Suggest")(garbage, timeout=60),
        }
        for name, call in calls.items():
            with pytest.raises(grpc.RpcError) as failed:
                call()
            assert told(failed.value)[:2] == ("INVALID_ARGUMENT", "MALFORMED_MESSAGE"), name
        assert running.health() == SERVING
        with pytest.raises(grpc.RpcError) as failed:
            running.health("nobody")
        error: Any = failed.value
        assert error.code() == grpc.StatusCode.NOT_FOUND
        stub: Any = health_pb2_grpc.HealthStub(channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest(), timeout=60)
        assert next(watch).status == SERVING
        watch.cancel()


def test_metrics_and_logs_tell_how_it_goes_and_no_card(tokens: str) -> None:
    with server("--tokens", tokens, "--log", "debug", metrics=True) as running, running.channel() as channel:
        adviser = stub(channel)
        adviser.Suggest(suggest(START, iterations=500), **as_client("a-secret"))
        adviser.Suggest(suggest(START, iterations=500), **as_client("a-secret"))
        for text in ("A:Lord >B:Heir C:? | seen by B", "A:Ambush!!", START.replace("Spy", "Bishop")):
            adviser.Suggest.future(suggest(text, iterations=5), **as_client("a-secret")).exception()
        with urllib.request.urlopen(f"http://{running.metrics_page}/metrics", timeout=60) as page:
            metrics = page.read().decode()
        assert running.stop() == 0
        assert running.process.stderr is not None
        log = running.process.stderr.read()
    assert 'eminence_calls_total{code="OK",method="Suggest",reason=""} 2.0' in metrics
    assert 'eminence_calls_total{code="INVALID_ARGUMENT",method="Suggest",reason="HIDDEN_CARD"} 1.0' in metrics
    assert 'eminence_call_seconds_count{method="Suggest"} 5.0' in metrics
    assert 'eminence_call_seconds_bucket{le="+Inf",method="Suggest"} 5.0' in metrics
    assert 'eminence_calls_under_way{method="Suggest"} 0.0' in metrics
    assert 'eminence_call_seconds_count{method="Review"} 0.0' in metrics  # shown before its first call
    assert 'eminence_searches_total{stop_reason="iterations"} 1.0' in metrics
    assert "eminence_answers_from_cache_total 1.0" in metrics
    assert "eminence_iterations_total 500.0" in metrics
    for name in ("eminence_searches_running", "eminence_searches_waiting", "eminence_call_seconds_bucket"):
        assert name in metrics
    lines = [json.loads(line) for line in log.splitlines()]
    assert sum(line.get("method") == "Suggest" for line in lines) == 5
    for secret in ("Lord", "Heir", "Ambush", "Spy", "Bishop", "secret", "seen by"):
        assert secret not in log
        assert secret not in metrics
