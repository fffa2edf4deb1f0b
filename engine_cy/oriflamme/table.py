"""Tables in words: their public part, and the secrets of each seat. Text and messages have the same fields.

`complete` fills in omitted fields. The rules that a table keeps are those of its bytes: validate.pyx.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

from engine_cy.errors import InvalidPositionError, NoWorldError, listed
from engine_cy.oriflamme.actions import ACTIONS
from engine_cy.oriflamme.cards import Card
from engine_cy.seats import SEATS
from engine_cy.tables import OMITTED, AllSecrets, Fault, SeenSecrets, refusal, seat_letter

ASKS = (*ACTIONS.questions, "over")


@dataclass(frozen=True)
class TableShape:
    """The numbers of cards, rounds and tokens that follow from a ruleset and a number of players."""

    cards: tuple[Card, ...]
    n_players: int
    n_families: int  # of a player
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

    def all_cards(self) -> Counter[str]:
        """Return the cards of a player by their ids."""
        return Counter({card.id: card.copies * self.n_families for card in self.cards})

    def placed(self, player: int, round_: int, first: int, turn: int) -> int:
        """Return the number of cards that `player` has placed after `turn` placements of `round_`."""
        turns, within = divmod(turn, self.cards_per_turn)
        place = (player - first) % self.n_players
        this_round = self.cards_per_turn if place < turns else within if place == turns else 0
        return (round_ - 1) * self.cards_per_turn + this_round


class PlayedCard(NamedTuple):
    """A card in the queue: its id if it is face up, its tokens, and its number among the placed cards of its family."""

    card: str | None = None
    tokens: int = 0
    nth: int | None = None


class Slot(NamedTuple):
    """A stack of cards of one family, top card first."""

    family: int
    cards: tuple[PlayedCard, ...]


Kinds = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The public part of a table.

    A person or program may omit fields: they are None, or empty, until `complete` fills them in. In a complete table,
    too, `ask` is None if the card at the cursor acts next and its question is not yet determined. `acting` is the card
    whose ability asks, `piles` and `hand_sizes` have an entry for each seat.
    """

    slots: tuple[Slot, ...]
    round: int = OMITTED
    first: int = OMITTED
    ask: str | None = None
    to_act: int | None = None
    cursor: int | None = None
    acting: str | None = None
    points: tuple[int, ...] = OMITTED
    piles: tuple[Kinds, ...] = ()
    hand_sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secrets of a seat: its hand, and its face-down cards from the first slot to the last, each from the top down.

    None instead of the hand: it was omitted. None instead of a card: text names none.
    """

    hand: Kinds | None = ()
    face_down: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class SeenTable(SeenSecrets):
    """A table as one seat sees it."""

    observer: int
    table: Table
    own: Secrets


@dataclass(frozen=True, slots=True)
class WholeTable(AllSecrets):
    """A table with nothing hidden: the secrets have an entry for each seat."""

    table: Table
    secrets: tuple[Secrets, ...]


Parts = SeenTable | WholeTable


@dataclass(frozen=True, slots=True)
class Deal:
    """The deal of a game: the cards that each seat has set aside. None: the observer of a record does not know them."""

    first: int
    aside: tuple[Kinds | None, ...]


def in_queue(slots: tuple[Slot, ...], n_players: int) -> list[list[PlayedCard]]:
    """Return the cards of each family in the queue, front to back, and in a slot from the lowest card up."""
    cards: list[list[PlayedCard]] = [[] for _ in range(n_players)]
    for slot in slots:
        cards[slot.family].extend(reversed(slot.cards))
    return cards


def kinds_in_queue(parts: Parts) -> list[list[str | None]]:
    """Return the kind of each card in the queue, None if it is hidden: slot by slot, each from its top card down."""
    hidden: dict[int, Iterator[str | None]] = {}
    for slot in parts.table.slots:
        if slot.family not in hidden:
            own = parts.secrets_of(slot.family)
            hidden[slot.family] = iter(own.face_down if own else ())
    return [[card.card or next(hidden[slot.family], None) for card in slot.cards] for slot in parts.table.slots]


def dealt(deal: Deal, shape: TableShape, observer: int | None = None) -> Parts:
    """Return the start of a game, for an observer if there is one."""
    n_aside = shape.all_cards().total() - shape.hand_size
    if len(deal.aside) != shape.n_players:
        raise InvalidPositionError(f"aside: {len(deal.aside)} lists, not one for each of {shape.n_players} players")
    secrets: list[Secrets] = []
    for letter, names in zip(shape.families, deal.aside, strict=True):
        left = shape.all_cards()
        left.subtract(names or ())
        if names is None:
            secrets.append(Secrets(None))
            continue
        for i, name in enumerate(names):
            if name not in shape.ids:
                raise InvalidPositionError(
                    f"aside[{letter}][{i}]: {name!r} is no card of this edition ({listed(shape.ids)})"
                )
        if len(names) != n_aside:
            raise InvalidPositionError(f"aside[{letter}]: {listed(names)} are {len(names)} cards, not {n_aside}")
        for name, n in left.items():
            if n < 0:
                raise InvalidPositionError(
                    f"aside[{letter}]: {listed(names)}: a family has {name} {shape.all_cards()[name]}x"
                )
        secrets.append(Secrets(tuple(left.elements())))
    return parts_of(Table(slots=(), first=deal.first), tuple(secrets), observer)


def parts_of(table: Table, secrets: tuple[Secrets, ...], observer: int | None) -> Parts:
    """Return a table with the secrets of each seat; for an observer, with their own."""
    return WholeTable(table, secrets) if observer is None else SeenTable(observer, table, secrets[observer])


# --- completion ------------------------------------------------------------------------------------------------


def complete(parts: Parts, shape: TableShape) -> Parts:
    """Give each omitted field its default, or the value that follows from the other fields."""
    _check_shape(parts, shape)
    table, seats = parts.table, range(shape.n_players)
    ask, to_act, acting = _read_turn(table)
    first = table.first
    if first is None:
        first = to_act if ask == "place" and to_act is not None else 0
    if ask == "place" and to_act is None:
        to_act = first

    queue = in_queue(table.slots, shape.n_players)
    piles = table.piles if table.piles or table.piles is None else ((),) * shape.n_players
    known = [len(queue[p]) + (len(piles[p]) if piles else 0) for p in seats]
    total = sum(known) if piles else None
    round_ = table.round
    if round_ is None:
        counts = {r: _count_placed(shape, ask, r, first, to_act, total) for r in range(1, shape.n_rounds + 1)}
        fits = [r for r, placed in counts.items() if all(known[p] <= placed[p] for p in seats)]
        round_ = shape.n_rounds if ask == "over" or not fits else fits[0]

    placed = _count_placed(shape, ask, min(max(round_, 1), shape.n_rounds), first, to_act, total)
    if piles is None:
        # By default, piles hold cards that are neither in the queue nor in a specified hand.
        piles = tuple(_unused_cards(parts, shape, p, ())[: max(placed[p] - known[p], 0)] for p in seats)
    secrets = tuple(
        replace(own, hand=_unused_cards(parts, shape, p, piles[p])[: shape.hand_size - placed[p]])
        if own.hand is None
        else own
        for p in seats
        for own in (parts.secrets_of(p) or Secrets(),)
    )
    whole = Table(
        slots=_number_cards(table.slots, placed),
        round=round_,
        first=first,
        ask=ask,
        to_act=to_act,
        cursor=table.cursor,
        acting=acting,
        points=table.points or (shape.start_points,) * shape.n_players,
        piles=piles,
        hand_sizes=table.hand_sizes or _hand_sizes(queue, piles, shape),
    )
    return parts_of(whole, secrets, parts.observer)


def _hand_sizes(queue: list[list[PlayedCard]], piles: tuple[Kinds, ...], shape: TableShape) -> tuple[int, ...]:
    """Return the sizes of hands that follow from the other fields; `queue` is from `in_queue`."""
    return tuple(shape.hand_size - len(pile) - len(placed) for pile, placed in zip(piles, queue, strict=True))


def derived_faults(parts: Parts, shape: TableShape) -> list[Fault]:
    """Return the faults of the fields of a complete table that follow from others and that bytes do not have."""
    stated = parts.table.hand_sizes
    derived = _hand_sizes(in_queue(parts.table.slots, shape.n_players), parts.table.piles, shape)
    if stated == derived:
        return []
    return [Fault("table.hand_sizes", listed(stated), f"contradicts the other fields: {listed(derived)}", NoWorldError)]


def _check_shape(parts: Parts, shape: TableShape) -> None:
    """Check what bytes cannot say: numbers of entries, seats and words, and fields that this question does not have."""
    refused = partial(refusal, parts.observer)
    not_here = f"is not at this table ({listed(shape.families)})"
    table, n = parts.table, shape.n_players
    if parts.observer is not None and parts.observer not in range(n):
        raise refused("observer", parts.observer, not_here)
    for s, slot in enumerate(table.slots):
        if not slot.cards:
            raise refused(f"table.slots[{s}]", [], "is an empty slot; a slot has a card")
        if slot.family not in range(n):
            raise refused(f"table.slots[{s}].family", seat_letter(slot.family), not_here)
    for field in ("points", "piles", "hand_sizes"):
        entries = getattr(table, field)
        if entries and len(entries) != n:
            raise refused(f"table.{field}", len(entries), f"entries, not one for each of {n} players")
    if isinstance(parts, WholeTable) and len(parts.secrets) != n:
        raise refused("secrets", len(parts.secrets), f"entries, not one for each of {n} players")
    if table.ask not in (*ASKS, None):
        raise refused("table.ask", table.ask, f"is not one of {listed(ASKS)}")
    if table.cursor is not None and table.ask in ("place", "over"):
        raise refused("table.cursor", table.cursor, f"is not possible with the question {table.ask}")
    if table.to_act is not None and table.ask == "over":
        raise refused("table.to_act", seat_letter(table.to_act), "cannot act: the game is over")
    for seat in range(n):
        own = parts.secrets_of(seat)
        if own is None:
            continue
        n_down = sum(card.card is None for slot in table.slots if slot.family == seat for card in slot.cards)
        if len(own.face_down) != n_down:
            why = f"cards, but {n_down} of this seat lie face down in the queue"
            raise refused(f"{path_of(parts, seat)}.face_down", len(own.face_down), why, NoWorldError)


def path_of(parts: Parts | None, seat: int) -> str:
    """Return the path of a seat's secrets."""
    return "own" if isinstance(parts, SeenTable) else f"secrets[{seat_letter(seat)}]"


