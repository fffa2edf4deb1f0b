"""Tables in words, from which text, records and messages are written and into which they are read.

`complete` fills in omitted fields. The rules that a table keeps are those of its bytes: validate.pyx.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

from engine_cy.errors import InvalidPositionError, listed
from engine_cy.oriflamme.cards import Card
from engine_cy.seats import SEATS
from engine_cy.tables import OMITTED, refusal, seat_letter

PHASES = ("place", "reveal", "target", "rob", "copy", "move", "pair", "over")


@dataclass(frozen=True)
class TableShape:
    """The numbers of cards, rounds and tokens that follow from a ruleset and a number of players."""

    cards: tuple[Card, ...]
    n_players: int
    copies: int
    hand_size: int
    start_points: int
    n_rounds: int
    cards_per_turn: int
    tokens_on_keep: int

    @cached_property
    def cards_each(self) -> int:
        return self.n_rounds * self.cards_per_turn

    @cached_property
    def ids(self) -> list[str]:
        return [card.id for card in self.cards]

    @cached_property
    def families(self) -> str:
        return SEATS[: self.n_players]

    def placed(self, player: int, round_: int, first: int, turn: int) -> int:
        """Return the number of cards that `player` has placed after `turn` placements of `round_`."""
        turns, within = divmod(turn, self.cards_per_turn)
        place = (player - first) % self.n_players
        this_round = self.cards_per_turn if place < turns else within if place == turns else 0
        return (round_ - 1) * self.cards_per_turn + this_round


class PlayedCard(NamedTuple):
    """A card in the queue.

    `card` is its id, None if the observer does not know it. `nth` counts the cards of its family in the order of
    placement, from 1.
    """

    family: int
    card: str | None
    face_up: bool = False
    tokens: int = 0
    nth: int | None = None


Slots = tuple[tuple[PlayedCard, ...], ...]
Kinds = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Slots are listed first to last, each from its top card down.

    A person or program may omit fields: they are None until `complete` fills them in. In a complete table, too,
    `phase` is None if the card at the cursor acts next and its question is not yet determined.
    """

    slots: Slots
    round: int = OMITTED
    first: int = OMITTED
    phase: str | None = None
    to_act: int | None = None
    cursor: int | None = None
    acting: str | None = None
    points: tuple[int, ...] = OMITTED
    hands: tuple[Kinds | None, ...] = OMITTED
    piles: tuple[Kinds, ...] = OMITTED
    observer: int | None = None


def in_queue(slots: Slots, n_players: int) -> list[list[PlayedCard]]:
    """Return the cards of each family in the queue, front to back, and in a slot from the lowest card up."""
    cards: list[list[PlayedCard]] = [[] for _ in range(n_players)]
    for slot in slots:
        for card in reversed(slot):
            cards[card.family].append(card)
    return cards


def dealt(aside: Sequence[Sequence[str] | None], first: int, frame: TableShape, observer: int | None = None) -> Table:
    """Make the start of a game from the cards that each seat has set aside; None if the observer does not know them."""
    n_aside = len(frame.cards) * frame.copies - frame.hand_size
    if len(aside) != frame.n_players:
        raise InvalidPositionError(f"aside: {len(aside)} lists, not one for each of {frame.n_players} players")
    hands: list[Kinds | None] = []
    for letter, names in zip(frame.families, aside, strict=True):
        left = Counter(frame.ids * frame.copies)
        left.subtract(names or ())
        if names is None:
            hands.append(None)
            continue
        if len(names) != n_aside:
            raise InvalidPositionError(f"aside[{letter}]: {listed(names)} are {len(names)} cards, not {n_aside}")
        if min(left.values()) < 0:
            raise InvalidPositionError(f"aside[{letter}]: {listed(names)}: a family has each card {frame.copies}x")
        hands.append(tuple(left.elements()))
    return Table(slots=(), first=first, hands=tuple(hands), observer=observer)


# --- completion ------------------------------------------------------------------------------------------------


def complete(table: Table, frame: TableShape) -> Table:
    """Give each omitted field its default, or the value that follows from the other fields."""
    _check_shape(table, frame)
    seats = range(frame.n_players)
    phase, to_act, acting = _read_turn(table)
    first = table.first
    if first is None:
        first = to_act if phase == "place" and to_act is not None else 0
    if phase == "place" and to_act is None:
        to_act = first

    queue = in_queue(table.slots, frame.n_players)
    known = [len(queue[p]) + (len(table.piles[p]) if table.piles else 0) for p in seats]
    total = sum(known) if table.piles else None
    round_ = table.round
    if round_ is None:
        counts = {r: _count_placed(frame, phase, r, first, to_act, total) for r in range(1, frame.n_rounds + 1)}
        fits = [r for r, placed in counts.items() if all(known[p] <= placed[p] for p in seats)]
        round_ = frame.n_rounds if phase == "over" or not fits else fits[0]

    placed = _count_placed(frame, phase, min(max(round_, 1), frame.n_rounds), first, to_act, total)
    piles, hands = table.piles, table.hands
    if piles is None:
        # By default, piles hold cards that are neither in the queue nor in a specified hand.
        piles = tuple(_unused_cards(table, frame, p, queue[p], ())[: max(placed[p] - known[p], 0)] for p in seats)
    if hands is None:
        hidden = [table.observer not in (None, p) for p in seats]
        hands = tuple(
            None if hidden[p] else _unused_cards(table, frame, p, queue[p], piles[p])[: frame.hand_size - placed[p]]
            for p in seats
        )
    return Table(
        slots=_number_cards(table.slots, placed),
        round=round_,
        first=first,
        phase=phase,
        to_act=to_act,
        cursor=table.cursor,
        acting=acting,
        points=table.points or (frame.start_points,) * frame.n_players,
        hands=hands,
        piles=piles,
        observer=table.observer,
    )


