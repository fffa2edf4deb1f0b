"""Wait for conditions: on a busy machine, any time is too short."""

from __future__ import annotations

import time
from collections.abc import Callable
from inspect import getsource

# Only what hangs takes longer.
HANG_S = 60.0


def wait_until(condition: Callable[[], object]) -> None:
    """Return once `condition` holds; fail after a minute, and quote the condition."""
    end = time.monotonic() + HANG_S
    while not condition():
        assert time.monotonic() < end, f"not within {HANG_S:.0f} s: {getsource(condition).strip()}"
        time.sleep(0.01)
