"""A table in words, which notation, records and other formats are read into and written from.

`complete` fills in omitted fields. The rules that a table keeps are those of its bytes: validate.pyx.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

from engine_cy.castle_village_port.cards import LOCATIONS, Card
from engine_cy.castle_village_port.editions import Numbers
from engine_cy.errors import HiddenCardError, InvalidPositionError, listed
from engine_cy.seats import CHANCE, SEATS
from engine_cy.tables import OMITTED, refusal, seat_letter

# The questions of effects of cards in rows.
EFFECT_ASKS = ("move", "rob", "copy", "swap", "replace", "order", "discard")
ASKS = ("select", "place", *EFFECT_ASKS)
# The possible questions of each phase; at the end of a round, None means that the walk has yet to start.
PHASES: dict[str, tuple[str | None, ...]] = {
    "select": ("select",),
    "reveal": ("place", *EFFECT_ASKS),
    "round_end": (None, "move", "rob", "copy", "discard"),
    "over": (None,),
}


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


def frame_of(numbers: Numbers) -> TableShape:
    """Return the frame of all tables with these numbers."""
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
class Table:
    """A table. Rows are listed castle, village, port, each from left to right.

    A person or program may omit fields: they are None until `complete` fills them in.

    Hands and piles have no order and are listed from the highest value down, decks from the top. None stands for cards
    that the observer does not know: hands, decks, and in `selected` a face-down card (0: no card is selected). Under
    `hidden_gold` a view shows the others' `gold` as None; `remembered_gold` holds all gold, which the observer knows
    nevertheless, since every gain was public. A complete table has the true gold in both.

    `ask` is None when the game is over, or at the end of a round whose walk has yet to start. The card `acting` in a
    row asks, by the effect of the card of value `effect`: its own, or the one that it copied. `due` holds the cards
    that will still act in this walk (a Sailor: when the row is paid), `ranked` the cards in rows that took a rank this
    round, both in the order of the rows.
    """

    rows: tuple[Row, ...] = ((), (), ())
    round: int = OMITTED
    turn: int = OMITTED
    first: int = OMITTED
    phase: str = OMITTED
    ask: str | None = None
    to_act: int | None = None
    gold: tuple[int, ...] = OMITTED
    selected: tuple[int | None, ...] = OMITTED
    orders: tuple[str | None, ...] = OMITTED
    hands: tuple[Values | None, ...] = OMITTED
    decks: tuple[Values | None, ...] = OMITTED
    piles: tuple[Values, ...] = OMITTED
    acting: RowCard | None = None
    effect: int | None = None
    victim: int | None = None
    walk: str | None = None
    due: Row = ()
    ranked: Row = ()
    from_right: bool = False
    observer: int | None = None
    remembered_gold: tuple[int, ...] | None = None


def dealt(decks: Sequence[Sequence[int]], first: int, frame: TableShape) -> Table:
    """Return the start of a game from each seat's whole deck, top first, before the first draw."""
    if len(decks) != frame.n_players:
        raise InvalidPositionError(f"decks: {len(decks)} lists, not one for each of {frame.n_players} players")
    for letter, deck in zip(frame.families, decks, strict=True):
        if any(type(value) is not int for value in deck) or sorted(deck, reverse=True) != frame.values:
            raise InvalidPositionError(
                f"decks[{letter}]: {listed(deck)} is not each card of the table once ({listed(frame.values)})"
            )
    drawn = frame.drawn(1)
    return Table(
        round=1,
        turn=1,
        first=first,
        hands=tuple(tuple(deck[:drawn]) for deck in decks),
        decks=tuple(tuple(deck[drawn:]) for deck in decks),
    )


def standing(frame: TableShape, phase: str, ask: str | None, first: int, actor: int) -> list[str]:
    """Return the progress of each seat this turn: "waits", "selected" or "revealed".

    `actor` is the seat to act; if chance acts, the owner of the acting card.
    """
    if phase == "select":
        done = frame.place(actor, first)
        return ["selected" if frame.place(p, first) < done else "waits" for p in frame.seats]
    elif phase == "reveal":
        done = frame.place(actor, first) + (ask != "place")
        return ["revealed" if frame.place(p, first) < done else "selected" for p in frame.seats]
    return ["revealed"] * frame.n_players


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


