"""Installed games in the command line: worker processes run their searches, and faults in them end with a message."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plugins import install_games
from process import server
from program import command, environment
from waiting import HANG_S

Program = Callable[..., "subprocess.CompletedProcess[str]"]

GAME = ("--players", "2", "--ruleset", "1x4")
TABLE = "1 ?, first A | seen by A"
FEW = ("--iterations", "50")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a function that runs the program with installed games, in a folder of its own."""
    variables = environment() | install_games(tmp_path / "packages", hung=True)

    def run(*arguments: str, stdin: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
        result = subprocess.run(
            command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=variables,
            timeout=HANG_S,
        )
        assert (result.returncode, "Traceback" in result.stderr) == (code, False), result.stderr
        return result

    return run


def game(name: str) -> tuple[str, ...]:
    return ("--game", name, *GAME)


def record(game: str) -> str:
    return f"game {game}\nruleset 1x4\nplayers 2\nfirst A\n* roll 1\n* roll 2\nA bid 1x1\nB liar\n"


def test_every_command_plays_an_installed_game(program: Program, tmp_path: Path) -> None:
    (tmp_path / "dice.txt").write_text(record("liars_dice"))
    suggestion = json.loads(program("suggest", TABLE, *game("liars_dice"), *FEW, "--json").stdout)
    assert suggestion["best"]["text"].startswith("bid ")
    assert "win %" in program("compare", TABLE, "bid 1x1", "bid 1x2", *game("liars_dice"), *FEW).stdout
    assert "Liars dice" in program("review", "dice.txt", *FEW).stdout
    output = json.loads(program("analyze", "dice.txt", *FEW, "--out", "out.jsonl", "--json").stdout)
    assert output["answered"] == 2
    assert (
        "The game is over"
        in program("play", *game("liars_dice"), "--seed", "3", "--level", "1", stdin="1\n" * 20).stdout
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("raising", "Raising.apply (faulty_games.py, line "),
        ("exiting", "its code ended the worker process (exit code 7)"),
        pytest.param("hanging", "did not return within 5 s", marks=pytest.mark.slow),
    ],
)
def test_a_fault_in_a_search_ends_the_command_with_a_message(program: Program, name: str, message: str) -> None:
    output = program("suggest", TABLE, *game(name), *FEW, "--json", code=1)
    error = json.loads(output.stderr)["error"]
    assert (error["reason"], output.stdout) == ("GAME_FAULT", "")
    assert error["message"].startswith(f"{name}: ")
    assert message in error["message"]


def test_a_fault_in_a_position_of_a_file_harms_no_other(program: Program, tmp_path: Path) -> None:
    views = [TABLE, "2 ?, first A | seen by A"]
    (tmp_path / "views.txt").write_text("\n".join(views))
    dice = json.loads(program("analyze", "views.txt", *game("liars_dice"), *FEW, "--out", "a.jsonl", "--json").stdout)
    assert (dice["answered"], dice["bad"]) == (2, 0)
    output = program("analyze", "views.txt", *game("exiting"), *FEW, "--out", "b.jsonl", "--json", code=1)
    assert output.stderr.count("exiting: its code ended the worker process (exit code 7)") == 2


@pytest.mark.slow
def test_the_rules_show_origins_and_faults(program: Program) -> None:
    games: dict[str, Any] = {entry["game"]: entry for entry in json.loads(program("rules", "--json").stdout)["games"]}
    assert (games["oriflamme"]["origin"], games["liars_dice"]["origin"]) == ("eminence", "dice-games 1.2")
    assert games["liars_dice"]["players"] == [2, 3, 4, 5]
    assert "cannot be imported" in games["missing"]["fault"]
    assert games["hung"]["fault"].startswith("hung: <module> (hung_games.py, line ")
    text = " ".join(program("rules").stdout.split())
    assert "liars_dice is from dice-games 1.2." in text
    assert "missing is from hung-games 1.2. game: 'missing' of hung-games 1.2 cannot be imported" in text


def test_a_match_is_played_in_processes_and_a_lost_one_is_named(program: Program) -> None:
    match = ("match", "plain", "random", "--deals", "1", *FEW, "--workers", "1", "--json")
    assert json.loads(program(*match, *game("liars_dice")).stdout)
    assert "a worker was lost" in program(*match, *game("exiting"), code=1).stderr


@pytest.mark.slow
def test_a_server_plays_a_game_that_only_it_needs_to_run(program: Program, tmp_path: Path) -> None:
    with server(environment=install_games(tmp_path / "server")) as running:
        output = program("suggest", TABLE, *game("liars_dice"), *FEW, "--server", running.address, "--json")
        assert json.loads(output.stdout)["best"]["text"].startswith("bid ")
        failed = program("suggest", TABLE, *game("exiting"), *FEW, "--server", running.address, code=1)
        assert "exiting: its code ended the worker process (exit code 7)" in failed.stderr


@pytest.mark.slow
def test_games_of_openspiel_have_ids_and_unknown_ones_are_refused_in_one_sentence(program: Program) -> None:
    table = ("--game", "openspiel:tic_tac_toe")
    assert "100 iterations" in program("suggest", "0 4", *table, "--iterations", "100").stdout
    match = program("match", "plain", "random", *table, "--deals", "2", "--iterations", "50", "--json")
    assert json.loads(match.stdout)["score"] > 0.5
    assert "2 players" in program("rules", "--game", "openspiel:leduc_poker").stdout
    refused = program("suggest", "start", "--game", "openspiel:nosuch", code=1)
    assert "OpenSpiel cannot load 'nosuch': it has no such game" in refused.stderr
    assert refused.stderr.count("\n") == 1
