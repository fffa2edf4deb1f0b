"""Comparisons of several moves in the same worlds, on every pool."""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from questions import ORIFLAMME, essence, turns, view_of

from engine_cy import Action, View, new_game
from engine_cy.action_log import History
from solver import Budget, Comparison, ComparisonQuestion, Control, Estimate, compare, solve
from solver.compare import Differences
from solver.pool.base import Pool, compute_here
from solver.pool.processes import Processes
from solver.pool.threads import Threads
from solver.question import BURST

SPECS: list[tuple[str, Any, int]] = [
    ORIFLAMME,
    ("oriflamme_prototype", "prototype", 2),
    ("castle_village_port", "house", 4),
    ("leduc_poker", None, 2),
]
GAMES = pytest.mark.parametrize("spec", SPECS, ids=[spec[0] for spec in SPECS])


@pytest.fixture(scope="module")
def pools() -> Iterator[list[Pool]]:
    with Threads(2) as threads, Processes(2) as processes:
        yield [threads, processes]


def choices(spec: tuple[str, Any, int], number: int, moves_min: int = 2) -> list[tuple[View, list[Action], History]]:
    """Return views at `number` turns of a random game, with up to four moves and the player's log."""
    decisions = [turn for turn in turns(spec, seed=6) if len(turn[0].legal_actions()) >= moves_min]
    step = max(len(decisions) // number, 1)
    return [
        (view_of(position), position.legal_actions()[:4], history) for position, history in decisions[::step][:number]
    ]


def as_bytes(comparison: Comparison) -> bytes:
    """Return everything about a comparison that repeats, to the last bit."""
    return repr(essence(comparison)).encode()


# --- determinism ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [pytest.param(spec, marks=pytest.mark.slow if "castle" in spec[0] else []) for spec in SPECS],
    ids=[spec[0] for spec in SPECS],
)
@pytest.mark.parametrize("shares", [1, 2, 3])
@pytest.mark.parametrize("confidence", [None, 0.8])
def test_every_pool_gives_the_same_bytes(spec: Any, shares: int, confidence: float | None, pools: list[Pool]) -> None:
    for view, moves, history in choices(spec, 3):
        has_history = view.game.has_history
        thinking: dict[str, Any] = {
            "seed": 11,
            "shares": shares,
            "history": history if has_history else None,
            "models": {(view.observer + 1) % view.game.n_players: "noisy"},
        }
        budget = Budget(iterations=1500, confidence=confidence)
        expected = compute_here(ComparisonQuestion(view, moves, budget, **thinking))
        assert expected.reproducible
        answer = compare(view, [str(move) for move in moves], budget, **thinking)
        assert as_bytes(answer) == as_bytes(expected)
        for pool in pools:
            for control in (None, Control()):
                assert as_bytes(compare(view, moves, budget, pool=pool, control=control, **thinking)) == as_bytes(
                    expected
                )


def test_history_models_beliefs_and_seeds_change_a_comparison() -> None:
    view, moves, history = choices(ORIFLAMME, 2, moves_min=4)[1]
    assert history.actions

    def values(**thinking: Any) -> bytes:
        return as_bytes(compare(view, moves, Budget(iterations=1500), **({"seed": 4} | thinking)))

    plain = {"config": "plain"}
    variants = [
        values(),
        values(history=history),
        values(models={(view.observer + 1) % 3: "noisy"}),
        values(models={(view.observer + 1) % 3: "random"}),
        values(seed=5),
        values(shares=2),
        values(**plain),
    ]
    assert len(set(variants)) == len(variants)
    # Without trust in beliefs, a history does not change the probabilities of worlds.
    assert values(history=history, **plain) == values(**plain)


# --- differences ----------------------------------------------------------------------------------------------


@GAMES
@pytest.mark.parametrize("shares", [1, 2])
def test_each_move_has_the_same_result_as_if_compared_with_the_first_alone(spec: Any, shares: int) -> None:
    for view, moves, history in choices(spec, 2, moves_min=3 if spec[0] != "leduc_poker" else 2):
        thinking: dict[str, Any] = {"seed": 3, "shares": shares}
        if view.game.has_history:
            thinking["history"] = history
        budget = Budget(iterations=1000)
        together = compare(view, moves, budget, **thinking)
        assert [move.action for move in together.moves] == moves
        assert together.worlds == 1000
        for move in together.moves[1:]:
            first, alone = compare(view, [moves[0], move.action], budget, **thinking).moves
            assert alone == move
            assert first == together.moves[0]


def test_the_first_move_differs_from_itself_by_zero() -> None:
    view, moves, _ = choices(ORIFLAMME, 1)[0]
    first = compare(view, moves[:2], Budget(iterations=300)).moves[0]
    assert first.win_difference == first.points_difference == Estimate(0, 0, 0)


