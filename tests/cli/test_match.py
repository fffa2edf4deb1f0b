"""eminence match: configurations, servers as players, resumed files, interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from process import server
from program import processes_of
from waiting import HANG_S, wait_until

from engine_cy import Action
from server.cli.server_player import ServerPlayer, read_server
from server.codec.views import read_view_and_history
from solver.config import Budget, InvalidQuestionError
from solver.match import Match, Turn, play_game

FEW = ("--iterations", "20", "--deals", "2")


@pytest.mark.slow
def test_a_match_repeats_and_resumes(run, tmp_path):
    uninterrupted = json.loads(run("match", "default", "plain", *FEW, "--deals", "4", "--json").stdout)
    assert (uninterrupted["games"], uninterrupted["deals"]) == (12, 4)
    run("match", "default", "plain", *FEW, "--resume", "match.jsonl")
    before = (tmp_path / "match.jsonl").read_text()
    resumed = json.loads(
        run("match", "default", "plain", *FEW, "--deals", "4", "--resume", "match.jsonl", "--json").stdout
    )
    assert (tmp_path / "match.jsonl").read_text().startswith(before)
    for result in (uninterrupted, resumed):
        assert result.pop("moves_per_s") > 0
    assert resumed == uninterrupted


def test_the_text_of_a_match_gives_elo_and_the_verdict_of_the_sprt(run):
    out = run("match", "plain", "random", "--iterations", "100", "--deals", "30", "--sprt", "0", "200").stdout
    lines = out.splitlines()
    assert lines[0].startswith("plain against 2 x random: ")
    assert "Elo +" in lines[1]
    assert "rather 200 than 0" in lines[2]
    assert "30 deals" not in lines[0]  # the SPRT ended it before


def test_one_deal_and_one_worker_are_in_the_singular(run):
    out = run("match", "default", "random", "--iterations", "1", "--deals", "1", "--workers", "1").stdout
    assert "3 games (1 deal)\n" in out
    assert out.endswith(", 1 worker\n")


def test_a_killed_match_loses_no_deal(run, tmp_path):
    args = ("--iterations", "300", "--workers", "1", "--seed", "2")
    with _match(tmp_path, *args) as (process, path):
        _wait_for_deals(path, 3)
        process.kill()
        process.communicate()
    complete = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    run("match", "plain", "plain", *args, "--resume", "match.jsonl", "--deals", str(len(complete)))
    assert path.read_text().startswith("".join(complete))
    numbers = [json.loads(line)["deal"] for line in path.read_text().splitlines()[1:]]
    assert sorted(numbers) == list(range(len(complete)))


@pytest.mark.parametrize(
    ("args", "deals"),
    [
        pytest.param(("--workers", "1", "--deals", "500"), 1, marks=pytest.mark.slow),
        # Two of three deals are done, so one worker is idle.
        (("--workers", "2", "--deals", "3"), 2),
    ],
)
def test_ctrl_c_ends_a_match_quietly(tmp_path, args, deals):
    with _match(tmp_path, "--iterations", "3000", *args) as (process, path):
        _wait_for_deals(path, deals)
        # A terminal signals the whole process group.
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=HANG_S)
        assert process.returncode == 130
        assert (out, err.strip()) == ("", "")


def test_an_interrupted_match_does_not_wait_for_its_deals(tmp_path):
    # A deal takes an hour.
    with _match(tmp_path, "--time-ms", "60000", "--workers", "2") as (process, _):
        wait_until(lambda: len(processes_of(process.pid)) >= 4)  # two workers, the command and Python's helper
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=HANG_S)
        assert process.returncode == 130


def test_a_killed_match_leaves_no_process_behind(tmp_path):
    with _match(tmp_path, "--iterations", "300", "--workers", "2") as (process, path):
        _wait_for_deals(path, 1)
        assert len(processes_of(process.pid)) >= 3
        process.kill()
        process.wait()
        wait_until(lambda: not processes_of(process.pid))


@contextmanager
def _match(tmp_path: Path, *args: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Run a long match; yield its process and the file of its deals."""
    path = tmp_path / "match.jsonl"
    command = [sys.executable, "-m", "eminence", "match", "plain", "plain", "--resume", str(path), *args]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield process, path
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _wait_for_deals(path: Path, deals: int) -> None:
    wait_until(lambda: path.exists() and path.read_text().count("\n") > deals)


