"""Positions, views and actions as text, both ways. docs/notation.md describes the notation."""

from __future__ import annotations

import re
from collections import Counter

from engine_cy.errors import NotationError, listed
from engine_cy.notation import read_fields, read_letter, read_number, read_observer
from engine_cy.oriflamme.cards import Card
from engine_cy.oriflamme.table import PHASES, Kinds, PlayedCard, Table, TableShape, complete, dealt
from engine_cy.seats import SEATS
from engine_cy.tables import OMITTED

_CARD = re.compile(r"([A-Z])(\d{0,2}):([A-Za-z_]+|\?)(\*?)(?:\((\d{1,4})\))?")
_FIELDS = ("round", "first", "ask", "points", "hands", "piles", "seen")


def read_card(text: str, cards: tuple[Card, ...]) -> str:
    """Return the id of a card from its name or id, in any letter case."""
    plain = text.lower().replace("_", "")
    for card in cards:
        if plain in (card.name.lower(), card.id.replace("_", "")):
            return card.id
    raise NotationError(f"card: {text!r} is no card of this edition ({listed(card.name for card in cards)})")


def write_card(card_id: str, cards: tuple[Card, ...]) -> str:
    """Return the name of a card. `?`, an unknown card, stays `?`."""
    return "?" if card_id == "?" else next(card.name for card in cards if card.id == card_id)


# --- tables ----------------------------------------------------------------------------------------------------


def read_table(text: str, frame: TableShape) -> Table:
    """Read a position or view, whose text may omit fields."""
    queue, *parts = text.split("|")
    fields = read_fields(parts, _FIELDS, text)
    slots, cursor = _read_queue(queue.strip(), frame)
    phase, to_act, acting = _read_ask(fields.get("ask"), frame)
    return Table(
        slots=slots,
        cursor=cursor,
        round=read_number(fields.get("round"), "round"),
        first=read_letter(fields.get("first"), "first", frame.families),
        phase=phase,
        to_act=to_act,
        acting=acting,
        points=_points(fields.get("points")),
        hands=_hands(fields.get("hands"), frame),
        piles=_piles(fields.get("piles"), frame),
        observer=read_observer(fields.get("seen"), frame.families),
    )


def write_table(table: Table, frame: TableShape) -> str:
    """Write a complete table in one line."""
    queue = [">" * (s == table.cursor) + _write_slot(slot, frame) for s, slot in enumerate(table.slots)]
    ask = "over"
    if table.to_act is not None:
        ask = f"{SEATS[table.to_act]} {table.phase}"
        if table.cursor is not None and table.acting and table.acting != table.slots[table.cursor][0].card:
            ask += f" as {write_card(table.acting, frame.cards)}"
    fields = [
        " ".join(queue) or "-",
        f"round {table.round}",
        f"first {SEATS[table.first]}",
        f"ask {ask}",
        "points " + " ".join(str(points) for points in table.points),
        "hands " + " ".join("?" if hand is None else _write_kinds(hand, frame) for hand in table.hands),
        "piles " + " ".join(_write_kinds(pile, frame) for pile in table.piles),
    ]
    if table.observer is not None:
        fields.append(f"seen by {SEATS[table.observer]}")
    return " | ".join(fields)


def _read_queue(text: str, frame: TableShape) -> tuple[tuple[tuple[PlayedCard, ...], ...], int | None]:
    cursor = None
    slots = []
    for s, word in enumerate([] if text in ("", "-") else text.split()):
        if word.startswith(">"):
            if cursor is not None:
                raise NotationError(f"slots[{s}]: '>' stands before two slots, in {text!r}")
            cursor, word = s, word[1:]
        slots.append(tuple(_read_played(part, f"slots[{s}]", frame) for part in word.split("/")))
    return tuple(slots), cursor


def _read_played(text: str, field: str, frame: TableShape) -> PlayedCard:
    match = _CARD.fullmatch(text)
    if match is None:
        raise NotationError(f"{field}: {text!r} is no card in the queue, such as A:Spy, B2:Heir* or C:?(1)")
    letter, nth, name, star, tokens = match.groups()
    if nth and not int(nth):
        raise NotationError(f"{field}.nth: {nth!r} in {text!r} is not 1 or more")
    return PlayedCard(
        family=read_letter(letter, f"{field}.family", frame.families),
        card=None if name == "?" else read_card(name, frame.cards),
        face_up=bool(star),
        tokens=int(tokens or 0),
        nth=int(nth) if nth else None,
    )


