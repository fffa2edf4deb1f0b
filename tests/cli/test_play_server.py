"""eminence play --server: the same game as without a server, and failures of the server."""

from __future__ import annotations

import io
import json
from functools import partial
from typing import Any

import pytest
from process import free_port, server
from program import run as run_here

from engine_cy import Action, new_game
from server.cli.commands.play import GameSession, JsonDisplay
from server.cli.connection import Connection, ServerFailure
from server.cli.exit_codes import Failure
from server.cli.opponents import MoveChooser
from server.cli.options import WORDS, Observation
from server.cli.table_game import TableGame, write_game
from server.codec.views import read_view_and_history
from server.languages import words_of


@pytest.fixture(scope="module")
def running():
    with server() as running:
        yield running


# --- the game ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [
        ("--game", "oriflamme", "--seats", "level-2,me,default"),
        ("--game", "oriflamme_prototype", "--players", "4", "--level", "1"),
        ("--game", "castle_village_port", "--level", "2"),
    ],
)
def test_a_server_plays_and_hints_as_this_process_does(folder, short_searches, running, args):
    play = partial(run_here, "play", *args, "--seed", "3", "--save", "saved.txt", stdin="hint\n" + "1\n" * 300)
    local = play()
    saved = (folder / "saved.txt").read_text()
    assert local.code == 0
    assert play("--server", running.address) == local
    assert (folder / "saved.txt").read_text() == saved


def test_a_loaded_game_continues_with_a_server_and_without_one(run, tmp_path, running):
    run("play", "--seed", "4", "--level", "1", "--save", "whole.txt", stdin="1\n" * 300)
    run("play", "--seed", "4", "--level", "1", "--save", "game.txt", stdin="1\n" * 4)
    run("play", "--load", "game.txt", "--server", running.address, stdin="1\n" * 5)
    run("play", "--load", "game.txt", stdin="1\n" * 300)
    assert (tmp_path / "game.txt").read_text() == (tmp_path / "whole.txt").read_text()


@pytest.mark.parametrize("game_id", ["oriflamme", "castle_village_port"])
def test_a_server_gets_the_view_and_the_record_of_the_seat(monkeypatch, game_id):
    requests = []

    class Client:
        def suggest(self, view: Any, budget: Any, options: Any, **more: float) -> Any:
            requests.append(read_view_and_history(view))
            raise ZeroDivisionError

    chooser = MoveChooser(Connection("a:1"))
    monkeypatch.setattr(chooser, "client", lambda config=None: Client())
    game = TableGame(new_game(game_id, None, 3).deal(3), ["level-1", "me", "level-1"], 3)
    for _ in range(6):
        list(game.advance())
        game.play(game.view.legal_actions()[-1])
    game.chooser = chooser
    with pytest.raises(ZeroDivisionError):
        chooser.hint(game.observation)
    with pytest.raises(ZeroDivisionError):
        list(game.advance())
    acting = game.position.to_act
    assert acting in (0, 2)
    for (view, history), seat in zip(requests, [1, acting], strict=True):
        assert view == game.position.view(seat)
        assert history is not None
        assert history.record == game.record.seen_from(seat)


# --- a server that fails ----------------------------------------------------------------------------------------


class Flaky(MoveChooser):
    """An engine that fails once after some answers, and never hints."""

    def __init__(self, answers: int) -> None:
        super().__init__(Connection("a:1"))
        self.answers_left = answers
        self.failures = 0

    def check(self, name: str) -> None:
        """Accept every name."""

    def choose(self, name: str, observation: Observation, seed: int) -> Action:
        self.answers_left -= 1
        if self.answers_left == -1:
            self.failures += 1
            raise ServerFailure("a:1: the call failed with UNAVAILABLE: gone", "UNAVAILABLE")
        return MoveChooser().choose(name, observation, seed)

    def hint(self, observation: Observation) -> Any:
        raise ServerFailure("a:1: the call failed with UNAVAILABLE: gone", "UNAVAILABLE")


