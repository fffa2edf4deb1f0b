"""The cards, one row each, in the words of words.pxd. effects.pxd implements the words.

A *kind* is the number of a row; hands are listed in the order of the rows.
"""

from collections.abc import Iterable
from typing import NamedTuple

from engine_cy.errors import NotationError, listed
from engine_cy.oriflamme.words import Deed, Nature, Reach


class Card(NamedTuple):
    """The target, effect, amount and other properties of a card."""

    id: str
    name: str
    reach: Reach
    deed: Deed
    amount: int
    nature: Nature = Nature.PLAIN
    copies: int = 1  # in a family


# fmt: off
PUBLISHED = (
    #    id               name             may point at           and then                   amount
    Card("archer",        "Archer",        Reach.EITHER_END,      Deed.ELIMINATE,            1),
    Card("soldier",       "Soldier",       Reach.NEIGHBOUR,       Deed.ELIMINATE,            1),
    Card("spy",           "Spy",           Reach.RIVAL,           Deed.STEAL,                1),
    Card("heir",          "Heir",          Reach.NOTHING,         Deed.GAIN_IF_SOLE_NAME,    2),
    Card("lord",          "Lord",          Reach.NOTHING,         Deed.GAIN_WITH_NEIGHBOURS, 1),
    Card("shapeshifter",  "Shapeshifter",  Reach.SHOWN_NEIGHBOUR, Deed.COPY,                 0),
    Card("assassination", "Assassination", Reach.ANY_SLOT,        Deed.ELIMINATE,            1, Nature.ONE_SHOT),
    Card("royal_decree",  "Decree",        Reach.OTHER_SLOT,      Deed.MOVE,                 0, Nature.ONE_SHOT),
    Card("conspiracy",    "Conspiracy",    Reach.NOTHING,         Deed.MULTIPLY_TOKENS,      2, Nature.ONE_SHOT),
    Card("ambush",        "Ambush",        Reach.NOTHING,         Deed.FORFEIT_TOKENS,       1,
         Nature.ONE_SHOT | Nature.AMBUSH),
)

PROTOTYPE = (
    Card("archer",        "Archer",        Reach.EITHER_END,      Deed.ELIMINATE,            1),
    Card("assassin",      "Assassin",      Reach.OTHER_PAIR,      Deed.ELIMINATE_IF_ALIKE,   1),
    Card("soldier",       "Soldier",       Reach.NEIGHBOUR,       Deed.ELIMINATE,            1),
    Card("spy",           "Spy",           Reach.RIVAL,           Deed.STEAL,                1),
    Card("heir",          "Heir",          Reach.NOTHING,         Deed.GAIN_IF_SOLE_KIND,    2),
    Card("mercenaries",   "Mercenaries",   Reach.OTHER_SLOT,      Deed.ELIMINATE,            1, Nature.LEAVES),
    Card("queen",         "Queen",         Reach.NOTHING,         Deed.GAIN_UNLESS_CROWDED,  2),
    Card("lord",          "Lord",          Reach.NOTHING,         Deed.GAIN_WITH_NEIGHBOURS, 1),
    Card("shapeshifter",  "Shapeshifter",  Reach.NEIGHBOUR,       Deed.COPY,                 0),
    Card("ambush",        "Ambush",        Reach.NOTHING,         Deed.NO_DEED,              0,
         Nature.AMBUSH | Nature.UNREVEALABLE),
)
# fmt: on


def read_card(text: str, cards: Iterable[Card]) -> str:
    """Return the id of a card from its name or id, in any letter case."""
    plain = text.lower().replace("_", "")
    for card in cards:
        if plain in (card.name.lower(), card.id.replace("_", "")):
            return card.id
    raise NotationError(f"card: {text!r} is no card of this edition ({listed(card.name for card in cards)})")


def write_card(card_id: str, cards: Iterable[Card]) -> str:
    """Return the name of a card. `?`, an unknown card, stays `?`."""
    return "?" if card_id == "?" else next(card.name for card in cards if card.id == card_id)
