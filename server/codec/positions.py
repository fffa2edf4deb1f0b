"""The messages of positions with nothing hidden, for the referee. Code that answers players must not import them."""

from __future__ import annotations

from eminence.v1 import record_pb2
from eminence.v1 import referee_pb2 as pb
from engine_cy import Position
from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.record import Record
from server.codec import castle_village_port as castle
from server.codec import oriflamme, records
from server.codec.fields import TABLE_TEXT_MAX, check_text, required, which
from server.codec.games import read_required_game, write_game
from server.codec.views import other_game
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
    kind = which(message, "table", field)
    path = f"{field}.{kind}"
    if kind == "text":
        with at(path):
            return game.position(check_text(message.text, TABLE_TEXT_MAX, path))
    elif kind == "oriflamme" and isinstance(game, Oriflamme):
        required(message.oriflamme, "table", path)
        return oriflamme.read_position(game, message.oriflamme.table, message.oriflamme.secrets, path)
    elif kind == "castle_village_port" and isinstance(game, CastleVillagePort):
        said = message.castle_village_port
        required(said, "table", path)
        return castle.read_position(game, said.table, said.secrets, said.decks, path)
    raise other_game(game, path)


def write(position: Position) -> pb.Position:
    game, table = position.game, position.table
    message = pb.Position(game=write_game(game))
    seats = range(game.n_players)
    if isinstance(game, Oriflamme) and not oriflamme.has_words(game):
        message.text = str(position)
        return message
    elif isinstance(game, Oriflamme):
        message.oriflamme.table.CopyFrom(oriflamme.write_table(table, game.frame))
        message.oriflamme.secrets.extend(oriflamme.write_secrets(table, seat) for seat in seats)
        return message
    assert isinstance(game, CastleVillagePort)
    said = message.castle_village_port
    said.table.CopyFrom(castle.write_table(table, game.frame))
    said.secrets.extend(castle.write_secrets(table, seat) for seat in seats)
    for deck in table.decks:
        said.decks.add(values=deck)
    return message
