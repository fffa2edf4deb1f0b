"""What a call's searches took, added up where they are run, for whoever tells it."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Effort:
    """Of all searches of one call."""

    searches: int = 0
    queue_seconds: float = 0.0
    search_seconds: float = 0.0
    iterations: int = 0

    def begin(self, queue_seconds: float) -> None:
        self.searches += 1
        self.queue_seconds += queue_seconds

    def end(self, search_seconds: float, iterations: int) -> None:
        """Of a search that is given up, this is not told."""
        self.search_seconds += search_seconds
        self.iterations += iterations


# Set by who tells it, in the call's task; tasks that this one begins have it too.
effort: ContextVar[Effort | None] = ContextVar("effort", default=None)
