"""The interface of every pool, and how the parts of a question become its answer."""

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

AHEAD = 1024  # questions that are submitted before the first of them is answered
# The longest wait at a time. If another thread takes a signal, the main thread sees it only when it wakes.
AWAKE_S = 0.1


class PendingAnswer(Future[Any]):
    """An answer under way. To cancel it stops the search, and the answer is what was found until then."""

    def __init__(self, control: Control) -> None:
        super().__init__()
        self.control = control
        self.set_running_or_notify_cancel()

    def cancel(self) -> bool:
        self.control.stop()
        return False

    def answer(self, answer: Any) -> None:
        """Set the result, or the exception if it is one, unless the future has either."""
        with suppress(InvalidStateError):
            if isinstance(answer, BaseException):
                self.set_exception(answer)
            else:
                self.set_result(answer)


class WorkerLostError(RuntimeError):
    """The worker that computed this ended or did not answer."""


class SearchLostError(RuntimeError):
    """A search found nothing, and killed every worker that it was given to."""


class WorkersLostError(RuntimeError):
    """A search found nothing before its time was over, as workers were lost; nothing says that it killed them."""


class Pool(Protocol):
    """Computes questions somewhere: equal questions have equal answers in every pool."""

    @property
    def is_reentrant(self) -> bool:
        """Whether functions that `map` calls may submit questions to this pool and wait for them: they run in this
        process, on threads that compute no parts."""

    @property
    def width(self) -> int:
        """How many workers there are."""

    def submit(self, question: Question, control: Control | None = None, *, width: int | None = None) -> Future[Any]:
        """Have a question computed by at most `width` workers: an Answer, a Comparison or what own cards are worth, by
        the question's shape. Never waits. With a control, the parts of the question are spread over workers; without
        one, the pool chooses what answers many questions soonest."""

    def compute(self, question: Question, control: Control) -> Any:
        """Return the answer to a question, whose parts are spread over workers; the calling thread waits. An interrupt
        meanwhile stops the search."""

    def map(self, function: Callable[[T], R], items: Iterable[T], *, in_order: bool = True) -> Iterator[R]:
        """Call a function with each item, in parallel; the results in the order of the items, or as they come."""

    def close(self) -> None:
        """End what is under way, and the workers."""


def compute_here(question: Question, control: Control | None = None) -> Any:
    """Return the answer, computed on this thread: the definition of what every pool must find."""
    began = time.perf_counter()
    answer = answer_without_parts(question, began)
    if answer is not None:
        return answer
    question.get_ready()
    return answer_from(question, run_parts(question, range(question.n_parts), control or Control()), began)


def answer_without_parts(question: Question, began: float) -> Any:
    """Return the answer if there is nothing to compute; else None."""
    if isinstance(question, SearchQuestion):
        share = answer_at_once(question)
        return None if share is None else answer_without_search(question, share, began)
    return None if question.n_parts else ()


def answer_from(question: Question, shares: Sequence[Share], began: float) -> Any:
    """Return the answer made of all parts, in their order; the question began then, by `time.perf_counter`."""
    match question:
        case SearchQuestion():
            return answer_of(question, shares, began)
        case ComparisonQuestion():
            return comparison_of(question, shares, began)
        case InformationQuestion():
            return information_of(question, shares)
    raise TypeError(f"question: {type(question).__name__} is none of the three shapes")


def wait_for(future: Future[T], control: Control) -> T:
    """Wait for an answer; an interrupt meanwhile stops the search."""
    try:
        while not future.done():
            wait([future], AWAKE_S)
        return future.result()
    except BaseException:
        control.stop()
        raise


# --- many questions -------------------------------------------------------------------------------------------------


class Answered(NamedTuple):
    """The answer to the question with this number, counted from 0, or the error that it ended with."""

    number: int
    answer: Any
    error: Exception | None = None


def answer_many(
    questions: Iterable[Question], pool: Pool, *, in_order: bool = True, ahead: int = AHEAD
) -> Generator[Answered, None, None]:
    """Answer many questions, each exactly once: in their order, or as the answers come.

    At most `ahead` questions have been read and not been answered, so there may be any number. A question over which
    several workers were lost ends with a WorkerLostError. Closing the iterator ends what is under way.
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
    """Begin something for each item, at most `ahead` of them at a time, and yield the numbers and futures of those
    that are done. Closing the generator cancels the others."""
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
