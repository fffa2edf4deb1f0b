"""Measure sides that alternate within one run; a figure is the ratio of their speeds.

The machine's speed drifts and other programs come and go, but alternating sides are slowed down alike. Each round
times each side once, by the CPU time of this thread (of the process, if a side has threads of its own). A round gives
a ratio, and the median of the rounds' ratios is the figure. The *spread* is the distance between the highest and the
lowest ratio without the best and the worst round, divided by the median: one interrupted round does not count, two do.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROUNDS = 7
NOISY_ABOVE = 0.15
LOCK = Path(__file__).parents[1] / "build" / "benchmarks.lock"


class Busy(RuntimeError):
    """Another benchmark is running; each would slow the other down."""


class Side(NamedTuple):
    """A side of a comparison.

    `run(n)` does `n` repetitions and returns their units of work; `clock` returns the CPU time used, in nanoseconds.
    """

    name: str
    run: Callable[[int], float]
    clock: Callable[[], int] = time.thread_time_ns


class Effort(NamedTuple):
    """Number of rounds, and CPU seconds of each side in a round."""

    rounds: int = ROUNDS
    seconds: float = 0.2


class Figure(NamedTuple):
    """A median over rounds, and their spread relative to it."""

    value: float
    spread: float

    @property
    def noisy(self) -> bool:
        return self.spread > NOISY_ABOVE


def figure(values: Sequence[float]) -> Figure:
    """Return the median and the spread of one value per round."""
    middle = median(values)
    # With fewer than five rounds, every one counts.
    inner = sorted(values)[1:-1] if len(values) >= 5 else values
    return Figure(middle, (max(inner) - min(inner)) / abs(middle) if middle else 0.0)


class Rounds(NamedTuple):
    """Units per CPU second: for each side, one rate per round."""

    rates: Mapping[str, Sequence[float]]

    def rate(self, name: str) -> Figure:
        return figure(self.rates[name])

    def per_second(self, name: str) -> int:
        return round(self.rate(name).value)

    def ns(self, name: str) -> float:
        """Return nanoseconds per unit."""
        return 1e9 / self.rate(name).value

    def times_as_fast(self, name: str, *others: str, of_others: Callable[[Sequence[float]], float] = median) -> Figure:
        """Return the speed of one side relative to another, or to the median of several (to the best with `max`)."""
        peers = zip(*[self.rates[other] for other in others], strict=True)
        return figure([ours / of_others(theirs) for ours, theirs in zip(self.rates[name], peers, strict=True)])


def alternate(sides: Sequence[Side], effort: Effort) -> Rounds:
    """Time the sides in turn. Every other round reverses the order, so no side always follows the same one."""
    repetitions = {side.name: _repetitions(side, effort.seconds) for side in sides}
    rates: dict[str, list[float]] = {side.name: [] for side in sides}
    for i in range(effort.rounds):
        for side in sides if i % 2 == 0 else reversed(sides):
            units, seconds = _timed(side, repetitions[side.name])
            rates[side.name].append(units / seconds)
    return Rounds(rates)


def _repetitions(side: Side, seconds: float) -> int:
    """Return the repetitions that take about `seconds`, and warm the side up."""
    n = 1
    while True:
        _, took = _timed(side, n)
        if took > seconds / 4:
            return max(1, round(n * seconds / took))
        n *= 4


def _timed(side: Side, n: int) -> tuple[float, float]:
    start = side.clock()
    units = side.run(n)
    return units, max(side.clock() - start, 1) / 1e9


def load() -> list[float]:
    """Return the load averages of the last 1, 5 and 15 minutes."""
    return [round(average, 2) for average in os.getloadavg()]


@contextmanager
def alone(path: Path | None = None) -> Iterator[None]:
    """Hold the lock that every timed suite takes; raise Busy if another process holds it."""
    path = path or LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="ascii") as file:
        try:
            # Not lockf, whose locks belong to the process: closing any other handle of the file would drop them.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise Busy(f"another benchmark is running (process {file.read() or 'unknown'} holds {path})") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
