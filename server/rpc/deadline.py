"""The deadline of a call, in nanoseconds of the monotonic clock. Only this module converts gRPC's timeouts."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple, Self

from server.refusals import Refusal
from solver.control import NEVER_NS

if TYPE_CHECKING:
    from server.rpc.callers import Context

# The least time to the deadline with which a search starts.
LEAST_NS = 5_000_000
# Duration of a search whose time is over when it starts.
LAST_NS = 10_000_000


class Deadline(NamedTuple):
    """The arrival and the deadline of a call; `NEVER_NS`: no deadline.

    An answer is sent earlier by the margin, or by half of the remaining time if that is less, so that it arrives in
    time.
    """

    arrival_ns: int
    latest_ns: int = NEVER_NS
    margin_ns: int = 0

    @classmethod
    def of(cls, context: Context, network_ms: float) -> Self:
        """Return the deadline of a call that arrives now; a message takes up to `network_ms` to the client."""
        arrival_ns, remaining = time.monotonic_ns(), context.time_remaining()
        if remaining is None:
            return cls(arrival_ns)
        remaining_ns = int(remaining * 1e9)
        return cls(arrival_ns, arrival_ns + remaining_ns, rounding_ns(remaining_ns) + int(network_ms * 1e6))

    @classmethod
    def within(cls, seconds: float | None) -> Self:
        """Return the deadline of a call within this process that arrives now."""
        arrival_ns = time.monotonic_ns()
        if seconds is None:
            return cls(arrival_ns)
        if math.isnan(seconds):
            raise ValueError("seconds: is not a number")
        return cls(arrival_ns, int(min(max(arrival_ns + seconds * 1e9, 0.0), NEVER_NS)))

    def restarted(self) -> Self:
        """Return the same deadline for work whose time counts from now."""
        return self._replace(arrival_ns=time.monotonic_ns())

    def left_seconds(self) -> float | None:
        """Return the remaining time of the caller; None: no deadline."""
        return None if self.latest_ns == NEVER_NS else max(self.latest_ns - time.monotonic_ns(), 0) / 1e9

    def check(self) -> None:
        """Refuse a call that cannot be answered in time."""
        if self.latest_ns - time.monotonic_ns() < LEAST_NS:
            raise Refusal("DEADLINE_TOO_SHORT", "", "too little time is left for a first answer")

    @property
    def begin_by_ns(self) -> int:
        """The latest start of a search."""
        return NEVER_NS if self.latest_ns == NEVER_NS else self.latest_ns - LEAST_NS

    def end_of(self, time_ns: int, *, since_arrival: bool) -> tuple[int, bool]:
        """Return the end of a search of this length, and whether the deadline shortens it.

        The length counts from the arrival of the call or from now.
        """
        now_ns = time.monotonic_ns()
        until_ns = max((self.arrival_ns if since_arrival else now_ns) + time_ns, now_ns + LAST_NS)
        last_ns = self.latest_ns - min(self.margin_ns, max(self.latest_ns - now_ns, 0) // 2)
        return min(until_ns, last_ns), last_ns < until_ns

    def answer_by_ns(self, until_ns: int) -> int:
        """Return when to stop waiting for late workers: halfway between the search's end and the deadline."""
        if self.latest_ns == NEVER_NS:
            return NEVER_NS
        return min(until_ns, self.latest_ns) + max(self.latest_ns - until_ns, 0) // 2


def rounding_ns(timeout_ns: int) -> int:
    """Return the largest amount by which a client rounded this timeout up.

    gRPC's C core, and with it Python, C++, Ruby and PHP, rounds to steps of 1 ms below 1 s, and to steps ten times as
    long for each further digit.
    """
    step_ns, until_ns = 1_000_000, 1_000_000_000
    while timeout_ns >= until_ns:
        step_ns, until_ns = 10 * step_ns, 10 * until_ns
    return step_ns
