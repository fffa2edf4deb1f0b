"""The messages of game records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from eminence.v1 import record_pb2 as pb
from engine_cy import EngineError, Game, Position, View
from engine_cy.annotations import DEPTH_MAX, VARIATION_ACTIONS_MAX, VARIATIONS_MAX, Comment, Line, Variation
from engine_cy.record import Record, read_record, replay
from server.codec.fields import ACTIONS_MAX, RECORD_TEXT_MAX, check_length, check_text, in_range, per_seat, which
from server.codec.games import read_required_game, write_game
from server.codec.members import read_member, write_member
from server.codec.views import read_actions, read_history, write_actions, write_history
from server.games import adapter_of
from server.refusals import Refusal, at

# The annotations of a record.
_ANNOTATIONS = ("names", "date", "event", "comments", "variations")
# Fields without secrets, and fields whose refusals say only that they are missing or too long.
_PUBLIC = re.compile(
    r"(?:\.(?:game(?:\..*)?|contents|table|(?:whole|seen)\.(?:deal|start|actions)|names.*|date|event))?"
)
# The parts of other refusals that may be shown: the field of a record, the action's index, the line of a text.
_PLACE = re.compile(r"\.(?:text|result|(?:comments|variations)(?:\[\d+\])?|(?:whole|seen)\.(?:actions\[\d+\]|\w+))|")
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
        record = replace(record, result=result)
    if any(getattr(message, name) for name in _ANNOTATIONS):
        record = _annotated(record, message, field)
    return record


def _annotated(record: Record, message: pb.Record, field: str) -> Record:
    """Return the record with the annotations of its message."""
    if message.HasField("text"):
        name = next(name for name in _ANNOTATIONS if getattr(message, name))
        raise Refusal("CONTRADICTION", f"{field}.{name}", "cannot be set beside `text`, which holds its own")
    _check_variations(message, field)
    variations = _read_variations(record.start, record.actions, message.variations, field)
    with at(field, lambda path: f"{field}.{path}"):
        return replace(
            record,
            names=tuple(message.names),
            date=message.date,
            event=message.event,
            comments=_read_comments(message.comments),
            variations=variations,
        )


def _read_comments(messages: Iterable[pb.Comment]) -> tuple[Comment, ...]:
    return tuple(Comment(message.after, message.text) for message in messages)


def _check_variations(message: pb.Record, field: str) -> None:
    """Refuse too many or too deep variations before any of them is replayed."""
    level: list[pb.Variation] = list(message.variations)
    n_variations = n_actions = depth = 0
    while level:
        depth += 1
        n_variations += len(level)
        n_actions += sum(len(variation.actions) for variation in level)
        for number, most, unit in (
            (depth, DEPTH_MAX, "levels"),
            (n_variations, VARIATIONS_MAX, "variations"),
            (n_actions, VARIATION_ACTIONS_MAX, "actions"),
        ):
            if number > most:
                why = f"{number} {unit} or more in all; at most {most} are possible"
                raise Refusal("TOO_LONG", f"{field}.variations", why)
        level = [inner for variation in level for inner in variation.variations]


def _read_variations(
    start: Position | View, actions: tuple[str, ...], messages: Sequence[pb.Variation], field: str
) -> tuple[Variation, ...]:
    """Replay the variations of a line of play, which begins at `start`."""
    tables = list(replay(start, actions)) if messages else []
    variations = []
    for i, message in enumerate(messages):
        path = f"{field}.variations[{i}]"
        table = tables[in_range(message.after, 0, len(actions), f"{path}.after")]
        _, played = read_actions(table, message.actions, f"{path}.actions")
        parts = _read_variations(table, played, message.variations, path)
        variations.append(Variation(message.after, played, _read_comments(message.comments), parts))
    return tuple(variations)


def read_text(text: str, field: str) -> Record:
    with at(field):
        record = read_record(check_text(text, RECORD_TEXT_MAX, field))
        check_length(record.actions, ACTIONS_MAX, field)
        return record


def write(record: Record) -> pb.Record:
    message = pb.Record(game=write_game(record.game), result=record.result or ())
    if not isinstance(record.start, Position):
        message.seen.CopyFrom(write_history(record))
    else:
        adapter = adapter_of(record.game.id)
        if not write_member(message.whole, adapter, adapter.write_deal(record.start)):
            # Only text can write a start in the middle of a game, or an edition's own cards.
            message.text = str(record)
            return message
        message.whole.actions.extend(write_actions(record.start, record.actions))
    message.names.extend(record.names)
    message.date, message.event = record.date, record.event
    _write_line(record, record.start, message)
    return message


def _write_line(line: Line, start: Position | View, message: pb.Record | pb.Variation) -> None:
    """Write the comments and variations of a line of play, which begins at `start`."""
    for comment in line.comments:
        message.comments.add(after=comment.after, text=comment.text)
    if not line.variations:
        return
    tables = list(replay(start, line.actions))
    for variation in line.variations:
        table = tables[variation.after]
        part = message.variations.add(after=variation.after, actions=write_actions(table, variation.actions))
        _write_line(variation, table, part)


def _read_whole(game: Game, message: pb.WholeGame, field: str) -> Record:
    adapter = adapter_of(game.id)
    part, path = read_member(message, "deal", adapter, adapter.plans and adapter.plans.deal.message, field)
    start = adapter.read_deal(game, part, path)
    return Record(start, read_actions(start, message.actions, f"{field}.actions")[1])
