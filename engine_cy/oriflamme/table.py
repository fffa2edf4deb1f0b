"""Tables in words, from which text, records and messages are written and into which they are read.

`complete` fills in omitted fields. `check` refuses tables that no game leads to; its errors
name the field, the rejected value and the accepted ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from engine_cy.errors import HiddenCardError, InvalidPositionError, InvalidViewError, NoWorldError, listed
from engine_cy.oriflamme.cards import Card
from engine_cy.seats import SEATS
from engine_cy.tables import OMITTED, refusal

TOKENS_MAX = 20
POINTS_MAX = 250
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
    """Complete a table: give each omitted field its default, or the value that follows from the other fields."""
    seats = range(frame.n_players)
    _check_slots(table, frame)
    phase, to_act, acting = _read_turn(table)
    first = table.first
    if first is None:
        first = to_act if phase == "place" and to_act is not None else 0
    if phase == "place" and to_act is None:
        to_act = first
    _check_turn(table, frame, phase, first, to_act)
    for field, entries in (("points", table.points), ("hands", table.hands), ("piles", table.piles)):
        if entries is not None and len(entries) != frame.n_players:
            raise refusal(
                table.observer, field, len(entries), f"entries, not one for each of {frame.n_players} players"
            )

    queue = in_queue(table.slots, frame.n_players)
    known = [len(queue[p]) + (len(table.piles[p]) if table.piles else 0) for p in seats]
    total = sum(known) if table.piles else None
    round_ = table.round
    if round_ is None:
        counts = {r: _count_placed(frame, phase, r, first, to_act, total) for r in range(1, frame.n_rounds + 1)}
        fits = [r for r, placed in counts.items() if all(known[p] <= placed[p] for p in seats)]
        round_ = frame.n_rounds if phase == "over" or not fits else fits[0]
    _check_clock(table, frame, phase, round_)

    placed = _count_placed(frame, phase, round_, first, to_act, total)
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
    turn = frame.n_players * frame.cards_per_turn
    if phase == "place" and to_act is not None:
        before = (round_ - 1) * turn
        turn = (to_act - first) % frame.n_players * frame.cards_per_turn
        if total is not None and 0 < total - before - turn < frame.cards_per_turn:
            turn = total - before
    return [frame.placed(p, round_, first, turn) for p in range(frame.n_players)]


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


# --- validation ------------------------------------------------------------------------------------------------


def check(table: Table, frame: TableShape) -> None:
    """Refuse a table that contradicts the rules or itself."""
    for p, points in enumerate(table.points):
        if not 0 <= points <= POINTS_MAX:
            raise refusal(table.observer, f"points[{frame.families[p]}]", points, f"is not in 0..{POINTS_MAX}")
    _check_cursor(table, frame)
    total = sum(len(slot) for slot in table.slots) + sum(len(pile) for pile in table.piles)
    placed = _count_placed(frame, table.phase, table.round, table.first, table.to_act, total)
    for player, queue in enumerate(in_queue(table.slots, frame.n_players)):
        _check_family(table, frame, player, queue, placed[player])


def _check_slots(table: Table, frame: TableShape) -> None:
    for s, slot in enumerate(table.slots):
        if not slot:
            raise refusal(table.observer, f"slots[{s}]", [], "is an empty slot; a slot has a card")
        for c, card in enumerate(slot):
            _check_card(table, frame, s, c, card)
            if card.family != slot[0].family:
                family, other = SEATS[card.family], SEATS[slot[0].family]
                raise refusal(
                    table.observer,
                    f"slots[{s}][{c}].family",
                    family,
                    f"lies in a stack of {other}; a slot has one family",
                )


def _check_card(table: Table, frame: TableShape, s: int, c: int, card: PlayedCard) -> None:
    if not 0 <= card.family < frame.n_players:
        letter = SEATS[card.family] if card.family in range(len(SEATS)) else card.family
        raise refusal(
            table.observer, f"slots[{s}][{c}].family", letter, f"is not at this table ({listed(frame.families)})"
        )
    if card.card is None:
        if table.observer is None:
            why = "is only for views; a position names every card"
            raise refusal(table.observer, f"slots[{s}][{c}].card", "?", why)
        if card.face_up or card.family == table.observer:
            raise refusal(table.observer, f"slots[{s}][{c}].card", "?", "is a card that the observer knows; name it")
    elif card.card not in frame.ids:
        why = f"is no card of this edition ({listed(frame.ids)})"
        raise refusal(table.observer, f"slots[{s}][{c}].card", card.card, why)
    elif not card.face_up and table.observer not in (None, card.family):
        owner = SEATS[card.family]
        why = f"lies face down and is {owner}'s: the observer cannot know it"
        raise refusal(table.observer, f"slots[{s}][{c}].card", card.card, why, HiddenCardError)
    most = TOKENS_MAX if frame.tokens_on_keep else 0
    if not 0 <= card.tokens <= most:
        raise refusal(table.observer, f"slots[{s}][{c}].tokens", card.tokens, f"is not in 0..{most}")
    if card.tokens and card.face_up and not (s == table.cursor and c == 0):
        why = "lie on a face-up card; only face-down ones have any"
        raise refusal(table.observer, f"slots[{s}][{c}].tokens", card.tokens, why)


def _check_turn(table: Table, frame: TableShape, phase: str | None, first: int, to_act: int | None) -> None:
    """Check the phase and the seats, on which all further checks depend."""
    if phase not in (*PHASES, None):
        raise refusal(table.observer, "phase", phase, f"is not one of {listed(PHASES)}")
    for field, seat in (("first", first), ("to_act", to_act), ("observer", table.observer)):
        if seat is not None and seat not in range(frame.n_players):
            raise refusal(table.observer, field, seat, f"is not at this table ({listed(frame.families)})")
    if phase in ("place", "over"):
        if table.cursor is not None:
            raise refusal(table.observer, "cursor", table.cursor, f"is not possible in phase {phase}")
        if phase == "over" and to_act is not None:
            raise refusal(table.observer, "to_act", frame.families[to_act], "cannot act: the game is over")
    elif table.cursor is None or not 0 <= table.cursor < len(table.slots):
        raise refusal(table.observer, "cursor", table.cursor, f"is not one of the {len(table.slots)} slots")


def _check_clock(table: Table, frame: TableShape, phase: str | None, round_: int) -> None:
    if round_ not in range(1, frame.n_rounds + 1):
        raise refusal(table.observer, "round", round_, f"is not in 1..{frame.n_rounds}")
    if phase == "over" and round_ != frame.n_rounds:
        raise refusal(table.observer, "round", round_, f"is too early: the game is over after round {frame.n_rounds}")


def _check_cursor(table: Table, frame: TableShape) -> None:
    """Check that the question fits the card at the cursor."""
    if table.cursor is None:
        if table.acting is not None:
            raise refusal(table.observer, "acting", table.acting, "is set, but cards act only in the resolution")
        return
    top = table.slots[table.cursor][0]
    if table.to_act is None or table.to_act != top.family:
        seat = None if table.to_act is None else frame.families[table.to_act]
        raise refusal(
            table.observer, "to_act", seat, f"is not the owner of the card at the cursor, {frame.families[top.family]}"
        )
    if table.phase is not None and (table.phase == "reveal") == top.face_up:
        face = "face up" if top.face_up else "face down"
        raise refusal(table.observer, "phase", table.phase, f"does not fit the card at the cursor, which lies {face}")
    if table.acting is not None and table.acting not in frame.ids:
        raise refusal(table.observer, "acting", table.acting, f"is no card of this edition ({listed(frame.ids)})")


def _check_family(table: Table, frame: TableShape, player: int, queue: list[PlayedCard], placed: int) -> None:
    """Check the cards of one family: their number, their kinds and the order of their placement."""
    letter = frame.families[player]
    pile, hand = table.piles[player], table.hands[player]
    if len(queue) + len(pile) != placed:
        why = f"cards and {len(queue)} in the queue, but {letter} has placed {placed}"
        raise refusal(table.observer, f"piles[{letter}]", len(pile), why, NoWorldError)
    numbers = [card.nth for card in queue]
    for nth in numbers:
        if nth is None or not 1 <= nth <= placed:
            raise refusal(
                table.observer, f"slots.{letter}.nth", nth, f"is not in 1..{placed}, the cards {letter} has placed"
            )
        if numbers.count(nth) > 1:
            raise refusal(table.observer, f"slots.{letter}.nth", nth, "is the number of two cards")
    hidden = table.observer not in (None, player)
    if hidden != (hand is None):
        text = "?" if hand is None else ",".join(hand)
        why = "is hidden from this observer" if hidden else "must be known"
        raise refusal(table.observer, f"hands[{letter}]", text, why, HiddenCardError if hidden else InvalidViewError)
    if hand is not None and len(hand) != frame.hand_size - placed:
        why = f"cards; {letter} has {frame.hand_size - placed} left"
        raise refusal(table.observer, f"hands[{letter}]", len(hand), why, NoWorldError)
    for field, kinds in (("piles", pile), ("hands", hand or ())):
        for kind in kinds:
            if kind not in frame.ids:
                raise refusal(
                    table.observer, f"{field}[{letter}]", kind, f"is no card of this edition ({listed(frame.ids)})"
                )
    known = [*(card.card for card in queue if card.card), *pile, *(hand or ())]
    for kind in known:
        count = known.count(kind)
        if count > frame.copies:
            why = f"copies; a family has {frame.copies}"
            raise refusal(table.observer, f"cards[{letter}].{kind}", count, why, NoWorldError)
