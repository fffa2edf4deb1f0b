"""The messages of Castle, Village, Port: rulesets, tables, actions, deals and cards in answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from eminence.v1 import castle_village_port_pb2 as pb
from eminence.v1 import solver_pb2
from engine_cy import CHANCE, Action, Position, View
from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.castle_village_port.notation import TYPES
from engine_cy.castle_village_port.notation import write_action as action_text
from engine_cy.castle_village_port.table import (
    EFFECT_ASKS,
    Row,
    RowCard,
    Table,
    TableShape,
    complete,
    dealt,
    in_rows,
    standing,
)
from engine_cy.errors import listed
from engine_cy.tables import OMITTED
from server.codec.fields import (
    Words,
    check_derived,
    check_length,
    per_seat,
    read_optional_seat,
    read_seat,
    required,
    seat_index,
    which,
    write_seat,
)
from server.refusals import Refusal, at, missing
from solver.named_beliefs import SeatBelief
from solver.secrecy import Information

LOCATIONS = Words(pb.CastleVillagePortLocation)
QUESTIONS = Words(pb.CastleVillagePortQuestion)
WHEN = Words(pb.CastleVillagePortWhen)
EFFECTS = Words(pb.CastleVillagePortEffect)
REWARDS = Words(pb.CastleVillagePortRewardKind)

ROW_MAX = 75
VALUES_MAX = 15
ROWS = ("castle", "village", "port")
_VERB_OF = {kind: verb for verb, kind in TYPES.items()}


# The engine's names of the numbers of players for which rewards differ, and the contract's.
_GROUPS = {"3-4": "for_three_or_four", "5": "for_five"}


# --- rulesets --------------------------------------------------------------------------------------------------


def read_tables(message: Any, field: str) -> dict[str, Any]:
    check_length(message.cards, 15, f"{field}.cards")
    given: dict[str, Any] = {}
    if message.cards:
        given["cards"] = [_read_card_row(card, f"{field}.cards[{c}]") for c, card in enumerate(message.cards)]
    if message.HasField("rewards"):
        given["rewards"] = {
            location.name: {
                group: _read_ranks(getattr(by_group, name), f"{field}.rewards.{location.name}.{name}")
                for group, name in _GROUPS.items()
                if by_group.HasField(name)
            }
            for location, by_group in message.rewards.ListFields()
        }
    for name in ("hand_size", "rounds", "turns_per_round", "starting_gold", "hidden_gold"):
        if message.HasField(name):
            given[name] = getattr(message, name)
    return given


def _read_card_row(card: pb.CastleVillagePortCard, field: str) -> dict[str, Any]:
    given: dict[str, Any] = {
        "value": card.value,
        "name": card.name,
        "when": WHEN.read(card.when, f"{field}.when"),
        "effect": EFFECTS.read(card.effect, f"{field}.effect"),
    }
    for name in ("amount", "below", "factor"):
        if card.HasField(name):
            given[name] = getattr(card, name)
    if card.who:
        given["who"] = card.who
    if card.where:
        given["where"] = LOCATIONS.read(card.where, f"{field}.where")
    return given


def _read_ranks(ranks: pb.CastleVillagePortRanks, field: str) -> list[int | str]:
    check_length(ranks.rewards, 8, f"{field}.rewards")
    return [_read_reward(reward, f"{field}.rewards[{rank}]") for rank, reward in enumerate(ranks.rewards)]


def _read_reward(reward: pb.CastleVillagePortReward, field: str) -> int | str:
    if which(reward, "reward", field) == "kind":
        return REWARDS.read(reward.kind, f"{field}.kind")
    return reward.gold


def write_tables(message: Any, changes: Mapping[str, Any]) -> None:
    """Write the tables and numbers that differ from the house's."""
    numbers = dict(changes)
    cards, rewards = numbers.pop("cards", ()), numbers.pop("rewards", {})
    message.SetInParent()
    for name, number in numbers.items():
        setattr(message, name, number)
    for card in cards:
        words = {"when": WHEN.write(card["when"]), "effect": EFFECTS.write(card["effect"])}
        if "where" in card:
            words["where"] = LOCATIONS.write(card["where"])
        message.cards.add(**{**card, **words})
    for location, by_group in rewards.items():
        for group, entries in by_group.items():
            ranks = getattr(getattr(message.rewards, location), _GROUPS[group])
            ranks.SetInParent()
            for entry in entries:
                if isinstance(entry, int):
                    ranks.rewards.add(gold=entry)
                else:
                    ranks.rewards.add(kind=REWARDS.write(entry))


