"""An edition with its own card: a Knight in place of the Soldier, as docs/how_to/extend.md adds one."""

from __future__ import annotations

from engine_cy.oriflamme.cards import PUBLISHED, Card
from engine_cy.oriflamme.editions import EDITIONS, Edition
from engine_cy.oriflamme.words import Deed, Reach


def knights_edition(points: int = 2) -> Edition:
    """Return en-2019 with a Knight in place of the Soldier; `points` is the amount of its ability."""
    knight = Card("knight", "Knight", Reach.NEIGHBOUR, Deed.ELIMINATE, points)
    cards = tuple(knight if card.id == "soldier" else card for card in PUBLISHED)
    return EDITIONS["en-2019"]._replace(cards=cards)
