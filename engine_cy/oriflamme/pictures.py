"""The picture of Oriflamme: the queue, the piles and the known hands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine_cy.oriflamme.table import kinds_in_queue
from engine_cy.picture_words import TEXTS
from engine_cy.pictures import DrawnCard, Fact, Picture, Strip


def picture(at: Any) -> Picture:
    """Return the picture of a position or view."""
    table, parts = at.table, at.parts
    names = {card.id: card.name for card in at.game.cards}
    stacks = [
        [
            DrawnCard(
                slot.family,
                names[kind] if kind else "",
                "up" if card.card else "known" if kind else "back",
                tokens=card.tokens,
                is_acting=table.cursor == number and depth == 0,
            )
            for depth, (card, kind) in enumerate(zip(slot.cards, kinds, strict=True))
        ]
        for number, (slot, kinds) in enumerate(zip(table.slots, kinds_in_queue(parts), strict=True))
    ]
    return Picture(
        title="Oriflamme",
        round=table.round,
        observer=parts.observer,
        owned=table.points,
        to_act=at.to_act,
        strips=[Strip("", stacks, is_numbered=True)],
        facts=list(_facts(at, names)),
    )


def _facts(at: Any, names: dict[str, str]) -> Iterator[Fact]:
    table = at.table
    for seat in range(at.game.n_players):
        own = at.parts.secrets_of(seat)
        if own is not None and own.hand:
            yield Fact(TEXTS["hand"], [names[card] for card in own.hand], seat)
        if table.piles[seat]:
            yield Fact(TEXTS["discarded"], [names[card] for card in table.piles[seat]], seat)
