"""The processes of a Ray, seen and ended from outside."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from waiting import wait_until


def children(pid: int) -> dict[int, str]:
    """The processes below one, by what they call themselves."""
    found: dict[int, str] = {}
    listed = subprocess.run(
        ["ps", "-e", "-ww", "-o", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 3) for line in listed.stdout.splitlines()]
    below = {pid}
    for _ in range(6):
        for number, parent, state, *args in rows:
            if int(parent) in below and not state.startswith("Z"):
                below.add(int(number))
                found[int(number)] = " ".join(args)
    return found


def workers_below(pid: int) -> list[int]:
    return [child for child, name in children(pid).items() if name.startswith("ray::Worker")]


def head_below(pid: int) -> int:
    return next(child for child, name in children(pid).items() if "gcs_server" in name.split(" ")[0])


def cpu_ticks(pid: int) -> int:
    """That a process has computed; -1 if it is gone."""
    try:
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
    except OSError:
        return -1


def busiest(pids: list[int]) -> int:
    """Which of these computes the most just now; 0: none does."""
    before = {pid: cpu_ticks(pid) for pid in pids}
    time.sleep(0.5)
    done = {pid: cpu_ticks(pid) - ticks for pid, ticks in before.items()}
    return max((pid for pid in done if done[pid] > 2), key=lambda pid: done[pid], default=0)


def wait_for_busiest(pids: list[int]) -> int:
    """Wait until one of these computes, and return which of them has computed the most meanwhile."""
    before = {pid: cpu_ticks(pid) for pid in pids}

    def busiest_so_far() -> int:
        return max(before, key=lambda pid: cpu_ticks(pid) - before[pid])

    wait_until(lambda: cpu_ticks(busiest_so_far()) - before[busiest_so_far()] > 2)
    return busiest_so_far()


def are_idle(pids: list[int]) -> bool:
    """Whether none of these computes anything."""
    time.sleep(0.1)
    before = [cpu_ticks(pid) for pid in pids]
    time.sleep(0.5)
    # Where other programs have all the cores, who searches gets little more than this.
    return max(cpu_ticks(pid) - ticks for pid, ticks in zip(pids, before, strict=True)) < 3
