"""The steps of a table: the effect of a call, from bytes of messages to bytes of messages.

Steps of built-in games run in the server, those of installed games in a worker process, which gets the table as a row.
This module writes messages from `Seen`, and never handles a position.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from google.protobuf.wrappers_pb2 import BytesValue

from eminence.v1 import solver_pb2
from eminence.v1 import table_pb2 as pb
from engine_cy.record import Record
from server.codec import records, views
from server.codec.fields import check_text, read_optional_seat, write_seat
from server.codec.games import read_required_game
from server.games import adapter_of
from server.games.adapter import in_words, readers_of
from server.games.narration import Reader
from server.refusals import Refusal, at, missing, under
from server.tables.table import EngineTurn, Event, Seen, Sitter, Table, continued
from solver.config import LEVELS

NAME_MAX = 40

# A table, a number (a seat, or a version), and the bytes of a message.
Step: TypeAlias = Callable[[Table, int, bytes], bytes]


def _see(table: Table, seat: int, _: bytes) -> bytes:
    return write_seen(table.see(seat)).SerializeToString()


def _choose(table: Table, seat: int, message: bytes) -> bytes:
    request = pb.ActRequest.FromString(message)
    action = views.read_action(table.game, request.action, "action")
    with at("action"):
        table.choose(seat, request.version, action)
    return b""


def _take_back(table: Table, seat: int, message: bytes) -> bytes:
    table.take_back(seat, pb.TakeBackRequest.FromString(message).version)
    return b""


def _advance(table: Table, _number: int, _message: bytes) -> bytes:
    """Let chance act; return the question of an engine that has to choose, or nothing."""
    turn = table.advance()
    return b"" if turn is None else _request_of(turn).SerializeToString()


def _play_engine(table: Table, version: int, action: bytes) -> bytes:
    table.play_engine(version, table.game.action(action.decode()))
    return b""


def _write_record(table: Table, seat: int, _: bytes) -> bytes:
    if not table.game.has_history and not table.is_over:
        raise Refusal("INVALID_RECORD", "", "a game without histories has a record only at its end")
    record: Record = table.record_of(seat)
    return pb.GetTableRecordResponse(record=records.write(record), text=str(record)).SerializeToString()


STEPS: Mapping[str, Step] = {
    "see": _see,
    "choose": _choose,
    "take_back": _take_back,
    "advance": _advance,
    "play_engine": _play_engine,
    "write_record": _write_record,
}


# --- in a worker process ---


def step_request(row: Mapping[str, Any] | None, name: str, number: int, message: bytes) -> BytesValue:
    """Return the request for a step on a row, or for a new table: "open", without a row, with its seed."""
    request = {"row": row, "step": name, "number": number, "message": base64.b64encode(message).decode()}
    return BytesValue(value=json.dumps(request).encode())


def take_step(request: BytesValue) -> BytesValue:
    """Take a step on the table of a row; return the new row, and the bytes that the step returns."""
    asked = json.loads(request.value)
    message = base64.b64decode(asked["message"])
    if asked["row"] is None:
        table, result = read_table(pb.OpenTableRequest.FromString(message), asked["number"]), b""
    else:
        table = Table.read(asked["row"])
        result = STEPS[asked["step"]](table, asked["number"], message)
    return BytesValue(value=json.dumps({"row": table.row(), "result": base64.b64encode(result).decode()}).encode())


def read_step(game_id: str, response: BytesValue) -> tuple[dict[str, Any], bytes]:
    """Read the answer to a step. The process that wrote it ran the game's code, so anything may be in it."""
    try:
        answer = json.loads(response.value)
        row, result = answer["row"], base64.b64decode(answer["result"])
        if not isinstance(row["version"], int) or not isinstance(row["sitters"], list):
            raise TypeError
    except (ValueError, KeyError, TypeError) as error:
        raise Refusal("GAME_FAULT", "", f"{game_id}: its process answered nonsense: {type(error).__name__}") from None
    return row, result


# --- messages ---


def write_seen(seen: Seen) -> pb.TableSeen:
    """Write a table as a seat sees it."""
    message = pb.TableSeen(
        seat=write_seat(seen.seat),
        version=seen.version,
        view=views.write_view(seen.view, seen.history),
        legal_actions=map(views.write_action, seen.legal),
        to_act=map(write_seat, seen.to_act),
        thinking=write_seat(seen.thinking),
        sitters=[pb.Sitter(name=sitter.name, level=sitter.level) for sitter in seen.sitters],
        may_take_back=seen.may_take_back,
        taken_back=seen.taken_back,
        deal_known=seen.deal_known,
    )
    readers = readers_of(seen.view.game, [sitter.name for sitter in seen.sitters])
    message.events.extend(_write_event(event, readers) for event in seen.events)
    if seen.chosen is not None:
        message.chosen.CopyFrom(views.write_action(seen.view.game.action(seen.chosen)))
    if (result := seen.result) is not None:
        message.result.CopyFrom(
            pb.TableResult(
                points=result.scores, win_shares=result.payoffs, seed=result.seed, record=records.write(result.record)
            )
        )
    return message


def read_table(request: pb.OpenTableRequest, seed: int) -> Table:
    """Return a new table; the request's own seed counts before `seed`."""
    if request.HasField("seed"):
        seed = request.seed
    if request.HasField("record"):
        if request.first or request.HasField("game"):
            field = "first" if request.first else "game"
            raise Refusal("CONTRADICTION", field, "cannot be combined with a record, which has it")
        record = records.read(request.record, "record")
        if record.observer is not None:
            raise Refusal("INVALID_RECORD", "record", "is one seat's record: a table needs the whole game")
        return continued(record, _read_sitters(request.sitters, record.game.n_players), seed)
    game = read_required_game(request, "")
    first = read_optional_seat(request.first, game.n_players, "first") or 0
    sitters = _read_sitters(request.sitters, game.n_players)
    return Table(game.deal(seed, first), sitters, seed, deal_known=request.HasField("seed"))


def _read_sitters(messages: Any, n_players: int) -> list[Sitter]:
    if not messages:
        raise missing("sitters")
    if len(messages) != n_players:
        raise Refusal("OUT_OF_RANGE", "sitters", f"{len(messages)} entries, not one for each of {n_players} players")
    sitters = []
    for number, message in enumerate(messages):
        with under(f"sitters[{number}]"):
            if message.level and message.level not in LEVELS:
                raise Refusal("OUT_OF_RANGE", "level", f"{message.level} is not in 0..{max(LEVELS)}")
            sitters.append(Sitter(check_text(message.name, NAME_MAX, "name"), message.level))
    if all(sitter.level for sitter in sitters):
        raise Refusal("CONTRADICTION", "sitters", "a table needs a person (level 0)")
    return sitters


def _write_event(event: Event, readers: Sequence[Reader]) -> pb.Event:
    game = event.before.game
    adapter = adapter_of(game.id)
    return pb.Event(
        action=views.write_seen(game, event.before.to_act, event.seen),
        effects=views.write_effects(game, adapter.effects(*event)),
        words=in_words(partial(adapter.narrate, *event), readers),
    )


def _request_of(turn: EngineTurn) -> solver_pb2.SuggestRequest:
    options = solver_pb2.Options(seed=turn.seed, level=turn.level, lines=1)
    return solver_pb2.SuggestRequest(view=views.write_view(turn.view, turn.history), options=options)
