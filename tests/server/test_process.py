"""The server's process: how it begins and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import grpc
import pytest
from grpc_health.v1 import health_pb2
from process import (
    PLACE,
    REVEAL,
    SERVING,
    Server,
    health_stub,
    milliseconds,
    retry_after,
    server,
    stub,
    suggest,
    told,
    view,
)
from waiting import HANG_S, wait_until

from eminence.v1 import solver_pb2 as pb
from server.client import Client, text_view
from server.client.requests import OPTIONS

NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class HeldTest:
    """Holds up the self-test of a server until it is released."""

    def __init__(self, folder: Path) -> None:
        self._released = folder / "released"
        (folder / "sitecustomize.py").write_text(
            "import time\n"
            "from pathlib import Path\n"
            "import solver.signature as ours\n"
            "compute = ours.signature\n"
            "def wait_and_compute():\n"
            f"    while not Path({str(self._released)!r}).exists():\n"
            "        time.sleep(0.01)\n"
            "    return compute()\n"
            "ours.signature = wait_and_compute\n"
        )
        self.environment = {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}

    def release(self) -> None:
        self._released.touch()


@pytest.fixture
def self_test(tmp_path: Path) -> HeldTest:
    return HeldTest(tmp_path)


def test_the_port_is_open_before_the_self_test_and_serves_after_it(self_test: HeldTest) -> None:
    with server(wait=False, environment=self_test.environment) as running:
        assert running.health() == NOT_SERVING
        self_test.release()
        running.wait_until_serving()
        for service in ("SolverService", "RulesService", "RefereeService"):
            assert running.health(f"eminence.v1.{service}") == SERVING
        with running.channel() as channel, pytest.raises(grpc.RpcError) as failed:
            health_stub(channel).Check(health_pb2.HealthCheckRequest(service="x"), timeout=60)
        error: Any = failed.value
        assert error.code() == grpc.StatusCode.NOT_FOUND


@pytest.mark.timing
def test_the_port_is_open_within_three_seconds() -> None:
    with server(wait=False) as running:
        assert running.seconds_to_listen < 3  # goal: one second, on a machine of its own


def test_what_it_prints_can_be_pasted() -> None:
    with server() as running:
        assert running.process.stdout is not None
        running.process.stdout.readline()
        command = running.process.stdout.readline().strip().removeprefix(".venv/bin/python")
        said = subprocess.run(
            f"{sys.executable} {command} --time-ms 50", shell=True, capture_output=True, text=True, timeout=60
        )
        assert said.stdout.startswith(("reveal", "keep")), said.stderr


def test_the_python_client_asks() -> None:
    with server() as running, Client(running.address) as client:
        game = text_view("oriflamme", "en-2019", 3, REVEAL)
        assert client.suggest(game, pb.Budget(iterations=500)).iterations == 500
        steps = list(client.analyze(game, pb.Budget(time=milliseconds(300)), interval_ms=60))
        assert [step.last for step in steps] == [False] * (len(steps) - 1) + [True]


def test_an_engine_that_answers_otherwise_is_not_served() -> None:
    code = (
        "import sys, solver.expected_signature; solver.expected_signature.SIGNATURE = '0' * 16;"
        "sys.argv[1:] = ['--address', '127.0.0.1:0'];"
        "from server.__main__ import main; main(sys.argv[1:])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "self-test" in done.stderr
    assert '"serving"' not in done.stderr


class Call:
    """A call on a thread of its own, and how it ended."""

    def __init__(self, running: Server, request: pb.SuggestRequest) -> None:
        self.answer: Any = None
        self.error: Any = None
        self._running, self._request = running, request
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with self._running.channel() as channel:
            try:
                self.answer = stub(channel).Suggest(self._request, timeout=60).suggestion
            except grpc.RpcError as error:
                self.error = error

    def join(self) -> Any:
        self._thread.join(60)
        return self.answer


def test_told_to_stop_it_answers_every_call_that_it_took() -> None:
    with server("--threads", "1", "--reserved", "0", "--drain-ms", "200", metrics=True) as running:
        calls = [Call(running, suggest(iterations=10**11, confidence=0.999)) for _ in range(5)]
        with running.channel() as channel:
            watch = health_stub(channel).Watch(health_pb2.HealthCheckRequest())
            assert next(watch).status == SERVING
            running.wait_for_searches(1, waiting=4)
            running.process.send_signal(signal.SIGTERM)
            assert next(watch).status == NOT_SERVING
        late = Call(running, suggest(iterations=10))
        answers = [call.join() for call in calls]
        assert all(answer is not None for answer in answers), [call.error for call in calls]
        assert {answer.stop_reason for answer in answers} == {pb.STOP_REASON_SHUTDOWN}
        assert all(answer.best.text for answer in answers)
        assert not any(answer.reproducible for answer in answers)
        late.join()
        assert late.error.code() == grpc.StatusCode.UNAVAILABLE
        assert running.process.wait(HANG_S) == 0


@pytest.mark.timing
def test_it_stops_when_its_searches_have_drained() -> None:
    with server("--drain-ms", "200", metrics=True) as running:
        call = Call(running, suggest(iterations=10**11))
        running.wait_for_searches(1)
        begun = time.monotonic()
        assert running.stop() == 0
        assert time.monotonic() - begun < 1.2
        assert call.join().stop_reason == pb.STOP_REASON_SHUTDOWN


def test_calls_that_come_while_it_stops_are_unavailable_and_not_cancelled() -> None:
    """For clients that wait before they try again as long as they are told. gRPC itself cancels what comes while it
    shuts down."""
    statuses: list[str] = []
    answers: list[pb.SuggestResponse] = []

    def call(running: Server) -> None:
        with grpc.insecure_channel(running.address, OPTIONS) as channel:
            while "UNAVAILABLE" not in statuses:
                try:
                    answers.append(stub(channel).Suggest(suggest(iterations=300), timeout=60))
                except grpc.RpcError as error:
                    statuses.append(error.code().name)
                    return

    with server() as running:
        threads = [threading.Thread(target=call, args=(running,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(answers) > 100)
        assert running.stop() == 0
        for thread in threads:
            thread.join(60)
    assert set(statuses) == {"UNAVAILABLE"}


# Longer than `Server.stop` waits.
TEN_MINUTES = ("--drain-ms", "600000")


def test_told_twice_it_hurries() -> None:
    with server(*TEN_MINUTES, metrics=True) as running:
        call = Call(running, suggest(iterations=10**11))
        running.wait_for_searches(1)
        with running.channel() as channel:
            watch = health_stub(channel).Watch(health_pb2.HealthCheckRequest())
            assert next(watch).status == SERVING
            running.process.send_signal(signal.SIGTERM)
            assert next(watch).status == NOT_SERVING
        assert running.stop() == 0
        assert call.join().stop_reason == pb.STOP_REASON_SHUTDOWN


def test_without_work_it_stops_before_its_searches_would_have_drained() -> None:
    with server(*TEN_MINUTES) as running:
        assert running.stop() == 0


def test_a_port_that_is_taken_is_an_error() -> None:
    with server() as running:
        command = [sys.executable, "-m", "server", "--address", running.address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--metrics", "TAKEN"), "eminence: metrics: TAKEN: Address already in use\n"),
        (("--metrics", "nowhere.invalid:1", "--insecure"), "eminence: metrics: nowhere.invalid:1: "),
        (("--tls-cert", "/nowhere", "--tls-key", "/nowhere"), "eminence: tls_key: /nowhere cannot be read: "),
    ],
)
def test_what_a_setting_names_and_cannot_be_had_is_an_error_in_one_line(flags: tuple[str, ...], said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        command = [sys.executable, "-m", "server", "--address", "127.0.0.1:0"]
        command += [flag.replace("TAKEN", taken) for flag in flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(said.replace("TAKEN", taken))
    assert done.stderr.count("\n") == 1


def test_a_reader_that_leaves_before_the_greeting_ends_it_quietly() -> None:
    command = [sys.executable, "-m", "server", "--address", "127.0.0.1:0", "--no-self-test"]
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as gone, open("/dev/full", "w") as full:
        left = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, text=True, timeout=60)
        failed = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (left.returncode, left.stderr) == (141, "")
    assert (failed.returncode, failed.stderr) == (1, "eminence: [Errno 28] No space left on device\n")


def test_a_mistake_of_ours_has_a_code_of_its_own() -> None:
    broken = "import server.app as app; app.App._serve_until_stopped = lambda *_: 1 / 0; "
    program = f"{broken}from server.cli.main import main; main()"
    command = [sys.executable, "-c", program, "serve", "--address", "127.0.0.1:0", "--no-self-test"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert done.stderr.startswith("eminence: internal error: ZeroDivisionError")


def test_metrics_are_served_on_an_address_of_version_6() -> None:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6) as other:
            port = other.getsockname()[1]
    except OSError:
        pytest.skip("there is no version 6 here")
    with server("--metrics", f"[::1]:{port}", wait=False), urlopen(f"http://[::1]:{port}/metrics", timeout=60) as page:
        assert "eminence_" in page.read().decode()


def test_before_it_serves_it_refuses(self_test: HeldTest) -> None:
    with server(wait=False, environment=self_test.environment) as running, running.channel() as channel:
        with pytest.raises(grpc.RpcError) as failed:
            stub(channel).Suggest(suggest(iterations=10), timeout=60)
        assert told(failed.value) == ("UNAVAILABLE", "UNAVAILABLE", "")
        assert retry_after(failed.value) > 0


def test_views_of_the_start_are_answered() -> None:
    with server() as running, running.channel() as channel:
        request = pb.SuggestRequest(view=view(PLACE + "| seen by A"), budget=pb.Budget(iterations=300))
        assert stub(channel).Suggest(request, timeout=60).suggestion.best.text.startswith("place ")
