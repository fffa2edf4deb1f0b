"""The messages of Oriflamme and its prototype: rulesets, tables, actions, deals and cards in answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from eminence.v1 import oriflamme_pb2 as pb
from eminence.v1 import solver_pb2
from engine_cy import Action, Game, Position, View
from engine_cy.errors import listed
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.oriflamme.notation import read_card, write_card
from engine_cy.oriflamme.notation import write_action as action_text
from engine_cy.oriflamme.table import PlayedCard, Table, TableShape, complete, dealt, in_queue
from server.codec.fields import (
    Words,
    check_derived,
    check_length,
    per_seat,
    read_optional_seat,
    read_seat,
    required,
    seat_index,
    which,
    write_seat,
)
from server.refusals import Refusal, at, missing
from solver.named_beliefs import SeatBelief
from solver.secrecy import Information

CARDS = Words(pb.OriflammeCard)
QUESTIONS = Words(pb.OriflammeQuestion)
ENDS = Words(pb.OriflammeEnd)
UNCOVERED = Words(pb.OriflammeUncovered, {"one_shot": "one-shot"})

SLOTS_MAX = 64
STACK_MAX = 32
CARDS_MAX = 32

Kinds = tuple[str, ...]


# --- rulesets --------------------------------------------------------------------------------------------------


def read_switches(message: Any, field: str) -> dict[str, Any]:
    """Read the switches of Oriflamme or its prototype that a message has set."""
    given = {switch.name: value for switch, value in message.ListFields()}
    if "uncovered_resolves" in given:
        given["uncovered_resolves"] = UNCOVERED.read(given["uncovered_resolves"], f"{field}.uncovered_resolves")
    return given


def write_switches(message: Any, changes: Mapping[str, Any]) -> None:
    """Write switches into the message of Oriflamme or its prototype."""
    message.SetInParent()
    for name, value in changes.items():
        setattr(message, name, UNCOVERED.write(value) if name == "uncovered_resolves" else value)


# --- tables: reading -------------------------------------------------------------------------------------------


def read_view(game: Oriflamme, message: pb.OriflammeView, field: str, known: Table | None = None) -> View:
    """Read a view. `known` is the table at the end of its history, which numbers each family's cards."""
    observer = read_seat(message.seen_by, game.n_players, f"{field}.seen_by")
    for name in ("table", "own"):
        required(message, name, field)
    draft = _read_draft(game, message.table, {observer: message.own}, observer, field, known)
    with at(field, lambda path: _field_of(path, field, observer, message.table)):
        table = complete(draft, game.frame)
        view = game.from_table(table)
    assert isinstance(view, View)
    check_derived(message.table.hand_sizes, hand_sizes(table, game.frame), f"{field}.table.hand_sizes")
    return view


def read_position(game: Oriflamme, message: Any, field: str) -> Position:
    """Read a position from a table and the secrets of each seat."""
    required(message, "table", field)
    table, secrets = message.table, message.secrets
    per_seat(secrets, game.n_players, f"{field}.secrets")
    draft = _read_draft(game, table, dict(enumerate(secrets)), None, field, None)
    with at(field, lambda path: _field_of(path, field, None, table)):
        whole = complete(draft, game.frame)
        position = game.from_table(whole)
    assert isinstance(position, Position)
    check_derived(table.hand_sizes, hand_sizes(whole, game.frame), f"{field}.table.hand_sizes")
    return position