def changes_field(path: str) -> str:
    """Return the field of the tables for a path of the engine."""
    for group, name in _GROUPS.items():
        path = re.sub(rf"\.{group}(\[\d+\])?$", rf".{name}.rewards\1", path)
    return path


# --- tables: reading -------------------------------------------------------------------------------------------


def read_view(
    game: CastleVillagePort, message: pb.CastleVillagePortView, field: str, known: Table | None = None
) -> View:
    """Read a view. `known` is the table at the end of its history, from which the observer remembers gold."""
    observer = read_seat(message.seen_by, game.n_players, f"{field}.seen_by")
    for name in ("table", "own"):
        required(message, name, field)
    draft = _read_draft(game, message.table, {observer: message.own}, None, observer, field, known)
    with at(field, lambda path: _field_of(path, field, observer)):
        table = complete(draft, game.frame)
        view = game.from_table(table)
    assert isinstance(view, View)
    _check_derived(message.table, table, game.frame, field)
    return view


def read_position(game: CastleVillagePort, message: Any, field: str) -> Position:
    """Read a position from a table, the secrets of each seat and the decks."""
    required(message, "table", field)
    table, secrets, decks = message.table, message.secrets, message.decks
    per_seat(secrets, game.n_players, f"{field}.secrets")
    per_seat(decks, game.n_players, f"{field}.decks")
    draft = _read_draft(game, table, dict(enumerate(secrets)), decks, None, field, None)
    with at(field, lambda path: _field_of(path, field, None)):
        whole = complete(draft, game.frame)
        position = game.from_table(whole)
    assert isinstance(position, Position)
    _check_derived(table, whole, game.frame, field)
    return position


def _read_draft(
    game: CastleVillagePort,
    table: pb.CastleVillagePortTable,
    secrets: Mapping[int, pb.CastleVillagePortSecrets],
    decks: Sequence[Any] | None,
    observer: int | None,
    field: str,
    known: Table | None,
) -> Table:
    n, frame, path = game.n_players, game.frame, f"{field}.table"
    question = QUESTIONS.read(table.question, f"{path}.question")
    ask = None if question == "over" else question
    to_act = read_optional_seat(table.to_act, n, f"{path}.to_act")
    if ask == "replace":
        if to_act is not None:
            raise Refusal("CONTRADICTION", f"{path}.to_act", "a seat is given, but chance replaces a card")
        to_act = CHANCE
    elif to_act is None and ask is not None:
        raise missing(f"{path}.to_act", "a seat is required: the game is not over")
    acting = _read_row_card(table.acting, n, f"{path}.acting") if table.HasField("acting") else None
    if acting is None and ask in EFFECT_ASKS:
        raise missing(f"{path}.acting", f"some card asks to {ask}")
    first = read_seat(table.first, n, f"{path}.first")
    for name in ("round", "turn"):
        if not getattr(table, name):
            raise missing(f"{path}.{name}")
    walk = table.walk if table.HasField("walk") else None
    phase = _phase(ask, walk is not None)
    actor = acting.owner if to_act == CHANCE and acting else first if to_act is None else to_act
    done = standing(frame, phase, ask, first, actor)
    lists = {seat: _secret_path(field, seat, observer) for seat in secrets}
    return Table(
        rows=tuple(_read_row(getattr(table, name), n, f"{path}.{name}") for name in ROWS),
        round=table.round,
        turn=table.turn,
        first=first,
        phase=phase,
        ask=ask,
        to_act=to_act,
        gold=_read_gold(table, frame, observer, path) or OMITTED,
        remembered_gold=_read_remembered(table, frame, observer, known, path),
        selected=tuple(
            secrets[seat].selected if seat in secrets else None if done[seat] == "selected" else 0 for seat in range(n)
        ),
        orders=_read_orders(table, n, path),
        hands=tuple(
            _values(secrets[seat].hand, f"{lists[seat]}.hand") if seat in secrets else None for seat in range(n)
        ),
        decks=(None,) * n
        if decks is None
        else tuple(_values(deck.values, f"{field}.decks[{seat}].values") for seat, deck in enumerate(decks)),
        piles=tuple(
            _values(pile.values, f"{path}.piles[{seat}].values")
            for seat, pile in enumerate(per_seat(table.piles, n, f"{path}.piles") if table.piles else ())
        )
        or ((),) * n,
        acting=acting,
        effect=table.acting_as or None,
        victim=read_optional_seat(table.victim, n, f"{path}.victim"),
        walk=LOCATIONS.read(walk.location, f"{path}.walk.location") if walk else None,
        due=_read_row(walk.due, n, f"{path}.walk.due") if walk else (),
        ranked=_read_row(walk.ranked, n, f"{path}.walk.ranked") if walk else (),
        from_right=walk.from_right if walk else False,
        observer=observer,
    )


