"""Readers for the parts that the notations of all games share: fields, seats, numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engine_cy.errors import NotationError, listed
from engine_cy.tables import OMITTED


def read_fields(parts: Iterable[str], names: Sequence[str], text: str) -> dict[str, str]:
    """Read the parts of `text`, each a name and a value, into a dict."""
    fields: dict[str, str] = {}
    for part in parts:
        name, _, value = part.strip().partition(" ")
        if name not in names:
            raise NotationError(f"field: {name!r} is not one of {listed(names)}, in {text!r}")
        if name in fields:
            raise NotationError(f"field: {name!r} occurs twice, in {text!r}")
        fields[name] = value.strip()
    return fields


def read_letter(letter: str | None, field: str, seats: Sequence[str]) -> int:
    """Return the number of the seat with this letter."""
    if letter is not None and (len(letter) != 1 or letter not in seats):
        raise NotationError(f"{field}: {letter!r} is not at this table ({listed(seats)})")
    return OMITTED if letter is None else seats.index(letter)


def read_observer(text: str | None, seats: Sequence[str]) -> int | None:
    """Return the seat in the value of the field `seen`, such as `by A`. None stays None."""
    if text is None:
        return None
    by, _, letter = text.partition(" ")
    if by != "by":
        raise NotationError(f"seen: {text!r} is not like 'by A'")
    return read_letter(letter.strip(), "seen by", seats)


def read_number(text: str | None, field: str) -> int:
    """Return the number in `text`."""
    if text is not None and not re.fullmatch(r"-?[0-9]{1,6}", text):
        raise NotationError(f"{field}: {text!r} is not a number")
    return OMITTED if text is None else int(text)
