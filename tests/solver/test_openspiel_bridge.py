"""Our games as OpenSpiel games: they meet OpenSpiel's requirements and agree with the engine."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import (
    expected_game_score,
    exploitability,
    generate_playthrough,
    get_all_states,
    ismcts,
    mcts,
)
from open_spiel.python.policy import UniformRandomPolicy

from engine_cy import EngineError, new_game
from engine_cy.record import Record
from solver.openspiel import ours_in_openspiel as bridge

GAMES = [
    "eminence_oriflamme",
    "eminence_oriflamme(first=3,players=4,ruleset=de-2019)",
    "eminence_oriflamme(players=5,ruleset=revised)",
    "eminence_oriflamme_prototype(players=2)",
    "eminence_oriflamme_prototype(first=2)",
    "eminence_castle_village_port",
    "eminence_castle_village_port(first=1,players=5)",
    "eminence_kuhn_poker",
    "eminence_leduc_poker(first=1)",
]
POKERS = ["kuhn_poker", "leduc_poker"]

bridge.register()


def random_states(game: Any, seed: int) -> Iterator[Any]:
    """Yield a copy of each state of a random game."""
    rng = random.Random(seed)
    state = game.new_initial_state()
    yield state.clone()
    while not state.is_terminal():
        state.apply_action(rng.choice(state.legal_actions()))
        yield state.clone()


def players_of(game: Any) -> range:
    return range(game.num_players())


# --- OpenSpiel's requirements ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_random_games_pass_openspiels_checks(name):
    pyspiel.random_sim_test(pyspiel.load_game(name), num_sims=3, serialize=True, verbose=False)


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_loaded_from_its_name_and_its_pickle(name):
    game = pyspiel.load_game(name)
    assert str(pyspiel.load_game(str(game))) == str(game)
    reloaded = pickle.loads(pickle.dumps(game))
    assert str(reloaded) == str(game)
    assert str(reloaded.new_initial_state()) == str(game.new_initial_state())
    assert game.get_type().short_name in bridge.register()


def test_parameters_set_edition_players_and_first_player():
    game = pyspiel.load_game("eminence_oriflamme(ruleset=revised,players=4,first=2)")
    state = next(state for state in random_states(game, 1) if not state.is_chance_node())
    assert bridge.as_position(state).game == new_game("oriflamme", "revised", 4)
    assert state.current_player() == 2


@pytest.mark.parametrize("invalid", ["ruleset=house", "players=2", "first=3", "first=-1", "round=2"])
def test_impossible_parameters_are_refused(invalid):
    with pytest.raises((EngineError, ValueError, pyspiel.SpielError)):
        pyspiel.load_game(f"eminence_oriflamme({invalid})")


@pytest.mark.parametrize("name", GAMES)
def test_a_copy_of_a_state_is_equal_and_independent(name):
    game = pyspiel.load_game(name)
    for state in list(random_states(game, 2))[::7]:
        reloaded = game.deserialize_state(state.serialize())
        for other in (reloaded, state.clone(), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
            assert (str(other), other.history(), other.returns()) == (str(state), state.history(), state.returns())
            for player in players_of(game):
                assert other.information_state_string(player) == state.information_state_string(player)
                assert other.observation_string(player) == state.observation_string(player)
            if not state.is_terminal():
                before = str(state)
                other.apply_action(other.legal_actions()[-1])
                assert str(state) == before != str(other)


@pytest.mark.parametrize("name", GAMES)
def test_histories_replay(name):
    game = pyspiel.load_game(name)
    *_, end = random_states(game, 3)
    replayed = game.new_initial_state()
    for action in end.history():
        replayed.apply_action_with_legality_check(action)
    assert str(replayed) == str(end)
    assert sum(replayed.returns()) == pytest.approx(0)
    assert replayed.legal_actions() == []
    assert len([step for step in end.full_history() if step.player < 0]) <= game.max_chance_nodes_in_history()


@pytest.mark.parametrize("name", GAMES)
def test_actions_are_read_back_from_their_texts(name):
    game = pyspiel.load_game(name)
    for state in random_states(game, 4):
        for action in state.legal_actions():
            text = state.action_to_string(state.current_player(), action)
            assert state.string_to_action(state.current_player(), text) == action


@pytest.mark.parametrize("name", GAMES)
def test_impossible_actions_and_players_are_refused(name):
    game = pyspiel.load_game(name)
    for state in list(random_states(game, 5))[:-1:9]:
        before = str(state)
        for invalid in (-1, max(game.num_distinct_actions(), game.max_chance_outcomes())):
            with pytest.raises((EngineError, ValueError, pyspiel.SpielError)):
                state.clone().apply_action(invalid)
        with pytest.raises(pyspiel.SpielError):
            state.information_state_string(game.num_players())
        assert str(state) == before


def test_openspiel_writes_a_playthrough():
    text = generate_playthrough.playthrough("eminence_oriflamme", None, seed=1)
    assert 'StringLegalActions() = ["place ' in text


def test_the_numbers_of_actions_do_not_change():
    game = pyspiel.load_game("eminence_oriflamme")
    texts = [game.action_to_string(0, number) for number in range(game.num_distinct_actions())]
    assert len(set(texts)) == len(texts) == 1060
    assert [texts.index(text) for text in ("place Archer front", "place Spy on 17", "reveal", "keep", "target 0")] == [
        *(0, 59, 200, 201, 202)
    ]
    assert [texts.index(text) for text in ("rob A", "copy 0", "move 0 to 0", "move 0 on 0", "pair 0 1")] == [
        *(220, 223, 241, 583, 907)
    ]
    game = pyspiel.load_game("eminence_castle_village_port")
    texts = [game.action_to_string(0, number) for number in range(game.num_distinct_actions())]
    assert len(set(texts)) == len(texts) == 5088
    assert [texts.index(text) for text in ("select 1", "place castle 0", "swap A", "rob A", "move 1A to castle 0")] == [
        *(0, 15, 123, 126, 228)
    ]


@pytest.mark.parametrize("name", ["eminence_oriflamme", "eminence_kuhn_poker"])
def test_a_process_with_a_registered_game_exits_cleanly(name):
    program = (
        "import pyspiel; from solver.openspiel import ours_in_openspiel as bridge;"
        "bridge.register(); bridge.register();"
        f"state = pyspiel.load_game('{name}').new_initial_state(); state.apply_action(0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", ["eminence_castle_village_port", "eminence_leduc_poker"])
def test_another_process_unpickles_a_state(name):
    *_, state = random_states(pyspiel.load_game(name), 9)
    program = "import pickle, sys; print(pickle.loads(pickle.load(sys.stdin.buffer)).history())"
    run = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(pickle.dumps(state)), capture_output=True)
    assert run.stdout.decode().strip() == str(state.history())


def test_the_solver_does_not_import_openspiel():
    program = "import sys, solver, solver.openspiel; assert 'pyspiel' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


# --- agreement with the engine -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_states_agree_with_the_engines_positions(name):
    states = list(random_states(pyspiel.load_game(name), 6))
    n_dealt = next(i for i, state in enumerate(states) if state._node.position is not None)
    start = bridge.as_position(states[n_dealt])
    played = []
    for before, after in zip(states[n_dealt:], states[n_dealt + 1 :], strict=False):
        position = bridge.as_position(before)
        legal = {before.action_to_string(action) for action in before.legal_actions()}
        assert legal == {str(action) for action in position.legal_actions()}
        played.append(before.action_to_string(after.history()[-1]))
        assert bridge.as_position(after) == position.play(played[-1])
    position = bridge.as_position(states[-1])
    fair = 0 if "poker" in name else 1 / position.game.n_players
    assert states[-1].returns() == pytest.approx([paid - fair for paid in position.payoffs])
    if "poker" not in name:
        for player in players_of(states[-1].get_game()):
            seen_actions = Record(start, tuple(played)).seen_from(player).actions
            lines = states[-1].information_state_string(player).splitlines()
            assert tuple(line.partition(" ")[2] for line in lines[1:]) == seen_actions
            assert states[-1].observation_string(player) == str(position.view(player))


@pytest.mark.parametrize("name", ["eminence_oriflamme", "eminence_castle_village_port"])
def test_equal_information_states_have_equal_views_and_actions(name):
    """Perfect recall guarantees it."""
    game = pyspiel.load_game(name)
    sampler = pyspiel.UniformProbabilitySampler(0.0, 1.0)
    for state in list(random_states(game, 7))[-30:-1:5]:
        for player in players_of(game):
            other = state.resample_from_infostate(player, sampler)
            assert bridge.as_position(other).view(player) == bridge.as_position(state).view(player)
            if state.current_player() == player:
                assert other.legal_actions() == state.legal_actions()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if "players=5" in name else []) for name in GAMES]
)
def test_a_resampled_state_looks_the_same_to_its_player_and_replays(name):
    game = pyspiel.load_game(name)
    sampler = pyspiel.UniformProbabilitySampler(0.0, 1.0)
    differ = 0
    for seed in range(3):
        for state in random_states(game, seed):
            if state.is_chance_node():
                continue
            for player in players_of(game):
                other = state.resample_from_infostate(player, sampler)
                assert other.information_state_string(player) == state.information_state_string(player)
                assert other.observation_string(player) == state.observation_string(player)
                assert other.current_player() == state.current_player()
                assert len(other.history()) == len(state.history())
                assert state.is_terminal() or [step.player for step in other.full_history()] == [
                    step.player for step in state.full_history()
                ]
                differ += str(other) != str(state)
            if seed == 0:
                replayed = game.new_initial_state()
                for action in other.history():
                    replayed.apply_action_with_legality_check(action)
                assert str(replayed) == str(other)
    assert differ


def test_states_before_the_end_of_the_deal_cannot_be_resampled():
    state = pyspiel.load_game("eminence_oriflamme").new_initial_state()
    with pytest.raises(ValueError, match="deal"):
        state.resample_from_infostate(0, pyspiel.UniformProbabilitySampler(0.0, 1.0))
    with pytest.raises(ValueError, match="deal"):
        bridge.as_position(state)


@pytest.mark.parametrize("text", ["A1:Spy* >B1:Heir C1:Lord(1) | first A", "A:Soldier* >B:Ambush(3) C:? | seen by B"])
def test_a_state_can_begin_at_any_position(text):
    game = new_game("oriflamme", "en-2019", 3)
    position = game.view(text).sample_world(1) if "seen" in text else game.position(text)
    state = bridge.from_position(position)
    assert bridge.as_position(state) == position
    state.apply_action(state.string_to_action("keep"))
    assert bridge.as_position(state) == position.play("keep")
    assert str(pickle.loads(pickle.dumps(state))) == str(state.clone()) == str(state)
    for player in range(3):
        other = state.resample_from_infostate(player, pyspiel.UniformProbabilitySampler(0.0, 1.0))
        assert other.information_state_string(player) == state.information_state_string(player)
        other = pickle.loads(pickle.dumps(other))
        assert other.information_state_string(player) == state.information_state_string(player)
        assert other.legal_actions() == state.legal_actions()


def test_a_position_with_switches_cannot_become_a_state():
    position = new_game("oriflamme", {"edition": "en-2019", "decree_onto_stack": False}, 3).deal(1)
    with pytest.raises(ValueError, match="only the editions"):
        bridge.from_position(position)


# --- agreement with OpenSpiel's games -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POKERS)
def test_poker_is_openspiels_poker(name):
    """The histories are the same, and for each the player, actions, chances, returns and information sets."""
    ours, theirs = (
        get_all_states.get_all_states(
            pyspiel.load_game(prefix + name), include_chance_states=True, to_string=lambda state: tuple(state.history())
        )
        for prefix in ("eminence_", "")
    )
    assert ours.keys() == theirs.keys()
    string_pairs: set[tuple[str, str]] = set()
    for history, state in ours.items():
        other = theirs[history]
        assert state.current_player() == other.current_player()
        assert state.legal_actions() == other.legal_actions()
        assert state.returns() == other.returns()
        if state.is_chance_node():
            assert dict(state.chance_outcomes()) == pytest.approx(dict(other.chance_outcomes()))
        elif not state.is_terminal():
            player = state.current_player()
            string_pairs.add((state.information_state_string(player), other.information_state_string(player)))
    # The strings differ, but they correspond one to one.
    assert len(string_pairs) == len({ours for ours, _ in string_pairs}) == len({theirs for _, theirs in string_pairs})


@pytest.mark.parametrize("name", POKERS)
def test_poker_has_the_value_and_exploitability_of_openspiels_poker(name):
    values, gains = [], []
    for prefix in ("eminence_", ""):
        game = pyspiel.load_game(prefix + name)
        policy = UniformRandomPolicy(game)
        values.append(expected_game_score.policy_value(game.new_initial_state(), [policy, policy]))
        gains.append(exploitability.exploitability(game, policy))
    assert values[0] == pytest.approx(values[1], abs=1e-9)
    assert gains[0] == pytest.approx(gains[1], abs=1e-9)


# --- bots -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [pytest.param("eminence_oriflamme", marks=pytest.mark.slow), "eminence_leduc_poker"])
def test_openspiels_ismcts_in_python_finishes_a_game(name):
    game = pyspiel.load_game(name)
    rng = np.random.RandomState(1)
    bot = ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1, rng), 2.0, 50, random_state=rng)
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            state.apply_action(rng.choice(state.legal_actions()))
        else:
            state.apply_action_with_legality_check(bot.step(state))
    assert bridge.as_position(state).is_over


def test_openspiels_ismcts_in_c_cannot_play():
    """If this fails, a newer OpenSpiel forwards the call, and the docstring of the bridge is out of date."""
    evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
    bot = pyspiel.ISMCTSBot(seed=1, evaluator=evaluator, uct_c=2.0, max_simulations=10)
    state = pyspiel.load_game("eminence_kuhn_poker").new_initial_state()
    state.apply_action(0)
    state.apply_action(1)
    with pytest.raises(pyspiel.SpielError, match="ResampleFromInfostate"):
        bot.get_policy(state)


def test_openspiels_mcts_in_c_plays():
    bot = pyspiel.MCTSBot(
        pyspiel.load_game("eminence_oriflamme"), pyspiel.RandomRolloutEvaluator(1, 1), 2.0, 50, 10, False, 1, False
    )
    state = [state for state in random_states(pyspiel.load_game("eminence_oriflamme"), 8) if not state.is_terminal()][9]
    assert bot.mcts_search(state).best_child().action in state.legal_actions()