def _phase(ask: str | None, walking: bool) -> str:
    if ask is None:
        return "over"
    elif ask == "select":
        return "select"
    return "round_end" if walking else "reveal"


def _secret_path(field: str, seat: int, observer: int | None) -> str:
    return f"{field}.secrets[{seat}]" if observer is None else f"{field}.own"


def _read_row(cards: Sequence[Any], n: int, field: str) -> Row:
    check_length(cards, ROW_MAX, field)
    return tuple([_read_row_card(card, n, f"{field}[{i}]") for i, card in enumerate(cards)])


def _read_row_card(card: pb.CastleVillagePortRowCard, n: int, field: str) -> RowCard:
    value = card.value
    if not 1 <= value <= 15:
        raise Refusal("OUT_OF_RANGE", f"{field}.value", f"{value} is not in 1..15")
    return RowCard(value, read_seat(card.owner, n, f"{field}.owner"))


def _values(values: Sequence[int], field: str) -> tuple[int, ...]:
    check_length(values, VALUES_MAX, field)
    return tuple(values)


def _read_gold(
    table: pb.CastleVillagePortTable, frame: TableShape, observer: int | None, path: str
) -> tuple[int, ...] | None:
    if observer is None or not frame.hidden_gold:
        return tuple(per_seat(table.gold, frame.n_players, f"{path}.gold"))
    if table.gold:
        raise Refusal("CONTRADICTION", f"{path}.gold", "gold is hidden in this game; use remembered_gold")
    return None


def _read_remembered(
    table: pb.CastleVillagePortTable, frame: TableShape, observer: int | None, known: Table | None, path: str
) -> tuple[int, ...] | None:
    if table.remembered_gold:
        return tuple(per_seat(table.remembered_gold, frame.n_players, f"{path}.remembered_gold"))
    if observer is None or not frame.hidden_gold:
        return None
    if known is None:
        why = "is required if gold is hidden, because every gain was public; a history can replace it"
        raise missing(f"{path}.remembered_gold", why)
    return known.gold


def _read_orders(table: pb.CastleVillagePortTable, n: int, path: str) -> tuple[str | None, ...]:
    check_length(table.orders, n, f"{path}.orders")
    orders: list[str | None] = [None] * n
    for i, order in enumerate(table.orders):
        seat = read_seat(order.seat, n, f"{path}.orders[{i}].seat")
        if orders[seat] is not None:
            raise Refusal("CONTRADICTION", f"{path}.orders[{i}].seat", "this seat has an order already")
        orders[seat] = LOCATIONS.read(order.location, f"{path}.orders[{i}].location")
    return tuple(orders)


def _check_derived(told: pb.CastleVillagePortTable, table: Table, frame: TableShape, field: str) -> None:
    check_derived(told.hand_sizes, hand_sizes(table, frame), f"{field}.table.hand_sizes")
    check_derived(told.deck_sizes, deck_sizes(table, frame), f"{field}.table.deck_sizes")
    check_derived(told.selected, [write_seat(seat) for seat in selecting(table)], f"{field}.table.selected")


_NAMES = {"phase": "question", "ask": "question", "effect": "acting_as", "walk": "walk.location", "rows": "castle"}


