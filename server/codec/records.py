"""The messages of game records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from eminence.v1 import record_pb2 as pb
from engine_cy import EngineError, Game, InvalidRecordError, Position
from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.record import Record, read_record
from server.codec import castle_village_port as castle
from server.codec import oriflamme
from server.codec.fields import ACTIONS_MAX, RECORD_TEXT_MAX, check_length, check_text, per_seat, which
from server.codec.games import GAME_IDS, read_required_game, write_game
from server.codec.views import other_game, read_actions, read_history, write_actions, write_history
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
        if record.game.id not in GAME_IDS:
            raise InvalidRecordError(f"game: {record.game.id!r} is not served")
        return record


def write(record: Record) -> pb.Record:
    message = pb.Record(game=write_game(record.game), result=record.result or ())
    if not isinstance(record.start, Position):
        message.seen.CopyFrom(write_history(record))
    elif record.game.write_deal(record.start) is None or (
        isinstance(record.game, Oriflamme) and not oriflamme.has_words(record.game)
    ):
        # Only text can write a start in the middle of a game, or an edition's own cards.
        message.text = str(record)
    else:
        if isinstance(record.game, Oriflamme):
            message.whole.oriflamme.CopyFrom(oriflamme.write_deal(record.start))
        else:
            message.whole.castle_village_port.CopyFrom(castle.write_deal(record.start))
        message.whole.actions.extend(write_actions(record))
    return message


def _read_whole(game: Game, message: pb.WholeGame, field: str) -> Record:
    kind = which(message, "deal", field)
    path = f"{field}.{kind}"
    if kind == "oriflamme" and isinstance(game, Oriflamme):
        start = oriflamme.read_deal(game, message.oriflamme, path)
    elif kind == "castle_village_port" and isinstance(game, CastleVillagePort):
        start = castle.read_deal(game, message.castle_village_port, path)
    else:
        raise other_game(game, path)
    return Record(start, read_actions(start, message.actions, f"{field}.actions")[1])
