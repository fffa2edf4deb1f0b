"""A table in words: what notation, records and other formats are written from and read into.

Missing parts (None) of a table that somebody wrote by hand are filled in by `complete`; `check` then refuses what
no game can reach, naming the field, the value and what was possible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from engine_cy.errors import InvalidPositionError, InvalidViewError, listed
from engine_cy.oriflamme.cards import Card

TOKENS_MAX = 20
POINTS_MAX = 250
PHASES = ("place", "reveal", "target", "rob", "copy", "move", "pair", "over")
SEATS = "ABCDE"


class Frame(NamedTuple):
    """What the ruleset and the number of players say about any table."""

    cards: tuple[Card, ...]
    n_players: int
    copies: int
    hand_size: int
    start_points: int
    n_rounds: int
    cards_per_turn: int
    tokens_on_keep: int

    @property
    def cards_each(self) -> int:
        return self.n_rounds * self.cards_per_turn

    @property
    def ids(self) -> list[str]:
        return [card.id for card in self.cards]

    @property
    def families(self) -> str:
        return SEATS[: self.n_players]

    def played(self, player: int, round_: int, first: int, turn: int) -> int:
        """How many cards `player` has placed when `turn` cards of `round_` are on the table."""
        turns, within = divmod(turn, self.cards_per_turn)
        place = (player - first) % self.n_players
        this_round = self.cards_per_turn if place < turns else within if place == turns else 0
        return (round_ - 1) * self.cards_per_turn + this_round


@dataclass(frozen=True, slots=True)
class PlayedCard:
    """A card in the queue. `card` is its id, None where the observer does not know it; `nth`, from 1, says which of
    its family's cards it was."""

    family: int
    card: str | None
    face_up: bool = False
    tokens: int = 0
    nth: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """All there is to see. Slots are listed first to last, each from its top card down."""

    slots: tuple[tuple[PlayedCard, ...], ...]
    round: int | None = None
    first: int | None = None
    phase: str | None = None
    to_act: int | None = None
    cursor: int | None = None
    acting: str | None = None
    points: tuple[int, ...] | None = None
    hands: tuple[tuple[str, ...] | None, ...] | None = None
    piles: tuple[tuple[str, ...], ...] | None = None
    observer: int | None = None

    def in_queue(self, family: int) -> list[PlayedCard]:
        """The cards of a family in the queue, front to back, in a slot from the lowest up."""
        return [card for slot in self.slots for card in reversed(slot) if card.family == family]

    def error(self, field: str, found: object, possible: str) -> InvalidPositionError:
        kind, what = (InvalidPositionError, "position") if self.observer is None else (InvalidViewError, "view")
        return kind(f"{what}.{field}: {found!r} {possible}")


def dealt(aside: Sequence[Sequence[str] | None], first: int, frame: Frame, observer: int | None = None) -> Table:
    """The start of a game from the cards that each seat has set aside, None where the observer does not know."""
    n_aside = len(frame.cards) * frame.copies - frame.hand_size
    if len(aside) != frame.n_players:
        raise InvalidPositionError(f"aside: {len(aside)} lists, not one for each of {frame.n_players} players")
    hands: list[tuple[str, ...] | None] = []
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


# --- filling in ------------------------------------------------------------------------------------------------


def complete(table: Table, frame: Frame) -> Table:
    """Fill in what was left out, in the plainest way. The phase stays None where the card at the cursor has yet to
    act; what it does then follows from the rules."""
    seats = range(frame.n_players)
    _check_slots(table, frame)
    if table.phase is None and table.cursor is None:
        table = replace(table, phase="place")
    if table.phase == "place":
        first = table.first if table.first is not None else table.to_act or 0
        table = replace(table, first=first, to_act=first if table.to_act is None else table.to_act)
    elif table.phase != "over" and table.cursor is not None and table.cursor < len(table.slots):
        top = table.slots[table.cursor][0]
        phase = table.phase or (None if top.face_up else "reveal")
        acting = table.acting or (top.card if phase not in (None, "reveal") else None)
        table = replace(table, phase=phase, acting=acting, to_act=top.family if table.to_act is None else table.to_act)
    table = replace(table, first=table.first or 0, points=table.points or (frame.start_points,) * frame.n_players)
    _check_turn(table, frame)

    known = [len(table.in_queue(p)) + (len(table.piles[p]) if table.piles else 0) for p in seats]
    if table.round is None:
        fits = [r for r in range(1, frame.n_rounds + 1) if _fits(table, frame, r, known)]
        table = replace(table, round=frame.n_rounds if table.phase == "over" or not fits else fits[0])
    _check_clock(table, frame)
    played = _played(table, frame, sum(known) if table.piles else None)
    if table.hands is not None and len(table.hands) != frame.n_players:
        raise table.error("hands", len(table.hands), f"hands at a table of {frame.n_players}")
    if table.piles is None:
        table = replace(table, piles=tuple(_some_pile(table, frame, p, played[p] - known[p]) for p in seats))
    if table.hands is None:
        table = replace(table, hands=tuple(_some_hand(table, frame, p, played[p]) for p in seats))
    return replace(table, slots=_numbered(table, frame, played))


