"""Tables in words: their public part, and the secrets of each seat. Text and messages have the same fields.

`complete` fills in omitted fields. The rules that a table keeps are those of its bytes: validate.pyx.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

from engine_cy.castle_village_port.actions import ACTIONS
from engine_cy.castle_village_port.cards import LOCATIONS, Card
from engine_cy.castle_village_port.editions import Numbers
from engine_cy.errors import HiddenCardError, InvalidPositionError, NoWorldError, listed
from engine_cy.seats import CHANCE, SEATS
from engine_cy.tables import OMITTED, AllSecrets, Fault, SeenSecrets, refusal, seat_letter

# The questions of effects of cards in rows, and those among them that a card asks at the end of a round.
EFFECT_ASKS = tuple(ask for ask in ACTIONS.questions if ask not in ("select", "place"))
END_ASKS = ("move", "rob", "copy", "discard")
# `walk`: the walk at the end of the round has yet to start.
ASKS = ("select", "place", "over", "walk", *EFFECT_ASKS)


@dataclass(frozen=True)
class TableShape:
    """The properties of all tables of a ruleset and number of players. `ranks` counts the rewards of each location."""

    cards: tuple[Card, ...]
    n_players: int
    hand_size: int
    n_rounds: int
    n_turns: int
    starting_gold: int
    hidden_gold: bool
    ranks: tuple[int, ...]

    @cached_property
    def values(self) -> list[int]:
        """The values of each player's cards, highest first."""
        return [card.value for card in self.cards]

    @cached_property
    def families(self) -> str:
        return SEATS[: self.n_players]

    @cached_property
    def seats(self) -> range:
        return range(self.n_players)

    def card(self, value: int) -> Card:
        return next(card for card in self.cards if card.value == value)

    def place(self, player: int, first: int) -> int:
        """Return how many seats `player` sits clockwise from `first`."""
        return (player - first) % self.n_players

    def drawn(self, round_: int) -> int:
        """Return how many cards each player has drawn when `round_` begins."""
        return min((round_ - 1) * self.n_turns + self.hand_size, len(self.cards))

    def turns_before(self, round_: int, turn: int) -> int:
        """Return how many turns were played before this one. In each, every player played a card."""
        return (round_ - 1) * self.n_turns + turn - 1


def shape_of(numbers: Numbers) -> TableShape:
    """Return the shape of all tables with these numbers."""
    return TableShape(
        cards=numbers.cards,
        n_players=numbers.n_players,
        hand_size=numbers.hand_size,
        n_rounds=numbers.n_rounds,
        n_turns=numbers.n_turns,
        starting_gold=numbers.starting_gold,
        hidden_gold=numbers.hidden_gold,
        ranks=tuple(len(entries) for entries in numbers.rewards),
    )


class RowCard(NamedTuple):
    """A card in a row, identified by value and owner: a player has each value once."""

    value: int
    owner: int

    def __str__(self) -> str:
        return f"{self.value}{SEATS[self.owner] if self.owner in range(len(SEATS)) else self.owner}"


