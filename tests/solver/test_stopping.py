"""A search ends soon after a stop, counts its iterations, and frees its memory."""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Callable

import pytest
from game_interface import GameInterface, state_at
from searches import opening_view

from engine_cy import View
from solver import CONFIGS, Budget, solve
from solver.merge import Tally
from solver.search import Searcher

PLAIN = CONFIGS["plain"].settings(None)
POLL = 128  # iterations between two checks of the stop flag, as in solver/search.pyx


def overrun_of(searcher: Searcher, worlds: int, run: Callable[[], object]) -> int:
    """Stop a search while it samples world number `worlds`; return the number of iterations after that."""
    interface = GameInterface(searcher.game)
    original = interface.sample
    n_sampled = 0

    def sample(rules: int, view: int, observer: int, world: int, rng: int) -> None:
        nonlocal n_sampled
        n_sampled += 1
        if n_sampled == worlds:
            searcher.stop()
        original(rules, view, observer, world, rng)

    with interface.replaced(sample=sample):
        run()
    return searcher.iterations - worlds


@pytest.mark.parametrize("worlds", [1, 2, POLL - 1, POLL, POLL + 1, 1000, 20_000])
@pytest.mark.parametrize("bytes_max", [2**24, 2**16])
def test_the_stop_flag_is_checked_every_128_iterations(worlds: int, bytes_max: int) -> None:
    """Check it with a tree that grows and with one that is full."""
    searcher = Searcher(opening_view(), PLAIN, bytes_max, 1, 0)
    assert 0 <= overrun_of(searcher, worlds, lambda: searcher.run(10**9)) < POLL
    assert sum(visits for visits, *_ in searcher.results()) == searcher.iterations


def arms_of(view: View, seed: int = 1, number: int = 2) -> list[Searcher]:
    """Return a search behind each of the first moves, with the payoff of each world recorded."""
    steps = [action.code for action in view.legal_actions()[:number]]
    return [Searcher(view, PLAIN, 2**24, seed, 0, only, None, (only,), True) for only in steps]


def test_an_arm_records_one_payoff_for_each_counted_world() -> None:
    for arm in arms_of(opening_view()):
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


def sampled_worlds(searcher: Searcher, worlds: int) -> list[bytes]:
    """Run a search; return the worlds that it samples."""
    interface = GameInterface(searcher.game)
    original = interface.sample
    states: list[bytes] = []

    def sample(rules: int, view: int, observer: int, world: int, rng: int) -> None:
        original(rules, view, observer, world, rng)
        states.append(state_at(world, interface.game))

    with interface.replaced(sample=sample):
        searcher.run(worlds)
    return states


def test_arms_with_one_seed_sample_the_same_worlds() -> None:
    one, other, third = (sampled_worlds(arm, 300) for arm in arms_of(opening_view(), number=3))
    assert one == other == third
    assert len(set(one)) > 100
    assert sampled_worlds(arms_of(opening_view(), seed=2)[0], 300) != one
    # The same holds for an arm in two runs.
    arm = arms_of(opening_view())[1]
    assert sampled_worlds(arm, 100) + sampled_worlds(arm, 200) == one


def test_a_stopped_arm_has_a_payoff_for_each_world() -> None:
    (arm, _) = arms_of(opening_view())
    assert 0 <= overrun_of(arm, 601, lambda: arm.run(10**9)) < POLL
    assert len(arm.recorded_payoffs()) == 8 * arm.counted


@pytest.mark.parametrize("config", ["flat", "pimc", "plain", "default"])
@pytest.mark.parametrize("budget", [Budget(time_ms=10), Budget(iterations=5001), Budget(iterations=900, memory_mb=0.1)])
def test_the_visits_sum_to_the_iterations_for_every_kind_of_limit(budget: Budget, config: str) -> None:
    for shares in (1, 2):
        answer = solve(opening_view(), budget, config=config, shares=shares)
        assert sum(move.visits for move in answer.moves) == answer.iterations > 0


class _Memory(ctypes.Structure):
    """The result of glibc's mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def bytes_in_use() -> int:
    """Return the bytes that the C library has allocated and not freed."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _Memory
    memory = mallinfo2()
    return int(memory.uordblks + memory.hblkhd)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs glibc")
@pytest.mark.parametrize("config", ["flat", "pimc", "plain", "default"])
def test_a_search_frees_all_its_memory(config: str) -> None:
    view = opening_view()
    settings = CONFIGS[config].settings(5000)

    def search(seed: int) -> int:
        searcher = Searcher(view, settings, 2**26, seed, 0)
        searcher.run(5000)
        return searcher.tree_bytes

    tree_bytes = min(search(seed) for seed in range(3))
    before = bytes_in_use()
    for seed in range(20):
        search(seed)
    assert bytes_in_use() - before < tree_bytes


def test_the_largest_time_limit_never_ends_a_search() -> None:
    searcher = Searcher(opening_view(), PLAIN, 2**30, 1, 0)
    assert searcher.run(5_000, 2**63 - 1) == "iterations"
    assert searcher.iterations == 5_000
