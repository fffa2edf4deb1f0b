"""Metrics for Prometheus, and a log with a line of JSON for each call. Neither ever contains a card."""

from __future__ import annotations

import asyncio
import json
import logging
import logging.handlers
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from eminence.v1 import solver_pb2 as pb
from server.rpc.admission import Admission
from server.rpc.callers import BOUNDS, Bound, Callers

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
LAG_SECONDS = (0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.007, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 1)
LAG_EVERY = 0.02
# Capacity of the log's queue in lines, and the timeout for writing the last ones.
LINES_MAX = 10_000
LAST_LINES_SECONDS = 1.0

_log = logging.getLogger("server.rpc.handlers")


@dataclass(slots=True)
class Call:
    """The status code and the refusal's reason with which a call ends."""

    code: str = "OK"
    reason: str = ""


class Method:
    """Counts, times and logs the calls of one method."""

    def __init__(self, name: str, calls: Counter, seconds: Histogram, in_flight: Gauge, is_logged: bool) -> None:
        self._name, self._calls, self._is_logged = name, calls, is_logged
        self._seconds, self._in_flight = seconds.labels(name), in_flight.labels(name)

    @contextmanager
    def call(self) -> Iterator[Call]:
        call, started = Call(), time.perf_counter()
        self._in_flight.inc()
        try:
            yield call
        finally:
            seconds = time.perf_counter() - started
            self._in_flight.dec()
            self._seconds.observe(seconds)
            self._calls.labels(self._name, call.code, call.reason).inc()
            if (self._is_logged or call.reason) and _log.isEnabledFor(logging.INFO):
                fields = {
                    "method": self._name,
                    "code": call.code,
                    "reason": call.reason,
                    "ms": round(seconds * 1000, 3),
                }
                _log.info("call", extra={"fields": fields})


