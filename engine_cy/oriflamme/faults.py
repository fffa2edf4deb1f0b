"""The sentences for the rules that validate.pyx checks."""

from __future__ import annotations

from engine_cy.errors import HiddenCardError, NoWorldError, listed
from engine_cy.oriflamme.table import Parts, TableShape, kinds_in_queue, path_of
from engine_cy.tables import Fault, Sentence, seat_letter

_NOT_HERE = "is not at this table ({seats})"
_NO_CARD = "is no card of this edition ({cards})"
_CARD = "table.slots[{at}].cards[{index}]"

# Braces name a breach's numbers, and seats and cards by those: `at` is a seat or slot, `index` a place in it or a kind,
# `own` the path of a seat's secrets, `card` that of the kind of a card in the queue.
SENTENCES = {
    "FIRST": Sentence("table.first", _NOT_HERE),
    "TO_ACT": Sentence("table.to_act", _NOT_HERE),
    "PHASE": Sentence("table.ask", "is no question"),
    "ROUND": Sentence("table.round", "is not in 1..{bound}"),
    "OVER_TOO_EARLY": Sentence("table.round", "is too early: the game is over after round {bound}"),
    "TURN": Sentence("turn", "cards are placed this round, which does not fit the phase", shows=int),
    "PLACING_SEAT": Sentence("table.to_act", "is not the seat to place next"),
    "POINTS": Sentence("table.points[{seat}]", "is not in 0..{bound}"),
    "ABSENT_SEAT": Sentence("{own}.hand", "or other bytes belong to no player", shows=int),
    "PADDING": Sentence("padding[{index}]", "is not zero", shows=int),
    "N_SLOTS": Sentence("table.slots", "slots are more than the {bound} cards of all families", shows=int),
    "SLOT": Sentence("table.slots[{at}]", "is an empty slot, or a card behind the last one", shows=int),
    "CARD_ID": Sentence(_CARD, "is not the number of a card", shows=int),
    "CARD_TWICE": Sentence(_CARD, "is the number of a card in another place", shows=int),
    "FAMILY": Sentence(_CARD, "is not a card of the family with its number", shows=int),
    "STACK": Sentence(_CARD, "lies in a stack of {owner}; a slot has one family", shows=seat_letter),
    "UNKNOWN_IN_POSITION": Sentence("{card}", "is only for views; a position names every card"),
    "KNOWN_TO_OBSERVER": Sentence("{card}", "is a card that the observer knows; name it"),
    "HIDDEN_CARD": Sentence("{card}", "lies face down and is {owner}'s: the observer cannot know it", HiddenCardError),
    "CARD": Sentence("{card}", _NO_CARD),
    "TOKENS": Sentence(_CARD + ".tokens", "is not in 0..{bound}"),
    "TOKENS_FACE_UP": Sentence(_CARD + ".tokens", "lie on a face-up card; only face-down ones have any"),
    "FACE_UP_CARD": Sentence("{card}", "cannot stay face up in the queue"),
    "UNUSED_CARD": Sentence("cards[{index}]", "is not in the queue, but has other bytes than none", shows=int),
    "PILE_SIZE": Sentence(
        "table.piles[{seat}]", "cards and {index} in the queue, but {seat} has placed {bound}", NoWorldError, shows=int
    ),
    "NTH": Sentence("table.slots", "is not in 1..{bound}, the numbers of the cards that {seat} has placed", shows=int),
    "HIDDEN_HAND": Sentence("{own}.hand", "is hidden from this observer", HiddenCardError),
    "HAND_MISSING": Sentence("{own}.hand", "must be known"),
    "HAND_SIZE": Sentence("{own}.hand", "cards; {seat} has {bound} left", NoWorldError, shows=int),
    "CARD_BITS": Sentence("{own}.hand", "has bits that stand for no card", shows=int),
    "COPIES": Sentence("table", "copies of {seat}'s {kind}; a family has {bound}", NoWorldError, shows=int),
    "CURSOR": Sentence("table.cursor", "is not one of the {bound} slots"),
    "OWNER": Sentence("table.to_act", "is not the owner of the card at the cursor, {owner}"),
    "REVEAL_FACE_UP": Sentence("table.ask", "does not fit the card at the cursor, which lies face up"),
    "ACT_FACE_DOWN": Sentence("table.ask", "does not fit the card at the cursor, which lies face down"),
    "NO_ACTING_CARD": Sentence("table.acting", "is set, but no card acts"),
    "ACTING": Sentence("table.acting", "is not the ability of the card at the cursor"),
    "QUESTION": Sentence("table.ask", "is not a question of this ability ({kind})"),
    "NO_TARGET": Sentence("table.ask", "is not possible: this ability ({kind}) has no target"),
    "PAID_TOKENS": Sentence(_CARD + ".tokens", "lie on a card that was paid before it acts"),
    "CHOSEN": Sentence("chosen", "is not a slot that the first half of this decision can have chosen", shows=int),
}


def fault_of(rule: str, at: int, index: int, value: int, bound: int, shape: TableShape, parts: Parts | None) -> Fault:
    """Word a breach of a table, or of bytes if the table is None."""
    place = {
        "at": at,
        "index": index,
        "bound": bound,
        "seat": seat_letter(at),
        "owner": seat_letter(bound),
        "kind": shape.ids[index] if index < len(shape.ids) else index,
        "seats": listed(shape.families),
        "cards": listed(shape.ids),
        "own": path_of(parts, at),
        "card": _card_path(parts, at, index),
    }
    fault = SENTENCES[rule].fault(place, value, parts)
    if parts is None or rule not in ("COPIES", "NTH"):
        return fault
    return fault._replace(
        places=_places_of(shape.ids[index], at, parts) if rule == "COPIES" else _numbered(value, at, parts)
    )


def _numbered(number: int, seat: int, parts: Parts) -> tuple[str, ...]:
    """Return the paths of the cards of a seat with a number."""
    return tuple(
        f"{_CARD.format(at=at, index=index)}.nth"
        for at, slot in enumerate(parts.table.slots)
        for index, card in enumerate(slot.cards)
        if slot.family == seat and card.nth == number
    )


def _places_of(card: str, seat: int, parts: Parts) -> tuple[str, ...]:
    """Return the paths of all cards of a kind that a seat has: in the queue, its pile and its hand."""
    table, own = parts.table, parts.secrets_of(seat)
    queue = zip(table.slots, kinds_in_queue(parts), strict=True)
    places = [
        _card_path(parts, at, index)
        for at, (slot, kinds) in enumerate(queue)
        for index, kind in enumerate(kinds)
        if slot.family == seat and kind == card
    ]
    if seat < len(table.piles) and card in table.piles[seat]:
        places.append(f"table.piles[{seat_letter(seat)}]")
    if own is not None and card in (own.hand or ()):
        places.append(f"{path_of(parts, seat)}.hand")
    return tuple(places)


def _card_path(parts: Parts | None, at: int, index: int) -> str:
    """Return the path of the kind of a card in the queue: a face-down one is among its owner's secrets."""
    path = _CARD.format(at=at, index=index) + ".card"
    if parts is None or at >= len(parts.table.slots) or index >= len(parts.table.slots[at].cards):
        return path
    slots = parts.table.slots
    family = slots[at].family
    if slots[at].cards[index].card is not None or parts.secrets_of(family) is None:
        return path
    before = [*(card for slot in slots[:at] if slot.family == family for card in slot.cards), *slots[at].cards[:index]]
    return f"{path_of(parts, family)}.face_down[{sum(card.card is None for card in before)}]"
