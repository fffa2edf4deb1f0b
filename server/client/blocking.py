"""The client for programs without asyncio."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, TypeVar

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
from .streams import Stream

T = TypeVar("T")


class Client:
    """A connection to a server. `credentials` enable TLS; every call sends `token`.

    The deadline of a call is `seconds`, or follows from its budget. The server answers before it, with the result so
    far. `rules`, `referee` and `tables` have the methods of these services; a call of theirs has ten seconds, a stream
    an hour, or `timeout`. All calls raise `Refused`. `stub` is gRPC's own, and raises gRPC's errors.
    """

    def __init__(self, address: str, *, token: str = "", credentials: grpc.ChannelCredentials | None = None) -> None:
        if credentials is None:
            self._channel = grpc.insecure_channel(check_address(address), OPTIONS)
        else:
            self._channel = grpc.secure_channel(check_address(address), credentials, OPTIONS)
        self._metadata = metadata_of(token)
        self.stub = solver_pb2_grpc.SolverServiceStub(self._channel)
        self.rules = rules_pb2_grpc.RulesServiceStub(self._channel)
        self.referee = referee_pb2_grpc.RefereeServiceStub(self._channel)
        equip(self.rules, RULES, self._metadata, _answer)
        equip(self.referee, REFEREE, self._metadata, _answer)
        self.tables = table_pb2_grpc.TableServiceStub(self._channel)
        equip(self.tables, TABLES, self._metadata, _answer, _begin)

    def suggest(
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
        response: pb.SuggestResponse = self._call(self.stub.Suggest, request, timeout)
        time.sleep(pause(begun, think_at_least, timeout))
        return response.suggestion

    def analyze(
        self,
        view: view_pb2.View,
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        interval_ms: int = 500,
        *,
        seconds: float | None = None,
    ) -> Stream[pb.AnalyzeResponse]:
        """Search, and yield the answer so far about every `interval_ms`."""
        request = analyze_request(view, budget, options, interval_ms)
        timeout = seconds_for(budget) if seconds is None else seconds
        return self._stream(self.stub.Analyze, request, timeout)

    def compare(
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
        response: pb.CompareResponse = self._call(self.stub.Compare, request, timeout)
        return response.comparison

    def compare_stream(
        self,
        view: view_pb2.View,
        actions: Sequence[view_pb2.Action],
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        interval_ms: int = 500,
        *,
        seconds: float | None = None,
    ) -> Stream[pb.CompareStreamResponse]:
        """Compare several moves, and yield the answer so far about every `interval_ms`."""
        request = compare_stream_request(view, actions, budget, options, interval_ms)
        timeout = seconds_for(budget) if seconds is None else seconds
        return self._stream(self.stub.CompareStream, request, timeout)

    def analyze_batch(
        self, requests: Iterable[pb.AnalyzeBatchRequest], *, seconds: float = LONG_SECONDS
    ) -> Stream[pb.AnalyzeBatchResponse]:
        """Answer a stream of positions. Another thread reads `requests` while answers arrive."""
        return self._stream(self.stub.AnalyzeBatch, iter(requests), seconds)

    def review(
        self,
        record: record_pb2.Record,
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        *,
        seat: seat_pb2.Seat.ValueType = seat_pb2.SEAT_UNSPECIFIED,
        seconds: float | None = None,
    ) -> Stream[pb.ReviewResponse]:
        """Judge the decisions of a game; yield one after the other, then a summary."""
        request = pb.ReviewRequest(record=record, seat=seat, budget=budget, options=options)
        timeout = review_seconds(record, budget) if seconds is None else seconds
        return self._stream(self.stub.Review, request, timeout)

    def write_report(
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
        response: pb.WriteReportResponse = self._call(self.stub.WriteReport, request, seconds)
        return response.html

    def _call(self, method: Any, request: Any, seconds: float) -> Any:
        with raising_refused():
            return method(request, timeout=seconds, metadata=self._metadata)

    def _stream(self, method: Any, requests: Any, seconds: float) -> Stream[Any]:
        return _begin(lambda: self._call(method, requests, seconds))

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _answers(call: Iterator[T]) -> Iterator[T]:
    with raising_refused():
        yield from call


def _begin(begin: Callable[[], Any]) -> Stream[Any]:
    with raising_refused():
        call = begin()
    return Stream(_answers(call), call.cancel)


def _answer(call: Callable[[], Any]) -> Any:
    with raising_refused():
        return call()
