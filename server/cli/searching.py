"""Searches of this process: on threads of their own, so that Ctrl-C ends them with what was found."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from eminence.v1 import solver_pb2 as pb
from server.messages import answers
from server.messages.requests import Asked
from server.services.information import search_until_ns, secrets_of
from solver.answer import Answer
from solver.control import Control
from solver.pool import cores
from solver.pool.threads import Threads
from solver.question import Question, SearchQuestion


def suggest_here(
    asked: Asked, every_ms: float = 0.0, report: Callable[[pb.Suggestion], None] | None = None
) -> pb.Suggestion:
    """The answer to a search; `report` gets those on the way, on another thread."""
    arrival_ns = time.monotonic_ns()
    question, until_ns = asked.question, arrival_ns + _time_ns(asked)
    if question is None:
        suggestion = answers.write_game_over(asked)
    else:
        assert isinstance(question, SearchQuestion)
        informs = asked.information and question.decides
        tell = None if report is None else lambda answer: report(answers.write_suggestion(answer, asked))
        search = Search(question, search_until_ns(until_ns) if informs else until_ns, tell, every_ms)
        suggestion = answers.write_suggestion(search.answer, asked, search.stopped_for)
        if informs and search.answer.iterations:
            _inform(suggestion, question, until_ns, search.stopped_for)
    answers.set_elapsed(suggestion, arrival_ns)
    return suggestion


def compare_here(asked: Asked) -> pb.Comparison:
    """The answer to a comparison."""
    arrival_ns = time.monotonic_ns()
    assert asked.question is not None
    search = Search(asked.question, arrival_ns + _time_ns(asked))
    comparison = answers.write_comparison(search.answer, asked, search.stopped_for)
    answers.set_elapsed(comparison, arrival_ns)
    return comparison


def _inform(suggestion: pb.Suggestion, question: SearchQuestion, until_ns: int, stopped_for: Any) -> None:
    """Add what own cards are worth as secrets."""
    secrets = secrets_of(question, suggestion.iterations)
    if secrets is None:
        return
    cards = () if stopped_for else Search(secrets, until_ns).answer
    if not cards:
        suggestion.reproducible = False
    suggestion.information.extend(answers.write_information(cards, question.view.game))


def _time_ns(asked: Asked) -> int:
    assert asked.budget.time_ms is not None
    return int(asked.budget.time_ms * 1e6)


class Search:
    """A question that is computed on all cores. Ctrl-C stops it."""

    def __init__(
        self,
        question: Question,
        until_ns: int,
        report: Callable[[Answer], None] | None = None,
        every_ms: float = 0.0,
    ) -> None:
        self.stopped_for: Any = pb.STOP_REASON_UNSPECIFIED
        control = Control(report, every_ms, until_ns=until_ns)
        with Threads(max(min(question.n_parts, cores()), 1)) as pool:
            answer = pool.submit(question, control)
            try:
                _wait(answer)
            except KeyboardInterrupt:
                self.stopped_for = pb.STOP_REASON_CANCELLED
                control.stop()
            self.answer = answer.result()


def _wait(future: Future[Any]) -> None:
    # Signals reach this thread between two short waits, on every platform.
    while not future.done():
        time.sleep(0.005)
