"""What people hand over: positions, views and records, as text or JSON, from the command line, a file or a pipe.

A file holds pieces: a line with a position or view in text notation, a line with a JSON object (or one that is printed
over several lines, as our own are), or a record, from its line `game ...` to the next piece. docs/records.md is the
page on it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from google.protobuf import json_format
from google.protobuf.message import Message

from eminence.v1 import record_pb2, referee_pb2, view_pb2
from engine_cy import EngineError, Game, Position, View, new_game
from engine_cy.record import Record, read_ruleset
from server.cli.exit_codes import Failure
from server.codec import positions, records, views
from server.codec.fields import TABLE_TEXT_MAX, check_text
from server.codec.games import check_game_id
from server.refusals import Refusal

Thing: TypeAlias = Position | View | Record

# How a JSON object says what it is, and in which version: as `google.protobuf.Any` does.
TYPE = "@type"
TYPES: dict[str, type[Message]] = {
    f"type.googleapis.com/{message.DESCRIPTOR.full_name}": message
    for message in (view_pb2.View, record_pb2.Record, referee_pb2.Position)
}
COMMENT = "#"
# How records begin.
RECORD = ("game ", "version ")
# What is raised over a piece that cannot be read; anything else is our mistake.
UNREADABLE = (EngineError, Refusal, Failure)


@dataclass(frozen=True, slots=True)
class GameChoice:
    """Which game a position in text notation is of; records and JSON say that themselves."""

    game_id: str = "oriflamme"
    ruleset: str = ""
    players: int = 3

    def game(self) -> Game:
        return new_game(check_game_id(self.game_id, "game"), read_ruleset(self.ruleset), self.players)


class Piece(NamedTuple):
    """A part of the input that is one thing, and where it stands. `end` counts the characters up to its end."""

    file: str
    line: int
    text: str
    end: int

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def is_record(self) -> bool:
        return self.text.startswith(RECORD)


def open_input(argument: str) -> tuple[str, Iterable[str]]:
    """The name and the lines of `-`, a file, or the argument itself."""
    if argument == "-":
        return "-", _lines("-", sys.stdin)
    if _is_file(argument):
        return argument, _lines_of_file(Path(argument))
    return "argument", argument.splitlines(keepends=True)


def check_input(argument: str) -> None:
    """Refuse what is neither `-` nor a file to read."""
    if argument != "-" and not _is_file(argument):
        raise Failure(f"{argument}: there is no such file")
    if os.path.isdir(argument):
        raise Failure(f"{argument}: is a folder")


def no_such_file(argument: str, error: Exception) -> Failure | None:
    """What to say of an argument that is no position, if it looks like the name of a file."""
    if set(argument) & set(" :>|"):
        return None
    return Failure(f"{argument}: there is no such file, and it is no position either: {error}")


def _is_file(argument: str) -> bool:
    try:
        return "\n" not in argument and os.path.exists(argument)
    except ValueError:  # such as a null byte
        return False


def _lines_of_file(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        yield from _lines(str(path), file)


def _lines(name: str, file: Iterable[str]) -> Iterator[str]:
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise Failure(f"{name}: is not text in UTF-8: {error}") from None


def pieces(file: str, lines: Iterable[str]) -> Iterator[Piece]:
    """What the lines hold, piece by piece; comments and blank lines between pieces are passed over."""
    held: list[str] = []
    begun = end = 0
    for number, line in enumerate(lines, 1):
        if held and _ends(held, line):
            yield Piece(file, begun, "".join(held).rstrip(), end)
            held = []
        end += len(line)
        bare = line.strip()
        if not held and (not bare or bare.startswith(COMMENT)):
            continue
        if not held:
            begun = number
            line = line.lstrip()
        held.append(line)
        if not _goes_on(held):
            yield Piece(file, begun, "".join(held).strip(), end)
            held = []
    if held:
        yield Piece(file, begun, "".join(held).rstrip(), end)


def _goes_on(held: list[str]) -> bool:
    """Whether more lines may belong to the piece that these begin."""
    first = held[0]
    if first.startswith("{"):
        return first.rstrip() == "{" and held[-1].rstrip() != "}"
    return first.startswith(RECORD)


def _ends(held: list[str], line: str) -> bool:
    """Whether a record ends before this line: another one begins, a JSON object, or the line of a position."""
    if not held[0].startswith(RECORD):
        return False
    bare = line.partition(COMMENT)[0].strip()
    if bare.startswith("game ") and all(_is_version(before) for before in held):
        return False
    return bare.startswith((*RECORD, "{")) or ("|" in bare and not bare.startswith("position "))


def _is_version(line: str) -> bool:
    bare = line.partition(COMMENT)[0].strip()
    return not bare or bare.startswith("version ")


def read_piece(piece: Piece, choice: GameChoice) -> Thing:
    """What a piece of input is."""
    text = piece.text
    if text.startswith("{"):
        return read_json(text)
    if piece.is_record:
        return records.read_text(text, "record")
    check_text(text, TABLE_TEXT_MAX, "position")
    game = choice.game()
    return game.view(text) if "| seen by" in " ".join(text.split()) else game.position(text)


def read_json(text: str) -> Thing:
    """The View, Record or Position that a JSON object in protobuf's mapping is."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Failure(f"JSON: {error}") from None
    if not isinstance(said, dict):
        raise Failure(f"JSON: {text[:40]!r} is no object")
    name = said.pop(TYPE, None) or _guessed(said)
    if name not in TYPES:
        raise Failure(f"{TYPE}: {name!r} is none of {', '.join(TYPES)}")
    message = TYPES[name]()
    try:
        json_format.ParseDict(said, message)
    except json_format.ParseError as error:
        raise Failure(f"JSON: {error}") from None
    return read_message(message)


