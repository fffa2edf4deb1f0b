"""Answers: ended at a moment or by a stop, reproduced by their iterations, restricted to some moves; and those of
observers that are not to act."""

from __future__ import annotations

import time

import pytest

from engine_cy import View, new_game
from engine_cy.record import Record
from solver import Answer, Budget, Control, InvalidQuestionError, SearchQuestion, solve
from solver.answer import Chance, LineStep
from solver.pool.base import compute_here
from solver.pool.threads import Threads
from solver.question import Question

GAME = new_game("oriflamme", "en-2019", 3)
# B robs or not: A's turn is over, C's is not yet.
ROBBING = GAME.position("B:Heir* >A:Spy* C:Heir* | round 6 | ask A rob | points 11 12 9")


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
def test_every_pool_answers_as_solve_does(shares: int) -> None:
    for budget in (Budget(iterations=3001), Budget(iterations=50_000, confidence=0.6)):
        usual = solve(start(), budget, seed=4, shares=shares, lines=2)
        question = SearchQuestion(start(), budget, seed=4, shares=shares, lines=2)
        with Threads(2) as pool:
            for answer in (compute_here(question), solve(question, pool=pool), pool.submit(question).result()):
                assert (answer.moves, answer.stopped_by) == (usual.moves, usual.stopped_by)
                assert sum(answer.share_iterations) == usual.iterations
                assert answer.question is question


def test_reports_are_answers_and_change_nothing() -> None:
    reports: list[Answer] = []
    question = SearchQuestion(start(), Budget(iterations=150_000), shares=2, seed=4)
    with Threads(1) as pool:
        answer = solve(question, pool=pool, control=Control(reports.append, 20))
    assert answer.moves == solve(start(), Budget(iterations=150_000), seed=4, shares=2).moves
    counts = [report.iterations for report in reports]
    assert counts == sorted(counts)
    assert counts[0] > 0
    # On a busy machine, the last ones may have all iterations.
    on_the_way = [report for report in reports if report.iterations < 150_000]
    assert on_the_way
    for report in on_the_way:
        assert sum(move.visits for move in report.moves) == report.iterations == sum(report.share_iterations)
        assert (report.stopped_by, report.reproducible) == ("", False)


