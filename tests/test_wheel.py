"""The wheel has every file that users need, and no file for development. Compiled modules are not checked here."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CLASSIFIERS = PYPROJECT["project"]["classifiers"]


def test_the_wheel_has_the_files_that_users_need_and_no_others(tmp_path: Path) -> None:
    command = [sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=100)
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.split("/")[0] for path in files} == {"eminence", "engine_cy", "solver", "server"}
    assert not [path for path in files if "training" in path or "test" in path]
    sources = {
        str(path.relative_to(ROOT)) for package in ("engine_cy", "solver", "server") for path in wheel_files(package)
    }
    assert sources - files == set()
    assert "server/web/static/index.html" in files
    assert not [path for path in files if "server/web/board" in path]
    assert not [path for path in sources if "solver.training" in (ROOT / path).read_text()]
    # Its headers suffice for a game in Cython.
    command = [sys.executable, "-m", "cython", "-o", str(tmp_path / "game.c"), "-I", str(tmp_path)]
    game = ROOT / "tests" / "engine" / "foreign_game.pyx"
    subprocess.run([*command, str(game)], cwd=tmp_path, check=True, timeout=100)


def wheel_files(package: str) -> list[Path]:
    """Return the files of a package that users read or import: all but the sources of compiled modules and the page."""
    kinds = {".py", ".pyi", ".pxd", ".json", ".typed"}
    paths = [path for path in (ROOT / package).rglob("*.*") if path.suffix in kinds]
    return [path for path in paths if {"training", "board"}.isdisjoint(path.relative_to(ROOT).parts)]


@pytest.mark.slow
def test_the_command_that_checks_a_wheel_passes() -> None:
    command = PYPROJECT["tool"]["cibuildwheel"]["test-command"]
    python, *arguments = shlex.split(command)
    assert python == "python"
    subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True, timeout=100)
    wrong_command = command.replace("assert signature() ==", "assert signature()[1:] ==")
    assert subprocess.run([sys.executable, *shlex.split(wrong_command)[1:]], cwd=ROOT, capture_output=True).returncode


@pytest.mark.slow
def test_wheels_are_built_for_linux_alone() -> None:
    command = [str(Path(sys.executable).with_name("cibuildwheel")), "--print-build-identifiers", "--platform"]

    def identifiers(platform: str) -> set[str]:
        result = subprocess.run([*command, platform], cwd=ROOT, capture_output=True, text=True, timeout=100)
        return set(result.stdout.split())

    pythons = [name.rpartition(" ")[2] for name in CLASSIFIERS if re.fullmatch(r".*Python :: 3\.\d+", name)]
    versions = [f"cp{python.replace('.', '')}" for python in pythons]
    assert len(versions) == 4
    assert identifiers("linux") == {
        f"{version}-manylinux_{machine}" for version in versions for machine in ("x86_64", "aarch64")
    }
    assert identifiers("windows") == identifiers("macos") == set()
