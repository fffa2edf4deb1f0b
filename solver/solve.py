"""Answer questions: the only entry point to the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from engine_cy import Action, View
from solver.answer import Answer
from solver.compare import Comparison
from solver.config import Budget, InvalidQuestionError
from solver.control import Control
from solver.pool import cores
from solver.pool.base import Pool, compute_here
from solver.pool.threads import Threads
from solver.question import ComparisonQuestion, InformationQuestion, Question, QuestionOptions, SearchQuestion
from solver.secrecy import Information


class SearchOptions(QuestionOptions, total=False):
    """Hold the keyword arguments of a search."""

    lines: int
    among: Sequence[Action | str]


def solve(
    question: View | SearchQuestion,
    budget: Budget | None = None,
    *,
    pool: Pool | None = None,
    control: Control | None = None,
    **options: Unpack[SearchOptions],
) -> Answer:
    """Search for the observer's best move and every seat's expectation.

    `question` is a complete question, or a view; the other arguments of a `SearchQuestion` are accepted with a view
    only. If another seat is to act, the answer has no move. The same question with the same iterations has the same
    answer on every pool; with a time limit it may differ. Without a pool, threads of this process compute, one per
    share and at most one per core. `control` follows the search and can stop it.
    """
    if isinstance(question, View):
        question = SearchQuestion(question, budget, **options)
    elif budget is not None or options:
        field = "budget" if budget is not None else next(iter(options))
        raise InvalidQuestionError(field, "cannot be combined with a question", reason="CONTRADICTION")
    answer: Answer = compute(question, pool, control)
    return answer


def compare(
    view: View,
    actions: Sequence[Action | str],
    budget: Budget | None = None,
    *,
    pool: Pool | None = None,
    control: Control | None = None,
    **options: Unpack[QuestionOptions],
) -> Comparison:
    """Compare several moves in the same worlds. The budget's iterations are for each move."""
    comparison: Comparison = compute(ComparisonQuestion(view, actions, budget, **options), pool, control)
    return comparison


def information(
    view: View,
    budget: Budget | None = None,
    *,
    pool: Pool | None = None,
    control: Control | None = None,
    **options: Unpack[QuestionOptions],
) -> tuple[Information, ...]:
    """Compute the value of keeping each of the observer's face-down cards secret.

    The budget's iterations are for each card. The result is empty if the control or a time limit ended the search.
    """
    result: tuple[Information, ...] = compute(InformationQuestion(view, budget, **options), pool, control)
    return result


def compute(question: Question, pool: Pool | None = None, control: Control | None = None) -> Any:
    """Return the answer to a question of any shape."""
    control = control or Control()
    if pool is not None:
        return pool.compute(question, control)
    if question.shares == 1:
        return compute_here(question, control)
    threads = Threads(min(question.shares, cores()))
    try:
        return threads.compute(question, control)
    finally:
        # Threads still free the trees of a search with a time limit: its answer does not wait for that.
        threads.close(wait=False)