def _write_slot(slot: tuple[PlayedCard, ...], frame: TableShape) -> str:
    words = []
    for card in slot:
        name = "?" if card.card is None else write_card(card.card, frame.cards)
        tokens = f"({card.tokens})" if card.tokens else ""
        words.append(f"{SEATS[card.family]}{card.nth or ''}:{name}{'*' * card.face_up}{tokens}")
    return "/".join(words)


def _read_ask(text: str | None, frame: TableShape) -> tuple[str | None, int | None, str | None]:
    """Return the phase, the seat to act, and the ability in use if it is not the card's own."""
    if text is None:
        return None, None, None
    if text == "over":
        return "over", None, None
    words = text.split()
    if (
        len(words) not in (2, 4)
        or words[1] not in PHASES
        or words[1] == "over"
        or (len(words) == 4 and words[2] != "as")
    ):
        raise NotationError(
            f"ask: {text!r} is neither 'over' nor like 'A reveal' or 'B target as Soldier' ({listed(PHASES)})"
        )
    acting = read_card(words[3], frame.cards) if len(words) == 4 else None
    return words[1], read_letter(words[0], "ask", frame.families), acting


def _points(text: str | None) -> tuple[int, ...]:
    return OMITTED if text is None else tuple(read_number(word, "points") for word in text.split())


def _kinds(text: str, frame: TableShape) -> Kinds:
    return () if text == "-" else tuple(read_card(word, frame.cards) for word in text.split(","))


def _write_kinds(kinds: Kinds, frame: TableShape) -> str:
    return ",".join(write_card(kind, frame.cards) for kind in kinds) or "-"


def _hands(text: str | None, frame: TableShape) -> tuple[Kinds | None, ...]:
    return OMITTED if text is None else tuple(None if word == "?" else _kinds(word, frame) for word in text.split())


def _piles(text: str | None, frame: TableShape) -> tuple[Kinds, ...]:
    return OMITTED if text is None else tuple(_kinds(word, frame) for word in text.split())


# --- deals -----------------------------------------------------------------------------------------------------


def read_deal(lines: list[str], first: int, observer: int | None, frame: TableShape) -> Table:
    """Read a start from the lines of a record such as `aside A Archer,Spy,Heir`, with `?` for cards that are hidden."""
    aside: dict[str, Kinds | None] = {}
    for line in lines:
        match line.split():
            case ["aside", letter, names] if letter in frame.families and letter not in aside:
                aside[letter] = None if names == "?" else _kinds(names, frame)
            case _:
                raise NotationError(f"{line!r} is not like 'aside A Archer,Spy,Heir', once for each seat")
    for p, letter in enumerate(frame.families):
        if (aside.get(letter) is None) == (observer in (None, p)):
            why = "are missing" if observer in (None, p) else "are hidden from the observer of this record"
            raise NotationError(f"aside {letter}: the cards that {letter} has set aside {why}")
    return dealt([aside.get(letter) for letter in frame.families], first, frame, observer)


def write_deal(table: Table, frame: TableShape) -> list[str] | None:
    """Write the lines for `read_deal`; return None if `table` is not the start of a game."""
    lines = []
    aside: list[Kinds | None] = []
    for letter, hand in zip(frame.families, table.hands, strict=True):
        left = None if hand is None else tuple((Counter(frame.ids * frame.copies) - Counter(hand)).elements())
        aside.append(left)
        lines.append(f"aside {letter} {'?' if left is None else _write_kinds(left, frame)}")
    if table.slots or any(hand is not None and len(hand) != frame.hand_size for hand in table.hands):
        return None
    start = complete(dealt(aside, table.first, frame, table.observer), frame)
    return lines if start == table else None


# --- actions ---------------------------------------------------------------------------------------------------

ACTIONS = (
    "place CARD front",
    "place CARD back",
    "place CARD on SLOT",
    "reveal",
    "keep",
    "target SLOT",
    "rob SEAT",
    "copy SLOT",
    "move SLOT to GAP",
    "move SLOT on SLOT",
    "pair SLOT SLOT",
)
_SLOT = re.compile(r"\d{1,2}")


