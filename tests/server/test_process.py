"""The process of the server: start, shutdown, and errors at the start."""

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
    refusal_of,
    retry_after,
    server,
    stub,
    suggest,
    view,
)
from waiting import HANG_S, wait_until

from eminence.v1 import solver_pb2 as pb
from server.client import Client, text_view
from server.client.requests import OPTIONS

NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class HeldTest:
    """Delays the self-test of a server until `release`."""

    def __init__(self, folder: Path) -> None:
        self._released = folder / "released"
        (folder / "sitecustomize.py").write_text(
            "import time\n"
            "from pathlib import Path\n"
            "import solver.signature as ours\n"
            "compute = ours.published\n"
            "def wait_and_compute():\n"
            f"    while not Path({str(self._released)!r}).exists():\n"
            "        time.sleep(0.01)\n"
            "    return compute()\n"
            "ours.published = wait_and_compute\n"
        )
        self.environment = {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}

    def release(self) -> None:
        self._released.touch()


@pytest.fixture
def self_test(tmp_path: Path) -> HeldTest:
    return HeldTest(tmp_path)


@pytest.mark.slow
def test_the_port_is_open_before_the_self_test_and_serves_after_it(self_test: HeldTest) -> None:
    with server(wait=False, self_test=True, environment=self_test.environment) as running:
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
    with server(wait=False, self_test=True) as running:
        assert running.seconds_to_listen < 3  # the goal is one second on an idle machine


def test_the_greeting_and_the_help_name_the_page() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "server", "--address", "127.0.0.1:0", "--web", "127.0.0.1:0", "--no-self-test"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        assert process.stdout.readline().startswith("HTTP, and the page for browsers, on http://127.0.0.1:")
    finally:
        process.kill()
        process.communicate()
    help_text = subprocess.run([sys.executable, "-m", "server", "--help"], capture_output=True, text=True).stdout
    assert "the page for browsers" in " ".join(help_text.split())


def test_the_command_of_the_greeting_runs() -> None:
    with server() as running:
        assert running.process.stdout is not None
        running.process.stdout.readline()
        command = running.process.stdout.readline().strip().removeprefix(".venv/bin/python")
        result = subprocess.run(
            f"{sys.executable} {command} --time-ms 50", shell=True, capture_output=True, text=True, timeout=60
        )
        assert result.stdout.startswith(("reveal", "keep")), result.stderr


def test_the_python_client_gets_answers() -> None:
    with server() as running, Client(running.address) as client:
        game = text_view("oriflamme", "en-2019", 3, REVEAL)
        assert client.suggest(game, pb.Budget(iterations=500)).iterations == 500
        steps = list(client.analyze(game, pb.Budget(time=milliseconds(300)), interval_ms=60))
        assert [step.last for step in steps] == [False] * (len(steps) - 1) + [True]


@pytest.mark.slow
def test_a_server_whose_engine_has_another_signature_does_not_start() -> None:
    code = (
        "import sys, solver.expected_signature; solver.expected_signature.SIGNATURE = '0' * 16;"
        "sys.argv[1:] = ['--address', '127.0.0.1:0'];"
        "from server.__main__ import main; main(sys.argv[1:])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.returncode == 3
    assert "self-test" in result.stderr
    assert '"serving"' not in result.stderr


class Call:
    """A call on its own thread, with its answer or error."""

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


def test_at_shutdown_the_server_answers_every_call_that_it_accepted() -> None:
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
def test_the_server_ends_when_its_searches_have_drained() -> None:
    with server("--drain-ms", "200", metrics=True) as running:
        call = Call(running, suggest(iterations=10**11))
        running.wait_for_searches(1)
        started = time.monotonic()
        assert running.stop() == 0
        assert time.monotonic() - started < 1.2
        assert call.join().stop_reason == pb.STOP_REASON_SHUTDOWN


@pytest.mark.slow
def test_calls_during_the_shutdown_are_unavailable_and_not_cancelled() -> None:
    """Clients retry on UNAVAILABLE; gRPC itself would answer CANCELLED to calls during its shutdown."""
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


def test_a_second_signal_ends_the_drain() -> None:
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


def test_an_idle_server_ends_without_waiting_for_the_drain() -> None:
    with server(*TEN_MINUTES) as running:
        assert running.stop() == 0


def test_a_port_in_use_is_an_error() -> None:
    with server() as running:
        command = [sys.executable, "-m", "server", "--address", running.address, "--web", ""]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("flags", "error"),
    [
        (("--metrics", "TAKEN"), "eminence: metrics: TAKEN: Address already in use\n"),
        (("--metrics", "nowhere.invalid:1", "--insecure"), "eminence: metrics: nowhere.invalid:1: "),
        (("--web", "TAKEN"), 'eminence: web: TAKEN: Address already in use (--web "" serves no HTTP)\n'),
        (("--tls-cert", "/nowhere", "--tls-key", "/nowhere"), "eminence: tls_key: /nowhere cannot be read: "),
    ],
)
def test_an_unusable_port_or_file_of_a_setting_is_an_error_in_one_line(flags: tuple[str, ...], error: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        taken = f"127.0.0.1:{listener.getsockname()[1]}"
        command = [sys.executable, "-m", "server", "--address", "127.0.0.1:0", "--web", "127.0.0.1:0"]
        command += [flag.replace("TAKEN", taken) for flag in flags]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith(error.replace("TAKEN", taken))
    assert result.stderr.count("\n") == 1


def test_a_closed_pipe_ends_the_server_quietly_and_a_full_disk_with_an_error() -> None:
    command = [sys.executable, "-m", "server", "--address", "127.0.0.1:0", "--web", "", "--no-self-test"]
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as pipe, open("/dev/full", "w") as disk:
        to_pipe = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=60)
        to_disk = subprocess.run(command, stdout=disk, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (to_pipe.returncode, to_pipe.stderr) == (141, "")
    assert (to_disk.returncode, to_disk.stderr) == (1, "eminence: [Errno 28] No space left on device\n")


def test_a_bug_has_its_own_exit_code() -> None:
    broken = "import server.app as app; app.App._serve_until_stopped = lambda *_: 1 / 0; "
    program = f"{broken}from server.cli.main import main; main()"
    command = [sys.executable, "-c", program, "serve", "--address", "127.0.0.1:0", "--web", "", "--no-self-test"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 3
    assert result.stderr.startswith("eminence: internal error: ZeroDivisionError")


def test_metrics_are_served_on_an_ipv6_address() -> None:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
            port = listener.getsockname()[1]
    except OSError:
        pytest.skip("there is no version 6 here")
    with server("--metrics", f"[::1]:{port}", wait=False), urlopen(f"http://[::1]:{port}/metrics", timeout=60) as page:
        assert "eminence_" in page.read().decode()


def test_before_the_self_test_ends_calls_are_unavailable(self_test: HeldTest) -> None:
    with server(wait=False, self_test=True, environment=self_test.environment) as running, running.channel() as channel:
        with pytest.raises(grpc.RpcError) as failed:
            stub(channel).Suggest(suggest(iterations=10), timeout=60)
        assert refusal_of(failed.value) == ("UNAVAILABLE", "UNAVAILABLE", "")
        assert retry_after(failed.value) > 0


def test_views_of_the_start_are_answered() -> None:
    with server() as running, running.channel() as channel:
        request = pb.SuggestRequest(view=view(PLACE + "| seen by A"), budget=pb.Budget(iterations=300))
        assert stub(channel).Suggest(request, timeout=60).suggestion.best.text.startswith("place ")
