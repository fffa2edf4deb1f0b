"""The conversion of errors into gRPC statuses.

A refusal (`refusals.py`) becomes a status with its reason, field and text. For any other error, the status has an
incident number, and the log has the traceback. Neither has the exception's text, which may name cards.
"""

from __future__ import annotations

import logging
import traceback
import uuid
from typing import TYPE_CHECKING, Any, NoReturn

from google.rpc import code_pb2, error_details_pb2, status_pb2

from engine_cy import EngineError
from server.refusals import Refusal, split
from server.spans import current_span
from solver import InvalidQuestionError
from solver.pool.base import SearchLostError, WorkerLostError, WorkersLostError

if TYPE_CHECKING:
    import grpc

DOMAIN = "eminence.v1"
# The largest size of a text in a header. A status is sent in the trailers, where clients accept 8 KiB, and has its
# texts twice: percent-encoded, and in Base64.
TEXT_MAX = 1_000
# Retry delay after workers were lost: about the time in which new ones start.
RETRY_SECONDS = 1.0

_CODES = {
    "NO_WORLD_FITS": "FAILED_PRECONDITION",
    "NOT_TO_ACT": "FAILED_PRECONDITION",
    "GAME_OVER": "FAILED_PRECONDITION",
    "NO_TABLE": "NOT_FOUND",
    "TABLE_CHANGED": "ABORTED",
    "NOT_TAKEN_BACK": "FAILED_PRECONDITION",
    "OVERLOADED": "RESOURCE_EXHAUSTED",
    "QUOTA_EXHAUSTED": "RESOURCE_EXHAUSTED",
    "DEADLINE_TOO_SHORT": "DEADLINE_EXCEEDED",
    "UNAVAILABLE": "UNAVAILABLE",
    "UNAUTHENTICATED": "UNAUTHENTICATED",
    "SEARCH_LOST": "INTERNAL",
    "GAME_FAULT": "INTERNAL",
    "INTERNAL": "INTERNAL",
}

_log = logging.getLogger(__name__)


def refusal_of(error: Exception) -> Refusal:
    """Return the refusal that a client receives for any error."""
    return expected_refusal_of(error) or _incident(error)


def expected_refusal_of(error: Exception) -> Refusal | None:
    """Return the refusal for an expected error, or None for a bug."""
    if isinstance(error, Refusal):
        return error
    elif isinstance(error, EngineError | InvalidQuestionError):
        path, why = split(error)
        return Refusal(getattr(error, "reason", "OUT_OF_RANGE"), path, why)
    elif isinstance(error, SearchLostError):
        return Refusal("SEARCH_LOST", "", "this search killed two workers")
    elif isinstance(error, WorkerLostError):
        return Refusal("SEARCH_LOST", "", str(error))
    elif isinstance(error, WorkersLostError):
        return Refusal("UNAVAILABLE", "", "workers were lost before their first result", retry_after=RETRY_SECONDS)
    return None


def _incident(error: Exception) -> Refusal:
    """Log the traceback and the type of an unexpected exception, without its text; return a refusal for it."""
    incident = uuid.uuid4().hex[:12]
    places = "".join(traceback.format_tb(error.__traceback__))
    _log.error("incident %s: %s\n%s", incident, type(error).__name__, places)
    return Refusal("INTERNAL", "", f"an internal error of the server; to report it, quote incident {incident}")


def code_of(refusal: Refusal) -> str:
    """Return the name of a refusal's status code."""
    return _CODES.get(refusal.reason, "INVALID_ARGUMENT")


def status_of(refusal: Refusal) -> status_pb2.Status:
    """Convert a refusal to a google.rpc.Status, with details for programs."""
    text, why = _short(str(refusal)), _short(refusal.why)
    status = status_pb2.Status(code=code_pb2.Code.Value(code_of(refusal)), message=text)
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
    from grpc_status import rpc_status  # not above: clients without a server need no gRPC

    refusal = refusal_of(error)
    if (span := current_span()) is not None:
        span.set_attribute("eminence.reason", refusal.reason)
    status = rpc_status.to_status(status_of(refusal))
    metadata = tuple(status.trailing_metadata or ())
    if refusal.retry_after is not None:
        # gRPC's own retries read this key.
        metadata = (*metadata, ("grpc-retry-pushback-ms", str(_milliseconds(refusal.retry_after))))
    await context.abort(status.code, status.details or "", metadata)


def _milliseconds(seconds: float) -> int:
    return max(int(seconds * 1000), 1)


def _short(text: str) -> str:
    """Truncate a text to TEXT_MAX bytes of its percent-encoded form."""
    if len(text) <= TEXT_MAX // 12:  # a character takes at most 12 bytes
        return text
    end, room = 0, TEXT_MAX - len("...")
    while end < len(text) and room >= (cost := _encoded_bytes(text[end])):
        end, room = end + 1, room - cost
    return text if end == len(text) else text[:end] + "..."


def _encoded_bytes(character: str) -> int:
    return 1 if " " <= character <= "~" and character != "%" else 3 * len(character.encode(errors="replace"))
