"""What the wheel has, its compiled modules apart: what `pip install` brings, and nothing that only work on us needs."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_wheel_has_what_a_user_needs_and_no_more(tmp_path: Path) -> None:
    command = [sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=100)
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.split("/")[0] for path in files} == {"eminence", "engine_cy", "solver", "server"}
    assert not [path for path in files if "training" in path or "test" in path]
    sources = {str(path.relative_to(ROOT)) for package in ("engine_cy", "solver", "server") for path in kept(package)}
    assert sources - files == set()
    assert not [path for path in sources if "solver.training" in (ROOT / path).read_text()]


def kept(package: str) -> list[Path]:
    """Return the files of a package that others read or import: all but the sources of compiled modules."""
    kinds = {".py", ".pyi", ".pxd", ".json", ".typed"}
    return [path for path in (ROOT / package).rglob("*.*") if path.suffix in kinds and "training" not in path.parts]


def test_the_command_that_checks_a_wheel_passes() -> None:
    command = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]["test-command"]
    python, *arguments = shlex.split(command)
    assert python == "python"
    subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True, timeout=100)
    wrong = command.replace("assert signature() ==", "assert signature()[1:] ==")
    assert subprocess.run([sys.executable, *shlex.split(wrong)[1:]], cwd=ROOT, capture_output=True).returncode
