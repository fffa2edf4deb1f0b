"""Threads of this process: a search holds no lock of Python's, so they run at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

from solver.control import Control
from solver.merge import Share
from solver.pool import cores
from solver.pool.base import PendingAnswer, answer_from, answer_without_parts, completed, wait_for
from solver.pool.parts import Progress, progress_to, search_parts
from solver.question import Question

T = TypeVar("T")
R = TypeVar("R")


class Threads:
    """Computes the parts of a question on some threads at once; several parts of one thread take turns.

    `initializer` is called once on each thread.
    """

    is_reentrant = False

    def __init__(self, threads: int | None = None, initializer: Callable[[], None] | None = None) -> None:
        self.width = threads or cores()
        self._executor = ThreadPoolExecutor(self.width, "search", initializer)
        self._pending: set[Future[Any]] = set()

    def submit(self, question: Question, control: Control | None = None, *, width: int | None = None) -> Future[Any]:
        run = _Run(question, control or Control(), min(width or self.width, self.width))
        self._pending.add(run.answer)
        run.answer.add_done_callback(self._pending.discard)
        try:
            for group in range(run.n_groups):
                self._executor.submit(run.compute, group).add_done_callback(run.end_if_dropped)
        except RuntimeError:  # the pool is closed
            run.answer.answer(CancelledError())
        return run.answer

    def compute(self, question: Question, control: Control) -> Any:
        return wait_for(self.submit(question, control), control)

    def map(self, function: Callable[[T], R], items: Iterable[T], *, in_order: bool = True) -> Iterator[R]:
        def begin(item: T) -> Future[R]:
            return self._executor.submit(function, item)

        for _, future in completed(begin, items, in_order=in_order, ahead=2 * self.width):
            yield future.result()

    def call(self, function: Callable[..., R], *arguments: object) -> Future[R]:
        """Have something computed that is no question."""
        return self._executor.submit(function, *arguments)

    def close(self, *, wait: bool = True) -> None:
        # Before groups that wait are dropped, which ends their answers.
        pending = list(self._pending)
        self._executor.shutdown(wait=False, cancel_futures=True)
        for answer in pending:
            answer.cancel()
        self._executor.shutdown(wait=wait)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Run:
    """A question whose parts are computed in groups. The first group prepares what all share, the last one answers: no
    thread waits for another one that may not have begun."""

    def __init__(self, question: Question, control: Control, threads: int) -> None:
        self.answer = PendingAnswer(control)
        self.n_groups = max(1 if question.meets else min(threads, question.n_parts), 1)
        self._question, self._control = question, control
        self._began = time.perf_counter()
        self._preparing, self._ending = Lock(), Lock()
        self._progress: Progress | None = None
        self._left = self.n_groups
        self._shares: dict[int, Share] = {}

    def compute(self, group: int) -> None:
        try:
            progress = self._prepare()
            if progress is None:
                return
            numbers = range(group, self._question.n_parts, self.n_groups)
            runs = search_parts(self._question, numbers, self._control, progress)  # their trees outlive the answer
            with self._ending:
                self._shares.update({run.number: run.share() for run in runs})
                self._left -= 1
                is_last = self._left == 0
            if is_last:
                parts = [self._shares[number] for number in range(self._question.n_parts)]
                self.answer.answer(answer_from(self._question, parts, self._began))
        except BaseException as error:
            self._control.stop()
            self.answer.answer(error)

    def end_if_dropped(self, group: Future[None]) -> None:
        """The pool was closed before this group began."""
        if group.cancelled():
            self.answer.answer(CancelledError())

    def _prepare(self) -> Progress | None:
        """Return None if the answer is there without a search."""
        with self._preparing:
            if self._progress is None and not self.answer.done():
                found = answer_without_parts(self._question, self._began)
                if found is not None:
                    self.answer.answer(found)
                    return None
                self._question.get_ready()
                self._progress = progress_to(self._control, self._question)
            return self._progress
