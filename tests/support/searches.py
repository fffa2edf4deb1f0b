"""Searches of Oriflamme's openings, and the parts of answers that repeat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from engine_cy import View, new_game
from solver import Answer, Budget, Comparison, Question, SearchQuestion
from solver.pool.base import Answered, compute_here


def opening_view(seed: int = 3) -> View:
    """Return the view of the first player to act in a new game of four."""
    position = new_game("oriflamme", "en-2019", 4).deal(seed)
    return position.view(position.to_act or 0)


def searches(n: int, iterations: int = 20) -> Iterator[SearchQuestion]:
    """Yield short searches of five openings, each with a seed of its own and with one or two shares."""
    views = [opening_view(seed) for seed in range(5)]
    return (SearchQuestion(views[i % 5], Budget(iterations=iterations), seed=i, shares=1 + i % 2) for i in range(n))


def timeless(answer: Any) -> Any:
    """Return an answer of any shape without its duration."""
    return answer if isinstance(answer, tuple) else replace(answer, elapsed_ms=0.0)


def timeless_answers(stream: Iterable[Answered]) -> list[Answered]:
    """Return the answers of a batch without their durations."""
    return [item._replace(answer=timeless(item.answer)) if item.error is None else item for item in stream]


def expected_answers(batch: Iterable[Question]) -> list[Answered]:
    """Compute a batch on this thread; return its answers without their durations."""
    return [Answered(number, timeless(compute_here(question))) for number, question in enumerate(batch)]


def noteless(answer: Any) -> Any:
    """Return an answer of any shape without its duration and its note."""
    if isinstance(answer, Answer):
        answer = replace(answer, total=replace(answer.total, note=""))
    return timeless(replace(answer, note="") if isinstance(answer, Comparison) else answer)
