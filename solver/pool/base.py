"""Define the interface of every pool, and turn the parts of a question into its answer."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeVar

from solver.answer import answer_at_once, answer_of, answer_without_search
from solver.compare import comparison_of
from solver.control import Control
from solver.merge import Share
from solver.pool.parts import run_parts
from solver.question import ComparisonQuestion, InformationQuestion, Question, SearchQuestion
from solver.secrecy import information_of

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 1024  # most questions in flight
# The longest single wait. If another thread takes a signal, the main thread sees it only when it wakes.
AWAKE_S = 0.1


class PendingAnswer(Future[Any]):
    """A future answer. `cancel` stops the search, and the future still gets the answer found until then."""

    def __init__(self, control: Control) -> None:
        super().__init__()
        self.control = control
        self.set_running_or_notify_cancel()

    def cancel(self) -> bool:
        self.control.stop()
        return False

    def answer(self, answer: Any) -> None:
        """Set the result, or the exception if `answer` is one, unless the future is already done."""
        with suppress(InvalidStateError):
            if isinstance(answer, BaseException):
                self.set_exception(answer)
            else:
                self.set_result(answer)


class WorkerLostError(RuntimeError):
    """Report that the worker of a question died or stopped responding."""


class SearchLostError(RuntimeError):
    """Report that a search has no result because it killed every worker it ran on."""


class WorkersLostError(RuntimeError):
    """Report that a search has no result by its deadline because workers were lost; it may not be the cause."""


class Pool(Protocol):
    """Compute questions on workers: equal questions have equal answers in every pool."""

    @property
    def is_reentrant(self) -> bool:
        """Whether functions called by `map` may submit questions to this pool and wait for them.

        Such functions run in this process, on threads that compute no parts.
        """

    @property
    def width(self) -> int:
        """The number of workers."""

    def submit(self, question: Question, control: Control | None = None, *, width: int | None = None) -> Future[Any]:
        """Compute a question on at most `width` workers; return a future at once.

        Its result is an Answer, a Comparison or a tuple of Information, by the question's shape. With a control, the
        parts of the question are spread over workers; without one, the pool optimizes for throughput.
        """

    def compute(self, question: Question, control: Control) -> Any:
        """Spread the parts of a question over workers and wait for the answer. An interrupt stops the search."""

    def map(self, function: Callable[[T], R], items: Iterable[T], *, in_order: bool = True) -> Iterator[R]:
        """Call a function with each item, in parallel; yield the results in the order of the items, or as they come."""

    def close(self) -> None:
        """Cancel all work in flight, and end the workers."""


def compute_here(question: Question, control: Control | None = None) -> Any:
    """Compute the answer on this thread: the reference for every pool."""
    started = time.perf_counter()
    answer = answer_without_parts(question, started)
    if answer is not None:
        return answer
    question.prepare()
    return answer_from(question, run_parts(question, range(question.n_parts), control or Control()), started)


def answer_without_parts(question: Question, started: float) -> Any:
    """Return the answer if there is nothing to compute, else None."""
    if isinstance(question, SearchQuestion):
        share = answer_at_once(question)
        return None if share is None else answer_without_search(question, share, started)
    return None if question.n_parts else ()


def answer_from(question: Question, shares: Sequence[Share], started: float) -> Any:
    """Return the answer made of all parts, in their order. `started` is the question's start, by `perf_counter`."""
    match question:
        case SearchQuestion():
            return answer_of(question, shares, started)
        case ComparisonQuestion():
            return comparison_of(question, shares, started)
        case InformationQuestion():
            return information_of(question, shares)
    raise TypeError(f"question: {type(question).__name__} is not a search, comparison or information question")


def wait_for(future: Future[T], control: Control) -> T:
    """Wait for a future; an interrupt stops the search."""
    try:
        while not future.done():
            wait([future], AWAKE_S)
        return future.result()
    except BaseException:
        control.stop()
        raise


# --- many questions -------------------------------------------------------------------------------------------------


class Answered(NamedTuple):
    """Hold the answer or the error of a question, and its number, counted from 0."""

    number: int
    answer: Any
    error: Exception | None = None


def answer_many(
    questions: Iterable[Question], pool: Pool, *, in_order: bool = True, ahead: int = AHEAD
) -> Generator[Answered, None, None]:
    """Answer many questions, each exactly once: in their order, or as the answers come.

    At most `ahead` questions are in flight, so `questions` may be of any length. A question that lost several workers
    ends with a WorkerLostError. Closing the iterator cancels the questions in flight.
    """
    for number, future in completed(pool.submit, questions, in_order=in_order, ahead=ahead):
        error = future.exception()
        if error is not None and not isinstance(error, Exception):
            raise error
        yield Answered(number, None if error else future.result(), error)


def _put_number(done: SimpleQueue[int], number: int, _: object) -> None:
    done.put(number)


def _next_of(numbers: SimpleQueue[int]) -> int:
    while True:
        with suppress(Empty):
            return numbers.get(timeout=AWAKE_S)


def completed(
    begin: Callable[[T], Future[R]], items: Iterable[T], *, in_order: bool, ahead: int
) -> Generator[tuple[int, Future[R]], None, None]:
    """Start a future for each item, at most `ahead` at a time; yield the numbers and futures that are done.

    Closing the generator cancels the others.
    """
    source = enumerate(items)
    pending: dict[int, Future[R]] = {}
    order: deque[int] = deque()
    done: SimpleQueue[int] = SimpleQueue()
    early: set[int] = set()

    def fill() -> None:
        while len(pending) < ahead and (entry := next(source, None)) is not None:
            number, item = entry
            pending[number] = begin(item)
            order.append(number)
            pending[number].add_done_callback(partial(_put_number, done, number))

    try:
        fill()
        while pending:
            number = _next_of(done)
            if not in_order:
                order.remove(number)
                yield number, pending.pop(number)
            else:
                early.add(number)
                while order and order[0] in early:
                    number = order.popleft()
                    early.remove(number)
                    yield number, pending.pop(number)
            fill()
    finally:
        for future in pending.values():
            future.cancel()
