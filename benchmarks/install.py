"""Measure what `pip install` installs: the sizes of environments with the wheel and its extras.

An environment is a fresh virtual environment without pip. Its size is that of its files, in MB of 2**20 bytes, with
the bytecode that pip compiles. Packages come from the registry that pip is configured for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks import report
from benchmarks.measure import Figure, figure, load
from benchmarks.report import Goal, Result

ROOT = Path(__file__).parents[1]
# The Python that builds the project.
TOOLS = ROOT / "build" / "tools" / "bin" / "python"


class Environment(NamedTuple):
    """An environment to measure: its extras, the goal for its size in MB, and what it runs."""

    extras: str
    goal: Goal
    meaning: str


ENVIRONMENTS = {
    "command_line_mb": Environment("", Goal(60, 30), "engine, solver and command line: eminence"),
    "server_mb": Environment("[server]", Goal(120, 55), "the same and a server: eminence[server]"),
    "ray_mb": Environment("[server,ray]", Goal(350, 300), "the same and Ray: eminence[server,ray]"),
}
GOALS = {name: environment.goal for name, environment in ENVIRONMENTS.items()}


def run() -> Result:
    """Measure all environments."""
    before = load()
    figures: dict[str, Figure] = {}
    with TemporaryDirectory() as path:
        folder = Path(path)
        wheel = build_wheel(folder / "wheel")
        for name, environment in ENVIRONMENTS.items():
            made = folder / name
            make_environment(made, f"eminence{environment.extras} @ {wheel.as_uri()}")
            figures[name] = figure([size_mb(made)])
        raw = {"wheel_mb": round(wheel.stat().st_size / 2**20, 2)}
    return Result(figures, raw, {}, {"before": before, "after": load()})


def as_text(result: Result) -> str:
    meanings = {name: environment.meaning for name, environment in ENVIRONMENTS.items()}
    return report.as_text("install", GOALS, meanings, result)


def build_wheel(folder: Path) -> Path:
    """Build the wheel as `pip wheel .` does, but without a folder .egg-info in the tree."""
    folder.mkdir(exist_ok=True)
    command = ["setup.py", "--quiet", "egg_info", "--egg-base", str(folder), "bdist_wheel", "--dist-dir", str(folder)]
    subprocess.run([str(TOOLS), *command], cwd=ROOT, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    return wheel


def make_environment(folder: Path, *requirements: str) -> Path:
    """Make a virtual environment with nothing but some packages; return the folder of its programs."""
    venv.create(folder, symlinks=True)
    programs = folder / "bin"
    if requirements:
        pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", *requirements], check=True)
    return programs


def size_mb(folder: Path) -> float:
    """Return the size of the files in a folder, in blocks of the disk as `du` counts them."""
    files = [Path(where, name) for where, _, names in os.walk(folder) for name in names]
    return sum(file.lstat().st_blocks * 512 for file in files) / 2**20