def _field_of(path: str, field: str, observer: int | None) -> str:
    """Return the message's field for a path of the engine."""
    path = seat_index(path.partition(".")[2])
    name, bracket, rest = path.partition("[")
    index = bracket + rest
    if path == "observer":
        return f"{field}.seen_by"
    elif name in ("hands", "selected") and index:
        own = f"{field}.own" if observer is not None else f"{field}.secrets{index}"
        return f"{own}.{'hand' if name == 'hands' else name}"
    elif name == "decks" and index:
        return f"{field}.decks{index}"
    elif name == "orders":
        return f"{field}.table.orders"
    elif not path or name == "cards":
        return f"{field}.table"
    elif name in ("due", "ranked", "from_right"):
        return f"{field}.table.walk.{name}"
    return f"{field}.table.{_NAMES.get(name, name)}{index}"


# --- tables: writing -------------------------------------------------------------------------------------------


def write_view(view: View) -> pb.CastleVillagePortView:
    game, table = view.game, view.table
    assert isinstance(game, CastleVillagePort)
    return pb.CastleVillagePortView(
        seen_by=write_seat(view.observer),
        table=write_table(table, game.frame),
        own=write_secrets(table, view.observer),
    )


def write_position(position: Position, message: Any) -> bool:
    game, table = position.game, position.table
    assert isinstance(game, CastleVillagePort)
    message.table.CopyFrom(write_table(table, game.frame))
    message.secrets.extend(write_secrets(table, seat) for seat in range(game.n_players))
    for deck in table.decks:
        message.decks.add(values=deck)
    return True


def write_table(table: Table, frame: TableShape) -> pb.CastleVillagePortTable:
    """Write the public part of a table."""
    message = pb.CastleVillagePortTable(
        round=table.round,
        turn=table.turn,
        first=write_seat(table.first),
        question=QUESTIONS.write(table.ask or "over"),
        to_act=write_seat(table.to_act),
        victim=write_seat(table.victim),
        piles=[pb.CastleVillagePortValues(values=pile) for pile in table.piles],
        hand_sizes=hand_sizes(table, frame),
        deck_sizes=deck_sizes(table, frame),
        selected=[write_seat(seat) for seat in selecting(table)],
    )
    for name, row in zip(ROWS, table.rows, strict=True):
        getattr(message, name).extend(map(_write_row_card, row))
    hides = frame.hidden_gold and table.observer is not None
    (message.remembered_gold if hides else message.gold).extend(table.gold)
    for seat, order in enumerate(table.orders):
        if order is not None:
            message.orders.add(seat=write_seat(seat), location=LOCATIONS.write(order))
    if table.acting is not None:
        message.acting.CopyFrom(_write_row_card(table.acting))
        if table.effect != table.acting.value:
            message.acting_as = table.effect or 0
    if table.walk is not None:
        message.walk.location = LOCATIONS.write(table.walk)
        message.walk.due.extend(map(_write_row_card, table.due))
        message.walk.ranked.extend(map(_write_row_card, table.ranked))
        message.walk.from_right = table.from_right
    return message


def write_secrets(table: Table, seat: int) -> pb.CastleVillagePortSecrets:
    """Write the cards that only `seat` sees."""
    return pb.CastleVillagePortSecrets(hand=table.hands[seat] or (), selected=table.selected[seat] or 0)


def _write_row_card(card: RowCard) -> pb.CastleVillagePortRowCard:
    return pb.CastleVillagePortRowCard(value=card.value, owner=write_seat(card.owner))


def hand_sizes(table: Table, frame: TableShape) -> list[int]:
    """Return the hand size of each seat: drawn cards, without the selected one and those in rows and pile."""
    drawn = frame.drawn(table.round)
    rows = in_rows(table.rows, frame.n_players)
    return [
        drawn - len(row) - len(pile) - (selected != 0)
        for row, pile, selected in zip(rows, table.piles, table.selected, strict=True)
    ]


def deck_sizes(table: Table, frame: TableShape) -> list[int]:
    return [len(frame.cards) - frame.drawn(table.round)] * frame.n_players


def selecting(table: Table) -> list[int]:
    """Return the seats that have selected a card."""
    return [seat for seat, card in enumerate(table.selected) if card != 0]


# --- deals -----------------------------------------------------------------------------------------------------


