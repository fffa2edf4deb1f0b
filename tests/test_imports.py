"""Imports point one way, server -> solver -> engine_cy, and only where protobuf, gRPC and Ray belong."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

WIRE = {"eminence", "google", "grpc", "grpc_health", "grpc_reflection", "grpc_status"}
BESIDE = {"benchmarks", "tests"}  # not in the wheel
FORBIDDEN = {
    "engine_cy": {"solver", "server", "ray", *WIRE, *BESIDE},
    "solver": {"server", "ray", *WIRE, *BESIDE},
    "server": {"ray", *BESIDE},
}
EXCUSED = {("solver/backends/ray_actors.py", "ray")}

QUOTED = re.compile(r'("""|\'\'\').*?\1', re.DOTALL)
CYTHON_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+c?import\b|c?import[ \t]+([^#\n]+))", re.M)


def imported_roots(path: str, source: str) -> set[str]:
    """The top-level packages that the source of the file at `path` imports."""
    modules = set()
    if path.endswith((".pyx", ".pxd")):  # not Python, so ast cannot read them
        for come_from, names in CYTHON_IMPORT.findall(QUOTED.sub("", source)):
            modules |= {come_from} if come_from else {name.split()[0] for name in names.split(",")}
    else:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules.add(node.module or "")
    return {module.split(".")[0] for module in modules}


def violations(path: str, source: str) -> set[str]:
    """Which packages the file at `path`, relative to the root, imports but must not."""
    forbidden = FORBIDDEN[path.split("/")[0]]
    return {root for root in imported_roots(path, source) & forbidden if (path, root) not in EXCUSED}


def test_imports_point_one_way():
    files = [
        path
        for package in FORBIDDEN
        for path in (ROOT / package).rglob("*.p*")
        if path.suffix in {".py", ".pyi", ".pyx", ".pxd"}
    ]
    assert {path.relative_to(ROOT).parts[0] for path in files} == set(FORBIDDEN)
    names = [path.relative_to(ROOT).as_posix() for path in files]
    found = {name: violations(name, path.read_text("utf-8")) for name, path in zip(names, files, strict=True)}
    assert {name: roots for name, roots in found.items() if roots} == {}


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("engine_cy/game.py", "import solver", {"solver"}),
        ("engine_cy/game.pyi", "from server.codec import read_view", {"server"}),
        ("engine_cy/rng.pyx", "from solver.tree cimport Tree", {"solver"}),
        ("engine_cy/rng.pxd", "cimport libc.math, solver.tree as t", {"solver"}),
        ("engine_cy/rng.pyx", "def late():\n    import ray  # why not", {"ray"}),
        ("engine_cy/rng.pyx", '"""\nimport solver\n"""\nfrom engine_cy.game cimport Game', set()),
        ("solver/match.py", "from eminence.v1 import record_pb2", {"eminence"}),
        ("solver/match.py", "if True:\n    from google.protobuf import json_format", {"google"}),
        ("solver/search.pyx", "from server.limits import cap\ncimport grpc", {"server", "grpc"}),
        ("solver/match.py", "import engine_cy.game, benchmarks.data", {"benchmarks"}),
        ("solver/backends/serial.py", "import ray", {"ray"}),
        ("solver/backends/ray_actors.py", "import ray", set()),
        ("solver/backends/ray_actors.py", "import ray, grpc", {"grpc"}),
        ("server/servicer.py", "import grpc\nfrom solver import analysis\nfrom . import limits", set()),
        ("server/servicer.py", "from ray.util import state", {"ray"}),
    ],
)
def test_the_check_finds_what_it_is_for(path, source, expected):
    assert violations(path, source) == expected
