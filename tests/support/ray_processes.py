"""Observe the processes of Ray from outside."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from waiting import wait_until


def children(pid: int) -> dict[int, str]:
    """Return the command lines of all descendants of a process, by process id."""
    commands: dict[int, str] = {}
    table = subprocess.run(
        ["ps", "-e", "-ww", "-o", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 3) for line in table.stdout.splitlines()]
    below = {pid}
    for _ in range(6):
        for child, parent, state, *command in rows:
            if int(parent) in below and not state.startswith("Z"):
                below.add(int(child))
                commands[int(child)] = " ".join(command)
    return commands


def workers_below(pid: int) -> list[int]:
    return [child for child, name in children(pid).items() if name.startswith("ray::Worker")]


def head_below(pid: int) -> int:
    return next(child for child, name in children(pid).items() if "gcs_server" in name.split(" ")[0])


def cpu_ticks(pid: int) -> int:
    """Return the CPU time of a process, in clock ticks; -1 if the process has ended."""
    try:
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
    except OSError:
        return -1


def busiest(pids: list[int]) -> int:
    """Return the process that computes most in the next half second; 0 if none computes."""
    before = {pid: cpu_ticks(pid) for pid in pids}
    time.sleep(0.5)
    spent = {pid: cpu_ticks(pid) - ticks for pid, ticks in before.items()}
    return max((pid for pid in spent if spent[pid] > 2), key=lambda pid: spent[pid], default=0)


def wait_for_busiest(pids: list[int]) -> int:
    """Wait until one of these processes computes; return the one that has computed most since the call."""
    before = {pid: cpu_ticks(pid) for pid in pids}

    def busiest_so_far() -> int:
        return max(before, key=lambda pid: cpu_ticks(pid) - before[pid])

    wait_until(lambda: cpu_ticks(busiest_so_far()) - before[busiest_so_far()] > 2)
    return busiest_so_far()


def are_idle(pids: list[int]) -> bool:
    """Return whether none of these processes computes."""
    time.sleep(0.1)
    before = [cpu_ticks(pid) for pid in pids]
    time.sleep(0.5)
    # On a busy machine, a process that searches gets little more than this.
    return max(cpu_ticks(pid) - ticks for pid, ticks in zip(pids, before, strict=True)) < 3
