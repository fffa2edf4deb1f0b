"""Measure the start of the program: `eminence --help` against `python -c pass`, and a short `suggest`.

Each side runs as a new process, in turn. The figure is CPU time, which other programs on the machine affect less than
wall time.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import NamedTuple

from benchmarks.measure import Effort, Side, alternate, load
from benchmarks.report import Goal, Result, table

# As in the script of an installation.
PROGRAM = [sys.executable, "-c", "from server.cli.main import main; main()"]
HELP = [*PROGRAM, "--help"]
VIEW = "A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B"
SUGGEST = [*PROGRAM, "suggest", VIEW, "--iterations", "100"]
NOTHING = [sys.executable, "-c", "pass"]

GOALS = {"help_vs_python": Goal(5, 3)}
MEANINGS = {"help_vs_python": "CPU time of `eminence --help` against that of `python -c pass`"}


class Scale(NamedTuple):
    """Number and duration of the measurements."""

    effort: Effort = Effort(rounds=9, seconds=0.6)


FULL = Scale()
QUICK = Scale(Effort(rounds=1, seconds=0.001))


def run(scale: Scale = FULL) -> Result:
    """Measure all figures."""
    before = load()
    rounds = alternate(
        [
            Side("help", lambda n: _start(HELP, n), _cpu_ns),
            Side("suggest", lambda n: _start(SUGGEST, n), _cpu_ns),
            Side("nothing", lambda n: _start(NOTHING, n), _cpu_ns),
        ],
        scale.effort,
    )
    figures = {"help_vs_python": rounds.times_as_fast("nothing", "help")}
    raw = {f"{name}_ms": round(rounds.ns(name) / 1e6, 2) for name in ("help", "suggest", "nothing")}
    return Result(figures, raw, {}, {"before": before, "after": load()})


def as_text(result: Result) -> str:
    lines = [
        f"startup: load {result.load['before']} before, {result.load['after']} after",
        "",
        table(GOALS, result.figures),
        "",
        *(f"{name}: {meaning}" for name, meaning in MEANINGS.items()),
        "",
        *(f"{name}: {value}" for name, value in result.raw.items()),
    ]
    return "\n".join(lines)


def _start(command: list[str], n: int) -> int:
    for _ in range(n):
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return n


def _cpu_ns() -> int:
    """Return the CPU time of finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((used.ru_utime + used.ru_stime) * 1e9)
