"""The parts of tables in words that all games share: omitted fields, and faults."""

from __future__ import annotations

from typing import Any

from engine_cy.errors import InvalidPositionError, InvalidViewError

OMITTED: Any = None  # the value of a field that a person or program left out, whatever its type


def refusal(
    observer: int | None, path: str, value: object, why: str, of_view: type[InvalidViewError] = InvalidViewError
) -> InvalidPositionError:
    """Make the error for a field of a position, or of a view: its path, its value and the reason."""
    if observer is None:
        return InvalidPositionError(f"position.{path}: {value!r} {why}")
    return of_view(f"view.{path}: {value!r} {why}")
