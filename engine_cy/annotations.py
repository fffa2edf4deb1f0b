"""Annotations of a record: names, a date, an event, comments and variations. None of them changes the game.

Comments and variations may name cards that a seat did not see, so the record of a seat has none of the whole game's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, Protocol

from engine_cy.errors import InvalidRecordError

NAME_MAX = 100
EVENT_MAX = 200
COMMENT_MAX = 2_000
# The limits of a whole record: characters of all comments; variations, their actions, and how deep they are nested.
COMMENTS_TEXT_MAX = 16_000
VARIATIONS_MAX = 64
VARIATION_ACTIONS_MAX = 512
DEPTH_MAX = 4

QUOTED = 40  # characters of a refused value in a message

# Control characters, line separators, halves of surrogate pairs, and characters that reverse the direction of text.
_REFUSED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?", re.ASCII)


class Comment(NamedTuple):
    """A comment after a number of actions: 0 is the start, and the number of all actions is the end."""

    after: int
    text: str


@dataclass(frozen=True, slots=True)
class Variation:
    """Another line of play, which begins after a number of actions of its parent line."""

    after: int
    actions: tuple[str, ...]
    comments: tuple[Comment, ...] = ()
    variations: tuple[Variation, ...] = ()


class Line(Protocol):
    """The part that a record and a variation have in common."""

    @property
    def actions(self) -> tuple[str, ...]: ...
    @property
    def comments(self) -> tuple[Comment, ...]: ...
    @property
    def variations(self) -> tuple[Variation, ...]: ...


def clean_comment(text: str) -> str:
    """Remove the blanks at the ends of lines, which text cannot keep, and the empty lines at both ends."""
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def clean_comments(line: Line) -> tuple[Comment, ...]:
    return tuple(Comment(after, clean_comment(text)) for after, text in line.comments)


def clean_variations(line: Line) -> tuple[Variation, ...]:
    """Return the variations with clean comments."""
    return tuple(
        Variation(part.after, tuple(part.actions), clean_comments(part), clean_variations(part))
        for part in line.variations
    )


def check_names(names: Sequence[str], n_players: int) -> None:
    if names and len(names) != n_players:
        raise InvalidRecordError(f"names: {len(names)} entries, not one for each of {n_players} players")
    for number, name in enumerate(names):
        _check_text(name, NAME_MAX, f"names[{number}]")


def check_event(event: str) -> None:
    _check_text(event, EVENT_MAX, "event")


def check_date(text: str) -> None:
    """Raise InvalidRecordError unless the text is empty or a date."""
    if not text:
        return
    try:
        if not _DATE.fullmatch(text):
            raise ValueError
        date.fromisoformat(text + "0001-01-01"[len(text) :])
    except ValueError:
        why = f"{text[:QUOTED]!r} is not a date such as 2026-11-19, 2026-11 or 2026"
        raise InvalidRecordError(f"date: {why}") from None


def check_depth(line: Line, depth: int = 0) -> None:
    """Raise InvalidRecordError if variations are nested too deep."""
    if depth > DEPTH_MAX:
        raise InvalidRecordError(f"variations: nested {depth} deep; at most {DEPTH_MAX} are possible")
    for variation in line.variations:
        check_depth(variation, depth + 1)


def check_line(record: Line) -> None:
    """Check the comments and variations of a record. `check_depth` must have accepted it."""
    lines = list(_lines(record, ""))
    if len(lines) - 1 > VARIATIONS_MAX:
        raise InvalidRecordError(f"variations: {len(lines) - 1} in all; at most {VARIATIONS_MAX} are possible")
    actions = sum(len(line.actions) for _, line in lines[1:])
    if actions > VARIATION_ACTIONS_MAX:
        why = f"{actions} actions in all; at most {VARIATION_ACTIONS_MAX} are possible"
        raise InvalidRecordError(f"variations: {why}")
    for path, line in lines:
        _check_comments(line, path)
        _check_variations(line, path)
    text = sum(len(comment.text) for _, line in lines for comment in line.comments)
    if text > COMMENTS_TEXT_MAX:
        raise InvalidRecordError(f"comments: {text} characters in all; at most {COMMENTS_TEXT_MAX} are possible")


def _lines(line: Line, path: str) -> Iterator[tuple[str, Line]]:
    """Yield the line and the variations below it, each with the prefix of its path."""
    yield path, line
    for number, variation in enumerate(line.variations):
        yield from _lines(variation, f"{path}variations[{number}].")


def _check_comments(line: Line, path: str) -> None:
    before = -1
    for number, comment in enumerate(line.comments):
        field = f"{path}comments[{number}]"
        _check_after(comment.after, len(line.actions), field)
        if comment.after <= before:
            why = f"{comment.after} follows {before}; comments are in the order of the actions, one after each"
            raise InvalidRecordError(f"{field}.after: {why}")
        if not clean_comment(comment.text):
            raise InvalidRecordError(f"{field}.text: is empty")
        before = comment.after
        _check_text(comment.text, COMMENT_MAX, f"{field}.text", newlines=True)


def _check_variations(line: Line, path: str) -> None:
    before = 0
    for number, variation in enumerate(line.variations):
        field = f"{path}variations[{number}]"
        _check_after(variation.after, len(line.actions), field)
        if variation.after < before:
            why = f"{variation.after} follows {before}; variations are in the order of the actions"
            raise InvalidRecordError(f"{field}.after: {why}")
        if not variation.actions:
            raise InvalidRecordError(f"{field}.actions: a variation has at least one action")
        before = variation.after


def _check_after(after: int, n_actions: int, field: str) -> None:
    if not 0 <= after <= n_actions:
        raise InvalidRecordError(f"{field}.after: {after} is not in 0..{n_actions}, the number of actions of its line")


def _check_text(text: str, most: int, field: str, newlines: bool = False) -> None:
    if len(text) > most:
        why = f"{text[:QUOTED]!r}... has {len(text)} characters; at most {most} are possible"
        raise InvalidRecordError(f"{field}: {why}")
    refused = _REFUSED.search(text.replace("\r\n", "\n").replace("\n", " ") if newlines else text)
    if refused:
        accepted = "no control characters but newlines" if newlines else "no control characters"
        why = f"character {refused.start() + 1} is U+{ord(refused[0]):04X}; {accepted} are accepted"
        raise InvalidRecordError(f"{field}: {why}")
