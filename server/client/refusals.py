"""The exception that every client raises when a call is refused or fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import grpc
    from google.rpc import status_pb2

DETAILS_KEY = "grpc-status-details-bin"


class Refused(Exception):
    """A call was refused, or failed.

    `code` is the name of gRPC's status code. `reason` is one of the contract's `ErrorReason`; it is empty if the server
    did not answer. `field` is the path of a field of the request, or empty. `retry_after` is a number of seconds; it is
    None if a retry does not help.
    """

    def __init__(
        self, code: str, message: str, reason: str = "", field: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(code, message, reason, field, retry_after)  # pickle passes these to the constructor
        self.code = code
        self.message = message
        self.reason = reason
        self.field = field
        self.retry_after = retry_after

    def __str__(self) -> str:
        return self.message


def refused_with(status: status_pb2.Status) -> Refused:
    """Convert a status to `Refused`."""
    from google.rpc import code_pb2, error_details_pb2  # not above: most calls succeed

    info, request, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
    for detail in status.details:
        for kind in (info, request, retry):
            detail.Unpack(kind)
    return Refused(
        code=code_pb2.Code.Name(status.code),
        message=status.message,
        reason=info.reason,
        field=request.field_violations[0].field if request.field_violations else "",
        retry_after=retry.retry_delay.ToMilliseconds() / 1000 if retry.HasField("retry_delay") else None,
    )


def refused_by(error: grpc.RpcError) -> Refused:
    """Convert an error of gRPC to `Refused`."""
    from google.rpc import status_pb2

    call: Any = error
    for key, value in call.trailing_metadata() or ():
        if key == DETAILS_KEY:
            return refused_with(status_pb2.Status.FromString(value))
    return Refused(call.code().name, call.details() or "")


@contextmanager
def raising_refused() -> Iterator[None]:
    """Raise gRPC's errors as `Refused`."""
    import grpc

    try:
        yield
    except grpc.RpcError as error:
        raise refused_by(error) from None
