"""OpenSpiel's games in our search."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pyspiel
import pytest
from questions import view_of

from engine_cy import CHANCE, EngineError, InvalidRulesetError, NotationError, Position, Rng, new_game
from engine_cy.game_check import check_game
from solver import CONFIGS, Budget, SearchQuestion, compare, solve
from solver.openspiel import ours_in_openspiel
from solver.openspiel.openspiel_in_ours import SpielGame, from_openspiel
from solver.pool.base import compute_here

OWN = replace(CONFIGS["plain"], nodes="own")
# The difference between the largest and the smallest payoff, in chips.
RANGES = {"kuhn_poker": 4, "leduc_poker": 26}
PIG = "pig(horizon=60)"
# OpenSpiel 2.0.2 resamples hands of hearts without legal cards if cards were passed on.
HEARTS = "hearts"
STARTS = {HEARTS: "0"}  # without passing cards on
HIDDEN = ["kuhn_poker", "leduc_poker", HEARTS, "oh_hell(players=4)", "euchre", "bargaining", "universal_poker"]

ours_in_openspiel.register()


def random_positions(game: SpielGame, seed: int) -> list[Position]:
    """Return the positions of a random game."""
    rng = Rng(seed)
    positions = [game.position(STARTS.get(game.ruleset.partition("(")[0], "start"))]
    while not positions[-1].is_over:
        actions = positions[-1].legal_actions()
        positions.append(positions[-1].play(actions[rng.below(len(actions))]))
    return positions


def decisions(game: SpielGame, seed: int) -> list[Position]:
    return [position for position in random_positions(game, seed) if position.to_act not in (None, CHANCE)]


# --- rules ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "tic_tac_toe"])
def test_the_small_games_keep_all_laws(name):
    assert check_game(from_openspiel(name), games=8).positions > 30


def test_a_large_deal_is_refused_in_one_sentence():
    game = from_openspiel("oh_hell(players=3)")
    with pytest.raises(
        EngineError, match=r"OpenSpiel draws no worlds of oh_hell\(players=3\) for player 0 at '11 1 8'"
    ):
        game.position("11 1 8").view(0)


@pytest.mark.parametrize("name", ["tic_tac_toe", PIG, "leduc_poker(suit_isomorphism=True)", *HIDDEN])
def test_positions_agree_with_openspiels_states(name):
    game = from_openspiel(name)
    spiel = pyspiel.load_game(name)
    for position in random_positions(game, 1):
        if "~" in str(position):
            continue  # chance has drawn only some digits of its outcome
        state = spiel.new_initial_state()
        for number in [] if str(position) == "start" else map(int, str(position).split()):
            state.apply_action(number)
        assert str(game.as_state(position)) == str(state)
        assert position.is_over == state.is_terminal()
        assert game.at(state) == position
        if state.is_terminal():
            low, high = spiel.min_utility(), spiel.max_utility()
            assert position.payoffs == pytest.approx([(chips - low) / (high - low) for chips in state.returns()])
            assert position.scores == tuple(round(chips) for chips in state.returns())
            assert position.legal_actions() == []
        elif not state.is_chance_node():
            assert position.to_act == state.current_player()
            assert [action.code[0] for action in position.legal_actions()] == state.legal_actions()


@pytest.mark.parametrize("name", ["tic_tac_toe", PIG, "leduc_poker", HEARTS])
def test_positions_views_and_actions_survive_text_and_pickling(name):
    game = from_openspiel(name)
    for position in random_positions(game, 2)[::5]:
        assert game.position(str(position)) == position
        assert pickle.loads(pickle.dumps(position)) == position
        assert position.fault is None
        for action in position.legal_actions()[::7]:
            assert game.action(str(action)) == action
            assert pickle.loads(pickle.dumps(action)) == action
            assert action.fields["number"] == action.code[0] % (1 << 16)
        if position.to_act not in (None, CHANCE):
            view = view_of(position)
            assert game.view(str(view)) == view
            assert pickle.loads(pickle.dumps(view)) == view
            assert view.fault is None
    assert from_openspiel(name) == game != from_openspiel("kuhn_poker")
    assert pickle.loads(pickle.dumps(game)) == game
    assert repr(game).startswith(f"from_openspiel('{name}")


@pytest.mark.parametrize("damage", [{0: 1}, {8: 200}, {10: 2}, {11: 1}, {11: 255}, {16: 9}, {31: 1}])
def test_damaged_bytes_are_refused(damage):
    game = from_openspiel("leduc_poker")
    data = bytearray(bytes(game.position("0 2 1")))
    for offset, value in damage.items():
        data[offset] = value
    with pytest.raises(EngineError):
        game.position_from_bytes(bytes(data))


def test_the_text_of_a_table_is_openspiels():
    game = from_openspiel("leduc_poker")
    position = game.position("0 2 1")
    assert position.parts == str(game.as_state(position))
    assert position.view(1).parts == game.as_state(position).information_state_string(1)


# --- hidden information ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HIDDEN)
def test_worlds_fit_the_information_state_and_views_hold_no_more(name):
    game = from_openspiel(name)
    differ = 0
    for position in decisions(game, 3)[:12]:
        view = view_of(position)
        seen = game.as_state(position).information_state_string(view.observer)
        assert game.as_state(view).information_state_string(view.observer) == seen
        assert view.key == position.view(view.observer).key
        worlds = [view.sample_world(seed) for seed in range(5)]
        for world in worlds:
            assert game.as_state(world).information_state_string(view.observer) == seen
            # The world has the same view as the truth, and so the same worlds.
            assert world.view(view.observer) == view
            assert [world.view(view.observer).sample_world(seed) for seed in range(5)] == worlds
        differ += len(set(worlds)) > 1
        assert view.legal_actions() == position.legal_actions()
    assert differ


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_the_opponents_nodes_do_not_depend_on_hidden_cards(name):
    """`plain` finds them by a spectator's key, so their number does not depend on the opponents' cards."""
    game, ours = from_openspiel(name), new_game(name, players=2)
    budget = Budget(iterations=5000)
    spiel_answer = solve(game.position("0 1").view(0), budget, config="plain")
    # The engine's own poker, whose spectator sees no card, has the same number. It pays chips, not parts of a range.
    own = ours.position("J Q" if name == "kuhn_poker" else "Ja Jb").view(0)
    in_chips = replace(CONFIGS["plain"], exploration=CONFIGS["plain"].exploration * RANGES[name])
    assert spiel_answer.nodes == solve(own, budget, config=in_chips).nodes
    assert spiel_answer.nodes < solve(game.position("0 1").view(0), budget, config=OWN).nodes


def test_games_without_public_observations_have_no_spectator_and_each_player_has_own_nodes():
    assert not from_openspiel("hearts").has_spectator
    assert from_openspiel("leduc_poker").has_spectator
    assert from_openspiel("tic_tac_toe").has_spectator
    assert new_game("leduc_poker", players=2).has_spectator
    view = view_of(decisions(from_openspiel("oh_hell(players=4)"), 1)[8])
    plain, own = (solve(view, Budget(iterations=200), config=config) for config in ("plain", OWN))
    assert [(move.action, move.visits) for move in plain.moves] == [(move.action, move.visits) for move in own.moves]


# --- chance ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "start"),
    [
        # Six equal faces; one card with one copy left and two cards with two.
        (PIG, "0"),
        ("leduc_poker(suit_isomorphism=True)", "0"),
    ],
)
def test_chance_outcomes_are_as_frequent_as_in_openspiel(name, start):
    game = from_openspiel(name)
    chance_node = game.position(start)
    assert chance_node.to_act == CHANCE
    assert {action.type for action in chance_node.legal_actions()} == {"act" if name == PIG else "draw"}
    chances = dict(game.as_state(chance_node).chance_outcomes())
    rng = Rng(5)
    counts = dict.fromkeys(chances, 0)
    n = 20_000
    for _ in range(n):
        position = chance_node
        while position is chance_node or "~" in str(position):
            actions = position.legal_actions()
            position = position.play(actions[rng.below(len(actions))])
        counts[int(str(position).split()[-1])] += 1
    for outcome, chance in chances.items():
        assert counts[outcome] / n == pytest.approx(chance, abs=4 * (chance * (1 - chance) / n) ** 0.5)


def test_playouts_pay_the_value_of_random_play():
    """Chance has unequal outcomes, and some of its digits may be drawn already."""
    game = from_openspiel("leduc_poker(suit_isomorphism=True)")
    draws = game.position("0")
    assert {action.type for action in draws.legal_actions()} == {"draw"}
    n = 4000
    mean = sum(draws.play_out(seed).payoffs[0] for seed in range(n)) / n

    def worth(state: Any) -> float:
        if state.is_terminal():
            return float(state.returns()[0])
        if state.is_chance_node():
            return sum((chance * worth(state.child(outcome)) for outcome, chance in state.chance_outcomes()), 0.0)
        return sum((worth(state.child(action)) for action in state.legal_actions()), 0.0) / len(state.legal_actions())

    assert 26 * mean - 13 == pytest.approx(worth(game.as_state(draws)), abs=0.25)
    halfway = next(after for action in draws.legal_actions() if "~" in str(after := draws.play(action)))
    assert game.position(str(halfway)) == halfway
    assert game.as_state(halfway.play_out(3)).is_terminal()


# --- searches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "best"),
    [("0 4 1 3", "2"), ("0 4 1", "2"), ("4 0 2", "6"), ("0 1 3 4", "6"), ("8 4 6", "7")],
)
def test_the_search_wins_and_saves_games_of_tic_tac_toe(history, best):
    view = view_of(from_openspiel("tic_tac_toe").position(history))
    assert {str(solve(view, Budget(iterations=1500), seed=seed).best) for seed in range(3)} == {best}


def test_the_search_values_tic_tac_toe_as_a_draw():
    answer = solve(from_openspiel("tic_tac_toe").deal().view(0), Budget(iterations=6000), config="plain")
    assert str(answer.best) == "4"
    assert answer.moves[0].win is not None
    assert 0.5 <= answer.moves[0].win.mean < 0.75


def bandit(arms: tuple[float, ...], folder: Path) -> SpielGame:
    """Make a game in which one player chooses an arm once, and wins with its probability."""
    names = " ".join(f'"{arm}"' for arm in range(len(arms)))
    lines = ['EFG 2 R "Bandit" { "Player" "Bank" } ""', f'p "" 1 1 "" {{ {names} }} 0']
    for number, chance in enumerate(arms, 1):
        percent = round(100 * chance)
        lines += [
            f'c "" {number} "" {{ "won" {percent}/100 "lost" {100 - percent}/100 }} 0',
            't "" 1 "won" { 1 -1 }',
            't "" 2 "lost" { -1 1 }',
        ]
    file = folder / "bandit.efg"
    file.write_text("\n".join(lines) + "\n")
    return from_openspiel(f"efg_game(filename={file})")


@pytest.mark.parametrize("config", ["plain", "default", "flat"])
@pytest.mark.parametrize("shift", range(5))
def test_the_search_finds_the_best_arm_of_a_bandit(config, shift, tmp_path):
    arms: tuple[float, ...] = (0.65, 0.35, 0.5, 0.3, 0.45)
    arms = arms[shift:] + arms[:shift]
    view = bandit(arms, tmp_path).deal().view(0)
    for seed in range(4):
        answer = solve(view, Budget(iterations=5000), config=config, seed=seed)
        assert str(answer.best) == str(arms.index(0.65))
        win = answer.moves[0].win
        assert win is not None
        assert win.mean == pytest.approx(0.65, abs=0.04)
        # Only `flat` goes on with arms that are known to be worse.
        assert answer.moves[0].visits > (900 if config == "flat" else 4000)


# The cells of a mirrored or rotated board.
MIRRORED = [(2, 1, 0, 5, 4, 3, 8, 7, 6), (6, 7, 8, 3, 4, 5, 0, 1, 2), (0, 3, 6, 1, 4, 7, 2, 5, 8)]


@pytest.mark.parametrize("cells", MIRRORED)
def test_mirrored_games_have_mirrored_moves_with_the_same_values(cells):
    """Their searches differ by chance only."""
    game, differences = from_openspiel("tic_tac_toe"), []
    for seed in range(12):
        history = [int(number) for number in str(decisions(game, seed)[2 + seed % 3]).split()]
        mirrored = " ".join(str(cells[number]) for number in history)
        one, other = (
            solve(view_of(game.position(text)), Budget(iterations=1500), seed=seed, config="plain")
            for text in (" ".join(map(str, history)), mirrored)
        )
        assert {cells[move.action.code[0]] for move in one.moves} == {move.action.code[0] for move in other.moves}
        assert one.moves[0].win is not None
        assert other.moves[0].win is not None
        differences.append(one.moves[0].win.mean - other.moves[0].win.mean)
    assert max(map(abs, differences)) < 0.1
    assert abs(fmean(differences)) < 0.03


def policy_of(game: SpielGame, iterations: int, exploration: float) -> dict[str, list[tuple[int, float]]]:
    policy: dict[str, list[tuple[int, float]]] = {}

    def walk(state: Any) -> None:
        if state.is_terminal():
            return
        if not state.is_chance_node() and (key := state.information_state_string()) not in policy:
            view = game.at(state).view(state.current_player())
            answer = solve(view, Budget(iterations=iterations), config=replace(OWN, exploration=exploration), seed=7)
            policy[key] = [(move.action.code[0], move.visits / answer.iterations) for move in answer.moves]
        for action in state.legal_actions():
            walk(state.child(action))

    walk(game.spiel.new_initial_state())
    return policy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "iterations", "chips", "maximum"), [("kuhn_poker", 2000, 2.0, 0.18), ("leduc_poker", 300, 5.0, 1.2)]
)
def test_poker_through_the_bridge_is_hard_to_exploit(name, iterations, chips, maximum):
    game = from_openspiel(name)
    exploitability = pyspiel.exploitability(game.spiel, policy_of(game, iterations, chips / RANGES[name]))
    assert exploitability < maximum
    # Uniformly random play is much worse.
    assert exploitability < 0.6 * pyspiel.exploitability(game.spiel, pyspiel.UniformRandomPolicy(game.spiel))


@pytest.mark.parametrize("name", [HEARTS, "oh_hell(players=4)", "euchre"])
def test_card_games_can_be_searched(name):
    game = from_openspiel(name)
    for position in decisions(game, 4)[::6]:
        answer = solve(view_of(position), Budget(iterations=60))
        assert answer.best in position.legal_actions()
        assert answer.iterations in (0, 60)
        assert answer.knowledge == "none"
        assert all(0 <= move.win.mean <= 1 for move in answer.moves if move.win is not None)


def test_our_game_through_both_bridges_has_our_moves_and_views():
    game = from_openspiel("eminence_oriflamme")
    position = decisions(game, 6)[20]
    view = view_of(position)
    answer = solve(view, Budget(iterations=30))
    assert answer.best in position.legal_actions()
    assert ours_in_openspiel.as_position(game.as_state(view)).view(view.observer) == ours_in_openspiel.as_position(
        game.as_state(position)
    ).view(view.observer)


def essence(answer: Any) -> Any:
    """Return the parts of an answer that repeat."""
    return answer.best, answer.nodes, [(move.action, move.visits, move.win.mean) for move in answer.moves]


@pytest.mark.parametrize("name", ["leduc_poker", "oh_hell(players=4)"])
def test_a_seed_determines_the_answer(name):
    view = view_of(decisions(from_openspiel(name), 7)[2])
    budget = Budget(iterations=400)

    def search(seed: int, **options: Any) -> Any:
        fresh = pickle.loads(pickle.dumps(view))  # with empty caches
        return essence(solve(fresh, budget, seed=seed, **options))

    assert search(1) == search(1) != search(2)
    here = compute_here(SearchQuestion(view, budget, seed=1, shares=3))
    assert search(1, shares=3) == essence(here)


def test_the_answer_does_not_depend_on_hidden_cards():
    game = from_openspiel("oh_hell(players=4)")
    position = decisions(game, 8)[6]
    view = view_of(position)
    other = next(world for seed in range(9) if (world := view.sample_world(seed)) != position)
    budget = Budget(iterations=150)
    assert essence(solve(view, budget)) == essence(solve(view_of(other), budget))


def test_two_actions_of_an_openspiel_game_are_compared():
    view = from_openspiel("tic_tac_toe").position("0 4 1 3").view(0)
    difference = compare(view, ["5", "2"], Budget(iterations=300)).moves[1].win_difference
    assert difference is not None
    assert difference.mean > 0.1


def test_the_cache_of_states_is_bounded_and_freed_with_its_game():
    game = from_openspiel("oh_hell(players=4,num_tricks_fixed=5)")
    view = view_of(decisions(game, 9)[9])
    solve(view, Budget(iterations=3000))
    assert 0 < game.cache_size <= 1024
    reference = weakref.ref(game)
    del game, view
    gc.collect()
    assert reference() is None


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_game", "OpenSpiel cannot load 'no_such_game'"),
        ("goofspiel", "players move at once"),
        ("matrix_rps", "players move at once"),
        ("tarok", "its chance is not explicit"),
        ("phantom_ttt", r"it has hidden information, but no resample_from_infostate"),
        ("solitaire", "it has 1 players, not 2 to 5"),
        ("kuhn_poker(players=6)", "it has 6 players, not 2 to 5"),
        ("gin_rummy", "its resample_from_infostate draws states that differ from those"),
        ("chess", "its histories may have 17695 actions, more than 376"),
        ("colored_trails", "its actions are numbered beyond 65535"),
    ],
)
def test_games_that_cannot_be_searched_are_refused_with_the_reason(name, message):
    with pytest.raises(InvalidRulesetError, match=message) as refusal:
        from_openspiel(name)
    assert name.partition("(")[0] in str(refusal.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("openspiel:no_such_game",), "OpenSpiel cannot load 'no_such_game'"),
        (("openspiel:kuhn_poker", "hard"), r"ruleset: 'hard' is not possible in openspiel:kuhn_poker\(\)"),
        (("openspiel:kuhn_poker", None, 3), r"players: 3 is not possible in openspiel:kuhn_poker\(\) \(2\)"),
    ],
)
def test_ids_with_the_prefix_are_games_of_openspiel_or_refused(arguments, message):
    assert new_game("openspiel:kuhn_poker(players=3)", players=3) == from_openspiel("kuhn_poker(players=3)")
    assert new_game(*from_openspiel("leduc_poker").spec) == from_openspiel("leduc_poker")
    with pytest.raises(InvalidRulesetError, match=message):
        new_game(*arguments)


def test_without_the_extra_the_prefix_names_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "solver.openspiel.openspiel_in_ours")
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    with pytest.raises(InvalidRulesetError, match="game: 'openspiel:kuhn_poker' needs OpenSpiel: pip"):
        new_game("openspiel:kuhn_poker")


def test_worlds_of_openspiel_games_cannot_be_counted():
    view = from_openspiel("leduc_poker").position("0 2").view(0)
    with pytest.raises(EngineError, match=r"openspiel:leduc_poker\(\) draws worlds, and does not count"):
        view.count_worlds()
    with pytest.raises(EngineError, match="does not count"):
        list(view.worlds())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 0", r"history: 0 is not possible after \[0\]"),
        ("0 x", "history: '0 x' is neither 'start' nor"),
        ("0 ~3", "drawn: ~3 is not possible"),
        ("0 2 | seen by C", "seen: 'C' is not one of A, B"),
    ],
)
def test_texts_that_are_no_position_are_refused(text, message):
    with pytest.raises(EngineError, match=message):
        from_openspiel("leduc_poker").position(text)


def test_impossible_actions_are_refused():
    game = from_openspiel("leduc_poker")
    with pytest.raises(EngineError, match=r"action: '0': not possible here \(legal: 1, 2\)"):
        game.position("0 2").play("0")
    for text in ("x", "-1", "65536", "~512"):
        with pytest.raises(NotationError, match="is not an action of openspiel:leduc_poker"):
            game.action(text)
    with pytest.raises(EngineError, match="itself chooses the first player"):
        game.deal(1, first=1)
    with pytest.raises(EngineError, match="not of leduc_poker"):
        game.at(pyspiel.load_game("kuhn_poker").new_initial_state())


# --- games that fail ------------------------------------------------------------------------------------------------


def resample_own_card(state: Any, player: int, sampler: Any) -> Any:
    """Resample the player's own card too, which is wrong."""
    other = state.get_game().new_initial_state()
    first, second, *moves = state.history()
    for number in (second, first, *moves):
        other.apply_action(number)
    return other


def fail_to_resample(state: Any, player: int, sampler: Any) -> Any:
    raise ValueError("out of cards")


@pytest.mark.parametrize(
    ("resample", "message"),
    [(resample_own_card, "player 0 can distinguish"), (fail_to_resample, "out of cards")],
)
def test_the_error_of_a_game_that_fails_in_a_search_names_it(monkeypatch, resample, message):
    game = from_openspiel("eminence_leduc_poker")
    view = game.position("0 2").view(0)
    with monkeypatch.context() as patch:
        patch.setattr(ours_in_openspiel.EminenceState, "resample_from_infostate", resample)
        for search in (
            lambda: solve(view, Budget(iterations=50)),
            lambda: solve(view, Budget(iterations=50), shares=2),
            lambda: compare(view, ["1", "2"], Budget(iterations=50)),
            lambda: view.sample_world(),
            lambda: game.position("0 2").view(0),
        ):
            with pytest.raises(EngineError, match=f"eminence_leduc_poker.*{message}"):
                search()
    # Later searches are not affected.
    assert solve(view, Budget(iterations=50)).iterations == 50
