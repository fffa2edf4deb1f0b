"""What docs/cluster.md shows is run as it stands, but for addresses."""

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


def environment_with(**more: str) -> dict[str, str]:
    ray = str(Path(sys.executable).parent)
    return {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{ray}{os.pathsep}{os.environ['PATH']}", **more}


@contextmanager
def running(script: str) -> Iterator[None]:
    """A node, as on the page; its token is ours, so that both have the same."""
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


def test_the_token_of_the_page_is_one() -> None:
    made = subprocess.check_output(["bash", "-c", HEAD.split("\nray ")[0] + '\necho "$RAY_AUTH_TOKEN"'], text=True)
    assert len(made.strip()) == 64


def test_many_positions(tmp_path: Path) -> None:
    lines = run_python(BATCH, tmp_path).splitlines()
    assert [int(line.split()[0]) for line in lines] == list(range(20))
    assert all("place" in line for line in lines)


def test_the_service_on_this_machine() -> None:
    """All that the flag means is tested in tests/server/test_ray_server.py."""
    assert read_settings(SERVICE.split()[3:], {}).backend == "ray"
    assert SERVICE.split()[:3] == [".venv/bin/python", "-m", "server"]


def test_several_machines(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    host = socket.gethostbyname(socket.gethostname())
    there = {"RAY_AUTH_TOKEN": TOKEN, "RAY_AUTH_MODE": "token"}

    def here(text: str) -> str:
        return text.replace("10.0.0.1:6379", f"{host}:{port}").replace("port=6379", f"port={port}")

    def suggested(served: Server, iterations: int) -> pb.Suggestion:
        with served.channel() as channel:
            found: pb.Suggestion = stub(channel).Suggest(suggest(iterations=iterations), timeout=60).suggestion
        return found

    flags = here(SERVICE_THERE).split()[3:]
    with server(*flags, environment=there) as served:
        # Nobody is at the address. Of an answer that is kept, how it came about does not count.
        assert suggested(served, 500).note == ray_pool.HERE
        assert suggested(served, 500).note == ""
        assert served.health("ray") == NOT_SERVING
        with running(here(HEAD)):
            wait_until(lambda: served.health("ray") == SERVING)
            assert suggested(served, 501).note == ""
            assert served.stop() == 0
            with running(here(NODE)):
                # What is for one machine goes to the cluster, if there is one.
                code = WAIT + here(TOGETHER) + ALONE
                said = run_python(code, tmp_path, RAY_ADDRESS=f"{host}:{port}", **there)
                assert said.count("iterations") == 2
                assert "20000 iterations" in said
                assert said.count("state='ready', workers=") == 2


# Until the second node is there, and its worker.
WAIT = """
import time
from solver.pool.ray_pool import RayPool
with RayPool(2) as pool:
    while pool.health.workers < 2:
        time.sleep(0.05)
"""