@pytest.fixture
def play(monkeypatch, capsys, tmp_path):
    """Return a function that types lines in a game whose server fails, and returns the game and its events."""

    def play(lines: str, answers: int = 3, me: int = 0) -> tuple[TableGame, list[dict[str, Any]]]:
        seats = ["level-1"] * 3
        seats[me] = "me"
        game = TableGame(new_game("oriflamme", None, 3).deal(3), seats, 3, chooser=Flaky(answers))
        monkeypatch.setattr("sys.stdin", io.StringIO(lines))
        try:
            GameSession(game, JsonDisplay("en"), tmp_path / "game.txt", words_of(WORDS, "en")).run()
        finally:
            log = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return game, log

    return play


def test_a_game_waits_for_a_failed_server_and_continues_with_or_without_it(play, tmp_path):
    uninterrupted, _ = play("1\n" * 300, answers=10**6)
    complete = write_game(uninterrupted)
    moves = moves_until_failure(play)
    for answer in ("again", "alone"):
        game, log = play("1\n" * moves + f"1\nmoves\nhint\n{answer}\n" + "1\n" * 300)
        failures = [event for event in log if event["event"] == "failed"]
        assert failures[0]["text"].startswith("a:1: the call failed with UNAVAILABLE: gone\nThe game waits. again ")
        # Commands that need a turn are answered by the ways to continue.
        assert [event["text"].split(".")[0] for event in failures[1:]] == ["The game waits"] * 3
        assert write_game(game) == (tmp_path / "game.txt").read_text() == complete
        assert isinstance(game.chooser, Flaky) == (answer == "again")


def moves_until_failure(play: Any) -> int:
    """Return the number of own moves after which the server fails; it depends on the play of the others."""
    return next(n for n in range(1, 20) if "failed" in {event["event"] for event in play("1\n" * n + "quit\n")[1]})


def test_a_game_is_saved_before_it_waits(play, tmp_path):
    game, _ = play("1\nquit\n", answers=1)
    assert (tmp_path / "game.txt").read_text() == write_game(game)
    assert game.position.to_act not in (None, 0)


def test_undo_works_while_the_game_waits(play):
    game, log = play("1\nundo\n1\n" + "quit\n", answers=1)
    assert [event["event"] for event in log].count("failed") == 1
    assert game.position.to_act == 0


def test_the_end_of_the_input_while_the_game_waits_is_a_failure(play):
    with pytest.raises(Failure, match="the call failed with UNAVAILABLE"):
        play("1\n", answers=1)


def test_a_failed_hint_does_not_stop_the_game(play):
    game, log = play("hint\nalone\nhint\nquit\n", answers=10**6)
    assert [event["event"] for event in log if event["event"] in ("failed", "hint")] == ["failed", "hint"]
    assert "alone continues" in next(event["text"] for event in log if event["event"] == "failed")
    assert not game.chooser.connection.address


def test_help_lists_the_commands_for_a_server_only_with_a_server(play, run):
    assert any("ask the server again" in event["text"] for event in play("?\nquit\n")[1] if event["event"] == "message")
    out = run("play", "--seed", "3", stdin="?\nalone\nquit\n").stdout
    assert "ask the server" not in out
    assert "'alone' is not one of" in out


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_unreachable_server_is_reported_at_once(run, tmp_path):
    address = f"127.0.0.1:{free_port()}"
    result = run("play", "--server", address, "--save", "game.txt", stdin="1\n", rc=1)
    assert result.stderr.startswith(f"eminence: {address}: the call failed with UNAVAILABLE: ")
    assert not (tmp_path / "game.txt").exists()


def test_a_configuration_that_a_server_does_not_play_is_refused(run, running):
    result = run("play", "--server", running.address, "--seats", "me,plain,level-2", rc=1)
    assert result.stderr == "eminence: --seats with 'plain' cannot be used with --server\n"
