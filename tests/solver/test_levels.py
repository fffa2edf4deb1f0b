"""Strength levels: iterations, temperature and noise define them, not time."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any

import pytest

from engine_cy import Position, Rng, new_game
from solver import CONFIGS, LEVEL_NAMES, LEVELS, Budget, Config, InvalidQuestionError, read_level, solve

GAME = new_game("oriflamme", "en-2019", players=3)
# T3 of the tactical positions: the Spy must rob B, not C.
ROB = GAME.view("B:Heir* >A:Spy* C:Heir* | round 6 | ask A rob | points 11 12 9 | seen by A")


def test_there_are_ten_named_levels() -> None:
    assert list(LEVELS) == list(range(1, 11))
    for level, config in LEVELS.items():
        assert CONFIGS[f"level-{level}"] is config
        assert config.iterations > 0
    with pytest.raises(InvalidQuestionError, match="config: 'level-11' is not one of"):
        solve(ROB, config="level-11")


@pytest.mark.parametrize(("text", "number"), [(3, 3), ("10", 10), *LEVEL_NAMES.items()])
def test_a_level_is_read_from_its_number_or_its_name(text: int | str, number: int) -> None:
    assert read_level(text) == number
    assert solve(ROB, config=f"level-{number}", seed=1).best == solve(ROB, config=named(number), seed=1).best


def named(number: int) -> str:
    """Return the name of a level; its configuration, if it has none."""
    return next((name for name, level in LEVEL_NAMES.items() if level == number), f"level-{number}")


@pytest.mark.parametrize("text", [0, 11, -1, True, 2.5, "", "02", "HARD", "level-3", "x" * 10_000, None])
def test_an_unknown_level_is_refused_in_one_sentence(text: Any) -> None:
    with pytest.raises(
        InvalidQuestionError, match=r"is not one of 1\.\.10, beginner, easy, normal, hard, expert"
    ) as refused:
        read_level(text)
    assert len(str(refused.value)) < 150


def test_named_levels_grow_in_strength() -> None:
    assert list(LEVEL_NAMES.values()) == sorted(LEVEL_NAMES.values())
    assert set(LEVEL_NAMES).isdisjoint(CONFIGS)


def test_a_level_sets_the_iterations_and_a_budget_can_only_lower_them() -> None:
    view = GAME.deal(1).view(0)
    level = LEVELS[6]
    assert solve(view, config=level).iterations == level.iterations
    assert solve(view, Budget(iterations=10**6), config=level).iterations == level.iterations
    assert solve(view, Budget(iterations=7), config=level).iterations == 7
    assert solve(view, Budget(time_ms=10_000), config=level).iterations == level.iterations
    assert solve(view, Budget(iterations=10**6), config=level).question.budget.iterations == level.iterations


def move_counts(config: Config, n_searches: int = 200) -> Counter[str]:
    return Counter(str(solve(ROB, config=config, seed=seed).best) for seed in range(n_searches))


def test_noise_is_the_share_of_random_moves() -> None:
    without_noise = dataclasses.replace(CONFIGS["default"], iterations=200)
    assert move_counts(without_noise, 20) == {"rob B": 20}
    noisy = move_counts(dataclasses.replace(without_noise, noise=0.5), 600)
    assert noisy["rob C"] / 600 == pytest.approx(0.25, abs=0.06)


def test_with_one_seed_for_a_game_each_move_has_its_own_random_numbers() -> None:
    noisy = dataclasses.replace(CONFIGS["default"], iterations=30, noise=0.5)
    chosen: Counter[str] = Counter()
    for number in range(10):
        position = GAME.deal(number)
        while not position.is_over:
            view = position.view(position.to_act or 0)
            legal = view.legal_actions()
            if len(legal) == 2:
                answer = solve(view, config=noisy, seed=7)
                chosen["best" if answer.best == answer.moves[0].action else "other"] += 1
                chosen["first" if solve(view, config="random", seed=7).best == legal[0] else "second"] += 1
            position = position.play(legal[0])
    decisions = chosen["best"] + chosen["other"]
    assert decisions > 100
    assert chosen["other"] / decisions == pytest.approx(0.25, abs=0.12)
    assert chosen["first"] / decisions == pytest.approx(0.5, abs=0.15)


def test_temperature_samples_moves_in_proportion_to_their_visits() -> None:
    view = GAME.deal(3).view(0)
    cold = dataclasses.replace(CONFIGS["default"], iterations=300)
    warm = dataclasses.replace(cold, temperature=1.0)
    visit_counts: Counter[str] = Counter()
    drawn_counts: Counter[str] = Counter()
    for seed in range(300):
        answer = solve(view, config=warm, seed=seed)
        assert answer.moves == solve(view, config=cold, seed=seed).moves
        drawn_counts[str(answer.best)] += 1
        for move in answer.moves:
            visit_counts[str(move.action)] += move.visits
    for action, visits in visit_counts.most_common(4):
        assert drawn_counts[action] / 300 == pytest.approx(visits / (300 * 300), abs=0.09)


def wins(strong: int, weak: int, deals: int) -> float:
    """Return the share of games that one player of the stronger level wins against two of the weaker."""
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


@pytest.mark.slow
def test_a_higher_level_wins_more() -> None:
    assert wins(4, 1, 20) > 0.45
    assert wins(7, 4, 20) > 0.45
