"""Comparisons: several moves in the same worlds, on any pool, each as if compared with the first alone."""

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
from solver import Answer, Budget, Comparison, ComparisonQuestion, Control, Estimate, compare, solve
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


def choices(spec: tuple[str, Any, int], number: int, least: int = 2) -> list[tuple[View, list[Action], History]]:
    """Views of some turns of a random game, with some of the moves there and the player's log."""
    many = [turn for turn in turns(spec, seed=6) if len(turn[0].legal_actions()) >= least]
    step = max(len(many) // number, 1)
    return [(view_of(position), position.legal_actions()[:4], history) for position, history in many[::step][:number]]


def as_bytes(comparison: Comparison) -> bytes:
    """Everything about a comparison that repeats, to the last bit."""
    return repr(essence(comparison)).encode()


# --- the same everywhere --------------------------------------------------------------------------------------


@GAMES
@pytest.mark.parametrize("shares", [1, 2, 3])
@pytest.mark.parametrize("confidence", [None, 0.8])
def test_every_pool_gives_the_same_bytes(spec: Any, shares: int, confidence: float | None, pools: list[Pool]) -> None:
    for view, moves, history in choices(spec, 3):
        followed = view.game.can_be_followed
        thinking: dict[str, Any] = {
            "seed": 11,
            "shares": shares,
            "history": history if followed else None,
            "models": {(view.observer + 1) % view.game.n_players: "noisy"},
        }
        budget = Budget(iterations=1500, confidence=confidence)
        here = compute_here(ComparisonQuestion(view, moves, budget, **thinking))
        assert here.reproducible
        usual = compare(view, [str(move) for move in moves], budget, **thinking)
        assert as_bytes(usual) == as_bytes(here)
        for pool in pools:
            for control in (None, Control()):
                assert as_bytes(compare(view, moves, budget, pool=pool, control=control, **thinking)) == as_bytes(here)


def test_history_models_beliefs_and_seeds_change_a_comparison() -> None:
    view, moves, history = choices(ORIFLAMME, 2, least=4)[1]
    assert history.actions

    def values(**thinking: Any) -> bytes:
        return as_bytes(compare(view, moves, Budget(iterations=1500), **({"seed": 4} | thinking)))

    plain = {"config": "plain"}
    different = [
        values(),
        values(history=history),
        values(models={(view.observer + 1) % 3: "noisy"}),
        values(models={(view.observer + 1) % 3: "random"}),
        values(seed=5),
        values(shares=2),
        values(**plain),
    ]
    assert len(set(different)) == len(different)
    # Without trust in beliefs, worlds are as likely whatever was done.
    assert values(history=history, **plain) == values(**plain)


# --- what is compared -----------------------------------------------------------------------------------------


@GAMES
@pytest.mark.parametrize("shares", [1, 2])
def test_each_of_several_moves_is_as_if_compared_with_the_first_alone(spec: Any, shares: int) -> None:
    for view, moves, history in choices(spec, 2, least=3 if spec[0] != "leduc_poker" else 2):
        thinking: dict[str, Any] = {"seed": 3, "shares": shares}
        if view.game.can_be_followed:
            thinking["history"] = history
        budget = Budget(iterations=1000)
        together = compare(view, moves, budget, **thinking)
        assert [move.action for move in together.moves] == moves
        assert together.worlds == 1000
        for move in together.moves[1:]:
            first, alone = compare(view, [moves[0], move.action], budget, **thinking).moves
            assert alone == move
            assert first == together.moves[0]


def test_the_first_differs_from_itself_by_nothing() -> None:
    view, moves, _ = choices(ORIFLAMME, 1)[0]
    first = compare(view, moves[:2], Budget(iterations=300)).moves[0]
    assert first.win_difference == first.points_difference == Estimate(0, 0, 0)


def test_differences_are_those_of_the_wins_with_less_error() -> None:
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


def test_swapped_moves_differ_by_the_opposite() -> None:
    view, moves, _ = choices(ORIFLAMME, 1)[0]
    budget = Budget(iterations=700)
    there, back = (compare(view, pair, budget, seed=2).moves[1] for pair in (moves[:2], moves[1::-1]))
    assert there.win_difference is not None
    assert back.win_difference is not None
    assert there.win_difference.mean == -back.win_difference.mean
    assert there.win_difference.error == back.win_difference.error


@pytest.mark.parametrize("iterations", [1, 2, 100, BURST, BURST + 1, 3 * BURST + 7, 2000])
@pytest.mark.parametrize("shares", [1, 3, 8])
def test_every_iteration_of_the_budget_is_a_world_that_all_moves_meet(iterations: int, shares: int) -> None:
    view, moves, _ = choices(ORIFLAMME, 1)[0]
    for confidence in (None, 0.999_999):
        comparison = compare(view, moves, Budget(iterations=iterations, confidence=confidence), shares=shares)
        assert comparison.worlds == iterations
        assert (comparison.stopped_by, comparison.missing) == ("iterations", 0)


# --- how it ends ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shares", [1, 3])
def test_a_clear_difference_ends_it_by_confidence_where_the_arms_meet(shares: int, pools: list[Pool]) -> None:
    game = new_game("oriflamme", "en-2019", 3)
    view = game.position("B:Heir* >A:Spy* C:Heir* | round 6 | ask A rob | points 11 12 9").view("A")
    budget = Budget(iterations=200_000, confidence=0.95)
    sure = compare(view, ["rob C", "rob B"], budget, shares=shares, config="plain")
    assert (sure.stopped_by, sure.reproducible) == ("confidence", True)
    assert sure.worlds < 100_000
    assert sure.worlds % BURST == 0
    assert sure.moves[1].win_difference is not None
    assert sure.moves[1].win_difference.mean > 0
    for pool in pools:
        assert as_bytes(
            compare(view, ["rob C", "rob B"], budget, shares=shares, config="plain", pool=pool)
        ) == as_bytes(sure)
    # As far as it went, it is the comparison of so many iterations.
    again = compare(view, ["rob C", "rob B"], Budget(iterations=sure.worlds), shares=shares, config="plain")
    assert again.moves == sure.moves
    # Moves that come to the same are never told apart.
    twins = game.position("C:Lord >A:Spy* B:Lord | ask A rob | points 9 5 5").view("A")
    alike = compare(twins, ["rob B", "rob C"], Budget(iterations=3000, confidence=0.95), shares=shares)
    assert alike.stopped_by == "iterations"


@pytest.mark.parametrize("confidence", [None, 0.999_999])
@pytest.mark.parametrize("shares", [1, 2])
def test_a_clock_ends_it_in_worlds_that_all_moves_met(shares: int, confidence: float | None, pools: list[Pool]) -> None:
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
def test_a_stop_leaves_what_was_compared(confidence: float | None, pools: list[Pool]) -> None:
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
    nothing = compare(view, moves, budget, control=control)
    assert (nothing.worlds, nothing.iterations, nothing.stopped_by) == (0, 0, "stopped")
    assert [move.win_difference for move in nothing.moves[1:]] == [None] * (len(moves) - 1)
    assert str(nothing).startswith(f"{moves[0]}  (0 worlds")


def test_a_comparison_is_not_reported_on_the_way(pools: list[Pool]) -> None:
    """A report is an answer to a search."""
    view, moves, _ = choices(ORIFLAMME, 1)[0]
    reports: list[Answer] = []
    for pool in [None, *pools]:
        comparison = compare(
            view, moves, Budget(iterations=30_000), pool=pool, control=Control(reports.append, 1), shares=2
        )
        assert comparison.worlds == 30_000
    assert reports == []


def test_several_comparisons_at_once_do_not_disturb_each_other(pools: list[Pool]) -> None:
    many = [
        ComparisonQuestion(view, moves, Budget(iterations=800), shares=2, seed=seed)
        for seed in range(4)
        for view, moves, _ in choices(ORIFLAMME, 3)
    ]
    here = [as_bytes(compute_here(question)) for question in many]
    for pool in pools:
        answers: dict[int, bytes] = {}

        def ask(number: int, pool: Pool = pool, answers: dict[int, bytes] = answers) -> None:
            answers[number] = as_bytes(pool.submit(many[number], Control()).result(60))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(many))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [answers[number] for number in range(len(many))] == here


