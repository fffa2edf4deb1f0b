"""The real server in its own process, and requests to it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from waiting import HANG_S, wait_until

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc, view_pb2

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
EN = view_pb2.GameSpec(game_id="oriflamme", players=3, ruleset=view_pb2.Ruleset(edition="en-2019"))
REVEAL = "A:? >B:Heir C:?(1) | round 2 | points 1 2 3 | seen by B"
PLACE = "| round 1 | first A | ask A place | points 1 1 1 | hands Archer,Soldier,Spy,Heir,Lord,Shapeshifter,Ambush ? ? "
OTHERS_TURN = "A:? >B:? C:Heir(1) | round 2 | points 1 2 3 | seen by C"


class Server:
    """A running server process."""

    def __init__(
        self, process: subprocess.Popen[str], address: str, started: float, metrics_page: str, web: str
    ) -> None:
        self.process = process
        self.address = address
        self.web = web
        self.seconds_to_listen = time.monotonic() - started
        self.metrics_page = metrics_page

    def channel(self) -> grpc.Channel:
        return grpc.insecure_channel(self.address, [("grpc.use_local_subchannel_pool", 1)])

    def health(self, service: str = "") -> Any:
        with self.channel() as channel:
            request = health_pb2.HealthCheckRequest(service=service)
            return health_stub(channel).Check(request, timeout=HANG_S).status

    def wait_until_serving(self) -> None:
        wait_until(lambda: self.health() == SERVING)

    def metrics(self) -> dict[str, float]:
        """Return the figures of the metrics page by name and labels, as the page writes them."""
        with urllib.request.urlopen(f"http://{self.metrics_page}/metrics", timeout=HANG_S) as response:
            lines = [line.rpartition(" ") for line in response.read().decode().splitlines() if not line.startswith("#")]
        return {name: float(figure) for name, _, figure in lines}

    def wait_for_searches(self, running: int, waiting: int = 0) -> None:
        """Wait until `running` searches have threads and `waiting` single calls are queued."""
        names = ("eminence_searches_running", 'eminence_searches_waiting{queue="interactive"}')
        wait_until(lambda: itemgetter(*names)(self.metrics()) == (running, waiting))

    def answers_from_cache(self) -> float:
        """Return how many answers have come from the cache."""
        return self.metrics()["eminence_answers_from_cache_total"]

    def stop(self) -> int:
        """Send SIGTERM; return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(HANG_S)


@contextmanager
def server(
    *flags: str,
    wait: bool = True,
    metrics: bool = False,
    web: bool = False,
    self_test: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """Run a server with these flags on a free port; `metrics` adds a metrics page on another port, `web` HTTP.

    The self-test takes longer than most tests, so only those of itself run it.
    """
    page = f"127.0.0.1:{free_port()}"
    started = time.monotonic()
    command = [sys.executable, "-m", "server", "--address", "127.0.0.1:0", "--web", "127.0.0.1:0" * web, *flags]
    command += ["--metrics", page] * metrics + ["--no-self-test"] * (not self_test)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
    )
    assert process.stdout is not None
    try:
        greeting = process.stdout.readline()
        assert greeting.startswith("listening on "), process.stderr.read() if process.stderr else ""
        address = process.stdout.readline().split()[-1] if web else ""
        running = Server(process, greeting.split()[-1], started, page, address)
        if wait:
            running.wait_until_serving()
        yield running
    finally:
        process.kill()
        process.communicate()


def free_port() -> int:
    """Return a port that no process listens on yet."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def health_stub(channel: grpc.Channel) -> Any:
    return health_pb2_grpc.HealthStub(channel)


def stub(channel: grpc.Channel) -> Any:
    return solver_pb2_grpc.SolverServiceStub(channel)


def milliseconds(number: float) -> Duration:
    duration = Duration()
    duration.FromMicroseconds(round(number * 1000))
    return duration


def view(text: str = REVEAL) -> view_pb2.View:
    return view_pb2.View(game=EN, text=text)


def suggest(text: str = REVEAL, **budget: Any) -> pb.SuggestRequest:
    if "time_ms" in budget:
        budget["time"] = milliseconds(budget.pop("time_ms"))
    return pb.SuggestRequest(view=view(text), budget=pb.Budget(**budget))


def refusal(call: Any, request: Any) -> tuple[str, str, str]:
    """Make a single call or a stream that is refused; return the status code, reason and field."""
    response = call.future(request, timeout=HANG_S) if hasattr(call, "future") else call(request, timeout=HANG_S)
    with pytest.raises(grpc.RpcError) as refused:
        response.result() if hasattr(response, "result") else list(response)
    return refusal_of(refused.value)


def refusal_of(error: Any) -> tuple[str, str, str]:
    """Return the status code, reason and field of a refused call."""
    status = rpc_status.from_call(error)
    assert status is not None, error
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    assert status.details[0].Unpack(info)
    for detail in status.details[1:]:
        detail.Unpack(bad)
    return error.code().name, info.reason, bad.field_violations[0].field if bad.field_violations else ""


def retry_after(error: Any) -> float:
    """Return the delay after which a refused call may be retried, in seconds."""
    status = rpc_status.from_call(error)
    assert status is not None, error
    retry = error_details_pb2.RetryInfo()
    assert any(detail.Unpack(retry) for detail in status.details)
    seconds: float = retry.retry_delay.ToMilliseconds() / 1000
    return seconds
