"""What docs/cluster.md shows is run as it stands, but for addresses."""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cluster.md").read_text()
ALONE, BATCH, TOGETHER = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
HEAD, NODE = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
TOKEN = secrets.token_hex(32)


def run_python(code: str, path: Path, **environment: str) -> str:
    (path / "page.py").write_text(code)
    return subprocess.check_output(
        [sys.executable, "page.py"], cwd=path, text=True, timeout=60, env=environment_with(**environment)
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
            process.wait(20)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_the_token_of_the_page_is_one() -> None:
    made = subprocess.check_output(["bash", "-c", HEAD.split("\nray ")[0] + '\necho "$RAY_AUTH_TOKEN"'], text=True)
    assert len(made.strip()) == 64


def test_one_machine(tmp_path: Path) -> None:
    said = run_python(ALONE, tmp_path)
    assert "iterations" in said
    assert "state='ready', workers=2" in said


def test_many_positions(tmp_path: Path) -> None:
    lines = run_python(BATCH, tmp_path).splitlines()
    assert [int(line.split()[0]) for line in lines] == list(range(20))
    assert all("place" in line for line in lines)


def test_several_machines(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    host = socket.gethostbyname(socket.gethostname())

    def here(text: str) -> str:
        return text.replace("10.0.0.1:6379", f"{host}:{port}").replace("port=6379", f"port={port}")

    with running(here(HEAD)):
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection((host, port), 1).close()
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        with running(here(NODE)):
            code = here(TOGETHER).replace(
                "    print(pool.health)", "    import time; time.sleep(8)\n    print(pool.health)"
            )
            said = run_python(code, tmp_path, RAY_AUTH_TOKEN=TOKEN, RAY_AUTH_MODE="token")
    assert "state='ready', workers=2" in said
    assert "20000 iterations" in said
