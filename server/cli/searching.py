"""Searches of this process: on threads of their own, so that Ctrl-C ends them with what was found."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from eminence.v1 import solver_pb2 as pb
from server.cli.asking import cores
from server.searches import Question, Work
from solver.backends.threads import Threads


def until(question: Question) -> int:
    """When the search of a question has to end."""
    return question.arrival_ns + int(question.budget.time_ms * 1e6)


def answer_of(work: Work, shares: int, every_ms: float = 0, tell: Callable[[Any], None] | None = None) -> Any:
    """The answer of some work; `tell` gets those on the way, on another thread. Ctrl-C asks for what was found."""
    threads = min(shares, cores())
    with ThreadPoolExecutor(threads, "search") as pool:
        future = pool.submit(work.run, Threads(threads, pool), every_ms, tell)
        try:
            _wait(future)
        except KeyboardInterrupt:
            work.stop(pb.STOP_REASON_CANCELLED)
        return future.result()


def _wait(future: Future[Any]) -> None:
    # Signals reach this thread between two short waits, on every platform.
    while not future.done():
        time.sleep(0.005)
