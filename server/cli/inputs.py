"""Read positions, views and records, as text or JSON, from the command line, a file or standard input.

A file consists of pieces: a line with a position or view in text notation, a JSON object on one line (or on several
lines, as commands print them on terminals), or a record, from its line `game ...` to the next piece. docs/records.md
documents them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from google.protobuf.message import Message

from eminence.v1 import record_pb2, referee_pb2, view_pb2
from engine_cy import EngineError, Game, Position, View, game_ids, new_game
from engine_cy.record import Record, read_ruleset
from server.cli.exit_codes import Failure
from server.codec import positions, records, views
from server.codec.fields import TABLE_TEXT_MAX, check_text
from server.codec.games import check_game_id
from server.codec.json_mapping import from_json, read_object, to_json
from server.refusals import Refusal

Input: TypeAlias = Position | View | Record

# Key of the type and version of a JSON object, as in `google.protobuf.Any`.
TYPE = "@type"
TYPES: dict[str, type[Message]] = {
    f"type.googleapis.com/{message.DESCRIPTOR.full_name}": message
    for message in (view_pb2.View, record_pb2.Record, referee_pb2.Position)
}
# The names of typed tables in JSON.
TABLES = [
    name
    for field in view_pb2.View.DESCRIPTOR.oneofs_by_name["table"].fields
    if field.message_type
    for name in (field.json_name, field.name)
]
COMMENT = "#"
# The game of a position in text notation, unless --game names another.
DEFAULT_GAME = game_ids()[0]
# First words of a record.
RECORD = ("game ", "version ")
# First words of the lines of a record that hold any text.
TEXTS = ("position ", "name ", "event ", "comment ")
# Errors of an invalid piece; any other exception is an internal error.
UNREADABLE = (EngineError, Refusal, Failure)


@dataclass(frozen=True, slots=True)
class GameChoice:
    """The game of a position in text notation; records and JSON name theirs."""

    game_id: str = DEFAULT_GAME
    ruleset: str = ""
    players: int | None = None

    def game(self) -> Game:
        return new_game(check_game_id(self.game_id, "game"), read_ruleset(self.ruleset), self.players)


class Piece(NamedTuple):
    """A position, view or record in the input, and its place. `end` is the number of characters up to its end."""

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
    """Return the name and the lines of an input: `-`, a file, or the argument itself."""
    if argument == "-":
        return "-", _lines("-", sys.stdin)
    if _is_file(argument):
        return argument, _lines_of_file(Path(argument))
    return "argument", argument.splitlines(keepends=True)


def check_input(argument: str) -> None:
    """Raise Failure unless the argument is `-` or a file."""
    if argument != "-" and not _is_file(argument):
        raise Failure(f"{argument}: file not found")
    if os.path.isdir(argument):
        raise Failure(f"{argument}: is a folder, not a file")


def no_such_file(argument: str, error: Exception) -> Failure | None:
    """Return the error of an argument that is no position but may be the name of a file, else None."""
    if set(argument) & set(" :>|"):
        return None
    return Failure(f"{argument}: neither a file nor a position: {error}")


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
        raise Failure(f"{name}: not UTF-8 text: {error}") from None


def pieces(file: str, lines: Iterable[str]) -> Iterator[Piece]:
    """Yield the pieces of an input, without the comments and blank lines between them."""
    held: list[str] = []
    begin = end = 0
    for number, line in enumerate(lines, 1):
        if held and _ends(held, line):
            yield Piece(file, begin, "".join(held).rstrip(), end)
            held = []
        end += len(line)
        bare = line.strip()
        if not held and (not bare or bare.startswith(COMMENT)):
            continue
        if not held:
            begin = number
            line = line.lstrip()
        held.append(line)
        if not _goes_on(held):
            yield Piece(file, begin, "".join(held).strip(), end)
            held = []
    if held:
        yield Piece(file, begin, "".join(held).rstrip(), end)


def _goes_on(held: list[str]) -> bool:
    """Return whether the piece that begins with these lines may have more."""
    first = held[0]
    if first.startswith("{"):
        return first.rstrip() == "{" and held[-1].rstrip() != "}"
    return first.startswith(RECORD)


def _ends(held: list[str], line: str) -> bool:
    """Return whether a record ends before this line: a record, JSON object or position begins there."""
    if not held[0].startswith(RECORD):
        return False
    bare = line.partition(COMMENT)[0].strip()
    if bare.startswith("game ") and all(_is_version(before) for before in held):
        return False
    return bare.startswith((*RECORD, "{")) or ("|" in bare and not bare.startswith(TEXTS))


def _is_version(line: str) -> bool:
    bare = line.partition(COMMENT)[0].strip()
    return not bare or bare.startswith("version ")


def read_piece(piece: Piece, choice: GameChoice) -> Input:
    """Parse a piece of input."""
    text = piece.text
    if text.startswith("{"):
        return read_json(text)
    if piece.is_record:
        return records.read_text(text, "record")
    check_text(text, TABLE_TEXT_MAX, "position")
    game = choice.game()
    return game.view(text) if "| seen by" in " ".join(text.split()) else game.position(text)


def read_json(text: str) -> Input:
    """Parse a View, Record or Position in the JSON mapping of protobuf."""
    fields = read_object(text)
    name = fields.pop(TYPE, None) or _type_of(fields)
    if name not in TYPES:
        raise Failure(f"{TYPE}: unknown type {name!r}; known types: {', '.join(TYPES)}")
    return read_message(from_json(fields, TYPES[name]()))


def read_message(message: Any) -> Input:
    if isinstance(message, view_pb2.View):
        view, history = views.read_view_and_history(message)
        return view if history is None else history.record
    if isinstance(message, record_pb2.Record):
        return records.read(message)
    return positions.read(message, "position")


def _type_of(fields: dict[str, Any]) -> str:
    """Derive the type of an object without `@type` from its fields."""
    table: Any = next((fields[name] for name in TABLES if name in fields), {})
    text = str(fields.get("text", ""))
    if {"whole", "seen", "result"} & set(fields) or text.lstrip().startswith(RECORD):
        kind = "Record"
    elif (isinstance(table, dict) and "secrets" in table) or (text and "seen by" not in text):
        kind = "Position"
    else:
        kind = "View"
    return f"type.googleapis.com/eminence.v1.{kind}"


def write_message(item: Input) -> Message:
    """Return the message of a position, view or record."""
    if isinstance(item, Record):
        return records.write(item)
    return views.write_view(item) if isinstance(item, View) else positions.write(item)


def as_json(item: Input) -> dict[str, Any]:
    """Return a position, view or record as JSON with its `@type`."""
    message = write_message(item)
    kind = f"type.googleapis.com/{message.DESCRIPTOR.full_name}"
    return {TYPE: kind, **to_json(message)}


def read_one(argument: str, choice: GameChoice) -> Input:
    """Read the only position, view or record in an argument (text, a file or `-`)."""
    file, lines = open_input(argument)
    items = list(pieces(file, lines))
    if len(items) != 1:
        raise Failure(f"{file}: {len(items)} positions or records; exactly one is accepted")
    try:
        return read_piece(items[0], choice)
    except UNREADABLE as error:
        if file != "argument":
            raise Failure(f"{items[0].where}: {error}") from None
        raise no_such_file(argument, error) or error from None


def read_game(argument: str) -> Record:
    """Read the only record in an argument (text, a file or `-`)."""
    item = read_one(argument, GameChoice())
    if not isinstance(item, Record):
        kind = "view" if isinstance(item, View) else "position"
        raise Failure(f"{argument[:60]}: a {kind}; the record of a game is required")
    return item
