"""Rename the seats of tables: the rules do not distinguish tables that differ only in that."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from engine_cy import Position
from engine_cy.castle_village_port.table import RowCard
from engine_cy.oriflamme.table import PlayedCard
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
    table = position.table
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(table):
        value = getattr(table, field.name)
        if field.name in ("points", "gold", "hands", "piles", "decks", "selected", "orders"):
            changes[field.name] = by_seat(value, to)
        elif field.name in ("first", "to_act", "victim") and value is not None and value >= 0:
            changes[field.name] = to[value]
        elif field.name in ("slots", "rows", "due", "ranked") or isinstance(value, RowCard):
            changes[field.name] = _with_owners(value, to)
    other = position.game.from_table(dataclasses.replace(table, **changes))
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
    elif isinstance(value, PlayedCard):
        return value._replace(family=to[value.family])
    return tuple(_with_owners(part, to) for part in value)


def _reseated_poker(position: Position, to: Seats) -> Position:
    cards, *moves = (part for part in str(position).split(" | ") if not part.startswith("first"))
    words = by_seat(cards.split(), to)
    first = f"first {SEATS[to[position.table.first]]}"
    return position.game.position(" | ".join([" ".join(words), *moves, first]))