def complete(table: Table, frame: TableShape) -> Table:
    """Fill in the omitted fields of a table, each in the simplest way that fits the others."""
    _check_shape(table, frame)
    first = table.first or 0
    phase, ask, to_act = _question(table, frame, first)
    actor = table.acting.owner if to_act == CHANCE and table.acting else first if to_act is None else to_act
    done = standing(frame, phase, ask, first, actor)
    round_, turn = _clock(table, frame, phase, done)
    hidden = [table.observer not in (None, p) for p in frame.seats]
    rows = in_rows(table.rows, frame.n_players)
    selected: list[int | None] = []
    hands: list[Values | None] = []
    decks: list[Values | None] = []
    piles: list[Values] = []
    for p in frame.seats:
        free = _Free(table, frame, p, rows[p])
        sizes = _sizes(frame, round_, turn, done[p])
        if table.selected is not None:
            selected.append(table.selected[p])
        elif done[p] != "selected":
            selected.append(0)
        else:
            selected.append(None if hidden[p] else next(iter(free.take(1)), 0))
        if table.hands is not None:
            hand = table.hands[p]
            hands.append(None if hand is None else _sorted(hand))
        else:
            hands.append(None if hidden[p] else free.take(sizes.hand))
        piles.append(
            _sorted(table.piles[p]) or () if table.piles is not None else free.take(sizes.played - len(rows[p]))
        )
        if table.decks is not None:
            decks.append(table.decks[p])
        else:
            decks.append(free.take(sizes.deck) if table.observer is None else None)
    gold = _gold(table, frame)
    return Table(
        rows=table.rows,
        round=round_,
        turn=turn,
        first=first,
        phase=phase,
        ask=ask,
        to_act=to_act,
        gold=gold,
        selected=tuple(selected),
        orders=table.orders or (None,) * frame.n_players,
        hands=tuple(hands),
        decks=tuple(decks),
        piles=tuple(piles),
        acting=table.acting,
        effect=table.acting.value if table.effect is None and table.acting else table.effect,
        victim=table.victim,
        walk=table.walk,
        due=_as_they_lie(table.due, table.rows),
        ranked=_as_they_lie(table.ranked, table.rows),
        from_right=table.from_right,
        observer=table.observer,
        remembered_gold=gold if frame.hidden_gold and table.observer is not None else None,
    )


class _Sizes(NamedTuple):
    """The number of a player's cards in each place; `played` counts those in rows and pile."""

    played: int
    hand: int
    deck: int


def _sizes(frame: TableShape, round_: int, turn: int, done: str) -> _Sizes:
    before = frame.turns_before(round_, turn)
    drawn = frame.drawn(round_)
    return _Sizes(before + (done == "revealed"), drawn - before - (done != "waits"), len(frame.cards) - drawn)


class _Free:
    """The cards of a player that a table places nowhere, taken from the highest down."""

    def __init__(self, table: Table, frame: TableShape, player: int, rows: list[int]) -> None:
        self._table, self._frame, self._player, self._rows = table, frame, player, rows

    @cached_property
    def values(self) -> list[int]:
        """The cards left to take, computed on first use: a complete table takes none."""
        table, player = self._table, self._player
        named = [*self._rows, (table.selected[player] if table.selected else None) or 0]
        for lists in (table.hands, table.decks, table.piles):
            named.extend((lists[player] if lists else None) or ())
        return [value for value in self._frame.values if value not in named]

    def take(self, n: int) -> Values:
        taken = tuple(self.values[: max(n, 0)])
        del self.values[: len(taken)]
        return taken


def _check_shape(table: Table, frame: TableShape) -> None:
    """Check what bytes cannot say: numbers of entries, seats and words, and fields that this phase does not have."""
    refused = partial(refusal, table.observer)
    not_here = f"is not at this table ({listed(frame.families)})"
    if len(table.rows) != len(LOCATIONS):
        raise refused("rows", len(table.rows), f"rows, not one for each of {listed(LOCATIONS)}")
    for location, row in zip(LOCATIONS, table.rows, strict=True):
        for i, card in enumerate(row):
            if card.owner not in frame.seats:
                raise refused(f"{location}[{i}].owner", seat_letter(card.owner), not_here)
    for field in ("gold", "selected", "orders", "hands", "decks", "piles", "remembered_gold"):
        entries = getattr(table, field)
        if entries is not None and len(entries) != frame.n_players:
            raise refused(field, len(entries), f"entries, not one for each of {frame.n_players} players")
    if table.observer is not None and table.observer not in frame.seats:
        raise refused("observer", seat_letter(table.observer), not_here)
    for field, cards in (("acting", (table.acting,) if table.acting else ()), *_walk_cards(table)):
        for card in cards:
            if card.owner not in frame.seats:
                raise refused(field, str(card), not_here)
            if card.value not in frame.values:
                raise refused(field, str(card), f"is not a card of this table ({listed(frame.values)})")
            if cards.count(card) > 1:
                raise refused(field, str(card), "is named twice")
    for field, place in (("walk", table.walk), *zip(_order_fields(frame), table.orders or (), strict=False)):
        if place is not None and place not in LOCATIONS:
            raise refused(field, place, f"is not a location ({listed(LOCATIONS)})")
    _check_question(table, frame)


def _walk_cards(table: Table) -> list[tuple[str, Row]]:
    return [("due", table.due), ("ranked", table.ranked)]


def _order_fields(frame: TableShape) -> list[str]:
    return [f"orders[{letter}]" for letter in frame.families]


