"""The program as tests run it, in this process or in one of its own, and the files that examples name."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from click.testing import CliRunner

from engine_cy import Rng, new_game
from engine_cy.record import Record
from server.cli.commands.serve import serve
from server.cli.main import eminence
from server.settings import Settings
from server.settings import read_settings as read_settings_of

ROOT = Path(__file__).parents[2]
VIEW = "A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B"
CASTLE = "castle 15A 6C | village 15B 10C | port 9B 9C | ask A select | seen by A"


class Said(NamedTuple):
    """What the program printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*args: object, said: str = "", **env: str) -> Said:
    """The program in this process, on no terminal."""
    found = CliRunner().invoke(
        eminence, [str(arg) for arg in args], input=said, env={"COLUMNS": "80", **env}, prog_name="eminence"
    )
    assert "Traceback" not in found.stderr
    return Said(found.exit_code, found.stdout, found.stderr)


def read_settings(flags: Sequence[str], variables: Mapping[str, str]) -> Settings:
    """Return the settings of a server that is started like this."""
    with mock.patch.dict(os.environ, variables, clear=True):
        return read_settings_of(serve.make_context("serve", list(flags)))


def command(*args: object) -> list[str]:
    """How to start it as a process of its own."""
    return [sys.executable, "-m", "server.cli", *map(str, args)]


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "proto")])
    return {**os.environ, "PYTHONPATH": paths, "COLUMNS": "80", **more}


def random_record(game_id: str, ruleset: Any, players: int, seed: int, until: int | None = None) -> Record:
    """A game of random moves, or the beginning of one."""
    rng = Rng(seed)
    start = position = new_game(game_id, ruleset, players).deal(rng)
    actions: list[str] = []
    while not position.is_over and len(actions) != until:
        options = position.legal_actions()
        action = options[rng.below(len(options))]
        actions.append(str(action))
        position = position.play(action)
    record = Record(start, tuple(actions))
    return record.ended() if position.is_over else record


def views(n: int, seed: int = 1) -> list[str]:
    """Views of who is to act, from random games."""
    found: list[str] = []
    while len(found) < n:
        seed += 1
        for table in random_record("oriflamme", "en-2019", 3, seed).tables():
            if table.to_act is not None:
                found.append(str(table.view(table.to_act)))  # type: ignore[union-attr]
    return found[:n]


def write_files(folder: Path) -> None:
    """The files that the examples of help name."""
    (folder / "view.txt").write_text(VIEW + "\n")
    (folder / "castle.txt").write_text(CASTLE + "\n")
    (folder / "game.txt").write_text(str(random_record("oriflamme", "en-2019", 3, 7)))
    (folder / "positions.txt").write_text("\n".join(views(12)) + "\n")
