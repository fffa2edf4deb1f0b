"""What a batch leaves behind when nobody listens any more; what it answers is tested in test_adviser.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from server.rpc.callers import Bounds, Caller, set_caller
from server.rpc.deadline import Deadline
from server.services.batch import Batch


async def forever(*question: Any) -> Any:
    await asyncio.Event().wait()


def item(name: str) -> pb.AnalyzeBatchRequest:
    return pb.AnalyzeBatchRequest(item=pb.BatchItem(id=name, view=view_pb2.View()))


async def sent(*requests: pb.AnalyzeBatchRequest) -> AsyncIterator[pb.AnalyzeBatchRequest]:
    for request in requests:
        yield request
    await forever()


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize("names", [(), ("a",), ("a", "b", "c")])
def test_a_client_that_leaves_leaves_no_task_behind(names: tuple[str, ...]) -> None:
    async def leave() -> set[asyncio.Task[Any]]:
        answers = Batch(forever, 2).answers(sent(*map(item, names)), Deadline(0))
        listening = asyncio.ensure_future(anext(answers))
        await settled()
        listening.cancel()
        await settled()
        assert listening.cancelled()
        return asyncio.all_tasks()

    assert len(asyncio.run(leave())) == 1  # who looks


def cancel(name: str) -> pb.AnalyzeBatchRequest:
    return pb.AnalyzeBatchRequest(cancel=pb.CancelItem(id=name))


@pytest.mark.parametrize("is_begun", [True, False])
def test_a_cancelled_item_is_answered_before_a_thread_is_free(is_begun: bool) -> None:
    """Whether a worker waits for a thread on its behalf already, or not."""

    async def answer(message: pb.BatchItem, *rest: Any) -> pb.Suggestion:
        is_cancelled = rest[-1]
        if not is_cancelled():
            await forever()
        return pb.Suggestion(seed=5)

    async def cancelled() -> list[Any]:
        names = ["first", "second", "third"]
        answers = Batch(answer, 1).answers(sent(*map(item, names), cancel(names[0 if is_begun else 2])), Deadline(0))
        answered = await asyncio.wait_for(anext(answers), 60)
        await answers.aclose()
        await settled()
        return [answered.id, answered.suggestion.seed, len(asyncio.all_tasks())]

    assert asyncio.run(cancelled()) == ["first" if is_begun else "third", 5, 1]


def test_a_cancelled_item_leaves_its_place_to_another() -> None:
    async def refused(*requests: pb.AnalyzeBatchRequest) -> list[str]:
        set_caller(Caller(Bounds(positions=2)))
        answers = Batch(forever, 1).answers(sent(*requests), Deadline(0))
        ids: list[str] = []

        async def read() -> None:
            async for response in answers:
                if response.HasField("error"):
                    ids.append(response.id)

        reading = asyncio.ensure_future(read())
        await settled()
        reading.cancel()
        await settled()
        return ids

    many = [item(name) for name in "abcd"]
    assert asyncio.run(refused(*many)) == ["c", "d"]
    assert asyncio.run(refused(*many[:2], cancel("a"), *many[2:])) == ["d"]


def test_a_batch_holds_what_has_no_answer_yet() -> None:
    """Positions that wait, and the bytes of all that have no answer: nothing is left when the call ends."""
    size = item("a").item.ByteSize()

    async def held() -> None:
        caller = Caller(Bounds(bytes=3 * size))
        set_caller(caller)
        answers = Batch(forever, 1).answers(sent(*map(item, "abcd")), Deadline(0))
        refused = await anext(answers)
        assert refused.id == "d"
        assert "caller_bytes" in refused.error.message
        assert dict(caller.holds) == {"bytes": 3 * size, "positions": 2}
        await answers.aclose()
        await settled()
        assert dict(caller.holds) == {"bytes": 0, "positions": 0}

    asyncio.run(held())
