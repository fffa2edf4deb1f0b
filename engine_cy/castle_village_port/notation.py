"""Read and write positions, views and deals as text. docs/notation.md describes the format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from engine_cy.castle_village_port.actions import ACTIONS
from engine_cy.castle_village_port.cards import LOCATIONS
from engine_cy.castle_village_port.table import (
    EFFECT_ASKS,
    Deal,
    Parts,
    Row,
    RowCard,
    Secrets,
    SeenTable,
    Table,
    TableShape,
    Values,
    Walk,
    WholeTable,
    complete,
    dealt,
    neighbours,
)
from engine_cy.castle_village_port.words import Deed
from engine_cy.errors import HiddenCardError, NotationError, listed
from engine_cy.notation import read_fields, read_letter, read_number, read_observer
from engine_cy.seats import CHANCE, CHANCE_SEAT, SEATS
from engine_cy.tables import OMITTED, refusal

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


def read_parts(text: str, shape: TableShape) -> Parts:
    """Read a position or view, whose text may omit fields."""
    fields = read_fields(text.split("|"), _FIELDS, text)
    observer = read_observer(fields.get("seen"), shape.families)
    question = _read_ask(fields.get("ask"), shape)
    others = [p for p in shape.seats if observer not in (None, p)]
    selected = _entries(fields, "selected", shape, observer, _selected, others)
    castle, village, port = (_row(fields.get(location, "-"), location, shape) for location in LOCATIONS)
    remembered = fields.get("remembered_gold")
    table = Table(
        castle=castle,
        village=village,
        port=port,
        round=read_number(fields.get("round"), "round"),
        turn=read_number(fields.get("turn"), "turn"),
        first=read_letter(fields.get("first"), "first", shape.families),
        ask=question.ask,
        to_act=question.to_act,
        acting=question.acting,
        effect=question.effect,
        victim=question.victim,
        gold=_gold(fields, shape, observer),
        remembered_gold=None if remembered is None else _numbers(remembered, "remembered_gold"),
        orders=tuple(None if word == "-" else _location(word, "orders") for word in fields.get("orders", "").split()),
        piles=OMITTED if "piles" not in fields else tuple(_values(word, "piles") for word in fields["piles"].split()),
        walk=_read_walk(fields.get("walk"), shape),
        selected=OMITTED if selected is None else tuple(p for p in shape.seats if selected[p] != 0),
    )
    hands = _entries(fields, "hands", shape, observer, partial(_values, field="hands"), others)
    hidden_decks = () if observer is None else shape.seats
    decks: Any = _entries(fields, "decks", shape, observer, partial(_values, field="decks"), hidden_decks)
    secrets = tuple(
        Secrets(OMITTED if hands is None else hands[p], OMITTED if selected is None else selected[p])
        for p in shape.seats
    )
    if observer is None:
        return WholeTable(table, secrets, decks)
    return SeenTable(observer, table, secrets[observer])


def write_parts(parts: Parts, shape: TableShape) -> str:
    """Write a complete table in one line."""
    table, observer = parts.table, parts.observer
    secrets = [parts.secrets_of(p) for p in shape.seats]
    gold = ["?" if table.gold is None and p != observer else str(n) for p, n in enumerate(table.known_gold)]
    selected = ["-" if p not in table.selected else str(own.selected) if own else "?" for p, own in enumerate(secrets)]
    fields = [f"{location} {_write_row(row, ' ')}" for location, row in zip(LOCATIONS, table.rows, strict=True)]
    fields += [f"round {table.round}", f"turn {table.turn}", f"first {SEATS[table.first]}", f"ask {_write_ask(table)}"]
    fields.append("gold " + " ".join(gold))
    if table.remembered_gold is not None:
        fields.append("remembered_gold " + " ".join(map(str, table.remembered_gold)))
    fields.append("selected " + " ".join(selected))
    if any(table.orders):
        fields.append("orders " + " ".join(order or "-" for order in table.orders))
    fields.append("hands " + " ".join("?" if own is None else _write_values(own.hand) for own in secrets))
    if isinstance(parts, WholeTable):
        fields.append("decks " + " ".join(map(_write_values, parts.decks)))
    fields.append("piles " + " ".join(map(_write_values, table.piles)))
    if table.walk is not None:
        words = ["walk", table.walk.location]
        words += ["due", _write_row(table.walk.due, ",")] if table.walk.due else []
        words += ["ranked", _write_row(table.walk.ranked, ",")] if table.walk.ranked else []
        fields.append(" ".join(words + ["right"] * table.walk.from_right))
    if observer is not None:
        fields.append(f"seen by {SEATS[observer]}")
    return " | ".join(fields)


class _Question(NamedTuple):
    """The content of the field `ask`."""

    ask: str | None = None
    to_act: int | None = None
    acting: RowCard | None = None
    effect: int | None = None
    victim: int | None = None


def _read_ask(text: str | None, shape: TableShape) -> _Question:
    if text is None:
        return _Question()
    victim: int | None = None
    match text.split():
        case ["over" | "walk" as ask]:
            return _Question(ask)
        case [letter, "select" | "place" as ask]:
            return _Question(ask, read_letter(letter, "ask", shape.families))
        case ["*", "replace" as ask, letter, "by", card, *copied]:
            to_act, victim = CHANCE, read_letter(letter, "ask", shape.families)
        case [letter, ask, "by", card, *copied] if ask in EFFECT_ASKS and ask != "replace":
            to_act = read_letter(letter, "ask", shape.families)
        case _:
            raise _ask_error(text)
    match copied:
        case []:
            effect = None
        case ["as", value]:
            effect = read_number(value, "ask")
        case _:
            raise _ask_error(text)
    return _Question(ask, to_act, _row_card(card, "ask", shape), effect, victim)


def _ask_error(text: str) -> NotationError:
    return NotationError(
        f"ask: {text!r} is not like 'A select', 'A place', 'A move by 12A', 'A move by 10A as 12' "
        f"({listed(ask for ask in EFFECT_ASKS if ask != 'replace')}), '* replace B by 9A', 'walk' or 'over'"
    )


def _write_ask(table: Table) -> str:
    if table.ask in ("over", "walk"):
        return str(table.ask)
    if table.ask == "replace":
        text = f"{CHANCE_SEAT} replace {SEATS[table.victim or 0]}"
    else:
        text = f"{SEATS[table.to_act or 0]} {table.ask}"
    if table.acting is not None:
        text += f" by {table.acting}"
        if table.effect != table.acting.value:
            text += f" as {table.effect}"
    return text


def _read_walk(text: str | None, shape: TableShape) -> Walk | None:
    if text is None:
        return None
    words = text.split()
    example = "is not like 'village due 7A,1C ranked 15A,12B right'"
    if not words:
        raise NotationError(f"walk: {text!r} {example}")
    location = _location(words.pop(0), "walk")
    due: Row = ()
    ranked: Row = ()
    from_right = False
    while words:
        match words:
            case ["due", cards, *rest] if not due:
                due, words = _row(cards, "due", shape, ","), rest
            case ["ranked", cards, *rest] if not ranked:
                ranked, words = _row(cards, "ranked", shape, ","), rest
            case ["right", *rest] if not from_right:
                from_right, words = True, rest
            case _:
                raise NotationError(f"walk: {text!r} {example}")
    return Walk(location, due, ranked, from_right)


def _row(text: str, field: str, shape: TableShape, between: str | None = None) -> Row:
    if text in ("", "-"):
        return ()
    return tuple(_row_card(word, f"{field}[{i}]", shape) for i, word in enumerate(text.split(between)))


def _write_row(row: Row, between: str) -> str:
    return between.join(map(str, row)) or "-"


def _row_card(text: str, field: str, shape: TableShape) -> RowCard:
    match = _CARD.fullmatch(text)
    if match is None:
        raise NotationError(f"{field}: {text!r} is not a card in a row, such as 12B")
    value, letter = match.groups()
    return RowCard(int(value), read_letter(letter, f"{field}.owner", shape.families))


def _location(text: str, field: str) -> str:
    if text not in LOCATIONS:
        raise NotationError(f"{field}: {text!r} is not a location ({listed(LOCATIONS)})")
    return text


def _numbers(text: str, field: str) -> tuple[int, ...]:
    return tuple(read_number(word, field) for word in text.split())


def _entries(
    fields: Mapping[str, str],
    field: str,
    shape: TableShape,
    observer: int | None,
    read: Any,
    hidden: Sequence[int] = (),
) -> tuple[Any, ...] | None:
    """Read a field with an entry for each seat, `?` for the hidden ones; None if the field was omitted."""
    if field not in fields:
        return None
    words = fields[field].split()
    if len(words) != shape.n_players:
        why = f"entries, not one for each of {shape.n_players} players"
        raise refusal(observer, field, len(words), why)
    for p, word in enumerate(words):
        path = f"{field}[{SEATS[p]}]"
        if p in hidden and word not in ("?", "-" if field == "selected" else "?"):
            raise refusal(observer, path, word, "is hidden from this observer", HiddenCardError)
        if p not in hidden and word == "?":
            raise refusal(observer, path, word, "must be known")
    return tuple(None if word == "?" else read(word) for word in words)


def _gold(fields: Mapping[str, str], shape: TableShape, observer: int | None) -> tuple[int, ...] | None:
    """Read the gold. In a view under `hidden_gold` it repeats the observer's own, which is among the remembered."""
    if "gold" not in fields:
        return None
    if not shape.hidden_gold or observer is None:
        gold: tuple[int, ...] | None = _entries(fields, "gold", shape, observer, partial(read_number, field="gold"))
        return gold
    remembered = _numbers(fields.get("remembered_gold", ""), "remembered_gold")
    for p, word in enumerate(fields["gold"].split()):
        path = f"gold[{SEATS[p] if p < len(SEATS) else p}]"
        if p != observer and word != "?":
            why = "is hidden from its observer; remembered_gold holds the gold that they remember"
            raise refusal(observer, path, word, why, HiddenCardError)
        if p == observer and p < len(remembered) and word != str(remembered[p]):
            raise refusal(observer, path, word, f"is seen by its observer, but remembered_gold is {remembered[p]}")
    return None


