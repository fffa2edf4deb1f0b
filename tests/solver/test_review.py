"""Reviews: decisions, verdicts on every pool, grades, and the parts of luck."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from liars_dice import LiarsDice
from program import random_record
from tables import ALL_SPECS

from engine_cy import CHANCE, Position, Rng, new_game, python_game
from engine_cy.record import Record
from solver import Answer, Budget, Estimate, InvalidQuestionError
from solver.calibration import calibrated_share, calibration_of
from solver.pool.base import Pool, compute_here
from solver.pool.processes import Processes
from solver.pool.threads import Threads
from solver.question import SearchQuestion
from solver.review import (
    ChanceCheck,
    Decision,
    Judge,
    ScoreKeeper,
    SeatScore,
    Verdict,
    decisions,
    grade_of,
    prospect_of,
    steps,
    verdict_of,
)
from solver.solve import compute

SHORT = Budget(iterations=40)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Threads(2) as threads:
        yield threads


def judge_all(judge: Judge, decisions: Iterable[Decision], pool: Pool | None = None) -> Iterator[Verdict]:
    for decision in decisions:
        answer = compute(judge.search(decision), pool)
        question = judge.comparison(decision, answer)
        yield verdict_of(decision, answer, None if question is None else compute(question, pool))


@cache
def example_record() -> Record:
    return random_record("oriflamme", "en-2019", 3, 2, until=30)


def score_of(record: Record, judge: Judge, seat: int | None = None) -> ScoreKeeper:
    """Judge a game, and return its score."""
    score = ScoreKeeper(record, seat)
    for step in steps(record, seat):
        answer = compute(judge.search(step))
        if isinstance(step, ChanceCheck):
            score.check(prospect_of(step, answer))
        else:
            question = judge.comparison(step, answer)
            verdict = verdict_of(step, answer, None if question is None else compute(question))
            check_currency(verdict, answer)
            score.add(verdict)
    return score


def check_currency(verdict: Verdict, answer: Answer) -> None:
    """Check that a loss, and what the other seats gain by it, are in the shares of the win that the verdict shows."""
    loss, best = verdict.win_loss, verdict.best.win
    if not loss.mean:
        assert not verdict.changes
        return
    assert best is not None
    gained = sum(change for seat, change in enumerate(verdict.changes) if seat != verdict.decision.seat)
    assert gained == pytest.approx(loss.mean, abs=1e-9)  # payoffs sum to a constant
    assert (loss.raw is None) == (best.raw is None)
    if loss.raw is None or best.raw is None:
        return
    fit = calibration_of(answer.question)
    assert fit is not None
    numbers = fit.row(answer.view.round, answer.iterations).move
    played = calibrated_share(max(best.raw - loss.raw, 0), numbers, answer.iterations)
    assert best.mean - loss.mean == pytest.approx(played, abs=1e-12)


def check_sums(record: Record, scores: list[SeatScore]) -> None:
    """Check that a fair share, the parts of luck and the losses are the outcome, exactly."""
    fair, end = Fraction(1, record.game.n_players), record.end
    for score in scores:
        assert score.luck is not None
        lost = sum((Fraction(loss.mean) for loss in score.losses), Fraction(0))
        chance, opponents, hidden = score.luck
        assert score.outcome == fair + chance + (opponents or 0) + hidden - lost
        assert score.luck.total == chance + (opponents or 0) + hidden
        if end.is_over:
            assert float(score.outcome) == end.payoffs[score.seat]


SPECS = [*ALL_SPECS, ("kuhn_poker", None, 2), ("leduc_poker", None, 2)]


def check_games(seeds: range) -> None:
    for seed in seeds:
        game_id, ruleset, players = SPECS[seed % len(SPECS)]
        # Some games end early, and some reviews are of one seat.
        until = None if seed % 3 else seed % 40
        seat = seed % players if seed % 5 == 0 else None
        record = random_record(game_id, ruleset, players, seed, until)
        scores = score_of(record, Judge(Budget(iterations=8), seed=seed), seat).seats()
        assert seat is None or {score.seat for score in scores} <= {seat}
        assert all((score.luck is None or score.luck.opponents is None) == (seat is not None) for score in scores)
        check_sums(record, scores)


def test_the_parts_of_luck_and_the_losses_add_up_to_the_outcome():
    check_games(range(20))


@pytest.mark.slow
@pytest.mark.parametrize("begin", range(0, 1000, 250))
def test_the_parts_add_up_in_a_thousand_games(begin):
    check_games(range(begin, begin + 250))


@pytest.mark.parametrize("players", [2, 3])
def test_the_parts_add_up_in_a_game_of_ones_own(players):
    """In Liar's Dice, chance rolls the dice of each player in turn."""
    game = python_game(LiarsDice, "1x4", players)
    for seed in range(10):
        rng, actions = Rng(seed), []
        start = position = game.deal(seed)
        while not position.is_over:
            legal = position.legal_actions()
            actions.append(str(legal[rng.below(len(legal))]))
            position = position.play(actions[-1])
        scores = score_of(Record(start, tuple(actions)), Judge(Budget(iterations=50), seed=seed)).seats()
        assert any(score.luck and score.luck.chance for score in scores)
        check_sums(Record(start, tuple(actions)), scores)


