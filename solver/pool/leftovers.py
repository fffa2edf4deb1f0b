"""Processes that Ray leaves behind: its agents stay for a minute if their raylet did not end as they expected."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path


def end_session(leader: int) -> None:
    """Kill all processes of a session but this one: those that `leader`, which may be gone, began, and those that they
    began."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            # A name stands before the bracket, and may hold anything.
            _, _, _, session, *_ = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            if int(session) == leader:
                os.kill(int(entry.name), signal.SIGKILL)
