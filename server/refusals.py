"""What is refused, in which field, and why; nothing of how a service tells it (`rpc/status.py`).

A refusal names a field, a reason that a program can branch on (`ErrorReason` in the contract) and what was possible.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine_cy import EngineError

# How the engine's messages begin: the path of what is wrong, without blanks.
_PATH = re.compile(r"[A-Za-z_][\w.\[\]-]*")
# What it calls an action, which is all that a field with an action holds.
_ACTION = "action"


class Refusal(Exception):
    """A request that is refused: why, in a word of the contract's `ErrorReason` and in a sentence, and which field.
    `retry_after` says in how many seconds to try again, where that helps."""

    def __init__(self, reason: str, field: str, why: str, retry_after: float | None = None) -> None:
        super().__init__(reason, field, why, retry_after)  # all of them, so that it can be pickled
        self.reason = reason
        self.field = field
        self.why = why
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.field}: {self.why}" if self.field else self.why


def missing(field: str, why: str = "is required") -> Refusal:
    return Refusal("MISSING_FIELD", field, why)


def split(error: Exception) -> tuple[str, str]:
    """The path that a message of the engine or solver begins with, and the rest; '' if there is none."""
    path, colon, why = str(error).partition(": ")
    return (path, why) if colon and _PATH.fullmatch(path) else ("", str(error))


@contextmanager
def at(field: str, path_of: Callable[[str], str] | None = None) -> Iterator[None]:
    """What the engine refuses meanwhile is refused as `field`, or as the field that `path_of` finds for its path."""
    try:
        yield
    except EngineError as error:
        path, why = split(error)
        if path_of is None and path != _ACTION:
            why = str(error)
        # Of the errors without a reason of their own, all are about a seat.
        reason = "OUT_OF_RANGE" if error.reason == "UNSPECIFIED" else error.reason
        raise Refusal(reason, path_of(path) if path_of else field, why) from None
