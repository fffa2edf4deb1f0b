"""Of two moves that win alike, one that leaves a point less is never chosen."""

from __future__ import annotations

import pytest

from engine_cy import new_game
from solver import Budget, solve

# Not the levels of strength, which are meant to miss this and more.
SEARCHES = ["flat", "pimc", "plain", "default"]

# A table, and the move that leaves more. A decides; all are of the last round. The game
# is won, or lost, or its win is shared, whichever is played.
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
def test_a_point_less_is_never_chosen_where_the_win_is_the_same(name: str, iterations: int, config: str) -> None:
    text, best = TABLES[name]
    position = new_game("oriflamme", "en-2019", 4 if " D:" in text else 3).position(text)
    for seed in range(20):
        found = solve(position.view("A"), Budget(iterations=iterations), config=config, seed=seed)
        assert str(found.best) == best
        assert [str(action) for action, _ in found.mix] == [best]
