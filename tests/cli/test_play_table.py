"""eminence play --server --table: a seat at a table of a server, which alone holds the cards of the others."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from process import Server, server
from program import command
from program import run as run_here

from engine_cy.record import read_record


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server("--caller-tables", "100") as running:
        yield running


def keys_in(text: str) -> dict[str, str]:
    return dict(re.findall(r"([A-E]): eminence play --server \S+ --table ([\w-]{32})", text))


@pytest.mark.parametrize(
    ("game", "players"), [("oriflamme", 3), ("castle_village_port", 3), ("oriflamme_prototype", 2), ("kuhn_poker", 2)]
)
def test_a_game_at_a_table_is_played_to_its_end_and_saved(
    folder: Path, running: Server, game: str, players: int
) -> None:
    args = ("--game", game, "--players", str(players), "--level", "1", "--seed", "3")
    save = ("--save", "saved.txt") if game != "kuhn_poker" else ()
    played = run_here("play", *args, "--server", running.address, "--table", "new", *save, stdin="1\n" * 200)
    assert played.code == 0, played.err
    assert list(keys_in(played.out)) == ["A"]
    assert "The game is over" in played.out
    if save:
        record = read_record((folder / "saved.txt").read_text())
        assert record.observer is None  # the whole game, after its end
        assert record.result is not None


def test_one_may_leave_and_come_back_with_the_key_or_a_link(folder: Path, running: Server) -> None:
    begun = run_here("play", "--server", running.address, "--table", "new", "--level", "1", stdin="1\nquit\n")
    [key] = keys_in(begun.out).values()
    link = f"http://127.0.0.1:8080/#/play?key={key}"
    for named in (key, link):
        back = run_here("play", "--server", running.address, "--table", named, "--json", stdin="text\nquit\n")
        events = [json.loads(line) for line in back.out.splitlines()]
        [question] = [event for event in events if event["event"] == "question"]
        assert question["text"].endswith("seen by A")
        assert "?" in question["text"]
    taken = run_here("play", "--server", running.address, "--table", key, "--json", stdin="hint\nundo\nundo\nquit\n")
    assert any(json.loads(line)["event"] == "hint" for line in taken.out.splitlines())


def test_two_people_play_at_one_table(folder: Path, running: Server) -> None:
    """Each sees the moves of the other, and no card that the other holds."""
    seats = ("--seats", "me,person,level-1", "--seed", "3")
    begun = run_here("play", "--server", running.address, "--table", "new", *seats, "--name", "Ann", stdin="quit\n")
    keys = keys_in(begun.out)
    assert list(keys) == ["A", "B"]
    outputs: dict[str, str] = {}

    def play(letter: str) -> None:
        with_key = ("--server", running.address, "--table", keys[letter], "--json")
        outputs[letter] = run_elsewhere("play", *with_key, stdin="1\n" * 200)

    threads = [threading.Thread(target=play, args=(letter,)) for letter in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for letter, output in outputs.items():
        events = [json.loads(line) for line in output.splitlines()]
        assert events[-1]["event"] == "over"
        placed = [event["action"] for event in events if event["event"] == "seen" and "place" in event["action"]]
        others = [
            event["action"]
            for event in events
            if event["event"] == "seen" and event["by"] != letter and event["action"].startswith("place")
        ]
        assert placed
        assert others
        assert all(action.startswith("place ?") for action in others)


def run_elsewhere(*args: str, stdin: str) -> str:
    """Run the program in a process of its own."""
    done = subprocess.run(command(*args), input=stdin, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--table", "new"), "--table needs --server"),
        (("--table", "x", "--server", "SERVER"), "table: is neither `new`, the key of a seat"),
        (("--table", "x" * 32, "--server", "SERVER"), "no table has this key"),
        (("--table", "x" * 32, "--server", "SERVER", "--seats", "me,level-1,level-1"), "--seats cannot be combined"),
        (("--table", "new", "--server", "SERVER", "--seats", "me,person"), "players: 2 is not possible in en-2019"),
        (("--table", "new", "--server", "SERVER", "--seats", "me,me,level-1"), "seats: 'me,me,level-1' does not"),
        (("--table", "new", "--server", "SERVER", "--seats", "me,rival,level-1"), "seats: 'rival' is not one of"),
        (("--table", "new", "--server", "SERVER", "--watch"), "--watch cannot be combined with --table"),
    ],
)
def test_impossible_seats_are_refused_by_name(folder: Path, running: Server, args: tuple[str, ...], why: str) -> None:
    refused = run_here("play", *(running.address if arg == "SERVER" else arg for arg in args))
    assert refused.code != 0
    assert why in refused.err