def _selected(word: str) -> int:
    return 0 if word == "-" else read_number(word, "selected")


def _values(text: str, field: str) -> Values:
    return () if text == "-" else tuple(read_number(word, field) for word in text.split(","))


def _write_values(values: Sequence[int]) -> str:
    return ",".join(map(str, values)) or "-"


# --- deals -----------------------------------------------------------------------------------------------------


def read_deal(lines: list[str], first: int, observer: int | None, shape: TableShape) -> Parts:
    """Read the start of a game from a record's lines.

    They list each seat's whole deck, top first (`deck A 6,3,8,2,7,10,5`); in the record of an observer, only the hand
    that they drew (`hand A 6,3,8,2,7,10`).
    """
    word = "deck" if observer is None else "hand"
    cards: dict[str, Values] = {}
    for line in lines:
        match line.split():
            case [kind, letter, values] if kind == word and letter in shape.families and letter not in cards:
                cards[letter] = _values(values, f"{word} {letter}")
            case _:
                raise NotationError(f"{line!r} is not like '{word} A 6,3,8,2,7,10', once for each seat")
    for p, letter in enumerate(shape.families):
        if (letter in cards) != (observer in (None, p)):
            why = "are required" if observer in (None, p) else "are hidden from the observer of this game"
            raise NotationError(f"{word} {letter}: the cards that {letter} drew {why}")
    if observer is None:
        return dealt(Deal(first, tuple(cards[letter] for letter in shape.families)), shape)
    remembered = (shape.starting_gold,) * shape.n_players if shape.hidden_gold else None
    table = Table(round=1, turn=1, first=first, remembered_gold=remembered)
    return SeenTable(observer, table, Secrets(cards[SEATS[observer]]))


