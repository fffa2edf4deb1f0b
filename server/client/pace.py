"""The pace of answers: at a table, an opponent that answers within milliseconds feels wrong."""

from __future__ import annotations

import math
import time


def check_pace(think_at_least: float) -> None:
    # Not `think_at_least < 0`, which accepts NaN.
    if not 0 <= think_at_least < math.inf:
        raise ValueError(f"think_at_least: {think_at_least!r} is not a number of seconds, 0 or more")


def pause(begun: float, think_at_least: float, deadline_seconds: float | None) -> float:
    """Return the seconds to wait until a call has taken `think_at_least`, or its deadline.

    `begun` is the time of its beginning by `time.monotonic`.
    """
    least = think_at_least if deadline_seconds is None else min(think_at_least, deadline_seconds)
    return max(begun + least - time.monotonic(), 0.0)