def _check_question(table: Table, frame: TableShape) -> None:
    """Check that phase, question, seat to act and walk go together, as far as they are there."""
    refused = partial(refusal, table.observer)
    phase, ask, to_act = table.phase, table.ask, table.to_act
    if ask not in (*ASKS, None):
        raise refused("ask", ask, f"is not one of {listed(ASKS)}")
    if phase is not None:
        if phase not in PHASES:
            raise refused("phase", phase, f"is not one of {listed(PHASES)}")
        if ask not in PHASES[phase]:
            asks = listed(ask or "nothing" for ask in PHASES[phase])
            raise refused("ask", ask, f"is not possible in phase {phase} ({asks})")
        if phase == "round_end" and ask is None and table.observer is not None:
            raise refused("ask", "walk", "is accepted in a position only: a view has the next question")
        if table.walk is None and phase == "round_end" and ask is not None:
            raise refused("walk", None, f"is not the row that is walked in this phase ({listed(LOCATIONS)})")
        if table.walk is not None and (phase != "round_end" or ask is None):
            raise refused("walk", table.walk, "is not possible: no card asks at the end of a round")
    if ask is None:
        if to_act is not None:
            raise refused("to_act", seat_letter(to_act), "is set, but there is no question")
    elif to_act is None:
        raise refused("to_act", None, f"is not a seat to answer {ask} ({listed(frame.families)})")
    elif (to_act == CHANCE) != (ask == "replace"):
        raise refused("to_act", seat_letter(to_act), f"cannot {ask}; chance, '*', replaces")


def _question(table: Table, frame: TableShape, first: int) -> tuple[str, str | None, int | None]:
    """Return phase, question and seat to act.

    A table without these comes to the first missing selection or, if there are enough, to the first unplaced card.
    """
    if table.phase is not None:
        return table.phase, table.ask, table.to_act
    if table.ask is not None:
        phase = {"select": "select", "place": "reveal"}.get(table.ask, "reveal" if table.walk is None else "round_end")
        return phase, table.ask, table.to_act
    order = sorted(frame.seats, key=lambda seat: frame.place(seat, first))
    selected = table.selected or (0,) * frame.n_players
    waiting = [seat for seat in order if selected[seat] == 0]
    if not waiting or (selected[first] == 0 and len(waiting) < frame.n_players):
        return "reveal", "place", next(seat for seat in order if selected[seat] != 0)
    return "select", "select", waiting[0]


def _clock(table: Table, frame: TableShape, phase: str, done: list[str]) -> tuple[int, int]:
    """Return round and turn: the table's, or the first that fit the cards on the table."""
    if table.round is not None and table.turn is not None:
        return table.round, table.turn
    rounds = range(1, frame.n_rounds + 1) if table.round is None else (table.round,)
    turns: Sequence[int] = range(1, frame.n_turns + 1) if table.turn is None else (table.turn,)
    if phase == "over" and table.round is None:
        rounds = (frame.n_rounds,)
    if phase in ("round_end", "over") and table.turn is None:
        turns = (frame.n_turns,)
    clocks = [(round_, turn) for round_ in rounds for turn in turns]
    return next((clock for clock in clocks if _fits(table, frame, *clock, done)), clocks[-1])


def _fits(table: Table, frame: TableShape, round_: int, turn: int, done: list[str]) -> bool:
    for p in frame.seats:
        sizes = _sizes(frame, round_, turn, done[p])
        known = sum(card.owner == p for row in table.rows for card in row)
        if table.piles is not None and known + len(table.piles[p]) != sizes.played:
            return False
        hand = table.hands[p] if table.hands is not None else None
        if known > sizes.played or (hand is not None and len(hand) != sizes.hand):
            return False
    return True


def _gold(table: Table, frame: TableShape) -> tuple[int, ...]:
    """Return all players' true gold; under `hidden_gold`, as the observer of a view remembers it."""
    remembered = table.remembered_gold
    if not frame.hidden_gold or table.observer is None:
        if remembered is not None:
            raise refusal(table.observer, "remembered_gold", remembered, "is accepted only in a view under hidden_gold")
        gold = table.gold or (frame.starting_gold,) * frame.n_players
        if None in gold:
            raise refusal(table.observer, f"gold[{frame.families[gold.index(OMITTED)]}]", "?", "must be known")
        return gold
    if remembered is None:
        raise refusal(
            table.observer,
            "remembered_gold",
            None,
            "is required under hidden_gold: every gain was public. Without it, send the history, as a record",
        )
    for p, shown in enumerate(() if table.gold == remembered else table.gold or ()):
        field = f"gold[{frame.families[p]}]"
        if p != table.observer and shown is not None:
            why = "is hidden from its observer; remembered_gold holds the gold that they remember"
            raise refusal(table.observer, field, shown, why, HiddenCardError)
        if p == table.observer and shown != remembered[p]:
            value = "?" if shown is None else shown
            raise refusal(
                table.observer, field, value, f"is seen by its observer, but remembered_gold is {remembered[p]}"
            )
    return remembered


def _sorted(values: Values) -> Values:
    return tuple(sorted(values, reverse=True))


def _as_they_lie(cards: Row, rows: tuple[Row, ...]) -> Row:
    """Sort cards in the order of the rows; cards that lie in none come last."""
    lying = [card for row in rows for card in row]
    return tuple(sorted(cards, key=lambda card: lying.index(card) if card in lying else len(lying)))
