"""The time and the iterations of the question what own cards are worth as secrets, beside a search."""

from __future__ import annotations

import time

from solver.beliefs import own_spots
from solver.config import Budget
from solver.question import InformationQuestion, SearchQuestion, information_iterations_max

# The part of the time, and one in how many iterations of one share: an iteration with both arms takes 8 to 13 times as
# long as one of the search.
INFORMATION_TIME = 0.4
INFORMATION_PARTS = 32
INFORMATION_LEAST = 16


def search_until_ns(until_ns: int) -> int:
    """When the search has to end before it; it has the rest of the time."""
    return until_ns - int(max(until_ns - time.monotonic_ns(), 0) * INFORMATION_TIME)


def secrets_of(question: SearchQuestion, iterations: int) -> InformationQuestion | None:
    """Ask about own cards after a search. The iterations follow from those of the search, so that equal searches have
    equal answers. None without such cards."""
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
