"""The parts of tables in words that all games share: omitted fields, faults and their sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from engine_cy.errors import InvalidPositionError, InvalidViewError
from engine_cy.seats import CHANCE, CHANCE_SEAT, SEATS

OMITTED: Any = None  # the value of a field that a person or program left out, whatever its type

_STEPS = re.compile(r"(?:^|\.)(\w+)|\[(\w+)\]")
_SEATS = ("first", "to_act", "observer", "victim", "family", "owner")
_CARDS = ("card", "face_down", "hand", "decks", "selected")


class SeenSecrets:
    """The secrets in a table as one seat sees it: a dataclass with `observer` and the observer's `own`."""

    __slots__ = ()

    def secrets_of(self: Any, seat: int) -> Any:
        """Return the secrets of a seat; None if they are hidden."""
        return self.own if seat == self.observer else None


class AllSecrets:
    """The secrets in a table with nothing hidden: a dataclass with `secrets`, an entry for each seat."""

    __slots__ = ()

    @property
    def observer(self) -> None:
        return None

    def secrets_of(self: Any, seat: int) -> Any:
        return self.secrets[seat]


class Fault(NamedTuple):
    """A part of a table that contradicts the rules or the other parts: its path, its value and the reason."""

    path: str
    value: object
    why: str
    error: type[InvalidViewError] = InvalidViewError  # the class of the refusal of a view
    places: tuple[str, ...] = ()  # the paths of the cards that contradict each other, if they are the fault

    def refusal(self, observer: int | None) -> InvalidPositionError:
        """Make the error for a position, or for a view if there is an observer."""
        text = f"{self.path}: {self.value!r} {self.why}"
        error = InvalidPositionError(f"position.{text}") if observer is None else self.error(f"view.{text}")
        error.fault = self
        return error


class Sentence(NamedTuple):
    """The wording of a broken rule. Path and reason name the place in braces."""

    path: str
    why: str
    error: type[InvalidViewError] = InvalidViewError
    shows: Callable[[int], object] | None = None  # converts a breach's value for which a table has no field

    def fault(self, place: Mapping[str, object], value: int, table: object) -> Fault:
        """Word the fault of `table`, or of bytes if it is None."""
        path = self.path.format_map(place)
        if self.shows is not None:
            shown = self.shows(value)
        else:
            shown = value if table is None else _shown(path, _value_at(table, path))
        return Fault(path, shown, self.why.format_map(place), self.error)


def refusal(
    observer: int | None, path: str, value: object, why: str, error: type[InvalidViewError] = InvalidViewError
) -> InvalidPositionError:
    """Make the error for a field of a position, or of a view if there is an observer."""
    return Fault(path, value, why, error).refusal(observer)


def seat_letter(seat: int | None) -> str | int | None:
    """Return the letter of a seat or of chance; a number that is neither stays as it is."""
    return CHANCE_SEAT if seat == CHANCE else SEATS[seat] if seat is not None and 0 <= seat < len(SEATS) else seat


def _value_at(table: Any, path: str) -> Any:
    """Return the value at a path such as `slots[2][0].tokens` or `hands[B]`."""
    value = table
    for name, index in _STEPS.findall(path):
        value = getattr(value, name) if name else value[SEATS.index(index) if index in SEATS else int(index)]
    return value


def _shown(path: str, value: Any) -> object:
    """Return a value as people write it: the letter of a seat, `?` for unknown cards, a list with commas."""
    name = [name for name, _ in _STEPS.findall(path) if name][-1]
    # Among a seat's secrets, `selected` is a card.
    if isinstance(value, int) and (name in _SEATS or path.startswith("table.selected[")):
        return seat_letter(value)
    elif name in _CARDS and value is None:
        return "?"
    elif type(value) is tuple:
        return ",".join(map(str, map(seat_letter, value) if name == "selected" else value)) or "-"
    return str(value) if isinstance(value, tuple) else value
