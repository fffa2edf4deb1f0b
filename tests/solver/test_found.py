"""Searches that are served: ended at a moment, stopped, watched on the way, restricted, asked for again."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine_cy import View, new_game
from solver import Budget, InvalidBudgetError, solve
from solver.backends.serial import Serial
from solver.backends.threads import Threads
from solver.found import Found, find, found_of
from solver.merge import Share
from solver.solve import job_at
from solver.watch import Watch

GAME = new_game("oriflamme", "en-2019", 3)


def start() -> View:
    return GAME.deal(7).view("A")


def reveal() -> View:
    return GAME.view("A:? >B:Heir C:?(1) | round 2 | points 1 2 3 | seen by B")


def moving() -> View:
    """A decision of two steps: which card, and where to."""
    table = ">B3:Decree* A3:?/A2:?(1) C2:?(1) C1:?(2) B1:Lord* C3:? | round 3 | first C | ask B move | points 2 3 1"
    rest = "hands ? Soldier,Spy,Heir,Shapeshifter ? | piles Ambush Conspiracy - | seen by B"
    return GAME.view(f"{table} | {rest}")


def watching() -> View:
    return GAME.deal(7).view("B")


@pytest.mark.parametrize("shares", [1, 3])
def test_it_answers_as_solve_does(shares: int) -> None:
    for budget in (Budget(iterations=3001), Budget(iterations=50_000, confidence=0.6)):
        said = solve(start(), budget, seed=4, workers=shares, lines=2)
        with ThreadPoolExecutor(2) as pool:
            found = find(job_at(start(), budget, seed=4, workers=shares, lines=2), Threads(2, pool))
        assert found.analysis is not None
        assert (found.analysis.moves, found.stopped_by) == (said.moves, said.stopped_by)
        assert sum(found.share_iterations) == said.iterations


def test_to_be_told_on_the_way_changes_nothing() -> None:
    told: list[Found] = []
    budget = Budget(iterations=150_000)
    job = job_at(start(), budget, workers=2, seed=4, lines=1)

    def tell(shares: Sequence[Share]) -> None:
        told.append(found_of(job, shares, time.perf_counter()))

    found = find(job, Threads(1), Watch(tell, 20))
    said = solve(start(), budget, seed=4, workers=2)
    assert found.analysis is not None
    assert found.analysis.moves == said.moves
    counts = [step.total.iterations for step in told]
    assert counts == sorted(counts)
    assert counts[0] > 0
    # On a busy machine, the last ones may have all that there is to be found.
    on_the_way = [step for step in told if step.total.iterations < 150_000]
    assert on_the_way
    for step in on_the_way:
        assert step.analysis is not None
        assert sum(move.visits for move in step.analysis.moves) == step.total.iterations == sum(step.share_iterations)
        assert (step.stopped_by, step.reproducible, step.analysis.reproducible) == ("", False, False)


@pytest.mark.parametrize("shares", [1, 3])
def test_what_a_clock_ended_is_had_again_by_iterations(shares: int) -> None:
    until = time.monotonic_ns() + 60_000_000
    first = find(job_at(start(), Budget(iterations=10**9), seed=9, workers=shares), Threads(1), Watch(until_ns=until))
    assert time.monotonic_ns() - until < 1_000_000_000  # where other programs have all the cores
    assert (first.stopped_by, first.reproducible) == ("time", False)
    assert first.analysis is not None
    assert not first.analysis.reproducible
    assert min(first.share_iterations) > 0
    budget = Budget(iterations=sum(first.share_iterations))
    again = find(job_at(start(), budget, seed=9, workers=shares, share_iterations=first.share_iterations), Serial())
    assert again.share_iterations == first.share_iterations
    assert again.analysis is not None
    assert again.analysis.moves == first.analysis.moves
    assert (again.stopped_by, again.reproducible) == ("iterations", True)


def test_another_thread_stops_it() -> None:
    job, watch = job_at(start(), Budget(iterations=10**12), workers=3), Watch()
    found: list[Found] = []
    with ThreadPoolExecutor(2) as pool:
        thread = threading.Thread(target=lambda: found.append(find(job, Threads(2, pool), watch)))
        thread.start()
        time.sleep(0.05)
        watch.stop()
        thread.join(1)
    assert found[0].stopped_by == "stopped"
    assert found[0].total.iterations > 0


def test_one_that_was_stopped_before_it_began_ends_at_once() -> None:
    watch = Watch()
    watch.stop()
    found = find(job_at(start(), Budget(iterations=10**12)), Serial(), watch)
    assert (found.stopped_by, found.total.iterations) == ("stopped", 0)


def test_only_what_is_asked_for_is_considered() -> None:
    for view in (start(), reveal(), moving()):
        legal = view.legal_actions()
        wanted = legal[1::3] or legal[:1]
        found = solve(view, Budget(iterations=600), among=wanted)
        assert {move.action for move in found.moves} == set(wanted)
        assert sum(move.visits for move in found.moves) == 600
        # In whatever order they are named.
        assert solve(view, Budget(iterations=600), among=[str(action) for action in wanted[::-1]]).moves == found.moves
    everything = solve(start(), Budget(iterations=600), among=start().legal_actions())
    assert everything.moves == solve(start(), Budget(iterations=600)).moves
    with pytest.raises(InvalidBudgetError, match=r"among: 'resolve' is none of place"):
        solve(start(), among=["resolve"])


def test_who_is_not_to_act_learns_values_and_beliefs() -> None:
    found = find(job_at(watching(), Budget(iterations=4000), seed=3), Serial())
    assert found.analysis is None
    assert found.beliefs is not None
    assert {belief.seat for belief in found.beliefs.seats} == {0, 2}
    (tally,) = found.total.tallies
    assert tally.visits == 4000
    assert sum(tally.payoffs) == pytest.approx(4000)
    # It is what the player to act makes of it, seen from elsewhere: at the start, about a third each.
    assert all(0.2 < payoff / 4000 < 0.5 for payoff in tally.payoffs)
