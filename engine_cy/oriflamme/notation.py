"""Positions, views and deals as text, both ways. docs/notation.md describes the notation."""

from __future__ import annotations

import re
from collections import Counter

from engine_cy.errors import HiddenCardError, NotationError, listed
from engine_cy.notation import read_fields, read_letter, read_number, read_observer
from engine_cy.oriflamme.actions import ACTIONS
from engine_cy.oriflamme.cards import read_card, write_card
from engine_cy.oriflamme.table import (
    ASKS,
    Deal,
    Kinds,
    Parts,
    PlayedCard,
    Secrets,
    Slot,
    Table,
    TableShape,
    complete,
    dealt,
    kinds_in_queue,
    parts_of,
)
from engine_cy.seats import SEATS
from engine_cy.tables import OMITTED, refusal

_CARD = re.compile(r"([A-Z])(\d{0,2}):([A-Za-z_]+|\?)(\*?)(?:\((\d{1,4})\))?")
_FIELDS = ("round", "first", "ask", "points", "hands", "piles", "seen")


# --- tables ----------------------------------------------------------------------------------------------------


def read_parts(text: str, shape: TableShape) -> Parts:
    """Read a position or view, whose text may omit fields."""
    queue, *parts = text.split("|")
    fields = read_fields(parts, _FIELDS, text)
    observer = read_observer(fields.get("seen"), shape.families)
    slots, cursor, face_down = _read_queue(queue.strip(), shape, observer)
    ask, to_act, acting = _read_ask(fields.get("ask"), shape)
    table = Table(
        slots=slots,
        round=read_number(fields.get("round"), "round"),
        first=read_letter(fields.get("first"), "first", shape.families),
        ask=ask,
        to_act=to_act,
        cursor=cursor,
        acting=acting,
        points=_points(fields.get("points")),
        piles=_piles(fields.get("piles"), shape),
    )
    hands = _hands(fields.get("hands"), shape, observer)
    return parts_of(table, tuple(map(Secrets, hands, map(tuple, face_down))), observer)


def write_parts(parts: Parts, shape: TableShape) -> str:
    """Write a complete table in one line."""
    table = parts.table
    queue = [
        ">" * (s == table.cursor)
        + "/".join(_write_played(*card, slot.family, shape) for card in zip(slot.cards, kinds, strict=True))
        for s, (slot, kinds) in enumerate(zip(table.slots, kinds_in_queue(parts), strict=True))
    ]
    ask = "over"
    if table.to_act is not None:
        ask = f"{SEATS[table.to_act]} {table.ask}"
        if table.cursor is not None and table.acting and table.acting != table.slots[table.cursor].cards[0].card:
            ask += f" as {write_card(table.acting, shape.cards)}"
    hands = [None if own is None else own.hand for own in map(parts.secrets_of, range(shape.n_players))]
    fields = [
        " ".join(queue) or "-",
        f"round {table.round}",
        f"first {SEATS[table.first]}",
        f"ask {ask}",
        "points " + " ".join(str(points) for points in table.points),
        "hands " + " ".join("?" if hand is None else _write_kinds(hand, shape) for hand in hands),
        "piles " + " ".join(_write_kinds(pile, shape) for pile in table.piles),
    ]
    if parts.observer is not None:
        fields.append(f"seen by {SEATS[parts.observer]}")
    return " | ".join(fields)