def _fits(table: Table, frame: Frame, round_: int, known: list[int]) -> bool:
    played = _played(replace(table, round=round_), frame, sum(known) if table.piles else None)
    return all(known[p] <= played[p] for p in range(frame.n_players))


def _played(table: Table, frame: Frame, total: int | None) -> list[int]:
    """How many cards each seat has placed. Within a double turn only the `total` of cards tells how many."""
    assert table.round is not None and table.first is not None
    seats = range(frame.n_players)
    turn = frame.n_players * frame.cards_per_turn
    if table.phase == "place":
        assert table.to_act is not None
        turn = (table.to_act - table.first) % frame.n_players * frame.cards_per_turn
        before = (table.round - 1) * frame.n_players * frame.cards_per_turn
        if total is not None and 0 < total - before - turn < frame.cards_per_turn:
            turn = total - before
    return [frame.played(p, table.round, table.first, turn) for p in seats]


def _unused(table: Table, frame: Frame, player: int) -> Counter[str]:
    """The kinds of a family that are not known to be in queue, pile or hand."""
    left = Counter(frame.ids * frame.copies)
    left.subtract(card.card for card in table.in_queue(player) if card.card)
    left.subtract(table.piles[player] if table.piles else ())
    left.subtract((table.hands[player] or ()) if table.hands else ())
    return +left


def _some_pile(table: Table, frame: Frame, player: int, n: int) -> tuple[str, ...]:
    return tuple(list(_unused(table, frame, player).elements())[: max(n, 0)])


def _some_hand(table: Table, frame: Frame, player: int, played: int) -> tuple[str, ...] | None:
    if table.observer is not None and player != table.observer:
        return None
    return tuple(list(_unused(table, frame, player).elements())[: frame.hand_size - played])


def _numbered(table: Table, frame: Frame, played: list[int]) -> tuple[tuple[PlayedCard, ...], ...]:
    """The slots with every card's `nth`: those without one get the lowest free numbers, front to back."""
    numbers: dict[int, int] = {}
    for player in range(frame.n_players):
        cards = table.in_queue(player)
        taken = {card.nth for card in cards}
        free = iter([n for n in range(1, max(played[player], len(cards)) + 1) if n not in taken])
        for card in cards:
            numbers[id(card)] = card.nth or next(free, 0)
    return tuple(tuple(replace(card, nth=numbers[id(card)]) for card in slot) for slot in table.slots)


# --- refusing --------------------------------------------------------------------------------------------------


def check(table: Table, frame: Frame) -> None:
    """Refuse a complete table that contradicts the rules or itself."""
    assert table.points is not None and table.hands is not None and table.piles is not None
    for field, entries in (("points", table.points), ("hands", table.hands), ("piles", table.piles)):
        if len(entries) != frame.n_players:
            raise table.error(field, len(entries), f"entries, not one for each of {frame.n_players} players")
    for p, points in enumerate(table.points):
        if not 0 <= points <= POINTS_MAX:
            raise table.error(f"points[{frame.families[p]}]", points, f"is not in 0..{POINTS_MAX}")
    _check_cursor(table, frame)
    total = sum(len(slot) for slot in table.slots) + sum(len(pile) for pile in table.piles)
    played = _played(table, frame, total)
    for player in range(frame.n_players):
        _check_family(table, frame, player, played[player])


def _check_slots(table: Table, frame: Frame) -> None:
    for s, slot in enumerate(table.slots):
        if not slot:
            raise table.error(f"slots[{s}]", [], "is a slot without a card")
        for c, card in enumerate(slot):
            field = f"slots[{s}][{c}]"
            if card.family not in range(frame.n_players):
                letter = SEATS[card.family] if card.family in range(len(SEATS)) else card.family
                raise table.error(f"{field}.family", letter, f"is not at this table ({listed(frame.families)})")
            if card.family != slot[0].family:
                raise table.error(
                    f"{field}.family", SEATS[card.family], f"lies in a stack of {SEATS[slot[0].family]}; a slot has one family"
                )
            if card.card is None and (table.observer is None or card.face_up or card.family == table.observer):
                whose = "in a position" if table.observer is None else "to this observer"
                raise table.error(f"{field}.card", "?", f"every such card is known {whose}")
            if card.card is not None and card.card not in frame.ids:
                raise table.error(f"{field}.card", card.card, f"is no card of this edition ({listed(frame.ids)})")
            if card.card and not card.face_up and table.observer not in (None, card.family):
                raise table.error(
                    f"{field}.card", card.card, f"lies face down and is {SEATS[card.family]}'s; this observer cannot know it"
                )
            _check_tokens(table, frame, field, s, c)


