"""A table in words, which notation, records and other formats are read into and written from.

`complete` fills in omitted fields; `check` then refuses tables that no game can reach. Its error
names the field, the value and the accepted values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from engine_cy.castle_village_port.cards import LOCATIONS, Card
from engine_cy.castle_village_port.editions import Numbers
from engine_cy.castle_village_port.words import GOLD_MAX, Deed, When
from engine_cy.errors import HiddenCardError, InvalidPositionError, InvalidViewError, NoWorldError, listed
from engine_cy.seats import CHANCE, SEATS
from engine_cy.tables import OMITTED, refusal

# The questions of effects of cards in rows, with the deeds that ask them.
EFFECT_ASKS = {
    "move": (Deed.MOVE_NEIGHBOUR, Deed.FETCH),
    "rob": (Deed.ROB_NEIGHBOUR,),
    "copy": (Deed.COPY_NEIGHBOUR,),
    "swap": (Deed.SWAP_SELECTED,),
    "replace": (Deed.SWAP_SELECTED,),
    "order": (Deed.ORDER_LOCATION,),
    "discard": (Deed.DISCARD_NEIGHBOUR,),
}
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


def _letter(frame: TableShape, seat: int) -> str | int:
    return "*" if seat == CHANCE else frame.families[seat] if seat in frame.seats else seat


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


# --- refusing --------------------------------------------------------------------------------------------------


def check(table: Table, frame: TableShape) -> None:
    """Refuse a table that contradicts the rules or itself."""
    _check_shape(table, frame)
    _check_clock(table, frame)
    _check_rows(table, frame)
    _check_acting(table, frame)
    _check_walk(table, frame)
    actor = table.acting.owner if table.to_act == CHANCE and table.acting else table.to_act or 0
    done = standing(frame, table.phase, table.ask, table.first, actor)
    _check_orders(table, frame, done, frame.place(actor, table.first))
    for player, rows in enumerate(in_rows(table.rows, frame.n_players)):
        _check_cards(table, frame, player, rows, done[player])
    if table.acting is not None:
        _check_possible(table, frame, table.acting, done)
    for p, gold in enumerate(table.gold):
        if not 0 <= gold <= GOLD_MAX:
            raise refusal(table.observer, f"gold[{frame.families[p]}]", gold, f"is not in 0..{GOLD_MAX}")


def _check_shape(table: Table, frame: TableShape) -> None:
    """Check numbers of entries, seats and words, which all other checks depend on."""
    if len(table.rows) != len(LOCATIONS):
        raise refusal(table.observer, "rows", len(table.rows), f"rows, not one for each of {listed(LOCATIONS)}")
    for location, row in zip(LOCATIONS, table.rows, strict=True):
        for i, card in enumerate(row):
            if card.owner not in frame.seats:
                raise refusal(table.observer, f"{location}[{i}].owner", _letter(frame, card.owner), _not_here(frame))
    for field in ("gold", "selected", "orders", "hands", "decks", "piles", "remembered_gold"):
        entries = getattr(table, field, None)
        if entries is not None and len(entries) != frame.n_players:
            raise refusal(
                table.observer, field, len(entries), f"entries, not one for each of {frame.n_players} players"
            )
    for field in ("first", "to_act", "victim", "observer"):
        seat = getattr(table, field)
        if seat is not None and seat not in frame.seats and not (field == "to_act" and seat == CHANCE):
            raise refusal(table.observer, field, _letter(frame, seat), _not_here(frame))
    for field in ("acting", "due", "ranked"):
        cards: Iterable[RowCard] = getattr(table, field) or ()
        for card in (cards,) if isinstance(cards, RowCard) else cards:
            if card.owner not in frame.seats:
                raise refusal(table.observer, field, str(card), _not_here(frame))
    for p, order in enumerate(table.orders or ()):
        if order is not None and order not in LOCATIONS:
            raise refusal(
                table.observer, f"orders[{frame.families[p]}]", order, f"is not a location ({listed(LOCATIONS)})"
            )
    if table.walk is not None and table.walk not in LOCATIONS:
        raise refusal(table.observer, "walk", table.walk, f"is not a location ({listed(LOCATIONS)})")
    _check_words(table, frame)


def _check_words(table: Table, frame: TableShape) -> None:
    """Check that phase, question and seat to act go together."""
    if table.ask is not None and table.ask not in ASKS:
        raise refusal(table.observer, "ask", table.ask, f"is not one of {listed(ASKS)}")
    if table.phase is not None:
        if table.phase not in PHASES:
            raise refusal(table.observer, "phase", table.phase, f"is not one of {listed(PHASES)}")
        if table.ask not in PHASES[table.phase]:
            raise refusal(
                table.observer, "ask", table.ask, f"is not possible in phase {table.phase} ({_asks_in(table.phase)})"
            )
    if table.ask is None:
        if table.to_act is not None:
            raise refusal(table.observer, "to_act", _letter(frame, table.to_act), "is set, but there is no question")
    elif table.to_act is None:
        raise refusal(table.observer, "to_act", None, f"is not a seat to answer {table.ask} ({listed(frame.families)})")
    elif (table.to_act == CHANCE) != (table.ask == "replace"):
        raise refusal(
            table.observer, "to_act", _letter(frame, table.to_act), f"cannot {table.ask}; chance, '*', replaces"
        )
    if table.ask not in EFFECT_ASKS:
        for field in ("acting", "effect", "victim"):
            value = getattr(table, field)
            if value is not None:
                raise refusal(table.observer, field, _shown(value), "is set, but no card's effect asks")
    elif table.acting is None:
        raise refusal(table.observer, "acting", None, f"is not a card whose effect asks to {table.ask}")


def _asks_in(phase: str) -> str:
    return listed(ask or "nothing" for ask in PHASES[phase])


def _not_here(frame: TableShape) -> str:
    return f"is not at this table ({listed(frame.families)})"


def _shown(value: object) -> object:
    return str(value) if isinstance(value, RowCard) else value


def _check_clock(table: Table, frame: TableShape) -> None:
    for field, value, most in (("round", table.round, frame.n_rounds), ("turn", table.turn, frame.n_turns)):
        if value not in range(1, most + 1):
            raise refusal(table.observer, field, value, f"is not in 1..{most}")
    if table.phase == "over" and table.round != frame.n_rounds:
        raise refusal(
            table.observer, "round", table.round, f"is too early: the game is over after round {frame.n_rounds}"
        )
    if table.phase in ("round_end", "over") and table.turn != frame.n_turns:
        raise refusal(table.observer, "turn", table.turn, f"is too early: a round ends after turn {frame.n_turns}")
    if table.phase == "round_end" and table.ask is None and table.observer is not None:
        raise refusal(table.observer, "ask", "walk", "is accepted in a position only: a view has the next question")


def _check_rows(table: Table, frame: TableShape) -> None:
    for location, row in zip(LOCATIONS, table.rows, strict=True):
        for i, card in enumerate(row):
            if card.value not in frame.values:
                raise refusal(table.observer, f"{location}[{i}].value", card.value, _no_card(frame))
            if i and row[i - 1].value < card.value:
                raise refusal(
                    table.observer,
                    f"{location}[{i}]",
                    str(card),
                    f"stands to the right of {row[i - 1]}; a row has its highest value on the left",
                )


def _no_card(frame: TableShape) -> str:
    return f"is not a card of this table ({listed(frame.values)})"


def _check_acting(table: Table, frame: TableShape) -> None:
    """Check that the acting card lies in a row, may act now, and has or copies an effect with this question."""
    if (table.victim is None) != (table.ask != "replace"):
        victim = None if table.victim is None else frame.families[table.victim]
        raise refusal(
            table.observer, "victim", victim, "does not fit ask: replace has a victim, other questions have none"
        )
    card = table.acting
    if card is None:
        return
    if not any(card in row for row in table.rows):
        raise refusal(table.observer, "acting", str(card), "lies in no row")
    if table.to_act not in (card.owner, CHANCE):
        raise refusal(
            table.observer, "to_act", _letter(frame, table.to_act or 0), f"does not own {card}, the card that asks"
        )
    own = frame.card(card.value)
    now = When.IMMEDIATE if table.phase == "reveal" else When.END
    if own.when != now:
        when = "when it is revealed" if now == When.IMMEDIATE else "at the end of a round"
        raise refusal(table.observer, "acting", str(card), f"has no effect {when}")
    if table.effect not in frame.values:
        raise refusal(table.observer, "effect", table.effect, _no_card(frame))
    if table.effect != card.value:
        copied = [beside.value for beside in neighbours(table, card) if _can_be_copied(frame, beside)]
        if own.deed != Deed.COPY_NEIGHBOUR:
            raise refusal(
                table.observer, "effect", table.effect, f"is not that of {card}, which does not copy ({card.value})"
            )
        if table.effect not in copied:
            raise refusal(
                table.observer, "effect", table.effect, f"is not one that {card} may have copied ({listed(copied)})"
            )
    if frame.card(table.effect).deed not in EFFECT_ASKS[table.ask or ""]:
        raise refusal(
            table.observer, "ask", table.ask, f"is not the question of the effect of the card of value {table.effect}"
        )


def _can_be_copied(frame: TableShape, card: RowCard) -> bool:
    row = frame.card(card.value)
    return row.when == When.IMMEDIATE and row.deed != Deed.COPY_NEIGHBOUR


def _check_possible(table: Table, frame: TableShape, card: RowCard, done: list[str]) -> None:
    """Check that the effect has candidates; without any, it would not ask."""
    beside = neighbours(table, card)
    deed = frame.card(table.effect or 0).deed
    waiting = "selected" in done
    if deed in (Deed.MOVE_NEIGHBOUR, Deed.DISCARD_NEIGHBOUR):
        possible, needs = bool(beside), "a neighbour"
    elif deed == Deed.ROB_NEIGHBOUR:
        possible, needs = any(other.owner != card.owner for other in beside), "an opponent's card as neighbour"
    elif deed == Deed.COPY_NEIGHBOUR:
        possible = any(_can_be_copied(frame, other) for other in beside)
        needs = "a neighbour with an immediate effect that is not to copy"
    elif deed == Deed.FETCH:
        possible, needs = any(row and card not in row for row in table.rows), "a card in another location"
    elif deed == Deed.ORDER_LOCATION:
        possible, needs = waiting, "a player who has not revealed yet"
    else:
        rest = _sizes(frame, table.round, table.turn, "selected").hand
        possible, needs = waiting and rest > 0, "a player who has not revealed yet and holds another card"
    if not possible:
        raise refusal(table.observer, "ask", table.ask, f"is not possible for {card}, which needs {needs}")
    if table.victim is not None and done[table.victim] != "selected":
        raise refusal(table.observer, "victim", frame.families[table.victim], "has revealed already")


def _check_walk(table: Table, frame: TableShape) -> None:
    """Check that the progress of the walk fits the row."""
    if table.walk is None:
        if table.phase == "round_end" and table.ask is not None:
            raise refusal(
                table.observer, "walk", None, f"is not the row that is walked in this phase ({listed(LOCATIONS)})"
            )
        for field in ("due", "ranked", "from_right"):
            value = getattr(table, field)
            if value:
                shown = value if value is True else listed(value)
                raise refusal(table.observer, field, shown, "is set, but no row is being walked")
        return
    if table.phase != "round_end" or table.acting is None:
        raise refusal(table.observer, "walk", table.walk, "is not possible: no card asks at the end of a round")
    at = LOCATIONS.index(table.walk)
    row = table.rows[at]
    if table.acting not in row:
        raise refusal(table.observer, "acting", str(table.acting), f"is not in the row being walked, {table.walk}")
    to_come = row[row.index(table.acting) + 1 :]
    for card in table.due:
        # A Sailor counts twice when the row is paid, at any place in it.
        if card not in to_come and not (card in row and frame.card(card.value).deed == Deed.DOUBLE_REWARD):
            raise refusal(table.observer, "due", str(card), f"is not to the right of {table.acting} in {table.walk}")
        if frame.card(card.value).when != When.END:
            raise refusal(table.observer, "due", str(card), "has no effect at the end of a round")
    for field, cards in (("due", table.due), ("ranked", table.ranked)):
        for card, count in Counter(cards).items():
            if count > 1:
                raise refusal(table.observer, field, str(card), "is named twice")
    for card in table.ranked:
        if not any(card in row for row in table.rows):
            raise refusal(table.observer, "ranked", str(card), "lies in no row")
    paid = sum(frame.ranks[:at])
    if len(table.ranked) > paid:
        raise refusal(
            table.observer, "ranked", listed(table.ranked), f"are more than the {paid} ranks paid before {table.walk}"
        )
    if table.from_right and not any(card.deed == Deed.PAY_FROM_RIGHT for card in frame.cards if card.when == When.END):
        raise refusal(table.observer, "from_right", True, "is not possible: no card of this table pays from the right")


def _check_orders(table: Table, frame: TableShape, done: list[str], n_revealed: int) -> None:
    recipients = [p for p, order in enumerate(table.orders) if order is not None]
    able = any(card.deed == Deed.ORDER_LOCATION and card.when == When.IMMEDIATE for card in frame.cards)
    for p in recipients:
        letter, order = frame.families[p], table.orders[p]
        if table.phase != "reveal" or done[p] != "selected":
            raise refusal(
                table.observer, f"orders[{letter}]", order, f"is not possible: {letter} has no card to reveal"
            )
        if not able:
            raise refusal(
                table.observer, f"orders[{letter}]", order, "is not possible: no card of this table orders a location"
            )
    if len(recipients) > n_revealed:
        p = recipients[n_revealed]
        raise refusal(
            table.observer,
            f"orders[{frame.families[p]}]",
            table.orders[p],
            f"is one of {len(recipients)} orders; at most {n_revealed} are possible, one a player who has revealed",
        )


def _check_cards(table: Table, frame: TableShape, player: int, rows: list[int], done: str) -> None:
    """Check one player's cards: their number in each place at this turn, and that none is there twice."""
    letter = frame.families[player]
    sizes = _sizes(frame, table.round, table.turn, done)
    pile, hand, deck, selected = table.piles[player], table.hands[player], table.decks[player], table.selected[player]
    for field, values in (("piles", pile), ("hands", hand), ("decks", deck), ("selected", (selected,))):
        for value in values or ():
            if value not in frame.values and not (field == "selected" and not value):
                raise refusal(table.observer, f"{field}[{letter}]", value, _no_card(frame))
    if len(rows) + len(pile) != sizes.played:
        why = f"cards and {len(rows)} in the rows are not the {sizes.played} that {letter} has played by now"
        raise refusal(table.observer, f"piles[{letter}]", len(pile), why, NoWorldError)
    hidden = table.observer not in (None, player)
    _check_selected(table, letter, selected, done, hidden)
    _check_list(table, "hands", letter, hand, hidden, sizes.hand)
    _check_list(table, "decks", letter, deck, table.observer is not None, sizes.deck)
    known = [*rows, *pile, *(hand or ()), *(deck or ()), *((selected,) if selected else ())]
    for value in known:
        count = known.count(value)
        if count > 1:
            raise refusal(
                table.observer, f"cards[{letter}].{value}", count, "copies; each player has one", NoWorldError
            )


