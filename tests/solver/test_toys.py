"""Searches of toy games, whose solutions are known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean
from typing import Any

import pyspiel
import pytest

from benchmarks import exploitability
from engine_cy import Position, View, new_game
from solver import CONFIGS, Budget, solve
from solver.numbers import log

# Nodes by the player's own view, and more exploration since payoffs in chips are up to four times those of wins.
OWN = replace(CONFIGS["plain"], nodes="own", exploration=2.0)


def decisions(position: Position) -> Iterator[Position]:
    """Yield all tables of a toy at which a player is to act."""
    if position.is_over:
        return
    if position.to_act != -1:
        yield position
    for action in position.legal_actions():
        yield from decisions(position.play(action))


def information_sets(game_id: str) -> dict[int, View]:
    views: dict[int, View] = {}
    for position in decisions(new_game(game_id, players=2).deal()):
        view = position.view(position.to_act or 0)
        views.setdefault(view.key, view)
    return views


@pytest.mark.parametrize("iterations", [1_000, 10_000])
def test_the_search_plays_kuhn_poker_as_well_as_openspiels(iterations: int) -> None:
    """The mean over 20 seeds; they begin with 1, since OpenSpiel takes 0 for no seed."""
    ours, openspiels = exploitability.exploitabilities("kuhn_poker", iterations, range(1, 21))
    assert sum(ours) <= 1.1 * sum(openspiels)


@pytest.mark.slow
def test_the_search_plays_leduc_poker_as_well_as_openspiels() -> None:
    """OpenSpiel's search needs a second for each seed, and its seed does not fix its answers.

    Its mean over 100 seeds is 1.11, with a standard error of 0.03: python -m benchmarks exploitability leduc_poker
    """
    sets, game = exploitability.information_sets("leduc_poker"), pyspiel.load_game("leduc_poker")
    ours = [exploitability.our_policy(sets, 1000, 2.0, seed) for seed in range(1, 21)]
    assert fmean(pyspiel.exploitability(game, policy) for policy in ours) <= 1.1 * 1.11


@pytest.mark.parametrize(("game_id", "number"), [("kuhn_poker", 12), ("leduc_poker", 936)])
def test_there_are_as_many_information_sets_as_in_openspiel(game_id: str, number: int) -> None:
    openspiel_sets = exploitability.information_sets(game_id)
    assert len(openspiel_sets) == len(information_sets(game_id)) == number
    # They correspond one to one.
    assert {each.view.key for each in openspiel_sets.values()} == set(information_sets(game_id))


def test_the_best_card_calls() -> None:
    view = new_game("kuhn_poker", players=2).view("? K | bet | seen by B")
    assert {str(solve(view, Budget(iterations=500), config=OWN, seed=seed).best) for seed in range(10)} == {"bet"}


def test_the_worst_card_folds() -> None:
    view = new_game("kuhn_poker", players=2).view("? J | bet | seen by B")
    answer = solve(view, Budget(iterations=2000), config=OWN)
    assert str(answer.best) == "pass"
    assert answer.move("pass").win.mean == -1  # type: ignore[union-attr]
    assert answer.move("bet").win.mean == -2  # type: ignore[union-attr]


def test_logarithms_are_accurate() -> None:
    for n in [*range(1, 4097), 10**5, 10**9, 2**40]:
        assert log(n) == pytest.approx(math.log(n), rel=1e-12 if n <= 4096 else 1e-3)
    assert log(1) == 0


def test_the_queen_bets_against_a_random_opponent_and_passes_against_a_good_one() -> None:
    """Against a random opponent, betting is worth exactly 1/2 and passing 0."""
    view = new_game("kuhn_poker", players=2).view("Q ? | seen by A")
    answer = solve(view, Budget(iterations=20_000), config=OWN, models={"B": "random"}, seed=2)
    assert str(answer.best) == "bet"
    assert answer.move("bet").win.mean == pytest.approx(0.5, abs=0.03)  # type: ignore[union-attr]
    # Few playouts pass, the fewest after bad results, so one search is a poor estimate of passing.
    passes = [
        solve(view, Budget(iterations=20_000), config=OWN, models={"B": "random"}, seed=seed).move("pass")
        for seed in range(10)
    ]
    total = sum(move.visits * move.win.mean for move in passes if move.win)
    assert total / sum(move.visits for move in passes) == pytest.approx(0, abs=0.25)
    careful = solve(view, Budget(iterations=20_000), config=OWN, seed=2)
    assert str(careful.best) == "pass"


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ({"B": "clever"}, r"models\[B\]: 'clever' is not one of me, noisy, greedy, random"),
        ({"A": "random"}, r"models\[A\]: this is the observer's own seat"),
        ({"C": "random"}, "models: 'C' is not at this table"),
        ({1: "greedy"}, r"models\[1\]: 'greedy' needs a heuristic policy, and kuhn_poker has none"),
    ],
)
def test_invalid_models_are_refused(models: Any, message: str) -> None:
    view = new_game("kuhn_poker", players=2).view("Q ? | seen by A")
    with pytest.raises(ValueError, match=message):
        solve(view, models=models)
