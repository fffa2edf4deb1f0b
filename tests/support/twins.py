"""Games that one seat cannot tell apart."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from engine_cy import Game, Position
from engine_cy.record import Record

TRIES = 300


class Twins(NamedTuple):
    """Two whole records that look the same to `seat`, which is to act at the end of both."""

    truth: Record
    other: Record
    seat: int


def twins(game: Game, seed: int, actions: int) -> Iterator[Twins]:
    """Yield twins of a random game with up to so many actions, if there are any."""
    truth = record_of(game, seed, actions)
    end = truth.end
    seat = end.to_act
    assert isinstance(end, Position)
    if seat is None or seat < 0:
        return
    for draw in map(random.Random, range(TRIES)):
        other = look_alike(truth, seat, draw)
        if other is not None and other != truth:
            yield Twins(truth, other, seat)
            return


def record_of(game: Game, seed: int, actions: int) -> Record:
    """Play at random until a player is to act after so many actions."""
    draw = random.Random(seed)
    start = position = game.deal(seed, seed % game.n_players)
    played: list[str] = []
    while not position.is_over and (len(played) < actions or (position.to_act or 0) < 0):
        action = draw.choice(position.legal_actions())
        played.append(str(action))
        position = position.play(action)
    return Record(start, tuple(played))


def look_alike(truth: Record, seat: int, draw: random.Random) -> Record | None:
    """Deal other hidden cards and play what looks the same to a seat; None if that cannot go on."""
    assert isinstance(truth.start, Position)
    start = position = truth.start.view(seat).sample_world(draw.getrandbits(32))
    played: list[str] = []
    for seen in truth.seen_from(seat).actions:
        alike = [action for action in position.legal_actions() if position.seen(action, seat) == seen]
        if not alike:
            return None
        action = draw.choice(alike)
        played.append(str(action))
        position = position.play(action)
    return Record(start, tuple(played))
