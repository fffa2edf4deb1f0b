"""Deadlines: when a search must end for its answer to arrive in time."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from engine_cy import new_game
from server.rpc.admission import Ticket
from server.rpc.deadline import Deadline, rounding_ns
from server.services.searches import AdmittedSearch, Lateness, SearchTerms
from solver import Budget, SearchQuestion

MINUTE_NS = 60 * 10**9
NETWORK_MS, WAY_S = 50.0, 0.02


class Call:
    """A gRPC context with this much time left."""

    def __init__(self, remaining: float | None) -> None:
        self._remaining = remaining

    def time_remaining(self) -> float | None:
        return self._remaining


def rounded_up(seconds: float) -> float:
    """Round a timeout as gRPC's C core does before it sends it."""
    milliseconds = round(seconds * 1000)
    step = 1 if milliseconds < 1_000 else 10 if milliseconds < 10_000 else 100 if milliseconds < 100_000 else 1_000
    return -(-milliseconds // step) * step / 1000


@pytest.mark.parametrize("seconds", [0.1, 0.3, 1, 1.001, 2.001, 4, 9.991, 10.01, 12, 12.05, 100.5])
@pytest.mark.parametrize("is_rounded", [True, False])
def test_an_answer_leaves_early_enough(seconds: float, is_rounded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a network that takes 20 ms each way."""
    monkeypatch.setattr("server.rpc.deadline.time", SimpleNamespace(monotonic_ns=lambda: MINUTE_NS))
    timeout = rounded_up(seconds) if is_rounded else seconds
    deadline = Deadline.of(Call(timeout - WAY_S), NETWORK_MS)  # type: ignore[arg-type]
    until_ns, by_deadline = deadline.end_of(10**6 * MINUTE_NS, since_arrival=True)
    arrival_s = WAY_S + (until_ns - deadline.arrival_ns) / 1e9 + WAY_S
    assert arrival_s <= seconds - 0.009
    assert by_deadline
    # The answer leaves little earlier than it must.
    assert arrival_s >= seconds - 0.02 * seconds - 0.06
    assert Deadline.of(Call(timeout - WAY_S), 0.0).end_of(10**6 * MINUTE_NS, since_arrival=True)[0] > until_ns  # type: ignore[arg-type]


def test_a_call_without_a_deadline_has_all_its_time() -> None:
    deadline = Deadline.of(Call(None), NETWORK_MS)  # type: ignore[arg-type]
    assert deadline.end_of(MINUTE_NS, since_arrival=True) == (deadline.arrival_ns + MINUTE_NS, False)


def test_the_time_of_restarted_work_counts_from_now() -> None:
    deadline = Deadline(5, 10**18, 7)
    assert deadline.restarted()[1:] == (10**18, 7)
    assert deadline.restarted().arrival_ns > 5


@pytest.mark.parametrize(
    ("seconds", "step_ms"),
    [(0.05, 1), (0.999, 1), (1, 10), (9.99, 10), (10, 100), (99.9, 100), (100, 1_000), (1_000, 10_000)],
)
def test_a_timeout_is_rounded_to_the_step_of_its_length(seconds: float, step_ms: int) -> None:
    assert rounding_ns(int(seconds * 1e9)) == step_ms * 10**6


class Stuck:
    """A pool that never answers."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        return Future()


def test_a_missed_deadline_makes_later_searches_end_earlier() -> None:
    async def run() -> int:
        view = new_game("oriflamme", "en-2019", 3).deal(1).view(0)
        lateness, deadline = Lateness(), Deadline(time.monotonic_ns(), time.monotonic_ns() + 10**6, 10**6)
        ticket = Ticket("interactive", 1, 0, 0, False, asyncio.get_running_loop().create_future())
        slot = AdmittedSearch(Stuck(), lateness, ticket, SearchTerms("interactive", 1, 1.0, 60_000.0, True, deadline))  # type: ignore[arg-type]
        search = asyncio.ensure_future(slot.compute(SearchQuestion(view, Budget(iterations=10)), str))
        await asyncio.sleep(0)
        while time.monotonic_ns() < deadline.latest_ns:
            await asyncio.sleep(0)
        search.cancel()  # as gRPC does at the deadline
        with pytest.raises(asyncio.CancelledError):
            await search
        return lateness.of(MINUTE_NS)

    assert asyncio.run(run()) > 0
