"""Calibrated numbers keep the order of moves, sum to 1, belong to the weights, and leave decided games alone."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_cy import new_game
from solver import Budget, calibration, compare, solve
from solver.answer import Estimate, is_decided
from solver.calibration import (
    Fit,
    Ranks,
    Row,
    Shares,
    calibrated_shares,
    calibration_of,
    fit_of,
    flat,
    read_row,
    slope,
)
from solver.config import LEVELS
from solver.numbers import shrink_chances
from solver.question import SearchQuestion

GAME = new_game("oriflamme", "en-2019", 3)
VIEW = GAME.view("C:Lord* >A:Ambush(1) B:Soldier* C:?(2) | round 4 | points 7 7 7 | seen by A")
SHARES = Shares(0.7, -0.2, 0.8, 1.0, 1.2, -0.5, 1.1)
ROW = Row(SHARES, SHARES, SHARES, Ranks(0.8, 0.1))
TEST_FIT = Fit("test", (100, 10_000), {4: (ROW, read_row([2 * number for number in flat(ROW)]))})

shares = st.lists(st.floats(0, 1), min_size=2, max_size=5).filter(lambda parts: sum(parts) > 0.01)


@pytest.fixture
def fitted(monkeypatch):
    """Give every question about the game the fit of the test."""
    monkeypatch.setattr(calibration, "fit_of", lambda game: TEST_FIT if game == GAME else None)


# --- the numbers ------------------------------------------------------------------------------------------------


def calibrated_share(share, iterations):
    return calibrated_shares([share, 1 - share], 0, SHARES, iterations)[0]


@given(shares, st.integers(1, 10**6))
def test_the_shares_of_all_seats_sum_to_1(parts, iterations):
    total = sum(parts)
    calibrated = calibrated_shares([part / total for part in parts], 0, SHARES, iterations)
    assert sum(calibrated) == pytest.approx(1)
    assert min(calibrated) >= 0


@given(st.lists(st.floats(0, 1), min_size=2, unique=True), st.integers(1, 10**6))
def test_the_order_of_shares_stays(raw, iterations):
    calibrated = [calibrated_share(share, iterations) for share in sorted(raw)]
    assert all(one <= other for one, other in pairwise(calibrated))


def test_a_share_follows_its_formula():
    p = (0.75 * 1000 + 0.5) / 1001
    expected = 1 / (1 + math.exp(-(0.7 * math.log(p / (1 - p)) - 0.2)))
    assert calibrated_share(0.75, 1000) == pytest.approx(expected, abs=1e-12)


@given(st.floats(0.01, 0.99), st.integers(100, 10**6))
def test_the_factor_of_the_error_is_the_slope(share, iterations):
    step = 1e-5
    low, high = (calibrated_share(share + side, iterations) for side in (-step, step))
    factor = slope(share, calibrated_share(share, iterations), SHARES.temperature, iterations)
    assert factor == pytest.approx((high - low) / (2 * step), rel=0.02)


def test_other_seats_without_wins_share_the_rest():
    own, *others = calibrated_shares([1.0, 0.0, 0.0], 0, SHARES, 100)
    assert others == [(1 - own) / 2] * 2


@given(shares)
def test_the_chances_of_ranks_sum_to_1(parts):
    total = sum(parts)
    assert sum(shrink_chances([part / total for part in parts], *ROW.ranks)) == pytest.approx(1)


def test_numbers_between_two_efforts_are_interpolated():
    low, middle, high = (TEST_FIT.row(4, effort).move.temperature for effort in (100, 1000, 10_000))
    assert (low, middle, high) == pytest.approx((0.7, 1.05, 1.4), abs=0.01)
    assert TEST_FIT.row(4, 1) == TEST_FIT.row(1, 100) == ROW
    assert TEST_FIT.row(9, 10**9) == TEST_FIT.rounds[4][1]


# --- answers ----------------------------------------------------------------------------------------------------


def test_answers_have_calibrated_and_raw_means(fitted):
    answer = solve(VIEW, Budget(iterations=2_000), seed=3)
    assert answer.calibration == "test"
    wins = []
    for move in answer.moves:
        assert move.win is not None
        wins.append((move.win.raw, move.win.mean))
        payoffs = answer.total.tallies[answer.question.decisions.index(move.action)].payoffs
        assert move.win.raw == payoffs[0] / move.visits
        assert move.win.mean == move.seats[0] != move.win.raw
        if move.points is not None and move.points.raw is not None:
            assert move.points.mean == pytest.approx(move.points.raw + TEST_FIT.row(4, 2000).move.own_points)
            assert sum(move.ranks) == pytest.approx(1)
    assert answer.moves[0].points is not None
    assert [mean for _, mean in sorted(wins)] == sorted(mean for _, mean in wins)
    assert sum(seat.win.mean for seat in answer.seats) == pytest.approx(1)
    assert sum(seat.win.of_playouts for seat in answer.seats) == pytest.approx(1)


def test_a_calibration_changes_no_choice(fitted, monkeypatch):
    budget = Budget(iterations=2_000)
    calibrated = solve(VIEW, budget, seed=3)
    monkeypatch.setattr(calibration, "fit_of", lambda game: None)
    raw = solve(VIEW, budget, seed=3)
    assert [move.action for move in calibrated.moves] == [move.action for move in raw.moves]
    assert (calibrated.best, calibrated.mix) == (raw.best, raw.mix)
    assert raw.calibration == "none"
    one, other = raw.moves[0].win, calibrated.moves[0].win
    assert one is not None
    assert other is not None
    assert one.raw is None
    assert one.mean == other.raw == one.of_playouts


def test_comparisons_have_the_raw_means(fitted):
    moves = compare(VIEW, ["keep", "reveal"], Budget(iterations=500)).moves
    assert [move.win and move.win.raw for move in moves] == [None, None]


def test_a_decided_game_keeps_its_means(fitted):
    assert is_decided(Estimate(1.0, 0.0, 0.0), 100)
    assert not is_decided(Estimate(1.0, 0.0, 0.0), 99)
    answer = solve(GAME.view(">A:Ambush(1) | round 4 | points 60 1 1 | seen by A"), Budget(iterations=2_000))
    assert answer.calibration == "test"
    best = answer.moves[0]
    assert best.win is not None
    assert best.win.raw is None
    assert best.win.mean == pytest.approx(1)
    assert [seat.win.mean for seat in answer.seats] == pytest.approx([1, 0, 0])


def test_levels_are_calibrated_and_other_settings_are_not(fitted):
    def name_of(config="default", **options):
        fit = calibration_of(SearchQuestion(VIEW, config=config, **options))
        return fit and fit.name

    assert name_of() == "test"
    assert [name_of(level) for level in LEVELS.values()] == ["test"] * len(LEVELS)
    assert name_of("plain") is None
    assert name_of("flat") is None
    assert name_of(models={"B": "noisy"}) is None


# --- the files --------------------------------------------------------------------------------------------------

SHIPPED = [
    *[("oriflamme", edition, n) for edition in ("en-2019", "fr-2019", "de-2019", "revised") for n in (3, 4, 5)],
    *[("oriflamme_prototype", "prototype", n) for n in (2, 3, 4)],
    *[("castle_village_port", "house", n) for n in (3, 4, 5)],
]


@pytest.mark.parametrize("spec", SHIPPED, ids=lambda spec: "-".join(map(str, spec)))
def test_every_published_ruleset_has_a_fit_of_the_present_weights(spec):
    fit = fit_of(new_game(*spec))
    assert fit is not None, "weights changed: python -m solver.training.calibration"
    assert fit.name == " ".join(map(str, spec))
    for rows in fit.rounds.values():
        assert len(rows) == len(fit.efforts)
        for row in rows:
            assert 0.3 < row.move.temperature < 2


def test_other_rulesets_have_none():
    assert fit_of(new_game("oriflamme", {"edition": "en-2019", "decree_onto_stack": False}, 3)) is None
    assert fit_of(new_game("kuhn_poker", None, 2)) is None


def test_a_fit_of_other_weights_is_not_used(monkeypatch, tmp_path):
    path = calibration.path_of(GAME)
    assert path is not None
    content = json.loads(path.read_text())
    changed = tmp_path / "calibration.json"
    changed.write_text(json.dumps(content | {"weights": "0" * 16}))
    monkeypatch.setattr(calibration, "path_of", lambda game: changed)
    calibration.fit_of.cache_clear()
    assert fit_of(GAME) is None
    changed.write_text(json.dumps(content))
    calibration._read.cache_clear()
    calibration.fit_of.cache_clear()
    assert fit_of(GAME) is not None
    calibration.fit_of.cache_clear()
