"""Learned weights: new roles, files that do not fit, and the searches that refuse them."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tables import CASTLE_SPECS, SPECS

import engine_cy
from engine_cy import EngineError, InvalidRulesetError, new_game
from engine_cy.castle_village_port import features as castle
from engine_cy.learned.weights import ROLE, Layout, Weights, WeightTable
from engine_cy.oriflamme import evidence, features
from solver import Budget, solve
from solver.beliefs import Belief
from solver.calibration import fit_of

FILES = {"oriflamme": features.WEIGHTS, "castle": castle.WEIGHTS, "beliefs": evidence.BELIEFS}


@contextmanager
def reloaded(weights: Weights, path: Path) -> Iterator[Weights]:
    """Load weights from another file, and restore them at the end."""
    own = weights.path
    try:
        weights.path = path
        weights.load()
        fit_of.cache_clear()  # the fits of calibrations belong to the weights
        yield weights
    finally:
        weights.path = own
        weights.load()
        fit_of.cache_clear()
        assert weights.fault is None


# --- roles ----------------------------------------------------------------------------------------------------


def test_a_new_role_has_weights_of_zero_and_the_others_keep_theirs() -> None:
    layout = Layout(["King", "Queen", "Fool"])
    assert (layout.add(2, ROLE), layout.add(), layout.add(ROLE, ROLE)) == (0, 6, 7)
    row = [*(1, 2), *(3, 4), 5, *(6, 7), *(8, 9)]
    assert layout.convert(row, ["King", "Fool"]) == [*(1, 0, 2), *(3, 0, 4), 5, *(6, 0, 7), *(0, 0, 0), *(8, 0, 9)]
    assert layout.convert(row, ["Fool", "King"]) == [*(2, 0, 1), *(4, 0, 3), 5, *(9, 0, 8), *(0, 0, 0), *(7, 0, 6)]


@pytest.mark.parametrize("file", FILES)
def test_the_engine_may_know_more_roles_than_the_file(file: str, tmp_path: Path) -> None:
    weights, path = FILES[file], tmp_path / "weights.json"
    roles = [role for role in weights.roles if role not in ("SPY", "MERCHANT")]
    assert len(roles) == len(weights.roles) - 1
    older = Weights(path, weights.version, weights.sets, with_roles(weights.tables, roles))
    for name, tables in weights.read().items():
        dropped = {
            table: [older.tables[table].layout.convert(row, weights.roles) for row in rows]
            for table, rows in tables.items()
        }
        older.write(path, name, **dropped)
    assert json.loads(path.read_text())["roles"] == roles
    fitted = {table: list(memory) for table, memory in weights.memory.items()}
    with reloaded(weights, path):
        assert weights.fault is None
        for table, memory in weights.memory.items():
            layout = weights.tables[table].layout
            known = itertools.cycle(layout.convert([1] * layout.size(roles), roles))
            assert list(memory) == [weight * share for weight, share in zip(fitted[table], known, strict=False)]
            assert (list(memory) != fitted[table]) == (table not in ("sharpness", "factors", "styles"))
        view = new_game(*(CASTLE_SPECS if file == "castle" else SPECS)[0]).deal(1).view(0)
        assert solve(view, Budget(iterations=50)).best in view.legal_actions()


def with_roles(tables: dict[str, WeightTable], roles: list[str]) -> dict[str, WeightTable]:
    """Return the tables with the roles, where their layouts have roles."""
    changed = {}
    for name, (rows, layout) in tables.items():
        changed[name] = WeightTable(rows, Layout(roles if layout.roles else ()))
        for part in layout.parts:
            changed[name].layout.add(*part)
    return changed


# --- files that do not fit ------------------------------------------------------------------------------------


def damage(content: dict[str, Any], *path: Any, value: Any) -> None:
    *parents, last = path
    for key in parents:
        content = content[key]
    content[last] = value


SET = ("sets", "oriflamme-3")


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        (("version",), 1, "its version is 1, not 2"),
        (("roles",), ["SPY", "DUKE"], r"has the roles DUKE, which are not among ARCHER, .*UNSEEN"),
        (("sizes", "marks"), [1, 4507], r"the size of 'marks' is \[1, 4507\], not \[1, 4508\]"),
        (("sizes", "features"), None, r"the size of 'features' is None, not \[18, 472\]"),
        (("sets", "oriflamme-9"), {}, "has the set 'oriflamme-9', which is not among .*oriflamme-3, "),
        ((*SET, "marks"), [["4507"]], "'marks' of oriflamme-3 has 4507 weights in a row, not 4508"),
        ((*SET, "marks"), [["9" * 30]], "'marks' of oriflamme-3 has 9{30} weights in a row, not 4508"),
        ((*SET, "marks"), [], "'marks' of oriflamme-3 has 0 rows, not 1"),
        ((*SET, "features"), [["472"]] * 17, "'features' of oriflamme-3 has 17 rows, not 18"),
        ((*SET, "marks", 0, 0), 0.5, "'marks' of oriflamme-3: 0.5 is not a weight"),
        ((*SET, "marks", 0, 0), 10**400, "'marks' of oriflamme-3: 10{400} is not a weight"),
        (SET, {"features": []}, "not a file of weights .*marks"),
        (("sets",), [], "not a file of weights .*list"),
    ],
    ids=lambda value: None if isinstance(value, (int, str)) else str(value)[:40],
)
def test_a_file_that_does_not_fit_is_described(path: tuple[Any, ...], value: Any, fault: str, tmp_path: Path) -> None:
    file = tmp_path / "weights.json"
    content = json.loads(features.WEIGHTS.path.read_text())
    damage(content, *path, value=value)
    file.write_text(json.dumps(content))
    with reloaded(features.WEIGHTS, file) as weights:
        assert not any(map(any, weights.memory.values()))
        with pytest.raises(InvalidRulesetError, match=f"the weights of oriflamme do not fit .*/weights.json: {fault}"):
            new_game("oriflamme").check_knowledge()


@pytest.mark.parametrize(("text", "fault"), [("", "JSONDecodeError"), ("[]", "TypeError"), ("\0\x80", "JSONDecode")])
def test_a_file_that_is_no_table_of_weights_is_described(text: str, fault: str, tmp_path: Path) -> None:
    file = tmp_path / "weights.json"
    file.write_text(text)
    with reloaded(features.WEIGHTS, file) as weights:
        assert weights.fault is not None
        assert weights.fault.endswith(")")
        assert f"{tmp_path.name}/weights.json: not a file of weights ({fault}" in weights.fault


def test_without_a_file_all_weights_are_zero(tmp_path: Path) -> None:
    with reloaded(features.WEIGHTS, tmp_path / "none.json") as weights:
        assert not any(map(any, weights.memory.values()))
        new_game("oriflamme").check_knowledge()


@pytest.mark.parametrize("file", FILES)
def test_only_searches_with_knowledge_refuse_a_file_that_does_not_fit(file: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    version = FILES[file].version
    path.write_text(FILES[file].path.read_text().replace(f'"version":{version}', '"version":0', 1))
    view = new_game(*(CASTLE_SPECS if file == "castle" else SPECS)[0]).deal(1).view(0)
    refusal = f"the weights of .* do not fit its rules: .*/other.json: its version is 0, not {version}"
    with reloaded(FILES[file], path):
        for config in ("plain", "flat", "pimc", "random"):
            assert solve(view, Budget(iterations=20), config=config).best in view.legal_actions()
        refused: list[dict[str, Any]] = [{}, {"config": "greedy"}, {"config": "plain", "models": {"B": "greedy"}}]
        for options in refused:
            with pytest.raises(InvalidRulesetError, match=refusal):
                solve(view, Budget(iterations=20), **options)
        with pytest.raises(InvalidRulesetError, match=refusal):
            Belief(view)
        assert Belief(view, None, 0.0).sample_world(1).view(0) == view


PROGRAM = """
from engine_cy import InvalidRulesetError, Rng, new_game
from solver import Budget, solve