def _read_queue(
    text: str, shape: TableShape, observer: int | None
) -> tuple[tuple[Slot, ...], int | None, list[list[str | None]]]:
    """Return the slots, the cursor, and the face-down cards of each seat."""
    cursor = None
    slots = []
    face_down: list[list[str | None]] = [[] for _ in range(shape.n_players)]
    for s, word in enumerate([] if text in ("", "-") else text.split()):
        if word.startswith(">"):
            if cursor is not None:
                raise NotationError(f"slots[{s}]: '>' stands before two slots, in {text!r}")
            cursor, word = s, word[1:]
        cards = []
        owners = []
        for c, part in enumerate(word.split("/")):
            family, kind, card = _read_played(part, f"slots[{s}]", shape)
            if card.card is None:
                if kind is not None and observer not in (None, family):
                    why = f"lies face down and is {SEATS[family]}'s: the observer cannot know it"
                    raise refusal(observer, f"table.slots[{s}].cards[{c}].card", kind, why, HiddenCardError)
                face_down[family].append(kind)
            cards.append(card)
            owners.append(family)
            if family != owners[0]:
                why = f"lies in a stack of {SEATS[owners[0]]}; a slot has one family"
                raise refusal(observer, f"table.slots[{s}].cards[{c}]", SEATS[family], why)
        slots.append(Slot(owners[0], tuple(cards)))
    return tuple(slots), cursor, face_down


def _read_played(text: str, field: str, shape: TableShape) -> tuple[int, str | None, PlayedCard]:
    """Return the family and kind of a card in the queue, and its public part."""
    match = _CARD.fullmatch(text)
    if match is None:
        raise NotationError(f"{field}: {text!r} is no card in the queue, such as A:Spy, B2:Heir* or C:?(1)")
    letter, nth, name, star, tokens = match.groups()
    if nth and not int(nth):
        raise NotationError(f"{field}.nth: {nth!r} in {text!r} is not 1 or more")
    kind = None if name == "?" else read_card(name, shape.cards)
    if star and kind is None:
        raise NotationError(f"{field}.card: {text!r} is a face-up card without a name")
    family = read_letter(letter, f"{field}.family", shape.families)
    return family, kind, PlayedCard(kind if star else None, int(tokens or 0), int(nth) if nth else None)


def _write_played(card: PlayedCard, kind: str | None, family: int, shape: TableShape) -> str:
    name = "?" if kind is None else write_card(kind, shape.cards)
    tokens = f"({card.tokens})" if card.tokens else ""
    return f"{SEATS[family]}{card.nth or ''}:{name}{'*' if card.card else ''}{tokens}"


def _read_ask(text: str | None, shape: TableShape) -> tuple[str | None, int | None, str | None]:
    """Return the question, the seat to act, and the ability in use if it is not the card's own."""
    if text is None:
        return None, None, None
    if text == "over":
        return "over", None, None
    words = text.split()
    if len(words) not in (2, 4) or words[1] not in ASKS or words[1] == "over" or (len(words) == 4 and words[2] != "as"):
        raise NotationError(
            f"ask: {text!r} is neither 'over' nor like 'A reveal' or 'B target as Soldier' ({listed(ASKS)})"
        )
    acting = read_card(words[3], shape.cards) if len(words) == 4 else None
    return words[1], read_letter(words[0], "ask", shape.families), acting


def _points(text: str | None) -> tuple[int, ...]:
    return OMITTED if text is None else tuple(read_number(word, "points") for word in text.split())


def _kinds(text: str, shape: TableShape) -> Kinds:
    return () if text == "-" else tuple(read_card(word, shape.cards) for word in text.split(","))


def _write_kinds(kinds: Kinds, shape: TableShape) -> str:
    return ",".join(write_card(kind, shape.cards) for kind in kinds) or "-"


def _hands(text: str | None, shape: TableShape, observer: int | None) -> list[Kinds | None]:
    """Return the hand of each seat, None if it was omitted or is hidden from the observer."""
    if text is None:
        return [None] * shape.n_players
    hands = [None if word == "?" else _kinds(word, shape) for word in text.split()]
    if len(hands) != shape.n_players:
        why = f"entries, not one for each of {shape.n_players} players"
        raise refusal(observer, "hands", len(hands), why)
    for letter, hand in zip(shape.families, hands, strict=True):
        is_hidden = observer not in (None, SEATS.index(letter))
        if is_hidden and hand is not None:
            raise refusal(observer, f"hands[{letter}]", ",".join(hand), "is hidden from this observer", HiddenCardError)
        if not is_hidden and hand is None:
            raise refusal(observer, f"hands[{letter}]", "?", "must be known")
    return hands