def _read_turn(table: Table) -> tuple[str | None, int | None, str | None]:
    """Return the question, the seat to act and the acting card, by default those of the card at the cursor."""
    if table.cursor is None:
        return table.ask or "place", table.to_act, table.acting
    if not 0 <= table.cursor < len(table.slots):
        return table.ask or "reveal", table.to_act, table.acting
    slot = table.slots[table.cursor]
    top = slot.cards[0]
    ask = table.ask or ("reveal" if top.card is None else None)
    acting = table.acting or (top.card if ask not in (None, "reveal") else None)
    return ask, slot.family if table.to_act is None else table.to_act, acting


def _count_placed(
    shape: TableShape, ask: str | None, round_: int, first: int, to_act: int | None, total: int | None
) -> list[int]:
    """Return the number of cards that each seat has placed. Within a double turn, `total`, their sum, determines it."""
    turn = cards_placed(shape, ask, round_, first, to_act, total)
    return [shape.placed(p, round_, first, turn) for p in range(shape.n_players)]


def cards_placed(
    shape: TableShape, ask: str | None, round_: int, first: int, to_act: int | None, total: int | None
) -> int:
    """Return the number of cards that were placed this round."""
    turns = shape.n_players * shape.cards_per_turn
    if ask != "place" or to_act is None:
        return turns
    turn = (to_act - first) % shape.n_players * shape.cards_per_turn
    this_round = total - (round_ - 1) * turns if total is not None else turn
    return this_round if 0 < this_round - turn < shape.cards_per_turn else turn


