"""Single calls and streams: bytes in, statuses out, and no work for a client that has left."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import pytest
from grpc_status import rpc_status
from process import refusal_of
from sockets import serving
from waiting import HANG_S, wait_until

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc
from server.refusals import Refusal
from server.rpc.callers import Context

SOLVER = pb.DESCRIPTOR.services_by_name["SolverService"]


class Work:
    """An object that a handler holds while it runs."""


class Adviser:
    """A service that does not search; the iterations of a request select how the call ends."""

    def __init__(self) -> None:
        self.has_ended = threading.Event()
        self.held: list[weakref.ref[Work]] = []  # of failed calls

    async def Suggest(self, request: pb.SuggestRequest, context: Context) -> pb.SuggestResponse:
        work = Work()
        self.held.append(weakref.ref(work))
        raise Refusal("OVERLOADED", "", "come back later")

    async def Analyze(self, request: pb.AnalyzeRequest, context: Context) -> AsyncIterator[pb.AnalyzeResponse]:
        work = Work()
        self.held.append(weakref.ref(work))
        yield pb.AnalyzeResponse()
        match request.budget.iterations:
            case 1:
                raise Refusal("OUT_OF_RANGE", "budget.iterations", "1 is too few")
            case 2:
                raise KeyError("B holds the Ambush")
            case 3:
                try:
                    await asyncio.Event().wait()
                finally:
                    self.has_ended.set()
        yield pb.AnalyzeResponse(last=True)

    async def AnalyzeBatch(
        self, requests: AsyncIterator[pb.AnalyzeBatchRequest], context: Context
    ) -> AsyncIterator[pb.AnalyzeBatchResponse]:
        async for request in requests:
            yield pb.AnalyzeBatchResponse(id=request.item.id)

    async def Review(self, request: pb.ReviewRequest, context: Context) -> AsyncIterator[pb.ReviewResponse]:
        yield pb.ReviewResponse()

    async def Compare(self, request: pb.CompareRequest, context: Context) -> pb.CompareResponse:
        return pb.CompareResponse()

    async def WriteReport(self, request: pb.WriteReportRequest, context: Context) -> pb.WriteReportResponse:
        return pb.WriteReportResponse()

    async def CompareStream(
        self, request: pb.CompareStreamRequest, context: Context
    ) -> AsyncIterator[pb.CompareStreamResponse]:
        yield pb.CompareStreamResponse()


@pytest.fixture(scope="module")
def adviser() -> Adviser:
    return Adviser()


@pytest.fixture(scope="module")
def channel(adviser: Adviser) -> Iterator[grpc.Channel]:
    with serving([(SOLVER, adviser)]) as channel:
        yield channel


@pytest.fixture
def stub(channel: grpc.Channel) -> Any:
    return solver_pb2_grpc.SolverServiceStub(channel)


def status_and_reason(error: Any) -> tuple[str, str]:
    """Return the status code and reason of a failed call; check that its status hides the text of a bug."""
    assert "Ambush" not in str(rpc_status.from_call(error))
    return refusal_of(error)[:2]


def analyze(iterations: int) -> pb.AnalyzeRequest:
    return pb.AnalyzeRequest(budget=pb.Budget(iterations=iterations))


def test_a_stream_and_a_single_call_succeed(stub: Any) -> None:
    assert [response.last for response in stub.Analyze(analyze(9))] == [False, True]
    assert stub.Compare(pb.CompareRequest()) == pb.CompareResponse()


@pytest.mark.parametrize(
    ("iterations", "status"), [(1, ("INVALID_ARGUMENT", "OUT_OF_RANGE")), (2, ("INTERNAL", "INTERNAL"))]
)
def test_a_stream_that_fails_halfway_ends_with_a_status(stub: Any, iterations: int, status: tuple[str, str]) -> None:
    responses = stub.Analyze(analyze(iterations))
    assert next(responses) == pb.AnalyzeResponse()
    with pytest.raises(grpc.RpcError) as failed:
        next(responses)
    assert status_and_reason(failed.value) == status


def test_a_cancelled_stream_ends_its_handler(stub: Any, adviser: Adviser) -> None:
    responses = stub.Analyze(analyze(3))
    next(responses)
    assert not adviser.has_ended.is_set()
    responses.cancel()
    assert adviser.has_ended.wait(HANG_S)


def test_an_overloaded_server_answers_resource_exhausted(stub: Any) -> None:
    with pytest.raises(grpc.RpcError) as failed:
        stub.Suggest(pb.SuggestRequest())
    assert status_and_reason(failed.value) == ("RESOURCE_EXHAUSTED", "OVERLOADED")


def test_malformed_bytes_end_a_stream_with_a_status(channel: grpc.Channel) -> None:
    good = pb.AnalyzeBatchRequest(item=pb.BatchItem(id="a")).SerializeToString()
    call: Any = channel.stream_stream("/eminence.v1.SolverService/AnalyzeBatch")
    responses = call(iter([good, b"\xff\xff"]))
    assert pb.AnalyzeBatchResponse.FromString(next(responses)).id == "a"
    with pytest.raises(grpc.RpcError) as failed:
        next(responses)
    assert status_and_reason(failed.value) == ("INVALID_ARGUMENT", "MALFORMED_MESSAGE")
    one: Any = channel.unary_stream("/eminence.v1.SolverService/Analyze")
    with pytest.raises(grpc.RpcError) as failed:
        next(one(b"\xff"))
    assert status_and_reason(failed.value) == ("INVALID_ARGUMENT", "MALFORMED_MESSAGE")


def test_a_failed_call_leaves_nothing_to_the_garbage_collector(stub: Any, adviser: Adviser) -> None:
    """Check that work is freed by reference counts: a request may take megabytes, and collections are rare."""
    adviser.held.clear()
    gc.collect()
    gc.disable()
    try:
        for call in (stub.Suggest, lambda request: list(stub.Analyze(request))):
            with pytest.raises(grpc.RpcError):
                call(pb.SuggestRequest() if call is stub.Suggest else pb.AnalyzeRequest(budget=pb.Budget(iterations=2)))
        wait_until(lambda: all(work() is None for work in adviser.held))
        assert len(adviser.held) == 2
    finally:
        gc.enable()
