"""The client for programs with asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, TypeVar

import grpc

from eminence.v1 import (
    record_pb2,
    referee_pb2_grpc,
    rules_pb2_grpc,
    seat_pb2,
    solver_pb2_grpc,
    table_pb2_grpc,
    view_pb2,
)
from eminence.v1 import solver_pb2 as pb

from .pace import check_pace, pause
from .refusals import raising_refused
from .requests import (
    LONG_SECONDS,
    OPTIONS,
    PROMPT_SECONDS,
    REFEREE,
    RULES,
    TABLES,
    analyze_request,
    check_address,
    compare_stream_request,
    equip,
    metadata_of,
    review_seconds,
    seconds_for,
)

T = TypeVar("T")


class AsyncStream(AsyncIterator[T], Generic[T]):
    """The answers of a stream, as they arrive.

    To end it early, call `cancel`, leave its `async with` block or cancel the task that reads it. Dropping the stream
    is not enough: grpc.aio does not always notice.
    """

    def __init__(self, call: Any) -> None:
        self._call, self._answers = call, call.__aiter__()
        self._is_cancelled = False

    async def __anext__(self) -> T:
        if self._is_cancelled:
            raise StopAsyncIteration
        try:
            with raising_refused():
                answer: T = await self._answers.__anext__()
            return answer
        except BaseException:
            # If the reader's task was cancelled, cancel the call at the server, too.
            if self._is_cancelled:
                raise StopAsyncIteration from None
            self._call.cancel()
            raise

    def cancel(self) -> None:
        self._is_cancelled = True
        self._call.cancel()

    async def aclose(self) -> None:
        self.cancel()

    async def __aenter__(self) -> AsyncStream[T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()


class AsyncClient:
    """The interface of `Client` with coroutines. Cancelling a task cancels its call at the server, too."""

    def __init__(self, address: str, *, token: str = "", credentials: grpc.ChannelCredentials | None = None) -> None:
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(check_address(address), OPTIONS)
        else:
            self._channel = grpc.aio.secure_channel(check_address(address), credentials, OPTIONS)
        self._metadata = metadata_of(token)
        self.stub = solver_pb2_grpc.SolverServiceStub(self._channel)
        self.rules = rules_pb2_grpc.RulesServiceStub(self._channel)
        self.referee = referee_pb2_grpc.RefereeServiceStub(self._channel)
        equip(self.rules, RULES, self._metadata, _answer)
        equip(self.referee, REFEREE, self._metadata, _answer)
        self.tables = table_pb2_grpc.TableServiceStub(self._channel)
        equip(self.tables, TABLES, self._metadata, _answer, lambda begin: AsyncStream(begin()))

    async def suggest(
        self,
        view: view_pb2.View,
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        *,
        seconds: float | None = None,
        think_at_least: float = 0.0,
    ) -> pb.Suggestion:
        """Return the best move of the view's observer, with the figures of all moves.

        The answer arrives after `think_at_least` seconds at the earliest, but never after the deadline.
        """
        check_pace(think_at_least)
        begun = time.monotonic()
        request = pb.SuggestRequest(view=view, budget=budget, options=options)
        timeout = seconds_for(budget) if seconds is None else seconds
        answer: pb.SuggestResponse = await self._call(self.stub.Suggest, request, timeout)
        await asyncio.sleep(pause(begun, think_at_least, timeout))
        return answer.suggestion

    def analyze(
        self,
        view: view_pb2.View,
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        interval_ms: int = 500,
        *,
        seconds: float | None = None,
    ) -> AsyncStream[pb.AnalyzeResponse]:
        """Search, and yield the answer so far about every `interval_ms`."""
        request = analyze_request(view, budget, options, interval_ms)
        timeout = seconds_for(budget) if seconds is None else seconds
        return AsyncStream(self.stub.Analyze(request, timeout=timeout, metadata=self._metadata))

    async def compare(
        self,
        view: view_pb2.View,
        actions: Sequence[view_pb2.Action],
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        *,
        seconds: float | None = None,
    ) -> pb.Comparison:
        """Compare several moves on the same sampled worlds."""
        request = pb.CompareRequest(view=view, actions=actions, budget=budget, options=options)
        timeout = seconds_for(budget) if seconds is None else seconds
        answer: pb.CompareResponse = await self._call(self.stub.Compare, request, timeout)
        return answer.comparison

    def compare_stream(
        self,
        view: view_pb2.View,
        actions: Sequence[view_pb2.Action],
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        interval_ms: int = 500,
        *,
        seconds: float | None = None,
    ) -> AsyncStream[pb.CompareStreamResponse]:
        """Compare several moves, and yield the answer so far about every `interval_ms`."""
        request = compare_stream_request(view, actions, budget, options, interval_ms)
        timeout = seconds_for(budget) if seconds is None else seconds
        return AsyncStream(self.stub.CompareStream(request, timeout=timeout, metadata=self._metadata))

    def analyze_batch(
        self,
        requests: AsyncIterator[pb.AnalyzeBatchRequest] | Iterator[pb.AnalyzeBatchRequest],
        *,
        seconds: float = LONG_SECONDS,
    ) -> AsyncStream[pb.AnalyzeBatchResponse]:
        """Answer a stream of positions."""
        return AsyncStream(self.stub.AnalyzeBatch(requests, timeout=seconds, metadata=self._metadata))

    def review(
        self,
        record: record_pb2.Record,
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        *,
        seat: seat_pb2.Seat.ValueType = seat_pb2.SEAT_UNSPECIFIED,
        seconds: float | None = None,
    ) -> AsyncStream[pb.ReviewResponse]:
        """Judge the decisions of a game; yield one after the other, then a summary."""
        request = pb.ReviewRequest(record=record, seat=seat, budget=budget, options=options)
        timeout = review_seconds(record, budget) if seconds is None else seconds
        return AsyncStream(self.stub.Review(request, timeout=timeout, metadata=self._metadata))

    async def write_report(
        self,
        record: record_pb2.Record,
        decisions: Iterable[pb.ReviewedDecision],
        summary: pb.ReviewSummary,
        options: pb.Options | None = None,
        *,
        seat: seat_pb2.Seat.ValueType = seat_pb2.SEAT_UNSPECIFIED,
        language: str = "",
        seconds: float = PROMPT_SECONDS,
    ) -> str:
        """Return the report of a review, one HTML page, from the decisions and the summary of `review`."""
        request = pb.WriteReportRequest(
            record=record, seat=seat, decisions=decisions, summary=summary, options=options, language=language
        )
        response: pb.WriteReportResponse = await self._call(self.stub.WriteReport, request, seconds)
        return response.html

    async def _call(self, method: Any, request: Any, seconds: float) -> Any:
        return await _answer(lambda: method(request, timeout=seconds, metadata=self._metadata))

    async def close(self) -> None:
        await self._channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def _answer(begin: Callable[[], Any]) -> Any:
    """Await the answer of a call. If the waiting task is cancelled, cancel the call: grpc.aio does not always do so."""
    call = begin()
    try:
        with raising_refused():
            return await call
    finally:
        call.cancel()
