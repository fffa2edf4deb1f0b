"""The messages of game records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from eminence.v1 import record_pb2 as pb
from engine_cy import EngineError, Game, Position
from engine_cy.record import Record, read_record
from server.codec.fields import ACTIONS_MAX, RECORD_TEXT_MAX, check_length, check_text, per_seat, which
from server.codec.games import read_required_game, write_game
from server.codec.members import read_member, write_member
from server.codec.views import read_actions, read_history, write_actions, write_history
from server.games import adapter_of
from server.refusals import Refusal, at

# Fields without secrets, and fields whose refusals say only that they are missing or too long.
_PUBLIC = re.compile(r"(?:\.(?:game(?:\..*)?|contents|table|(?:whole|seen)\.(?:deal|start|actions)))?")
# The parts of other refusals that may be shown: the field of a record, the action's index, the line of a text.
_PLACE = re.compile(r"\.(?:text|result|(?:whole|seen)\.(?:actions\[\d+\]|\w+))|")
_LINE = re.compile(r"(?:line \d+(?=: ))?")


@contextmanager
def sealed(field: str, reason: str = "INVALID_RECORD", call: str = "`GetRecord` without a seat") -> Iterator[None]:
    """Refuse a record or position without quoting it: an app may show the status to a seat that sees less.

    Such a refusal depends on the field alone, because even its reason could reveal a hidden card. `call` names the call
    that explains the refusal.
    """
    try:
        yield
    except (Refusal, EngineError) as error:
        path, why = (error.field, error.why) if isinstance(error, Refusal) else (field, "")
        part = path.removeprefix(field)
        if isinstance(error, Refusal) and (part == path or _PUBLIC.fullmatch(part)):
            raise
        place, line = _PLACE.match(part), _LINE.match(why)
        assert place is not None
        assert line is not None
        raise Refusal(reason, field + place[0], f"{line[0]} is not possible; {call} says why".lstrip()) from None


def read(message: pb.Record, field: str = "record") -> Record:
    """Read a record, and replay its game once."""
    kind = which(message, "contents", field)
    if kind == "text":
        record = read_text(message.text, f"{field}.text")
        if message.HasField("game") and read_required_game(message, field) != record.game:
            raise Refusal("CONTRADICTION", f"{field}.game", "is not the game of the record's text")
    else:
        game = read_required_game(message, field)
        if kind == "whole":
            record = _read_whole(game, message.whole, f"{field}.whole")
        else:
            record = read_history(game, message.seen, f"{field}.seen").record
    if message.result:
        result = tuple(per_seat(message.result, record.game.n_players, f"{field}.result"))
        scores = record.end.scores
        if result != scores:
            why = f"{list(result)} is not the result of these actions: {list(scores)}"
            raise Refusal("INVALID_RECORD", f"{field}.result", why)
        record = Record(record.start, record.actions, result)
    return record


def read_text(text: str, field: str) -> Record:
    with at(field):
        record = read_record(check_text(text, RECORD_TEXT_MAX, field))
        check_length(record.actions, ACTIONS_MAX, field)
        return record


def write(record: Record) -> pb.Record:
    message = pb.Record(game=write_game(record.game), result=record.result or ())
    if not isinstance(record.start, Position):
        message.seen.CopyFrom(write_history(record))
        return message
    adapter = adapter_of(record.game.id)
    if write_member(message.whole, adapter, adapter.write_deal(record.start)):
        message.whole.actions.extend(write_actions(record))
    else:
        # Only text can write a start in the middle of a game, or an edition's own cards.
        message.text = str(record)
    return message


def _read_whole(game: Game, message: pb.WholeGame, field: str) -> Record:
    adapter = adapter_of(game.id)
    part, path = read_member(message, "deal", adapter, adapter.plans and adapter.plans.deal.message, field)
    start = adapter.read_deal(game, part, path)
    return Record(start, read_actions(start, message.actions, f"{field}.actions")[1])
