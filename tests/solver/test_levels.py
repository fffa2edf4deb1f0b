"""Strength levels: iterations, temperature and noise make them, never time."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest

from engine_cy import Position, Rng, new_game
from solver import CONFIGS, LEVELS, Budget, Config, InvalidQuestionError, solve

GAME = new_game("oriflamme", "en-2019", players=3)
# T3 of the tactical positions: the Spy must rob B, not C.
ROB = GAME.view("B:Heir* >A:Spy* C:Heir* | round 6 | ask A rob | points 11 12 9 | seen by A")


def test_there_are_ten_and_each_has_a_name() -> None:
    assert list(LEVELS) == list(range(1, 11))
    for level, config in LEVELS.items():
        assert CONFIGS[f"level-{level}"] is config
        assert config.iterations > 0
    with pytest.raises(InvalidQuestionError, match="config: 'level-11' is not one of"):
        solve(ROB, config="level-11")


def test_a_level_sets_the_iterations_and_a_budget_only_caps_them() -> None:
    view = GAME.deal(1).view(0)
    level = LEVELS[6]
    assert solve(view, config=level).iterations == level.iterations
    assert solve(view, Budget(iterations=10**6), config=level).iterations == level.iterations
    assert solve(view, Budget(iterations=7), config=level).iterations == 7
    assert solve(view, Budget(time_ms=10_000), config=level).iterations == level.iterations
    assert solve(view, Budget(iterations=10**6), config=level).question.budget.iterations == level.iterations


def played(config: Config, times: int = 200) -> Counter[str]:
    return Counter(str(solve(ROB, config=config, seed=seed).best) for seed in range(times))


def test_noise_is_the_share_of_moves_that_are_any_move() -> None:
    sure = dataclasses.replace(CONFIGS["default"], iterations=200)
    assert played(sure, 20) == {"rob B": 20}
    noisy = played(dataclasses.replace(sure, noise=0.5), 600)
    assert noisy["rob C"] / 600 == pytest.approx(0.25, abs=0.06)


def test_one_seed_for_a_whole_game_draws_each_move_anew() -> None:
    noisy = dataclasses.replace(CONFIGS["default"], iterations=30, noise=0.5)
    chosen: Counter[str] = Counter()
    for number in range(10):
        position = GAME.deal(number)
        while not position.is_over:
            view = position.view(position.to_act or 0)
            legal = view.legal_actions()
            if len(legal) == 2:
                found = solve(view, config=noisy, seed=7)
                chosen["best" if found.best == found.moves[0].action else "other"] += 1
                chosen["first" if solve(view, config="random", seed=7).best == legal[0] else "second"] += 1
            position = position.play(legal[0])
    decisions = chosen["best"] + chosen["other"]
    assert decisions > 100
    assert chosen["other"] / decisions == pytest.approx(0.25, abs=0.12)
    assert chosen["first"] / decisions == pytest.approx(0.5, abs=0.15)


def test_temperature_draws_moves_by_their_visits() -> None:
    view = GAME.deal(3).view(0)
    cold = dataclasses.replace(CONFIGS["default"], iterations=300)
    warm = dataclasses.replace(cold, temperature=1.0)
    shares: Counter[str] = Counter()
    drawn: Counter[str] = Counter()
    for seed in range(300):
        found = solve(view, config=warm, seed=seed)
        assert found.moves == solve(view, config=cold, seed=seed).moves
        drawn[str(found.best)] += 1
        for move in found.moves:
            shares[str(move.action)] += move.visits
    for action, visits in shares.most_common(4):
        assert drawn[action] / 300 == pytest.approx(visits / (300 * 300), abs=0.09)


def wins(strong: int, weak: int, deals: int) -> float:
    """The share of games for three that one of the stronger level wins against two of the weaker."""
    total = 0.0
    for number in range(deals):
        for seat in range(3):
            rng = Rng(77, number)
            position: Position = GAME.deal(rng, first=number % 3)
            while not position.is_over:
                player = position.to_act or 0
                level = LEVELS[strong if player == seat else weak]
                best = solve(position.view(player), config=level, seed=rng.bits()).best
                assert best is not None
                position = position.play(best)
            total += position.payoffs[seat]
    return total / (3 * deals)


def test_a_higher_level_wins_more() -> None:
    assert wins(4, 1, 20) > 0.45
    assert wins(7, 4, 20) > 0.45
