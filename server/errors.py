"""Refusals, and the one place where whatever goes wrong becomes a status.

A refusal names a field, a reason that a program can branch on (`ErrorReason` in the contract) and what was possible.
Of anything else that goes wrong the client learns an incident's number, and the log where it happened: never the
text of an exception, which may hold cards.
"""

from __future__ import annotations

import logging
import re
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import grpc
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from engine_cy import EngineError
from solver import InvalidBudgetError
from solver.backends.cluster import SearchLostError

DOMAIN = "eminence.v1"
# A status travels in the headers of the answer, where there is room for 8 KiB.
TEXT_MAX = 500

_CODES = {
    "NO_WORLD_FITS": grpc.StatusCode.FAILED_PRECONDITION,
    "NOT_TO_ACT": grpc.StatusCode.FAILED_PRECONDITION,
    "GAME_OVER": grpc.StatusCode.FAILED_PRECONDITION,
    "OVERLOADED": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "QUOTA_EXHAUSTED": grpc.StatusCode.RESOURCE_EXHAUSTED,
    "DEADLINE_TOO_SHORT": grpc.StatusCode.DEADLINE_EXCEEDED,
    "UNAVAILABLE": grpc.StatusCode.UNAVAILABLE,
    "UNAUTHENTICATED": grpc.StatusCode.UNAUTHENTICATED,
    "SEARCH_LOST": grpc.StatusCode.INTERNAL,
    "INTERNAL": grpc.StatusCode.INTERNAL,
}

# How the engine's messages begin: the path of what is wrong, without blanks.
_PATH = re.compile(r"[A-Za-z_][\w.\[\]-]*")

_log = logging.getLogger(__name__)


class Refusal(Exception):
    """A request that is refused: why, in a word of the contract's `ErrorReason` and in a sentence, and which field.
    `retry_after` says in how many seconds to try again, where that helps."""

    def __init__(self, reason: str, field: str, why: str, retry_after: float | None = None) -> None:
        super().__init__(f"{field}: {why}" if field else why)
        self.reason = reason
        self.field = field
        self.why = why
        self.retry_after = retry_after

    @property
    def code(self) -> grpc.StatusCode:
        return _CODES.get(self.reason, grpc.StatusCode.INVALID_ARGUMENT)


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
        if path_of is None:
            why = str(error)
        # Of the errors without a reason of their own, all are about a seat.
        reason = "OUT_OF_RANGE" if error.reason == "UNSPECIFIED" else error.reason
        raise Refusal(reason, path_of(path) if path_of else field, why) from None


def refusal_of(error: Exception) -> Refusal:
    """What a client is told of any error."""
    if isinstance(error, Refusal):
        return error
    elif isinstance(error, EngineError | InvalidBudgetError):
        path, why = split(error)
        return Refusal(getattr(error, "reason", "OUT_OF_RANGE"), path, why)
    elif isinstance(error, SearchLostError):
        return Refusal("SEARCH_LOST", "", "every worker that was given this search was lost over it")
    incident = uuid.uuid4().hex[:12]
    # Where, and of what kind, but not the exception's text.
    places = "".join(traceback.format_tb(error.__traceback__))
    _log.error("incident %s: %s\n%s", incident, type(error).__name__, places)
    return Refusal("INTERNAL", "", f"our mistake; when reporting it, name incident {incident}")


def status_of(refusal: Refusal) -> status_pb2.Status:
    """The refusal as google.rpc.Status, with details for programs."""
    text, why = _short(str(refusal)), _short(refusal.why)
    status = status_pb2.Status(code=code_pb2.Code.Value(refusal.code.name), message=text)
    info = error_details_pb2.ErrorInfo(reason=refusal.reason, domain=DOMAIN)
    if refusal.reason == "INTERNAL":
        info.metadata["incident"] = refusal.why.rpartition(" ")[2]
    status.details.add().Pack(info)
    if refusal.field:
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=_short(refusal.field), reason=refusal.reason, description=why
        )
        status.details.add().Pack(error_details_pb2.BadRequest(field_violations=[violation]))
    if refusal.retry_after is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromMilliseconds(_milliseconds(refusal.retry_after))
        status.details.add().Pack(retry)
    return status


async def abort(context: grpc.aio.ServicerContext[Any, Any], error: Exception) -> NoReturn:
    """End a call with the status of `error`."""
    refusal = refusal_of(error)
    status = rpc_status.to_status(status_of(refusal))
    metadata = tuple(status.trailing_metadata or ())
    if refusal.retry_after is not None:
        # What gRPC's own retries go by.
        metadata = (*metadata, ("grpc-retry-pushback-ms", str(_milliseconds(refusal.retry_after))))
    await context.abort(status.code, status.details or "", metadata)


def _milliseconds(seconds: float) -> int:
    return max(int(seconds * 1000), 1)


def _short(text: str) -> str:
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "…"
