"""What follows a search from outside, whatever it runs on, and ends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from solver.merge import Share

NEVER_NS = 2**63 - 1


class Watch:
    """Follows a search, and ends it.

    `report`, if there is one, is told every `interval_ms` what each share found so far, once one found something; the
    search waits for it, so it should be quick. It is called on any thread, one call at a time. `until_ns` is when the
    search ends at the latest, by `time.monotonic_ns`; where others compute it, who are late, it is answered without
    them by `answer_by_ns`. `stop` ends it soon; from any thread, also before it has begun.
    """

    def __init__(
        self,
        report: Callable[[Sequence[Share]], None] | None = None,
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

    @property
    def interval_ns(self) -> int:
        """Between two reports; never, if nobody is told."""
        return max(int(self.interval_ms * 1e6), 1_000_000) if self.report else NEVER_NS

    def stop(self) -> None:
        with self._lock:
            self.stopped = True
            stops = list(self._stops)
        for stop in stops:
            stop()

    @contextmanager
    def stopping(self, *stops: Callable[[], None]) -> Iterator[None]:
        """Have `stops` called when this watch is told to stop; at once if it was already."""
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


class Progress:
    """What is known so far of each share of a search, and when it is due to be told; written by as many threads as
    search."""

    def __init__(self, nothing: Share, shares: int, watch: Watch) -> None:
        self.found = [nothing] * shares
        self._watch = watch
        self._telling = Lock()
        self._due_ns = time.monotonic_ns() + watch.interval_ns

    @property
    def is_due(self) -> bool:
        return time.monotonic_ns() >= self._due_ns

    def put(self, number: int, part: Share) -> None:
        self.found[number] = part

    def tell_if_due(self) -> None:
        with self._telling:
            if self.is_due:
                self._tell()

    def tell(self) -> None:
        with self._telling:
            self._tell()

    def _tell(self) -> None:
        self._due_ns = time.monotonic_ns() + self._watch.interval_ns
        if self._watch.report and any(part.iterations for part in self.found):
            self._watch.report(list(self.found))
