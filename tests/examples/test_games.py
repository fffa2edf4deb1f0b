"""The examples in all languages: against the real server, a whole game each."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from process import Server, free_port, milliseconds, server, stub, view
from waiting import wait_until

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from engine_cy import new_game
from engine_cy.record import read_record

ITERATIONS = 60
# What the examples ask the adviser.
ASKED = "Suggest|Analyze"
TABLES = [sys.executable, str(Path(__file__).parents[2] / "examples" / "python" / "tables.py")]


class Watched:
    """A server whose metrics can be read."""

    def __init__(self, running: Server) -> None:
        self.running = running

    def calls(self, method: str, code: str) -> float:
        """How many calls of a method ended so."""
        label = re.compile(rf'eminence_calls_total{{code="{code}",method="(?:{method})",reason="\w*"}}')
        return sum(figure for name, figure in self.running.metrics().items() if label.fullmatch(name))

    def ended_analyses(self) -> tuple[float, float]:
        """How many analyses were answered to their end and how many cancelled, once there is one: on a busy machine a
        server learns late that a client has left."""

        def ended() -> tuple[float, float]:
            return self.calls("Analyze", "OK"), self.calls("Analyze", "CANCELLED")

        wait_until(lambda: sum(ended()))
        return ended()


@contextmanager
def watched(*flags: str) -> Iterator[Watched]:
    with server(*flags, metrics=True) as running:
        yield Watched(running)


def run(command: Sequence[str], address: str, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [*command, "--address", address, *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def check_game(said: str, record: str, game_id: str, players: int, seed: int) -> None:
    """What was printed is what the record of the Referee comes to, move by move."""
    game, played = new_game(game_id, players=players), read_record(record)
    tables = list(played.tables())
    assert tables[0] == game.deal(seed)
    assert tables[-1].is_over
    lines = said.splitlines()
    moves = re.findall(r"^([A-E])  (.*?)(?:  win [\d.]+ ?%)?  \(\d+ iterations\)$", said, re.M)
    acted = [(table.to_act, action) for table, action in zip(tables, played.actions, strict=False)]
    assert moves == [("ABCDE"[seat], action) for seat, action in acted if seat is not None and seat >= 0]
    assert lines[-2].split() == ["points", *map(str, tables[-1].scores)]
    assert lines[-1].startswith("win ")
    assert tuple(map(float, lines[-1].split()[1:])) == tables[-1].payoffs


@pytest.fixture(scope="module")
def game_of_seed_7(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The record of the game that they all play, as several tables at once played it."""
    folder = tmp_path_factory.mktemp("records")
    flags = ("--seed", "6", "--tables", "3", "--iterations", str(ITERATIONS), "--records", str(folder))
    with watched() as here:
        done = run(TABLES, here.running.address, *flags)
        assert done.returncode == 0, done.stderr
        assert here.ended_analyses() == (0, 1)
    for seed in (6, 7, 8):
        end = read_record((folder / f"{seed}.txt").read_text("utf-8")).end
        assert f"seed {seed}  points {' '.join(map(str, end.scores))}  win" in done.stdout
    return (folder / "7.txt").read_text("utf-8")


def test_a_whole_game_is_played_against_the_referee(example: list[str], tmp_path: Path, game_of_seed_7: str) -> None:
    file = tmp_path / "record.txt"
    flags = ("--seed", "7", "--iterations", str(ITERATIONS), "--record", str(file))
    # On a single thread the first move is not searched before the stream is left.
    with watched("--threads", "1", "--reserved", "0") as here:
        done = run(example, here.running.address, *flags)
        assert done.returncode == 0, done.stderr
        assert "  thinking: place " in done.stdout
        assert here.ended_analyses() == (0, 1)
    record = file.read_text("utf-8")
    check_game(done.stdout, record, "oriflamme", 3, 7)
    # Equal seeds and iterations give equal games, whatever the language.
    assert record == game_of_seed_7


def test_where_the_server_is_full_it_is_asked_again(example: list[str], tmp_path: Path) -> None:
    file = tmp_path / "record.txt"
    done = threading.Event()
    actions = [view_pb2.Action(text=text) for text in ("reveal", "keep")]
    comparison = pb.CompareRequest(view=view(), actions=actions, budget=pb.Budget(time=milliseconds(1000)))
    with watched("--threads", "1", "--reserved", "0", "--interactive-queue", "0") as here:

        def occupy() -> None:
            with here.running.channel() as channel:
                while not done.is_set() and (refusals := here.calls(ASKED, "RESOURCE_EXHAUSTED")) < 2:
                    search = stub(channel).Compare.future(comparison, timeout=60)
                    while not search.done() and here.calls(ASKED, "RESOURCE_EXHAUSTED") == refusals:
                        time.sleep(0.02)
                    # The thread is free long before the example asks again: the server expects a second of work.
                    search.cancel()
                    time.sleep(2)

        busy = threading.Thread(target=occupy)
        busy.start()
        try:
            played = run(example, here.running.address, "--seed", "7", "--iterations", "40", "--record", str(file))
        finally:
            done.set()
            busy.join()
        assert played.returncode == 0, played.stderr
        assert here.calls(ASKED, "RESOURCE_EXHAUSTED") >= 1
    check_game(played.stdout, file.read_text("utf-8"), "oriflamme", 3, 7)


def test_what_goes_wrong_is_told_in_a_line(example: list[str]) -> None:
    with server() as running:
        done = run(example, running.address, "--game", "chess")
    assert done.returncode == 1
    assert re.fullmatch(r"INVALID_ARGUMENT: .*'chess'.*\n", done.stderr), done.stderr


def test_what_goes_wrong_at_many_tables_is_told_in_a_line() -> None:
    done = run(TABLES, f"127.0.0.1:{free_port()}", "--tables", "3")
    assert done.returncode == 1
    assert re.fullmatch(r"UNAVAILABLE: .*\n", done.stderr), done.stderr


def test_another_game_is_played_as_well(example: list[str], tmp_path: Path) -> None:
    file = tmp_path / "record.txt"
    flags = ("--game", "castle_village_port", "--players", "4", "--seed", "5", "--iterations", "20")
    with server() as running:
        done = run(example, running.address, *flags, "--record", str(file))
    assert done.returncode == 0, done.stderr
    check_game(done.stdout, file.read_text("utf-8"), "castle_village_port", 4, 5)


def test_the_lock_file_names_hashes_and_no_places() -> None:
    lock = (Path(__file__).parents[2] / "examples" / "typescript" / "package-lock.json").read_text("utf-8")
    packages = re.findall(r'^    "node_modules/', lock, re.M)
    assert len(re.findall('"integrity": "sha512-', lock)) == len(packages) > 20
    assert '"resolved"' not in lock