def deal_of(parts: Parts, shape: TableShape) -> Deal | None:
    """Return the deal of the game that starts at `parts`; None in the middle of a game.

    A hand has no order, so a deck begins with its cards from the highest down.
    """
    if not isinstance(parts, WholeTable):
        return None
    decks = tuple((*own.hand, *deck) for own, deck in zip(parts.secrets, parts.decks, strict=True))
    if any(len(deck) != len(shape.cards) for deck in decks):
        return None
    deal = Deal(parts.table.first, decks)
    return deal if complete(dealt(deal, shape), shape) == parts else None


def write_deal(parts: Parts, shape: TableShape) -> list[str] | None:
    """Write the lines that `read_deal` reads; return None if `parts` are not the start of a game."""
    if isinstance(parts, WholeTable):
        deal = deal_of(parts, shape)
        if deal is None:
            return None
        return [f"deck {letter} {_write_values(deck)}" for letter, deck in zip(shape.families, deal.decks, strict=True)]
    if len(parts.own.hand) != shape.drawn(1):
        return None
    lines = [f"hand {SEATS[parts.observer]} {_write_values(parts.own.hand)}"]
    start = complete(read_deal(lines, parts.table.first, parts.observer, shape), shape)
    return lines if start == parts else None


# --- reasons ---------------------------------------------------------------------------------------------------