def test_a_difference_is_that_of_the_wins_with_a_smaller_error() -> None:
    view = new_game("oriflamme", "en-2019", 3).deal(seed=7).view("A")
    comparison = compare(view, view.legal_actions()[:3], Budget(iterations=4000), shares=2)
    first, *others = comparison.moves
    assert comparison.iterations == 3 * comparison.worlds == 12_000
    for move in others:
        assert move.win is not None
        assert first.win is not None
        assert move.win_difference is not None
        assert move.win_difference.mean == pytest.approx(move.win.mean - first.win.mean)
        assert move.win_difference.error < (move.win.error**2 + first.win.error**2) ** 0.5
        if move.points and first.points and move.points_difference:
            assert move.points_difference.mean == pytest.approx(move.points.mean - first.points.mean)


def test_exchanging_two_moves_negates_their_difference() -> None:
    view, moves, _ = choices(ORIFLAMME, 1)[0]
    budget = Budget(iterations=700)
    forward, backward = (compare(view, pair, budget, seed=2).moves[1] for pair in (moves[:2], moves[1::-1]))
    assert forward.win_difference is not None
    assert backward.win_difference is not None
    assert forward.win_difference.mean == -backward.win_difference.mean
    assert forward.win_difference.error == backward.win_difference.error


@pytest.mark.parametrize("iterations", [1, 2, 100, BURST, BURST + 1, 3 * BURST + 7, 2000])
@pytest.mark.parametrize("shares", [1, 3, 8])
def test_all_moves_are_played_in_each_world_and_there_is_one_for_each_iteration(iterations: int, shares: int) -> None:
    view, moves, _ = choices(ORIFLAMME, 1)[0]
    for confidence in (None, 0.999_999):
        comparison = compare(view, moves, Budget(iterations=iterations, confidence=confidence), shares=shares)
        assert comparison.worlds == iterations
        assert (comparison.stopped_by, comparison.missing) == ("iterations", 0)


# --- limits and stops -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shares", [1, 3])
def test_a_clear_difference_ends_a_comparison_by_confidence_after_a_whole_burst(shares: int, pools: list[Pool]) -> None:
    game = new_game("oriflamme", "en-2019", 3)
    view = game.position("B:Heir* >A:Spy* C:Heir* | round 6 | ask A rob | points 11 12 9").view("A")
    budget = Budget(iterations=200_000, confidence=0.95)
    comparison = compare(view, ["rob C", "rob B"], budget, shares=shares, config="plain")
    assert (comparison.stopped_by, comparison.reproducible) == ("confidence", True)
    assert comparison.worlds < 100_000
    assert comparison.worlds % BURST == 0
    assert comparison.moves[1].win_difference is not None
    assert comparison.moves[1].win_difference.mean > 0
    for pool in pools:
        assert as_bytes(
            compare(view, ["rob C", "rob B"], budget, shares=shares, config="plain", pool=pool)
        ) == as_bytes(comparison)
    # A comparison with this number of iterations has the same moves.
    repeated = compare(view, ["rob C", "rob B"], Budget(iterations=comparison.worlds), shares=shares, config="plain")
    assert repeated.moves == comparison.moves
    # Between equivalent moves there is no confidence.
    equal_view = game.position("C:Lord >A:Spy* B:Lord | ask A rob | points 9 5 5").view("A")
    equal = compare(equal_view, ["rob B", "rob C"], Budget(iterations=3000, confidence=0.95), shares=shares)
    assert equal.stopped_by == "iterations"


@pytest.mark.parametrize("confidence", [None, 0.999_999])
@pytest.mark.parametrize("shares", [1, 2])
def test_a_deadline_ends_a_comparison_after_worlds_that_all_moves_have(
    shares: int, confidence: float | None, pools: list[Pool]
) -> None:
    view, moves, _ = choices(ORIFLAMME, 1)[0]
    for pool in [None, *pools]:
        for budget, control in (
            (Budget(time_ms=60, confidence=confidence), Control()),
            (Budget(confidence=confidence, iterations=10**6), Control(until_ns=time.monotonic_ns() + 60_000_000)),
        ):
            comparison = compare(view, moves, budget, shares=shares, pool=pool, control=control)
            assert (comparison.stopped_by, comparison.reproducible) == ("time", False)
            assert comparison.worlds > 0
            assert all(move.win for move in comparison.moves)