def test_losses_and_grades_are_in_calibrated_shares_and_keep_the_raw_loss():
    """The report shows one kind of share: the best move's, less the loss, is that of the move played."""
    judge, calibrated = Judge(Budget(iterations=200), seed=2), []
    for decision in decisions(example_record()):
        answer = compute(judge.search(decision))
        question = judge.comparison(decision, answer)
        comparison = None if question is None else compute(question)
        verdict = verdict_of(decision, answer, comparison)
        check_currency(verdict, answer)
        if comparison is None or verdict.win_loss.raw is None:
            continue
        measured = comparison.moves[1].win_difference
        assert measured is not None
        assert verdict.win_loss.raw == measured.mean != verdict.win_loss.mean
        # As significant as before.
        assert verdict.win_loss.mean / verdict.win_loss.error == pytest.approx(measured.mean / measured.error)
        assert verdict.grade == grade_of(verdict.win_loss)
        assert verdict.best.win is not None
        assert 0 < verdict.win_loss.mean <= verdict.best.win.mean
        calibrated.append(verdict)
    assert len(calibrated) > 3


def test_luck_since_the_last_decision_adds_up_to_all_luck():
    """A move that the other players do not see as forced is searched, so the seat's expectation is known there."""
    record = random_record("oriflamme_prototype", None, 4, 0)
    judge, score = Judge(SHORT), ScoreKeeper(record)
    luck_sums = dict.fromkeys(range(4), Fraction(0))
    n_forced = 0
    for step in steps(record):
        answer = compute(judge.search(step))
        if isinstance(step, ChanceCheck):
            score.check(prospect_of(step, answer))
            continue
        question = judge.comparison(step, answer)
        verdict = verdict_of(step, answer, None if question is None else compute(question))
        luck = score.add(verdict)
        assert (luck is None) == (verdict.value is None)
        n_forced += verdict.forced and bool(luck)
        luck_sums[step.seat] += 0 if luck is None else luck.total
    assert n_forced
    for seat in score.seats():
        assert seat.luck is not None
        assert seat.outcome is not None
        # The rest is the change after the last decision.
        lost = sum((Fraction(loss.mean) for loss in seat.losses), Fraction(0))
        expected = Fraction(1, 4) + luck_sums[seat.seat] - lost
        assert seat.luck.total == luck_sums[seat.seat] + seat.outcome - expected


def test_the_first_seat_needs_no_check_after_the_deal_and_all_others_do():
    record = example_record()
    kinds = [(type(step), step.seat, step.follows_chance) for step in steps(record)]
    first = record.start.to_act
    checks = [seat for kind, seat, _ in kinds if kind is ChanceCheck]
    assert sorted(checks) == sorted({0, 1, 2} - {first})
    assert kinds[2] == (Decision, first, True)
    assert [follows for _, _, follows in kinds].count(True) == 3
    assert not [step for step in steps(record.seen_from(1)) if isinstance(step, ChanceCheck)]


def test_seats_are_searched_before_and_after_chance_acts():
    record = next(
        record
        for seed in range(100)
        for record in [random_record("castle_village_port", "house", 3, seed)]
        if any(table.to_act == CHANCE for table in record.tables())
    )
    tables = [table for table in record.tables() if isinstance(table, Position)]
    chances = [index for index, table in enumerate(tables) if table.to_act == CHANCE]
    checks = [step for step in steps(record) if isinstance(step, ChanceCheck)]
    for check in checks:
        assert check.view.observer == check.seat
        assert check.view in {tables[index].view(check.seat) for index in (0, *chances, *(i + 1 for i in chances))}
    before = [check for check in checks if not check.follows_chance]
    # The seat that chose the swap knows its expected win, unless the swap was forced.
    forced = [tables[i - 1].view(tables[i - 1].to_act or 0).forced_action is not None for i in chances]
    assert len(before) == sum(2 + is_forced for is_forced in forced)


