"""Game records: a header, then one action per line. docs/notation.md describes the format.

A record holds the whole game, actions of chance included, and replays to the same bytes; or it holds the game as one
seat saw it, and replays to the views of that seat.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from engine_cy.annotations import (
    DEPTH_MAX,
    Comment,
    Line,
    Variation,
    check_date,
    check_depth,
    check_event,
    check_line,
    check_names,
    clean_comments,
    clean_variations,
)
from engine_cy.errors import EngineError, InvalidRecordError, NotationError, listed
from engine_cy.notation import read_letter
from engine_cy.registry import new_game
from engine_cy.seats import CHANCE_SEAT, SEATS
from engine_cy.values import Action, Game, Position, View

# The versions of the format. Without a version in its header, a record has the first. Only a record with annotations
# is written in the second, so that older releases read all others.
PLAIN_VERSION = "1"
VERSION = "2"


@dataclass(frozen=True, slots=True)
class Record:
    """The start and the actions of a game. `result` holds the scores at the end, if the record has them.

    The other fields are annotations. `names` has an entry for each seat, empty if unknown, or none at all.
    """

    start: Position | View
    actions: tuple[str, ...] = ()
    result: tuple[int, ...] | None = None
    names: tuple[str, ...] = ()
    date: str = ""
    event: str = ""
    comments: tuple[Comment, ...] = ()
    variations: tuple[Variation, ...] = ()

    def __post_init__(self) -> None:
        """Check and clean the annotations."""
        if not self.is_annotated:
            return
        check_names(self.names, self.game.n_players)
        check_date(self.date)
        check_event(self.event)
        check_depth(self)
        check_line(self)
        names = tuple(name.strip() for name in self.names)
        cleaned = {
            "names": names if any(names) else (),
            "event": self.event.strip(),
            "comments": clean_comments(self),
            "variations": clean_variations(self),
        }
        for field, value in cleaned.items():
            object.__setattr__(self, field, value)

    @property
    def game(self) -> Game:
        return self.start.game

    @property
    def observer(self) -> int | None:
        """The seat whose views the record replays to, or None if the record hides nothing."""
        return self.start.observer if isinstance(self.start, View) else None

    @property
    def is_annotated(self) -> bool:
        return bool(self.names or self.date or self.event or self.comments or self.variations)

    @property
    def bare(self) -> Record:
        """The record without annotations: searches and seeds depend on nothing else."""
        return Record(self.start, self.actions, self.result)

    def tables(self) -> Iterator[Position | View]:
        """Yield the table at the start and after each action. Raises InvalidRecordError at an illegal action."""
        for table in replay(self.start, self.actions):
            yield table
        if self.result is not None and table.scores != self.result:
            raise InvalidRecordError(
                f"result: {_write_scores(self.result)}, but these actions end at {_write_scores(table.scores)}"
            )

    @property
    def end(self) -> Position | View:
        """The table after the last action."""
        *_, table = self.tables()
        return table

    def play(self, action: Action | str) -> Record:
        """Return a copy with one more action. Raises IllegalActionError if the action is illegal."""
        self.end.play(action)
        return replace(self, actions=(*self.actions, str(action)), result=None)

    def until(self, n_actions: int) -> Record:
        """Return a copy with the first actions, and with the comments and variations up to there."""
        return replace(
            self,
            actions=self.actions[:n_actions],
            result=None,
            comments=tuple(comment for comment in self.comments if comment.after <= n_actions),
            variations=tuple(variation for variation in self.variations if variation.after <= n_actions),
        )

    def ended(self) -> Record:
        """Return a copy with the scores of the last table as its result."""
        return replace(self, result=self.end.scores)

    def seen_from(self, player: int | str) -> Record:
        """Return the record of the game as `player` saw it.

        It has no comments and variations, because these may name any card.
        """
        if not isinstance(self.start, Position):
            raise InvalidRecordError(f"seen: the record is already the one that {SEATS[self.start.observer]} saw")
        tables = list(self.tables())
        seen = tuple(
            table.seen(action, player)
            for table, action in zip(tables, self.actions, strict=False)
            if isinstance(table, Position)
        )
        return Record(self.start.view(player), seen, self.result, self.names, self.date, self.event)

    def __str__(self) -> str:
        return write_record(self)


def replay(table: Position | View, actions: tuple[str, ...]) -> Iterator[Position | View]:
    """Yield a table, and the table after each action. Raises InvalidRecordError at an illegal action."""
    yield table
    for number, action in enumerate(actions, 1):
        try:
            table = table.play(action)
        except EngineError as error:
            raise InvalidRecordError(f"action {number}: {error}") from error
        yield table


def write_record(record: Record) -> str:
    """Return the text of a record, as its file holds it."""
    start, game = record.start, record.game
    lines = [f"version {VERSION}"] if record.is_annotated else []
    lines += [f"game {game.id}", f"ruleset {write_ruleset(game)}", f"players {game.n_players}"]
    lines += [f"name {seat} {name}" for seat, name in zip(SEATS, record.names, strict=False) if name]
    lines += [f"{field} {value}" for field in ("date", "event") if (value := getattr(record, field))]
    deal = game.write_deal(start)
    if deal is None:
        lines.append(f"position {start}")
    else:
        lines.append(f"first {SEATS[start.to_act or 0]}")
        lines.extend(deal)
        if record.observer is not None:
            lines.append(f"seen by {SEATS[record.observer]}")
    lines += ["", *_write_line(record, start, "")]
    if record.result is not None:
        lines.append(f"result {_write_scores(record.result)}")
    return "\n".join(lines) + "\n"


def _write_line(line: Line, start: Position | View, indent: str) -> Iterator[str]:
    """Yield the lines of text of a line of play that begins at `start`."""
    comments = dict(line.comments)
    for number, table in enumerate(replay(start, line.actions)):
        for text in comments[number].split("\n") if number in comments else ():
            yield f"{indent}comment {text}".rstrip()
        for variation in line.variations:
            if variation.after == number:
                yield f"{indent}variation"
                yield from _write_line(variation, table, f"{indent}  ")
                yield f"{indent}end"
        if number < len(line.actions):
            yield f"{indent}{_actor(table)} {line.actions[number]}"


def read_record(text: str) -> Record:
    """Read a record and replay it once. Raises InvalidRecordError with the line of an illegal action."""
    header, moves = _split(text)
    record = _read_header(header)
    line = _read_line(iter(moves), record.start, 0)
    _check_result(line.result, line.end)
    return replace(record, actions=line.actions, result=line.result, comments=line.comments, variations=line.variations)


class _ReadLine(NamedTuple):
    """A line of play that was read; `end` is its last table."""

    actions: tuple[str, ...]
    comments: tuple[Comment, ...]
    variations: tuple[Variation, ...]
    result: tuple[int, ...] | None
    end: Position | View


def _read_line(moves: Iterator[_TextLine], table: Position | View, depth: int) -> _ReadLine:
    """Read a line of play: that of the game (depth 0) to the end of the text, a variation to its `end`."""
    actions: list[str] = []
    comments: dict[int, list[str]] = {}
    variations: list[Variation] = []
    result = None
    ended = depth == 0
    for number, word, rest in moves:
        if word == "variation" and depth < DEPTH_MAX and not rest:
            part = _read_line(moves, table, depth + 1)
            variations.append(Variation(len(actions), part.actions, part.comments, part.variations))
            continue
        with _at_line(number):
            if word == "comment":
                comments.setdefault(len(actions), []).append(rest)
            elif word == "end" and depth and not rest:
                ended = True
                break
            elif word in ("variation", "end"):
                raise InvalidRecordError(_misplaced(word, rest))
            elif word == "result":
                if depth:
                    raise InvalidRecordError("'result' cannot stand in a variation")
                result = tuple(int(score) for score in rest.split())
            else:
                if result is not None:
                    raise InvalidRecordError("an action after the result")
                if not table.is_over and word != _actor(table):
                    raise InvalidRecordError(f"{word!r} is not the seat to act, which is {_actor(table)!r}")
                table = table.play(rest)
                actions.append(_normalize(rest))
    if not ended:
        raise InvalidRecordError("variation: has no line 'end'")
    written = tuple(Comment(after, "\n".join(lines)) for after, lines in sorted(comments.items()))
    return _ReadLine(tuple(actions), written, tuple(variations), result, table)


def _misplaced(word: str, rest: str) -> str:
    if rest:
        return f"{rest[:40]!r} after {word!r}, which stands alone"
    if word == "end":
        return "'end' without a 'variation'"
    return f"variations can be nested {DEPTH_MAX} deep, not deeper"


@contextmanager
def _at_line(number: int) -> Iterator[None]:
    try:
        yield
    except (EngineError, ValueError) as error:
        raise InvalidRecordError(f"line {number}: {error}") from error


def _actor(table: Position | View) -> str:
    """Return the letter of the seat to act; that of the first if the game is over."""
    return CHANCE_SEAT if table.to_act is not None and table.to_act < 0 else SEATS[table.to_act or 0]


def game_named(text: str) -> str | None:
    """Return the id in the header of a record's text, without making the game; None without one."""
    for raw in text.splitlines():
        word, _, rest = raw.partition("#")[0].strip().partition(" ")
        if word == "game":
            return rest.strip()
    return None


