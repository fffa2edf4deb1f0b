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
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from eminence.v1 import solver_pb2 as pb
from server.admission import Admission

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
LAG_SECONDS = (0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.007, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 1)
LAG_EVERY = 0.02
# Lines of the log that may wait to be written, and how long the last ones may take.
LINES_MAX = 10_000
LAST_LINES_SECONDS = 1.0

_log = logging.getLogger("server.calls")


class Method:
    """What is told of the calls of one method. Counted by the event loop's thread alone, and without locks: calls are
    many and short."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.under_way = 0
        self.ended: dict[tuple[str, str], int] = {}  # by code and reason
        self.seconds = 0.0
        self.within = [0] * (len(SECONDS) + 1)  # of SECONDS, and of more

    def end(self, code: str, reason: str, seconds: float) -> None:
        self.under_way -= 1
        self.ended[code, reason] = self.ended.get((code, reason), 0) + 1
        self.seconds += seconds
        self.within[bisect_left(SECONDS, seconds)] += 1


class _Methods(Collector):
    """The calls of all methods, for Prometheus."""

    def __init__(self) -> None:
        self.methods: list[Method] = []

    def collect(self) -> Iterator[Metric]:
        calls = CounterMetricFamily("eminence_calls", "Calls answered.", labels=["method", "code", "reason"])
        seconds = HistogramMetricFamily("eminence_call_seconds", "Time from request to answer.", labels=["method"])
        under_way = GaugeMetricFamily("eminence_calls_under_way", "Calls not answered yet.", labels=["method"])
        for method in self.methods:
            for (code, reason), count in list(method.ended.items()):
                calls.add_metric([method.name, code, reason], count)
            bounds = [*map(str, SECONDS), "+Inf"]
            buckets = list(zip(bounds, accumulate(method.within), strict=True))
            seconds.add_metric([method.name], buckets, method.seconds)
            under_way.add_metric([method.name], method.under_way)
        yield from (calls, seconds, under_way)


class Call:
    """Around each call: how it ends, and how long it took, is told."""

    __slots__ = ("_begun", "_method", "code", "reason")

    def __init__(self, method: Method) -> None:
        self._method = method
        self.code, self.reason = "OK", ""

    def __enter__(self) -> Call:
        self._begun = time.perf_counter()
        self._method.under_way += 1
        return self

    def __exit__(self, *_error: object) -> None:
        method, seconds = self._method, time.perf_counter() - self._begun
        method.end(self.code, self.reason, seconds)
        if _log.isEnabledFor(logging.INFO):
            told = {"method": method.name, "code": self.code, "reason": self.reason, "ms": round(seconds * 1000, 3)}
            _log.info("call", extra={"told": told})


class Telemetry:
    """Counts; `registry` is what Prometheus reads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        told: Any = {"registry": self.registry}
        self._methods = _Methods()
        self.registry.register(self._methods)
        self._searches = Counter("eminence_searches", "Searches that ended, by why.", ["stop_reason"], **told)
        self._iterations = Counter("eminence_iterations", "Iterations of all searches.", **told)
        self._cached = Counter("eminence_answers_from_cache", "Answers that were kept from before.", **told)
        self._running = Gauge("eminence_searches_running", "Searches that have threads.", **told)
        self._ray = Gauge("eminence_ray_workers", "Workers on Ray; 0: searches run on threads here.", **told)
        self._lag = Histogram(
            "eminence_loop_lag_seconds", "How late the event loop wakes.", buckets=LAG_SECONDS, **told
        )
        self._waiting = Gauge("eminence_searches_waiting", "Searches that wait for threads.", ["queue"], **told)

    def follow(self, admission: Admission) -> None:
        """Tell how full it is."""
        self._running.set_function(lambda: admission.running)
        self._waiting.labels("interactive").set_function(lambda: admission.waiting("interactive"))
        self._waiting.labels("bulk").set_function(lambda: admission.waiting("bulk"))

    def ray_workers(self, n: int) -> None:
        self._ray.set(n)

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

    def method(self, name: str) -> Method:
        method = Method(name)
        self._methods.methods.append(method)
        return method


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
