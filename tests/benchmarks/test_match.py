"""Matches from the command line of the benchmarks, with OpenSpiel's bot as a player."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.match import as_json, as_text, read_player
from engine_cy import Position, new_game
from engine_cy.action_log import History
from solver import Budget, InvalidQuestionError, match
from solver.match import Match, OtherMatchError, Turn

LOADS = {"before": [0.0], "after": [1.0]}


def match_of(a: str, b: str, iterations: int) -> Match:
    game = new_game("oriflamme", "en-2019", 3).spec
    return Match(game, read_player(a), read_player(b), Budget(iterations=iterations), seed=1)


def turn_at(position: Position) -> Turn:
    return Turn(position, History(position.game), position)


def test_a_match_repeats(capsys):
    command = ["match", "plain", "plain:exploration=0.2", "--iterations", "20", "--deals", "3", "--workers", "1"]
    outputs = []
    for _ in range(2):
        main([*command, "--json"])
        printed = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert printed.pop("moves_per_s") > 0
        assert set(printed.pop("load")) == {"before", "after"}
        outputs.append(printed)
    assert outputs[0] == outputs[1]
    assert {"games", "deals", "score", "elo", "low", "high", "iterations_per_decision"} <= set(outputs[0])
    assert (outputs[0]["games"], outputs[0]["deals"]) == (9, 3)
    assert outputs[0]["iterations_per_decision"] == {"a": 20, "b": 20}


@pytest.mark.parametrize("text", ["Buy milk\nand bread", "Buy milk", "\n"])
def test_a_foreign_file_is_refused_and_not_changed(tmp_path, capsys, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(SystemExit):
        main(["match", "plain", "flat", "--iterations", "5", "--workers", "1", "--resume", str(path)])
    assert "is not the file of a match" in capsys.readouterr().err
    assert path.read_text() == text


# --- OpenSpiel's bot ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rollouts", ["openspiel", "engine"])
def test_openspiels_bot_runs_the_given_simulations_and_repeats(tmp_path, rollouts):
    path = tmp_path / "deals.jsonl"
    game = match_of("plain", f"openspiel:rollouts={rollouts}", 6)
    report = match.run(game, 1, path=path)
    assert match.per_decision(report, 1) == 6
    assert match.run(game, 1).deals == report.deals
    printed = as_json(report, LOADS)
    assert printed["b"] == f"openspiel:rollouts={rollouts}"
    assert printed["bridge"]["clone_ns"] > 0
    assert printed["bridge"]["apply_ns"] > 0
    assert "through the bridge: clone " in as_text(report, LOADS)
    assert match.run(game, 1, path=path).moves_per_s is None
    with pytest.raises(OtherMatchError):
        match.run(match_of("plain", "openspiel:exploration=2", 6), 1, path=path)


def test_openspiels_bot_beats_random_play():
    assert match.run(match_of("openspiel:rollouts=engine", "random", 40), 4).score.mean > 0.6


@pytest.mark.parametrize("budget", [lambda ms: Budget(time_ms=ms), lambda ms: Budget(thread_time_ms=ms)])
def test_openspiels_bot_keeps_to_the_time_limit(budget):
    position = new_game("oriflamme", "en-2019", 3).deal(1)
    bot = read_player("openspiel:rollouts=engine")
    counts: list[int] = []
    for milliseconds in (0.001, 20, 400):
        best, simulations = match.choose(bot, turn_at(position), budget(milliseconds), 1)
        assert simulations is not None
        assert best in position.legal_actions()
        counts.append(simulations)
    # Without time the bot has tried one action.
    assert counts[0] == 1 < counts[1] < counts[2]


def test_openspiels_bot_does_not_see_hidden_cards():
    game = new_game("oriflamme", "en-2019", 3)
    position = game.position("A:Soldier* >B:Ambush(3) C:Spy")
    other = position.view("B").sample_world(2)
    assert other != position
    bot = read_player("openspiel:rollouts=engine")
    for seed in range(3):
        choices = [match.choose(bot, turn_at(at), Budget(iterations=30), seed) for at in (position, other)]
        assert choices[0] == choices[1]


def test_unknown_settings_of_the_bot_are_refused():
    with pytest.raises(InvalidQuestionError, match="'nodes' is not one of exploration, rollouts"):
        read_player("openspiel:nodes=own")
    with pytest.raises(InvalidQuestionError, match="rollouts: 'fast' is not one of openspiel, engine"):
        read_player("openspiel:rollouts=fast")
