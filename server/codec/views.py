"""The messages of views, histories and actions of any game."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

from google.protobuf.message import Message

from eminence.v1 import view_pb2 as pb
from engine_cy import Action, EngineError, Game, Position, View
from engine_cy.action_log import History
from engine_cy.record import Record, replay
from engine_cy.seats import CHANCE, SEATS
from server.codec.fields import (
    ACTION_TEXT_MAX,
    ACTIONS_MAX,
    TABLE_TEXT_MAX,
    check_length,
    check_text,
    members,
    read_optional_seat,
    required,
    which,
    write_seat,
)
from server.codec.games import read_required_game, write_game
from server.codec.members import read_member, write_member
from server.games import adapter_of
from server.games.adapter import Draft
from server.games.narration import Effects
from server.refusals import Refusal, at, missing

# Size of the caches of written actions; a table has some dozens of legal ones.
ACTIONS_KEPT = 2048
# The most cards that an action shows.
SHOWN_MAX = 32

# --- views -----------------------------------------------------------------------------------------------------


def read_view(message: pb.View, field: str = "view") -> View:
    """Read a player's view."""
    return read_view_and_history(message, field)[0]


def read_view_and_history(message: pb.View, field: str = "view") -> tuple[View, History | None]:
    """Read a player's view, and its history, if the message has one.

    The history is replayed once. It must end at the message's table; without a table, its end is the view.
    """
    game = read_required_game(message, field)
    if not message.HasField("history"):
        if message.WhichOneof("table") is None:
            raise missing(f"{field}.table", f"one of {members(message, 'table')} is required, or a history")
        return _read_table(game, message, "table", field, None), None
    history = read_history(game, message.history, f"{field}.history")
    end = history.end
    assert isinstance(end, View)
    if message.WhichOneof("table") is not None and _read_table(game, message, "table", field, end) != end:
        raise Refusal("INVALID_RECORD", f"{field}.history", f"leads to another table: {end}")
    return end, history


def write_view(view: View, history: Record | None = None) -> pb.View:
    """Write a view; `history` is the observer's record up to it."""
    message = pb.View(game=write_game(view.game))
    _write_table(view, message)
    if history is not None:
        message.history.CopyFrom(write_history(history))
    return message


def read_view_text(game: Game, text: str, field: str) -> View:
    with at(field):
        return game.view(check_text(text, TABLE_TEXT_MAX, field))


def read_draft(message: pb.View, field: str, *, fills_in: bool) -> Draft:
    """Read a view that may be incomplete or impossible; refuse only what cannot be read."""
    game = read_required_game(message, field)
    if message.HasField("history"):
        raise Refusal("CONTRADICTION", f"{field}.history", "a draft has no history")
    if which(message, "table", field) == "text":
        return Draft([], read_view_text(game, message.text, f"{field}.text"), None)
    adapter = adapter_of(game.id)
    part, path = read_member(message, "table", adapter, adapter.plans and adapter.plans.view.message, field)
    return adapter.read_draft(game, part, path, fills_in=fills_in)


def write_draft(request: pb.View, table: Message) -> pb.View:
    """Write a draft that is filled in, but impossible, with the game of its request."""
    message = pb.View(game=request.game)
    write_member(message, adapter_of(request.game.game_id), table)
    return message


def write_start(view: View, history: pb.History) -> None:
    """Write the start of a history."""
    _write_table(view, history)


def possible_shown(view: View, action: str) -> list[pb.Card]:
    """Return the cards that an action without shown cards may show, if the view needs one of them; else none."""
    adapter = adapter_of(view.game.id)
    try:
        view.play(action)
    except EngineError:
        fitting = []
        for name in adapter.kind_names(view.game):
            with suppress(EngineError):
                view.play(f"{action} = {name}")
                fitting.append(adapter.write_card(view.game, name))
        return fitting
    return []


def _read_table(game: Game, message: Any, oneof: str, field: str, known: View | None) -> View:
    """Read the table in a oneof with the member `text` and one for each game with messages."""
    if which(message, oneof, field) == "text":
        return read_view_text(game, message.text, f"{field}.text")
    adapter = adapter_of(game.id)
    part, path = read_member(message, oneof, adapter, adapter.plans and adapter.plans.view.message, field)
    return adapter.read_view(game, part, path, known)


def _write_table(view: View, message: Any) -> None:
    adapter = adapter_of(view.game.id)
    if not write_member(message, adapter, adapter.write_view(view)):
        message.text = str(view)


# --- histories -------------------------------------------------------------------------------------------------


def read_history(game: Game, message: pb.History, field: str) -> History:
    """Replay a history, the game as one seat saw it, once."""
    history = History(game)
    start = _read_table(game, message, "start", field, None)
    end, _ = read_actions(start, message.actions, f"{field}.actions", history)
    history.start, history.end = start, end
    return history


def write_history(record: Record) -> pb.History:
    assert isinstance(record.start, View)
    message = pb.History()
    _write_table(record.start, message)
    message.actions.extend(write_actions(record.start, record.actions))
    return message


def read_actions(
    start: Position | View, messages: Any, field: str, history: History | None = None
) -> tuple[Position | View, tuple[str, ...]]:
    """Replay actions, and add them to the log `history`; return the table at their end, and their texts.

    Refuse the first illegal action.
    """
    check_length(messages, ACTIONS_MAX, field)
    table = start
    actions: list[str] = []
    for i, message in enumerate(messages):
        seat, text = read_seen(start.game, message, f"{field}[{i}]")
        if seat is not None and seat != table.to_act:
            why = f"{SEATS[seat]} is not to act, but {_actor(table.to_act)}"
            raise Refusal("INVALID_RECORD", f"{field}[{i}].seat", why)
        with at(f"{field}[{i}]"):
            after = table.play(text)
        if history is not None:
            history.add(table, text)
        table = after
        actions.append(text)
    return table, tuple(actions)


