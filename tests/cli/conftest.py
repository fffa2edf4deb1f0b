"""Games to review, and the program as people run it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine_cy import CHANCE, Rng, new_game
from engine_cy.record import Record
from solver import Budget, solve

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The program in a process of its own, in a folder of its own, as if its output went to a pipe."""
    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.path.join(root, "proto")]), "COLUMNS": "80"}

    def run(*args: str, said: str = "", rc: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        found = subprocess.run(
            [sys.executable, "-m", "server.cli", *args],
            input=said,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**env, **more},
            timeout=300,
            check=False,
        )
        assert found.returncode == rc, found.stderr
        assert "Traceback" not in found.stderr
        return found

    return run


def played(game_id: str, ruleset: str | None, players: int, seed: int = 5) -> Record:
    """A game of players who think a little."""
    rng = Rng(seed)
    start = position = new_game(game_id, ruleset, players).deal(rng)
    actions = []
    while position.to_act is not None:
        if position.to_act == CHANCE:
            options = position.legal_actions()
            action = options[rng.below(len(options))]
        else:
            view = position.view(position.to_act)
            best = solve(view, Budget(iterations=20), config="level-3", seed=rng.bits(), lines=0).best
            assert best is not None
            action = best
        actions.append(str(action))
        position = position.play(action)
    return Record(start, tuple(actions)).ended()


@pytest.fixture(scope="session")
def oriflamme() -> Record:
    return played("oriflamme", "en-2019", 3)


@pytest.fixture(scope="session")
def prototype() -> Record:
    return played("oriflamme_prototype", None, 4)


@pytest.fixture(scope="session")
def castle() -> Record:
    return played("castle_village_port", "house", 3)
