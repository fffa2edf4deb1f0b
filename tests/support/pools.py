"""A pool without workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

from solver import Control, Question
from solver.pool.base import WorkerLostError, compute_here


class InlinePool:
    """A pool that computes at once on the calling thread; some questions kill their workers."""

    is_reentrant = False
    width = 2

    def __init__(self, killers: tuple[Question, ...] = ()) -> None:
        self._killers = killers

    def compute(self, question: Question, control: Control) -> Any:
        return self.submit(question, control).result()

    def submit(self, question: Question, control: Control | None = None, *, width: int | None = None) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            if question in self._killers:
                raise WorkerLostError("killed")
            future.set_result(self.answer(question, control))
        except Exception as error:
            future.set_exception(error)
        return future

    def answer(self, question: Question, control: Control | None) -> Any:
        return compute_here(question, control)

    def map(self, function: Callable[[Any], Any], items: Any, *, in_order: bool = True) -> Iterator[Any]:
        return map(function, items)

    def close(self) -> None: ...
