"""Count the deals of two families that lead to the same cards: the weight of a world."""

from __future__ import annotations

import math
from collections.abc import Iterable

from engine_cy import Position


def ways_of(dealt_and_placed: Iterable[tuple[int, int]]) -> int:
    """Count the ways for one player. Each pair is of a kind: one or two cards dealt, and how many of these placed."""
    kinds = list(dealt_and_placed)
    once = sum(dealt == 1 for dealt, _ in kinds)
    ways: int = math.comb(once, once // 2) * 2 ** sum(dealt == 2 and placed > 0 for dealt, placed in kinds)
    return ways


def ways_to(world: Position) -> int:
    """Count the ways to deal the cards of all players and to place the same ones; 1 with one family each."""
    if not (world.game.id == "oriflamme_prototype" and world.game.n_players == 2):
        return 1
    table, ways = world.table, 1
    for player in range(2):
        played = [card.card for slot in table.slots for card in slot if card.family == player] + [*table.piles[player]]
        dealt = [*played, *table.hands[player]]
        ways *= ways_of((dealt.count(kind), played.count(kind)) for kind in set(dealt))
    return ways
