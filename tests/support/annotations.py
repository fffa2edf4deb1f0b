"""Annotate records at random: names, dates, events, comments and variations."""

from __future__ import annotations

import random
from dataclasses import replace

from engine_cy import Position, View
from engine_cy.annotations import DEPTH_MAX, Comment, Variation
from engine_cy.record import Record, replay

WORDS = (
    "",
    "Ann",
    "Bjørn #2",
    "a | b",
    "{",
    "game go",
    "version 7",
    "A reveal",
    "comment",
    "end",
    "€ 五 🂡",
    "# x",
    '"q"',
    "  in",
)
NAMES = ("", "Ann", "Bob #2", "the | third", "five 五", "A reveal", "game over {")


def annotated(record: Record, draw: random.Random) -> Record:
    """Return the record with annotations; the whole of each is drawn from texts that are hard to keep."""
    return replace(
        record,
        names=tuple(draw.choice(NAMES) for _ in range(record.game.n_players)),
        date=draw.choice(("", "2026", "2024-02", "2024-02-29")),
        event=draw.choice(NAMES),
        comments=_comments(len(record.actions), draw),
        variations=_variations(list(record.tables()), draw, 0),
    )


def _comments(n_actions: int, draw: random.Random) -> tuple[Comment, ...]:
    places = sorted(draw.sample(range(n_actions + 1), min(draw.randrange(4), n_actions + 1)))
    texts = ("\n".join(draw.choice(WORDS) for _ in range(draw.randrange(1, 4))) + f"\n{after}" for after in places)
    return tuple(Comment(after, text) for after, text in zip(places, texts, strict=True))


def _variations(tables: list[Position | View], draw: random.Random, depth: int) -> tuple[Variation, ...]:
    places = [number for number, table in enumerate(tables) if isinstance(table, Position) and not table.is_over]
    if depth == DEPTH_MAX or not places:
        return ()
    return tuple(
        _variation(after, tables[after], draw, depth) for after in sorted(draw.choices(places, k=draw.randrange(3)))
    )


def _variation(after: int, table: Position | View, draw: random.Random, depth: int) -> Variation:
    actions: list[str] = []
    position = table
    assert isinstance(position, Position)
    for _ in range(draw.randrange(1, 4)):
        if not position.is_over:
            actions.append(str(draw.choice(position.legal_actions())))
            position = position.play(actions[-1])
    played = tuple(actions)
    return Variation(
        after, played, _comments(len(played), draw), _variations(list(replay(table, played)), draw, depth + 1)
    )
