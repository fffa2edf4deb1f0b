"""A search that is followed finds what it finds unwatched, tells of it on the way, and ends when it is told to."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from engine_cy import View, new_game
from solver import Budget, solve
from solver.backends.base import Backend
from solver.backends.serial import Serial
from solver.backends.threads import Threads
from solver.merge import Share, empty_share, merge
from solver.solve import make_job
from solver.watch import Watch

# The last two: shares that take turns, on the thread that calls and on others.
TAKEN = ThreadPoolExecutor(1)
BACKENDS = pytest.mark.parametrize(
    "backend",
    [Serial(), Threads(), Threads(1), Threads(2, TAKEN)],
    ids=["serial", "threads", "one thread", "threads of others"],
)


def start() -> View:
    position = new_game("oriflamme", "en-2019", 4).deal(3)
    return position.view(position.to_act or 0)


@BACKENDS
@pytest.mark.parametrize(
    "budget", [Budget(iterations=40_000), Budget(iterations=40_000, confidence=0.99)], ids=["plain", "confidence"]
)
def test_reports_change_nothing(backend: Backend, budget: Budget) -> None:
    seen: list[Share] = []
    watched = solve(
        start(), budget, seed=4, workers=2, backend=backend, watch=Watch(lambda shares: seen.append(merge(shares)), 5)
    )
    alone = solve(start(), budget, seed=4, workers=2, backend=backend)
    assert (watched.moves, watched.nodes, watched.stopped_by) == (alone.moves, alone.nodes, alone.stopped_by)
    assert seen
    for share in seen:
        assert sum(tally.visits for tally in share.tallies) == share.iterations <= alone.iterations
    counts = [share.iterations for share in seen]
    assert counts == sorted(counts)


@BACKENDS
def test_reports_come_at_the_interval(backend: Backend) -> None:
    seen: list[float] = []
    solve(start(), Budget(time_ms=300), workers=1, backend=backend, watch=Watch(lambda _: seen.append(0), 50))
    assert 2 <= len(seen) <= 7


@BACKENDS
def test_a_stop_ends_the_search_soon(backend: Backend) -> None:
    watch = Watch()
    stopped: list[float] = []

    def stop() -> None:
        stopped.append(time.monotonic())
        watch.stop()

    timer = threading.Timer(0.1, stop)
    timer.start()
    found = solve(start(), Budget(iterations=10**9), workers=2, backend=backend, watch=watch)
    timer.join()
    # Of two shares one after the other, the second had not begun.
    assert time.monotonic() - stopped[0] < 0.25
    assert found.stopped_by == "stopped"
    assert not found.reproducible
    assert sum(move.visits for move in found.moves) == found.iterations > 0


@BACKENDS
def test_a_stop_may_come_before_its_search(backend: Backend) -> None:
    watch = Watch()
    watch.stop()
    found = solve(start(), Budget(iterations=10**9), workers=2, backend=backend, watch=watch)
    assert (found.iterations, found.stopped_by) == (0, "stopped")


@BACKENDS
@pytest.mark.parametrize("shares", [1, 3])
def test_a_search_ends_at_a_moment(backend: Backend, shares: int) -> None:
    for budget in (Budget(iterations=10**9), Budget(iterations=10**9, confidence=0.999_999), Budget(time_ms=60_000)):
        until_ns = time.monotonic_ns() + 60_000_000
        found = solve(start(), budget, workers=shares, backend=backend, watch=Watch(until_ns=until_ns))
        assert time.monotonic_ns() - until_ns < 1_000_000_000  # where other programs have all the cores
        assert (found.stopped_by, found.reproducible) == ("time", False)
        assert found.iterations > 0


@BACKENDS
def test_however_little_time_there_is_there_is_an_answer(backend: Backend) -> None:
    found = solve(start(), Budget(time_ms=0.001), workers=2, backend=backend, watch=Watch(until_ns=0))
    assert (found.stopped_by, found.iterations > 0) == ("time", True)


def test_lost_shares_add_nothing_but_are_told() -> None:
    found = solve(start(), Budget(iterations=100))
    shares = Serial().run(make_job(start(), Budget(iterations=200), seed=3, workers=2))
    nothing = empty_share(len(found.moves), 4)
    lost = replace(nothing, stopped_by="lost", missing=1, note="a worker was lost")
    whole, short = merge(shares), merge([lost, *shares, lost])
    assert (short.tallies, short.iterations) == (whole.tallies, whole.iterations)
    assert (short.missing, short.note, short.stopped_by) == (2, "a worker was lost", "lost")
    assert (whole.missing, whole.note, whole.stopped_by) == (0, "", "iterations")