def _read_draft(
    game: Oriflamme,
    table: pb.OriflammeTable,
    secrets: Mapping[int, pb.OriflammeSecrets],
    observer: int | None,
    field: str,
    known: Table | None,
) -> Table:
    n, path = game.n_players, f"{field}.table"
    own = {seat: f"{field}.own" if observer is not None else f"{field}.secrets[{seat}]" for seat in secrets}
    face_down = {seat: _kinds(said.face_down, f"{own[seat]}.face_down") for seat, said in secrets.items()}
    hands = {seat: _kinds(said.hand, f"{own[seat]}.hand") for seat, said in secrets.items()}
    phase = QUESTIONS.read(table.question, f"{path}.question")
    to_act = read_optional_seat(table.to_act, n, f"{path}.to_act")
    if to_act is None and phase != "over":
        raise missing(f"{path}.to_act", "a seat is required: the game is not over")
    if not table.round:
        raise missing(f"{path}.round")
    acting = CARDS.read_optional(table.acting_as, f"{path}.acting_as")
    if acting is not None and phase in ("place", "reveal", "over"):
        raise Refusal("CONTRADICTION", f"{path}.acting_as", f"{acting!r} is given, but no card acts yet: {phase}")
    points = per_seat(table.points, n, f"{path}.points")
    piles = per_seat(table.piles, n, f"{path}.piles") if table.piles else ()
    slots = _read_slots(table, n, face_down, path, known)
    queue = in_queue(slots, n)
    for seat, kinds in face_down.items():
        n_down = sum(not card.face_up for card in queue[seat])
        if n_down != len(kinds):
            why = f"{len(kinds)} cards, but {n_down} of this seat lie face down in the queue"
            raise Refusal(
                "NO_WORLD_FITS" if observer is not None else "INVALID_POSITION", f"{own[seat]}.face_down", why
            )
    return Table(
        slots=slots,
        round=table.round,
        first=read_seat(table.first, n, f"{path}.first"),
        phase=phase,
        to_act=to_act,
        cursor=table.cursor if table.HasField("cursor") else None,
        acting=acting,
        points=tuple(points),
        hands=tuple(hands.get(seat) for seat in range(n)),
        piles=tuple(_kinds(pile.cards, f"{path}.piles[{seat}].cards") for seat, pile in enumerate(piles)) or ((),) * n,
        observer=observer,
    )


def _read_slots(
    table: pb.OriflammeTable, n: int, face_down: Mapping[int, Kinds], path: str, known: Table | None
) -> tuple[tuple[PlayedCard, ...], ...]:
    check_length(table.slots, SLOTS_MAX, f"{path}.slots")
    hidden: dict[int, Iterator[str]] = {seat: iter(kinds) for seat, kinds in face_down.items()}
    slots = []
    for s, slot in enumerate(table.slots):
        stack = slot.cards
        check_length(stack, STACK_MAX, f"{path}.slots[{s}].cards")
        family = read_seat(slot.family, n, f"{path}.slots[{s}].family")
        down = hidden.get(family, iter(()))
        cards = []
        for c, card in enumerate(stack):
            number = card.face_up
            kind = CARDS.words.get(number)
            if number and kind is None:
                raise CARDS.refusal(number, f"{path}.slots[{s}].cards[{c}].face_up")
            nth = card.nth or _nth(known, s, c)
            cards.append(PlayedCard(family, kind or next(down, None), kind is not None, card.tokens, nth))
        slots.append(tuple(cards))
    return tuple(slots)


def _nth(known: Table | None, s: int, c: int) -> int | None:
    """Return the number that the history gives a card among those of its family; None without one."""
    if known is None or s >= len(known.slots) or c >= len(known.slots[s]):
        return None
    return known.slots[s][c].nth


def _kinds(cards: Sequence[int], field: str) -> Kinds:
    check_length(cards, CARDS_MAX, field)
    return CARDS.read_all(cards, field)


_CARD_PATH = re.compile(r"slots\[(\d+)\](?:\[(\d+)\])?(?:\.(\w+))?")
_NAMES = {"phase": "question", "acting": "acting_as", "card": "face_up"}


def _field_of(path: str, field: str, observer: int | None, table: pb.OriflammeTable) -> str:
    """Return the message's field for a path of the engine."""
    path = seat_index(path.partition(".")[2])
    found = _CARD_PATH.fullmatch(path)
    if found:
        s, c, part = found.groups()
        if c is None or part == "family":
            return f"{field}.table.slots[{s}]" + (".family" if part else "")
        card = table.slots[int(s)].cards[int(c)]
        if part == "card" and not card.face_up:
            seat = table.slots[int(s)].family - 1
            return f"{field}.own.face_down" if seat == observer else f"{field}.secrets[{seat}].face_down"
        return f"{field}.table.slots[{s}].cards[{c}]" + (f".{_NAMES.get(part, part)}" if part else "")
    if path == "observer":
        return f"{field}.seen_by"
    elif path.startswith("hands["):
        return f"{field}.own.hand" if observer is not None else f"{field}.secrets{path[5:]}.hand"
    elif path.startswith("slots."):
        return f"{field}.table.slots"
    elif not path or path.startswith("cards["):
        return f"{field}.table"
    return f"{field}.table.{_NAMES.get(path, path)}"


def has_words(game: Game) -> bool:
    """Return whether the contract has a value for every card of the edition; if not, text replaces messages."""
    assert isinstance(game, Oriflamme)
    return all(CARDS.write_or_unspecified(card.id) for card in game.cards)


