"""The picture of Castle, Village, Port: the rows, the selected cards, the piles and the known hands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine_cy.castle_village_port.cards import LOCATIONS
from engine_cy.picture_words import TEXTS
from engine_cy.pictures import DrawnCard, Fact, Picture, Strip


def picture(at: Any) -> Picture:
    """Return the picture of a position or view."""
    table, parts = at.table, at.parts
    names = {card.value: card.name for card in at.game.ruleset.cards}
    strips = [
        Strip(
            location,
            [
                [DrawnCard(card.owner, names[card.value], value=str(card.value), is_acting=table.acting == card)]
                for card in row
            ],
        )
        for location, row in zip(LOCATIONS, table.rows, strict=True)
    ]
    selected = [[_selected(at, seat, names)] for seat in sorted(table.selected)]
    return Picture(
        title="Castle, Village, Port",
        round=table.round,
        turn=table.turn,
        observer=parts.observer,
        owned=table.known_gold,
        unit=TEXTS["gold"],
        to_act=at.to_act,
        strips=[*strips, Strip(TEXTS["selected"], selected)] if selected else strips,
        facts=list(_facts(at, names)),
    )


def _selected(at: Any, seat: int, names: dict[int, str]) -> DrawnCard:
    own = at.parts.secrets_of(seat)
    if own is None or not own.selected:
        return DrawnCard(seat, face="back")
    return DrawnCard(seat, names[own.selected], "known", str(own.selected))


def _facts(at: Any, names: dict[int, str]) -> Iterator[Fact]:
    table = at.table
    for seat in range(at.game.n_players):
        own = at.parts.secrets_of(seat)
        if own is not None and own.hand:
            yield Fact(TEXTS["hand"], [(value, names[value]) for value in own.hand], seat)
        if table.piles[seat]:
            yield Fact(TEXTS["discarded"], [(value, names[value]) for value in table.piles[seat]], seat)
        if table.orders[seat]:
            yield Fact(TEXTS["ordered_to"], [table.orders[seat]], seat)
