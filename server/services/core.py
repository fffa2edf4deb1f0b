"""How questions become answers, the same at a server and in a process of one's own.

Each function is handed a slot, which computes; it knows neither gRPC nor who else searches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from eminence.v1 import solver_pb2 as pb
from server.messages import answers
from server.messages.requests import Asked
from server.services.information import search_until_ns, secrets_of
from solver.answer import Answer, answer_of
from solver.compare import Comparison
from solver.merge import empty_share
from solver.pool.base import answer_without_parts, compute_here
from solver.question import ComparisonQuestion, InformationQuestion, Question, SearchQuestion
from solver.review import Decision, Judge, Verdict, verdict_of

T = TypeVar("T")


class SearchSlot(Protocol):
    """Where the questions of one search are computed, one after the other, and when they end."""

    until_ns: int
    by_deadline: bool  # whether the call's deadline decides that, not the budget
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
        """Have a question computed, and return what `write` makes of its answer. `report` gets answers so far."""

    def stop(self, reason: Any) -> None:
        """End what runs soon, and what follows at once; the first reason counts."""


async def suggest(
    asked: Asked, slot: SearchSlot, every_ms: float = 0.0, report: Callable[[pb.Suggestion], None] | None = None
) -> pb.Suggestion:
    """Answer a search; `report` gets answers so far."""
    question, until_ns = asked.question, slot.until_ns
    assert isinstance(question, SearchQuestion)
    informs = asked.information and question.decides
    if informs:
        until_ns = search_until_ns(until_ns)

    secrets: InformationQuestion | None = None

    def write(answer: Answer) -> pb.Suggestion:
        nonlocal secrets
        if informs and answer.iterations:
            secrets = secrets_of(question, answer.iterations)
        return answers.write_suggestion(answer, asked, slot.stopped_for, slot.by_deadline)

    tell = None if report is None else lambda answer: report(answers.write_suggestion(answer, asked))
    suggestion = await slot.compute(question, write, until_ns=until_ns, report=tell, every_ms=every_ms)
    if secrets is not None:
        await _inform(suggestion, secrets, slot)
    return suggestion


async def _inform(suggestion: pb.Suggestion, secrets: InformationQuestion, slot: SearchSlot) -> None:
    """Add what own cards are worth as secrets: with so many iterations as follow from those of the search, so that
    the same iterations have the same answer."""
    if slot.until_ns <= time.monotonic_ns() or slot.stopped_for:
        suggestion.reproducible = False
        return
    cards = await slot.compute(secrets, lambda cards: answers.write_information(cards, secrets.view.game))
    if not cards:
        suggestion.reproducible = False  # it was stopped halfway: no figures are better than wrong ones
    suggestion.information.extend(cards)


def needs_search(asked: Asked) -> bool:
    """Return whether the game goes on and, unless own cards are asked about, the move is not forced."""
    question = asked.question
    return question is not None and (question.view.forced_action is None or asked.information)


def suggest_at_once(asked: Asked) -> pb.Suggestion:
    """Answer what needs no search."""
    if asked.question is None:
        return answers.write_game_over(asked)
    return answers.write_suggestion(compute_here(asked.question), asked)


def suggest_cancelled(asked: Asked) -> pb.Suggestion:
    """Answer a search that was stopped before it began. One empty share stands for all: many take milliseconds."""
    question, began = asked.question, time.perf_counter()
    assert isinstance(question, SearchQuestion)
    answer = answer_without_parts(question, began)
    if answer is None:
        nothing = empty_share(question.n_tallies, question.view.game.n_players, stopped_by="stopped")
        answer = replace(answer_of(question, [nothing], began), share_iterations=(0,) * question.n_parts)
    return answers.write_suggestion(answer, asked, pb.STOP_REASON_CANCELLED)


async def compare(asked: Asked, slot: SearchSlot) -> pb.Comparison:
    """Answer a comparison."""
    assert asked.question is not None

    def write(comparison: Comparison) -> pb.Comparison:
        return answers.write_comparison(comparison, asked, slot.stopped_for, slot.by_deadline)

    return await slot.compute(asked.question, write)


async def judge(judge: Judge, decision: Decision, question: SearchQuestion, slot: SearchSlot) -> Verdict:
    """Judge one decision by its search, which has half of the time, and a comparison, which has the rest."""
    half_ns = (time.monotonic_ns() + slot.until_ns) // 2

    other: ComparisonQuestion | None = None

    def compare_with_best(answer: Answer) -> Answer:
        nonlocal other
        other = judge.comparison(decision, answer)
        return answer

    answer = await slot.compute(question, compare_with_best, until_ns=half_ns)
    comparison = None if other is None else await slot.compute(other, _unchanged)
    return verdict_of(decision, answer, comparison)


def _unchanged(answer: T) -> T:
    return answer
