"""Searches as the server runs them: on threads of their own below the event loop's priority, and stoppable."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from eminence.v1 import solver_pb2 as pb
from engine_cy import View
from engine_cy.record import Record
from server.codec.suggestions import write_found, write_information
from server.limits import MEGABYTE, Chosen, Granted
from solver.beliefs import own_spots
from solver.config import Budget
from solver.information import information
from solver.running import Found, Running
from solver.search import Searcher
from solver.version import SIGNATURE

NICENESS = 10
# Where all moves are answered, so many of them with what is likely to follow.
LINES_DEFAULT = 8
LINES_MAX = 100
# What is asked about information takes so much of the time; of iterations, one in so many a card and side.
INFORMATION_TIME = 0.25
INFORMATION_PARTS = 8
INFORMATION_LEAST = 16

REASONS = {
    "iterations": pb.STOP_REASON_ITERATIONS,
    "time": pb.STOP_REASON_TIME,
    "confidence": pb.STOP_REASON_CONFIDENCE,
    "forced": pb.STOP_REASON_FORCED,
}


def search_pool(threads: int) -> ThreadPoolExecutor:
    """Threads that give way to the event loop."""
    return ThreadPoolExecutor(threads, "search", _give_way)


def _give_way() -> None:
    # Of this thread alone: on Linux, each has a priority of its own.
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, as it is granted."""

    view: View
    history: Record | None
    options: Chosen
    budget: Granted
    seed: int
    arrival_ns: int
    deadline_ns: int | None  # of the call, by which it must be answered
    key: bytes


class Search:
    """A question on its way to its answer. `stop` may be called from any thread."""

    def __init__(self, question: Question, until_ns: int, *, by_deadline: bool) -> None:
        self.question = question
        self._until_ns = until_ns
        self._by_deadline = by_deadline
        self._stopped_for: Any = pb.STOP_REASON_UNSPECIFIED
        self._beside: Searcher | None = None
        self._lock = threading.Lock()
        options, budget = question.options, question.budget
        self._informs = options.information and question.view.to_act == question.view.observer
        left = until_ns - time.monotonic_ns()
        self.running = Running(
            question.view,
            budget.for_solver,
            config=options.config,
            seed=question.seed,
            shares=options.shares,
            models=dict(options.models),
            history=question.history,
            lines=min(options.lines or LINES_DEFAULT, LINES_MAX),
            among=options.among,
            until_ns=until_ns - int(left * INFORMATION_TIME) if self._informs else until_ns,
            share_iterations=budget.share_iterations,
        )

    def stop(self, reason: Any) -> None:
        """Have it end soon, with what was found. The first reason counts."""
        with self._lock:
            self._stopped_for = self._stopped_for or reason
            if self._beside is not None:
                self._beside.stop()
        self.running.stop()

    def run(
        self, threads: int, pool: ThreadPoolExecutor, every_ms: float = 0, tell: Callable[[Any], None] | None = None
    ) -> pb.Suggestion:
        """The answer; `tell` gets those on the way. On a thread of the pool, which may take others of it for shares."""
        found = self.running.run(
            threads=threads,
            executor=pool,
            every_ns=int(every_ms * 1e6),
            tell=(lambda so_far: tell(self._write(so_far, is_last=False))) if tell else None,
        )
        message = self._write(found, is_last=True)
        if self._informs and found.total.iterations:
            self._inform(message, found)
        return message

    def _write(self, found: Found, *, is_last: bool) -> pb.Suggestion:
        question = self.question
        message = write_found(found, question.view, question.options.lines)
        message.budget.CopyFrom(question.budget.message)
        message.seed = question.seed
        message.shares = question.options.shares
        message.engine_signature = SIGNATURE
        message.knowledge = question.view.game.id if question.view.game.has_knowledge else "none"
        if is_last:
            message.stop_reason = self._reason(found)
        else:
            message.reproducible = False
        set_elapsed(message, question.arrival_ns)
        return message

    def _reason(self, found: Found) -> Any:
        if found.stopped_by == "stopped":
            return self._stopped_for
        if found.stopped_by == "time" and self._by_deadline:
            return pb.STOP_REASON_DEADLINE
        return REASONS[found.stopped_by]

    def _inform(self, message: pb.Suggestion, found: Found) -> None:
        """Add what own cards are worth as secrets: with so many iterations as follow from those of the search, so that
        the same iterations have the same answer."""
        question = self.question
        n_cards = len(own_spots(question.view))
        if not n_cards:
            return
        per_card = max(found.total.iterations // (INFORMATION_PARTS * n_cards), INFORMATION_LEAST)
        if self._until_ns <= time.monotonic_ns() or self._stopped_for:
            message.reproducible = False
            return
        timer = threading.Timer((self._until_ns - time.monotonic_ns()) / 1e9, self._stop_informing)
        timer.start()
        try:
            cards = information(
                question.view,
                Budget(iterations=per_card, memory_mb=question.budget.memory_bytes / MEGABYTE),
                config=question.options.config,
                seed=question.seed,
                history=question.history,
                begun=self._begin_beside,
            )
        finally:
            timer.cancel()
        if self._stopped_for or self._until_ns <= time.monotonic_ns():
            message.reproducible = False  # some were stopped halfway: none is better than a wrong one
        else:
            message.information.extend(write_information(cards, question.view.game))
        set_elapsed(message, question.arrival_ns)

    def _begin_beside(self, searcher: Searcher) -> None:
        with self._lock:
            self._beside = searcher
            if self._stopped_for or self._until_ns <= time.monotonic_ns():
                searcher.stop()

    def _stop_informing(self) -> None:
        with self._lock:
            if self._beside is not None:
                self._beside.stop()


def set_elapsed(message: Any, arrival_ns: int) -> None:
    message.elapsed.FromNanoseconds(time.monotonic_ns() - arrival_ns)
