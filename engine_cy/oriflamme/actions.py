"""The actions of Oriflamme and its prototype, declared once."""

from __future__ import annotations

from typing import Any

from engine_cy.actions import SEAT, Actions, Argument, Kind, Number, OneOf, Verb
from engine_cy.oriflamme.cards import read_card, write_card
from engine_cy.oriflamme.words import (
    BACK,
    ON,
    UNKNOWN_KIND,
    VERB_COPY,
    VERB_DROP,
    VERB_KEEP,
    VERB_LIFT,
    VERB_PAIR_FIRST,
    VERB_PAIR_SECOND,
    VERB_PLACE,
    VERB_REVEAL,
    VERB_ROB,
    VERB_TARGET,
    Ask,
)


class _Card(Kind):
    """A card by its name; `?` is a card that the observer of a record does not know."""

    unknown = "?"

    def read(self, word: str, shape: Any) -> str:
        return word if word == "?" else read_card(word, shape.cards)

    def write(self, value: str, shape: Any) -> str:
        return write_card(value, shape.cards)

    def accepts(self, value: str, shape: Any) -> bool:
        return value == "?" or value in shape.ids

    def pack(self, value: str, shape: Any) -> int:
        return UNKNOWN_KIND if value == "?" else int(shape.ids.index(value))

    def unpack(self, number: int, shape: Any) -> str:
        return str(shape.ids[number]) if number < len(shape.ids) else "?"

    def values(self, shape: Any) -> list[str]:
        return list(shape.ids)


def _slots(shape: Any) -> int:
    return int(shape.n_players * shape.cards_each)


_ACCEPTED = "a slot or gap (0 to 30)"
CARD = _Card("CARD")
END = OneOf("front|back", {"front": 0, "back": BACK})
SLOT = Number("SLOT", _ACCEPTED, 30, _slots)
ON_SLOT = Number("SLOT", _ACCEPTED, 30, _slots, flag=ON)
GAP = Number("GAP", _ACCEPTED, 30, lambda shape: _slots(shape) + 1)

_MOVE = [Argument("slot", SLOT), Argument("to", GAP, step=1), Argument("on", ON_SLOT, step=1)]
_PLACE = [Argument("card", CARD), Argument("at", END, 0), Argument("on", ON_SLOT, 0)]
_PAIR = [Argument("slot", SLOT), Argument("other", SLOT, step=1)]

# OpenSpiel's list of actions has this order.
ACTIONS = Actions(
    16,
    [
        Verb(
            "place",
            (VERB_PLACE,),
            _PLACE,
            Ask.ASK_PLACE,
            "place a card",
            forms=["place {card} {at}", "place {card} on {on}"],
        ),
        Verb("reveal", (VERB_REVEAL,), [], Ask.ASK_REVEAL, "reveal or keep the card at the cursor"),
        Verb("keep", (VERB_KEEP,), [], Ask.ASK_REVEAL),
        Verb("target", (VERB_TARGET,), [Argument("slot", SLOT)], Ask.ASK_TARGET, "choose a slot to hit"),
        Verb("rob", (VERB_ROB,), [Argument("player", SEAT)], Ask.ASK_ROB, "choose a player to rob"),
        Verb("copy", (VERB_COPY,), [Argument("slot", SLOT)], Ask.ASK_COPY, "choose a slot to copy"),
        Verb(
            "move",
            (VERB_LIFT, VERB_DROP),
            _MOVE,
            Ask.ASK_LIFT,
            "choose a card to move and its new place",
            forms=["move {slot} to {to}", "move {slot} on {on}"],
        ),
        Verb(
            "pair",
            (VERB_PAIR_FIRST, VERB_PAIR_SECOND),
            _PAIR,
            Ask.ASK_PAIR_FIRST,
            "choose a pair of slots",
            in_order=True,
        ),
    ],
)
# The second halves of decisions have the verbs of the first.
ACTIONS.check_questions(Ask, Ask.ASK_DROP, Ask.ASK_PAIR_SECOND, Ask.ASK_NOTHING, Ask.ASK_UNDEFINED)