# --- parts -------------------------------------------------------------------------------------------------

_HEADER = ("version", "game", "ruleset", "players", "first", "position", "seen", "date", "event")
# The lines of version 2. Their texts may contain `#`.
_ANNOTATIONS = ("name", "date", "event", "comment", "variation", "end")
_MOVES = (*SEATS, CHANCE_SEAT, "result", "comment", "variation", "end")
_NEWLINE = re.compile(r"\r\n|\r|\n")


class _TextLine(NamedTuple):
    """A line of a record's text: its number, its first word, and the rest."""

    number: int
    word: str
    rest: str

    def __str__(self) -> str:
        return f"{self.word} {self.rest}".rstrip()


def _split(text: str) -> tuple[list[_TextLine], list[_TextLine]]:
    """Split a record into the lines of its header and those of its moves.

    `#` begins a note that is no part of the record, to the end of the line; in the texts of version 2 it is a sign like
    others.
    """
    raws = _NEWLINE.split(text)
    version = _version_of(raws)
    header: list[_TextLine] = []
    moves: list[_TextLine] = []
    for number, raw in enumerate(raws, 1):
        line = raw.strip()
        word = line.partition(" ")[0]
        if word not in _ANNOTATIONS:
            line = line.partition("#")[0].strip()
        elif version == PLAIN_VERSION:
            raise InvalidRecordError(f"line {number}: {word!r} needs 'version {VERSION}' in the header")
        if not line:
            continue
        word, _, rest = line.partition(" ")
        if word != "comment":
            rest = rest.strip()
        if word in _MOVES:
            moves.append(_TextLine(number, word, rest))
        elif moves:
            raise InvalidRecordError(f"line {number}: {line!r} is not an action such as 'A reveal'")
        else:
            header.append(_TextLine(number, word, rest))
    return header, moves