@pytest.mark.parametrize("confidence", [None, 0.999_999])
def test_a_stopped_comparison_has_the_worlds_so_far(confidence: float | None, pools: list[Pool]) -> None:
    view, moves, _ = choices(ORIFLAMME, 1)[0]
    budget = Budget(iterations=10**6, confidence=confidence)
    for pool in pools:
        control = Control()
        future = pool.submit(ComparisonQuestion(view, moves, budget), control)
        time.sleep(0.1)
        control.stop()
        comparison = future.result(60)
        assert (comparison.stopped_by, comparison.reproducible) == ("stopped", False)
        assert 0 <= comparison.worlds < 10**6
    control = Control()
    control.stop()
    empty = compare(view, moves, budget, control=control)
    assert (empty.worlds, empty.iterations, empty.stopped_by) == (0, 0, "stopped")
    assert [move.win_difference for move in empty.moves[1:]] == [None] * (len(moves) - 1)
    assert str(empty).startswith(f"{moves[0]}  (0 worlds")


def test_reports_of_a_comparison_grow_and_do_not_affect_it(pools: list[Pool]) -> None:
    view, moves, _ = choices(ORIFLAMME, 1)[0]
    expected = compare(view, moves, Budget(iterations=30_000), shares=2)
    for pool in [None, *pools]:
        reports: list[Any] = []
        control = Control(reports.append, 1)
        comparison = compare(view, moves, Budget(iterations=30_000), pool=pool, control=control, shares=2)
        assert as_bytes(comparison) == as_bytes(expected)
        worlds = [report.worlds for report in reports]
        assert worlds == sorted(worlds)
        assert all(0 < number <= 30_000 for number in worlds)
        assert pool is not None or len(worlds) > 1


def test_concurrent_comparisons_do_not_affect_each_other(pools: list[Pool]) -> None:
    batch = [
        ComparisonQuestion(view, moves, Budget(iterations=800), shares=2, seed=seed)
        for seed in range(4)
        for view, moves, _ in choices(ORIFLAMME, 3)
    ]
    expected = [as_bytes(compute_here(question)) for question in batch]
    for pool in pools:
        answers: dict[int, bytes] = {}

        def ask(number: int, pool: Pool = pool, answers: dict[int, bytes] = answers) -> None:
            answers[number] = as_bytes(pool.submit(batch[number], Control()).result(60))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(batch))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [answers[number] for number in range(len(batch))] == expected


# --- arithmetic -----------------------------------------------------------------------------------------------


def test_confidence_in_several_moves_divides_the_risk_among_them() -> None:
    def differences(*gaps: float) -> Differences:
        """Return the differences of worlds in which each other move pays its gap more than the first in the mean."""
        worlds = 4096
        payoffs = [array("d", [0.5] * worlds)]
        payoffs += [array("d", [0.5 + gap + (0.4 if i % 2 else -0.4) for i in range(worlds)]) for gap in gaps]
        total = Differences(1 + len(gaps))
        for begin in range(0, worlds, BURST):
            total.add(payoffs, begin, begin + BURST)
        return total

    assert not differences(0.1, 0.0).are_sure(0.9)  # each move has to differ
    assert differences(0.1, 0.1).are_sure(0.9)
    assert differences(0.1, -0.1).are_sure(0.9)
    one = differences(0.06)
    assert one.of(1).mean == pytest.approx(0.06)
    assert one.are_sure(0.98)
    assert not differences(0.06, 0.06, 0.06, 0.06).are_sure(0.98)
    assert not Differences(2).are_sure(0.5)


def test_a_search_and_a_comparison_agree_on_the_better_move() -> None:
    game = new_game("oriflamme", "en-2019", 3)
    view = game.position("B:Heir* >A:Spy* C:Heir* | round 6 | ask A rob | points 11 12 9").view("A")
    best = solve(view, Budget(iterations=5000), config="plain").best
    better = max(
        compare(view, view.legal_actions(), Budget(iterations=5000), config="plain").moves,
        key=lambda move: move.win.mean if move.win else 0.0,
    )
    assert best == better.action


def test_equal_comparisons_are_equal() -> None:
    view, moves, _ = choices(ORIFLAMME, 1)[0]
    one, two = (compare(view, moves, Budget(iterations=300), seed=1) for _ in range(2))
    assert replace(one, elapsed_ms=0.0) == replace(two, elapsed_ms=0.0)
    assert one.knowledge == "oriflamme"
    assert one.signature == solve(view, Budget(iterations=10)).signature


@pytest.mark.parametrize(
    "budget", [Budget(thread_time_ms=5, confidence=0.999_999), Budget(time_ms=5, confidence=0.999_999)]
)
def test_a_comparison_with_a_confidence_keeps_its_time_limit(budget: Budget) -> None:
    view = new_game("oriflamme", "en-2019", 4).deal(3).view(0)
    question = ComparisonQuestion(view, view.legal_actions()[:3], budget)
    comparison = compute_here(question)
    assert comparison.stopped_by == "time"
    assert 256 <= comparison.worlds < 10**6
