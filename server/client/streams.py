"""Streams of answers for programs without asyncio."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Generic, TypeVar

from .refusals import Refused

T = TypeVar("T")


class Stream(Iterator[T], Generic[T]):
    """The answers of a stream, as they arrive. To stop the work, cancel it, leave its `with` block or drop it."""

    def __init__(self, answers: Iterator[T], cancel: Callable[[], object]) -> None:
        self._answers, self._cancel = answers, cancel
        self._is_cancelled = False

    def __next__(self) -> T:
        if not self._is_cancelled:
            try:
                answer = next(self._answers)
            except Refused:
                if not self._is_cancelled:
                    raise
            else:
                if not self._is_cancelled:
                    return answer
        raise StopIteration

    def cancel(self) -> None:
        """Stop the work and end the stream, from any thread."""
        self._is_cancelled = True
        self._cancel()

    close = cancel

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()
