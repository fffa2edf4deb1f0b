"""Imports point one way, server -> solver -> engine_cy; protobuf, gRPC and Ray are imported only in their layers."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

WIRE = {"eminence", "google", "grpc", "grpc_health", "grpc_reflection", "grpc_status"}
NOT_IN_WHEEL = {"benchmarks", "tests"}
FORBIDDEN = {
    "engine_cy": {"solver", "server", "ray", *WIRE, *NOT_IN_WHEEL},
    "solver": {"server", "ray", *WIRE, *NOT_IN_WHEEL},
    "server": {"ray", *NOT_IN_WHEEL},
}
EXCEPTIONS = {("solver/pool/ray_driver.py", "ray")}

QUOTED = re.compile(r'("""|\'\'\').*?\1', re.DOTALL)
CYTHON_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+c?import\b|c?import[ \t]+([^#\n]+))", re.M)

# The modules that the files of a layer, given by a prefix of their paths, may not import: the layers above.
ABOVE_POOLS = ("solver.solve", "solver.session", "solver.review", "solver.match")
ABOVE_ANSWERS = ("solver.pool", *ABOVE_POOLS)
ABOVE_SERVICES = ("server.cli", "server.app")
ABOVE_MESSAGES = ("server.services", "server.rpc", *ABOVE_SERVICES)
LAYERS = {
    "solver/question.py": ("solver.answer", "solver.compare", "solver.secrecy", *ABOVE_ANSWERS),
    "solver/answer.py": ABOVE_ANSWERS,
    "solver/compare.py": ABOVE_ANSWERS,
    "solver/secrecy.py": ABOVE_ANSWERS,
    "solver/pool/": ABOVE_POOLS,
    "server/codec/": ("server.messages", *ABOVE_MESSAGES),
    "server/messages/": ABOVE_MESSAGES,
    "server/report/": ABOVE_MESSAGES,
    "server/rpc/": ("server.services", *ABOVE_SERVICES),
    "server/services/": ABOVE_SERVICES,
}


def imported_modules(path: str, source: str) -> set[str]:
    """Return the modules that a file imports, as they are written."""
    modules = set()
    if path.endswith((".pyx", ".pxd")):  # ast reads no Cython
        for package, names in CYTHON_IMPORT.findall(QUOTED.sub("", source)):
            modules |= {package} if package else {name.split()[0] for name in names.split(",")}
    else:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                modules.add(node.module or "")
    return modules


def imported_roots(path: str, source: str) -> set[str]:
    """Return the top-level packages that a file imports."""
    return {module.split(".")[0] for module in imported_modules(path, source)}


def layer_violations(path: str, source: str) -> set[str]:
    """Return the modules of higher layers that a file imports."""
    above = [name for layer, names in LAYERS.items() if path.startswith(layer) for name in names]
    modules = imported_modules(path, source)
    return {module for module in modules for name in above if module == name or module.startswith(f"{name}.")}


def violations(path: str, source: str) -> set[str]:
    """Return the forbidden packages that a file imports; its path is relative to the root."""
    forbidden = FORBIDDEN[path.split("/")[0]]
    return {root for root in imported_roots(path, source) & forbidden if (path, root) not in EXCEPTIONS}


def test_imports_point_one_way():
    files = [
        path
        for package in FORBIDDEN
        for path in (ROOT / package).rglob("*.p*")
        if path.suffix in {".py", ".pyi", ".pyx", ".pxd"}
    ]
    assert {path.relative_to(ROOT).parts[0] for path in files} == set(FORBIDDEN)
    names = [path.relative_to(ROOT).as_posix() for path in files]
    sources = {name: path.read_text("utf-8") for name, path in zip(names, files, strict=True)}
    violations_by_file = {
        name: violations(name, source) | layer_violations(name, source) for name, source in sources.items()
    }
    assert {name: modules for name, modules in violations_by_file.items() if modules} == {}
    assert all(any(name.startswith(layer) for name in names) for layer in LAYERS)


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("engine_cy/game.py", "import solver", {"solver"}),
        ("engine_cy/values.pyi", "from server.codec import read_view", {"server"}),
        ("engine_cy/support/rng.pyx", "from solver.tree cimport Tree", {"solver"}),
        ("engine_cy/support/rng.pxd", "cimport libc.math, solver.tree as t", {"solver"}),
        ("engine_cy/support/rng.pyx", "def late():\n    import ray  # why not", {"ray"}),
        ("engine_cy/support/rng.pyx", '"""\nimport solver\n"""\nfrom engine_cy.values cimport Game', set()),
        ("solver/match/play.py", "from eminence.v1 import record_pb2", {"eminence"}),
        ("solver/match/play.py", "if True:\n    from google.protobuf import json_format", {"google"}),
        ("solver/search.pyx", "from server.settings import Settings\ncimport grpc", {"server", "grpc"}),
        ("solver/match/play.py", "import engine_cy.values, benchmarks.data", {"benchmarks"}),
        ("solver/pool/threads.py", "import ray", {"ray"}),
        ("solver/pool/ray_driver.py", "import ray", set()),
        ("solver/pool/ray_driver.py", "import ray, grpc", {"grpc"}),
        ("server/servicer.py", "import grpc\nfrom solver import analysis\nfrom . import limits", set()),
        ("server/servicer.py", "from ray.util import state", {"ray"}),
    ],
)
def test_the_check_finds_forbidden_packages(path, source, expected):
    assert violations(path, source) == expected


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("solver/question.py", "from solver.pool.base import Pool", {"solver.pool.base"}),
        ("solver/pool/threads.py", "from solver.solve import solve", {"solver.solve"}),
        ("solver/pool/threads.py", "from solver.answer import Answer", set()),
        ("server/messages/answers.py", "from server.services.solver import SolverService", {"server.services.solver"}),
        ("server/services/solver.py", "import server.cli.main", {"server.cli.main"}),
        ("server/services/solver.py", "from server.rpc.auth import TokenAuth", set()),
    ],
)
def test_the_check_finds_modules_of_higher_layers(path, source, expected):
    assert layer_violations(path, source) == expected
