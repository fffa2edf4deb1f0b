"""The same table with the seats called otherwise: what the rules do not tell apart."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from engine_cy import Position
from engine_cy.castle_village_port.table import RowCard
from engine_cy.oriflamme.table import PlayedCard
from engine_cy.seats import SEATS

# For each seat the one that it becomes.
Seats = Sequence[int]


def rotation(n_players: int, by: int) -> Seats:
    """Everybody moves `by` seats clockwise."""
    return [(seat + by) % n_players for seat in range(n_players)]


def reseated(position: Position, to: Seats) -> Position:
    """The same table with everybody in another seat. The rules see no difference if `to` is a rotation."""
    if position.game.id in ("kuhn_poker", "leduc_poker"):
        return _reseated_poker(position, to)
    at = position.table
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(at):
        value = getattr(at, field.name)
        if field.name in ("points", "gold", "hands", "piles", "decks", "selected", "orders"):
            changed[field.name] = by_seat(value, to)
        elif field.name in ("first", "to_act", "victim") and value is not None and value >= 0:
            changed[field.name] = to[value]
        elif field.name in ("slots", "rows", "due", "ranked") or isinstance(value, RowCard):
            changed[field.name] = _with_owners(value, to)
    found = position.game.from_table(dataclasses.replace(at, **changed))
    assert isinstance(found, Position)
    return found


def reseated_action(text: str, to: Seats) -> str:
    """An action's text with the seats that it names called otherwise, as in `rob B` and `discard 9B`."""
    return re.sub(r"(?<![A-Za-z])[A-E](?![A-Za-z])", lambda letter: SEATS[to[SEATS.index(letter[0])]], text)


def by_seat(values: Sequence[Any], to: Seats) -> tuple[Any, ...]:
    """What belongs to each seat, once everybody is in another one."""
    moved = dict(zip(to, values, strict=True))
    return tuple(moved[seat] for seat in range(len(to)))


def _with_owners(value: Any, to: Seats) -> Any:
    """Cards, however nested, with the families or owners called otherwise."""
    if isinstance(value, RowCard):
        return value._replace(owner=to[value.owner])
    elif isinstance(value, PlayedCard):
        return value._replace(family=to[value.family])
    return tuple(_with_owners(part, to) for part in value)


def _reseated_poker(position: Position, to: Seats) -> Position:
    cards, *moves = (part for part in str(position).split(" | ") if not part.startswith("first"))
    words = by_seat(cards.split(), to)
    first = f"first {SEATS[to[position.table.first]]}"
    return position.game.position(" | ".join([" ".join(words), *moves, first]))