def write_actions(start: Position | View, actions: tuple[str, ...]) -> list[pb.SeenAction]:
    return [
        write_seen(start.game, table.to_act, action)
        for table, action in zip(replay(start, actions), actions, strict=False)
    ]


def _actor(seat: int | None) -> str:
    return "no player: the game is over" if seat is None else "chance" if seat == CHANCE else SEATS[seat]


# --- actions ---------------------------------------------------------------------------------------------------


def read_action(game: Game, message: pb.Action, field: str) -> Action:
    """Read an action from its text or its fields; if the message has both, they must agree."""
    kind = message.WhichOneof("action")
    if kind is None and not message.text:
        raise missing(field, f"text or one of {members(message, 'action')} is required")
    action = None
    if message.text:
        with at(f"{field}.text"):
            action = game.action(check_text(message.text, ACTION_TEXT_MAX, f"{field}.text"))
    if kind is None:
        assert action is not None
        return action
    adapter = adapter_of(game.id)
    part, path = read_member(message, "action", adapter, adapter.plans and adapter.plans.actions.message, field)
    typed = adapter.read_action(game, part, path)
    if action is not None and typed != action:
        raise Refusal("CONTRADICTION", f"{field}.text", f"'{action}' contradicts {kind}: '{typed}'")
    return typed


def write_action(action: Action) -> pb.Action:
    """Write an action. The message is cached and shared: copy it into others, and do not change it."""
    # The game is part of the key: actions of two editions are equal if their cards have the same row.
    return _write_action(action.game, action)


@lru_cache(ACTIONS_KEPT)
def _write_action(game: Game, action: Action) -> pb.Action:
    message = pb.Action()
    adapter_of(game.id).write_action(action, message)
    return message


def read_seen(game: Game, message: pb.SeenAction, field: str) -> tuple[int | None, str]:
    """Return the seat that acted (None if unset) and the text of the seen action. Results are cached."""
    try:
        return _read_seen_bytes(game, message.SerializeToString())
    except Refusal:
        return _read_seen(game, message, field)  # refuses the message with the path of its field


@lru_cache(ACTIONS_KEPT)
def _read_seen_bytes(game: Game, raw: bytes) -> tuple[int | None, str]:
    return _read_seen(game, pb.SeenAction.FromString(raw), "")


def _read_seen(game: Game, message: pb.SeenAction, field: str) -> tuple[int | None, str]:
    seat = read_optional_seat(message.seat, game.n_players, f"{field}.seat")
    required(message, "action", field)
    names = _read_shown(game, message, field)
    what, equals, shown = message.action.text.partition("=")
    if equals:
        if names:
            why = "names the shown cards, and so does another field"
            raise Refusal("CONTRADICTION", f"{field}.action.text", why)
        check_text(message.action.text, ACTION_TEXT_MAX, f"{field}.action.text")
        adapter = adapter_of(game.id)
        names = [adapter.spell_card(game, name.strip(), f"{field}.action.text") for name in shown.split(",")]
        plain = pb.Action()
        plain.CopyFrom(message.action)
        plain.text = what.strip()
        action = read_action(game, plain, f"{field}.action")
    else:
        action = read_action(game, message.action, f"{field}.action")
    return seat, f"{action} = {','.join(names)}" if names else str(action)


def _read_shown(game: Game, message: pb.SeenAction, field: str) -> list[str]:
    check_length(message.shown, SHOWN_MAX, f"{field}.shown")
    adapter = adapter_of(game.id)
    return [adapter.read_card(game, card, f"{field}.shown[{i}]") for i, card in enumerate(message.shown)]


@lru_cache(ACTIONS_KEPT)
def write_seen(game: Game, seat: int | None, text: str) -> pb.SeenAction:
    """Write a seen action from its text, such as `reveal = Heir`. The message is cached: do not change it."""
    what, equals, shown = text.partition("=")
    names = [name.strip() for name in shown.split(",")] if equals else []
    message = pb.SeenAction(seat=write_seat(seat), action=write_action(game.action(what.strip())))
    adapter = adapter_of(game.id)
    message.shown.extend([adapter.write_card(game, name) for name in names])
    return message


def write_effects(game: Game, effects: Effects) -> pb.Effects:
    """Write what an action did."""
    write_card = partial(adapter_of(game.id).write_card, game)
    return pb.Effects(
        gains=[
            pb.Gain(seat=write_seat(seat), amount=amount, by=map(write_card, effects.sources.get(seat, ())))
            for seat, amount in effects.gains.items()
        ],
        discarded=[pb.LostCard(seat=write_seat(seat), card=write_card(card)) for seat, card in effects.discarded],
    )


def read_seen_text(game: Game, text: str, field: str) -> pb.SeenAction:
    """Convert the text of an action, with or without shown cards, to a message."""
    check_text(text, ACTION_TEXT_MAX, field)
    message = pb.SeenAction(action=pb.Action(text=text))
    try:
        return write_seen(game, None, read_seen(game, message, field)[1])
    except Refusal as refusal:
        # Name the field of the text: the client sent no other.
        raise Refusal(refusal.reason, field, refusal.why) from None
