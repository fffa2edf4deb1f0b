"""The sentences for the rules that validate.pyx checks."""

from __future__ import annotations

from engine_cy.errors import HiddenCardError, NoWorldError, listed
from engine_cy.oriflamme.table import Table, TableShape
from engine_cy.tables import Fault, Sentence, seat_letter

_NOT_HERE = "is not at this table ({seats})"
_NO_CARD = "is no card of this edition ({cards})"
_CARD = "slots[{at}][{index}]"

# Braces name a breach's numbers, and seats and cards by those: `at` is a seat or slot, `index` a place in it or a kind.
SENTENCES = {
    "FIRST": Sentence("first", _NOT_HERE),
    "TO_ACT": Sentence("to_act", _NOT_HERE),
    "PHASE": Sentence("phase", "is no question"),
    "ROUND": Sentence("round", "is not in 1..{bound}"),
    "OVER_TOO_EARLY": Sentence("round", "is too early: the game is over after round {bound}"),
    "TURN": Sentence("turn", "cards are placed this round, which does not fit the phase", shows=int),
    "PLACING_SEAT": Sentence("to_act", "is not the seat to place next"),
    "POINTS": Sentence("points[{seat}]", "is not in 0..{bound}"),
    "ABSENT_SEAT": Sentence("hands[{seat}]", "or other bytes belong to no player", shows=int),
    "PADDING": Sentence("padding[{index}]", "is not zero", shows=int),
    "N_SLOTS": Sentence("slots", "slots are more than the {bound} cards of all families", shows=int),
    "SLOT": Sentence("slots[{at}]", "is an empty slot, or a card behind the last one", shows=int),
    "CARD_ID": Sentence(_CARD, "is not the number of a card", shows=int),
    "CARD_TWICE": Sentence(_CARD, "is the number of a card in another place", shows=int),
    "FAMILY": Sentence(_CARD, "is not a card of the family with its number", shows=int),
    "STACK": Sentence(_CARD + ".family", "lies in a stack of {owner}; a slot has one family"),
    "UNKNOWN_IN_POSITION": Sentence(_CARD + ".card", "is only for views; a position names every card"),
    "KNOWN_TO_OBSERVER": Sentence(_CARD + ".card", "is a card that the observer knows; name it"),
    "HIDDEN_CARD": Sentence(
        _CARD + ".card", "lies face down and is {owner}'s: the observer cannot know it", HiddenCardError
    ),
    "CARD": Sentence(_CARD + ".card", _NO_CARD),
    "TOKENS": Sentence(_CARD + ".tokens", "is not in 0..{bound}"),
    "TOKENS_FACE_UP": Sentence(_CARD + ".tokens", "lie on a face-up card; only face-down ones have any"),
    "FACE_UP_CARD": Sentence(_CARD + ".card", "cannot stay face up in the queue"),
    "UNUSED_CARD": Sentence("cards[{index}]", "is not in the queue, but has other bytes than none", shows=int),
    "PILE_SIZE": Sentence(
        "piles[{seat}]", "cards and {index} in the queue, but {seat} has placed {bound}", NoWorldError, shows=int
    ),
    "NTH": Sentence("slots.{seat}.nth", "is not in 1..{bound}, the cards {seat} has placed", shows=int),
    "HIDDEN_HAND": Sentence("hands[{seat}]", "is hidden from this observer", HiddenCardError),
    "HAND_MISSING": Sentence("hands[{seat}]", "must be known"),
    "HAND_SIZE": Sentence("hands[{seat}]", "cards; {seat} has {bound} left", NoWorldError, shows=int),
    "CARD_BITS": Sentence("hands[{seat}]", "has bits that stand for no card", shows=int),
    "COPIES": Sentence("cards[{seat}].{kind}", "copies; a family has {bound}", NoWorldError, shows=int),
    "CURSOR": Sentence("cursor", "is not one of the {bound} slots"),
    "OWNER": Sentence("to_act", "is not the owner of the card at the cursor, {owner}"),
    "REVEAL_FACE_UP": Sentence("phase", "does not fit the card at the cursor, which lies face up"),
    "ACT_FACE_DOWN": Sentence("phase", "does not fit the card at the cursor, which lies face down"),
    "NO_ACTING_CARD": Sentence("acting", "is set, but no card acts"),
    "ACTING": Sentence("acting", "is not the ability of the card at the cursor"),
    "QUESTION": Sentence("phase", "is not a question of this ability ({kind})"),
    "NO_TARGET": Sentence("phase", "is not possible: this ability ({kind}) has no target"),
    "PAID_TOKENS": Sentence(_CARD + ".tokens", "lie on a card that was paid before it acts"),
    "CHOSEN": Sentence("chosen", "is not a slot that the first half of this decision can have chosen", shows=int),
}


def fault_of(rule: str, at: int, index: int, value: int, bound: int, frame: TableShape, table: Table | None) -> Fault:
    """Word a breach of a table, or of bytes if the table is None."""
    place = {
        "at": at,
        "index": index,
        "bound": bound,
        "seat": seat_letter(at),
        "owner": seat_letter(bound),
        "kind": frame.ids[index] if index < len(frame.ids) else index,
        "seats": listed(frame.families),
        "cards": listed(frame.ids),
    }
    return SENTENCES[rule].fault(place, value, table)
