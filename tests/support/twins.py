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
    """Yield at most one pair of twins of a random game with about `actions` actions.

    With `acting` they look the same to the seat to act. Otherwise they look the same to the next seat, and different
    to the seat to act.
    """
    truth = record_of(game, seed, actions)
    end = truth.end
    assert isinstance(end, Position)
    if end.to_act is None or end.to_act < 0:
        return
    seat = end.to_act if acting else (end.to_act + 1) % game.n_players
    for other in others(truth, seat, random.Random(seed)):
        other_end = other.end
        assert isinstance(other_end, Position)
        if acting or other_end.view(end.to_act) != end.view(end.to_act):
            yield Twins(truth, other, seat)
            return


def others(truth: Record, seat: int, draw: random.Random) -> Iterator[Record]:
    """Yield other records that look the same to a seat: first with other deals, then with two cards swapped."""
    for _ in range(TRIES):
        other = look_alike(truth, seat, draw)
        if other is not None and other != truth:
            yield other
    view_record = truth.seen_from(seat)
    for other in swapped(truth, seat, draw):
        if other != truth and other.seen_from(seat) == view_record:
            yield other


def record_of(game: Game, seed: int, actions: int) -> Record:
    """Play at random for at least `actions` actions, until a player is to act."""
    draw = random.Random(seed)
    start = position = game.deal(seed, seed % game.n_players)
    played: list[str] = []
    while not position.is_over and (len(played) < actions or (position.to_act or 0) < 0):
        action = draw.choice(position.legal_actions())
        played.append(str(action))
        position = position.play(action)
    return Record(start, tuple(played))


def look_alike(truth: Record, seat: int, draw: random.Random) -> Record | None:
    """Deal other hidden cards and play actions that look the same to a seat; return None if no legal one does."""
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
    """Yield the valid records in which two cards of another seat are swapped, in the deal and in its plays.

    Swaps find twins of long games, which random deals hardly ever fit.
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