def _check_shape(table: Table, frame: TableShape) -> None:
    """Check what bytes cannot say: numbers of entries, seats and words, and fields that this phase does not have."""
    refused = partial(refusal, table.observer)
    if table.observer is not None and table.observer not in range(frame.n_players):
        raise refused("observer", table.observer, f"is not at this table ({listed(frame.families)})")
    for s, slot in enumerate(table.slots):
        if not slot:
            raise refused(f"slots[{s}]", [], "is an empty slot; a slot has a card")
        for c, card in enumerate(slot):
            if card.family not in range(frame.n_players):
                why = f"is not at this table ({listed(frame.families)})"
                raise refused(f"slots[{s}][{c}].family", seat_letter(card.family), why)
    for field, entries in (("points", table.points), ("hands", table.hands), ("piles", table.piles)):
        if entries is not None and len(entries) != frame.n_players:
            raise refused(field, len(entries), f"entries, not one for each of {frame.n_players} players")
    if table.phase not in (*PHASES, None):
        raise refused("phase", table.phase, f"is not one of {listed(PHASES)}")
    if table.cursor is not None and table.phase in ("place", "over"):
        raise refused("cursor", table.cursor, f"is not possible in phase {table.phase}")
    if table.to_act is not None and table.phase == "over":
        raise refused("to_act", seat_letter(table.to_act), "cannot act: the game is over")


def _read_turn(table: Table) -> tuple[str | None, int | None, str | None]:
    """Return the phase, the seat to act and the acting card, by default those of the card at the cursor."""
    if table.cursor is None:
        return table.phase or "place", table.to_act, table.acting
    if not 0 <= table.cursor < len(table.slots):
        return table.phase or "reveal", table.to_act, table.acting
    top = table.slots[table.cursor][0]
    phase = table.phase or (None if top.face_up else "reveal")
    acting = table.acting or (top.card if phase not in (None, "reveal") else None)
    return phase, top.family if table.to_act is None else table.to_act, acting


def _count_placed(
    frame: TableShape, phase: str | None, round_: int, first: int, to_act: int | None, total: int | None
) -> list[int]:
    """Return the number of cards that each seat has placed. Within a double turn, `total`, their sum, determines it."""
    turn = cards_placed(frame, phase, round_, first, to_act, total)
    return [frame.placed(p, round_, first, turn) for p in range(frame.n_players)]


def cards_placed(
    frame: TableShape, phase: str | None, round_: int, first: int, to_act: int | None, total: int | None
) -> int:
    """Return the number of cards that were placed this round."""
    turns = frame.n_players * frame.cards_per_turn
    if phase != "place" or to_act is None:
        return turns
    turn = (to_act - first) % frame.n_players * frame.cards_per_turn
    this_round = total - (round_ - 1) * turns if total is not None else turn
    return this_round if 0 < this_round - turn < frame.cards_per_turn else turn


def _unused_cards(table: Table, frame: TableShape, player: int, queue: list[PlayedCard], pile: Kinds) -> Kinds:
    """Return the cards of a family that are not known to be in the queue, pile or hand."""
    left = Counter(frame.ids * frame.copies)
    left.subtract(card.card for card in queue if card.card)
    left.subtract(pile)
    left.subtract((table.hands[player] or ()) if table.hands else ())
    return tuple((+left).elements())


def _number_cards(slots: Slots, placed: list[int]) -> Slots:
    """Assign numbers: cards without `nth` get the lowest free numbers of their family, front to back."""
    if all(card.nth for slot in slots for card in slot):
        return slots
    numbers: dict[int, int] = {}
    for n_placed, cards in zip(placed, in_queue(slots, len(placed)), strict=True):
        taken = {card.nth for card in cards}
        free = iter([n for n in range(1, max(n_placed, len(cards)) + 1) if n not in taken])
        for card in cards:
            numbers[id(card)] = card.nth or next(free, 0)
    return tuple(tuple(card._replace(nth=numbers[id(card)]) for card in slot) for slot in slots)
