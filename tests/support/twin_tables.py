"""Tables that one seat cannot tell apart, and what the server shows to that seat of each."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain, count, islice
from typing import Any

from tables import ALL_IDS, ALL_SPECS
from twins import others, record_of, twins

from engine_cy import new_game
from engine_cy.record import Record
from server.services.table_steps import write_seen
from server.tables.table import Sitter, continued

PERSON = Sitter("Ann")
TWIN_GAMES = ("oriflamme", "oriflamme_prototype", "castle_village_port")
SPECS = dict(zip(ALL_IDS, ALL_SPECS, strict=True)) | {
    "hidden_gold": ("castle_village_port", {"hidden_gold": True}, 3),
    "two bards": (
        "castle_village_port",
        {
            "cards": [{"value": v, "name": f"Bard {v}", "when": "end", "effect": "fetch"} for v in range(1, 16, 2)],
            "hidden_gold": True,
            "rounds": 2,
        },
        4,
    ),
}


def seen_by(record: Record, seat: int, sitters: list[Sitter]) -> bytes:
    """Return the message of a seat at a table that continues a record."""
    return write_seen(continued(record, sitters, seed=7).see(seat)).SerializeToString(deterministic=True)


def pairs(spec: Any, count: int, *, acting: bool) -> Iterator[tuple[Record, Record, int]]:
    game = new_game(*spec)
    for seed in range(count):
        yield from ((pair.truth, pair.other, pair.seat) for pair in twins(game, seed, seed % 50, acting=acting))


def differences(spec: Any, count: int, *, acting: bool = False) -> tuple[int, int]:
    """Return the number of pairs that a seat cannot tell apart, and that of those whose messages differ."""
    found = [
        seen_by(truth, seat, people) != seen_by(other, seat, people)
        for truth, other, seat in pairs(spec, count, acting=acting)
        for people in [[PERSON] * truth.game.n_players]
    ]
    return len(found), sum(found)


def twin_differences(game_id: str, n_pairs: int) -> int:
    """Compare pairs of all editions and numbers of players; return the number of pairs whose bytes differ."""
    specs = [spec for spec in SPECS.values() if spec[0] == game_id]
    n_different = 0
    for record, other, seat in islice(chain.from_iterable(zip(*map(endless_pairs, specs), strict=True)), n_pairs):
        people = [PERSON] * record.game.n_players
        n_different += seen_by(record, seat, people) != seen_by(other, seat, people)
    return n_different


def endless_pairs(spec: Any) -> Iterator[tuple[Record, Record, int]]:
    """Yield pairs without end, up to 8 of each game: the seat that looks is to act in every other one."""
    game = new_game(*spec)
    for seed in count():
        truth = record_of(game, seed, seed % 50)
        to_act = truth.end.to_act
        if to_act is not None and to_act >= 0:
            seat = (to_act + seed % 2) % game.n_players
            yield from ((truth, other, seat) for other in islice(others(truth, seat, random.Random(seed)), 8))
