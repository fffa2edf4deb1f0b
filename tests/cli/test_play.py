"""eminence play: games over a pipe, hidden cards, undo, the board as text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from program import run as run_here

from eminence.v1 import solver_pb2 as pb
from engine_cy import CHANCE, new_game
from engine_cy.annotations import Comment
from engine_cy.record import read_record
from server.cli.opponents import MoveChooser
from server.cli.pages.board import WIDTH, draw
from server.cli.table_game import SeenMove, TableGame, write_game
from server.client.local import LocalClient
from server.codec.views import read_view

GAMES = [("oriflamme", 3), ("oriflamme_prototype", 4), ("castle_village_port", 3)]


def new_playing(game_id: str = "oriflamme", players: int = 3, me: int = 0, seed: int = 3, level: int = 1) -> TableGame:
    seats = [f"level-{level}"] * players
    seats[me] = "me"
    return TableGame(new_game(game_id, None, players).deal(seed), seats, seed)


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# --- over a pipe ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game_id", "players"), GAMES)
def test_a_whole_game_is_played_saved_and_reviewed(run, tmp_path, game_id, players):
    args = ["--game", game_id, "--players", str(players), "--level", "1", "--seed", "3", "--save", "game.txt"]
    out = run("play", *args, stdin="1\n" * 300).stdout
    assert max(map(len, out.splitlines())) <= WIDTH
    assert "\x1b" not in out
    assert re.search(r"The game is over: ([A-E](?: and [A-E])* (wins|share the win)|you win)\.", out)
    record = read_record((tmp_path / "game.txt").read_text())
    assert record.end.is_over
    # The others' hands are shown only at the end.
    assert out.rindex("Your hand (A)") < out.index("Hand of B")
    assert record.result == record.end.scores
    assert "lost" in run("review", "game.txt", "--seat", "A", "--iterations", "20").stdout


def test_names_and_comments_are_saved_and_kept_when_the_game_goes_on(run, tmp_path):
    args = ["--level", "1", "--seed", "3", "--save", "game.txt", "--name", "Ann", "--event", "Club #1"]
    lines = ["comment first", "1", "comment second", "comment more", "quit"]
    run("play", *args, stdin="\n".join(lines))
    saved = read_record((tmp_path / "game.txt").read_text())
    assert saved.names == ("Ann", "level-1", "level-1")
    assert saved.event == "Club #1"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", saved.date)
    assert [comment.text for comment in saved.comments] == ["first", "second\nmore"]
    # Taking a choice back removes the comments after it.
    run("play", "--load", "game.txt", stdin="undo\n2\nquit\n")
    loaded = read_record((tmp_path / "game.txt").read_text())
    assert [comment.text for comment in loaded.comments] == ["first"]
    assert (loaded.names, loaded.event, loaded.date) == (saved.names, saved.event, saved.date)
    run("play", "--load", "game.txt", "--event", "Later", stdin="quit\n")
    assert read_record((tmp_path / "game.txt").read_text()).event == "Later"


def test_a_comment_or_name_that_cannot_be_saved_is_refused(run, tmp_path):
    args = ["--level", "1", "--seed", "3", "--save", "game.txt"]
    out = run("play", *args, stdin=f"comment {'x' * 3000}\ncomment a\tb\ncomment good\nquit\n").stdout
    assert "has 3000 characters; at most 2000 are possible" in out
    assert "is U+0009; no control characters but newlines are accepted" in out
    assert [comment.text for comment in read_record((tmp_path / "game.txt").read_text()).comments] == ["good"]
    refused = run("play", "--name", "x" * 10_000, rc=1).stderr
    assert refused == f"eminence: names[0]: '{'x' * 40}'... has 10000 characters; at most 100 are possible\n"


def test_every_command_of_the_game_answers(run):
    lines = [
        "?",
        "hint",
        "beliefs",
        "text",
        "place Spy front",
        "undo",
        "place spy front",
        "jump",
        "99",
        "target 5",
        "quit",
    ]
    out = run("play", "--seed", "3", "--level", "1", stdin="\n".join(lines)).stdout
    assert "save FILE" in out
    assert re.search(r"Place the \w+ at .*\d+\.\d ± \d+\.\d", out)
    assert "may be" in out
    assert "| seen by A" in out
    assert out.count("You place the Spy at the front  place Spy front\n") == 2
    assert "'jump' is not one of" in out
    assert re.search(r"99 is not in 1\.\.\d+\.", out)
    assert "'target 5' is not possible now" in out


def test_the_end_of_the_input_ends_and_saves_the_game(run, tmp_path):
    run("play", "--seed", "3", "--save", "game.txt", stdin="1\n")
    assert len(read_record((tmp_path / "game.txt").read_text()).actions) > 1


def test_a_loaded_game_continues_as_it_would_have(run, tmp_path):
    run("play", "--seed", "4", "--level", "2", "--save", "a.txt", stdin="1\n" * 300)
    run("play", "--seed", "4", "--level", "2", "--save", "b.txt", stdin="1\n" * 4)
    run("play", "--load", "b.txt", stdin="1\n" * 300)
    assert (tmp_path / "a.txt").read_text() == (tmp_path / "b.txt").read_text()


def test_programs_play_by_json(run):
    log = events(run("play", "--json", "--seed", "3", "--level", "1", stdin="hint\nbeliefs\nc\n" + "1\n" * 300).stdout)
    assert {event["event"] for event in log} == {"message", "seen", "question", "hint", "beliefs", "over", "cards"}
    question = next(event for event in log if event["event"] == "question")
    game = new_game("oriflamme", "en-2019", 3)
    assert [str(action) for action in game.view(question["text"]).legal_actions()] == question["moves"]
    assert question["view"]["oriflamme"]["observer"] == "SEAT_A"
    assert sum(log[-1]["shares"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--seats", "me,me,level-2"), "seats: 'me,me,level-2' does not name 3 players, 'me' once among them at most"),
        (("--seats", "me,level-2", "--players", "3"), "seats: 'me,level-2' does not name 3 players"),
        (("--seats", "x" * 10_000 + ",me,easy"), "config: '" + "x" * 59 + "... is not one of random"),
        (("--level", "y" * 10_000), "level: '" + "y" * 59 + "... is not one of 1..10, beginner"),
        (("--lang", "xx"), "lang: 'xx' is not one of en, fr, de"),
        (("--watch", "--seats", "me,easy,hard"), "watch: cannot be combined with 'me' in --seats"),
        (("--seats", "me,level-2,nobody"), "config: 'nobody' is not one of random"),
        (("--players", "7"), "players: 7 is not possible in en-2019"),
        (("--load", "nothing.txt"), "nothing.txt: neither a file nor a position"),
    ],
)
def test_invalid_arguments_are_refused_by_name(run, args, why):
    assert run("play", *args, rc=1).stderr.startswith(f"eminence: {why}")


def test_a_record_of_one_seat_or_without_seats_cannot_be_continued(run, tmp_path, oriflamme):
    (tmp_path / "seen.txt").write_text(str(oriflamme.seen_from("B")))
    assert "holds the view of B" in run("play", "--load", "seen.txt", "--seats", "me,level-1,level-1", rc=1).stderr
    (tmp_path / "whole.txt").write_text(str(oriflamme))
    assert "does not name the players" in run("play", "--load", "whole.txt", rc=1).stderr


def test_a_failed_save_does_not_end_the_game(run):
    out = run("play", "--seed", "3", stdin="save no/such/folder\nsave\nquit\n").stdout
    assert "no/such/folder: No such file or directory; the game is not saved." in out
    assert "A file is required: save FILE" in out


# --- who sees what --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("me", [0, 1, 2])
@pytest.mark.parametrize(("game_id", "players"), GAMES)
def test_the_printed_actions_are_those_that_the_seat_sees(game_id, players, me):
    game = new_playing(game_id, players, me)
    lines: list[SeenMove] = []
    while not game.position.is_over:
        lines += game.advance()
        if not game.position.is_over:
            lines.append(game.play(game.view.legal_actions()[-1]))
    record = game.record.seen_from(me)
    assert [move.seen for move in lines] == list(record.actions)
    letters = ["*" if table.to_act == CHANCE else "ABCDE"[table.to_act or 0] for table in record.tables()]
    assert [move.letter for move in lines] == letters[:-1]


def test_a_selected_card_stays_hidden_until_it_is_revealed():
    game = new_playing("castle_village_port", me=2)
    lines = list(game.advance())
    assert [(move.letter, move.seen) for move in lines] == [("A", "select ?"), ("B", "select ?")]
    hidden = [str(own.selected) for own in game.position.parts.secrets[:2]]
    board = draw(game.view, game.seats).plain
    selected = board[board.index("selected") : board.index("Your hand")]
    assert selected.count("▒▒") == 2
    assert not any(value in selected for value in hidden)


@pytest.mark.parametrize(("game_id", "players"), GAMES)
def test_each_opponent_gets_its_own_view_and_seed(monkeypatch, game_id, players):
    requests = []

    class Watched(LocalClient):
        def suggest(self, view: Any, budget: Any = None, options: Any = None, **more: Any) -> Any:
            requests.append((read_view(view), options.seed))
            return super().suggest(view, budget, options, **more)

    monkeypatch.setattr("server.client.local.LocalClient", Watched)
    game = new_playing(game_id, players)
    list(game.advance())
    game.play(game.view.legal_actions()[0])
    list(game.advance())
    assert {view.observer for view, _ in requests} == set(range(1, players))
    # With one seed for all decisions, a weak level would err always or never.
    assert len({seed for _, seed in requests}) == len(requests)


def test_ctrl_c_during_a_search_ends_the_game_without_a_move(monkeypatch):
    class Interrupted(LocalClient):
        def suggest(self, *args: Any, **more: Any) -> Any:
            suggestion = super().suggest(*args, **more)
            suggestion.stop_reason = pb.STOP_REASON_CANCELLED
            return suggestion

    monkeypatch.setattr("server.client.local.LocalClient", Interrupted)
    game = new_playing(me=2)
    before = list(game.actions)
    with pytest.raises(KeyboardInterrupt):
        list(game.advance())
    assert game.actions == before


# --- taking back ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game_id", "players"), GAMES)
def test_a_move_after_an_undo_gets_the_same_replies(game_id, players):
    game = new_playing(game_id, players, level=3)
    list(game.advance())
    for _ in range(3):
        before, view = list(game.actions), game.view
        game.play(game.view.legal_actions()[0])
        list(game.advance())
        after = list(game.actions)
        assert game.take_back()
        assert (game.actions, game.view) == (before, view)
        game.play(game.view.legal_actions()[0])
        list(game.advance())
        assert game.actions == after


def test_undo_at_the_start_changes_nothing():
    game = new_playing(me=1)
    list(game.advance())
    before = list(game.actions)
    assert not game.take_back()
    assert game.actions == before


def test_a_saved_game_is_read_as_a_record():
    game = new_playing()
    list(game.advance())
    assert read_record(write_game(game)) == game.record


# --- games of the engine alone --------------------------------------------------------------------------------


@pytest.mark.parametrize(("game_id", "players"), GAMES)
def test_the_engine_plays_all_seats_and_the_game_is_saved(tmp_path, monkeypatch, game_id, players):
    monkeypatch.chdir(tmp_path)
    seats = ",".join(["beginner", "level-1", "easy", "beginner"][:players])
    out = run_here("play", "--game", game_id, "--seats", seats, "--seed", "5", "--save", "game.txt").out
    assert max(map(len, out.splitlines()[-10:])) <= WIDTH
    assert re.search(r"The game is over: (you win|[A-E](?: and [A-E])* (wins|share the win))\.", out)
    assert out.endswith("\neminence review game.txt\n")
    assert read_record((tmp_path / "game.txt").read_text()).end.is_over
    assert out.count("Hand of A") == 1  # at the end only, without --watch


def test_a_watched_game_shows_the_table_after_each_move(tmp_path):
    args = ("--watch", "--level", "1", "--seed", "2", "--think-at-least", "0")
    out = run_here("play", *args, "--save", tmp_path / "game.txt").out
    record = read_record((tmp_path / "game.txt").read_text())
    # The table at the start and after each move, the last one with the result.
    assert out.count("Hand of A") == len(record.actions) + 1


def test_an_interrupted_game_of_the_engine_is_continued(tmp_path):
    whole, part = tmp_path / "whole.txt", tmp_path / "part.txt"
    run_here("play", "--seats", "beginner,beginner,beginner", "--seed", "4", "--save", whole)
    part.write_text("".join(whole.read_text().splitlines(keepends=True)[:-20]))
    assert run_here("play", "--load", part).code == 0
    assert part.read_text() == whole.read_text()


def test_a_watched_game_is_json_too():
    log = events(run_here("play", "--seats", "beginner,beginner,beginner", "--seed", "4", "--json").out)
    assert [event["event"] for event in log[:2]] == ["message", "seen"]
    assert log[-1]["event"] == "over"
    assert log[1]["words"].startswith("B places the ")  # nothing is hidden


def test_each_move_of_others_takes_its_time(monkeypatch):
    times = []

    class Slow(LocalClient):
        def suggest(self, *args: Any, think_at_least: float = 0.0, **more: Any) -> Any:
            times.append(think_at_least)
            return super().suggest(*args, **more)

    monkeypatch.setattr("server.client.local.LocalClient", Slow)
    game = new_playing(me=2)
    game.chooser = MoveChooser(think_at_least=1.5)
    list(game.advance())
    assert times == [1.5, 1.5]
    game.chooser.hint(game.observation)
    assert times[2:] == [0.0]  # hints do not wait


# --- words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ["You are A.", "Which card do you place, and where?", "Set aside:", "takes", "points at the first"]),
        ("fr", ["Vous êtes A.", "Quelle carte posez-vous, et où ?", "Écartées :", "pose une carte", "désigne la prem"]),
        ("de", ["Du bist A.", "Welche Karte legst du, und wohin?", "Beiseitegelegt:", "legt eine Karte", "zielt auf"]),
    ],
)
def test_a_game_speaks_the_language_of_the_person(language, texts):
    args = ("--seed", "3", "--level", "1")
    chosen = run_here("play", *args, "--lang", language, stdin="c\n?\n" + "1\n" * 12 + "moves\nbeliefs\nundo\n").out
    for text in texts:
        assert text in chosen
    assert max(map(len, chosen.splitlines())) <= 100
    by_locale = run_here("play", *args, stdin="", LC_ALL="", LC_MESSAGES=f"{language}_XX.UTF-8").out
    assert by_locale.splitlines()[0] == chosen.splitlines()[0]


def test_a_number_of_thousands_of_digits_is_no_move():
    assert "... is not in 1.." in run_here("play", "--seed", "3", "--level", "1", stdin="9" * 10_000 + "\n").out


def test_a_loaded_record_keeps_its_names_and_comments(tmp_path):
    path = tmp_path / "game.txt"
    run_here("play", "--seed", "4", "--level", "1", "--save", path, stdin="1\n" * 3)
    text = path.read_text()
    record = read_record(text)
    named = replace(record, names=("Ann", "", "Cléo"), comments=(Comment(2, "well played"),))
    path.write_text(text.splitlines()[0] + "\n" + str(named))
    assert "Cléo" in run_here("play", "--load", path, "--lang", "fr", stdin="1\n" * 4).out
    kept = read_record(path.read_text())
    assert (kept.names, kept.comments) == (named.names, named.comments)
    assert kept.actions[: len(record.actions)] == record.actions
    assert len(kept.actions) > len(record.actions)


# --- the picture ----------------------------------------------------------------------------------------------


def test_a_queue_is_drawn_as_text():
    view = new_game("oriflamme", "en-2019", 3).view(
        "A1:Shapeshifter* >B1:Assassination C1:?(12) | round 1 | points 4 5 6 | seen by B"
    )
    top, middle, bottom = draw(view, ["x", "me", "z"]).plain.splitlines()[1:4]
    assert top == "┌0────────────┐ ┌►1───────────┐ ┌2────────────┐"
    assert middle == "│A Shapeshift.│ │B▒Assassinat.│ │C▒▒▒▒▒▒▒▒▒▒▒▒│"
    assert bottom == "└─────────────┘ └─────────────┘ └──────────●12┘"


@pytest.mark.parametrize(("game_id", "players"), [*GAMES, ("oriflamme", 5), ("castle_village_port", 5)])
def test_every_table_fits_a_screen(game_id, players):
    for seed in range(3):
        position = new_game(game_id, None, players).deal(seed)
        while not position.is_over:
            lines = draw(position.view(0), ["level-10"] * players).plain.splitlines()
            assert max(map(len, lines)) <= WIDTH
            assert len(lines) <= 20
            actions = position.legal_actions()
            position = position.play(actions[(7 * seed + 3) % len(actions)])