# --- tables: writing -------------------------------------------------------------------------------------------


def write_view(view: View) -> pb.OriflammeView | None:
    table = view.table
    if not has_words(view.game):
        return None
    return pb.OriflammeView(
        seen_by=write_seat(view.observer),
        table=write_table(table, _frame(view)),
        own=write_secrets(table, view.observer),
    )


def write_position(position: Position, message: Any) -> bool:
    game, table = position.game, position.table
    assert isinstance(game, Oriflamme)
    if not has_words(game):
        return False
    message.table.CopyFrom(write_table(table, game.frame))
    message.secrets.extend(write_secrets(table, seat) for seat in range(game.n_players))
    return True


def write_table(table: Table, frame: TableShape) -> pb.OriflammeTable:
    """Write the public part of a table."""
    message = pb.OriflammeTable(
        round=table.round,
        first=write_seat(table.first),
        question=QUESTIONS.write(table.phase or "over"),
        to_act=write_seat(table.to_act),
        cursor=table.cursor,
        points=table.points,
        piles=[pb.OriflammeCards(cards=map(CARDS.write, pile)) for pile in table.piles],
        hand_sizes=hand_sizes(table, frame),
    )
    if table.acting is not None and table.cursor is not None and table.acting != table.slots[table.cursor][0].card:
        message.acting_as = CARDS.write(table.acting)
    for slot in table.slots:
        written = message.slots.add(family=write_seat(slot[0].family))
        for card in slot:
            kind = CARDS.write(card.card) if card.face_up and card.card else 0
            written.cards.add(face_up=kind, tokens=card.tokens, nth=card.nth or 0)
    return message


def write_secrets(table: Table, seat: int) -> pb.OriflammeSecrets:
    """Write the cards that only `seat` sees."""
    mine = [
        card.card for slot in table.slots for card in slot if card.family == seat and not card.face_up and card.card
    ]
    return pb.OriflammeSecrets(hand=map(CARDS.write, table.hands[seat] or ()), face_down=map(CARDS.write, mine))


def hand_sizes(table: Table, frame: TableShape) -> list[int]:
    queue = in_queue(table.slots, frame.n_players)
    return [frame.hand_size - len(pile) - len(cards) for pile, cards in zip(table.piles, queue, strict=True)]


def _frame(view: View) -> TableShape:
    game = view.game
    assert isinstance(game, Oriflamme)
    return game.frame


# --- deals -----------------------------------------------------------------------------------------------------


def read_deal(game: Oriflamme, message: pb.OriflammeDeal, field: str) -> Position:
    first = read_seat(message.first, game.n_players, f"{field}.first")
    per_seat(message.aside, game.n_players, f"{field}.aside")
    aside = [_kinds(cards.cards, f"{field}.aside[{seat}].cards") for seat, cards in enumerate(message.aside)]
    for seat, kinds in enumerate(aside):
        for i, kind in enumerate(kinds):
            if kind not in game.frame.ids:
                why = f"{kind!r} is no card of this edition ({listed(game.frame.ids)})"
                raise Refusal("INVALID_POSITION", f"{field}.aside[{seat}].cards[{i}]", why)
    with at(field, lambda path: f"{field}.{seat_index(path)}" if path else field):
        position = game.from_table(dealt(aside, first, game.frame))
    assert isinstance(position, Position)
    return position


def write_deal(start: Position) -> pb.OriflammeDeal | None:
    """Write the deal of the game that starts at `start`; None in the middle of a game."""
    game, table = start.game, start.table
    assert isinstance(game, Oriflamme)
    if not has_words(game) or game.write_deal(start) is None:
        return None
    deal = pb.OriflammeDeal(first=write_seat(table.first))
    for hand in table.hands:
        left = game.frame.ids * game.frame.copies
        for kind in hand:
            left.remove(kind)
        deal.aside.add(cards=map(CARDS.write, left))
    return deal


# --- actions ---------------------------------------------------------------------------------------------------


