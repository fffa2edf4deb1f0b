"""The budget of the value of keeping own cards secret (`InformationQuestion`), computed after a search."""

from __future__ import annotations

import time

from solver.beliefs import own_spots
from solver.config import Budget
from solver.question import InformationQuestion, SearchQuestion, information_iterations_max

# The question's share of the time.
INFORMATION_TIME = 0.4
# The search's iterations of one share for each iteration of the question, which plays two arms and takes 8 to 13 times
# as long.
INFORMATION_PARTS = 32
INFORMATION_LEAST = 16


def search_until_ns(until_ns: int) -> int:
    """Return the end of the search, which leaves the rest of the time to the question."""
    return until_ns - int(max(until_ns - time.monotonic_ns(), 0) * INFORMATION_TIME)


def secrets_of(question: SearchQuestion, iterations: int) -> InformationQuestion | None:
    """Return the question that follows a search; None if the observer has no face-down cards.

    Its iterations follow from those of the search, so that equal searches have equal answers.
    """
    n_cards = len(own_spots(question.view))
    if not n_cards:
        return None
    per_card = max(iterations // (INFORMATION_PARTS * n_cards * question.shares), INFORMATION_LEAST)
    per_card = min(per_card, information_iterations_max(question, n_cards))
    return InformationQuestion(
        question.view,
        Budget(iterations=per_card, memory_mb=question.budget.memory_mb),
        config=question.config,
        seed=question.seed,
        history=question.history,
    ).with_belief_of(question)
