"""Toy games, where it is known what is right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from benchmarks import exploitability
from engine_cy import Position, View, new_game
from solver import CONFIGS, Budget, solve
from solver.numbers import log

# Players know their own card, and chips are worth up to four times what a share of a win is.
OWN = replace(CONFIGS["plain"], nodes="own", exploration=2.0)


def tables(position: Position) -> Iterator[Position]:
    """All tables of a toy at which a player is to act."""
    if position.is_over:
        return
    if position.to_act != -1:
        yield position
    for action in position.legal_actions():
        yield from tables(position.play(action))


def information_sets(game_id: str) -> dict[int, View]:
    found: dict[int, View] = {}
    for position in tables(new_game(game_id, players=2).deal()):
        view = position.view(position.to_act or 0)
        found.setdefault(view.key, view)
    return found


@pytest.mark.parametrize(
    ("game_id", "iterations"),
    [
        ("kuhn_poker", 1_000),
        ("kuhn_poker", 10_000),
        # At 10 000 this takes six minutes: python -m benchmarks exploitability leduc_poker --iterations 10000
        pytest.param("leduc_poker", 1_000, marks=pytest.mark.slow),
    ],
)
def test_poker_is_played_as_well_as_by_openspiel(game_id: str, iterations: int) -> None:
    """Mean exploitability of 20 seeds, OpenSpiel's 1 to 20: it takes 0 for none."""
    ours, theirs = exploitability.exploitabilities(game_id, iterations, range(1, 21))
    assert sum(ours) <= 1.1 * sum(theirs)


@pytest.mark.parametrize(("game_id", "number"), [("kuhn_poker", 12), ("leduc_poker", 936)])
def test_there_are_as_many_information_sets_as_in_openspiel(game_id: str, number: int) -> None:
    theirs = exploitability.information_sets(game_id)
    assert len(theirs) == len(information_sets(game_id)) == number
    # Each of ours goes with one of theirs.
    assert {each.view.key for each in theirs.values()} == set(information_sets(game_id))


@pytest.mark.parametrize(("text", "action"), [("K ? | bet | seen by B", ""), ("? K | bet | seen by B", "bet")])
def test_the_best_card_calls(text: str, action: str) -> None:
    if action:
        view = new_game("kuhn_poker", players=2).view(text)
        assert {str(solve(view, Budget(iterations=500), config=OWN, seed=s).best) for s in range(10)} == {action}


def test_the_worst_card_folds() -> None:
    view = new_game("kuhn_poker", players=2).view("? J | bet | seen by B")
    found = solve(view, Budget(iterations=2000), config=OWN)
    assert str(found.best) == "pass"
    assert found.move("pass").win.mean == -1  # type: ignore[union-attr]
    assert found.move("bet").win.mean == -2  # type: ignore[union-attr]


def test_logarithms_are_right_and_need_no_libm() -> None:
    import math

    for n in [*range(1, 4097), 10**5, 10**9, 2**40]:
        assert log(n) == pytest.approx(math.log(n), rel=1e-12 if n <= 4096 else 1e-3)
    assert log(1) == 0


def test_against_a_random_opponent_the_queen_bets() -> None:
    """Worked out by hand: betting is worth 1/2, passing nothing. Against a good player it is the other way round."""
    view = new_game("kuhn_poker", players=2).view("Q ? | seen by A")
    found = solve(view, Budget(iterations=20_000), config=OWN, models={"B": "random"}, seed=2)
    assert str(found.best) == "bet"
    assert found.move("bet").win.mean == pytest.approx(0.5, abs=0.03)  # type: ignore[union-attr]
    # Few playouts pass, fewest where they began badly, so that one search says little of it.
    passes = [
        solve(view, Budget(iterations=20_000), config=OWN, models={"B": "random"}, seed=seed).move("pass")
        for seed in range(10)
    ]
    total = sum(move.visits * move.win.mean for move in passes if move.win)
    assert total / sum(move.visits for move in passes) == pytest.approx(0, abs=0.25)
    careful = solve(view, Budget(iterations=20_000), config=OWN, seed=2)
    assert str(careful.best) == "pass"


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ({"B": "clever"}, r"models\[B\]: 'clever' is not one of me, noisy, greedy, random"),
        ({"A": "random"}, r"models\[A\]: this is the observer's own seat"),
        ({"C": "random"}, "models: 'C' is not at this table"),
        ({1: "greedy"}, r"models\[1\]: 'greedy' needs a heuristic policy, and kuhn_poker has none"),
    ],
)
def test_senseless_models_are_refused(models: Any, says: str) -> None:
    view = new_game("kuhn_poker", players=2).view("Q ? | seen by A")
    with pytest.raises(ValueError, match=says):
        solve(view, models=models)
