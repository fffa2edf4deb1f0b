"""Kill the processes that Ray leaves behind: its agents outlive a killed raylet by a minute."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path


def end_session(leader: int) -> None:
    """Kill all processes of a session except this one: the descendants of `leader`, which may have ended."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            # The process name, in parentheses, may hold any characters: split behind the last one.
            _, _, _, session, *_ = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            if int(session) == leader:
                os.kill(int(entry.name), signal.SIGKILL)
