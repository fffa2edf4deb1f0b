"""Tables that differ only in seats or suits play alike."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest
from game_interface import choose_action, prior_of
from hypothesis import given, settings
from hypothesis import strategies as st
from symmetries import by_seat, reseated, reseated_action, rotation
from tables import SPEC_IDS, SPECS, queue_games, random_game, tables

from engine_cy import Game, Position, new_game

QUICK = settings(max_examples=80, deadline=None)


def poker_tables(game: Game) -> Iterator[Position]:
    """Yield every table of a toy after its first card is dealt."""

    def walk(position: Position) -> Iterator[Position]:
        yield position
        for action in position.legal_actions():
            yield from walk(position.play(action))

    for action in game.deal().legal_actions():
        yield from walk(game.deal().play(action))


# --- seats ----------------------------------------------------------------------------------------------------


def check_reseated(table: Position, to: Any) -> None:
    """Check that actions, views and results of a table follow the players to their new seats."""
    other = reseated(table, to)
    n = table.game.n_players
    assert other.fault is None
    assert other.scores == by_seat(table.scores, to)
    if table.is_over:
        assert other.payoffs == by_seat(table.payoffs, to)
        return
    legal = {str(action): reseated_action(str(action), to) for action in table.legal_actions()}
    assert {str(action) for action in other.legal_actions()} == set(legal.values())
    for action, renamed in legal.items():
        assert other.play(renamed) == reseated(table.play(action), to)
    for seat in range(n):
        assert other.view(to[seat]).count_worlds() == table.view(seat).count_worlds()
        for action, renamed in legal.items():
            if table.to_act != -1:
                assert other.seen(renamed, to[seat]) == reseated_action(table.seen(action, seat), to)


@given(tables(), st.integers(1, 4))
@QUICK
def test_rotating_the_seats_changes_nothing_but_their_names(table: Position, by: int) -> None:
    check_reseated(table, rotation(table.game.n_players, by))


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker"])
def test_poker_is_the_same_with_the_seats_exchanged(game: str) -> None:
    """Seat A always gets the first card, so only tables with both cards are compared."""
    checked = 0
    for table in itertools.islice(poker_tables(new_game(game, players=2)), None, None, 7):
        if "-" in str(table):
            continue
        other = reseated(table, (1, 0))
        assert other.scores == by_seat(table.scores, (1, 0))
        assert other.legal_actions() == table.legal_actions()
        for action in table.legal_actions():
            assert other.play(action) == reseated(table.play(action), (1, 0))
        checked += 1
    assert checked >= 5


@pytest.mark.parametrize("spec", SPECS, ids=SPEC_IDS)
def test_after_the_last_placement_any_exchange_of_seats_changes_nothing_but_their_names(spec: Any) -> None:
    game = new_game(*spec)
    draw = random.Random(3)
    checked = 0
    for seed in range(6):
        played = [position for position, _ in random_game(game, seed)]
        rounds = played[-1].table.round
        placed = [p for p in played if p.is_over or (p.table.ask != "place" and p.table.round == rounds)]
        for table in placed[-6:]:
            to = draw.sample(range(game.n_players), game.n_players)
            other = reseated(table, to)
            assert other.scores == by_seat(table.scores, to)
            if table.is_over:
                assert other.payoffs == by_seat(table.payoffs, to)
                continue
            legal = {str(action): reseated_action(str(action), to) for action in table.legal_actions()}
            assert {str(action) for action in other.legal_actions()} == set(legal.values())
            for action, renamed in legal.items():
                after, expected = other.play(renamed), table.play(action)
                assert after.scores == by_seat(expected.scores, to)
                assert after.table.slots == reseated(expected, to).table.slots
            checked += 1
    assert checked >= 20


@given(tables(queue_games()), st.integers(1, 4), st.integers(0, 2**32))
@QUICK
def test_rotating_the_seats_rotates_priors_and_playout_actions(table: Position, by: int, seed: int) -> None:
    if table.is_over:
        return
    to = rotation(table.game.n_players, by)
    other = reseated(table, to)
    shares, others = prior_of(table), prior_of(other)
    renamed = {reseated_action(str(action), to): share for action, share in shares.items()}
    assert {str(action): share for action, share in others.items()} == pytest.approx(renamed, abs=1e-6)
    # Robberies are listed by seat, so there the same draw selects another player.
    if not any(action.type == "rob" for action in shares):
        assert str(choose_action(other, seed)) == str(choose_action(table, seed))


# --- suits --------------------------------------------------------------------------


def test_the_suits_of_leduc_are_alike() -> None:
    game = new_game("leduc_poker", players=2)
    for rank in "JQK":
        for table in itertools.islice(poker_tables(game), None, None, 23):
            other = game.position(swap_suits(str(table), rank))
            assert other.scores == table.scores
            assert other.to_act == table.to_act
            assert {str(a) for a in other.legal_actions()} == {swap_suits(str(a), rank) for a in table.legal_actions()}


def swap_suits(text: str, rank: str) -> str:
    return text.replace(f"{rank}a", "*").replace(f"{rank}b", f"{rank}a").replace("*", f"{rank}b")
