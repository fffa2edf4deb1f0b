"""What the server tells of itself: metrics for Prometheus, and a line of JSON for each call. Never a card."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import logging.handlers
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from eminence.v1 import solver_pb2 as pb
from server.admission import Admission

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
LAG_SECONDS = (0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.007, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 1)
LAG_EVERY = 0.02
# Lines of the log that may wait to be written, and how long the last ones may take.
LINES_MAX = 10_000
LAST_LINES_SECONDS = 1.0

_log = logging.getLogger("server.calls")


class Call:
    """One call, on its way out: what to tell of it."""

    def __init__(self) -> None:
        self.code, self.reason = "OK", ""


class Telemetry:
    """Counts; `registry` is what Prometheus reads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        told: Any = {"registry": self.registry}
        self._calls = Counter("eminence_calls", "Calls answered.", ["method", "code", "reason"], **told)
        self._seconds = Histogram(
            "eminence_call_seconds", "Time from request to answer.", ["method"], buckets=SECONDS, **told
        )
        self._under_way = Gauge("eminence_calls_under_way", "Calls not answered yet.", ["method"], **told)
        self._searches = Counter("eminence_searches", "Searches that ended, by why.", ["stop_reason"], **told)
        self._iterations = Counter("eminence_iterations", "Iterations of all searches.", **told)
        self._cached = Counter("eminence_answers_from_cache", "Answers that were kept from before.", **told)
        self._running = Gauge("eminence_searches_running", "Searches that have threads.", **told)
        self._lag = Histogram(
            "eminence_loop_lag_seconds", "How late the event loop wakes.", buckets=LAG_SECONDS, **told
        )
        self._waiting = Gauge("eminence_searches_waiting", "Searches that wait for threads.", ["queue"], **told)

    def follow(self, admission: Admission) -> None:
        """Tell how full it is."""
        self._running.set_function(lambda: admission.running)
        self._waiting.labels("interactive").set_function(lambda: admission.waiting("interactive"))
        self._waiting.labels("bulk").set_function(lambda: admission.waiting("bulk"))

    async def measure_lag(self) -> None:
        """Tell how late the event loop is; for as long as the server runs."""
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(LAG_EVERY)
            self._lag.observe(time.perf_counter() - begun - LAG_EVERY)

    def searched(self, answer: Any) -> None:
        self._searches.labels(pb.StopReason.Name(answer.stop_reason).removeprefix("STOP_REASON_").lower()).inc()
        self._iterations.inc(getattr(answer, "iterations", 0))

    def cached(self) -> None:
        self._cached.inc()

    @contextmanager
    def call(self, method: str) -> Iterator[Call]:
        """Around each call."""
        begun, call = time.perf_counter(), Call()
        under_way = self._under_way.labels(method)
        under_way.inc()
        try:
            yield call
        finally:
            seconds = time.perf_counter() - begun
            under_way.dec()
            self._calls.labels(method, call.code, call.reason).inc()
            self._seconds.labels(method).observe(seconds)
            if _log.isEnabledFor(logging.INFO):
                told = {"method": method, "code": call.code, "reason": call.reason, "ms": round(seconds * 1000, 3)}
                _log.info("call", extra={"told": told})


class _Json(logging.Formatter):
    """One line, for programs."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "from": record.name,
            "text": record.getMessage(),
            **getattr(record, "told", {}),
        }
        if record.exc_info and record.exc_info[0]:
            # Its kind only: the text of an exception may hold cards.
            line["exception"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=False)


class _Aside(logging.handlers.QueueHandler):
    """Hands lines to a thread that writes them: who reads the log slowly must not hold up the event loop. Lines for
    which there is no room are dropped."""

    def enqueue(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(queue.Full):
            self.queue.put_nowait(record)


def log_as_json(level: str) -> Callable[[], None]:
    """Log to the standard error; what is returned writes the last lines."""
    lines: queue.Queue[Any] = queue.Queue(LINES_MAX)
    aside = _Aside(lines)
    aside.setFormatter(_Json())
    logging.basicConfig(level=level.upper(), handlers=[aside], force=True)
    listener = logging.handlers.QueueListener(lines, logging.StreamHandler(sys.stderr))
    listener.start()

    def end() -> None:
        # Without a reader, the last lines are lost rather than the process held up.
        ending = threading.Thread(target=listener.stop, daemon=True)
        ending.start()
        ending.join(LAST_LINES_SECONDS)

    return end