Row = tuple[RowCard, ...]
Values = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Walk:
    """The walk through a row at the end of a round.

    `due` holds the cards that will still act in it (a Sailor: when the row is paid), `ranked` the cards in rows that
    took a rank this round, both in the order of the rows.
    """

    location: str
    due: Row = ()
    ranked: Row = ()
    from_right: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """The public part of a table. Rows are listed from left to right.

    A person or program may omit fields: they are None, or empty, until `complete` fills them in. The card `acting` in a
    row asks, by the effect of the card of value `effect`: its own, or the one that it copied. `gold`, `orders`, `piles`
    and the sizes have an entry for each seat; `selected` lists the seats with a face-down selected card. Under
    `hidden_gold` a view has no `gold`, but `remembered_gold`: every gain was public.
    """

    castle: Row = ()
    village: Row = ()
    port: Row = ()
    round: int = OMITTED
    turn: int = OMITTED
    first: int = OMITTED
    ask: str | None = None
    to_act: int | None = None
    acting: RowCard | None = None
    effect: int | None = None
    victim: int | None = None
    gold: tuple[int, ...] | None = None
    remembered_gold: tuple[int, ...] | None = None
    orders: tuple[str | None, ...] = ()
    piles: tuple[Values, ...] = ()
    walk: Walk | None = None
    hand_sizes: tuple[int, ...] = ()
    deck_sizes: tuple[int, ...] = ()
    selected: tuple[int, ...] = OMITTED

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.castle, self.village, self.port

    @property
    def known_gold(self) -> tuple[int, ...]:
        """The gold of each seat, as far as the observer sees or remembers it."""
        return self.remembered_gold or self.gold or ()

    @property
    def phase(self) -> str:
        """The part of the round: "select", "reveal", "round_end" or "over"."""
        if self.ask in ("select", "over"):
            return str(self.ask)
        return "round_end" if self.walk is not None or self.ask == "walk" else "reveal"


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secrets of a seat: its hand, from the highest value down, and its selected card; 0: it has none."""

    hand: Values = ()
    selected: int = 0


@dataclass(frozen=True, slots=True)
class SeenTable(SeenSecrets):
    """A table as one seat sees it."""

    observer: int
    table: Table
    own: Secrets


@dataclass(frozen=True, slots=True)
class WholeTable(AllSecrets):
    """A table with nothing hidden: the secrets, and the decks from the top, have an entry for each seat."""

    table: Table
    secrets: tuple[Secrets, ...]
    decks: tuple[Values, ...] = OMITTED


Parts = SeenTable | WholeTable


@dataclass(frozen=True, slots=True)
class Deal:
    """The deal of a game: each seat's whole deck, top first, before the first draw."""

    first: int
    decks: tuple[Values, ...]


def dealt(deal: Deal, shape: TableShape) -> WholeTable:
    """Return the start of a game."""
    if len(deal.decks) != shape.n_players:
        raise InvalidPositionError(f"decks: {len(deal.decks)} lists, not one for each of {shape.n_players} players")
    for letter, deck in zip(shape.families, deal.decks, strict=True):
        if any(type(value) is not int for value in deck) or sorted(deck, reverse=True) != shape.values:
            raise InvalidPositionError(
                f"decks[{letter}]: {listed(deck)} is not each card of the table once ({listed(shape.values)})"
            )
    drawn = shape.drawn(1)
    table = Table(round=1, turn=1, first=deal.first)
    return WholeTable(
        table, tuple(Secrets(deck[:drawn]) for deck in deal.decks), tuple(deck[drawn:] for deck in deal.decks)
    )


def path_of(parts: Parts | None, seat: int) -> str:
    """Return the path of a seat's secrets."""
    return "own" if isinstance(parts, SeenTable) else f"secrets[{seat_letter(seat)}]"


def progress(shape: TableShape, table: Table) -> list[str]:
    """Return the progress of each seat this turn: "waits", "selected" or "revealed"."""
    # Chance acts for the owner of the acting card.
    actor = table.acting.owner if table.to_act == CHANCE and table.acting else table.to_act
    done = shape.place(table.first if actor is None else actor, table.first)
    if table.phase == "select":
        return ["selected" if shape.place(p, table.first) < done else "waits" for p in shape.seats]
    elif table.phase == "reveal":
        done += table.ask != "place"
        return ["revealed" if shape.place(p, table.first) < done else "selected" for p in shape.seats]
    return ["revealed"] * shape.n_players


def in_rows(rows: tuple[Row, ...], n_players: int) -> list[list[int]]:
    """Return the values of each player's cards in the rows."""
    values: list[list[int]] = [[] for _ in range(n_players)]
    for row in rows:
        for card in row:
            values[card.owner].append(card.value)
    return values


def neighbours(table: Table, card: RowCard) -> list[RowCard]:
    """Return the cards directly left and right of a card in a row."""
    for row in table.rows:
        if card in row:
            at = row.index(card)
            return [*row[max(at - 1, 0) : at], *row[at + 1 : at + 2]]
    return []


# --- filling in ------------------------------------------------------------------------------------------------