def read_deal(game: CastleVillagePort, message: pb.CastleVillagePortDeal, field: str) -> Position:
    first = read_seat(message.first, game.n_players, f"{field}.first")
    per_seat(message.decks, game.n_players, f"{field}.decks")
    decks = [_values(deck.values, f"{field}.decks[{seat}].values") for seat, deck in enumerate(message.decks)]
    with at(field, lambda path: f"{field}.{seat_index(path)}" if path else field):
        position = game.from_table(dealt(decks, first, game.frame))
    assert isinstance(position, Position)
    return position


def write_deal(start: Position) -> pb.CastleVillagePortDeal | None:
    """Write the deal of the game that starts at `start`; None in the middle of a game.

    Hands have no order: the highest card is written first.
    """
    if start.game.write_deal(start) is None:
        return None
    table = start.table
    decks = [(*hand, *deck) for hand, deck in zip(table.hands, table.decks, strict=True)]
    return pb.CastleVillagePortDeal(
        first=write_seat(table.first), decks=[pb.CastleVillagePortValues(values=deck) for deck in decks]
    )


# --- actions ---------------------------------------------------------------------------------------------------


def read_action(game: CastleVillagePort, message: pb.CastleVillagePortAction, field: str) -> Action:
    verb = which(message, "action", field)
    path, said = f"{field}.{verb}", getattr(message, verb)
    parts: dict[str, Any] = {"type": TYPES[verb]}
    if verb in ("select", "replace"):
        parts["card"] = said.value or "?"
    if verb in ("move", "copy", "discard"):
        required(said, "card", path)
        card = _read_row_card(said.card, game.n_players, f"{path}.card")
        parts["card"] = {"value": card.value, "player": card.owner}
    if verb in ("rob", "swap", "order"):
        parts["player"] = read_seat(said.seat, game.n_players, f"{path}.seat")
    if verb in ("place", "move", "order"):
        parts["to" if verb == "move" else "location"] = LOCATIONS.read(said.location, f"{path}.location")
    if verb in ("place", "move"):
        required(said, "index", path)
        parts["index"] = said.index
    with at(path):
        return game.action(action_text(parts))


def write_action(action: Action) -> pb.CastleVillagePortAction:
    parts = action.fields
    verb = _VERB_OF[parts["type"]]
    message = pb.CastleVillagePortAction()
    said = getattr(message, verb)
    said.SetInParent()
    if verb in ("select", "replace"):
        said.value = 0 if parts["card"] == "?" else parts["card"]
    if verb in ("move", "copy", "discard"):
        said.card.CopyFrom(_write_row_card(RowCard(parts["card"]["value"], parts["card"]["player"])))
    if verb in ("rob", "swap", "order"):
        said.seat = write_seat(parts["player"])
    if verb in ("place", "move", "order"):
        said.location = LOCATIONS.write(parts["to" if verb == "move" else "location"])
    if verb in ("place", "move"):
        said.index = parts["index"]
    return message


def read_shown(game: CastleVillagePort, cards: Sequence[int], field: str) -> list[str]:
    """Read the names of shown cards, which are their values."""
    check_length(cards, 1 + VALUES_MAX, field)
    for i, value in enumerate(cards):
        if value not in game.frame.values:
            why = f"{value} is no card of this table ({listed(game.frame.values)})"
            raise Refusal("INVALID_NOTATION", f"{field}[{i}]", why)
    return [str(value) for value in cards]


def tidy_shown(game: CastleVillagePort, names: Sequence[str], field: str) -> list[str]:
    """Return the values of shown cards in the engine's spelling."""
    for name in names:
        if not re.fullmatch(r"[0-9]{1,2}", name):
            raise Refusal("INVALID_NOTATION", field, f"{name!r} is no card's value (1 to 15)")
    return read_shown(game, [int(name) for name in names], field)


def write_shown(game: CastleVillagePort, names: Sequence[str]) -> list[int]:
    return [int(name) for name in names]


# --- cards in answers ------------------------------------------------------------------------------------------


def write_belief(message: solver_pb2.SeatBelief, belief: SeatBelief, game: CastleVillagePort) -> None:
    _add_cards(message.hand, belief.hand)
    for card in belief.cards:
        _add_cards(message.selected, card.kinds)


def _add_cards(written: Any, kinds: Mapping[str, float]) -> None:
    for name, probability in kinds.items():
        written.add(value=int(name), probability=probability)


def write_information(message: solver_pb2.CardInformation, card: Information, game: CastleVillagePort) -> None:
    message.value = int(card.card)