def _unused_cards(parts: Parts, shape: TableShape, player: int, pile: Kinds) -> Kinds:
    """Return the cards of a family that are not known to be in the queue, pile or hand."""
    own = parts.secrets_of(player) or Secrets()
    left = shape.all_cards()
    left.subtract(card.card for slot in parts.table.slots if slot.family == player for card in slot.cards if card.card)
    left.subtract(card for card in own.face_down if card)
    left.subtract(pile)
    left.subtract(own.hand or ())
    return tuple((+left).elements())


def _number_cards(slots: tuple[Slot, ...], placed: list[int]) -> tuple[Slot, ...]:
    """Assign numbers: cards without `nth` get the lowest free numbers of their family, front to back."""
    if all(card.nth for slot in slots for card in slot.cards):
        return slots
    numbers: dict[int, int] = {}
    for n_placed, cards in zip(placed, in_queue(slots, len(placed)), strict=True):
        taken = {card.nth for card in cards}
        free = iter([n for n in range(1, max(n_placed, len(cards)) + 1) if n not in taken])
        for card in cards:
            numbers[id(card)] = card.nth or next(free, 0)
    return tuple(
        Slot(slot.family, tuple(card._replace(nth=numbers[id(card)]) for card in slot.cards)) for slot in slots
    )
