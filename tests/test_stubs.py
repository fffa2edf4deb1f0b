"""The stubs of compiled modules agree with the built modules: names, parameters, defaults."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

# These methods refuse every call. They have no stubs, so that a type checker refuses a call too.
ALLOWED = r"engine_cy\.values\.(Action|Position|View)\.__init__"


def test_stubs_agree_with_the_built_modules(tmp_path: Path) -> None:
    packages = ("engine_cy", "solver", "benchmarks")
    stubs = [path.relative_to(ROOT) for package in packages for path in sorted((ROOT / package).rglob("*.pyi"))]
    modules = ["laws", *(".".join(stub.with_suffix("").parts) for stub in stubs)]
    assert len(modules) > 15
    allowlist = tmp_path / "allowed"
    allowlist.write_text(f"{ALLOWED}\n")
    # Cython adds names of its own to the modules, and PEP 800 (disjoint bases) does not concern callers.
    options = ["--concise", "--ignore-missing-stub", "--ignore-disjoint-bases", "--allowlist", str(allowlist)]
    process = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", *options, "--mypy-config-file", "pyproject.toml", *modules],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "engine")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
