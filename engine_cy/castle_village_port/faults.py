"""The sentences for the rules that validate.pyx checks."""

from __future__ import annotations

from engine_cy.castle_village_port.cards import LOCATIONS
from engine_cy.castle_village_port.table import Parts, RowCard, TableShape, path_of
from engine_cy.castle_village_port.words import Deed
from engine_cy.errors import HiddenCardError, NoWorldError, listed
from engine_cy.tables import Fault, Sentence, seat_letter


def _card(byte: int) -> str:
    return str(RowCard(byte & 15, byte >> 4))


# The needs of each effect, without which it asks nothing.
_NEEDS = {
    Deed.MOVE_NEIGHBOUR: "a neighbour",
    Deed.DISCARD_NEIGHBOUR: "a neighbour",
    Deed.ROB_NEIGHBOUR: "an opponent's card as neighbour",
    Deed.COPY_NEIGHBOUR: "a neighbour with an immediate effect that is not to copy",
    Deed.FETCH: "a card in another location",
    Deed.ORDER_LOCATION: "a player who has not revealed yet",
    Deed.SWAP_SELECTED: "a player who has not revealed yet and holds another card",
}
_NOT_HERE = "is not at this table ({seats})"
_RANGE = "is not in 1..{bound}"
_NOT_POSSIBLE = "is not possible: {seat} "
_HIDDEN = "is hidden from this observer"

# Braces name a breach's numbers, the seats and cards that they stand for, and the paths of a seat's secrets (`own`) and
# of its selected card.
SENTENCES = {
    "ROUND": Sentence("table.round", _RANGE),
    "TURN": Sentence("table.turn", _RANGE),
    "FIRST": Sentence("table.first", _NOT_HERE),
    "TO_ACT": Sentence("table.to_act", _NOT_HERE),
    "ASK": Sentence("table.ask", "is no question"),
    "PROGRESS": Sentence("n_done", "and the other bytes of the turn contradict each other", shows=int),
    "WALKING": Sentence("table.walk.location", "is not a location"),
    "OVER_TOO_EARLY": Sentence("table.round", "is too early: the game is over after round {bound}"),
    "TURN_TOO_EARLY": Sentence("table.turn", "is too early: a round ends after turn {bound}"),
    "NOT_OVER": Sentence("table.to_act", "is set or a row is walked, but there is no question", shows=int),
    "ASK_IN_PHASE": Sentence("table.ask", "is not possible in this phase"),
    "SEAT_IN_TURN": Sentence("table.to_act", "is not the seat whose turn it is"),
    "ABSENT_SEAT": Sentence("{own}.hand", "or other bytes belong to no player", shows=int),
    "PADDING": Sentence("padding[{index}]", "is not zero", shows=int),
    "N_ROW": Sentence("table.{row}", "cards are more than the {bound} for which a row has room", shows=int),
    "BEHIND_ROW": Sentence("table.{row}[{index}]", "lies behind the end of the row", shows=_card),
    "ROW_CARD": Sentence("table.{row}[{index}]", "is not a card of this table ({values})", shows=_card),
    "ROW_ORDER": Sentence(
        "table.{row}[{index}]", "stands to the right of {left}; a row has its highest value on the left", shows=_card
    ),
    "NO_ACTING_CARD": Sentence("table.acting", "is set, but no card's effect asks"),
    "NO_EFFECT": Sentence("table.effect", "is set, but no card's effect asks"),
    "NO_VICTIM": Sentence("table.victim", "does not fit ask: replace has a victim, other questions have none"),
    "ACTING": Sentence("table.acting", "is not a card whose effect asks"),
    "ACTING_PLACE": Sentence("table.acting", "lies in no row"),
    "OWNER": Sentence("table.to_act", "does not own {acting}, the card that asks"),
    "NOT_NOW": Sentence("table.acting", "has no effect when it is revealed"),
    "NOT_AT_END": Sentence("table.acting", "has no effect at the end of a round"),
    "EFFECT": Sentence("table.effect", "is not a card of this table ({values})"),
    "NO_COPY": Sentence("table.effect", "is not that of {acting}, which does not copy ({bound})"),
    "COPIED": Sentence("table.effect", "is not one that {acting} may have copied ({copied})"),
    "QUESTION": Sentence("table.ask", "is not the question of the effect of the card of value {bound}"),
    "WALKED_ROW": Sentence("table.acting", "is not in the row being walked, {row}"),
    "DUE_WITHOUT_WALK": Sentence("table.walk.due", "is set, but no row is being walked"),
    "RANKED_WITHOUT_WALK": Sentence("table.walk.ranked", "is set, but no row is being walked"),
    "RIGHT_WITHOUT_WALK": Sentence("table.walk.from_right", "is set, but no row is being walked"),
    "DUE_PLACE": Sentence("table.walk.due", "is not to the right of {acting} in {row}", shows=_card),
    "DUE_EFFECT": Sentence("table.walk.due", "has no effect at the end of a round", shows=_card),
    "RANKED_PLACE": Sentence("table.walk.ranked", "lies in no row", shows=_card),
    "RANKS": Sentence("table.walk.ranked", "are more than the {bound} ranks paid before {row}"),
    "FROM_RIGHT": Sentence("table.walk.from_right", "is not possible: no card of this table pays from the right"),
    "ORDER": Sentence("table.orders[{seat}]", _NOT_POSSIBLE + "has no card to reveal"),
    "NO_ORDERS": Sentence("table.orders[{seat}]", "is not possible: no card of this table orders a location"),
    "ORDERS": Sentence(
        "table.orders[{seat}]", "is one of {index} orders; at most {bound} are possible, one a player who has revealed"
    ),
    "PILE_SIZE": Sentence(
        "table.piles[{seat}]",
        "cards and {index} in the rows are not the {bound} that {seat} has played by now",
        NoWorldError,
        shows=int,
    ),
    "SELECTED_TOO_EARLY": Sentence("{selected}", _NOT_POSSIBLE + "has not selected a card yet"),
    "SELECTED_TOO_LATE": Sentence("{selected}", _NOT_POSSIBLE + "has no selected card any more"),
    "NOT_SELECTED": Sentence("{selected}", _NOT_POSSIBLE + "has selected a card by now"),
    "HIDDEN_SELECTED": Sentence("{selected}", _HIDDEN, HiddenCardError),
    "SELECTED_MISSING": Sentence("{selected}", "must be known"),
    "HIDDEN_HAND": Sentence("{own}.hand", _HIDDEN, HiddenCardError),
    "HAND_MISSING": Sentence("{own}.hand", "must be known"),
    "HAND_SIZE": Sentence("{own}.hand", "cards; {seat} has {bound} there", NoWorldError, shows=int),
    "HIDDEN_DECK": Sentence("decks[{seat}]", _HIDDEN, HiddenCardError),
    "DECK_MISSING": Sentence("decks[{seat}]", "must be known"),
    "DECK_SIZE": Sentence("decks[{seat}]", "cards; {seat} has {bound} there", NoWorldError, shows=int),
    "BEHIND_DECK": Sentence("decks[{seat}]", "lies behind the end of the deck", shows=int),
    "COPIES": Sentence("table", "copies of {seat}'s {index}; each player has one", NoWorldError, shows=int),
    "VALUES": Sentence("table", "of {seat} is not a card of this table ({values})", shows=int),
    "POSSIBLE": Sentence("table.ask", "is not possible for {acting}, which needs {needs}"),
    "VICTIM": Sentence("table.victim", _NOT_HERE),
    "REVEALED_VICTIM": Sentence("table.victim", "has revealed already"),
    "GOLD": Sentence("table.{gold}[{seat}]", "is not in 0..{bound}"),
}


