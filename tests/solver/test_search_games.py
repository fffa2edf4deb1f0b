"""Games for training: each decision is that of `solve`, and files continue where they were interrupted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine_cy import CHANCE, Rng, new_game
from engine_cy.action_log import History
from solver.config import Budget, read_config
from solver.match import Match, play_deal
from solver.solve import solve
from solver.training import games
from solver.training.games import (
    BY_CHANCE,
    FORCED,
    SEARCHED,
    Member,
    Plan,
    make_games,
    match_games,
    read_games,
)

POPULATION = (
    Member("default", 1.0, 3),
    Member("level-2", 0.0, 1),
    Member("level-5", 0.0, 1),
    Member("plain", 2.0, 1),
    Member("greedy", 0.0, 1),
)
SPECS = [
    ("oriflamme", "en-2019", 3),
    ("oriflamme_prototype", "prototype", 2),
    ("castle_village_port", "house", 4),
]


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    monkeypatch.setattr(games, "CHUNK", 2)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec[0])
def test_each_decision_is_that_of_a_search(tmp_path, spec):
    plan = Plan([spec], 40, 7, POPULATION)
    make_games(tmp_path, plan, 2, 1)
    for played in read_games(tmp_path):
        seeds = Rng(plan.seed, 2 * played.number + 1)
        log = History(new_game(*spec))
        for position, choice in played.positions():
            legal = position.legal_actions()
            assert choice.options == len(legal)
            assert choice.seat == position.to_act
            assert (choice.what == BY_CHANCE) == (position.to_act == CHANCE)
            if choice.seat != CHANCE:
                seed = seeds.bits()
                member = POPULATION[played.members[choice.seat]]
                config = read_config(member.config)
                budget = Budget(iterations=round(plan.iterations * member.effort) or config.iterations or 1)
                view = position.view(choice.seat)
                log.end = view
                answer = solve(view, budget, config=config, seed=seed, lines=0, history=log)
                assert answer.best == legal[choice.taken]
                if choice.what == SEARCHED:
                    assert [answer.move(action).visits for action in legal] == list(choice.visits)
                    best = answer.total.tallies[legal.index(answer.moves[0].action)]
                    means = [payoff / best.visits for payoff in best.payoffs]
                    assert means == pytest.approx(choice.best_means)
                    assert legal[choice.best] == answer.moves[0].action
                else:
                    assert choice.what == FORCED or config.how != "search"
            log.add(position, legal[choice.taken])
        end, choice = list(played.positions())[-1]
        end = end.play(end.legal_actions()[choice.taken])
        assert (end.payoffs, end.scores) == (played.payoffs, played.scores)


def test_interrupted_files_continue_with_the_same_games(tmp_path):
    plan = Plan(SPECS[:1], 20, 7, POPULATION)
    make_games(tmp_path / "whole", plan, 6, 2)
    make_games(tmp_path / "parts", plan, 2, 1)
    make_games(tmp_path / "parts", plan, 6, 1)
    assert list(read_games(tmp_path / "parts")) == list(read_games(tmp_path / "whole"))
    assert [game.number for game in read_games(tmp_path / "whole")] == list(range(6))


def test_games_of_another_plan_or_other_weights_are_refused(tmp_path, monkeypatch):
    make_games(tmp_path, Plan(SPECS[:1], 20, 7, POPULATION), 2, 1)
    with pytest.raises(SystemExit, match="games of another plan"):
        make_games(tmp_path, Plan(SPECS[:1], 20, 8, POPULATION), 4, 1)
    monkeypatch.setattr(games, "weights_digest", lambda game: "others")
    with pytest.raises(SystemExit, match="other weights"):
        make_games(tmp_path, Plan(SPECS[:1], 20, 7, POPULATION), 4, 1)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec[0])
def test_match_games_are_those_of_a_match(spec):
    a, b = (replace(read_config(name), iterations=n) for name, n in (("default", 12), ("level-2", 8)))
    match = Match(new_game(*spec).spec, a, b, Budget(iterations=100), 11)
    deals = range(3, 6)
    for number, played in zip(deals, match_games(new_game(*spec), 11, a, b, deals), strict=True):
        deal = play_deal(match, number)
        assert deal.shares == tuple(game.payoffs[seat] for seat, game in enumerate(played))
        searched = sum(choice.what == SEARCHED for game in played for choice in game.choices)
        # A match searches moves that only hidden cards force, too.
        assert 0 < searched <= sum(deal.decisions)
