"""Advice: mistakes in known positions, their words, and the page."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from benchmarks import advice
from benchmarks.__main__ import main
from benchmarks.advice import Effort, Mistake, clusters_of, habit_of, judge, phase_of
from engine_cy import Rng, new_game
from engine_cy.action_log import History
from solver.training import games

GAME = new_game("oriflamme", "en-2019", 3)
# The Spy must rob B, not C: it decides the game.
ROB = GAME.view("B:Heir* >A:Spy* C:Heir* | round 6 | ask A rob | points 11 12 9 | seen by A")
AMBUSH = "C:Lord* >A:Ambush(1) B:Soldier* A:Lord(1) C:?(2) | round 4 | points 7 7 7 | seen by A"
CASTLE = "castle - | village 9B | port - | round 1 | turn 3 | ask C select | gold 3 4 4 | hands ? ? 11,6,2 | seen by C"


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    monkeypatch.setattr(games, "CHUNK", 2)


def judged(move, seed=1):
    return judge(ROB, History(GAME), GAME.action(move), Effort(100, 200), Rng(seed))


def test_a_blunder_is_found_with_its_cost():
    better, cost, error = judged("rob C")
    assert str(better) == "rob B"
    assert cost - 2 * error > 0.2


def test_the_best_move_is_no_mistake():
    assert judged("rob B") is None


def test_the_cost_is_that_of_another_comparison(monkeypatch):
    gains = iter([(0.3, 0.01), (0.1, 0.02)])
    monkeypatch.setattr(advice, "gain_of", lambda *_: next(gains))
    assert judged("rob C")[1:] == (0.1, 0.02)


@pytest.mark.parametrize(("gain", "error"), [(0.02, 0.001), (0.1, 0.05), (-0.2, 0.01)])
def test_a_cost_that_is_small_or_not_sure_is_no_mistake(monkeypatch, gain, error):
    monkeypatch.setattr(advice, "gain_of", lambda *_: (gain, error))
    assert judged("rob C") is None


@pytest.mark.parametrize(
    ("view", "played", "better", "words"),
    [
        (AMBUSH, "reveal", "keep", "Reveals the Ambush with 1 token on it"),
        (AMBUSH.replace("(1)", "(3)"), "keep", "reveal", "Keeps the Ambush face down with 3 tokens on it"),
        (AMBUSH.replace("Ambush(1)", "Heir"), "reveal", "keep", "Reveals the Heir with no tokens on it"),
        (AMBUSH, "place Spy front", "place Heir back", "Places the Spy, where another card is better"),
        (AMBUSH, "place Spy front", "place Spy back", "Places the Spy at the front, where at the back is better"),
        (AMBUSH, "place Spy on 1", "place Spy on 3", "Places the Spy on an own card, where another own card is better"),
        (str(ROB), "rob C", "rob B", "Chooses the wrong target for the Spy"),
        (CASTLE, "swap A", "swap B", "Chooses the wrong target of `swap`"),
        (CASTLE, "select 2", "select 11", "Selects the lowest card, where a higher one is better"),
        (CASTLE, "select 6", "select 2", "Selects the middle card, where a lower one is better"),
        (CASTLE, "place port 0", "place castle 0", "Places the card in the port, where the castle is better"),
        (CASTLE, "place village 0", "place village 1", "Places the card at the wrong end of the village"),
    ],
)
def test_mistakes_have_words(view, played, better, words):
    assert habit_of(Mistake(0, 1, "greedy", view, played, better, 0.1, 0.01)) == words


def test_the_parts_of_a_game_have_words():
    assert [phase_of(number, 6).split()[0] for number in range(1, 7)] == ["early", "early", "in", "in", "late", "late"]
    assert phase_of(1, 1) == "at any time"


def test_mistakes_that_cost_more_in_all_come_first():
    rare = [Mistake(n, 1, "greedy", AMBUSH, "reveal", "keep", 0.2, 0.01) for n in range(3)]
    common = [Mistake(n, 1, "greedy", str(ROB), "rob C", "rob B", 0.1, 0.01) for n in range(9)]
    single = [Mistake(0, 1, "greedy", AMBUSH, "place Spy front", "place Heir back", 0.9, 0.01)]
    clusters = clusters_of(rare + common + single)
    assert [len(cluster.mistakes) for cluster in clusters] == [9, 3]
    assert clusters[0].cost.mean == pytest.approx(0.1)
    assert clusters[0].better == [("rob", 9)]


def test_mistakes_of_an_unsure_mean_cost_are_left_out():
    costs = (0.03, 0.03, 0.9)
    mistakes = [Mistake(n, 1, "greedy", AMBUSH, "reveal", "keep", cost, 0.01) for n, cost in enumerate(costs)]
    assert clusters_of(mistakes) == []


def test_the_example_has_the_usual_cost_and_the_usual_better_move():
    costs = (0.05, 0.2, 0.11, 0.5)
    mistakes = [Mistake(n, 1, "greedy", AMBUSH, "reveal", "keep", cost, 0.01) for n, cost in enumerate(costs)]
    (cluster,) = clusters_of(mistakes)
    assert cluster.example.cost == 0.2


# --- the command ------------------------------------------------------------------------------------------------


def test_the_page_shows_the_mistakes_with_positions(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(advice, "EFFORTS", {"oriflamme": Effort(40, 60)})
    monkeypatch.setattr(advice, "FEWEST", 2)
    page = tmp_path / "advice.md"
    page.write_text("# Advice\n")
    options = ["--only=oriflamme-3", "--games=16", "--workers=1", f"--work={tmp_path}", f"--page={page}", "--json"]
    main(["advice", *options])
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])["oriflamme-3"]
    assert printed["games"] == 16
    assert printed["mistakes"] >= len(printed["clusters"]) > 0
    text = page.read_text()
    for number, cluster in enumerate(printed["clusters"], 1):
        assert f"### {number}. {cluster['mistake']}, {cluster['when']}" in text
        assert f"```text\n{cluster['view']}\n```" in text
        view = GAME.view(cluster["view"])
        assert {cluster["played"], cluster["better"]} <= set(map(str, view.legal_actions()))
        ElementTree.parse(tmp_path / "pictures" / f"advice-oriflamme-3-{number}.svg")
    main(["advice", *options])
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["oriflamme-3"] == printed
    assert page.read_text() == text
