"""The program as users run it, a folder with input files, and games to review."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import program
import pytest

from engine_cy import CHANCE, Rng, new_game
from engine_cy.record import Record
from server.cli import opponents
from solver import Budget, solve

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs the program in a temporary folder, without a terminal.

    It runs in this process, as a start takes longer than most commands. The examples in `test_program.py` start it.
    """
    monkeypatch.chdir(tmp_path)

    def run(*args: str, stdin: str = "", rc: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        output = program.run(*args, stdin=stdin, **more)
        assert output.code == rc, output.err
        return subprocess.CompletedProcess(args, output.code, output.out, output.err)

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with the input files of the examples the current one."""
    monkeypatch.chdir(tmp_path)
    program.write_files(tmp_path)
    return tmp_path


@pytest.fixture
def short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the hints, and the searches of opponents without a level, of games that this process plays."""
    monkeypatch.setattr(opponents, "DEFAULT_ITERATIONS", 200)
    monkeypatch.setattr(opponents, "HINT_ITERATIONS", 2000)


def searched_record(game_id: str, ruleset: str | None, players: int, seed: int = 5) -> Record:
    """Play a game by short searches."""
    rng = Rng(seed)
    start = position = new_game(game_id, ruleset, players).deal(rng)
    actions = []
    while position.to_act is not None:
        if position.to_act == CHANCE:
            choices = position.legal_actions()
            action = choices[rng.below(len(choices))]
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
    return searched_record("oriflamme", "en-2019", 3)


@pytest.fixture(scope="session")
def prototype() -> Record:
    return searched_record("oriflamme_prototype", None, 4)


@pytest.fixture(scope="session")
def castle() -> Record:
    return searched_record("castle_village_port", "house", 3)
