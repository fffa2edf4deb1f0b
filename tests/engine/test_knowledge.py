"""The knowledge of Oriflamme: playout policy, priors, evaluation."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from array import array
from typing import Any

import pytest
from game_interface import choose_action, evaluate_position, prior_of
from hidden_cards import shuffle_hidden
from hypothesis import given, settings
from hypothesis import strategies as st
from playouts import log_loss, playout_positions, shares_by_score
from symmetries import reseated, rotation
from tables import SPEC_IDS, SPECS, queue_games, random_game, tables

from engine_cy import Position, new_game
from engine_cy.learned.self_play import PositionList, SelfPlay, contest, features_of, set_name
from engine_cy.oriflamme.features import WEIGHTS

QUICK = settings(max_examples=60, deadline=None)

EVERY_SPEC = pytest.mark.parametrize("spec", SPECS, ids=SPEC_IDS)


# --- actions --------------------------------------------------------------------------------------------------


@EVERY_SPEC
def test_playouts_take_legal_actions_and_all_of_them_have_a_prior(spec: Any) -> None:
    game = new_game(*spec)
    for seed in range(4):
        for position in [*playout_positions(game, seed, random_share=0.3), *[p for p, _ in random_game(game, seed)]]:
            if position.is_over:
                assert prior_of(position) == {}
                continue
            legal = position.legal_actions()
            assert choose_action(position, seed) in legal
            shares = prior_of(position)
            assert list(shares) == legal
            assert all(share >= 0 for share in shares.values())
            assert math.fsum(shares.values()) == pytest.approx(1, abs=1e-5)


@given(tables(queue_games()), st.randoms(use_true_random=False), st.integers(0, 2**32))
@settings(max_examples=120, deadline=None)
def test_playout_actions_and_priors_depend_only_on_the_view(table: Position, draw: random.Random, seed: int) -> None:
    if table.is_over:
        return
    other = shuffle_hidden(table, table.to_act or 0, draw)
    assert choose_action(other, seed) == choose_action(table, seed)
    assert prior_of(other) == prior_of(table)


@given(tables(queue_games()), st.integers(0, 2**32))
@QUICK
def test_a_seed_determines_the_playout_action(table: Position, seed: int) -> None:
    if not table.is_over:
        assert choose_action(table, seed) == choose_action(table, seed)


@EVERY_SPEC
def test_the_playout_policy_beats_random_play(spec: Any) -> None:
    game = new_game(*spec)
    assert contest(game, 600, 1, seats=0b1) > (0.9 if game.n_players == 2 else 0.75)


# --- evaluation -----------------------------------------------------------------------------------------------


@given(tables(queue_games()))
@QUICK
def test_the_evaluated_shares_of_the_win_add_up_to_one(table: Position) -> None:
    shares = evaluate_position(table)
    assert all(0 <= share <= 1 for share in shares)
    assert math.fsum(shares) == pytest.approx(1)
    assert evaluate_position(table) == shares
    if table.is_over:
        assert shares == table.payoffs


@given(tables(queue_games()), st.integers(1, 4))
@QUICK
def test_rotating_the_seats_rotates_the_evaluation(table: Position, by: int) -> None:
    n = table.game.n_players
    expected = evaluate_position(table)
    # Sums over the players have another order, so the last bits differ.
    assert evaluate_position(reseated(table, rotation(n, by))) == pytest.approx(
        [expected[(p - by) % n] for p in range(n)], abs=1e-9
    )


@given(tables(queue_games()), st.integers(0, 4), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_more_points_are_never_worse(table: Position, seat: int, more: int) -> None:
    seat %= table.game.n_players
    points = tuple(points + more * (p == seat) for p, points in enumerate(table.table.points))
    richer = table.game.from_parts(
        dataclasses.replace(table.parts, table=dataclasses.replace(table.table, points=points))
    )
    assert isinstance(richer, Position)
    assert evaluate_position(richer)[seat] >= evaluate_position(table)[seat] - 1e-12


SLOW = [pytest.param(spec, marks=pytest.mark.slow) for spec in (SPECS[1], SPECS[6])]


@pytest.mark.parametrize("spec", [SPECS[0], SPECS[13], *SLOW], ids=str)
def test_the_evaluation_predicts_winners_better_than_points(spec: Any) -> None:
    game = new_game(*spec)
    starts: list[Position] = []  # of rounds after the first
    payoffs: list[tuple[float, ...]] = []
    for seed in range(120):
        *positions, end = playout_positions(game, seed, random_share=0.05)
        later = [after for before, after in itertools.pairwise(positions) if begins_round(before, after)]
        starts += later
        payoffs += [end.payoffs] * len(later)
    loss = log_loss(map(evaluate_position, starts), payoffs)
    points = [position.scores for position in starts]
    assert loss < math.log(game.n_players) - 0.2
    assert loss < min(log_loss(shares_by_score(points, scale / 20), payoffs) for scale in range(20)) - 0.05


def begins_round(before: Position, after: Position) -> bool:
    return bool(before.table.ask != "place" and after.table.ask == "place")


def test_the_evaluation_of_an_almost_finished_game_is_close_to_the_result() -> None:
    game = new_game("oriflamme", "en-2019", 3)
    last_decisions = [position for seed in range(60) for position in playout_positions(game, seed)[-2:-1]]
    errors = [abs(evaluate_position(p)[s] - paid) for p in last_decisions for s, paid in enumerate(best_payoffs(p))]
    assert sum(errors) / len(errors) < 0.1
    clear = [(p, best_payoffs(p)) for p in last_decisions if sorted(p.scores)[-1] > sorted(p.scores)[-2] + 8]
    assert clear
    for position, payoffs in clear:
        assert evaluate_position(position) == pytest.approx(payoffs, abs=0.02)


def best_payoffs(position: Position) -> tuple[float, ...]:
    """Return the payoffs if the player with the last decision makes the best one."""
    ends = [position.play(action) for action in position.legal_actions()]
    return max((end for end in ends if end.is_over), key=lambda end: end.payoffs[position.to_act or 0]).payoffs


# --- positions for training -----------------------------------------------------------------------------------


def read_positions(listed: PositionList, n_players: int) -> list[tuple[int, list[dict[int, float]], list[float]]]:
    """Return the row, the features of each seat and the payoffs of each position of a list."""
    rows, sizes, numbers, values, payoffs = (
        array(kind, part) for kind, part in zip("iiHfd", listed.arrays(), strict=True)
    )
    at = 0
    seats: list[dict[int, float]] = []
    for size in sizes:
        seats.append(dict(zip(numbers[at : at + size], values[at : at + size], strict=True)))
        at += size
    n = n_players
    return [(row, seats[n * i : n * i + n], list(payoffs[n * i : n * i + n])) for i, row in enumerate(rows)]


def test_a_list_of_positions_holds_the_features_of_every_seat() -> None:
    game = new_game("oriflamme", "revised", 4)
    listed = PositionList(new_game("oriflamme", "en-2019", 4))
    positions = playout_positions(game, 3)[:-1]
    for position in positions:
        listed.add(position, (0.5, 0.0, 0.5, 0.0))
    expected = []
    for position in positions:
        row, seats = features_of(position)
        shown = [{number: value for number, value in enumerate(seat) if value} for seat in seats]
        expected.append((row, shown, [0.5, 0.0, 0.5, 0.0]))
    assert read_positions(listed, 4) == expected
    with pytest.raises(ValueError, match="position: it belongs to oriflamme-3, not to oriflamme-4"):
        listed.add(new_game("oriflamme", "revised", 3).deal(1), (1.0, 0.0, 0.0))


def test_self_play_lists_the_beginning_of_every_round_with_the_payoffs() -> None:
    game = new_game("oriflamme", "en-2019", 3)
    listed = read_positions(SelfPlay(game, 1, 0.1).positions(50, 0.0), 3)
    assert [row for row, _, _ in listed] == [5, 4, 3, 2, 1, 0] * 50
    for begin in range(0, 300, 6):
        (payoffs,) = {tuple(paid) for _, _, paid in listed[begin : begin + 6]}
        assert sum(payoffs) == 1
    more = read_positions(SelfPlay(game, 1, 0.1).positions(50, 1.0), 3)
    assert len(more) > 5 * len(listed)


# --- weights --------------------------------------------------------------------------------------------------


def test_every_edition_and_number_of_players_has_weights() -> None:
    for spec in SPECS:
        table = new_game(*spec).deal(1)
        shares = [round(share, 6) for share in prior_of(table).values()]
        assert len(set(shares)) > 3, set_name(table.game)
        row, seats = features_of(table)
        assert 0 <= row < WEIGHTS.tables["features"].rows
        assert {len(seat) for seat in seats} == {WEIGHTS.width("features")}
