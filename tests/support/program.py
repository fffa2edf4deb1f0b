"""Run the command line in this process or in its own, and write the files that its examples name."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
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


class Output(NamedTuple):
    """The exit code of the program, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*args: object, stdin: str = "", **env: str) -> Output:
    """Run the program in this process, without a terminal."""
    result = CliRunner().invoke(
        eminence,
        [str(arg) for arg in args],
        input=stdin,
        env={"COLUMNS": "80", "LC_ALL": "C.UTF-8", **env},
        prog_name="eminence",
    )
    assert "Traceback" not in result.stderr
    return Output(result.exit_code, result.stdout, result.stderr)


def read_settings(flags: Sequence[str], variables: Mapping[str, str]) -> Settings:
    """Return the settings of a server that is started like this."""
    with mock.patch.dict(os.environ, variables, clear=True):
        return read_settings_of(serve.make_context("serve", list(flags)))


def command(*args: object) -> list[str]:
    """Return the command that runs the program in its own process."""
    return [sys.executable, "-m", "eminence", *map(str, args)]


def processes_of(group: int) -> set[int]:
    """Return the processes of a group that have not ended."""
    members = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, group_of_process = path.read_text().rpartition(")")[2].split()[:3]
            if int(group_of_process) == group and state != "Z":
                members.add(int(path.parent.name))
    return members


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "proto")])
    return {**os.environ, "PYTHONPATH": paths, "COLUMNS": "80", "LC_ALL": "C.UTF-8", **more}


def random_record(game_id: str, ruleset: Any, players: int, seed: int, until: int | None = None) -> Record:
    """Play a game of random moves to its end, or for `until` actions."""
    rng = Rng(seed)
    start = position = new_game(game_id, ruleset, players).deal(rng)
    actions: list[str] = []
    while not position.is_over and len(actions) != until:
        choices = position.legal_actions()
        action = choices[rng.below(len(choices))]
        actions.append(str(action))
        position = position.play(action)
    record = Record(start, tuple(actions))
    return record.ended() if position.is_over else record


def views(n: int, seed: int = 1) -> list[str]:
    """Return `n` views of the players to act in random games, as text."""
    texts: list[str] = []
    while len(texts) < n:
        seed += 1
        for table in random_record("oriflamme", "en-2019", 3, seed).tables():
            if table.to_act is not None:
                texts.append(str(table.view(table.to_act)))  # type: ignore[union-attr]
    return texts[:n]


def write_files(folder: Path) -> None:
    """Write the files that the examples in help texts name."""
    (folder / "view.txt").write_text(VIEW + "\n")
    (folder / "castle.txt").write_text(CASTLE + "\n")
    (folder / "game.txt").write_text(str(random_record("oriflamme", "en-2019", 3, 7)))
    (folder / "positions.txt").write_text("\n".join(views(12)) + "\n")
