"""The examples, ready to run."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def typescript() -> list[str]:
    folder = EXAMPLES / "typescript"
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("examples/typescript: there is no node and npm here (Debian: nodejs, npm)")
    if not (folder / "node_modules" / ".bin" / "tsc").exists():
        pytest.skip("examples/typescript: its packages are not installed: make examples")
    compiled(["npm", "run", "--silent", "build"], folder)
    return ["node", str(folder / "build" / "play.js")]


def java() -> list[str]:
    folder = EXAMPLES / "java"
    compiled([str(folder / "compile")], folder, missing=3)
    return [str(folder / "build" / "play")]


def python() -> list[str]:
    return [sys.executable, str(EXAMPLES / "python" / "play.py")]


LANGUAGES = {"python": python, "typescript": typescript, "java": java}


def compiled(command: Sequence[str], folder: Path, missing: int | None = None) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500)
    if done.returncode == missing:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session", params=LANGUAGES)
def example(request: pytest.FixtureRequest) -> list[str]:
    """How to start the example of a language."""
    return LANGUAGES[request.param]()
