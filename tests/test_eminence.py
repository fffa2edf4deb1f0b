"""`import eminence` offers what users and plug-ins need, and imports it on first use."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import HANG_S

import eminence

ROOT = Path(__file__).parents[1]
STUB = Path(str(eminence.__file__)).with_suffix(".pyi")


def test_a_search_needs_one_import():
    view = eminence.new_game("oriflamme", "en-2019", players=3).deal(seed=7).view("A")
    assert eminence.solve(view, eminence.Budget(iterations=200)).best in view.legal_actions()


def test_the_stub_has_the_names_that_the_package_has():
    names = {alias.name for node in ast.walk(ast.parse(STUB.read_text())) for alias in getattr(node, "names", [])}
    assert names | {"__version__"} == set(dir(eminence))
    assert all(getattr(eminence, name) is not None for name in dir(eminence))


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="module 'eminence' has no attribute 'solver'"):
        _ = eminence.solver  # type: ignore[attr-defined]


def test_the_contract_imports_neither_engine_nor_solver():
    code = "import sys, eminence.v1.solver_pb2; sys.exit(bool({'engine_cy', 'solver', 'server'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


WITHOUT_PACKAGES = """
import eminence, engine_cy, solver
modules = [module for module in eminence._MODULES if not module.startswith("server")]
names = [name for module in modules for name in eminence._MODULES[module].split()]
assert len(names) > 20 and all(getattr(eminence, name) for name in names)
view = eminence.new_game("oriflamme").deal(1).view("A")
print(eminence.solve(view, eminence.Budget(iterations=50)).iterations)
foreign = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
print(sorted(name for name in foreign if not name.startswith(("_", "cython_"))))
"""


def test_engine_and_solver_need_no_other_package():
    # Run without `site`, which adds the packages of this environment.
    code = f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'proto')]}" + WITHOUT_PACKAGES
    result = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=HANG_S)
    assert result.stdout == "50\n['eminence', 'engine_cy', 'solver']\n", result.stderr
