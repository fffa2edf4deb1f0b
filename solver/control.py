"""Follows a search from outside, wherever it runs, and ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solver.answer import Answer

NEVER_NS = 2**63 - 1


class Control:
    """Follows one search, and ends it.

    `report`, if there is one, gets an Answer every `interval_ms`, once something was found. The search waits for it, so
    it should be quick. It is called on any thread, one call at a time. `until_ns`, on the clock `time.monotonic_ns`, is
    when the search ends at the latest. Where other processes compute and are late, the answer is given without them at
    `answer_by_ns`. `stop` ends the search soon; from any thread, also before the search has begun.
    """

    def __init__(
        self,
        report: Callable[[Answer], None] | None = None,
        interval_ms: float = 250.0,
        *,
        until_ns: int = NEVER_NS,
        answer_by_ns: int = NEVER_NS,
    ) -> None:
        self.report = report
        self.interval_ms = interval_ms
        self.until_ns = until_ns
        self.answer_by_ns = answer_by_ns
        self.stopped = False
        self._lock = Lock()
        self._stops: list[Callable[[], None]] = []

    def stop(self) -> None:
        with self._lock:
            self.stopped = True
            stops = list(self._stops)
        for stop in stops:
            stop()

    @contextmanager
    def stopping(self, *stops: Callable[[], None]) -> Iterator[None]:
        """Call `stops` when this control is stopped; at once if it was already."""
        with self._lock:
            self._stops += stops
            stopped = self.stopped
        if stopped:
            for stop in stops:
                stop()
        try:
            yield
        finally:
            with self._lock:
                for stop in stops:
                    self._stops.remove(stop)