def read_message(message: Any) -> Thing:
    if isinstance(message, view_pb2.View):
        view, history = views.read_view_and_history(message)
        return view if history is None else history.record
    if isinstance(message, record_pb2.Record):
        return records.read(message)
    return positions.read(message, "position")


def _guessed(said: dict[str, Any]) -> str:
    """What an object without `@type` can only be."""
    table: Any = next(
        (said[name] for name in ("oriflamme", "castleVillagePort", "castle_village_port") if name in said), {}
    )
    text = str(said.get("text", ""))
    if {"whole", "seen", "result"} & set(said) or text.lstrip().startswith("game "):
        kind = "Record"
    elif (isinstance(table, dict) and "secrets" in table) or (text and "seen by" not in text):
        kind = "Position"
    else:
        kind = "View"
    return f"type.googleapis.com/eminence.v1.{kind}"


def write_message(thing: Thing) -> Message:
    """The message for a thing."""
    if isinstance(thing, Record):
        return records.write(thing)
    return views.write_view(thing) if isinstance(thing, View) else positions.write(thing)


def as_json(thing: Thing) -> dict[str, Any]:
    """A thing as JSON that says what it is."""
    message = write_message(thing)
    kind = f"type.googleapis.com/{message.DESCRIPTOR.full_name}"
    return {TYPE: kind, **json_format.MessageToDict(message)}


def read_one(argument: str, choice: GameChoice) -> Thing:
    """The one thing that an argument is, names or pipes in."""
    file, lines = open_input(argument)
    found = list(pieces(file, lines))
    if len(found) != 1:
        raise Failure(f"{file}: {len(found)} positions or records are in it, not one")
    try:
        return read_piece(found[0], choice)
    except UNREADABLE as error:
        if file != "argument":
            raise Failure(f"{found[0].where}: {error}") from None
        raise no_such_file(argument, error) or error from None


def read_game(argument: str) -> Record:
    """The record that an argument is, names or pipes in."""
    thing = read_one(argument, GameChoice())
    if not isinstance(thing, Record):
        kind = "view" if isinstance(thing, View) else "position"
        raise Failure(f"{argument[:60]}: is a {kind}, not the record of a game")
    return thing
