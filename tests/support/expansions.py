"""Invented editions with more cards than the published ones: more kinds, and several cards of a kind."""

from __future__ import annotations

from engine_cy.oriflamme.cards import PROTOTYPE, PUBLISHED, Card
from engine_cy.oriflamme.editions import EDITIONS, Edition
from engine_cy.oriflamme.words import Deed, Nature, Reach

NEW = (
    Card("duelist", "Duelist", Reach.NEIGHBOUR, Deed.ELIMINATE, 2),
    Card("herald", "Herald", Reach.NOTHING, Deed.GAIN_IF_SOLE_NAME, 1),
    Card("jester", "Jester", Reach.SHOWN_NEIGHBOUR, Deed.COPY, 0),
    Card("abbot", "Abbot", Reach.NOTHING, Deed.GAIN_WITH_NEIGHBOURS, 0),
    Card("thief", "Thief", Reach.RIVAL, Deed.STEAL, 2),
    Card("martyr", "Martyr", Reach.NOTHING, Deed.NO_DEED, 0, Nature.UNREVEALABLE),
    Card("page", "Page", Reach.NOTHING, Deed.GAIN_IF_SOLE_NAME, 1),
)


def doubled(cards: tuple[Card, ...], copies: int, *ids: str) -> tuple[Card, ...]:
    return tuple(card._replace(copies=copies if card.id in ids else 1) for card in cards)


def edition_of(cards: tuple[Card, ...], base: str = "en-2019", **fixed: int) -> Edition:
    edition = EDITIONS[base]
    return edition._replace(cards=cards, fixed={**edition.fixed, **fixed})


TWELVE = doubled((*PUBLISHED, *NEW[:2]), 2, "spy", "herald")
# The names of editions, for `EDITIONS`.
EXPANSIONS = {
    "twelve": edition_of(TWELVE),
    "few_aside": edition_of(TWELVE, aside=1),
    "threes": edition_of(doubled(PUBLISHED[:6], 3, "spy", "lord"), aside=2),
    "sixteen": edition_of((*PUBLISHED, *NEW[:6]), aside=5),
    "twelve_prototype": edition_of(doubled((*PROTOTYPE, *NEW[:2]), 2, "spy", "herald"), "prototype"),
    "small_prototype": edition_of(doubled((*PROTOTYPE[:5], PROTOTYPE[9]), 2, "spy", "heir"), "prototype", n_rounds=5),
}
TABLES = [
    *[("oriflamme", name, players) for name in ("twelve", "few_aside", "threes", "sixteen") for players in (3, 5)],
    *[("oriflamme_prototype", name, players) for name in ("twelve_prototype", "small_prototype") for players in (2, 3)],
]
