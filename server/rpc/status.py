"""The one place where whatever goes wrong becomes a status.

A refusal (`refusals.py`) is told as it is. Of anything else that goes wrong the client learns an incident's number, and
the log where it happened: never the text of an exception, which may hold cards.
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
# A status travels in the headers of the answer, where clients have room for 8 KiB, and holds its texts twice: percent-
# encoded, and in Base64. So texts are cut by their bytes in a header.
TEXT_MAX = 1_000
# When to try again after workers were lost: about as long as others take to begin.
RETRY_SECONDS = 1.0

_CODES = {
    "NO_WORLD_FITS": "FAILED_PRECONDITION",
    "NOT_TO_ACT": "FAILED_PRECONDITION",
    "GAME_OVER": "FAILED_PRECONDITION",
    "OVERLOADED": "RESOURCE_EXHAUSTED",
    "QUOTA_EXHAUSTED": "RESOURCE_EXHAUSTED",
    "DEADLINE_TOO_SHORT": "DEADLINE_EXCEEDED",
    "UNAVAILABLE": "UNAVAILABLE",
    "UNAUTHENTICATED": "UNAUTHENTICATED",
    "SEARCH_LOST": "INTERNAL",
    "INTERNAL": "INTERNAL",
}

_log = logging.getLogger(__name__)


def refusal_of(error: Exception) -> Refusal:
    """What a client is told of any error."""
    return expected_refusal_of(error) or _incident(error)


def expected_refusal_of(error: Exception) -> Refusal | None:
    """Return the refusal that an error stands for, or None if it is our mistake."""
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
        return Refusal("UNAVAILABLE", "", "workers were lost before they found anything", retry_after=RETRY_SECONDS)
    return None


def _incident(error: Exception) -> Refusal:
    """Log a mistake of ours: where, and of what kind, but not the exception's text."""
    incident = uuid.uuid4().hex[:12]
    places = "".join(traceback.format_tb(error.__traceback__))
    _log.error("incident %s: %s\n%s", incident, type(error).__name__, places)
    return Refusal("INTERNAL", "", f"our mistake; when reporting it, name incident {incident}")


def code_of(refusal: Refusal) -> str:
    """Return the name of the status code."""
    return _CODES.get(refusal.reason, "INVALID_ARGUMENT")


def status_of(refusal: Refusal) -> status_pb2.Status:
    """The refusal as google.rpc.Status, with details for programs."""
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
        # What gRPC's own retries go by.
        metadata = (*metadata, ("grpc-retry-pushback-ms", str(_milliseconds(refusal.retry_after))))
    await context.abort(status.code, status.details or "", metadata)


def _milliseconds(seconds: float) -> int:
    return max(int(seconds * 1000), 1)


def _short(text: str) -> str:
    """Cut a text that takes too many bytes when it is percent-encoded."""
    if len(text) <= TEXT_MAX // 12:  # which no text of this length does
        return text
    end, room = 0, TEXT_MAX - len("...")
    while end < len(text) and room >= (cost := _encoded_bytes(text[end])):
        end, room = end + 1, room - cost
    return text if end == len(text) else text[:end] + "..."


def _encoded_bytes(character: str) -> int:
    return 1 if " " <= character <= "~" and character != "%" else 3 * len(character.encode(errors="replace"))
