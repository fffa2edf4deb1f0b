"""The measurements of games of one's own; no test here asserts a time."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import games
from benchmarks.report import as_json
from engine_cy import python_game


def test_the_games_suite_prints_every_figure():
    result = games.run(games.QUICK)
    printed = json.loads(json.dumps(as_json(result)))
    assert set(printed) == {*games.GOALS, "spread", "noisy", "raw", "load"}
    assert all(printed[name] > 0 for name in games.GOALS)
    text = games.as_text(result)
    assert all(name in text for name in games.GOALS)


@pytest.mark.parametrize("ruleset", ["1x4", "2x3"])
def test_openspiels_side_plays_the_same_class(ruleset):
    """Both sides have the same actions, players, payoffs and information, and worlds that look the same."""
    game = python_game(games.liars_dice.LiarsDice, ruleset, 2)
    draw = np.random.RandomState(1)
    for _ in range(20):
        state, position = games.RulesGame(game.game_rules).new_initial_state(), game.deal()
        while not position.is_over:
            assert not state.is_terminal()
            assert state.current_player() == position.to_act
            actions = position.legal_actions()
            assert state.legal_actions() == sorted(action.code[0] for action in actions)
            if position.to_act in (0, 1):
                world = state.resample_from_infostate(position.to_act, draw.uniform)
                assert world.information_state_string() == state.information_state_string()
            action = actions[draw.randint(len(actions))]
            state.apply_action(action.code[0])
            position = position.play(action)
            assert str(state) == str(position)
        assert state.is_terminal()
        assert state.returns() == list(position.scores)
