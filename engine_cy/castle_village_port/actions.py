"""The actions of Castle, Village, Port, declared once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from engine_cy.actions import SEAT, Actions, Argument, Kind, Number, OneOf, Verb
from engine_cy.castle_village_port.cards import LOCATIONS
from engine_cy.castle_village_port.words import (
    UNKNOWN,
    VERB_COPY,
    VERB_DISCARD,
    VERB_MOVE,
    VERB_ORDER,
    VERB_PLACE,
    VERB_REPLACE,
    VERB_ROB,
    VERB_SELECT,
    VERB_SWAP,
    Ask,
)
from engine_cy.errors import listed
from engine_cy.seats import SEATS

INDEX_MAX = 74
_ROW_CARD = re.compile(r"([0-9]{1,2})([A-E])")


class _CardValue(Kind):
    """The value of a card; `?` is a card that the observer of a record does not know."""

    unknown = "?"

    def read(self, word: str, shape: Any) -> int | str | None:
        if word == "?":
            return word
        return int(word) if re.fullmatch(r"[0-9]{1,2}", word) and 1 <= int(word) <= 15 else None

    def accepts(self, value: int | str, shape: Any) -> bool:
        return value == "?" or 1 <= int(value) <= 15

    def pack(self, value: int | str, shape: Any) -> int:
        return UNKNOWN if value == "?" else int(value)

    def unpack(self, number: int, shape: Any) -> int | str:
        return "?" if number == UNKNOWN else number

    def values(self, shape: Any) -> list[int]:
        return sorted(shape.values)


class _RowCard(Kind):
    """A card in a row, by its value and owner, such as 12B."""

    def read(self, word: str, shape: Any) -> dict[str, int] | None:
        found = _ROW_CARD.fullmatch(word)
        if found is None or not 1 <= int(found[1]) <= 15:
            return None
        return {"value": int(found[1]), "owner": SEATS.index(found[2])}

    def write(self, value: dict[str, int], shape: Any) -> str:
        return f"{value['value']}{SEATS[value['owner']]}"

    def accepts(self, value: dict[str, int], shape: Any) -> bool:
        return 1 <= value["value"] <= 15

    def pack(self, value: dict[str, int], shape: Any) -> int:
        return value["owner"] << 4 | value["value"]

    def unpack(self, number: int, shape: Any) -> dict[str, int] | None:
        return {"value": number & 0x0F, "owner": number >> 4} if number >> 4 < len(SEATS) else None

    def values(self, shape: Any) -> Iterable[dict[str, int]]:
        return ({"value": value, "owner": owner} for owner in shape.seats for value in sorted(shape.values))


def _places(shape: Any) -> int:
    return int(shape.n_players * shape.n_rounds * shape.n_turns)


VALUE = _CardValue("VALUE", "a card's value (1 to 15)")
ROW_CARD = _RowCard("CARD", "a card in a row, such as 12B")
LOCATION = OneOf(
    "LOCATION", {name: number for number, name in enumerate(LOCATIONS)}, f"a location ({listed(LOCATIONS)})"
)
INDEX = Number("INDEX", f"a place in a row (0 to {INDEX_MAX})", INDEX_MAX, _places)

_MOVE = [Argument("card", ROW_CARD, 16), Argument("to", LOCATION, 8), Argument("index", INDEX, 0)]
_PLACE = [Argument("location", LOCATION, 16), Argument("index", INDEX, 8)]
_ORDER = [Argument("player", SEAT, 16), Argument("location", LOCATION, 8)]
_IN_HAND = [Argument("card", VALUE, 16)]
_IN_ROW = [Argument("card", ROW_CARD, 16)]
_PLAYER = [Argument("player", SEAT, 16)]

ACTIONS = Actions(
    24,
    [
        Verb("select", (VERB_SELECT,), _IN_HAND, Ask.ASK_SELECT, "select a card from hand"),
        Verb("place", (VERB_PLACE,), _PLACE, Ask.ASK_PLACE, "place the selected card"),
        Verb(
            "move",
            (VERB_MOVE,),
            _MOVE,
            Ask.ASK_MOVE,
            "choose a card to move and its new place",
            forms=["move {card} to {to} {index}"],
        ),
        Verb("rob", (VERB_ROB,), _PLAYER, Ask.ASK_ROB, "choose a player to rob"),
        Verb("copy", (VERB_COPY,), _IN_ROW, Ask.ASK_COPY, "choose a neighbour to copy"),
        Verb("swap", (VERB_SWAP,), _PLAYER, Ask.ASK_SWAP, "choose a player whose selected card is swapped"),
        Verb("replace", (VERB_REPLACE,), _IN_HAND, Ask.ASK_REPLACE, "choose the card that replaces the selected one"),
        Verb("order", (VERB_ORDER,), _ORDER, Ask.ASK_ORDER, "choose a player and the location to order"),
        Verb("discard", (VERB_DISCARD,), _IN_ROW, Ask.ASK_DISCARD, "choose a neighbour to discard"),
    ],
)
ACTIONS.check_questions(Ask, Ask.ASK_NOTHING, Ask.ASK_UNDEFINED)
