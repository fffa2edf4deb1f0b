"""TLS, tokens, quotas, the answer cache of each client, reflection, metrics and logs."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import grpc
import pytest
from certificates import make_certificate
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from process import PLACE, SERVING, Server, health_stub, refusal_of, server, stub, suggest
from tokens import as_client
from waiting import wait_until

from eminence.v1 import rules_pb2, rules_pb2_grpc
from server.client import Client
from server.rpc.auth import read_clients
from server.settings import SettingsError

START = PLACE + "| seen by A"


def failure(call: Any) -> tuple[str, str, str]:
    assert call.exception() is not None
    return refusal_of(call.exception())


def test_without_a_valid_token_every_call_is_refused_unread(tokens: str) -> None:
    with server("--tokens", tokens, wait=False) as running, running.channel() as channel:
        running.wait_until_serving()  # health checks need no token
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


def test_each_client_has_its_own_quotas(tokens: str) -> None:
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
        (f'[alice]\ntoken_sha256 = "{"0" * 64}"\nquota = 3\n', "tokens: alice.quota: is not a key of a client"),
        (f'[alice]\ntoken_sha256 = "{"0" * 64}"\ncalls_per_minute = -1\n', "tokens: alice.calls_per_minute: -1"),
    ],
)
def test_an_invalid_file_of_tokens_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "tokens.toml").write_text(text, "utf-8")
    with pytest.raises(SettingsError, match=why):
        read_clients(str(tmp_path / "tokens.toml"))


# --- the cache -------------------------------------------------------------------------------------------------


def test_reproducible_answers_are_cached_for_each_client_alone(tokens: str) -> None:
    with server("--tokens", tokens, metrics=True) as running, running.channel() as channel:
        adviser = stub(channel)
        request = suggest(START, iterations=600)
        first = adviser.Suggest(request, **as_client("a-secret"))
        again = adviser.Suggest(request, **as_client("a-secret"))
        assert running.answers_from_cache() == 1
        of_bob = adviser.Suggest(request, **as_client("b-secret"))
        for answer in (first, again, of_bob):
            answer.suggestion.ClearField("elapsed")
        assert first == again == of_bob
        # Answers that a time limit ended are not cached.
        for _ in range(2):
            adviser.Suggest(suggest(START, time_ms=60), **as_client("a-secret"))
        assert running.answers_from_cache() == 1


def test_the_cache_can_be_switched_off() -> None:
    with server("--cache-mb", "0", metrics=True) as running, running.channel() as channel:
        for _ in range(2):
            stub(channel).Suggest(suggest(START, iterations=600), timeout=60)
        assert running.answers_from_cache() == 0
        assert running.metrics()["eminence_iterations_total"] == 1200


# --- TLS -------------------------------------------------------------------------------------------------------


class Certificates:
    """Keys and certificates of an authority, a server and a client, and of another authority and its client."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = make_certificate(folder, "authority")
        make_certificate(folder, "stranger")
        make_certificate(folder, "server", "authority")
        make_certificate(folder, "client", "authority")
        make_certificate(folder, "impostor", "stranger")

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def credentials(self, authority: str, client: str = "") -> grpc.ChannelCredentials:
        if not client:
            return grpc.ssl_channel_credentials(self.read(f"{authority}.pem"))
        return grpc.ssl_channel_credentials(
            self.read(f"{authority}.pem"), self.read(f"{client}.key"), self.read(f"{client}.pem")
        )


def is_accepted(address: str, credentials: grpc.ChannelCredentials | None) -> bool:
    channel = (
        grpc.secure_channel(address, credentials, [("grpc.use_local_subchannel_pool", 1)])
        if credentials
        else grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
    )
    with channel:
        call = health_stub(channel).Check.future(health_pb2.HealthCheckRequest(), timeout=60)
        return call.exception() is None


def test_only_clients_with_the_right_certificates_are_accepted(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    flags = ["--tls-cert", str(tmp_path / "server.pem"), "--tls-key", str(tmp_path / "server.key")]
    with server(*flags, wait=False) as running:
        assert is_accepted(running.address, certificates.credentials("authority"))
        assert not is_accepted(running.address, certificates.credentials("stranger"))
        assert not is_accepted(running.address, None)
    with server(*flags, "--client-ca", certificates.authority, wait=False) as running:
        assert is_accepted(running.address, certificates.credentials("authority", "client"))
        assert not is_accepted(running.address, certificates.credentials("authority"))
        assert not is_accepted(running.address, certificates.credentials("authority", "impostor"))


# --- reflection, metrics and logs ------------------------------------------------------------------------------


def services(running: Server) -> Any:
    with running.channel() as channel:
        reflect: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        answers = reflect.ServerReflectionInfo(iter([request]), timeout=60)
        return sorted(service.name for service in next(answers).list_services_response.service)


def test_reflection_is_served_only_with_the_flag() -> None:
    with server("--reflection") as running:
        assert services(running) == [
            "eminence.v1.RefereeService",
            "eminence.v1.RulesService",
            "eminence.v1.SolverService",
            "eminence.v1.TableService",
            "grpc.health.v1.Health",
            "grpc.reflection.v1alpha.ServerReflection",
        ]
    with server() as running, pytest.raises(grpc.RpcError) as failed:
        services(running)
    error: Any = failed.value
    assert error.code() == grpc.StatusCode.UNIMPLEMENTED


def test_malformed_bytes_are_refused_as_such_by_every_service() -> None:
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
            assert refusal_of(failed.value)[:2] == ("INVALID_ARGUMENT", "MALFORMED_MESSAGE"), name
        assert running.health() == SERVING
        with pytest.raises(grpc.RpcError) as failed:
            running.health("unknown")
        error: Any = failed.value
        assert error.code() == grpc.StatusCode.NOT_FOUND
        stub: Any = health_pb2_grpc.HealthStub(channel)
        watch = stub.Watch(health_pb2.HealthCheckRequest(), timeout=60)
        assert next(watch).status == SERVING
        watch.cancel()


def test_metrics_and_logs_count_calls_and_hold_no_card(tokens: str) -> None:
    with server("--tokens", tokens, "--log", "debug", metrics=True) as running, running.channel() as channel:
        adviser = stub(channel)
        adviser.Suggest(suggest(START, iterations=500), **as_client("a-secret"))
        adviser.Suggest(suggest(START, iterations=500), **as_client("a-secret"))
        for text in ("A:Lord >B:Heir C:? | seen by B", "A:Ambush!!", START.replace("Spy", "Bishop")):
            adviser.Suggest.future(suggest(text, iterations=5), **as_client("a-secret")).exception()
        # The server counts a call after its client has received the answer.
        wait_until(lambda: running.metrics()['eminence_call_seconds_count{method="Suggest"}'] == 5)
        with urllib.request.urlopen(f"http://{running.metrics_page}/metrics", timeout=60) as page:
            metrics = page.read().decode()
        assert running.stop() == 0
        assert running.process.stderr is not None
        log = running.process.stderr.read()
    assert 'eminence_calls_total{code="OK",method="Suggest",reason=""} 2.0' in metrics
    assert 'eminence_calls_total{code="INVALID_ARGUMENT",method="Suggest",reason="HIDDEN_CARD"} 1.0' in metrics
    assert 'eminence_call_seconds_count{method="Suggest"} 5.0' in metrics
    assert 'eminence_call_seconds_bucket{le="+Inf",method="Suggest"} 5.0' in metrics
    assert 'eminence_calls_in_flight{method="Suggest"} 0.0' in metrics
    assert 'eminence_call_seconds_count{method="Review"} 0.0' in metrics  # present before the first call
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