for game in ("oriflamme", "oriflamme_prototype", "castle_village_port"):
    view = new_game(game).deal(1).view(0)
    assert solve(view, Budget(iterations=20), config="plain").best in view.legal_actions()
    try:
        solve(view, Budget(iterations=20))
    except InvalidRulesetError as error:
        print(error)
"""


def test_the_engine_can_be_imported_with_damaged_files(tmp_path: Path) -> None:
    for package in ("engine_cy", "solver"):
        shutil.copytree(Path(engine_cy.__path__[0]).parent / package, tmp_path / package)
    for file in tmp_path.rglob("*.json"):
        file.write_text(file.read_text()[:1000])
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stderr == ""
    lines = process.stdout.splitlines()
    assert [line.split()[4] for line in lines] == ["oriflamme", "oriflamme_prototype", "castle_village_port"]
    assert all("/weights.json: not a file of weights (JSONDecodeError: " in line for line in lines)


# --- memory and files -----------------------------------------------------------------------------------------


def test_a_written_set_is_read_back_and_keeps_the_other_sets(tmp_path: Path) -> None:
    weights = Weights(tmp_path / "new.json", 1, ["a", "b"], {"table": WeightTable(2, Layout())})
    weights.tables["table"].layout.add(3)
    weights.write(weights.path, "b", table=[[0, 1.5, 0], [0, 0, 0.0004]])
    weights.write(weights.path, "a", table=[[1, -2, 3.001], [0, 0, 0]])
    assert weights.read() == {"a": {"table": [[1, -2, 3.001], [0] * 3]}, "b": {"table": [[0, 1.5, 0], [0] * 3]}}


def test_a_written_set_keeps_the_others_of_a_file_with_fewer_roles(tmp_path: Path) -> None:
    layouts = [Layout(["King"]), Layout(["King", "Fool"])]
    for layout in layouts:
        layout.add(ROLE)
    older, newer = [Weights(tmp_path / "w.json", 1, ["a", "b"], {"table": WeightTable(1, own)}) for own in layouts]
    older.write(older.path, "a", table=[[1.5]])
    newer.write(newer.path, "b", table=[[2, 3]])
    assert newer.read() == {"a": {"table": [[1.5, 0]]}, "b": {"table": [[2, 3]]}}


@pytest.mark.parametrize("rows", [[[0.0] * 4508] * 2, [[0.0] * 4507], [[]], []], ids=len)
def test_tables_of_another_size_are_refused(rows: list[list[float]]) -> None:
    with pytest.raises(EngineError, match=f"marks: {len(rows)} rows, not 1 rows of 4508 weights"):
        features.WEIGHTS.replace("oriflamme-3", marks=rows)
