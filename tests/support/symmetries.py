"""Rename the seats of tables: the rules do not distinguish tables that differ only in that."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from engine_cy import Position
from engine_cy.castle_village_port.table import RowCard, Walk
from engine_cy.oriflamme.table import Slot
from engine_cy.seats import SEATS

# The new seat of each seat.
Seats = Sequence[int]


def rotation(n_players: int, by: int) -> Seats:
    """Return the new seats if all players move `by` seats clockwise."""
    return [(seat + by) % n_players for seat in range(n_players)]


def reseated(position: Position, to: Seats) -> Position:
    """Return the table with all players in their new seats. The rules treat it alike if `to` is a rotation."""
    if position.game.id in ("kuhn_poker", "leduc_poker"):
        return _reseated_poker(position, to)
    parts = position.parts
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(parts.table):
        value = getattr(parts.table, field.name)
        if field.name in ("points", "gold", "piles", "orders", "hand_sizes", "deck_sizes") and value is not None:
            changes[field.name] = by_seat(value, to)
        elif field.name in ("first", "to_act", "victim") and value is not None and value >= 0:
            changes[field.name] = to[value]
        elif field.name == "selected":
            changes[field.name] = tuple(sorted(to[seat] for seat in value))
        elif field.name in ("slots", "castle", "village", "port") or isinstance(value, RowCard):
            changes[field.name] = _with_owners(value, to)
        elif isinstance(value, Walk):
            moved = {name: _with_owners(getattr(value, name), to) for name in ("due", "ranked")}
            changes[field.name] = dataclasses.replace(value, **moved)
    secrets = {name: by_seat(getattr(parts, name), to) for name in ("secrets", "decks") if hasattr(parts, name)}
    table = dataclasses.replace(parts.table, **changes)
    other = position.game.from_parts(dataclasses.replace(parts, table=table, **secrets))
    assert isinstance(other, Position)
    return other


def reseated_action(text: str, to: Seats) -> str:
    """Rename the seats in an action's text, as in `rob B` and `discard 9B`."""
    return re.sub(r"(?<![A-Za-z])[A-E](?![A-Za-z])", lambda letter: SEATS[to[SEATS.index(letter[0])]], text)


def by_seat(values: Sequence[Any], to: Seats) -> tuple[Any, ...]:
    """Reorder values by seat for the new seats."""
    values_by_new_seat = dict(zip(to, values, strict=True))
    return tuple(values_by_new_seat[seat] for seat in range(len(to)))


def _with_owners(value: Any, to: Seats) -> Any:
    """Rename the families or owners of cards in nested tuples."""
    if isinstance(value, RowCard):
        return value._replace(owner=to[value.owner])
    elif isinstance(value, Slot):
        return value._replace(family=to[value.family])
    return tuple(_with_owners(part, to) for part in value)


def _reseated_poker(position: Position, to: Seats) -> Position:
    cards, *moves = (part for part in str(position).split(" | ") if not part.startswith("first"))
    words = by_seat(cards.split(), to)
    first = f"first {SEATS[to[position.table.first]]}"
    return position.game.position(" | ".join([" ".join(words), *moves, first]))
