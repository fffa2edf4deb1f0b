"""What a batch leaves behind when nobody listens any more; what it answers is tested in test_adviser.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
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
