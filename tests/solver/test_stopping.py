"""A search ends soon after it is told to, counts what it did, and leaves nothing behind."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import pytest
from door import Door

from engine_cy import View, new_game
from solver import CONFIGS, Budget, solve
from solver.search import POLL_EVERY, Searcher

PLAIN = CONFIGS["plain"].settings(None)


def start(spec: Any = ("oriflamme", "en-2019", 4)) -> View:
    position = new_game(*spec).deal(3)
    return position.view(position.to_act or 0)


def stopped_at(searcher: Searcher, worlds: int, run: Callable[[], object]) -> int:
    """How many iterations more are done once the flag is raised, which is while so many worlds have been drawn."""
    door = Door(searcher.game)
    sampled = door.sample
    drawn = 0

    def sample(rules: int, view: int, observer: int, world: int, rng: int) -> None:
        nonlocal drawn
        drawn += 1
        if drawn == worlds:
            searcher.stop()
        sampled(rules, view, observer, world, rng)

    with door.replaced(sample=sample):
        run()
    return searcher.iterations - worlds


@pytest.mark.parametrize("worlds", [1, 2, POLL_EVERY - 1, POLL_EVERY, POLL_EVERY + 1, 1000, 20_000])
@pytest.mark.parametrize("bytes_max", [2**24, 2**16])
def test_the_stop_flag_is_looked_at_after_so_many_iterations(worlds: int, bytes_max: int) -> None:
    """Whether the tree still grows or not."""
    searcher = Searcher(start(), PLAIN, bytes_max, 1, 0)
    assert 0 <= stopped_at(searcher, worlds, lambda: searcher.run(10**9)) < POLL_EVERY
    assert sum(visits for visits, *_ in searcher.results()) == searcher.iterations


def test_two_searches_side_by_side_look_at_the_flag_as_often() -> None:
    view = start()
    steps = [action.code for action in view.legal_actions()[:2]]
    one, other = (Searcher(view, PLAIN, 2**24, 1, 0, only) for only in steps)
    # Each of them draws a world in every iteration.
    stopped_at(one, 601, lambda: one.run_beside(other, 10**9))
    assert one.iterations == other.iterations
    assert 300 <= one.iterations <= 300 + POLL_EVERY


@pytest.mark.parametrize("config", ["flat", "pimc", "plain", "default"])
@pytest.mark.parametrize("budget", [Budget(time_ms=10), Budget(iterations=5001), Budget(iterations=900, memory_mb=0.1)])
def test_the_visits_are_the_iterations_however_it_ended(budget: Budget, config: str) -> None:
    for workers in (1, 2):
        found = solve(start(), budget, config=config, workers=workers)
        assert sum(move.visits for move in found.moves) == found.iterations > 0


class _Memory(ctypes.Structure):
    """What glibc's mallinfo2 tells."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def bytes_in_use() -> int:
    """Bytes that were asked of the C library and not given back."""
    tell = ctypes.CDLL(None).mallinfo2
    tell.restype = _Memory
    memory = tell()
    return int(memory.uordblks + memory.hblkhd)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks glibc")
@pytest.mark.parametrize("config", ["flat", "pimc", "plain", "default"])
def test_a_search_gives_all_its_memory_back(config: str) -> None:
    view = start()
    settings = CONFIGS[config].settings(5000)

    def search(seed: int) -> int:
        searcher = Searcher(view, settings, 2**26, seed, 0)
        searcher.run(5000)
        return searcher.tree_bytes

    least = min(search(seed) for seed in range(3))
    before = bytes_in_use()
    for seed in range(20):
        search(seed)
    assert bytes_in_use() - before < least


def test_a_limit_that_is_never_reached_is_none() -> None:
    searcher = Searcher(start(), PLAIN, 2**30, 1, 0)
    assert searcher.run(5_000, 2**63 - 1) == "iterations"
    assert searcher.iterations == 5_000
