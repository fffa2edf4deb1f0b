"""A search that is followed finds what it finds unwatched, tells of it on the way, and ends when it is told to."""

from __future__ import annotations

import threading
import time

import pytest

from engine_cy import View, new_game
from solver import Budget, solve
from solver.backends.base import Followable, Followed, Watch
from solver.backends.serial import Serial
from solver.backends.threads import Threads
from solver.merge import Share, lost_share, merge
from solver.solve import make_job

BACKENDS = pytest.mark.parametrize("backend", [Serial(), Threads()], ids=["serial", "threads"])


def start() -> View:
    position = new_game("oriflamme", "en-2019", 4).deal(3)
    return position.view(position.to_act or 0)


@BACKENDS
@pytest.mark.parametrize(
    "budget", [Budget(iterations=40_000), Budget(iterations=40_000, confidence=0.99)], ids=["plain", "confidence"]
)
def test_reports_change_nothing(backend: Followable, budget: Budget) -> None:
    seen: list[Share] = []
    watched = solve(start(), budget, seed=4, workers=2, backend=Followed(backend, Watch(seen.append, 5)))
    alone = solve(start(), budget, seed=4, workers=2, backend=backend)
    assert (watched.moves, watched.nodes, watched.stopped_by) == (alone.moves, alone.nodes, alone.stopped_by)
    assert seen
    for share in seen:
        assert sum(tally.visits for tally in share.tallies) == share.iterations <= alone.iterations
    counts = [share.iterations for share in seen]
    assert counts == sorted(counts)


@BACKENDS
def test_reports_come_at_the_interval(backend: Followable) -> None:
    seen: list[float] = []
    solve(start(), Budget(time_ms=300), workers=1, backend=Followed(backend, Watch(lambda _: seen.append(0), 50)))
    assert 2 <= len(seen) <= 7


@BACKENDS
def test_a_stop_ends_the_search_soon(backend: Followable) -> None:
    watch = Watch()
    stopped: list[float] = []

    def stop() -> None:
        stopped.append(time.monotonic())
        watch.stop()

    timer = threading.Timer(0.1, stop)
    timer.start()
    found = solve(start(), Budget(iterations=10**9), workers=2, backend=Followed(backend, watch))
    timer.join()
    # Of two shares one after the other, the second had not begun.
    assert time.monotonic() - stopped[0] < 0.25
    assert found.stopped_by == "stopped"
    assert not found.reproducible
    assert sum(move.visits for move in found.moves) == found.iterations > 0


@BACKENDS
def test_a_stop_may_come_before_its_search(backend: Followable) -> None:
    watch = Watch()
    watch.stop()
    found = solve(start(), Budget(iterations=10**9), workers=2, backend=Followed(backend, watch))
    assert (found.iterations, found.stopped_by) == (0, "stopped")


def test_lost_shares_add_nothing_but_are_told() -> None:
    found = solve(start(), Budget(iterations=100))
    shares = Serial().run(make_job(start(), Budget(iterations=200), seed=3, workers=2))
    lost = lost_share(len(found.moves), 4, "a worker was lost")
    whole, short = merge(shares), merge([lost, *shares, lost])
    assert (short.tallies, short.iterations) == (whole.tallies, whole.iterations)
    assert (short.missing, short.note, short.stopped_by) == (2, "a worker was lost", "lost")
    assert (whole.missing, whole.note, whole.stopped_by) == (0, "", "iterations")
