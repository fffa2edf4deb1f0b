"""Game records: a header, then one action per line. docs/notation.md describes the format.

A record holds the whole game, actions of chance included, and replays to the same bytes; or it holds the game as one
seat saw it, and replays to the views of that seat.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from engine_cy.errors import EngineError, InvalidRecordError
from engine_cy.notation import read_letter
from engine_cy.registry import new_game
from engine_cy.seats import CHANCE_SEAT, SEATS
from engine_cy.values import Action, Game, Position, View

# The version of the format. It is optional in a header: records without it have version 1.
VERSION = "1"


@dataclass(frozen=True, slots=True)
class Record:
    """The start and the actions of a game. `result` holds the scores at the end, if the record has them."""

    start: Position | View
    actions: tuple[str, ...] = ()
    result: tuple[int, ...] | None = None

    @property
    def game(self) -> Game:
        return self.start.game

    @property
    def observer(self) -> int | None:
        """The seat whose views the record replays to, or None if the record hides nothing."""
        return self.start.observer if isinstance(self.start, View) else None

    def tables(self) -> Iterator[Position | View]:
        """Yield the table at the start and after each action. Raises InvalidRecordError at an illegal action."""
        table = self.start
        yield table
        for number, action in enumerate(self.actions, 1):
            try:
                table = table.play(action)
            except EngineError as error:
                raise InvalidRecordError(f"action {number}: {error}") from error
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

    def ended(self) -> Record:
        """Return a copy with the scores of the last table as its result."""
        return replace(self, result=self.end.scores)

    def seen_from(self, player: int | str) -> Record:
        """Return the record of the game as `player` saw it."""
        if not isinstance(self.start, Position):
            raise InvalidRecordError(f"seen: the record is already the one that {SEATS[self.start.observer]} saw")
        tables = list(self.tables())
        seen = tuple(
            table.seen(action, player)
            for table, action in zip(tables, self.actions, strict=False)
            if isinstance(table, Position)
        )
        return Record(self.start.view(player), seen, self.result)

    def __str__(self) -> str:
        return write_record(self)


def write_record(record: Record) -> str:
    """Return the text of a record, as its file holds it."""
    start, game = record.start, record.game
    lines = [f"game {game.id}", f"ruleset {write_ruleset(game)}", f"players {game.n_players}"]
    deal = game.write_deal(start)
    if deal is None:
        lines.append(f"position {start}")
    else:
        lines.append(f"first {SEATS[start.to_act or 0]}")
        lines.extend(deal)
        if record.observer is not None:
            lines.append(f"seen by {SEATS[record.observer]}")
    lines.append("")
    for table, action in zip(record.tables(), record.actions, strict=False):
        seat = CHANCE_SEAT if table.to_act is None or table.to_act < 0 else SEATS[table.to_act]
        lines.append(f"{seat} {action}")
    if record.result is not None:
        lines.append(f"result {_write_scores(record.result)}")
    return "\n".join(lines) + "\n"


def read_record(text: str) -> Record:
    """Read a record and replay it once. Raises InvalidRecordError with the line of an illegal action."""
    header, moves = _split(text)
    record = _read_header(header)
    table = record.start
    actions: list[str] = []
    result = None
    for number, seat, action in moves:
        try:
            if seat == "result":
                result = tuple(int(word) for word in action.split())
                continue
            if result is not None:
                raise InvalidRecordError("an action after the result")
            to_act = CHANCE_SEAT if table.to_act is not None and table.to_act < 0 else SEATS[table.to_act or 0]
            if not table.is_over and seat != to_act:
                raise InvalidRecordError(f"{seat!r} is not the seat to act, which is {to_act!r}")
            table = table.play(action)
            actions.append(_normalize(action))
        except (EngineError, ValueError) as error:
            raise InvalidRecordError(f"line {number}: {error}") from error
    _check_result(result, table)
    return replace(record, actions=tuple(actions), result=result)


def game_named(text: str) -> str | None:
    """Return the id in the header of a record's text, without making the game; None without one."""
    for raw in text.splitlines():
        word, _, rest = raw.partition("#")[0].strip().partition(" ")
        if word == "game":
            return rest.strip()
    return None


# --- parts -------------------------------------------------------------------------------------------------

_HEADER = ("version", "game", "ruleset", "players", "first", "position", "seen")


def _split(text: str) -> tuple[list[tuple[int, str]], list[tuple[int, str, str]]]:
    """Split a record into the lines of its header and (line number, seat, action) of its moves.

    Comments run from `#` to the end of a line.
    """
    header: list[tuple[int, str]] = []
    moves: list[tuple[int, str, str]] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].strip()
        word, _, rest = line.partition(" ")
        if not line:
            continue
        if word in SEATS or word in (CHANCE_SEAT, "result"):
            moves.append((number, word, rest.strip()))
        elif moves:
            raise InvalidRecordError(f"line {number}: {line!r} is not an action such as 'A reveal'")
        else:
            header.append((number, line))
    return header, moves


def _read_header(lines: list[tuple[int, str]]) -> Record:
    fields: dict[str, str] = {}
    deal: list[str] = []
    for number, line in lines:
        word, _, rest = line.partition(" ")
        if word not in _HEADER:
            deal.append(line)
        elif word in fields:
            raise InvalidRecordError(f"line {number}: {word!r} occurs twice")
        else:
            fields[word] = rest.strip()
    if fields.get("version", VERSION) != VERSION:
        raise InvalidRecordError(f"version: {fields['version']!r} is not supported ({VERSION})")
    for name in ("game", "players"):
        if name not in fields:
            raise InvalidRecordError(f"{name}: missing from the header")
    if not fields["players"].isdecimal():
        raise InvalidRecordError(f"players: {fields['players']!r} is not a number")
    try:
        game = new_game(fields["game"], read_ruleset(fields.get("ruleset", "")), int(fields["players"]))
        if "position" not in fields:
            seen = fields.get("seen")
            observer = read_letter(seen and seen.removeprefix("by "), "seen by", game.seats)
            first = read_letter(fields.get("first", "A"), "first", game.seats)
            return Record(game.read_deal(deal, first, observer))
        if deal or "first" in fields or "seen" in fields:
            raise InvalidRecordError("position: cannot be combined with a deal, 'first' or 'seen'")
        text = fields["position"]
        return Record(game.view(text) if "| seen by" in text else game.position(text))
    except EngineError as error:
        raise InvalidRecordError(f"header: {error}") from error


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
