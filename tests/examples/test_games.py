"""The examples in all languages play whole games against the real server."""

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
from program import ROOT
from waiting import wait_until

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from engine_cy import new_game
from engine_cy.record import read_record

ITERATIONS = 60
# The methods that the examples call.
METHODS = "Suggest|Analyze"
TABLES = [sys.executable, str(ROOT / "examples" / "python" / "tables.py")]


class CountedServer:
    """A server and the counts of its calls."""

    def __init__(self, running: Server) -> None:
        self.running = running

    def calls(self, method: str, code: str) -> float:
        """Return how many calls of a method ended with this code."""
        label = re.compile(rf'eminence_calls_total{{code="{code}",method="(?:{method})",reason="\w*"}}')
        return sum(figure for name, figure in self.running.metrics().items() if label.fullmatch(name))

    def ended_analyses(self) -> tuple[float, float]:
        """Wait for an ended analysis; return how many were answered and how many cancelled.

        On a busy machine the server learns late that a client has left.
        """

        def ended() -> tuple[float, float]:
            return self.calls("Analyze", "OK"), self.calls("Analyze", "CANCELLED")

        wait_until(lambda: sum(ended()))
        return ended()


@contextmanager
def counted_server(*flags: str) -> Iterator[CountedServer]:
    with server(*flags, metrics=True) as running:
        yield CountedServer(running)


def run(command: Sequence[str], address: str, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [*command, "--address", address, *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def check_game(output: str, record: str, game_id: str, players: int, seed: int) -> None:
    """Check the printed moves and results against the record of the referee."""
    game, played = new_game(game_id, players=players), read_record(record)
    tables = list(played.tables())
    assert tables[0] == game.deal(seed)
    assert tables[-1].is_over
    lines = output.splitlines()
    moves = re.findall(r"^([A-E])  (.*?)(?:  win [\d.]+ ?%)?  \(\d+ iterations\)$", output, re.M)
    actions = [(table.to_act, action) for table, action in zip(tables, played.actions, strict=False)]
    assert moves == [("ABCDE"[seat], action) for seat, action in actions if seat is not None and seat >= 0]
    assert lines[-2].split() == ["points", *map(str, tables[-1].scores)]
    assert lines[-1].startswith("win ")
    assert tuple(map(float, lines[-1].split()[1:])) == tables[-1].payoffs


@pytest.fixture(scope="module")
def game_of_seed_7(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Play several games at once; return the record of the one that the other tests play, too."""
    folder = tmp_path_factory.mktemp("records")
    flags = ("--seed", "6", "--tables", "3", "--iterations", str(ITERATIONS), "--records", str(folder))
    # A thread for each table and one for the analysis: none is refused because the others are busy.
    with counted_server("--threads", "4", "--reserved", "0") as counted:
        result = run(TABLES, counted.running.address, *flags)
        assert result.returncode == 0, result.stderr
        assert counted.ended_analyses() == (0, 1)
    for seed in (6, 7, 8):
        end = read_record((folder / f"{seed}.txt").read_text("utf-8")).end
        assert f"seed {seed}  points {' '.join(map(str, end.scores))}  win" in result.stdout
    return (folder / "7.txt").read_text("utf-8")


@pytest.mark.slow
def test_each_example_plays_the_same_whole_game(example: list[str], tmp_path: Path, game_of_seed_7: str) -> None:
    file = tmp_path / "record.txt"
    flags = ("--seed", "7", "--iterations", str(ITERATIONS), "--record", str(file))
    # With a single thread the first move waits until the example has left the stream.
    with counted_server("--threads", "1", "--reserved", "0") as counted:
        result = run(example, counted.running.address, *flags)
        assert result.returncode == 0, result.stderr
        assert "  thinking: place " in result.stdout
        assert counted.ended_analyses() == (0, 1)
    record = file.read_text("utf-8")
    check_game(result.stdout, record, "oriflamme", 3, 7)
    # Equal seeds and iterations give equal games in all languages.
    assert record == game_of_seed_7


@pytest.mark.slow
def test_a_call_to_a_full_server_is_repeated(example: list[str], tmp_path: Path) -> None:
    file = tmp_path / "record.txt"
    is_done = threading.Event()
    actions = [view_pb2.Action(text=text) for text in ("reveal", "keep")]
    comparison = pb.CompareRequest(view=view(), actions=actions, budget=pb.Budget(time=milliseconds(1000)))
    with counted_server("--threads", "1", "--reserved", "0", "--interactive-queue", "0") as counted:

        def occupy() -> None:
            with counted.running.channel() as channel:
                while not is_done.is_set() and (refusals := counted.calls(METHODS, "RESOURCE_EXHAUSTED")) < 2:
                    search = stub(channel).Compare.future(comparison, timeout=60)
                    while not search.done() and counted.calls(METHODS, "RESOURCE_EXHAUSTED") == refusals:
                        time.sleep(0.02)
                    # The thread is free long before the example retries: the server expects a second of work.
                    search.cancel()
                    if counted.calls(METHODS, "RESOURCE_EXHAUSTED") > refusals:
                        is_done.wait(2)

        busy = threading.Thread(target=occupy)
        busy.start()
        try:
            result = run(example, counted.running.address, "--seed", "7", "--iterations", "40", "--record", str(file))
        finally:
            is_done.set()
            busy.join()
        assert result.returncode == 0, result.stderr
        assert counted.calls(METHODS, "RESOURCE_EXHAUSTED") >= 1
    check_game(result.stdout, file.read_text("utf-8"), "oriflamme", 3, 7)


def test_an_error_is_printed_in_one_line(example: list[str]) -> None:
    with server() as running:
        result = run(example, running.address, "--game", "chess")
    assert result.returncode == 1
    assert re.fullmatch(r"INVALID_ARGUMENT: .*'chess'.*\n", result.stderr), result.stderr


def test_an_error_at_several_tables_is_printed_in_one_line() -> None:
    result = run(TABLES, f"127.0.0.1:{free_port()}", "--tables", "3")
    assert result.returncode == 1
    assert re.fullmatch(r"UNAVAILABLE: .*\n", result.stderr), result.stderr


def test_each_example_plays_another_game(example: list[str], tmp_path: Path) -> None:
    file = tmp_path / "record.txt"
    flags = ("--game", "castle_village_port", "--players", "4", "--seed", "5", "--iterations", "20")
    with server() as running:
        result = run(example, running.address, *flags, "--record", str(file))
    assert result.returncode == 0, result.stderr
    check_game(result.stdout, file.read_text("utf-8"), "castle_village_port", 4, 5)


def test_the_lock_file_has_hashes_and_no_addresses() -> None:
    lock = (ROOT / "examples" / "typescript" / "package-lock.json").read_text("utf-8")
    packages = re.findall(r'^    "node_modules/', lock, re.M)
    assert len(re.findall('"integrity": "sha512-', lock)) == len(packages) > 20
    assert '"resolved"' not in lock
