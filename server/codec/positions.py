"""The messages of positions with nothing hidden, for the referee. Code that answers players must not import them."""

from __future__ import annotations

from eminence.v1 import record_pb2
from eminence.v1 import referee_pb2 as pb
from engine_cy import Position
from engine_cy.record import Record
from server.codec import records
from server.codec.fields import TABLE_TEXT_MAX, check_text, which
from server.codec.games import read_required_game, write_game
from server.codec.members import read_member, write_member
from server.games import adapter_of
from server.refusals import Refusal, at


def read_standing(message: pb.Standing, field: str = "standing") -> tuple[Position, Record | None]:
    """Read a position, or a record and the position at its end; return the position, and the record or None."""
    if which(message, "at", field) == "position":
        return read(message.position, f"{field}.position"), None
    record = read_whole_record(message.record, f"{field}.record")
    end = record.end
    assert isinstance(end, Position)
    return end, record


def read_sealed_standing(message: pb.Standing) -> tuple[Position, Record | None]:
    """Read a standing. Refusals quote nothing of it, because an app may show them to a player."""
    if message.HasField("position"):
        refusing = records.sealed("standing.position", "INVALID_POSITION", "`GetResult`")
    else:
        refusing = records.sealed("standing.record")
    with refusing:
        return read_standing(message)


def read_whole_record(message: record_pb2.Record, field: str) -> Record:
    record = records.read(message, field)
    if record.observer is not None:
        raise Refusal("INVALID_RECORD", field, "is one seat's record: a referee needs the whole game")
    return record


def read(message: pb.Position, field: str) -> Position:
    game = read_required_game(message, field)
    if which(message, "table", field) == "text":
        path = f"{field}.text"
        with at(path):
            return game.position(check_text(message.text, TABLE_TEXT_MAX, path))
    adapter = adapter_of(game.id)
    part, path = read_member(message, "table", adapter, adapter.plans and adapter.plans.position.message, field)
    return adapter.read_position(game, part, path)


def write(position: Position) -> pb.Position:
    message = pb.Position(game=write_game(position.game))
    adapter = adapter_of(position.game.id)
    if not write_member(message, adapter, adapter.write_position(position)):
        message.text = str(position)
    return message
