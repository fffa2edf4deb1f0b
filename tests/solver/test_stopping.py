"""A search ends soon after it is told to, counts what it did, and leaves nothing behind."""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Callable
from typing import Any

import pytest
from door import Door, state_at

from engine_cy import View, new_game
from solver import CONFIGS, Budget, solve
from solver.merge import Tally
from solver.search import Searcher

PLAIN = CONFIGS["plain"].settings(None)
POLL = 128  # iterations between two looks at the stop flag, as in solver/search.pyx


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


@pytest.mark.parametrize("worlds", [1, 2, POLL - 1, POLL, POLL + 1, 1000, 20_000])
@pytest.mark.parametrize("bytes_max", [2**24, 2**16])
def test_the_stop_flag_is_looked_at_after_so_many_iterations(worlds: int, bytes_max: int) -> None:
    """Whether the tree still grows or not."""
    searcher = Searcher(start(), PLAIN, bytes_max, 1, 0)
    assert 0 <= stopped_at(searcher, worlds, lambda: searcher.run(10**9)) < POLL
    assert sum(visits for visits, *_ in searcher.results()) == searcher.iterations


def arms_of(view: View, seed: int = 1, number: int = 2) -> list[Searcher]:
    """Searches behind each of some decisions, which keep what each world paid."""
    steps = [action.code for action in view.legal_actions()[:number]]
    return [Searcher(view, PLAIN, 2**24, seed, 0, only, None, (only,), True) for only in steps]


def test_an_arm_keeps_one_payoff_for_each_world_that_counted() -> None:
    for arm in arms_of(start()):
        arm.run(700)
        payoffs = array("d", arm.recorded_payoffs())
        assert len(payoffs) == arm.counted == 700
        (sums,) = arm.results()
        tally = Tally(4, sums)
        assert sum(payoffs) == pytest.approx(tally.payoffs[arm.observer])
        assert all(0 <= payoff <= 1 for payoff in payoffs)
        assert array("d", arm.recorded_payoffs(600)) == payoffs[600:]
        arm.run(100)
        assert array("d", arm.recorded_payoffs())[:700] == payoffs


def worlds_of(searcher: Searcher, worlds: int) -> list[bytes]:
    """The worlds that a search draws."""
    door = Door(searcher.game)
    sampled = door.sample
    drawn: list[bytes] = []

    def sample(rules: int, view: int, observer: int, world: int, rng: int) -> None:
        sampled(rules, view, observer, world, rng)
        drawn.append(state_at(world, door.game))

    with door.replaced(sample=sample):
        searcher.run(worlds)
    return drawn


def test_arms_of_one_seed_meet_the_same_worlds() -> None:
    one, other, third = (worlds_of(arm, 300) for arm in arms_of(start(), number=3))
    assert one == other == third
    assert len(set(one)) > 100
    assert worlds_of(arms_of(start(), seed=2)[0], 300) != one
    # So does an arm that goes on.
    arm = arms_of(start())[1]
    assert worlds_of(arm, 100) + worlds_of(arm, 200) == one


def test_an_arm_that_is_stopped_has_a_payoff_for_each_world() -> None:
    (arm, _) = arms_of(start())
    assert 0 <= stopped_at(arm, 601, lambda: arm.run(10**9)) < POLL
    assert len(arm.recorded_payoffs()) == 8 * arm.counted


@pytest.mark.parametrize("config", ["flat", "pimc", "plain", "default"])
@pytest.mark.parametrize("budget", [Budget(time_ms=10), Budget(iterations=5001), Budget(iterations=900, memory_mb=0.1)])
def test_the_visits_are_the_iterations_however_it_ended(budget: Budget, config: str) -> None:
    for shares in (1, 2):
        found = solve(start(), budget, config=config, shares=shares)
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
