"""Among moves with the same chance to win, the search chooses the one with more points."""

from __future__ import annotations

import pytest

from engine_cy import new_game
from solver import Budget, solve

# Without the levels of strength, which play such moves on purpose.
SEARCHES = ["flat", "pimc", "plain", "default"]

# Tables of the last round with A's move that leaves more points. A's moves do not change the shares of the win.
TABLES = {
    "the win is sure": ("B:Lord* >A:Spy* C:Lord* | round 6 | points 19 5 0 | ask A rob", "rob B"),
    "the win is sure, the other way round": ("B:Lord* >A:Spy* C:Lord* | round 6 | points 19 0 5 | ask A rob", "rob C"),
    "all is lost": ("B:Lord* >A:Spy* C:Lord* D:Spy* | round 6 | points 2 5 0 25 | ask A rob", "rob B"),
    "all is lost, the other way round": (
        "B:Lord* >A:Spy* C:Lord* D:Spy* | round 6 | points 2 0 5 25 | ask A rob",
        "rob C",
    ),
    "a card to reveal": ("B:Lord* C:Lord* >A:Lord | round 6 | points 19 5 0", "reveal"),
    "tokens to take": ("B:Lord* C:Lord* >A:Conspiracy(3) | round 6 | points 1 25 0", "reveal"),
}


@pytest.mark.parametrize("config", SEARCHES)
@pytest.mark.parametrize("iterations", [9_999, 10_000])
@pytest.mark.parametrize("name", TABLES)
def test_a_move_with_fewer_points_is_never_chosen_if_the_win_is_the_same(
    name: str, iterations: int, config: str
) -> None:
    text, best = TABLES[name]
    position = new_game("oriflamme", "en-2019", 4 if " D:" in text else 3).position(text)
    for seed in range(20):
        answer = solve(position.view("A"), Budget(iterations=iterations), config=config, seed=seed)
        assert str(answer.best) == best
        assert [str(action) for action, _ in answer.mix] == [best]
