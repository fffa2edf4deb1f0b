"""Refusals of requests. `rpc/status.py` turns them into statuses.

A refusal names a field, a reason that a program can branch on (`ErrorReason` in the contract) and the accepted values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine_cy import EngineError, GameFaultError

# The prefix of the engine's messages: the path of the wrong value, without blanks.
_PATH = re.compile(r"[A-Za-z_][\w.\[\]-]*")
# The engine's path of an action. A request's field holds nothing but the action, so its own path is enough.
_ACTION = "action"


class Refusal(Exception):
    """The refusal of a request: a `reason` of the contract's `ErrorReason`, the field's path, and a sentence `why`.

    `retry_after` is the number of seconds before a retry; None: a retry does not help.
    """

    def __init__(self, reason: str, field: str, why: str, retry_after: float | None = None) -> None:
        super().__init__(reason, field, why, retry_after)  # pickle passes these to the constructor
        self.reason = reason
        self.field = field
        self.why = why
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.field}: {self.why}" if self.field else self.why

    def under(self, field: str) -> Refusal:
        """Return the refusal with the path of its field under that of a message; an index follows without a dot."""
        dot = "." if field and self.field and self.field[0] != "[" else ""
        return Refusal(self.reason, f"{field}{dot}{self.field}", self.why, self.retry_after)


def missing(field: str, why: str = "is required") -> Refusal:
    return Refusal("MISSING_FIELD", field, why)


def split(error: Exception) -> tuple[str, str]:
    """Split a message of the engine or solver into the path before its colon ('' without a path) and the rest."""
    path, colon, why = str(error).partition(": ")
    if isinstance(error, GameFaultError):  # it begins with the game
        return "", str(error)
    return (path, why) if colon and _PATH.fullmatch(path) else ("", str(error))


@contextmanager
def under(field: str) -> Iterator[None]:
    """Put the path of a message before those of refusals."""
    try:
        yield
    except Refusal as refusal:
        raise refusal.under(field) from None


@contextmanager
def at(field: str, path_of: Callable[[str], str] | None = None) -> Iterator[None]:
    """Turn errors of the engine into refusals of `field`, or of the field that `path_of` returns for their path."""
    try:
        yield
    except EngineError as error:
        path, why = split(error)
        if path_of is None and path != _ACTION:
            why = str(error)
        # Every error without a reason of its own is about a seat.
        reason = "OUT_OF_RANGE" if error.reason == "UNSPECIFIED" else error.reason
        raise Refusal(reason, path_of(path) if path_of else field, why) from None
