"""The driver's assignment of calls to fake workers: an ALONE call gets a worker without other calls."""

from __future__ import annotations

import json
import struct
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ray.exceptions import RayActorError

from solver.expected_signature import SIGNATURE
from solver.pool import ray_driver
from solver.pool.driver_channel import Channel, Frame, FrameKind, GroupOptions, write_groups
from solver.pool.ray_driver import Workers


class FakeRef:
    def __init__(self) -> None:
        self.result: Future[Any] = Future()

    def future(self) -> Future[Any]:
        return self.result


class FakeMethod:
    def __init__(self, calls: dict[int, FakeRef]) -> None:
        self._calls = calls

    def remote(self, call: Any = b"", *_: object) -> FakeRef:
        ref = FakeRef()
        # The message of a search begins with the number of its call.
        number = call if isinstance(call, int) else struct.unpack_from("<Q", call)[0]
        self._calls[number] = ref
        return ref


class FakeHandle:
    """A worker that is ready at once; tests end its calls."""

    def __init__(self) -> None:
        self.calls: dict[int, FakeRef] = {}
        self.search = self.batch = FakeMethod(self.calls)
        self.stop = SimpleNamespace(remote=lambda call: None)
        self.ready = SimpleNamespace(remote=self._ready)

    def _ready(self) -> FakeRef:
        ref = FakeRef()
        ref.result.set_result(json.dumps([0, "node", SIGNATURE]).encode())
        return ref


class FakeDriver:
    """A driver with fake workers, whose calls the tests end."""

    def __init__(self, n: int) -> None:
        self.sent: list[tuple[FrameKind, int]] = []
        self.workers = Workers(cast(Channel, self), n)
        self.workers._target = n
        self.workers._grow()
        self.catch_up()
        self.sent.clear()

    def send(self, kind: FrameKind, call: int = 0, payload: bytes = b"") -> bool:
        if kind != FrameKind.STATE:
            self.sent.append((kind, call))
        return True

    def catch_up(self) -> None:
        """Run the queued tasks, as the thread of `keep` does."""
        while not self.workers._todo.empty():
            self.workers._todo.get()()

    def call(self, kind: FrameKind, *calls: int) -> None:
        for call in calls:
            job = write_groups([0], GroupOptions(1, 0, 0.0), b"") if kind == FrameKind.SEARCH else b""
            self.workers.handle(Frame(kind, call, job))

    @property
    def running(self) -> list[set[int]]:
        return [set(member.calls) for member in self.workers._members]

    def end(self, call: int) -> None:
        self._ref(call).result.set_result(b"")
        self.catch_up()

    def kill_worker_of(self, call: int) -> None:
        self._ref(call).result.set_exception(RayActorError())
        self.catch_up()

    def _ref(self, call: int) -> FakeRef:
        ref: FakeRef = next(m.handle.calls.pop(call) for m in self.workers._members if call in m.handle.calls)
        return ref


@pytest.fixture(autouse=True)
def fake_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    context = SimpleNamespace(get_node_id=lambda: "here")
    monkeypatch.setattr(ray_driver, "RemoteWorker", SimpleNamespace(remote=FakeHandle))
    monkeypatch.setattr(
        ray_driver, "ray", SimpleNamespace(get_runtime_context=lambda: context, kill=lambda handle: None)
    )


def test_calls_go_to_the_worker_with_the_fewest_calls() -> None:
    driver = FakeDriver(2)
    driver.call(FrameKind.BATCH, 1, 2, 3, 4)
    assert sorted(map(len, driver.running)) == [2, 2]


def test_an_alone_call_waits_until_the_only_worker_is_free_and_does_not_share_it() -> None:
    driver = FakeDriver(1)
    driver.call(FrameKind.BATCH, 1, 2)
    driver.call(FrameKind.ALONE, 3)
    driver.call(FrameKind.BATCH, 4)
    assert driver.running == [{1, 2}]
    driver.end(1)
    assert driver.running == [{2}]  # call 4 came after the ALONE call 3, so it waits
    driver.end(2)
    assert driver.running == [{3}]
    driver.call(FrameKind.BATCH, 5)
    assert driver.running == [{3}]
    driver.end(3)
    assert driver.running == [{4, 5}]


def test_alone_calls_run_one_after_the_other() -> None:
    driver = FakeDriver(1)
    driver.call(FrameKind.ALONE, 1, 2)
    assert driver.running == [{1}]
    driver.end(1)
    assert driver.running == [{2}]


def test_alone_calls_take_at_most_half_of_the_workers() -> None:
    driver = FakeDriver(4)
    driver.call(FrameKind.ALONE, 1, 2, 3)
    driver.call(FrameKind.BATCH, 4, 5, 6, 7)
    assert sorted(map(sorted, driver.running)) == [[1], [2], [4, 6], [5, 7]]
    driver.end(1)
    assert {3} in driver.running


def test_a_search_does_not_wait_for_an_alone_call() -> None:
    driver = FakeDriver(1)
    driver.call(FrameKind.ALONE, 1)
    driver.call(FrameKind.SEARCH, 2)
    assert driver.sent == [(FrameKind.NO_WORKER, 2)]
    assert driver.running == [{1}]


def test_a_worker_that_is_lost_over_an_alone_call_takes_no_other_call_with_it() -> None:
    driver = FakeDriver(2)
    driver.call(FrameKind.BATCH, 1)
    driver.call(FrameKind.ALONE, 2)
    driver.call(FrameKind.BATCH, 3, 4)
    assert {2} in driver.running
    driver.kill_worker_of(2)
    assert driver.sent == [(FrameKind.LOST, 2)]
    # Its replacement is not reserved.
    driver.call(FrameKind.BATCH, 5)
    assert sorted(map(sorted, driver.running)) == [[1, 3, 4], [5]]


def test_a_queued_alone_call_that_is_stopped_reserves_no_worker() -> None:
    driver = FakeDriver(1)
    driver.call(FrameKind.BATCH, 1)
    driver.call(FrameKind.ALONE, 2)
    driver.call(FrameKind.STOP, 2)
    assert driver.sent == [(FrameKind.NO_WORKER, 2)]
    driver.call(FrameKind.BATCH, 3)
    assert driver.running == [{1, 3}]
