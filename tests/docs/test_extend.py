"""Extend a scratch copy of the project as docs/how_to/extend.md says, build it, and play it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.install import TOOLS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how_to" / "extend.md").read_text()
THIRD_GAME = Path(__file__).with_name("third_game.txt").read_text()
LEFT_OUT = (".git", ".venv", "node_modules", ".mypy_cache", ".pytest_cache", ".ruff_cache", "dist", "benchmarks")

pytestmark = pytest.mark.slow


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy the project with what is built of it, so that only changed modules are built again."""
    folder = tmp_path / "copy"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    return folder


def run(folder: Path, *command: str, python: str | Path = sys.executable) -> str:
    """Run Python in a copy; return its output."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "proto")])}
    result = subprocess.run(
        [python, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=1_200
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def build(folder: Path) -> None:
    run(folder, "setup.py", "--quiet", "build_stubs", "build_ext", "--inplace", python=TOOLS)


PLAY_THIRD_GAME = """
from engine_cy import game_ids, new_game
from eminence.v1 import solver_pb2, view_pb2
from google.protobuf.any_pb2 import Any
from server.client.local import LocalClient
from server.codec import views
from solver import Budget, solve

game = new_game("one_bid", players=2)
view = game.deal(1).play("bid 2").view(1)
assert game.view(str(view)) == view, view
assert str(solve(view, Budget(iterations=2000)).best) == "bid 3"

message = views.write_view(view)
assert message.typed.TypeName() == "eminence.v1.OneBidView", message
assert views.read_view(message) == view
with LocalClient() as client:
    answer = client.suggest(message, solver_pb2.Budget(iterations=2000))
assert answer.best.text == "bid 3", answer
assert answer.best.typed.TypeName() == "eminence.v1.OneBidAction", answer
print(game_ids())
"""


def test_a_third_typed_game_touches_its_folder_its_adapter_and_its_proto_file_only(copy: Path) -> None:
    files = dict(part.split("\n", 1) for part in re.split(r"^=== ", THIRD_GAME, flags=re.M)[1:])
    places = ("engine_cy/one_bid/", "server/games/one_bid", "proto/eminence/v1/one_bid.proto")
    for name, text in files.items():
        assert name.startswith(places)
        path = copy / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    build(copy)
    assert "'one_bid'" in run(copy, "-c", PLAY_THIRD_GAME)
    run(copy, "-m", "eminence", "check-game", "one_bid")
