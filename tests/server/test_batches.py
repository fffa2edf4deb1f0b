"""Batches release tasks, memory and quota when items are cancelled and clients leave.

The answers of batches are tested in test_adviser.py.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import pytest
from call_counts import counted_calls
from waiting import settle

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from server.rpc.callers import Bounds, Caller, set_caller
from server.rpc.deadline import Deadline
from server.services.batch import Batch


async def forever(*question: Any) -> Any:
    await asyncio.Event().wait()


def item(name: str) -> pb.AnalyzeBatchRequest:
    return pb.AnalyzeBatchRequest(item=pb.BatchItem(id=name, view=view_pb2.View()))


async def requests_of(*requests: pb.AnalyzeBatchRequest) -> AsyncIterator[pb.AnalyzeBatchRequest]:
    for request in requests:
        yield request
    await forever()


@pytest.mark.parametrize("names", [(), ("a",), ("a", "b", "c")])
def test_no_task_remains_when_the_client_leaves(names: tuple[str, ...]) -> None:
    async def leave() -> set[asyncio.Task[Any]]:
        answers = Batch(forever, 2).answers(requests_of(*map(item, names)), Deadline(0))
        listening = asyncio.ensure_future(anext(answers))
        await settle()
        listening.cancel()
        await settle()
        assert listening.cancelled()
        return asyncio.all_tasks()

    assert len(asyncio.run(leave())) == 1  # this one


def cancel(name: str) -> pb.AnalyzeBatchRequest:
    return pb.AnalyzeBatchRequest(cancel=pb.CancelItem(id=name))


@pytest.mark.parametrize("has_started", [True, False])
def test_a_cancelled_item_is_answered_before_a_thread_is_free(has_started: bool) -> None:
    """Cancel an item for which a worker already waits for a thread, and one that is still queued."""

    async def answer(message: pb.BatchItem, *rest: Any) -> pb.Suggestion:
        is_cancelled = rest[-1]
        if not is_cancelled():
            await forever()
        return pb.Suggestion(seed=5)

    async def cancelled() -> list[Any]:
        names = ["first", "second", "third"]
        answers = Batch(answer, 1).answers(
            requests_of(*map(item, names), cancel(names[0 if has_started else 2])), Deadline(0)
        )
        answered = await asyncio.wait_for(anext(answers), 60)
        await answers.aclose()
        await settle()
        return [answered.id, answered.suggestion.seed, len(asyncio.all_tasks())]

    assert asyncio.run(cancelled()) == ["first" if has_started else "third", 5, 1]


def test_cancelling_an_answered_item_that_was_not_sent_yet_changes_nothing() -> None:
    async def answer(message: bytes, *rest: Any) -> pb.Suggestion:
        return pb.Suggestion(seed=7)

    async def run() -> None:
        read_on = asyncio.Event()

        async def requests() -> AsyncIterator[pb.AnalyzeBatchRequest]:
            for name in "abcde":
                yield item(name)
            await read_on.wait()
            yield cancel("c")
            yield pb.AnalyzeBatchRequest(cancel_all=pb.CancelAll())

        answers = Batch(answer, 1).answers(requests(), Deadline(0))
        responses = [await anext(answers)]
        await settle()  # the second answer is ready; the third item waits until the client reads it
        read_on.set()
        await settle()
        await read(answers, responses)
        assert sorted(response.id for response in responses) == list("abcde")
        assert {response.suggestion.seed for response in responses} == {7}

    asyncio.run(asyncio.wait_for(run(), 60))


class UnstoppableSlot:
    def stop(self, reason: Any) -> None:
        pass


@pytest.mark.parametrize("steps", [None, 0, 1, 2, 3])
def test_nothing_remains_when_the_client_leaves_while_an_item_ends(steps: int | None) -> None:
    """End an item `steps` steps of the event loop before the client leaves, or with None by a cancel."""

    async def leave() -> None:
        caller = Caller(Bounds())
        set_caller(caller)
        suggestion = asyncio.get_running_loop().create_future()
        leaving = asyncio.Event()

        async def answer(message: bytes, *rest: Any) -> Any:
            *_, on_start, is_cancelled = rest
            on_start(UnstoppableSlot())
            return pb.Suggestion() if is_cancelled() else await suggestion

        async def requests() -> AsyncIterator[pb.AnalyzeBatchRequest]:
            yield item("a")
            await leaving.wait()
            yield cancel("a")
            await forever()

        answers = Batch(answer, 1).answers(requests(), Deadline(0))
        listening = asyncio.ensure_future(anext(answers))
        await settle()
        if steps is None:
            leaving.set()
            await settle()
        else:
            suggestion.set_result(pb.Suggestion())
            for _ in range(steps):
                await asyncio.sleep(0)
        listening.cancel()
        await settle()
        assert dict(caller.holds) == {"bytes": 0, "positions": 0}
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(leave())


async def answer_cancelled(message: bytes, *rest: Any) -> pb.Suggestion:
    """Answer an item only if it was cancelled."""
    is_cancelled = rest[-1]
    return pb.Suggestion() if is_cancelled() else await forever()


async def read(answers: AsyncIterator[pb.AnalyzeBatchResponse], responses: list[pb.AnalyzeBatchResponse]) -> None:
    async for response in answers:
        responses.append(response)


def test_a_cancelled_item_makes_room_for_another_once_it_is_answered() -> None:
    async def refused(*requests: pb.AnalyzeBatchRequest, pauses: bool = False) -> list[str]:
        set_caller(Caller(Bounds(positions=2)))

        async def paced() -> AsyncIterator[pb.AnalyzeBatchRequest]:
            async for request in requests_of(*requests):
                yield request
                if pauses:
                    await settle()

        responses: list[pb.AnalyzeBatchResponse] = []
        reading = asyncio.ensure_future(read(Batch(answer_cancelled, 1).answers(paced(), Deadline(0)), responses))
        for _ in requests:
            await settle()
        reading.cancel()
        await settle()
        return [response.id for response in responses if response.HasField("error")]

    many = [item(name) for name in "abcd"]
    assert asyncio.run(refused(*many)) == ["c", "d"]
    assert asyncio.run(refused(*many, pauses=True)) == ["c", "d"]  # one of them has started
    cancelling = [*many[:2], cancel("b"), *many[2:]]
    assert asyncio.run(refused(*cancelling)) == ["c", "d"]
    assert asyncio.run(refused(*cancelling, pauses=True)) == ["d"]


@pytest.mark.parametrize("at_once", [1, 2])
def test_cancelled_items_leave_no_bytes(at_once: int) -> None:
    """Cancel items that are queued behind a long one, and items that have started and wait for a thread."""
    text, n = "x" * 100_000, 50

    async def requests() -> AsyncIterator[pb.AnalyzeBatchRequest]:
        yield item("long")
        await settle()
        for i in range(n):
            yield pb.AnalyzeBatchRequest(item=pb.BatchItem(id=str(i), view=view_pb2.View(text=text), priority=i - 20))
            await settle()
            yield cancel(str(i))
            await settle()
        await forever()

    async def traced() -> int:
        responses: list[pb.AnalyzeBatchResponse] = []
        batch = Batch(answer_cancelled, at_once)
        reading = asyncio.ensure_future(read(batch.answers(requests(), Deadline(0)), responses))
        gc.disable()
        tracemalloc.start()
        try:
            while len(responses) < n:
                await asyncio.sleep(0)
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
            gc.enable()
            reading.cancel()
            await settle()

    assert asyncio.run(traced()) < 5 * len(text)


def test_a_repeated_cancel_all_costs_nothing() -> None:
    """Count calls with one cancelled item that has no answer yet, and with a thousand."""

    async def n_calls(n: int) -> int:
        cancel_all = pb.AnalyzeBatchRequest(cancel_all=pb.CancelAll())
        calls: list[str] = []

        async def requests() -> AsyncIterator[pb.AnalyzeBatchRequest]:
            for i in range(n):
                yield item(str(i))
            yield cancel_all
            with counted_calls() as names:
                for _ in range(100):
                    yield cancel_all
            calls.extend(names)
            await forever()

        reading = asyncio.ensure_future(read(Batch(forever, 1).answers(requests(), Deadline(0)), []))
        await settle()
        reading.cancel()
        await settle()
        return len(calls)

    assert 0 < asyncio.run(n_calls(1000)) == asyncio.run(n_calls(1))


def test_an_item_counts_once_for_the_quota_and_a_cancelled_one_does_not_wait_for_it() -> None:
    """Send five items with a quota of three a minute: two are refused, the others cancelled."""

    async def run() -> None:
        set_caller(Caller(Bounds(), per_minute=3))
        names = "abcde"
        responses: list[pb.AnalyzeBatchResponse] = []

        async def requests() -> AsyncIterator[pb.AnalyzeBatchRequest]:
            for name in names:
                yield item(name)
            await settle()
            yield pb.AnalyzeBatchRequest(cancel_all=pb.CancelAll())

        async for response in Batch(answer_cancelled, 1).answers(requests(), Deadline(0)):
            responses.append(response)
        refused = [response for response in responses if response.HasField("error")]
        assert sorted(response.id for response in responses) == list(names)
        assert len(refused) == 2
        assert all("calls_per_minute" in response.error.message for response in refused)

    asyncio.run(run())


def test_a_batch_holds_positions_and_bytes_of_its_unanswered_items() -> None:
    """Count queued items and started ones; the end of the call releases them."""
    size = item("a").item.ByteSize()

    async def run() -> None:
        caller = Caller(Bounds(bytes=3 * size))
        set_caller(caller)
        answers = Batch(forever, 1).answers(requests_of(*map(item, "abcd")), Deadline(0))
        refused = await anext(answers)
        assert refused.id == "d"
        assert "caller_bytes" in refused.error.message
        assert dict(caller.holds) == {"bytes": 3 * size, "positions": 3}
        await answers.aclose()
        await settle()
        assert dict(caller.holds) == {"bytes": 0, "positions": 0}

    asyncio.run(run())