@pytest.mark.parametrize("shares", [1, 3])
def test_a_search_that_a_clock_ended_is_reproduced_by_its_iterations(shares: int) -> None:
    until = time.monotonic_ns() + 60_000_000
    with Threads(1) as pool:
        question = SearchQuestion(start(), Budget(iterations=10**9), seed=9, shares=shares)
        first = solve(question, pool=pool, control=Control(until_ns=until))
    assert time.monotonic_ns() >= until
    assert (first.stopped_by, first.reproducible) == ("time", False)
    assert min(first.share_iterations) > 0
    budget = Budget(iterations=sum(first.share_iterations))
    question = SearchQuestion(start(), budget, seed=9, shares=shares, share_iterations=first.share_iterations)
    again = compute_here(question)
    assert again.share_iterations == first.share_iterations
    assert again.moves == first.moves
    assert (again.stopped_by, again.reproducible) == ("iterations", True)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_of_many_shares_only_one_searches_when_time_is_over(n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares that each searched after the end, or built a belief each, made it late by the number of shares."""
    built = []
    monkeypatch.setattr(Question, "get_ready", lambda self: built.append(self))
    with Threads(n_threads) as pool:
        question = SearchQuestion(start(), Budget(iterations=10**9), shares=256)
        late = solve(question, pool=pool, control=Control(until_ns=time.monotonic_ns()))
    assert late.best is not None
    assert sum(iterations > 0 for iterations in late.share_iterations) == 1
    assert len(built) <= 1


def test_only_an_end_by_iterations_confidence_or_force_is_reproducible() -> None:
    """Whatever other limits there were."""
    both = solve(start(), Budget(iterations=500, time_ms=60_000), seed=2)
    assert (both.stopped_by, both.reproducible) == ("iterations", True)
    assert both.moves == solve(start(), Budget(iterations=500), seed=2).moves
    forced = solve(GAME.position(">A:Soldier* B:Spy C:Heir").view("A"), Budget(time_ms=1))
    assert (forced.stopped_by, forced.reproducible) == ("forced", True)
    late = solve(start(), Budget(iterations=10**9, time_ms=5))
    assert (late.stopped_by, late.reproducible) == ("time", False)


def test_only_moves_among_those_named_are_considered() -> None:
    for view in (start(), reveal(), moving()):
        legal = view.legal_actions()
        wanted = legal[1::3] or legal[:1]
        answer = solve(view, Budget(iterations=600), among=wanted)
        assert {move.action for move in answer.moves} == set(wanted)
        assert sum(move.visits for move in answer.moves) == 600
        # In whatever order they are named.
        assert solve(view, Budget(iterations=600), among=[str(action) for action in wanted[::-1]]).moves == answer.moves
    everything = solve(start(), Budget(iterations=600), among=start().legal_actions())
    assert everything.moves == solve(start(), Budget(iterations=600)).moves
    with pytest.raises(InvalidQuestionError, match=r"among\[0\]: 'resolve' is not one of place"):
        solve(start(), among=["resolve"])
    with pytest.raises(InvalidQuestionError, match=r"among\[1\]: 'place Heir front' is named twice"):
        solve(start(), among=["place Heir front", "place Heir front"])


def test_a_line_names_seats_and_actions_as_the_observer_sees_them() -> None:
    answer = solve(start(), Budget(iterations=3000), seed=3, lines=2, config="plain")
    lines = [move.line for move in answer.moves if move.line]
    assert len(lines) == 2
    for move, line in zip(answer.moves, lines, strict=False):
        assert isinstance(line[0], LineStep)
        assert line[0] == (0, move.action)
        assert str(line[0]) == f"A {move.action}"
        # The cards that others place stay hidden.
        assert all("?" in str(step) for step in line if step.seat != 0 and str(step.action).startswith("place"))
    assert any(step.seat == 1 for line in lines for step in line)
    assert not any(move.line for move in solve(start(), Budget(iterations=300), lines=0).moves)


# --- observers that are not to act ----------------------------------------------------------------------------


def test_an_observer_that_is_not_to_act_gets_chances_and_beliefs_without_a_move() -> None:
    answer = solve(watching(), Budget(iterations=4000), seed=3)
    assert (answer.best, answer.moves, answer.mix) == (None, (), ())
    assert answer.beliefs is not None
    assert {belief.seat for belief in answer.beliefs.seats} == {0, 2}
    (tally,) = answer.total.tallies
    assert tally.visits == answer.iterations == 4000
    assert sum(tally.payoffs) == pytest.approx(4000)
    # At the start, each wins about a third.
    assert all(0.2 < chance.win.mean < 0.5 for chance in answer.seats)
    assert str(answer).splitlines()[1].startswith("  A win ")


def test_every_observer_gets_the_chances_of_every_seat() -> None:
    for seat in range(3):
        answer = solve(ROBBING.view(seat), Budget(iterations=2000), seed=3)
        assert answer.iterations == 2000
        assert (answer.best is None) == (seat != 0)
        assert sum(chance.win.mean for chance in answer.seats) == pytest.approx(1)
        assert answer.beliefs is not None
        assert all(chance.win.error >= 0 for chance in answer.seats)
        assert all(chance.points is None or chance.points.error >= 0 for chance in answer.seats)


def test_the_chances_of_seats_are_the_means_of_all_moves() -> None:
    answer = solve(ROBBING.view(0), Budget(iterations=500), seed=3)
    for seat, chance in enumerate(answer.seats):
        assert isinstance(chance, Chance)
        mean = sum(move.visits * move.seats[seat] for move in answer.moves if move.visits) / answer.iterations
        assert chance.win.mean == pytest.approx(mean)


def test_threads_and_repetition_change_no_chances() -> None:
    view = GAME.deal(4).view(2)
    one, two = (solve(view, Budget(iterations=300), seed=1, shares=2) for _ in range(2))
    assert one.seats == two.seats
    assert one.seats == compute_here(SearchQuestion(view, Budget(iterations=300), seed=1, shares=2)).seats
    assert one.reproducible


def test_chances_need_a_game_that_goes_on_and_a_search() -> None:
    over = GAME.deal(1).play_out(2)
    with pytest.raises(InvalidQuestionError, match="view: the game is over"):
        solve(over.view(0))
    with pytest.raises(InvalidQuestionError, match="config: 'random' does not search; an expectation needs a search"):
        solve(GAME.deal(1).view(1), config="random")


def test_questions_are_refused_by_field_with_what_is_accepted() -> None:
    for arguments, field, accepted in (
        ({"shares": 257}, "shares", "1..256"),
        ({"seed": -1}, "seed", f"0..{2**64 - 1}"),
        ({"lines": 101}, "lines", "0..100"),
        ({"config": "level-11"}, "config", None),
        ({"among": ["dance"]}, "among[0]", None),
        ({"models": {"A": "random"}}, "models[A]", None),
        ({"models": {"B": "clever"}}, "models[B]", "me, noisy, greedy, random"),
        ({"history": Record(GAME.deal(1))}, "history", None),
    ):
        with pytest.raises(InvalidQuestionError) as refused:
            solve(start(), **arguments)
        assert refused.value.field == field
        assert str(refused.value) == f"{field}: {refused.value.problem}"
        if accepted is not None:
            assert refused.value.accepted == accepted