def complete(parts: Parts, shape: TableShape) -> Parts:
    """Fill in the omitted fields of a table, each in the simplest way that fits the others."""
    _check_shape(parts, shape)
    n = shape.n_players
    table = replace(
        parts.table,
        first=parts.table.first or 0,
        orders=parts.table.orders or (None,) * n,
        piles=((),) * n if parts.table.piles == () else parts.table.piles,
        **_gold(parts, shape),
    )
    ask, to_act = _question(parts, shape, table.first)
    table = replace(table, ask=ask, to_act=to_act)
    done = progress(shape, table)
    round_, turn = _clock(parts, shape, table, done)
    selected = [p for p in shape.seats if done[p] == "selected"] if table.selected is None else table.selected
    rows = in_rows(table.rows, n)
    sizes = [_sizes(shape, round_, turn, progress) for progress in done]
    free = [_FreeCards(parts, table, shape, p, rows[p]) for p in shape.seats]
    secrets = tuple(
        _complete_secrets(own, done[p], sizes[p], free[p]) for p in shape.seats for own in (parts.secrets_of(p),)
    )
    if table.piles is None:
        piles = tuple(free[p].take(sizes[p].played - len(rows[p])) for p in shape.seats)
    else:
        piles = tuple(map(_sorted, table.piles))
    walk = table.walk
    if walk is not None:
        walk = replace(walk, due=_as_they_lie(walk.due, table.rows), ranked=_as_they_lie(walk.ranked, table.rows))
    table = replace(
        table,
        round=round_,
        turn=turn,
        effect=table.acting.value if table.effect is None and table.acting else table.effect,
        piles=piles,
        walk=walk,
        selected=tuple(sorted(selected)),
    )
    if not (table.hand_sizes and table.deck_sizes):
        hand_sizes, deck_sizes = _hand_and_deck_sizes(table, selected, shape)
        table = replace(table, hand_sizes=table.hand_sizes or hand_sizes, deck_sizes=table.deck_sizes or deck_sizes)
    if isinstance(parts, SeenTable):
        return SeenTable(parts.observer, table, secrets[parts.observer])
    decks = tuple(free[p].take(sizes[p].deck) for p in shape.seats) if parts.decks is None else parts.decks
    return WholeTable(table, secrets, decks)