class Telemetry:
    """The metrics of the server. Prometheus reads them from `registry`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        common: Any = {"registry": self.registry}
        self._calls = Counter("eminence_calls", "Calls answered.", ["method", "code", "reason"], **common)
        self._seconds = Histogram(
            "eminence_call_seconds", "Time from request to answer.", ["method"], buckets=SECONDS, **common
        )
        self._in_flight = Gauge("eminence_calls_in_flight", "Pending calls.", ["method"], **common)
        self._searches = Counter("eminence_searches", "Finished searches, by stop reason.", ["stop_reason"], **common)
        self._iterations = Counter("eminence_iterations", "Iterations of all searches.", **common)
        self._cached = Counter("eminence_answers_from_cache", "Answers from the answer cache.", **common)
        self._running = Gauge("eminence_searches_running", "Running searches.", **common)
        self._ray = Gauge("eminence_ray_workers", "Ray workers; 0: searches run on threads of the server.", **common)
        self._lag = Histogram(
            "eminence_loop_lag_seconds", "Delay of the event loop's wake-ups.", buckets=LAG_SECONDS, **common
        )
        self._waiting = Gauge("eminence_searches_waiting", "Searches in a queue.", ["queue"], **common)

        self._bound_refusals = Counter(
            "eminence_bound_refusals", "Refusals because a limit was reached.", ["bound"], **common
        )
        self._most_held = Gauge("eminence_caller_most", "Largest amount that a caller holds.", ["bound"], **common)
        self._plugin_workers = Gauge("eminence_plugin_workers", "Worker processes of installed games.", **common)
        self._plugin_calls = Gauge("eminence_plugin_calls", "Calls of installed games.", ["state"], **common)
        self._plugin_bytes = Gauge("eminence_plugin_bytes", "Bytes of pending requests of installed games.", **common)
        self._plugins_lost = Counter(
            "eminence_plugin_workers_lost", "Worker processes that an installed game ended or made late.", **common
        )
        self._tables = Gauge("eminence_tables", "Tables of people and engines.", **common)
        self._methods: dict[str, Method] = {}

    def count_refusal(self, bound: Bound) -> None:
        """Count a refusal because of a bound on callers."""
        self.count_refusal_by(f"caller_{bound}")

    def count_refusal_by(self, setting: str) -> None:
        self._bound_refusals.labels(setting).inc()

    def follow_plugins(
        self,
        workers: Callable[[], int],
        running: Callable[[], int],
        waiting: Callable[[], int],
        size: Callable[[], int],
    ) -> None:
        """Report the worker processes of installed games, their calls, and the bytes of the requests."""
        self._plugin_workers.set_function(workers)
        self._plugin_calls.labels("running").set_function(running)
        self._plugin_calls.labels("waiting").set_function(waiting)
        self._plugin_bytes.set_function(size)

    def count_lost_plugin(self) -> None:
        self._plugins_lost.inc()

    def follow_tables(self, tables: Callable[[], int]) -> None:
        self._tables.set_function(tables)

    def follow_callers(self, callers: Callers) -> None:
        for bound in BOUNDS:
            self._most_held.labels(f"caller_{bound}").set_function(partial(callers.most, bound))

    def follow(self, admission: Admission) -> None:
        """Report the numbers of running and waiting searches."""
        self._running.set_function(lambda: admission.running)
        self._waiting.labels("interactive").set_function(lambda: admission.waiting("interactive"))
        self._waiting.labels("bulk").set_function(lambda: admission.waiting("bulk"))

    def set_ray_workers(self, n: int) -> None:
        self._ray.set(n)

    async def measure_lag(self) -> None:
        """Measure how late the event loop wakes, until cancelled."""
        while True:
            started = time.perf_counter()
            await asyncio.sleep(LAG_EVERY)
            self._lag.observe(time.perf_counter() - started - LAG_EVERY)

    def count_search(self, answer: Any) -> None:
        self._searches.labels(pb.StopReason.Name(answer.stop_reason).removeprefix("STOP_REASON_").lower()).inc()
        self._iterations.inc(getattr(answer, "iterations", 0))

    def count_cached_answer(self) -> None:
        self._cached.inc()

    def method(self, path: str, is_logged: bool = True) -> Method:
        """Return the metrics of the method at a path such as /eminence.v1.SolverService/Suggest.

        `is_logged`: log every call, not only refused ones.
        """
        method = Method(path.rpartition("/")[2], self._calls, self._seconds, self._in_flight, is_logged)
        return self._methods.setdefault(path, method)

    def knows(self, path: str) -> bool:
        """Return whether a path is that of a method of this server."""
        return path in self._methods

    def method_at(self, path: str) -> Method:
        """Return the metrics of the method that a client named; unknown methods share one."""
        return self._methods.get(path) or self.method("other")


class _Json(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "from": record.name,
            "text": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0]:
            # Log only the type: the text of an exception may name cards.
            line["exception"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=False)


class _Aside(logging.handlers.QueueHandler):
    """Passes lines to a thread that writes them, so that a slow reader of the log cannot block the event loop.

    A full queue drops lines.
    """

    def enqueue(self, record: logging.LogRecord) -> None:
        with suppress(queue.Full):
            self.queue.put_nowait(record)


def log_as_json(level: str) -> Callable[[], None]:
    """Log to standard error; return a function that writes the last lines."""
    lines: queue.Queue[Any] = queue.Queue(LINES_MAX)
    aside = _Aside(lines)
    aside.setFormatter(_Json())
    logging.basicConfig(level=level.upper(), handlers=[aside], force=True)
    listener = logging.handlers.QueueListener(lines, logging.StreamHandler(sys.stderr))
    listener.start()

    def end() -> None:
        # If standard error is not read, lose the last lines instead of blocking the exit.
        ending = threading.Thread(target=listener.stop, daemon=True)
        ending.start()
        ending.join(LAST_LINES_SECONDS)

    return end
