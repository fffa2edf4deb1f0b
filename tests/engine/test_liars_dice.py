"""Liar's Dice, the example of a game in Python: the laws, and OpenSpiel's game history by history."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyspiel
import pytest
from laws import check_random_games
from liars_dice import LiarsDice, Table

from engine_cy import CHANCE, EngineError, HiddenCardError, NotationError, Position, Rng, python_game

SMALL = python_game(LiarsDice, "1x4", 2)


def rolled(ruleset: str, players: int, seed: int = 1) -> Position:
    """Return a table after the rolls of chance."""
    position = python_game(LiarsDice, ruleset, players).deal(seed)
    rng = Rng(seed)
    while position.to_act == CHANCE:
        actions = position.legal_actions()
        position = position.play(actions[rng.below(len(actions))])
    return position


@pytest.mark.parametrize(("ruleset", "players"), [("1x4", 2), ("2x3", 2), ("2x3", 3), ("1x6", 4), ("1x4", 5)])
def test_random_games_keep_every_law(ruleset: Any, players: Any) -> None:
    assert check_random_games(python_game(LiarsDice, ruleset, players), 30, seed=3) > 30 * 3


@pytest.mark.parametrize(
    ("text", "payoffs"),
    [
        ("1 2 1x1 liar, first A", (1.0, -1.0)),
        ("1 2 1x3 liar, first A", (-1.0, 1.0)),
        ("1 4 2x1 liar, first A", (1.0, -1.0)),  # the four is wild
        ("4 4 2x2 liar, first B", (-1.0, 1.0)),
        ("1 4 1x4 2x4 liar, first A", (1.0, -1.0)),
    ],
)
def test_a_call_is_won_by_the_bidder_if_the_dice_show_the_bid(text: Any, payoffs: Any) -> None:
    position = SMALL.position(text)
    assert SMALL.game_rules.payoffs(SMALL.value(position)) == list(payoffs)
    assert position.payoffs == tuple((payoff + 1) / 2 for payoff in payoffs)
    assert position.scores == payoffs
    assert position.view(0).parts == position.parts == text


def test_a_player_who_takes_no_part_in_the_call_gets_nothing() -> None:
    assert python_game(LiarsDice, "1x6", 3).position("1 2 3 2x4 liar, first B").scores == (0, -1, 1)


def test_views_hide_the_dice_of_others_and_worlds_fill_them_in() -> None:
    position = rolled("2x3", 3)
    view = position.view(1)
    game: Any = view.game
    dice = [hand if seat == 1 else (0, 0) for seat, hand in enumerate(game.value(position).dice)]
    assert game.value(view) == Table(tuple(dice), (), 0)
    worlds = list(view.worlds())
    assert len(set(worlds)) == view.count_worlds() == 3**4
    draws = Counter(view.sample_world(seed) for seed in range(3000))
    assert set(draws) == set(worlds)
    assert max(draws.values()) < 80  # 37 on average


def test_positions_views_and_actions_survive_text_and_pickling() -> None:
    position = rolled("2x3", 3).play("bid 1x2").play("bid 3x1")
    view = position.view("C")
    assert position.game.position(str(position)) == pickle.loads(pickle.dumps(position)) == position
    assert position.game.view(str(view)) == pickle.loads(pickle.dumps(view)) == view
    assert [pickle.loads(pickle.dumps(action)) for action in view.legal_actions()] == view.legal_actions()
    assert str(view.legal_actions()[-1]) == "liar"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 5 1x4, first A", "dice have 4 sides"),
        ("1 2 1x4 1x3, first A", "bids rise"),
        ("1 - 1x4, first A", "bids rise, and follow the rolls"),
        ("1 2 liar, first A", "only a bid can be called"),
        ("1 2, first C", "no such first player"),
        ("1 2 3, first A", "'bid 3' is not in list"),
        ("1 2, first A ~3", "~3 is not possible"),
    ],
)
def test_texts_of_no_table_are_refused(text: Any, message: Any) -> None:
    with pytest.raises(NotationError, match=message):
        SMALL.position(text)


def test_a_view_that_names_a_die_of_another_player_is_refused() -> None:
    with pytest.raises(HiddenCardError, match=r"tells more than A sees, which is '1 \?, first A'"):
        SMALL.view("1 2, first A | seen by A")
    assert SMALL.view("1 ?, first A | seen by A").to_act == 0
    with pytest.raises(EngineError, match="text"):
        SMALL.view_from_bytes(bytes(SMALL.position("1 2, first A")), 0)


def states(state: Any) -> Iterator[Any]:
    yield state
    if not state.is_terminal():
        for action in state.legal_actions():
            yield from states(state.child(action))


def test_one_die_of_four_sides_has_openspiels_histories_information_sets_and_payoffs() -> None:
    """OpenSpiel numbers rolls from 0, and bids from 0 in the order of ours."""
    numbers = {f"roll {face}": face - 1 for face in range(1, 5)} | {"liar": 8}
    numbers |= {f"bid {amount}x{face}": 4 * amount + face - 5 for amount in (1, 2) for face in range(1, 5)}
    ours: dict[tuple[int, ...], Position] = {}

    def walk(position: Position, history: tuple[int, ...]) -> None:
        ours[history] = position
        for action in position.legal_actions():
            walk(position.play(action), (*history, numbers[str(action)]))

    walk(SMALL.deal(), ())
    game = pyspiel.load_game("liars_dice(numdice=1,dice_sides=4)")
    theirs = {tuple(state.history()): state for state in states(game.new_initial_state())}
    assert ours.keys() == theirs.keys()
    pairs = set()
    for history, position in ours.items():
        state = theirs[history]
        assert position.is_over == state.is_terminal()
        if position.is_over:
            assert [2 * payoff - 1 for payoff in position.payoffs] == state.returns()
        elif position.to_act != CHANCE:
            assert position.to_act == state.current_player()
            pairs.add((position.view(position.to_act or 0), state.information_state_string()))
    views, information_states = (len(set(column)) for column in zip(*pairs, strict=True))
    assert len(pairs) == views == information_states == 1024
