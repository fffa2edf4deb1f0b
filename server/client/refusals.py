"""What a server says when it refuses, for programs."""

from __future__ import annotations

from typing import Any, NamedTuple

import grpc
from google.rpc import error_details_pb2, status_pb2

DETAILS_KEY = "grpc-status-details-bin"


class Refusal(NamedTuple):
    """Why a call failed."""

    code: grpc.StatusCode
    reason: str  # one of the contract's `ErrorReason`; empty if it was not the server that refused
    field: str  # of the request; empty if it was about none
    text: str  # for people
    retry_after: float | None  # seconds; None if that would not help, or nothing is said of it


def refusal_of(error: grpc.RpcError) -> Refusal:
    """What an error of gRPC's says."""
    call: Any = error
    status = status_pb2.Status()
    for key, value in call.trailing_metadata() or ():
        if key == DETAILS_KEY:
            status.ParseFromString(value)
    info, request, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
    for detail in status.details:
        for kind in (info, request, retry):
            detail.Unpack(kind)
    return Refusal(
        code=call.code(),
        reason=info.reason,
        field=request.field_violations[0].field if request.field_violations else "",
        text=call.details() or "",
        retry_after=retry.retry_delay.ToMilliseconds() / 1000 if retry.HasField("retry_delay") else None,
    )