def fault_of(rule: str, at: int, index: int, value: int, bound: int, shape: TableShape, parts: Parts | None) -> Fault:
    """Word a breach of a table, or of bytes if the table is None."""
    is_hidden = parts is not None and at in shape.seats and parts.secrets_of(at) is None
    place = {
        "index": index,
        "bound": bound,
        "seat": seat_letter(at),
        "row": LOCATIONS[at % len(LOCATIONS)],
        "acting": _card(index),
        "left": _card(bound),
        "copied": listed(value for value in shape.values if bound >> value & 1),
        "needs": _NEEDS.get(Deed(bound)) if rule == "POSSIBLE" else None,
        "seats": listed(shape.families),
        "values": listed(shape.values),
        "gold": "gold" if parts is None or parts.table.gold is not None else "remembered_gold",
        "own": path_of(parts, at),
        "selected": _path_of_hidden(at, parts) if is_hidden and parts else f"{path_of(parts, at)}.selected",
    }
    fault = SENTENCES[rule].fault(place, value, parts)
    return fault._replace(places=_places_of(index, at, parts)) if rule == "COPIES" and parts else fault


def _path_of_hidden(seat: int, parts: Parts) -> str:
    """Return the path of a seat that has selected a hidden card, or of the list in which it is missing."""
    seats = parts.table.selected
    return f"table.selected[{seats.index(seat)}]" if seat in seats else "table.selected"


def _places_of(value: int, seat: int, parts: Parts) -> tuple[str, ...]:
    """Return the paths of all cards of a value that a seat has: in the rows, its pile, its hand, and selected."""
    table, own = parts.table, parts.secrets_of(seat)
    places = [
        f"table.{location}[{at}]"
        for location in LOCATIONS
        for at, card in enumerate(getattr(table, location))
        if card == (value, seat)
    ]
    if seat < len(table.piles) and value in table.piles[seat]:
        places.append(f"table.piles[{seat_letter(seat)}]")
    if own is not None:
        secrets = path_of(parts, seat)
        places += [f"{secrets}.hand"] * (value in (own.hand or ())) + [f"{secrets}.selected"] * (own.selected == value)
    return tuple(places)
