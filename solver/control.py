"""Follow and stop a search from outside, in whichever pool it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solver.answer import Answer

NEVER_NS = 2**63 - 1


class Control:
    """Follow one search, and stop it.

    The search calls `report`, if set, with an Answer every `interval_ms`, from its first result on. It waits for the
    call, so `report` should be quick. Calls come from any thread, one at a time. `until_ns` is the deadline of the
    search, on the clock `time.monotonic_ns`. At `answer_by_ns` a pool answers without worker processes that are late.
    `stop` ends the search soon; any thread may call it, even before the search starts.
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
        """Call `stops` when this control is stopped, or at once if it already is."""
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