def _version_of(raws: list[str]) -> str:
    """Return the version that the header of a record states."""
    for raw in raws:
        word, _, rest = raw.partition("#")[0].strip().partition(" ")
        if word in _MOVES:
            break
        if word == "version":
            version = rest.strip()
            if version not in (PLAIN_VERSION, VERSION):
                raise InvalidRecordError(f"version: {version!r} is not supported ({PLAIN_VERSION}, {VERSION})")
            return version
    return PLAIN_VERSION


def _read_header(lines: list[_TextLine]) -> Record:
    fields: dict[str, str] = {}
    deal: list[str] = []
    names: dict[str, str] = {}
    for line in lines:
        if line.word == "name":
            seat, _, name = line.rest.partition(" ")
            if seat in names:
                raise InvalidRecordError(f"line {line.number}: 'name {seat}' occurs twice")
            names[seat] = name
        elif line.word not in _HEADER:
            deal.append(str(line))
        elif line.word in fields:
            raise InvalidRecordError(f"line {line.number}: {line.word!r} occurs twice")
        else:
            fields[line.word] = line.rest
    for field in ("game", "players"):
        if field not in fields:
            raise InvalidRecordError(f"{field}: missing from the header")
    if not fields["players"].isdecimal():
        raise InvalidRecordError(f"players: {fields['players']!r} is not a number")
    try:
        game = new_game(fields["game"], read_ruleset(fields.get("ruleset", "")), int(fields["players"]))
        for seat in names:
            read_letter(seat, "name", game.seats)
        start = _read_start(game, fields, deal)
    except EngineError as error:
        raise InvalidRecordError(f"header: {error}") from error
    by_seat = tuple(names.get(seat, "") for seat in game.seats) if names else ()
    return Record(start, names=by_seat, date=fields.get("date", ""), event=fields.get("event", ""))