def _check_tokens(table: Table, frame: Frame, field: str, s: int, c: int) -> None:
    card = table.slots[s][c]
    most = TOKENS_MAX if frame.tokens_on_keep else 0
    if not 0 <= card.tokens <= most:
        raise table.error(f"{field}.tokens", card.tokens, f"is not in 0..{most}")
    if card.tokens and card.face_up and not (s == table.cursor and c == 0):
        raise table.error(f"{field}.tokens", card.tokens, "lie on a face-up card; only face-down ones have any")


def _check_turn(table: Table, frame: Frame) -> None:
    """Phase and seats, which everything else is counted from."""
    if table.phase not in (*PHASES, None):
        raise table.error("phase", table.phase, f"is none of {listed(PHASES)}")
    for field, seat in (("first", table.first), ("to_act", table.to_act), ("observer", table.observer)):
        if seat is not None and seat not in range(frame.n_players):
            raise table.error(field, seat, f"is not at this table ({listed(frame.families)})")
    if table.phase in ("place", "over"):
        if table.cursor is not None:
            raise table.error("cursor", table.cursor, f"there is none in phase {table.phase}")
        if table.phase == "over" and table.to_act is not None:
            raise table.error("to_act", frame.families[table.to_act], "nobody's turn: the game is over")
    elif table.cursor is None or not 0 <= table.cursor < len(table.slots):
        raise table.error("cursor", table.cursor, f"is not one of the {len(table.slots)} slots")


def _check_clock(table: Table, frame: Frame) -> None:
    if table.round not in range(1, frame.n_rounds + 1):
        raise table.error("round", table.round, f"is not in 1..{frame.n_rounds}")
    if table.phase == "over" and table.round != frame.n_rounds:
        raise table.error("round", table.round, f"the game is over after round {frame.n_rounds}")


def _check_cursor(table: Table, frame: Frame) -> None:
    """What is asked fits the card at the cursor."""
    if table.cursor is None:
        if table.acting is not None:
            raise table.error("acting", table.acting, "no card acts outside the resolution")
        return
    top = table.slots[table.cursor][0]
    if table.to_act != top.family:
        raise table.error(
            "to_act",
            None if table.to_act is None else frame.families[table.to_act],
            f"the card at the cursor is {frame.families[top.family]}'s",
        )
    if table.phase is None:
        return
    if (table.phase == "reveal") == top.face_up:
        face = "face up" if top.face_up else "face down"
        raise table.error("phase", table.phase, f"does not fit the card at the cursor, which lies {face}")
    if table.acting is not None and table.acting not in frame.ids:
        raise table.error("acting", table.acting, f"is no card of this edition ({listed(frame.ids)})")


def _check_family(table: Table, frame: Frame, player: int, played: int) -> None:
    """One family's cards: as many as were placed, none too often, numbered as they were placed."""
    assert table.hands is not None and table.piles is not None
    letter = frame.families[player]
    cards, pile, hand = table.in_queue(player), table.piles[player], table.hands[player]
    if len(cards) + len(pile) != played:
        raise table.error(
            f"piles[{letter}]",
            len(pile),
            f"and {len(cards)} cards in the queue are not the {played} that {letter} has placed by now",
        )
    numbers = [card.nth for card in cards]
    for nth in numbers:
        if nth is None or not 1 <= nth <= played:
            raise table.error(f"slots.{letter}.nth", nth, f"is not in 1..{played}, the cards that {letter} has placed")
        if numbers.count(nth) > 1:
            raise table.error(f"slots.{letter}.nth", nth, "numbers two cards")
    if (hand is None) != (table.observer is not None and player != table.observer):
        found = "?" if hand is None else ",".join(hand)
        raise table.error(
            f"hands[{letter}]", found, "must be known" if hand is None else "is not for this observer to know"
        )
    if hand is not None and len(hand) != frame.hand_size - played:
        raise table.error(f"hands[{letter}]", len(hand), f"cards; {letter} has {frame.hand_size - played} left")
    for field, kinds in (("piles", pile), ("hands", hand or ())):
        for kind in kinds:
            if kind not in frame.ids:
                raise table.error(f"{field}[{letter}]", kind, f"is no card of this edition ({listed(frame.ids)})")
    counts = Counter([card.card for card in cards if card.card]) + Counter(pile) + Counter(hand or ())
    for kind, count in counts.items():
        if count > frame.copies:
            raise table.error(f"cards[{letter}].{kind}", count, f"copies; a family has {frame.copies}")
