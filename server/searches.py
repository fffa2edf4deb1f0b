"""Searches as the server runs them: on threads of their own below the event loop's priority, and stoppable."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

from eminence.v1 import solver_pb2 as pb
from engine_cy import Action, Game, View
from engine_cy.record import Record
from server.codec.suggestions import (
    write_compared,
    write_forced,
    write_found,
    write_information,
)
from server.limits import MEGABYTE, Chosen, Granted
from solver.abreast import Comparing
from solver.backends.base import Backend
from solver.backends.serial import Serial
from solver.beliefs import own_spots
from solver.config import Budget, Config, fit_config
from solver.found import Found, find, found_of
from solver.information import information
from solver.review import Decision, Judging, Verdict
from solver.solve import beliefs_of, job_at, read_history
from solver.version import SIGNATURE
from solver.watch import NEVER_NS, Watch

# Enough that the event loop goes first, and no more: where other programs keep all cores busy, a thread that gives way
# too much searches less, and ends too late.
NICENESS = 2
# A search is told to end earlier by what nine of ten lately took to end and be written down after their moment; by
# this much at most, and by this part of its time.
OVERRUN_QUANTILE = 0.9
OVERRUN_STEP_NS = 2_000_000
OVERRUN_MOST_NS = 20_000_000
OVERRUN_PART = 0.2
# Where all moves are answered, so many of them with what is likely to follow.
LINES_DEFAULT = 8
LINES_MAX = 100
# What is asked about information takes so much of the time. Of the iterations of one share, one in so many is done for
# the cards: with both its sides, it takes 8 to 13 times as long as one of the search.
INFORMATION_TIME = 0.4
INFORMATION_PARTS = 32
INFORMATION_LEAST = 16

REASONS = {
    "iterations": pb.STOP_REASON_ITERATIONS,
    "time": pb.STOP_REASON_TIME,
    "confidence": pb.STOP_REASON_CONFIDENCE,
    "forced": pb.STOP_REASON_FORCED,
    "lost": pb.STOP_REASON_LOST,
}


def search_pool(threads: int) -> ThreadPoolExecutor:
    """Threads that give way to the event loop."""
    return ThreadPoolExecutor(threads, "search", _give_way)


def _give_way() -> None:
    # Of this thread alone: on Linux, each has a priority of its own.
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


class Overrun:
    """By how much searches end after their moment: where other programs use the cores, a thread is often not running
    when its time is over. Learned by steps towards a quantile, for a mean says little of what is rarely late."""

    def __init__(self) -> None:
        self._usual_ns = 0.0

    def learn(self, late_ns: int) -> None:
        """A search ended so long after the moment that it was told."""
        step = OVERRUN_QUANTILE if late_ns > self._usual_ns else OVERRUN_QUANTILE - 1
        self._usual_ns = min(max(self._usual_ns + step * OVERRUN_STEP_NS, 0.0), float(OVERRUN_MOST_NS))

    def of(self, left_ns: int) -> int:
        """How much earlier a search should end that has so long."""
        return int(min(self._usual_ns, max(left_ns, 0) * OVERRUN_PART))


class Question(NamedTuple):
    """What is asked, as it is granted."""

    view: View
    history: Record | None
    options: Chosen
    budget: Granted
    seed: int
    arrival_ns: int
    deadline_ns: int | None  # of the call, by which it must be answered
    key: bytes


class Work(Protocol):
    """A question on its way to its answer. `stop` may be called from any thread; the first reason counts."""

    def stop(self, reason: Any) -> None: ...

    def run(self, backend: Backend, every_ms: float = 0, tell: Callable[[Any], None] | None = None) -> Any:
        """On a thread of the pool; `tell` gets what is found on the way."""


class Search:
    """For Suggest, Analyze and items of a batch."""

    def __init__(self, question: Question, until_ns: int, *, by_deadline: bool) -> None:
        self.question = question
        self._by_deadline = by_deadline
        self._stopped_for: Any = pb.STOP_REASON_UNSPECIFIED
        options, budget = question.options, question.budget
        self._informs = options.information and question.view.to_act == question.view.observer
        # What is asked about information comes after the search, and has the rest of the time.
        left = max(until_ns - time.monotonic_ns(), 0)
        search_until_ns = until_ns - int(left * INFORMATION_TIME) if self._informs else until_ns
        self._until_ns = until_ns
        self._watch = Watch(until_ns=search_until_ns, answer_by_ns=_answer_by(question.deadline_ns, until_ns))
        self._beside = Watch()
        self._job = job_at(
            question.view,
            budget.for_solver,
            config=options.config,
            seed=question.seed,
            workers=options.shares,
            models=dict(options.models),
            history=question.history,
            lines=min(options.lines or LINES_DEFAULT, LINES_MAX),
            among=options.among,
            share_iterations=budget.share_iterations,
        )

    def stop(self, reason: Any) -> None:
        """Have it end soon, with what was found."""
        self._stopped_for = self._stopped_for or reason
        self._watch.stop()
        self._beside.stop()

    def run(self, backend: Backend, every_ms: float = 0, tell: Callable[[Any], None] | None = None) -> pb.Suggestion:
        """The answer; `tell` gets those on the way."""
        begun = time.perf_counter()
        if tell:
            self._watch.interval_ms = every_ms
            self._watch.report = lambda shares: tell(self._write(found_of(self._job, shares, begun), is_last=False))
        found = find(self._job, backend, self._watch)
        message = self._write(found, is_last=True)
        if self._informs and found.total.iterations:
            self._inform(message, found)
        return message

    def run_here(self) -> pb.Suggestion:
        """The answer, where the search was stopped already."""
        return self._write(find(self._job, Serial(), self._watch), is_last=True)

    def _write(self, found: Found, *, is_last: bool) -> pb.Suggestion:
        message = write_found(found, self.question.view.game, self.question.options.lines)
        message.missing_shares, message.note = found.total.missing, found.total.note
        if is_last:
            message.stop_reason = reason_of(found.stopped_by, self._stopped_for, self._by_deadline)
        else:
            message.reproducible = False
        return complete(message, self.question)

    def _inform(self, message: pb.Suggestion, found: Found) -> None:
        """Add what own cards are worth as secrets: with so many iterations as follow from those of the search, so that
        the same iterations have the same answer."""
        question = self.question
        n_cards = len(own_spots(question.view))
        if not n_cards:
            return
        parts = INFORMATION_PARTS * n_cards * question.options.shares
        per_card = max(found.total.iterations // parts, INFORMATION_LEAST)
        if self._until_ns <= time.monotonic_ns() or self._stopped_for:
            message.reproducible = False
            return
        timer = threading.Timer((self._until_ns - time.monotonic_ns()) / 1e9, self._beside.stop)
        timer.start()
        try:
            cards = information(
                question.view,
                Budget(iterations=per_card, memory_mb=question.budget.memory_bytes / MEGABYTE),
                config=question.options.config,
                seed=question.seed,
                history=question.history,
                watch=self._beside,
            )
        finally:
            timer.cancel()
        if self._beside.stopped:
            message.reproducible = False  # some were stopped halfway: none is better than a wrong one
        else:
            message.information.extend(write_information(cards, question.view.game))
        set_elapsed(message, question.arrival_ns)


class Comparison:
    """For Compare."""

    def __init__(self, question: Question, actions: Sequence[Action], until_ns: int, *, by_deadline: bool) -> None:
        self._question, self._by_deadline = question, by_deadline
        self._stopped_for: Any = pb.STOP_REASON_UNSPECIFIED
        self._watch = Watch(until_ns=until_ns)
        self._comparing = Comparing(
            question.view,
            actions,
            question.budget.for_solver,
            config=question.options.config,
            seed=question.seed,
            shares=question.options.shares,
            models=dict(question.options.models),
            history=question.history,
        )

    def stop(self, reason: Any) -> None:
        self._stopped_for = self._stopped_for or reason
        self._watch.stop()

    def run(self, backend: Backend, every_ms: float = 0, tell: Callable[[Any], None] | None = None) -> pb.Comparison:
        question, found = self._question, self._comparing.run(self._watch)
        message = write_compared(found)
        message.stop_reason = reason_of(found.stopped_by, self._stopped_for, self._by_deadline)
        message.budget.CopyFrom(question.budget.message)
        message.seed = question.seed
        message.engine_signature = SIGNATURE
        message.reproducible = found.stopped_by in ("iterations", "confidence")
        message.knowledge = knowledge_of(question.view.game, question.options.config)
        set_elapsed(message, question.arrival_ns)
        return message


class Judgement:
    """For one decision of a Review."""

    def __init__(self, decision: Decision, budget: Granted, options: Chosen, seed: int, until_ns: int) -> None:
        self._judging = Judging(
            decision,
            budget.for_solver,
            config=options.config,
            seed=seed,
            shares=options.shares,
            models=dict(options.models),
            until_ns=until_ns,
        )

    def stop(self, reason: Any) -> None:
        self._judging.stop()

    def run(self, backend: Backend, every_ms: float = 0, tell: Callable[[Any], None] | None = None) -> Verdict:
        return self._judging.run(backend)


def _answer_by(deadline_ns: int | None, until_ns: int) -> int:
    """When to answer without those who are late: in the middle between the search's end and the call's."""
    return NEVER_NS if deadline_ns is None else min(until_ns, deadline_ns) + max(deadline_ns - until_ns, 0) // 2


def said_of(game: Game, options: Chosen, budget: Granted) -> pb.Suggestion:
    """What an answer says of how it was asked for."""
    return pb.Suggestion(
        budget=budget.message,
        shares=options.shares,
        engine_signature=SIGNATURE,
        knowledge=knowledge_of(game, options.config),
    )


def answer_forced(question: Question) -> pb.Suggestion:
    """The answer where there is one move, as a Search gives it, too."""
    view = question.view
    (action,) = view.legal_actions()
    config = fit_config(question.options.config, view.game)
    return complete(write_forced(action, beliefs_of(view, read_history(question.history, view), config)), question)


def complete(message: pb.Suggestion, question: Question) -> pb.Suggestion:
    """An answer with what follows from the question."""
    message.MergeFrom(said_of(question.view.game, question.options, question.budget))
    message.seed = question.seed
    set_elapsed(message, question.arrival_ns)
    return message


def reason_of(stopped_by: str, stopped_for: Any, by_deadline: bool) -> Any:
    """Why a search ended, in the contract's words."""
    if stopped_by == "stopped":
        return stopped_for
    if stopped_by == "time" and by_deadline:
        return pb.STOP_REASON_DEADLINE
    return REASONS[stopped_by]


def knowledge_of(game: Game, config: Config) -> str:
    """What guides a search besides the rules."""
    return game.id if game.has_knowledge and config.knows else "none"


def set_elapsed(message: Any, arrival_ns: int) -> None:
    elapsed = message.elapsed
    elapsed.seconds, elapsed.nanos = divmod(time.monotonic_ns() - arrival_ns, 10**9)
