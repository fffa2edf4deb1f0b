"""Count the deals of two families that lead to the same cards: the weight of a world."""

from __future__ import annotations

import math
from collections.abc import Iterable

from engine_cy import Position
from engine_cy.oriflamme.table import kinds_in_queue


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
    parts, ways = world.parts, 1
    for player in range(2):
        queue = zip(parts.table.slots, kinds_in_queue(parts), strict=True)
        played = [kind for slot, kinds in queue if slot.family == player for kind in kinds]
        played += parts.table.piles[player]
        dealt = [*played, *parts.secrets[player].hand]
        ways *= ways_of((dealt.count(kind), played.count(kind)) for kind in set(dealt))
    return ways
