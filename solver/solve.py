"""The one door: a question, or a view and how to think about it, and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from engine_cy import Action, View
from solver.answer import Answer
from solver.compare import Comparison
from solver.config import Budget, InvalidQuestionError
from solver.control import Control
from solver.pool.base import Pool, compute_here
from solver.pool.threads import Threads
from solver.question import ComparisonQuestion, InformationQuestion, Question, QuestionOptions, SearchQuestion
from solver.secrecy import Information


class SearchOptions(QuestionOptions, total=False):
    """The keywords of a search."""

    lines: int
    among: Sequence[Action | str]


def solve(
    asked: View | SearchQuestion,
    budget: Budget | None = None,
    *,
    pool: Pool | None = None,
    control: Control | None = None,
    **options: Unpack[SearchOptions],
) -> Answer:
    """Say what the observer of a view should play, and what every seat may expect.

    Takes a question, or the view and what else makes one (see `SearchQuestion`). If another seat is to act, the answer
    has no move. The same question with the same iterations has the same answer, whatever the pool and its timing; with
    a limit of time it has not. Without a pool, threads of this process compute, one for each share. `control` follows
    the search and can end it.
    """
    if isinstance(asked, View):
        asked = SearchQuestion(asked, budget, **options)
    elif budget is not None or options:
        named = "budget" if budget is not None else next(iter(options))
        raise InvalidQuestionError(named, "cannot stand beside a question, which has its own", reason="CONTRADICTION")
    answer: Answer = compute(asked, pool, control)
    return answer


def compare(
    view: View,
    actions: Sequence[Action | str],
    budget: Budget | None = None,
    *,
    pool: Pool | None = None,
    control: Control | None = None,
    **thinking: Unpack[QuestionOptions],
) -> Comparison:
    """Search on behind each of several moves, in the same worlds. The budget's iterations are for each move."""
    comparison: Comparison = compute(ComparisonQuestion(view, actions, budget, **thinking), pool, control)
    return comparison


def information(
    view: View,
    budget: Budget | None = None,
    *,
    pool: Pool | None = None,
    control: Control | None = None,
    **thinking: Unpack[QuestionOptions],
) -> tuple[Information, ...]:
    """Say what the observer's face-down cards are worth as secrets. The budget's iterations are for each card.
    Nothing is said if the control or a clock ended it."""
    found: tuple[Information, ...] = compute(InformationQuestion(view, budget, **thinking), pool, control)
    return found


def compute(question: Question, pool: Pool | None = None, control: Control | None = None) -> Any:
    """Return the answer to a question of any shape."""
    control = control or Control()
    if pool is not None:
        return pool.compute(question, control)
    if question.shares == 1:
        return compute_here(question, control)
    with Threads(question.shares) as threads:
        return threads.compute(question, control)
