"""Liar's Dice in Cython, the example of a compiled game: the laws, and the same game as the example in Python."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from liars_dice import LiarsDice as LiarsDiceInPython
from liars_dice_cy import LiarsDice

from engine_cy import (
    Game,
    IllegalActionError,
    InvalidPositionError,
    InvalidRulesetError,
    InvalidViewError,
    NotationError,
    new_game,
    python_game,
    registry,
)
from engine_cy.game_check import check_game

ID = "liars_dice_cy"
KINDS = [(ruleset, players) for ruleset in LiarsDiceInPython.rulesets for players in (2, 3, 5)]


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add the game to those of `new_game`, as its package does."""
    monkeypatch.setitem(registry._CLASSES, ID, LiarsDice)
    yield
    registry._games.clear()


@pytest.fixture
def small() -> Game:
    return new_game(ID, "1x4", 2)


@pytest.mark.parametrize(("ruleset", "players"), KINDS)
def test_random_games_keep_every_law(ruleset: str, players: int) -> None:
    assert check_game(new_game(ID, ruleset, players), games=5).enumerated_views


@pytest.mark.parametrize(("ruleset", "players"), KINDS)
def test_it_is_the_game_in_python(ruleset: str, players: int) -> None:
    game, in_python = new_game(ID, ruleset, players), python_game(LiarsDiceInPython, ruleset, players)
    draw = random.Random(7)
    for seed in range(5):
        ours, theirs = game.deal(seed, seed % players), in_python.deal(seed, seed % players)
        while not ours.is_over:
            assert ours.to_act == theirs.to_act
            assert [str(action) for action in ours.legal_actions()] == [str(each) for each in theirs.legal_actions()]
            for seat in range(players):
                assert str(ours.view(seat)) == str(theirs.view(seat))
                assert ours.view(seat).parts == theirs.view(seat).parts
            action = str(draw.choice(ours.legal_actions()))
            ours, theirs = ours.play(action), theirs.play(action)
            assert str(ours) == str(theirs)
        assert theirs.is_over
        assert (ours.payoffs, ours.scores) == (theirs.payoffs, theirs.scores)


@pytest.mark.parametrize(
    ("players", "view"), [(2, "13 ?? 1x2, first B | seen by A"), (3, "?? 23 ??, first A | seen by B")]
)
def test_it_has_the_worlds_of_the_game_in_python(players: int, view: str) -> None:
    worlds = {str(world) for world in new_game(ID, "2x3", players).view(view).worlds()}
    assert worlds == {str(world) for world in python_game(LiarsDiceInPython, "2x3", players).view(view).worlds()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 5 1x4, first A", "'5' is not a side: dice have 4"),
        ("1 22, first A", "players have 1 each, rolled in turn"),
        ("- 2, first A", "players have 1 each, rolled in turn"),
        ("1, first A", "1 players, not 2"),
        ("1 2 1x4 1x3, first A", "'1x3' is not a bid, or not higher"),
        ("1 - 1x4, first A", "'1x4' does not follow rolls and bids"),
        ("1 2 liar, first A", "'liar' is not a bid"),
        ("1 2 1x4 liar 2x1, first A", "'2x1' does not follow rolls and bids"),
        ("1 2, first C", "'first C' is not 'first ' and a seat"),
        ("1 2, first A | seen by C", "'seen by C' is not 'seen by ' and a seat"),
        ("1 2, A", "'A' is not 'first ' and a seat"),
    ],
)
def test_texts_of_no_table_are_refused(small: Game, text: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        small.position(text)


def test_views_show_no_dice_of_others_and_positions_show_all(small: Game) -> None:
    with pytest.raises(InvalidViewError, match="dice: the observer does not see this die"):
        small.view("1 2, first A | seen by A")
    with pytest.raises(InvalidPositionError, match="unknown where the dice are seen"):
        small.position("1 ?, first A")


def test_damaged_bytes_are_refused_or_a_table(small: Game) -> None:
    """Every byte of the state has one value in each table, so most changes of a byte are faults."""
    state = bytes(small.position("1 2 1x4 2x1, first A"))
    sound = 0
    for at in range(len(state)):
        for value in (0, 1, 3, 0x7F, 0xFF):
            damaged = state[:at] + bytes([value]) + state[at + 1 :]
            try:
                position = small.position_from_bytes(damaged)
            except InvalidPositionError:
                continue
            assert small.position(str(position)) == position
            sound += damaged != state
    assert 0 < sound < 10  # other faces of the two dice


@pytest.mark.parametrize(
    ("text", "action", "reason"),
    [
        ("1 2, first A", "liar", "there is no bid to call"),
        ("1 2 1x4, first A", "bid 1x3", "a bid must be higher than the last"),
        ("1 2, first A", "roll 2", "chance rolls all dice before the first bid"),
    ],
)
def test_illegal_actions_are_refused_with_the_reason(small: Game, text: str, action: str, reason: str) -> None:
    with pytest.raises(IllegalActionError, match=reason):
        small.position(text).play(action)


@pytest.mark.parametrize(("ruleset", "players"), [("6x6", 2), ("1x4", 6), ("1x4", 1)])
def test_impossible_games_are_refused(ruleset: str, players: int) -> None:
    with pytest.raises(InvalidRulesetError, match=f"is not possible in {ID} "):
        new_game(ID, ruleset, players)


def test_actions_have_their_numbers_as_fields(small: Game) -> None:
    fields = [small.action(text).fields for text in ("roll 3", "bid 2x1", "liar")]
    assert fields == [{"type": "roll", "face": 3}, {"type": "bid", "amount": 2, "face": 1}, {"type": "liar"}]
    with pytest.raises(NotationError, match="'bid 3x1' is not an action of liars_dice_cy"):
        small.action("bid 3x1")
