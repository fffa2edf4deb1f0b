"""The stubs of compiled modules promise nothing that is not built: names, parameters, defaults."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

# These refuse every call at run time. Without a stub of it, a call is an error of types, too.
ALLOWED = r"engine_cy\.values\.(Action|Position|View)\.__init__"


def test_stubs_promise_what_is_built(tmp_path: Path) -> None:
    packages = ("engine_cy", "solver", "benchmarks")
    stubs = [path.relative_to(ROOT) for package in packages for path in sorted((ROOT / package).rglob("*.pyi"))]
    modules = ["laws", *(".".join(stub.with_suffix("").parts) for stub in stubs)]
    assert len(modules) > 15
    allowed = tmp_path / "allowed"
    allowed.write_text(f"{ALLOWED}\n")
    # Cython adds names of its own to what is built, and PEP 800 is not about what callers may do.
    options = ["--concise", "--ignore-missing-stub", "--ignore-disjoint-bases", "--allowlist", str(allowed)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", *options, "--mypy-config-file", "pyproject.toml", *modules],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests" / "engine")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