def explain_illegal(parts: Parts, fields: Mapping[str, Any], legal: list[dict[str, Any]], shape: TableShape) -> str:
    """Explain why an action is not possible: by the rule that it breaks, as far as the table shows it."""
    table = parts.table
    assert table.to_act is not None
    assert table.ask is not None
    verb = str(fields["type"])
    seat = "chance" if table.to_act == CHANCE else shape.families[table.to_act]
    other = ACTIONS.explain_other(fields, table.ask, seat)
    if other is not None:
        return other
    elif verb in ("select", "replace"):
        holder = table.victim if verb == "replace" else table.to_act
        return f"{shape.families[holder or 0]} holds no {fields['card']}"
    elif verb == "place":
        order = table.orders[table.to_act]
        if order is not None and order != fields["location"]:
            return f"{seat} was ordered to place in the {order}"
        own = parts.secrets_of(table.to_act)
        return _explain_place(table, str(fields["location"]), own.selected if own else None)
    elif verb == "move":
        return _explain_move(table, fields, shape)
    elif verb == "rob":
        seats = " or ".join(SEATS[action["player"]] for action in legal)
        return f"of the opponents, only {seats} owns a neighbour of {table.acting}"
    elif verb in ("swap", "order"):
        seats = " or ".join(sorted({SEATS[action["player"]] for action in legal}))
        return f"of the others, only {seats} has not revealed yet"
    beside = " and ".join(map(str, neighbours(table, table.acting))) if table.acting else ""
    if verb == "copy" and RowCard(**fields["card"]) in neighbours(table, table.acting or RowCard(0, 0)):
        return "only an immediate effect that does not itself copy can be copied"
    return f"{table.acting} has only {beside} beside it"


def _explain_place(table: Table, to: str, value: int | None) -> str:
    """Explain why a card of `value` cannot stand at a place in the row `to`."""
    row = table.rows[LOCATIONS.index(to)]
    if value is None:
        return f"the {to} has {len(row)} cards, sorted by value"
    low = sum(card.value > value for card in row)
    high = sum(card.value >= value for card in row)
    places = str(low) if low == high else f"{low} to {high}"
    return f"rows are sorted by value, the highest on the left: in the {to} a {value} stands at {places}"


def _explain_move(table: Table, fields: Mapping[str, Any], shape: TableShape) -> str:
    assert table.acting is not None
    card, to = RowCard(**fields["card"]), str(fields["to"])
    here = next(location for location, row in zip(LOCATIONS, table.rows, strict=True) if table.acting in row)
    if shape.card(table.effect or 0).deed == Deed.FETCH:
        if to != here:
            return f"{table.acting} fetches a card into its own location, the {here}"
        if not any(card in row for row in table.rows) or card in table.rows[LOCATIONS.index(here)]:
            return f"{card} does not lie in another location"
    else:
        if card not in neighbours(table, table.acting):
            return f"{table.acting} moves a neighbour, and {card} is not one"
        if to == here:
            return f"a neighbour is moved to another location than the {here}"
    return _explain_place(table, to, card.value)