def _piles(text: str | None, shape: TableShape) -> tuple[Kinds, ...]:
    return OMITTED if text is None else tuple(_kinds(word, shape) for word in text.split())


# --- deals -----------------------------------------------------------------------------------------------------


def read_deal(lines: list[str], first: int, observer: int | None, shape: TableShape) -> Parts:
    """Read a start from the lines of a record such as `aside A Archer,Spy,Heir`, with `?` for cards that are hidden."""
    aside: dict[str, Kinds | None] = {}
    for line in lines:
        match line.split():
            case ["aside", letter, names] if letter in shape.families and letter not in aside:
                aside[letter] = None if names == "?" else _kinds(names, shape)
            case _:
                raise NotationError(f"{line!r} is not like 'aside A Archer,Spy,Heir', once for each seat")
    for p, letter in enumerate(shape.families):
        if (aside.get(letter) is None) == (observer in (None, p)):
            why = "are missing" if observer in (None, p) else "are hidden from the observer of this record"
            raise NotationError(f"aside {letter}: the cards that {letter} has set aside {why}")
    return dealt(Deal(first, tuple(aside.get(letter) for letter in shape.families)), shape, observer)


def deal_of(parts: Parts, shape: TableShape) -> Deal | None:
    """Return the deal of the game that starts at `parts`; None in the middle of a game."""
    hands = [None if own is None else own.hand for own in map(parts.secrets_of, range(shape.n_players))]
    if parts.table.slots or any(hand is not None and len(hand) != shape.hand_size for hand in hands):
        return None
    everything = shape.all_cards()
    aside = tuple(None if hand is None else tuple((everything - Counter(hand)).elements()) for hand in hands)
    deal = Deal(parts.table.first, aside)
    return deal if complete(dealt(deal, shape, parts.observer), shape) == parts else None


def write_deal(parts: Parts, shape: TableShape) -> list[str] | None:
    """Write the lines for `read_deal`; return None if `parts` are not the start of a game."""
    deal = deal_of(parts, shape)
    if deal is None:
        return None
    return [
        f"aside {letter} {'?' if kinds is None else _write_kinds(kinds, shape)}"
        for letter, kinds in zip(shape.families, deal.aside, strict=True)
    ]


# --- reasons ---------------------------------------------------------------------------------------------------


def explain_illegal(parts: Parts, fields: dict[str, object], legal: list[dict[str, object]], shape: TableShape) -> str:
    """Return the reason why an action is illegal: the rule that it breaks."""
    table = parts.table
    assert table.to_act is not None
    seat, verb = shape.families[table.to_act], str(fields["type"])
    other = ACTIONS.explain_other(fields, table.ask or "", seat)
    if other is not None:
        return other
    elif verb == "reveal":
        return "this card cannot be revealed, only kept"
    acting = write_card(table.acting, shape.cards) if table.acting else ""
    if verb == "place":
        own = parts.secrets_of(table.to_act)
        if own is not None and fields["card"] not in (own.hand or ()):
            return f"{seat} holds no {write_card(str(fields['card']), shape.cards)}"
        return f"a card goes to the front, the back (one place while the queue is empty) or on a slot of {seat}'s"
    elif verb in ("target", "copy"):
        return f"here {_article(acting)} reaches only slot {' or '.join(str(action['slot']) for action in legal)}"
    elif verb == "rob":
        seats = " or ".join(SEATS[int(str(action["player"]))] for action in legal)
        return f"of the opponents, only {seats} owns a neighbour"
    elif verb == "move":
        return f"{_article(acting)} moves another top card, into a gap or on its family, so that the queue changes"
    elif verb == "pair":
        return f"{_article(acting)} names two different slots, not its own"
    return f"{_article(acting)} does not reach this"


def _article(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"