def read_action(text: str, cards: tuple[Card, ...]) -> dict[str, object]:
    """Read the parts of an action from its text."""
    words = text.split()
    verb = words[0] if words else ""
    if verb == "place" and len(words) in (3, 4):
        at = words[2]
        if len(words) == 3 and at in ("front", "back"):
            return {"type": "place", "card": _placed(words[1], cards), "at": at}
        if len(words) == 4 and at == "on":
            return {"type": "place", "card": _placed(words[1], cards), "at": {"on": _slot(words[3], text)}}
    elif verb in ("reveal", "keep") and len(words) == 1:
        return {"type": verb}
    elif verb in ("target", "copy") and len(words) == 2:
        return {"type": verb, "slot": _slot(words[1], text)}
    elif verb == "rob" and len(words) == 2 and len(words[1]) == 1 and words[1] in SEATS:
        return {"type": "rob", "player": SEATS.index(words[1])}
    elif verb == "move" and len(words) == 4 and words[2] in ("to", "on"):
        to = {"gap" if words[2] == "to" else "on": _slot(words[3], text)}
        return {"type": "move", "slot": _slot(words[1], text), "to": to}
    elif verb == "pair" and len(words) == 3:
        slots = sorted((_slot(words[1], text), _slot(words[2], text)))
        return {"type": "pair", "slots": slots}
    raise NotationError(f"action: {text!r} is not one of {listed(ACTIONS)}")


def _placed(text: str, cards: tuple[Card, ...]) -> str:
    """Read the card to place; `?` is a card that the observer of a record does not know."""
    return "?" if text == "?" else read_card(text, cards)


def _slot(text: str, action: str) -> int:
    if not _SLOT.fullmatch(text) or int(text) > 30:
        raise NotationError(f"action: {text!r} in {action!r} is not a slot or gap (0 to 30)")
    return int(text)


def write_action(parts: dict[str, object], cards: tuple[Card, ...]) -> str:
    """Write the text of an action from its parts."""
    verb = str(parts["type"])
    if verb == "place":
        return f"place {write_card(str(parts['card']), cards)} {_where(parts['at'])}"
    elif verb == "rob":
        return f"rob {SEATS[int(str(parts['player']))]}"
    elif verb == "move":
        return f"move {parts['slot']} {_where(parts['to'])}"
    elif verb == "pair":
        slots = parts["slots"]
        assert isinstance(slots, list)
        return f"pair {slots[0]} {slots[1]}"
    return f"{verb} {parts['slot']}" if "slot" in parts else verb


def _where(place: object) -> str:
    if isinstance(place, dict):
        return f"on {place['on']}" if "on" in place else f"to {place['gap']}"
    return str(place)


# --- reasons ---------------------------------------------------------------------------------------------------

_QUESTIONS = {
    "place": "place a card",
    "reveal": "reveal or keep the card at the cursor",
    "target": "choose a slot to hit",
    "rob": "choose a player to rob",
    "copy": "choose a slot to copy",
    "move": "choose a card to move and its new place",
    "pair": "choose a pair of slots",
}


def explain_illegal(table: Table, parts: dict[str, object], legal: list[dict[str, object]], frame: TableShape) -> str:
    """Return the reason why an action is illegal: the rule that it breaks."""
    assert table.to_act is not None
    seat, verb = frame.families[table.to_act], str(parts["type"])
    phase = table.phase or ""
    if verb != phase and (verb, phase) != ("keep", "reveal"):
        return f"{seat} must {_QUESTIONS[phase]}"
    if verb == "reveal":
        return "this card cannot be revealed, only kept"
    acting = write_card(table.acting, frame.cards) if table.acting else ""
    if verb == "place":
        hand = table.hands[table.to_act]
        if hand is not None and parts["card"] not in hand:
            return f"{seat} holds no {write_card(str(parts['card']), frame.cards)}"
        return f"a card goes to the front, the back (one place while the queue is empty) or on a slot of {seat}'s"
    elif verb in ("target", "copy"):
        return f"here {_article(acting)} reaches only slot {' or '.join(str(action['slot']) for action in legal)}"
    elif verb == "rob":
        seats = " or ".join(SEATS[int(str(action["player"]))] for action in legal)
        return f"of the opponents, only {seats} owns a neighbour"
    elif verb == "move":
        return f"{_article(acting)} moves another top card, into a gap or on its family, so that the queue changes"
    return f"{_article(acting)} names two different slots, not its own"


def _article(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"
