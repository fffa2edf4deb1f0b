"""Read and write positions, views and actions as text. docs/notation.md describes the format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine_cy.castle_village_port.cards import LOCATIONS
from engine_cy.castle_village_port.table import (
    EFFECT_ASKS,
    Row,
    RowCard,
    Table,
    TableShape,
    Values,
    complete,
    dealt,
    neighbours,
)
from engine_cy.castle_village_port.words import Deed
from engine_cy.errors import NotationError, listed
from engine_cy.notation import read_fields, read_letter, read_number, read_observer
from engine_cy.seats import CHANCE, CHANCE_SEAT, SEATS
from engine_cy.tables import OMITTED

INDEX_MAX = 74
_CARD = re.compile(r"([0-9]{1,3})([A-Z])")
_FIELDS = (
    *LOCATIONS,
    "round",
    "turn",
    "first",
    "ask",
    "gold",
    "remembered_gold",
    "selected",
    "orders",
    "hands",
    "decks",
    "piles",
    "walk",
    "seen",
)


# --- tables ----------------------------------------------------------------------------------------------------


def read_table(text: str, frame: TableShape) -> Table:
    """Read a table from text."""
    fields = read_fields(text.split("|"), _FIELDS, text)
    question = _read_ask(fields.get("ask"), "walk" in fields, frame)
    walk = _read_walk(fields.get("walk"), frame)
    return Table(
        rows=tuple(_row(fields.get(location, "-"), location, frame) for location in LOCATIONS),
        round=read_number(fields.get("round"), "round"),
        turn=read_number(fields.get("turn"), "turn"),
        first=read_letter(fields.get("first"), "first", frame.families),
        phase=question.phase or OMITTED,
        ask=question.ask,
        to_act=question.to_act,
        gold=_gold(fields.get("gold")),
        selected=_selected(fields.get("selected")),
        orders=_orders(fields.get("orders")),
        hands=_lists(fields.get("hands"), "hands"),
        decks=_lists(fields.get("decks"), "decks"),
        piles=_piles(fields.get("piles")),
        acting=question.acting,
        effect=question.effect,
        victim=question.victim,
        walk=walk.location,
        due=walk.due,
        ranked=walk.ranked,
        from_right=walk.from_right,
        observer=read_observer(fields.get("seen"), frame.families),
        remembered_gold=_remembered(fields.get("remembered_gold")),
    )


def write_table(table: Table, frame: TableShape) -> str:
    """Write a complete table in one line."""
    hides_gold = frame.hidden_gold and table.observer is not None
    gold = ["?" if hides_gold and p != table.observer else str(n) for p, n in enumerate(table.gold)]
    fields = [f"{location} {_write_row(row, ' ')}" for location, row in zip(LOCATIONS, table.rows, strict=True)]
    fields += [f"round {table.round}", f"turn {table.turn}", f"first {SEATS[table.first]}", f"ask {_write_ask(table)}"]
    fields.append("gold " + " ".join(gold))
    if hides_gold:
        fields.append("remembered_gold " + " ".join(map(str, table.gold)))
    fields.append("selected " + " ".join("?" if card is None else str(card or "-") for card in table.selected))
    if any(table.orders):
        fields.append("orders " + " ".join(order or "-" for order in table.orders))
    fields.append("hands " + " ".join(map(_write_values, table.hands)))
    if any(deck is not None for deck in table.decks):
        fields.append("decks " + " ".join(map(_write_values, table.decks)))
    fields.append("piles " + " ".join(map(_write_values, table.piles)))
    if table.walk is not None:
        words = ["walk", table.walk]
        words += ["due", _write_row(table.due, ",")] if table.due else []
        words += ["ranked", _write_row(table.ranked, ",")] if table.ranked else []
        fields.append(" ".join(words + ["right"] * table.from_right))
    if table.observer is not None:
        fields.append(f"seen by {SEATS[table.observer]}")
    return " | ".join(fields)


@dataclass(slots=True)
class _Question:
    """The content of the field `ask`."""

    phase: str | None = None
    ask: str | None = None
    to_act: int | None = None
    acting: RowCard | None = None
    effect: int | None = None
    victim: int | None = None


def _read_ask(text: str | None, walking: bool, frame: TableShape) -> _Question:
    question = _Question()
    if text is None:
        return question
    match text.split():
        case ["over"]:
            question.phase = "over"
            return question
        case ["walk"]:
            question.phase = "round_end"
            return question
        case [letter, "select" | "place" as ask]:
            question.phase = "select" if ask == "select" else "reveal"
            question.ask, question.to_act = ask, read_letter(letter, "ask", frame.families)
            return question
        case ["*", "replace", letter, "by", card, *copied]:
            question.ask, question.to_act = "replace", CHANCE
            question.victim = read_letter(letter, "ask", frame.families)
        case [letter, ask, "by", card, *copied] if ask in EFFECT_ASKS and ask != "replace":
            question.ask, question.to_act = ask, read_letter(letter, "ask", frame.families)
        case _:
            raise _ask_error(text)
    question.phase = "round_end" if walking else "reveal"
    question.acting = _row_card(card, "ask", frame)
    match copied:
        case []:
            pass
        case ["as", value]:
            question.effect = read_number(value, "ask")
        case _:
            raise _ask_error(text)
    return question


def _ask_error(text: str) -> NotationError:
    return NotationError(
        f"ask: {text!r} is not like 'A select', 'A place', 'A move by 12A', 'A move by 10A as 12' "
        f"({listed(ask for ask in EFFECT_ASKS if ask != 'replace')}), '* replace B by 9A', 'walk' or 'over'"
    )


def _write_ask(table: Table) -> str:
    if table.ask is None:
        return "over" if table.phase == "over" else "walk"
    if table.ask == "replace":
        text = f"{CHANCE_SEAT} replace {SEATS[table.victim or 0]}"
    else:
        text = f"{SEATS[table.to_act or 0]} {table.ask}"
    if table.acting is not None:
        text += f" by {table.acting}"
        if table.effect != table.acting.value:
            text += f" as {table.effect}"
    return text


@dataclass(slots=True)
class _Walk:
    """The content of the field `walk`."""

    location: str | None = None
    due: Row = ()
    ranked: Row = ()
    from_right: bool = False


def _read_walk(text: str | None, frame: TableShape) -> _Walk:
    walk = _Walk()
    if text is None:
        return walk
    words = text.split()
    example = "is not like 'village due 7A,1C ranked 15A,12B right'"
    if not words:
        raise NotationError(f"walk: {text!r} {example}")
    walk.location = _location(words.pop(0), "walk")
    while words:
        match words:
            case ["due", cards, *rest] if not walk.due:
                walk.due, words = _row(cards, "due", frame, ","), rest
            case ["ranked", cards, *rest] if not walk.ranked:
                walk.ranked, words = _row(cards, "ranked", frame, ","), rest
            case ["right", *rest] if not walk.from_right:
                walk.from_right, words = True, rest
            case _:
                raise NotationError(f"walk: {text!r} {example}")
    return walk


def _row(text: str, field: str, frame: TableShape, between: str | None = None) -> Row:
    if text in ("", "-"):
        return ()
    return tuple(_row_card(word, f"{field}[{i}]", frame) for i, word in enumerate(text.split(between)))


def _write_row(row: Row, between: str) -> str:
    return between.join(map(str, row)) or "-"


def _row_card(text: str, field: str, frame: TableShape) -> RowCard:
    match = _CARD.fullmatch(text)
    if match is None:
        raise NotationError(f"{field}: {text!r} is not a card in a row, such as 12B")
    value, letter = match.groups()
    return RowCard(int(value), read_letter(letter, f"{field}.owner", frame.families))


def _location(text: str, field: str) -> str:
    if text not in LOCATIONS:
        raise NotationError(f"{field}: {text!r} is not a location ({listed(LOCATIONS)})")
    return text


def _gold(text: str | None) -> tuple[int, ...]:
    return (
        OMITTED
        if text is None
        else tuple(OMITTED if word == "?" else read_number(word, "gold") for word in text.split())
    )


def _remembered(text: str | None) -> tuple[int, ...]:
    return OMITTED if text is None else tuple(read_number(word, "remembered_gold") for word in text.split())


def _selected(text: str | None) -> tuple[int | None, ...]:
    unseen = {"-": 0, "?": None}
    words = (text or "").split()
    return (
        OMITTED
        if text is None
        else tuple(unseen[word] if word in unseen else read_number(word, "selected") for word in words)
    )


def _orders(text: str | None) -> tuple[str | None, ...]:
    return (
        OMITTED if text is None else tuple(None if word == "-" else _location(word, "orders") for word in text.split())
    )


def _values(text: str, field: str) -> Values:
    return () if text == "-" else tuple(read_number(word, field) for word in text.split(","))


def _lists(text: str | None, field: str) -> tuple[Values | None, ...]:
    return OMITTED if text is None else tuple(None if word == "?" else _values(word, field) for word in text.split())


def _piles(text: str | None) -> tuple[Values, ...]:
    return OMITTED if text is None else tuple(_values(word, "piles") for word in text.split())


def _write_values(values: Values | None) -> str:
    return "?" if values is None else ",".join(map(str, values)) or "-"


# --- deals -----------------------------------------------------------------------------------------------------


def read_deal(lines: list[str], first: int, observer: int | None, frame: TableShape) -> Table:
    """Read the start of a game from a record's lines.

    They list each seat's whole deck, top first (`deck A 6,3,8,2,7,10,5`); in the record of an observer, only the hand
    that they drew (`hand A 6,3,8,2,7,10`).
    """
    word = "deck" if observer is None else "hand"
    cards: dict[str, Values] = {}
    for line in lines:
        match line.split():
            case [kind, letter, values] if kind == word and letter in frame.families and letter not in cards:
                cards[letter] = _values(values, f"{word} {letter}")
            case _:
                raise NotationError(f"{line!r} is not like '{word} A 6,3,8,2,7,10', once for each seat")
    for p, letter in enumerate(frame.families):
        if (letter in cards) != (observer in (None, p)):
            why = "are required" if observer in (None, p) else "are hidden from the observer of this game"
            raise NotationError(f"{word} {letter}: the cards that {letter} drew {why}")
    if observer is None:
        return dealt([cards[letter] for letter in frame.families], first, frame)
    return Table(
        round=1,
        turn=1,
        first=first,
        hands=tuple(cards.get(letter) for letter in frame.families),
        observer=observer,
        remembered_gold=(frame.starting_gold,) * frame.n_players if frame.hidden_gold else None,
        gold=tuple(
            OMITTED if frame.hidden_gold and p != observer else frame.starting_gold for p in range(frame.n_players)
        ),
    )


def write_deal(table: Table, frame: TableShape) -> list[str] | None:
    """Write the lines that `read_deal` reads; return None if `table` is not the start of a game.

    A hand has no order, so a deck begins with its cards from the highest down.
    """
    if any(table.rows) or any(table.piles) or table.ask != "select" or table.to_act != table.first:
        return None
    lines = []
    for letter, hand, deck in zip(frame.families, table.hands, table.decks, strict=True):
        if hand is not None:
            word = "deck" if table.observer is None else "hand"
            lines.append(f"{word} {letter} {_write_values((*hand, *(deck or ())))}")
    start = complete(read_deal(lines, table.first, table.observer, frame), frame)
    return lines if start == table else None


# --- actions ---------------------------------------------------------------------------------------------------

ACTIONS = (
    "select VALUE",
    "place LOCATION INDEX",
    "move CARD to LOCATION INDEX",
    "rob SEAT",
    "copy CARD",
    "swap SEAT",
    "replace VALUE",
    "order SEAT LOCATION",
    "discard CARD",
)
# The verbs of the text, and the types of actions that they stand for.
TYPES = {
    "select": "select",
    "place": "place_in",
    "move": "move",
    "rob": "rob",
    "copy": "copy",
    "swap": "swap",
    "replace": "replacement",
    "order": "order",
    "discard": "discard",
}
_VERBS = {kind: verb for verb, kind in TYPES.items()}


def read_action(text: str) -> dict[str, object]:
    """Read the parts of an action from its text."""
    match text.split():
        case ["select" | "replace" as verb, value]:
            return {"type": TYPES[verb], "card": _value(value, text)}
        case ["place", location, index]:
            return {"type": "place_in", "location": _location(location, "action"), "index": _index(index, text)}
        case ["move", card, "to", location, index]:
            to, at = _location(location, "action"), _index(index, text)
            return {"type": "move", "card": _card(card, text), "to": to, "index": at}
        case ["rob" | "swap" as verb, seat]:
            return {"type": verb, "player": _player(seat, text)}
        case ["copy" | "discard" as verb, card]:
            return {"type": verb, "card": _card(card, text)}
        case ["order", seat, location]:
            return {"type": "order", "player": _player(seat, text), "location": _location(location, "action")}
    raise NotationError(f"action: {text!r} is not one of {listed(ACTIONS)}")


def _value(text: str, action: str) -> int | str:
    """Read the value of a card; `?` stands for one that the observer of a record does not know."""
    if text == "?":
        return text
    if not re.fullmatch(r"[0-9]{1,2}", text) or not 1 <= int(text) <= 15:
        raise NotationError(f"action: {text!r} in {action!r} is not a card's value (1 to 15)")
    return int(text)


def _index(text: str, action: str) -> int:
    if not re.fullmatch(r"[0-9]{1,2}", text) or int(text) > INDEX_MAX:
        raise NotationError(f"action: {text!r} in {action!r} is not a place in a row (0 to {INDEX_MAX})")
    return int(text)


def _player(text: str, action: str) -> int:
    if len(text) != 1 or text not in SEATS:
        raise NotationError(f"action: {text!r} in {action!r} is not a seat ({listed(SEATS)})")
    return SEATS.index(text)


def _card(text: str, action: str) -> dict[str, int]:
    match = _CARD.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= 15 or match[2] not in SEATS:
        raise NotationError(f"action: {text!r} in {action!r} is not a card in a row, such as 12B")
    return {"value": int(match[1]), "player": SEATS.index(match[2])}


def write_action(parts: Mapping[str, object]) -> str:
    """Write the parts of an action as text."""
    verb = _VERBS[str(parts["type"])]
    if verb in ("select", "replace"):
        return f"{verb} {parts['card']}"
    elif verb == "place":
        return f"place {parts['location']} {parts['index']}"
    elif verb == "move":
        return f"move {_write_card(parts['card'])} to {parts['to']} {parts['index']}"
    elif verb in ("rob", "swap"):
        return f"{verb} {_write_seat(parts['player'])}"
    elif verb == "order":
        return f"order {_write_seat(parts['player'])} {parts['location']}"
    return f"{verb} {_write_card(parts['card'])}"


def _write_seat(seat: object) -> str:
    return SEATS[int(str(seat))]


def _write_card(card: object) -> str:
    return str(_row_card_of(card))


def _row_card_of(card: object) -> RowCard:
    assert isinstance(card, Mapping)
    return RowCard(card["value"], card["player"])


# --- reasons ---------------------------------------------------------------------------------------------------

_TASKS = {
    "select": "select a card from hand",
    "place": "place the selected card",
    "move": "choose a card to move and its new place",
    "rob": "choose a player to rob",
    "copy": "choose a neighbour to copy",
    "swap": "choose a player whose selected card is swapped",
    "replace": "choose the card that replaces the selected one",
    "order": "choose a player and the location to order",
    "discard": "choose a neighbour to discard",
}


def explain_illegal(
    table: Table, parts: Mapping[str, object], legal: list[dict[str, object]], frame: TableShape
) -> str:
    """Explain why an action is not possible: by the rule that it breaks, as far as the table shows it."""
    assert table.to_act is not None
    assert table.ask is not None
    verb = _VERBS[str(parts["type"])]
    seat = "chance" if table.to_act == CHANCE else frame.families[table.to_act]
    if verb != table.ask:
        return f"{seat} has to {_TASKS[table.ask]}"
    if verb in ("select", "replace"):
        holder = table.victim if verb == "replace" else table.to_act
        return f"{frame.families[holder or 0]} holds no {parts['card']}"
    elif verb == "place":
        return _explain_place(table, parts, str(parts["location"]), table.selected[table.to_act], frame)
    elif verb == "move":
        return _explain_move(table, parts, frame)
    elif verb == "rob":
        seats = " or ".join(_write_seat(action["player"]) for action in legal)
        return f"of the opponents, only {seats} owns a neighbour of {table.acting}"
    elif verb in ("swap", "order"):
        seats = " or ".join(sorted({_write_seat(action["player"]) for action in legal}))
        return f"of the others, only {seats} has not revealed yet"
    beside = " and ".join(map(str, neighbours(table, table.acting))) if table.acting else ""
    if verb == "copy" and _row_card_of(parts["card"]) in neighbours(table, table.acting or RowCard(0, 0)):
        return "only an immediate effect that does not itself copy can be copied"
    return f"{table.acting} has only {beside} beside it"


def _explain_place(table: Table, parts: Mapping[str, object], to: str, value: int | None, frame: TableShape) -> str:
    """Explain why a card of `value` cannot stand in the row `to` at the index in `parts`."""
    if parts["type"] == "place_in" and table.to_act is not None:
        order = table.orders[table.to_act]
        if order is not None and order != to:
            return f"{frame.families[table.to_act]} was ordered to place in the {order}"
    row = table.rows[LOCATIONS.index(to)]
    if value is None:
        return f"the {to} has {len(row)} cards, sorted by value"
    low = sum(card.value > value for card in row)
    high = sum(card.value >= value for card in row)
    places = str(low) if low == high else f"{low} to {high}"
    return f"rows are sorted by value, the highest on the left: in the {to} a {value} stands at {places}"


def _explain_move(table: Table, parts: Mapping[str, object], frame: TableShape) -> str:
    assert table.acting is not None
    card, to = _row_card_of(parts["card"]), str(parts["to"])
    here = next(location for location, row in zip(LOCATIONS, table.rows, strict=True) if table.acting in row)
    if frame.card(table.effect or 0).deed == Deed.FETCH:
        if to != here:
            return f"{table.acting} fetches a card into its own location, the {here}"
        if not any(card in row for row in table.rows) or card in table.rows[LOCATIONS.index(here)]:
            return f"{card} does not lie in another location"
    else:
        if card not in neighbours(table, table.acting):
            return f"{table.acting} moves a neighbour, and {card} is not one"
        if to == here:
            return f"a neighbour is moved to another location than the {here}"
    return _explain_place(table, parts, to, card.value, frame)
