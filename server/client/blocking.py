"""For programs without asyncio."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, TypeVar

import grpc

from eminence.v1 import (
    record_pb2,
    referee_pb2_grpc,
    rules_pb2_grpc,
    seat_pb2,
    solver_pb2_grpc,
    view_pb2,
)
from eminence.v1 import solver_pb2 as pb

from .requests import (
    LONG_SECONDS,
    OPTIONS,
    REFEREE,
    RULES,
    analyze_request,
    check_address,
    equip,
    metadata_of,
    seconds_for,
)

T = TypeVar("T")


class Stream(Iterator[T], Generic[T]):
    """Answers as they come. To cancel it, to leave its `with` block or to drop it stops the work at the server."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self._is_cancelled = False

    def __next__(self) -> T:
        try:
            answer: T = next(self._call)
            return answer
        except grpc.RpcError:
            if self._is_cancelled:
                raise StopIteration from None
            raise

    def cancel(self) -> None:
        """May be called from any thread; whoever reads the stream sees its end."""
        self._is_cancelled = True
        self._call.cancel()

    close = cancel

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()


class Client:
    """A way to a server. `credentials` turn TLS on; `token` goes with every call.

    Each call has a deadline: `seconds`, or what follows from its budget. The server answers before it, with what was
    found by then. `rules` and `referee` are gRPC's own stubs, with the token and ten seconds for each call.
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
        equip(self.rules, RULES, self._metadata)
        equip(self.referee, REFEREE, self._metadata)

    def suggest(
        self,
        view: view_pb2.View,
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        *,
        seconds: float | None = None,
    ) -> pb.Suggestion:
        """The best move, and why."""
        request = pb.SuggestRequest(view=view, budget=budget, options=options)
        timeout = seconds_for(budget) if seconds is None else seconds
        return self.stub.Suggest(request, timeout=timeout, metadata=self._metadata).suggestion

    def analyze(
        self,
        view: view_pb2.View,
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        interval_ms: int = 500,
        *,
        seconds: float | None = None,
    ) -> Stream[pb.AnalyzeResponse]:
        """The answer growing."""
        request = analyze_request(view, budget, options, interval_ms)
        timeout = seconds_for(budget) if seconds is None else seconds
        return Stream(self.stub.Analyze(request, timeout=timeout, metadata=self._metadata))

    def compare(
        self,
        view: view_pb2.View,
        actions: Sequence[view_pb2.Action],
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        *,
        seconds: float | None = None,
    ) -> pb.Comparison:
        """Which of several moves is better."""
        request = pb.CompareRequest(view=view, actions=actions, budget=budget, options=options)
        timeout = seconds_for(budget) if seconds is None else seconds
        return self.stub.Compare(request, timeout=timeout, metadata=self._metadata).comparison

    def analyze_batch(
        self, requests: Iterable[pb.AnalyzeBatchRequest], *, seconds: float = LONG_SECONDS
    ) -> Stream[pb.AnalyzeBatchResponse]:
        """Many positions. `requests` is read on another thread, while the answers come."""
        return Stream(self.stub.AnalyzeBatch(iter(requests), timeout=seconds, metadata=self._metadata))

    def review(
        self,
        record: record_pb2.Record,
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        *,
        seat: seat_pb2.Seat.ValueType = seat_pb2.SEAT_UNSPECIFIED,
        seconds: float = LONG_SECONDS,
    ) -> Stream[pb.ReviewResponse]:
        """The decisions of a game, judged."""
        request = pb.ReviewRequest(record=record, seat=seat, budget=budget, options=options)
        return Stream(self.stub.Review(request, timeout=seconds, metadata=self._metadata))

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
