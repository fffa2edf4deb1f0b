"""Run the Python and shell blocks of docs/cluster.md; only addresses and tokens differ."""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from process import NOT_SERVING, SERVING, Server, server, stub, suggest
from program import read_settings
from waiting import wait_until

from eminence.v1 import solver_pb2 as pb
from solver.pool import ray_pool

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cluster.md").read_text()
ALONE, BATCH, TOGETHER = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
SERVICE, SERVICE_THERE, HEAD, NODE = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
TOKEN = secrets.token_hex(32)


def run_python(code: str, path: Path, **environment: str) -> str:
    (path / "page.py").write_text(code)
    return subprocess.check_output(
        [sys.executable, "page.py"], cwd=path, text=True, timeout=300, env=environment_with(**environment)
    )


def environment_with(**variables: str) -> dict[str, str]:
    ray = str(Path(sys.executable).parent)
    return {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{ray}{os.pathsep}{os.environ['PATH']}", **variables}


@contextmanager
def running(script: str) -> Iterator[None]:
    """Run a script of the page that starts a node, with the token of this test."""
    script = re.sub(r"export RAY_AUTH_TOKEN=.*\n", "", script).replace("\nray ", "\nexec ray ")
    process = subprocess.Popen(
        ["bash", "-c", script],
        env=environment_with(RAY_AUTH_TOKEN=TOKEN),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(60)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_the_command_of_the_page_makes_a_token_of_64_characters() -> None:
    token = subprocess.check_output(["bash", "-c", HEAD.split("\nray ")[0] + '\necho "$RAY_AUTH_TOKEN"'], text=True)
    assert len(token.strip()) == 64


def test_the_batch_of_the_page_answers_20_positions(tmp_path: Path) -> None:
    lines = run_python(BATCH, tmp_path).splitlines()
    assert [int(line.split()[0]) for line in lines] == list(range(20))
    assert all("place" in line for line in lines)


def test_the_command_of_the_page_serves_on_ray() -> None:
    """tests/server/test_ray_server.py tests such a server."""
    assert read_settings(SERVICE.split()[3:], {}).backend == "ray"
    assert SERVICE.split()[:3] == [".venv/bin/python", "-m", "server"]


def test_a_server_and_the_programs_of_the_page_use_a_cluster_of_two_nodes(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    host = socket.gethostbyname(socket.gethostname())
    head_environment = {"RAY_AUTH_TOKEN": TOKEN, "RAY_AUTH_MODE": "token"}

    def with_local_address(text: str) -> str:
        return text.replace("10.0.0.1:6379", f"{host}:{port}").replace("port=6379", f"port={port}")

    def suggestion_of(running_server: Server, iterations: int) -> pb.Suggestion:
        with running_server.channel() as channel:
            suggestion: pb.Suggestion = stub(channel).Suggest(suggest(iterations=iterations), timeout=60).suggestion
        return suggestion

    flags = with_local_address(SERVICE_THERE).split()[3:]
    with server(*flags, environment=head_environment) as running_server:
        # There is no cluster at the address. Cached answers have no note.
        assert suggestion_of(running_server, 500).note == ray_pool.HERE
        assert suggestion_of(running_server, 500).note == ""
        assert running_server.health("ray") == NOT_SERVING
        with running(with_local_address(HEAD)):
            wait_until(lambda: running_server.health("ray") == SERVING)
            assert suggestion_of(running_server, 501).note == ""
            assert running_server.stop() == 0
            with running(with_local_address(NODE)):
                # With RAY_ADDRESS, the program for one machine uses the cluster.
                code = WAIT + with_local_address(TOGETHER) + ALONE
                output = run_python(code, tmp_path, RAY_ADDRESS=f"{host}:{port}", **head_environment)
                assert output.count("iterations") == 2
                assert "20000 iterations" in output
                assert output.count("state='ready', workers=") == 2


# Waits for the second node and its worker.
WAIT = """
import time
from solver.pool.ray_pool import RayPool
with RayPool(2) as pool:
    while pool.health.workers < 2:
        time.sleep(0.05)
"""