def _check_selected(table: Table, letter: str, selected: int | None, done: str, hidden: bool) -> None:
    if done != "selected":
        if selected != 0:
            why = "has not selected a card yet" if done == "waits" else "has no selected card any more"
            value = "?" if selected is None else selected
            raise refusal(table.observer, f"selected[{letter}]", value, f"is not possible: {letter} {why}")
    elif selected == 0:
        raise refusal(table.observer, f"selected[{letter}]", 0, f"is not possible: {letter} has selected a card by now")
    elif hidden and selected is not None:
        raise refusal(table.observer, f"selected[{letter}]", selected, "is hidden from this observer", HiddenCardError)
    elif not hidden and selected is None:
        raise refusal(table.observer, f"selected[{letter}]", "?", "must be known")


def _check_list(table: Table, field: str, letter: str, values: Values | None, hidden: bool, size: int) -> None:
    """Check that a hand or deck is listed if the observer knows it, and has the right number of cards."""
    if hidden != (values is None):
        value = "?" if values is None else ",".join(map(str, values))
        why = "is hidden from this observer" if hidden else "must be known"
        raise refusal(table.observer, f"{field}[{letter}]", value, why, HiddenCardError if hidden else InvalidViewError)
    if values is not None and len(values) != size:
        raise refusal(
            table.observer, f"{field}[{letter}]", len(values), f"cards; {letter} has {size} there", NoWorldError
        )
