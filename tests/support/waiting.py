"""Wait for conditions instead of fixed times, which are too short on a busy machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from inspect import getsource

# Longer than anything that does not hang.
HANG_S = 60.0


def wait_until(condition: Callable[[], object]) -> None:
    """Return once `condition` holds; fail after a minute and quote the condition."""
    end = time.monotonic() + HANG_S
    while not condition():
        assert time.monotonic() < end, f"not within {HANG_S:.0f} s: {getsource(condition).strip()}"
        time.sleep(0.01)


async def settle() -> None:
    """Let other tasks of the event loop run until they wait for something else."""
    for _ in range(20):
        await asyncio.sleep(0)
