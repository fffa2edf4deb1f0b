"""The examples of each language, compiled where needed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from program import ROOT

EXAMPLES = ROOT / "examples"


def typescript() -> list[str]:
    folder = EXAMPLES / "typescript"
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("examples/typescript: there is no node and npm here (Debian: nodejs, npm)")
    if not (folder / "node_modules" / ".bin" / "tsc").exists():
        pytest.skip("examples/typescript: its packages are not installed: make examples")
    compile_with(["npm", "run", "--silent", "build"], folder)
    return ["node", str(folder / "build" / "play.js")]


def java() -> list[str]:
    folder = EXAMPLES / "java"
    compile_with([str(folder / "compile")], folder, missing=3)
    return [str(folder / "build" / "play")]


def python() -> list[str]:
    return [sys.executable, str(EXAMPLES / "python" / "play.py")]


LANGUAGES = {"python": python, "typescript": typescript, "java": java}


def compile_with(command: Sequence[str], folder: Path, missing: int | None = None) -> None:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500)
    if result.returncode == missing:
        pytest.skip(result.stderr.strip())
    assert result.returncode == 0, result.stdout + result.stderr


# Other languages than Python are compiled first.
PARAMS = [pytest.param(name, marks=[] if name == "python" else pytest.mark.slow) for name in LANGUAGES]


@pytest.fixture(scope="session", params=PARAMS)
def example(request: pytest.FixtureRequest) -> list[str]:
    """Return the command that starts the example of a language."""
    return LANGUAGES[request.param]()
