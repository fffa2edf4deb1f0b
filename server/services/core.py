"""The service core: it answers requests, in a server and in a client's own process alike.

Each function computes its questions with a `SearchSlot`. It knows neither gRPC nor other searches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from eminence.v1 import solver_pb2 as pb
from server.messages import answers
from server.messages.requests import Grant
from server.services.information import search_until_ns, secrets_of
from solver.answer import Answer, answer_of
from solver.compare import Comparison
from solver.merge import empty_share
from solver.named_beliefs import Beliefs
from solver.pool.base import answer_without_parts, compute_here
from solver.question import ComparisonQuestion, InformationQuestion, Question, SearchQuestion
from solver.review import ChanceCheck, Judge, Prospect, Step, Verdict, prospect_of, verdict_of

T = TypeVar("T")


class SearchSlot(Protocol):
    """The resources and the end of one search, which computes its questions one after the other."""

    until_ns: int
    by_deadline: bool  # the call's deadline sets `until_ns`, not the budget
    stopped_for: Any  # the StopReason if the search was stopped, else STOP_REASON_UNSPECIFIED

    async def compute(
        self,
        question: Question,
        write: Callable[[Any], T],
        *,
        until_ns: int | None = None,
        report: Callable[[Answer], None] | None = None,
        every_ms: float = 0.0,
    ) -> T:
        """Compute a question, and return its answer converted by `write`. `report` receives answers so far."""

    def stop(self, reason: Any) -> None:
        """Stop the running question soon, and later ones at once; the first reason counts."""


async def suggest(
    grant: Grant, slot: SearchSlot, every_ms: float = 0.0, report: Callable[[pb.Suggestion], None] | None = None
) -> pb.Suggestion:
    """Answer a search; `report` receives answers so far."""
    question, until_ns = grant.question, slot.until_ns
    assert isinstance(question, SearchQuestion)
    informs = grant.information and question.decides
    if informs:
        until_ns = search_until_ns(until_ns)

    secrets: InformationQuestion | None = None

    def write(answer: Answer) -> pb.Suggestion:
        nonlocal secrets
        if informs and answer.iterations:
            secrets = secrets_of(question, answer.iterations)
        return answers.write_suggestion(answer, grant, slot.stopped_for, slot.by_deadline)

    report_answer = None if report is None else lambda answer: report(answers.write_suggestion(answer, grant))
    suggestion = await slot.compute(question, write, until_ns=until_ns, report=report_answer, every_ms=every_ms)
    if secrets is not None:
        await _inform(suggestion, secrets, slot)
    return suggestion


async def _inform(suggestion: pb.Suggestion, secrets: InformationQuestion, slot: SearchSlot) -> None:
    """Add the value of keeping each own card secret. Its iterations follow from the search's: both are reproducible."""
    if slot.until_ns <= time.monotonic_ns() or slot.stopped_for:
        suggestion.reproducible = False
        return
    cards = await slot.compute(secrets, lambda cards: answers.write_information(cards, secrets.view.game))
    if not cards:
        suggestion.reproducible = False  # it was stopped halfway, and its figures would be wrong
    suggestion.information.extend(cards)


def needs_search(grant: Grant) -> bool:
    """Return whether a request needs a search: not after the game, nor for a forced move without `information`."""
    question = grant.question
    return question is not None and (question.view.forced_action is None or grant.information)


def suggest_at_once(grant: Grant) -> pb.Suggestion:
    """Answer a request that needs no search."""
    if grant.question is None:
        return answers.write_game_over(grant)
    return answers.write_suggestion(compute_here(grant.question), grant)


def suggest_cancelled(grant: Grant) -> pb.Suggestion:
    """Answer a search that was stopped before it started. Merge one empty share: many take milliseconds."""
    question, started = grant.question, time.perf_counter()
    assert isinstance(question, SearchQuestion)
    answer = answer_without_parts(question, started)
    if answer is None:
        nothing = empty_share(question.n_tallies, question.view.game.n_players, stopped_by="stopped")
        answer = replace(answer_of(question, [nothing], started), share_iterations=(0,) * question.n_parts)
    return answers.write_suggestion(answer, grant, pb.STOP_REASON_CANCELLED)


async def compare(
    grant: Grant, slot: SearchSlot, every_ms: float = 0.0, report: Callable[[pb.Comparison], None] | None = None
) -> pb.Comparison:
    """Answer a comparison; `report` receives answers so far."""
    assert grant.question is not None

    def write(comparison: Comparison) -> pb.Comparison:
        return answers.write_comparison(comparison, grant, slot.stopped_for, slot.by_deadline)

    def report_comparison(comparison: Any) -> None:
        if report is not None:
            report(answers.write_comparison(comparison, grant))

    return await slot.compute(
        grant.question, write, report=None if report is None else report_comparison, every_ms=every_ms
    )


async def judge(judge: Judge, step: Step, question: SearchQuestion, slot: SearchSlot) -> Verdict | Prospect:
    """Judge one step of a review: a decision by a search, with half of the time, and a comparison, with the rest.

    A chance check has a search alone.
    """
    half_ns = (time.monotonic_ns() + slot.until_ns) // 2
    if isinstance(step, ChanceCheck):
        return prospect_of(step, await slot.compute(question, _unchanged, until_ns=half_ns))
    decision = step

    with_best: ComparisonQuestion | None = None
    beliefs: Beliefs | None = None

    def compare_with_best(answer: Answer) -> Answer:
        nonlocal with_best, beliefs
        with_best = judge.comparison(decision, answer)
        if judge.keeps_beliefs:
            beliefs = answer.beliefs  # they take time, and this is the thread of the search
        return answer

    answer = await slot.compute(question, compare_with_best, until_ns=half_ns)
    comparison = None if with_best is None else await slot.compute(with_best, _unchanged)
    return replace(verdict_of(decision, answer, comparison), beliefs=beliefs)


def _unchanged(answer: T) -> T:
    return answer
