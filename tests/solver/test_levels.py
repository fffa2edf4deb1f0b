"""Strength levels: iterations, errors of judgement and memory define them, not time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from engine_cy import Position, Rng, new_game
from engine_cy.action_log import History
from solver import CONFIGS, LEVEL_NAMES, LEVELS, Budget, Config, InvalidQuestionError, read_level, solve
from solver.mistakes import error_of, misjudged_best
from solver.question import SearchQuestion

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


def test_a_level_with_small_errors_chooses_no_move_that_is_much_worse() -> None:
    able = replace(CONFIGS["default"], iterations=200)
    moves = {str(move.action): move.win.mean for move in solve(ROB, config=able, seed=1).moves if move.win}
    assert moves["rob B"] > moves["rob C"] + 0.2
    assert move_counts(able, 20) == {"rob B": 20}
    assert move_counts(replace(able, misjudgement=0.03), 200) == {"rob B": 200}
    assert move_counts(replace(able, misjudgement=1.0), 400)["rob C"] > 80


def test_larger_errors_cost_more() -> None:
    view = GAME.deal(3).view(0)
    answer = solve(view, Budget(iterations=20_000), seed=1)
    wins = {str(move.action): move.win.mean for move in answer.moves if move.win}
    lost = []
    for misjudgement in (0.02, 0.1, 0.5):
        config = replace(CONFIGS["default"], iterations=300, misjudgement=misjudgement)
        chosen = [str(solve(view, config=config, seed=seed).best) for seed in range(150)]
        lost.append(max(wins.values()) - sum(wins[move] for move in chosen) / len(chosen))
    assert lost == sorted(lost)
    assert lost[0] < 0.7 * lost[2]


def test_errors_are_drawn_by_kinds_of_moves() -> None:
    """With large errors, places for one card are rated alike, so the second best place is of the same card often."""
    view = GAME.deal(3).play("place Archer front").view(1)
    question = SearchQuestion(view, config=replace(CONFIGS["default"], iterations=50, misjudgement=5.0), seed=3)
    tallies = solve(question).total.tallies
    same = 0
    for seed in range(200):
        other = question.with_seed(seed)
        best = misjudged_best(other, tallies)
        left = [i for i, action in enumerate(question.decisions) if action != best]
        rest = SearchQuestion(view, config=question.config, seed=seed, among=[question.decisions[i] for i in left])
        second = misjudged_best(rest, [tallies[i] for i in left])
        same += str(best).split()[1] == str(second).split()[1]
    by_chance = 1 / (len(question.decisions) - 1)
    assert same / 200 > 3 * by_chance


def test_errors_have_a_spread_of_one_and_bounds() -> None:
    errors = [error_of(Rng(1, number)) for number in range(4000)]
    assert sum(errors) / 4000 == pytest.approx(0, abs=0.06)
    assert sum(error * error for error in errors) / 4000 == pytest.approx(1, abs=0.07)
    assert max(map(abs, errors)) <= 3


def test_with_one_seed_for_a_game_each_move_has_its_own_errors() -> None:
    hasty = replace(CONFIGS["default"], iterations=30, misjudgement=2.0)
    chosen: Counter[str] = Counter()
    for number in range(10):
        position = GAME.deal(number)
        while not position.is_over:
            view = position.view(position.to_act or 0)
            legal = view.legal_actions()
            if len(legal) == 2:
                chosen["first" if solve(view, config=hasty, seed=7).best == legal[0] else "second"] += 1
                chosen["random" if solve(view, config="random", seed=7).best == legal[0] else "other"] += 1
            position = position.play(legal[0])
    decisions = chosen["first"] + chosen["second"]
    assert decisions > 100
    assert chosen["first"] / decisions == pytest.approx(0.5, abs=0.15)
    assert chosen["random"] / decisions == pytest.approx(0.5, abs=0.15)


def test_a_level_that_forgets_guesses_hidden_cards_from_the_table_alone() -> None:
    position = GAME.deal(5)
    log = History(GAME)
    while position.round < 3:
        view = position.view(position.to_act or 0)
        log.add(position, move := view.legal_actions()[-1])
        position = position.play(move)
    view = position.view(position.to_act or 0)
    log.end = view
    able, forgetful = (replace(CONFIGS["default"], iterations=40, remembers=flag) for flag in (True, False))

    def beliefs(config: Config, history: History | None) -> Any:
        return solve(view, config=config, seed=1, history=history).beliefs

    assert beliefs(forgetful, log) == beliefs(able, None) != beliefs(able, log)


def test_the_numbers_of_a_level_are_calibrated() -> None:
    view = GAME.deal(3).view(0)
    weak = replace(CONFIGS["default"], iterations=16, misjudgement=0.4)
    same = replace(weak, misjudgement=0.0)
    assert solve(view, config=weak, seed=1).calibration == "oriflamme en-2019 3"
    assert solve(view, config=weak, seed=1).moves == solve(view, config=same, seed=1).moves


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