def _hand_and_deck_sizes(
    table: Table, selected: Sequence[int], shape: TableShape
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the sizes of hands and decks that follow from the other fields."""
    drawn = shape.drawn(table.round)
    rows = in_rows(table.rows, shape.n_players)
    hand_sizes = (drawn - len(rows[p]) - len(table.piles[p]) - (p in selected) for p in shape.seats)
    return tuple(hand_sizes), (len(shape.cards) - drawn,) * shape.n_players


def derived_faults(parts: Parts, shape: TableShape) -> list[Fault]:
    """Return the faults of the fields of a complete table that follow from others and that bytes do not have."""
    table = parts.table
    secrets = [parts.secrets_of(p) for p in shape.seats]
    selected = [p for p, own in enumerate(secrets) if (p in table.selected if own is None else own.selected)]
    hand_sizes, deck_sizes = _hand_and_deck_sizes(table, selected, shape)
    if hand_sizes != table.hand_sizes == _hand_and_deck_sizes(table, table.selected, shape)[0]:
        hand_sizes = table.hand_sizes  # the fault of `selected` explains those
    return [
        Fault(f"table.{field}", listed(stated), f"contradicts the other fields: {listed(derived)}", NoWorldError)
        for field, stated, derived in (
            ("hand_sizes", table.hand_sizes, hand_sizes),
            ("deck_sizes", table.deck_sizes, deck_sizes),
            ("selected", [*map(seat_letter, table.selected)], [*map(seat_letter, selected)]),
        )
        if stated != derived
    ]


def _complete_secrets(own: Secrets | None, done: str, sizes: _Sizes, free: _FreeCards) -> Secrets:
    if own is None:
        return Secrets()
    selected, hand = own.selected, own.hand
    if selected is None:
        selected = next(iter(free.take(1)), 0) if done == "selected" else 0
    return Secrets(free.take(sizes.hand) if hand is None else _sorted(hand), selected)


class _Sizes(NamedTuple):
    """The number of a player's cards in each place; `played` counts those in rows and pile."""

    played: int
    hand: int
    deck: int


def _sizes(shape: TableShape, round_: int, turn: int, done: str) -> _Sizes:
    before = shape.turns_before(round_, turn)
    drawn = shape.drawn(round_)
    return _Sizes(before + (done == "revealed"), drawn - before - (done != "waits"), len(shape.cards) - drawn)


class _FreeCards:
    """The cards of a player that a table places nowhere, taken from the highest down."""

    def __init__(self, parts: Parts, table: Table, shape: TableShape, player: int, rows: list[int]) -> None:
        self._parts, self._table, self._shape, self._player, self._rows = parts, table, shape, player, rows

    @cached_property
    def values(self) -> list[int]:
        """The cards left to take, computed on first use: a complete table takes none."""
        own = self._parts.secrets_of(self._player) or Secrets()
        decks = self._parts.decks if isinstance(self._parts, WholeTable) else None
        named = [*self._rows, own.selected or 0, *(own.hand or ())]
        for lists in (decks, self._table.piles):
            named.extend(lists[self._player] if lists else ())
        return [value for value in self._shape.values if value not in named]

    def take(self, n: int) -> Values:
        taken = tuple(self.values[: max(n, 0)])
        del self.values[: len(taken)]
        return taken


def _check_shape(parts: Parts, shape: TableShape) -> None:
    """Check what bytes cannot say: numbers of entries, seats and words, and fields that this question does not have."""
    refused = partial(refusal, parts.observer)
    table, n = parts.table, shape.n_players
    not_here = f"is not at this table ({listed(shape.families)})"
    for location, row in zip(LOCATIONS, table.rows, strict=True):
        for i, card in enumerate(row):
            if card.owner not in shape.seats:
                raise refused(f"table.{location}[{i}].owner", seat_letter(card.owner), not_here)
    for field in ("gold", "orders", "piles", "remembered_gold", "hand_sizes", "deck_sizes"):
        entries = getattr(table, field)
        if entries and len(entries) != n:
            raise refused(f"table.{field}", len(entries), f"entries, not one for each of {n} players")
    if isinstance(parts, WholeTable):
        for field, lists in (("secrets", parts.secrets), ("decks", parts.decks)):
            if lists is not None and len(lists) != n:
                raise refused(field, len(lists), f"entries, not one for each of {n} players")
    elif parts.observer not in shape.seats:
        raise refused("observer", seat_letter(parts.observer), not_here)
    walk = table.walk
    cards: list[tuple[str, Row]] = [("acting", (table.acting,) if table.acting else ())]
    if walk is not None:
        cards += [("walk.due", walk.due), ("walk.ranked", walk.ranked)]
    for field, row in cards:
        for card in row:
            if card.owner not in shape.seats:
                raise refused(f"table.{field}", str(card), not_here)
            if card.value not in shape.values:
                raise refused(f"table.{field}", str(card), f"is not a card of this table ({listed(shape.values)})")
            if row.count(card) > 1:
                raise refused(f"table.{field}", str(card), "is named twice")
    places = [(f"orders[{letter}]", order) for letter, order in zip(shape.families, table.orders, strict=False)]
    for field, place in (("walk.location", walk.location if walk else None), *places):
        if place is not None and place not in LOCATIONS:
            raise refused(f"table.{field}", place, f"is not a location ({listed(LOCATIONS)})")
    _check_question(parts, shape)


def _check_question(parts: Parts, shape: TableShape) -> None:
    """Check that the question, the seat to act and the walk go together, as far as they are there."""
    refused = partial(refusal, parts.observer)
    table = parts.table
    ask, to_act = table.ask, table.to_act
    if ask not in (*ASKS, None):
        raise refused("table.ask", ask, f"is not one of {listed(ASKS)}")
    if ask == "walk" and parts.observer is not None:
        raise refused("table.ask", ask, "is accepted in a position only: a view has the next question")
    if table.walk is not None and ask is not None and ask not in END_ASKS:
        raise refused("table.walk", table.walk.location, f"is not possible with the question {ask}")
    if ask in (None, "over", "walk"):
        if to_act is not None:
            raise refused("table.to_act", seat_letter(to_act), "is set, but there is no question")
    elif ask == "replace":
        if to_act != CHANCE:
            raise refused("table.to_act", seat_letter(to_act), "cannot replace; chance, '*', replaces")
    elif to_act is None:
        raise refused("table.to_act", None, f"is not a seat to answer {ask} ({listed(shape.families)})")
    elif to_act == CHANCE:
        raise refused("table.to_act", seat_letter(to_act), f"cannot {ask}; chance, '*', replaces")


def _question(parts: Parts, shape: TableShape, first: int) -> tuple[str, int | None]:
    """Return the question and the seat to act.

    A table without these comes to the first missing selection or, if there are enough, to the first unplaced card.
    """
    table = parts.table
    if table.ask is not None:
        return table.ask, table.to_act
    order = sorted(shape.seats, key=lambda seat: shape.place(seat, first))
    selected = table.selected or ()
    waiting = [seat for seat in order if seat not in selected]
    if not waiting or (first in waiting and len(waiting) < shape.n_players):
        return "place", next(seat for seat in order if seat in selected)
    return "select", waiting[0]


def _clock(parts: Parts, shape: TableShape, table: Table, done: list[str]) -> tuple[int, int]:
    """Return round and turn: the table's, or the first that fit the cards on the table."""
    if table.round is not None and table.turn is not None:
        return table.round, table.turn
    rounds = range(1, shape.n_rounds + 1) if table.round is None else (table.round,)
    turns: Sequence[int] = range(1, shape.n_turns + 1) if table.turn is None else (table.turn,)
    if table.phase == "over" and table.round is None:
        rounds = (shape.n_rounds,)
    if table.phase in ("round_end", "over") and table.turn is None:
        turns = (shape.n_turns,)
    clocks = [(round_, turn) for round_ in rounds for turn in turns]
    return next((clock for clock in clocks if _fits(parts, shape, table, *clock, done)), clocks[-1])


def _fits(parts: Parts, shape: TableShape, table: Table, round_: int, turn: int, done: list[str]) -> bool:
    for p in shape.seats:
        sizes = _sizes(shape, round_, turn, done[p])
        known = sum(card.owner == p for row in table.rows for card in row)
        if table.piles is not None and known + len(table.piles[p]) != sizes.played:
            return False
        own = parts.secrets_of(p)
        if known > sizes.played or (own is not None and own.hand is not None and len(own.hand) != sizes.hand):
            return False
    return True


def _gold(parts: Parts, shape: TableShape) -> dict[str, Any]:
    """Return the fields for gold: `remembered_gold` in a view under `hidden_gold`, else `gold`."""
    gold, remembered = parts.table.gold, parts.table.remembered_gold
    if not shape.hidden_gold or parts.observer is None:
        if remembered is not None:
            why = "is accepted only in a view under hidden_gold"
            raise refusal(parts.observer, "table.remembered_gold", remembered, why)
        return {"gold": gold or (shape.starting_gold,) * shape.n_players}
    if gold is not None:
        why = "is hidden in this game; use remembered_gold"
        raise refusal(parts.observer, "table.gold", gold, why, HiddenCardError)
    if remembered is None:
        why = "is required under hidden_gold: every gain was public. Without it, send the history, as a record"
        raise refusal(parts.observer, "table.remembered_gold", None, why)
    return {"remembered_gold": remembered}


def _sorted(values: Values) -> Values:
    return tuple(sorted(values, reverse=True))


def _as_they_lie(cards: Row, rows: tuple[Row, ...]) -> Row:
    """Sort cards in the order of the rows; cards that lie in none come last."""
    lying = [card for row in rows for card in row]
    return tuple(sorted(cards, key=lambda card: lying.index(card) if card in lying else len(lying)))