def test_mistakes_of_weak_opponents_are_no_luck_of_their_winner():
    """A strong seat beats two that play at random: most of its luck is their mistakes."""
    rng, actions = Rng(3), []
    start = position = new_game("oriflamme", "en-2019", 3).deal(3)
    while not position.is_over:
        legal = position.legal_actions()
        action = legal[rng.below(len(legal))]
        if position.to_act == 0 and len(legal) > 1:
            action = compute(SearchQuestion(position.view(0), Budget(iterations=300), seed=1)).best or action
        actions.append(str(action))
        position = position.play(action)
    record = Record(start, tuple(actions)).ended()
    assert record.end.payoffs[0] == 1
    winner = score_of(record, Judge(Budget(iterations=400), seed=1)).seats()[0]
    assert winner.luck is not None
    assert winner.luck.opponents is not None
    assert winner.luck.opponents > Fraction(winner.luck.total) / 2
    assert abs(winner.luck.chance) < Fraction(1, 5)


def test_a_decision_holds_only_what_its_seat_saw():
    record = example_record()
    for decision in decisions(record):
        assert decision.view.to_act == decision.view.observer == decision.seat
        assert decision.history is not None
        assert decision.history.record.observer == decision.seat
        assert decision.history.end == decision.view
        assert decision.played in decision.view.legal_actions()
    assert {decision.seat for decision in decisions(record, 1)} == {1}
    # A record as the seat saw it has the same decisions.
    seat_record = record.seen_from(1)
    assert [(d.index, d.view, d.history, d.played) for d in decisions(seat_record)] == [
        (d.index, d.view, d.history, d.played) for d in decisions(record, 1)
    ]
    with pytest.raises(InvalidQuestionError, match="seat: this record was seen by another seat"):
        list(decisions(seat_record, 2))


def alike(verdict: Verdict) -> object:
    """Return everything about a verdict that repeats."""
    return replace(verdict, decision=None)  # type: ignore[arg-type]


def test_verdicts_are_the_same_on_every_pool(pool):
    record = example_record()
    judge = Judge(SHORT, seed=5, shares=2)
    expected = list(judge_all(judge, decisions(record)))
    assert any(verdict.win_loss.mean for verdict in expected)
    assert all(verdict.reproducible for verdict in expected)
    on_threads = list(judge_all(judge, decisions(record), pool))
    with Processes(1) as processes:
        on_processes = list(judge_all(judge, decisions(record), processes))
    assert list(map(alike, expected)) == list(map(alike, on_threads)) == list(map(alike, on_processes))
    assert [verdict.decision.index for verdict in on_threads] == [decision.index for decision in decisions(record)]


def test_the_best_move_is_compared_with_the_played_one(pool):
    judge = Judge(Budget(iterations=400))
    n_worse = 0
    for verdict in judge_all(judge, decisions(example_record()), pool):
        assert verdict.best.win is None or 0 <= verdict.win_loss.mean < 1
        if verdict.forced:
            assert verdict.grade == "best"
            continue
        if verdict.grade == "best":
            assert verdict.win_loss.mean == 0
        else:
            n_worse += 1
            assert verdict.best.action != verdict.played.action == verdict.decision.played
            # Half of the iterations search; the other half compares two moves in each world.
            assert verdict.iterations == 200 + 200
            assert verdict.grade == grade_of(verdict.win_loss)
    assert n_worse


def test_memory_limits_the_iterations_of_a_comparison_but_not_of_the_search():
    judge = Judge(Budget(iterations=10**9, memory_mb=1.0))
    decision = next(d for d in decisions(example_record()) if len(d.view.legal_actions()) > 1)
    answer = compute_here(Judge(SHORT).search(decision))
    other = next(action for action in decision.view.legal_actions() if action != answer.moves[0].action)
    question = judge.comparison(replace(decision, played=other), answer)
    assert question is not None
    assert question.budget.iterations is not None
    assert question.budget.iterations < 10**9 // 4
    assert judge.search(decision).budget.iterations == 10**9 // 2


def test_a_model_of_the_deciding_seat_is_ignored(pool):
    """The search plays that seat."""
    verdicts = list(judge_all(Judge(SHORT, models={"A": "random", "B": "noisy"}), decisions(example_record()), pool))
    assert {verdict.decision.seat for verdict in verdicts} == {0, 1, 2}


@pytest.mark.parametrize(
    ("mean", "error", "grade"),
    [
        (-0.1, 0.01, "best"),
        (0.0, 0.0, "best"),
        (0.019, 0.001, "fine"),
        (0.049, 0.001, "inaccuracy"),
        (0.099, 0.001, "mistake"),
        (0.101, 0.001, "blunder"),
        # A loss below two errors is not significant.
        (0.101, 0.06, "fine"),
    ],
)
def test_grades_depend_on_the_loss_and_its_error(mean, error, grade):
    assert grade_of(Estimate(mean, error, 1.0)) == grade