def _read_start(game: Game, fields: dict[str, str], deal: list[str]) -> Position | View:
    if "position" not in fields:
        seen = fields.get("seen")
        observer = read_letter(seen and seen.removeprefix("by "), "seen by", game.seats)
        first = read_letter(fields.get("first", "A"), "first", game.seats)
        try:
            return game.read_deal(deal, first, observer)
        except NotationError as error:
            if not deal:
                raise
            # The line may be a misspelt field.
            raise NotationError(f"{error}; the fields of a header are {listed((*_HEADER, 'name'))}") from None
    if deal or "first" in fields or "seen" in fields:
        raise InvalidRecordError("position: cannot be combined with a deal, 'first' or 'seen'")
    text = fields["position"]
    return game.view(text) if "| seen by" in text else game.position(text)


def _check_result(result: tuple[int, ...] | None, table: Position | View) -> None:
    if result is not None and result != table.scores:
        raise InvalidRecordError(
            f"result: {_write_scores(result)}, but these actions end at {_write_scores(table.scores)}"
        )


def write_ruleset(game: Game) -> str:
    """Return the text of a game's ruleset in the header of a record."""
    ruleset = game.spec[1]
    if not isinstance(ruleset, dict):
        return str(ruleset or "standard")
    if any(isinstance(value, list | dict) for value in ruleset.values()):
        # Tables of numbers are JSON. A `#` in it would start a comment.
        return json.dumps(ruleset, separators=(",", ":")).replace("#", "\\u0023")
    words = [str(ruleset["edition"])]
    names = {True: "yes", False: "no"}
    for switch, value in ruleset.items():
        if switch != "edition":
            words.append(f"{switch}={names[value] if isinstance(value, bool) else value}")
    return " ".join(words)


def read_ruleset(text: str) -> str | dict[str, Any] | None:
    """Read a ruleset of a header into the argument of `new_game`; None for an empty text."""
    if text.startswith("{"):
        try:
            tables: dict[str, Any] = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidRecordError(f"ruleset: {error}, in {text!r}") from error
        return tables
    edition, *switches = text.split() or [""]
    if not switches:
        return edition or None
    ruleset: dict[str, Any] = {"edition": edition}
    for word in switches:
        name, equals, value = word.partition("=")
        if not equals or name in ruleset:
            raise InvalidRecordError(f"ruleset: {word!r} is not like 'decree_onto_stack=no', each switch once")
        ruleset[name] = value == "yes" if value in ("yes", "no") else int(value) if value.isdecimal() else value
    return ruleset


def _normalize(action: str) -> str:
    """Put single blanks between the words of an action, and ` = ` before the cards that it shows."""
    words, equals, shown = action.partition("=")
    names = ",".join(name.strip() for name in shown.split(","))
    return " ".join(words.split()) + (f" = {names}" if equals else "")


def _write_scores(scores: tuple[int, ...]) -> str:
    return " ".join(str(score) for score in scores)
