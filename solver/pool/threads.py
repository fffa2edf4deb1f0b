"""Compute questions on threads of this process: a search releases the GIL, so threads run in parallel."""

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
    """Compute the parts of a question on several threads; several parts of one thread take turns.

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
        """Call a function on a thread of the pool."""
        return self._executor.submit(function, *arguments)

    def close(self, *, wait: bool = True) -> None:
        # Copied before `shutdown` cancels the queued groups, which ends their answers.
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
    """Compute the parts of a question in groups.

    The first group prepares the shared tables and the last one to end answers: no thread waits for a group that may
    not have started.
    """

    def __init__(self, question: Question, control: Control, threads: int) -> None:
        self.answer = PendingAnswer(control)
        self.n_groups = max(1 if question.in_lockstep else min(threads, question.n_parts), 1)
        self._question, self._control = question, control
        self._started = time.perf_counter()
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
                self.answer.answer(answer_from(self._question, parts, self._started))
        except BaseException as error:
            self._control.stop()
            self.answer.answer(error)

    def end_if_dropped(self, group: Future[None]) -> None:
        """Cancel the answer if the pool was closed before this group started."""
        if group.cancelled():
            self.answer.answer(CancelledError())

    def _prepare(self) -> Progress | None:
        """Prepare the question, once; return None if it already has an answer without a search."""
        with self._preparing:
            if self._progress is None and not self.answer.done():
                answer = answer_without_parts(self._question, self._started)
                if answer is not None:
                    self.answer.answer(answer)
                    return None
                self._question.prepare()
                self._progress = progress_to(self._control, self._question)
            return self._progress
