"""Answers: deadlines, reproducibility, restricted moves, lines of play, and observers that are not to act."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from engine_cy import View, new_game
from engine_cy.record import Record
from solver import Answer, Budget, Control, InvalidQuestionError, SearchQuestion, solve
from solver.answer import LineStep, SeatExpectation
from solver.merge import Share, empty_share
from solver.pool.base import compute_here
from solver.pool.parts import Progress
from solver.pool.threads import Threads
from solver.question import Question

GAME = new_game("oriflamme", "en-2019", 3)
# A robs B or C; then the game ends.
ROBBERY = GAME.position("B:Heir* >A:Spy* C:Heir* | round 6 | ask A rob | points 11 12 9")


def opening() -> View:
    return GAME.deal(7).view("A")


def reveal_decision() -> View:
    return GAME.view("A:? >B:Heir C:?(1) | round 2 | points 1 2 3 | seen by B")


def move_decision() -> View:
    """Return a decision of two steps: the card to move, then its new place."""
    table = ">B3:Decree* A3:?/A2:?(1) C2:?(1) C1:?(2) B1:Lord* C3:? | round 3 | first C | ask B move | points 2 3 1"
    rest = "hands ? Soldier,Spy,Heir,Shapeshifter ? | piles Ambush Conspiracy - | seen by B"
    return GAME.view(f"{table} | {rest}")


def other_seats_view() -> View:
    return GAME.deal(7).view("B")


@pytest.mark.parametrize("shares", [1, 3])
def test_every_pool_gives_the_answer_of_solve(shares: int) -> None:
    for budget in (Budget(iterations=3001), Budget(iterations=50_000, confidence=0.6)):
        expected = solve(opening(), budget, seed=4, shares=shares, lines=2)
        question = SearchQuestion(opening(), budget, seed=4, shares=shares, lines=2)
        with Threads(2) as pool:
            for answer in (compute_here(question), solve(question, pool=pool), pool.submit(question).result()):
                assert (answer.moves, answer.stopped_by) == (expected.moves, expected.stopped_by)
                assert sum(answer.share_iterations) == expected.iterations
                assert answer.question is question


def test_reports_are_answers_and_do_not_change_the_result() -> None:
    reports: list[Answer] = []
    question = SearchQuestion(opening(), Budget(iterations=150_000), shares=2, seed=4)
    with Threads(1) as pool:
        answer = solve(question, pool=pool, control=Control(reports.append, 20))
    assert answer.moves == solve(opening(), Budget(iterations=150_000), seed=4, shares=2).moves
    counts = [report.iterations for report in reports]
    assert counts == sorted(counts)
    assert counts[0] > 0
    # On a busy machine, the last reports may have all iterations.
    partial_reports = [report for report in reports if report.iterations < 150_000]
    assert partial_reports
    for report in partial_reports:
        assert sum(move.visits for move in report.moves) == report.iterations == sum(report.share_iterations)
        assert (report.stopped_by, report.reproducible) == ("", False)


def test_a_question_whose_parts_have_ended_is_not_reported_once_more() -> None:
    """A pool may report between the end of the last part and the answer."""
    question = SearchQuestion(opening(), Budget(iterations=100), shares=2)
    running = replace(empty_share(question.n_tallies, 3, stopped_by=""), iterations=50)
    reported: list[list[Share]] = []
    progress = Progress(question, reported.append)
    progress.put(0, running)
    progress.put(1, replace(running, stopped_by="iterations"))
    progress.report()
    assert len(reported) == 1
    progress.put(0, replace(running, stopped_by="iterations"))
    progress.report()
    assert len(reported) == 1


@pytest.mark.parametrize("shares", [1, 3])
def test_a_search_that_a_deadline_ended_is_reproduced_by_its_iterations(shares: int) -> None:
    with Threads(1) as pool:
        for limit_ns in (60_000_000, 600_000_000, 6_000_000_000):  # a busy machine needs longer
            until_ns = time.monotonic_ns() + limit_ns
            question = SearchQuestion(opening(), Budget(iterations=10**9), seed=9, shares=shares)
            first = solve(question, pool=pool, control=Control(until_ns=until_ns))
            # Several shares leave at most half of the time to sum them up.
            assert time.monotonic_ns() >= until_ns - (limit_ns // 2 if shares > 1 else 0)
            assert (first.stopped_by, first.reproducible) == ("time", False)
            if min(first.share_iterations):
                break
    assert min(first.share_iterations) > 0
    budget = Budget(iterations=sum(first.share_iterations))
    question = SearchQuestion(opening(), budget, seed=9, shares=shares, share_iterations=first.share_iterations)
    repeated = compute_here(question)
    assert repeated.share_iterations == first.share_iterations
    assert repeated.moves == first.moves
    assert (repeated.stopped_by, repeated.reproducible) == ("iterations", True)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_only_one_of_many_shares_searches_after_the_deadline(n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """If each share searched or built a belief, the answer would be late by the number of shares."""
    belief_builders = []
    monkeypatch.setattr(Question, "prepare", lambda self: belief_builders.append(self))
    with Threads(n_threads) as pool:
        question = SearchQuestion(opening(), Budget(iterations=10**9), shares=256)
        late_answer = solve(question, pool=pool, control=Control(until_ns=time.monotonic_ns()))
    assert late_answer.best is not None
    assert sum(iterations > 0 for iterations in late_answer.share_iterations) == 1
    assert len(belief_builders) <= 1


def test_only_an_end_by_iterations_confidence_or_force_is_reproducible() -> None:
    """A time limit that was not reached does not matter."""
    answer = solve(opening(), Budget(iterations=500, time_ms=60_000), seed=2)
    assert (answer.stopped_by, answer.reproducible) == ("iterations", True)
    assert answer.moves == solve(opening(), Budget(iterations=500), seed=2).moves
    forced = solve(GAME.position(">A:Soldier* B:Spy C:Heir").view("A"), Budget(time_ms=1))
    assert (forced.stopped_by, forced.reproducible) == ("forced", True)
    late_answer = solve(opening(), Budget(iterations=10**9, time_ms=5))
    assert (late_answer.stopped_by, late_answer.reproducible) == ("time", False)


def test_among_restricts_the_considered_moves() -> None:
    for view in (opening(), reveal_decision(), move_decision()):
        legal = view.legal_actions()
        subset = legal[1::3] or legal[:1]
        answer = solve(view, Budget(iterations=600), among=subset)
        assert {move.action for move in answer.moves} == set(subset)
        assert sum(move.visits for move in answer.moves) == 600
        # The order of `among` does not matter.
        assert solve(view, Budget(iterations=600), among=[str(action) for action in subset[::-1]]).moves == answer.moves
    full = solve(opening(), Budget(iterations=600), among=opening().legal_actions())
    assert full.moves == solve(opening(), Budget(iterations=600)).moves
    with pytest.raises(InvalidQuestionError, match=r"among\[0\]: 'resolve' is not one of place"):
        solve(opening(), among=["resolve"])
    with pytest.raises(InvalidQuestionError, match=r"among\[1\]: 'place Heir front' is named twice"):
        solve(opening(), among=["place Heir front", "place Heir front"])


def test_a_line_names_seats_and_actions_as_the_observer_sees_them() -> None:
    answer = solve(opening(), Budget(iterations=3000), seed=3, lines=2, config="plain")
    lines = [move.line for move in answer.moves if move.line]
    assert len(lines) == 2
    for move, line in zip(answer.moves, lines, strict=False):
        assert isinstance(line[0], LineStep)
        assert line[0] == (0, move.action)
        assert str(line[0]) == f"A {move.action}"
        # The cards that others place stay hidden.
        assert all("?" in str(step) for step in line if step.seat != 0 and str(step.action).startswith("place"))
    assert any(step.seat == 1 for line in lines for step in line)
    assert not any(move.line for move in solve(opening(), Budget(iterations=300), lines=0).moves)


def test_a_sampled_line_is_the_line_in_one_world_that_fits_the_view() -> None:
    answer = solve(reveal_decision(), Budget(iterations=3000), seed=3, lines=2)
    samples = [move.sample for move in answer.moves if move.sample]
    assert len(samples) == 2
    for move in answer.moves[:2]:
        assert move.sample is not None
        assert move.sample.positions[0].view(1) == answer.view
        after = answer.view
        for step, (seat, seen, view) in zip(move.line, move.sample.steps(), strict=True):
            assert (step.seat, str(step.action)) == (seat, seen.partition(" = ")[0])
            after = after.play(seen)
            assert view == after
    # Cards that are shown have names: a line is replayed to its end.
    assert any(" = " in step.seen for sample in samples for step in sample.steps())
    assert all(move.sample is None for move in solve(opening(), Budget(iterations=300), lines=0).moves)


# --- observers that are not to act ----------------------------------------------------------------------------


def test_an_observer_who_is_not_to_act_gets_chances_and_beliefs_but_no_move() -> None:
    answer = solve(other_seats_view(), Budget(iterations=4000), seed=3)
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
        answer = solve(ROBBERY.view(seat), Budget(iterations=2000), seed=3)
        assert answer.iterations == 2000
        assert (answer.best is None) == (seat != 0)
        assert sum(chance.win.mean for chance in answer.seats) == pytest.approx(1)
        assert answer.beliefs is not None
        assert all(chance.win.error >= 0 for chance in answer.seats)
        assert all(chance.points is None or chance.points.error >= 0 for chance in answer.seats)


def test_the_chances_of_seats_are_the_means_of_all_moves() -> None:
    answer = solve(ROBBERY.view(0), Budget(iterations=500), seed=3)
    for seat, chance in enumerate(answer.seats):
        assert isinstance(chance, SeatExpectation)
        mean = sum(tally.payoffs[seat] for tally in answer.total.tallies) / answer.iterations
        assert chance.win.of_playouts == pytest.approx(mean)


def test_chances_are_reproducible() -> None:
    view = GAME.deal(4).view(2)
    one, two = (solve(view, Budget(iterations=300), seed=1, shares=2) for _ in range(2))
    assert one.seats == two.seats
    assert one.seats == compute_here(SearchQuestion(view, Budget(iterations=300), seed=1, shares=2)).seats
    assert one.reproducible


def test_chances_need_an_unfinished_game_and_a_search() -> None:
    over = GAME.deal(1).play_out(2)
    with pytest.raises(InvalidQuestionError, match="view: the game is over"):
        solve(over.view(0))
    with pytest.raises(InvalidQuestionError, match="config: 'random' does not search; an expectation needs a search"):
        solve(GAME.deal(1).view(1), config="random")


def test_questions_are_refused_with_the_field_and_the_accepted_values() -> None:
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
        with pytest.raises(InvalidQuestionError) as refusal:
            solve(opening(), **arguments)
        assert refusal.value.field == field
        assert str(refusal.value) == f"{field}: {refusal.value.problem}"
        if accepted is not None:
            assert refusal.value.accepted == accepted
