"""Games that one seat cannot tell apart."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import NamedTuple

from engine_cy import EngineError, Game, Position
from engine_cy.record import Record, read_record

TRIES = 100


class Twins(NamedTuple):
    """Two whole records that look the same to `seat`."""

    truth: Record
    other: Record
    seat: int


def twins(game: Game, seed: int, actions: int, *, acting: bool = True) -> Iterator[Twins]:
    """Yield twins of a random game with up to so many actions, if there are any.

    They look the same to the seat to act, or without `acting` to the next one, and different to the seat to act.
    """
    truth = record_of(game, seed, actions)
    end = truth.end
    assert isinstance(end, Position)
    if end.to_act is None or end.to_act < 0:
        return
    seat = end.to_act if acting else (end.to_act + 1) % game.n_players
    for other in others(truth, seat, random.Random(seed)):
        there = other.end
        assert isinstance(there, Position)
        if acting or there.view(end.to_act) != end.view(end.to_act):
            yield Twins(truth, other, seat)
            return


def others(truth: Record, seat: int, draw: random.Random) -> Iterator[Record]:
    """Yield records that look the same to a seat: first with other deals, then with two cards swapped."""
    for _ in range(TRIES):
        other = look_alike(truth, seat, draw)
        if other is not None and other != truth:
            yield other
    seen = truth.seen_from(seat)
    for other in swapped(truth, seat, draw):
        if other != truth and other.seen_from(seat) == seen:
            yield other


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


def swapped(truth: Record, seat: int, draw: random.Random) -> Iterator[Record]:
    """Yield the possible records in which another seat has two of its cards swapped, in the deal and as it plays them.

    Random deals hardly ever fit a long game.
    """
    text = str(truth)
    rivals = [rival for number, rival in enumerate(truth.game.seats) if number != seat]
    for rival in draw.sample(rivals, len(rivals)):
        hidden = re.compile(rf"^(?:aside|deck) {rival} .*|^{rival} (?:place [A-Z]|select).*", re.MULTILINE)
        cards = sorted({card for line in hidden.findall(text) for card in re.findall(r"[A-Z][a-z]+|\d+", line)})
        for pair in combinations(cards, 2):
            try:
                yield read_record(hidden.sub(partial(_swap, *pair), text))
            except EngineError:
                continue


def _swap(one: str, other: str, line: re.Match[str]) -> str:
    names = {one: other, other: one}
    return re.sub(rf"\b(?:{one}|{other})\b", lambda card: names[card[0]], line[0])