# --- arithmetic -----------------------------------------------------------------------------------------------


def test_certainty_about_several_moves_shares_the_risk() -> None:
    def differences(*gaps: float) -> Differences:
        """Of worlds that pay each other move so much more than the first, or nothing, in turn."""
        worlds = 4096
        payoffs = [array("d", [0.5] * worlds)]
        payoffs += [array("d", [0.5 + gap + (0.4 if i % 2 else -0.4) for i in range(worlds)]) for gap in gaps]
        total = Differences(1 + len(gaps))
        for begin in range(0, worlds, BURST):
            total.add(payoffs, begin, begin + BURST)
        return total

    assert not differences(0.1, 0.0).are_sure(0.9)  # each has to differ
    assert differences(0.1, 0.1).are_sure(0.9)
    assert differences(0.1, -0.1).are_sure(0.9)
    one = differences(0.06)
    assert one.of(1).mean == pytest.approx(0.06)
    assert one.are_sure(0.98)
    assert not differences(0.06, 0.06, 0.06, 0.06).are_sure(0.98)
    assert not Differences(2).are_sure(0.5)


def test_a_search_and_a_comparison_agree_on_which_move_wins_more() -> None:
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
def test_a_comparison_with_a_confidence_keeps_to_its_time(budget: Budget) -> None:
    view = new_game("oriflamme", "en-2019", 4).deal(3).view(0)
    question = ComparisonQuestion(view, view.legal_actions()[:3], budget)
    comparison = compute_here(question)
    assert comparison.stopped_by == "time"
    assert 256 <= comparison.worlds < 10**6