def read_action(game: Oriflamme, message: pb.OriflammeAction, field: str) -> Action:
    kind = which(message, "action", field)
    path, said = f"{field}.{kind}", getattr(message, kind)
    parts: dict[str, Any] = {"type": kind}
    if kind == "place":
        parts["card"] = CARDS.read_optional(said.card, f"{path}.card") or "?"
        if parts["card"] not in ("?", *game.frame.ids):
            why = f"{parts['card']!r} is no card of this edition ({listed(game.frame.ids)})"
            raise Refusal("INVALID_NOTATION", f"{path}.card", why)
        where = which(said, "where", path)
        parts["at"] = ENDS.read(said.end, f"{path}.end") if where == "end" else {"on": said.on_slot}
    elif kind in ("target", "copy", "move"):
        parts["slot"] = _slot(said, "slot", path)
        if kind == "move":
            to = which(said, "to", path)
            parts["to"] = {"gap": said.gap} if to == "gap" else {"on": said.on_slot}
    elif kind == "rob":
        parts["player"] = read_seat(said.seat, game.n_players, f"{path}.seat")
    elif kind == "pair":
        parts["slots"] = sorted((_slot(said, "slot", path), _slot(said, "other_slot", path)))
    with at(path):
        return game.action(action_text(parts, game.cards))


def _slot(said: Any, name: str, path: str) -> int:
    required(said, name, path)
    slot: int = getattr(said, name)
    return slot


def write_action(action: Action) -> pb.OriflammeAction | None:
    """Write an action; return None if it places a card without a value in the contract."""
    parts = action.fields
    kind = parts["type"]
    if kind == "place" and parts["card"] != "?" and not CARDS.write_or_unspecified(parts["card"]):
        return None
    message = pb.OriflammeAction()
    said = getattr(message, kind)
    said.SetInParent()
    if kind == "place":
        if parts["card"] != "?":
            said.card = CARDS.write(parts["card"])
        if isinstance(parts["at"], dict):
            said.on_slot = parts["at"]["on"]
        else:
            said.end = ENDS.write(parts["at"])
    elif kind == "rob":
        said.seat = write_seat(parts["player"])
    elif kind == "pair":
        said.slot, said.other_slot = parts["slots"]
    elif kind in ("target", "copy", "move"):
        said.slot = parts["slot"]
    if kind == "move":
        if "gap" in parts["to"]:
            said.gap = parts["to"]["gap"]
        else:
            said.on_slot = parts["to"]["on"]
    return message


def read_shown(game: Oriflamme, cards: Sequence[int], field: str) -> list[str]:
    """Read the names of shown cards."""
    kinds = _kinds(cards, field)
    for i, kind in enumerate(kinds):
        if kind not in game.frame.ids:
            why = f"{kind!r} is no card of this edition ({listed(game.frame.ids)})"
            raise Refusal("INVALID_NOTATION", f"{field}[{i}]", why)
    return [write_card(kind, game.cards) for kind in kinds]


def write_shown(game: Oriflamme, names: Sequence[str]) -> list[Any] | None:
    """Write shown cards as values; None if a card has none in the contract."""
    cards = [_number(game, name) for name in names]
    return cards if all(cards) else None


def tidy_shown(game: Oriflamme, names: Sequence[str], field: str) -> list[str]:
    """Return the names of shown cards in the engine's spelling."""
    with at(field):
        return [write_card(read_card(name, game.cards), game.cards) for name in names]


def _number(game: Oriflamme, name: str) -> Any:
    """Return the value of the card with this name; UNSPECIFIED for a card without a value in the contract."""
    return CARDS.write_or_unspecified(read_card(name, game.cards))


# --- cards in answers ------------------------------------------------------------------------------------------


def write_belief(message: solver_pb2.SeatBelief, belief: SeatBelief, game: Oriflamme) -> None:
    numbers = numbers_of(game)
    _add_cards(message.hand, belief.hand, numbers)
    for card in sorted(belief.cards, key=lambda card: (card.place["slot"], card.place["under"])):
        place: Any = card.place
        spot = message.face_down.add(slot=place["slot"], depth=place["under"], nth=place["nth"])
        _add_cards(spot.cards, card.kinds, numbers)


def _add_cards(written: Any, kinds: Mapping[str, float], numbers: Mapping[str, Any]) -> None:
    for name, probability in kinds.items():
        number = numbers[name]
        # The member of the oneof is set even if it is UNSPECIFIED.
        written.add(oriflamme=number, name="" if number else name, probability=probability)


@lru_cache
def numbers_of(game: Oriflamme) -> dict[str, Any]:
    """Return the value of each card name; UNSPECIFIED if the contract has none."""
    return {card.name: CARDS.write_or_unspecified(card.id) for card in game.cards}


def write_information(message: solver_pb2.CardInformation, card: Information, game: Oriflamme) -> None:
    message.card = _number(game, card.card)
    message.name = "" if message.card else card.card
    message.slot, message.depth = int(card.place["slot"]), int(card.place["under"])
