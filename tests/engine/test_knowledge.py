"""What the engine knows about Oriflamme: playouts' policy, priors, evaluation."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from typing import Any

import pytest
from door import choose_action, evaluate_position, prior_of
from hypothesis import given, settings
from hypothesis import strategies as st
from symmetries import reseated, rotation
from tables import SPEC_IDS, SPECS, queue_games, random_game, tables
from test_views_and_worlds import permuted

from engine_cy import Game, Position, new_game
from engine_cy.oriflamme.knowledge import (
    SIZES,
    WEIGHTS,
    contest,
    features_of,
    load_weights,
    set_name,
)

QUICK = settings(max_examples=60, deadline=None)

MANY = pytest.mark.parametrize("spec", SPECS, ids=SPEC_IDS)


def played(game: Game, seed: int, strangers: float = 0.0) -> list[Position]:
    """The positions of a game as playouts play it; a share of the actions is random."""
    draw = random.Random(seed)
    position = game.deal(seed, seed % game.n_players)
    found = [position]
    while not position.is_over:
        if draw.random() < strangers:
            action = draw.choice(position.legal_actions())
        else:
            action = choose_action(position, draw.getrandbits(32))
        position = position.play(action)
        found.append(position)
    return found


# --- actions --------------------------------------------------------------------------------------------------


@MANY
def test_a_playout_takes_legal_actions_all_of_which_have_a_share(spec: Any) -> None:
    game = new_game(*spec)
    for seed in range(4):
        for position in [*played(game, seed, strangers=0.3), *[p for p, _ in random_game(game, seed)]]:
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
def test_what_a_player_does_depends_only_on_what_he_sees(table: Position, draw: random.Random, seed: int) -> None:
    if table.is_over:
        return
    other = permuted(table, table.to_act or 0, draw)
    assert choose_action(other, seed) == choose_action(table, seed)
    assert prior_of(other) == prior_of(table)


@given(tables(queue_games()), st.integers(0, 2**32))
@QUICK
def test_equal_seeds_choose_equally(table: Position, seed: int) -> None:
    if not table.is_over:
        assert choose_action(table, seed) == choose_action(table, seed)


@MANY
def test_the_policy_of_playouts_beats_random_play(spec: Any) -> None:
    game = new_game(*spec)
    assert contest(game, 600, 1, seats=0b1) > (0.9 if game.n_players == 2 else 0.75)


# --- evaluation -----------------------------------------------------------------------------------------------


@given(tables(queue_games()))
@QUICK
def test_the_shares_of_the_win_add_up(table: Position) -> None:
    shares = evaluate_position(table)
    assert all(0 <= share <= 1 for share in shares)
    assert math.fsum(shares) == pytest.approx(1)
    assert evaluate_position(table) == shares
    if table.is_over:
        assert shares == table.payoffs


@given(tables(queue_games()), st.integers(1, 4))
@QUICK
def test_the_evaluation_follows_the_players_round_the_table(table: Position, by: int) -> None:
    n = table.game.n_players
    expected = evaluate_position(table)
    # Sums over the players come in another order, hence not to the last bit.
    assert evaluate_position(reseated(table, rotation(n, by))) == pytest.approx(
        [expected[(p - by) % n] for p in range(n)], abs=1e-9
    )


@given(tables(queue_games()), st.integers(0, 4), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_more_points_are_never_worse(table: Position, seat: int, more: int) -> None:
    at, seat = table.table, seat % table.game.n_players
    points = tuple(points + more * (p == seat) for p, points in enumerate(at.points))
    richer = table.game.from_table(dataclasses.replace(at, points=points))
    assert isinstance(richer, Position)
    assert evaluate_position(richer)[seat] >= evaluate_position(table)[seat] - 1e-12


@pytest.mark.parametrize("spec", [SPECS[0], SPECS[1], SPECS[6], SPECS[13]], ids=str)
def test_the_evaluation_foretells_winners_better_than_points_do(spec: Any) -> None:
    game = new_game(*spec)
    seen: list[tuple[tuple[float, ...], tuple[int, ...], tuple[float, ...]]] = []
    for seed in range(120):
        *positions, end = played(game, seed, strangers=0.05)
        ends = [after for before, after in itertools.pairwise(positions) if new_round(before, after)]
        seen += [(evaluate_position(position), position.scores, end.payoffs) for position in ends]

    def surprise(expected: list[tuple[float, ...]]) -> float:
        pairs = zip(expected, [payoffs for _, _, payoffs in seen], strict=True)
        return -sum(p * math.log(e) for shares, paid in pairs for e, p in zip(shares, paid, strict=True)) / len(seen)

    def by_points(scale: float) -> list[tuple[float, ...]]:
        odds = [[math.exp(scale * p) for p in points] for _, points, _ in seen]
        return [tuple(o / sum(row) for o in row) for row in odds]

    ours = surprise([shares for shares, _, _ in seen])
    assert ours < math.log(game.n_players) - 0.2
    assert ours < min(surprise(by_points(scale / 20)) for scale in range(20)) - 0.05


def new_round(before: Position, after: Position) -> bool:
    return bool(before.table.phase != "place" and after.table.phase == "place")


def test_a_game_that_is_all_but_won_is_evaluated_so() -> None:
    game = new_game("oriflamme", "en-2019", 3)
    last_asked = [position for seed in range(60) for position in played(game, seed)[-2:-1]]
    off = [abs(evaluate_position(p)[s] - paid) for p in last_asked for s, paid in enumerate(best(p))]
    assert sum(off) / len(off) < 0.1
    clear = [(p, best(p)) for p in last_asked if sorted(p.scores)[-1] > sorted(p.scores)[-2] + 8]
    assert clear
    for position, paid in clear:
        assert evaluate_position(position) == pytest.approx(paid, abs=0.02)


def best(position: Position) -> tuple[float, ...]:
    """What the seats are paid if the player to act, the last one asked, does his best."""
    ends = [position.play(action) for action in position.legal_actions()]
    return max((end for end in ends if end.is_over), key=lambda end: end.payoffs[position.to_act or 0]).payoffs


# --- weights --------------------------------------------------------------------------------------------------


def test_every_table_has_weights() -> None:
    for spec in SPECS:
        table = new_game(*spec).deal(1)
        shares = [round(share, 6) for share in prior_of(table).values()]
        assert len(set(shares)) > 3, set_name(table.game)
        row, seats = features_of(table)
        assert 0 <= row < SIZES["rows"]
        assert {len(seat) for seat in seats} == {SIZES["features"]}


def test_weights_of_another_version_are_refused(tmp_path: Any) -> None:
    text = WEIGHTS.read_text()
    other = tmp_path / "weights.json"
    other.write_text(text.replace('"version":1', '"version":0', 1))
    with pytest.raises(ValueError, match="version 0"):
        load_weights(other)