# --- servers --------------------------------------------------------------------------------------------------


def test_a_server_is_a_player_whose_matches_repeat(run, tmp_path):
    with server("--threads", "1") as running:
        name = f"server:{running.address},level=1"
        args = ["match", name, "random", "--iterations", "20", "--deals", "1", "--workers", "1"]
        first, again = (json.loads(run(*args, "--json").stdout) for _ in range(2))
        for result in (first, again):
            assert result.pop("moves_per_s") > 0
        assert first == again
        assert first["a"] == name
        assert first["iterations_per_decision"]["a"] == pytest.approx(16, abs=1)  # iterations of level 1


def test_a_server_gets_the_view_and_the_record_of_the_player(monkeypatch, oriflamme):
    requests = []

    class Client:
        def suggest(self, view, budget, options):
            requests.append((view, options.seed))
            raise ZeroDivisionError

    monkeypatch.setattr("server.cli.server_player._client", lambda *_: Client())
    turns: list[Turn] = []

    @dataclass(frozen=True)
    class Watching:
        """A player that makes the first legal move and keeps its turns."""

        name: str = "watching"

        def choose(self, turn: Turn, budget: Budget, seed: int) -> tuple[Action, int]:
            turns.append(turn)
            return turn.position.legal_actions()[0], 0

    play_game(Match(oriflamme.game.spec, Watching(), Watching(), Budget(iterations=5), 1), 0, 0)
    turn = turns[9]
    with pytest.raises(ZeroDivisionError):
        read_server("server:a:1", "a:1").choose(turn, Budget(iterations=5), 7)
    view, history = read_view_and_history(requests[0][0])
    assert view == turn.view
    assert history is not None
    assert history.record.observer == turn.position.to_act
    assert str(history.record) == str(turn.seen)
    assert requests[0][1] == 7


@pytest.mark.slow
def test_the_error_names_an_unreachable_server(run):
    result = run("match", "server:127.0.0.1:1", "random", *FEW, rc=1)
    assert result.stderr.startswith("eminence: server:127.0.0.1:1: the call failed with UNAVAILABLE: ")
    assert len(result.stderr.splitlines()) == 1


def test_the_settings_of_a_server_are_read():
    assert read_server("server:[::1]:50051,level=4,tls=True", "[::1]:50051,level=4,tls=True") == ServerPlayer(
        "server:[::1]:50051,level=4,tls=True", "[::1]:50051", 4, True
    )
    assert read_server("server:a:1,level=hard", "a:1,level=hard").level == 8


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ("", "'' is not an address such as 127.0.0.1:50051"),
        ("host", "'host' is not an address"),
        ("host:x", "'host:x' is not an address"),
        ("host:65536", "'host:65536' is not an address"),
        ("host:1,level=11", "level 11 is not in 0..10"),
        ("host:1,level=high", "level: 'high' is not of the kind"),
        ("host:1,depth=3", "'depth' is not one of address, level, tls"),
        ("host:1,address=other:2", "address cannot be a setting"),
    ],
)
def test_invalid_settings_of_a_server_are_refused(settings, why):
    with pytest.raises(InvalidQuestionError, match=why):
        read_server(f"server:{settings}", settings)


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("nobody", "plain"), "config: 'nobody' is not one of random"),
        (("plain", "plain:depth=3"), "plain:depth=3: 'depth' is not one of how, "),
        (("plain", "plain", "--players", "9"), "players: 9 is not possible in en-2019 (3, 4, 5)"),
        (("plain", "plain", "--iterations", "0"), "budget.iterations: 0 is not in 1.."),
        (("plain", "server:h:1", "--cpu-ms", "5"), "cpu-ms: cannot be used with servers"),
        (("plain", "plain", "--ray-address", "127.0.0.1:1"), "ray-address: "),
    ],
)
def test_invalid_arguments_are_refused_by_name(run, args, why):
    assert run("match", *args, rc=1).stderr.startswith(f"eminence: {why}")


def test_the_file_of_another_match_is_refused_and_left_alone(run, tmp_path):
    path = tmp_path / "match.jsonl"
    path.write_text("mine\n")
    assert "is not the file of a match" in run("match", "plain", "flat", *FEW, "--resume", "match.jsonl", rc=1).stderr
    assert path.read_text() == "mine\n"
