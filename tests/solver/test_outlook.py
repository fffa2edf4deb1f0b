"""The outlook of a seat that is not asked: values and beliefs without a move."""

from __future__ import annotations

import pytest

from engine_cy import new_game
from solver import Budget, InvalidBudgetError, outlook, solve

GAME = new_game("oriflamme", "en-2019", players=3)
# B robs or not: A's turn is over, C's is not yet.
VIEW = GAME.position("B:Heir* >A:Spy* C:Heir* | round 6 | ask A rob | points 11 12 9")


def test_whoever_is_asked_each_seat_has_its_values() -> None:
    for seat in range(3):
        found = outlook(VIEW.view(seat), Budget(iterations=2000), seed=3)
        assert found.iterations == 2000
        assert sum(value.mean for value in found.values) == pytest.approx(1)
        assert found.beliefs is not None
        assert all(value.error >= 0 for value in found.values)


def test_who_is_asked_sees_what_solve_sees() -> None:
    mine = outlook(VIEW.view(0), Budget(iterations=500), seed=3)
    same = solve(VIEW.view(0), Budget(iterations=500), seed=3, lines=0)
    assert [value.mean for value in mine.values] == pytest.approx(same.values)


def test_threads_and_repetition_change_nothing() -> None:
    view = GAME.deal(4).view(2)
    one, two = (outlook(view, Budget(iterations=300), seed=1, workers=2) for _ in range(2))
    assert one.values == two.values
    assert one.reproducible


def test_an_outlook_needs_a_game_that_goes_on_and_a_search() -> None:
    over = GAME.deal(1).play_out(2)
    with pytest.raises(InvalidBudgetError, match="view: the game is over"):
        outlook(over.view(0))
    with pytest.raises(InvalidBudgetError, match="config: 'random' does not search"):
        outlook(GAME.deal(1).view(1), config="random")
