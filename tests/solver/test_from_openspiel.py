"""OpenSpiel's games as games for our search."""

from __future__ import annotations

import gc
import pickle
import weakref
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pyspiel
import pytest

from engine_cy import CHANCE, EngineError, InvalidRulesetError, NotationError, Position, Rng, View, new_game
from solver import CONFIGS, Budget, SearchQuestion, compare, solve
from solver.openspiel import ours_in_openspiel
from solver.openspiel.openspiel_in_ours import from_openspiel
from solver.openspiel.spiel_game import SpielGame
from solver.pool.base import compute_here

OWN = replace(CONFIGS["plain"], nodes="own")
# The difference between the most and the least that can be won, in chips.
RANGES = {"kuhn_poker": 4, "leduc_poker": 26}
PIG = "pig(horizon=60)"
# OpenSpiel's hearts draws hands that run out of legal cards where some were passed on (2.0.2).
HEARTS = "hearts"
STARTS = {HEARTS: "0"}  # no cards are passed on
HIDDEN = ["kuhn_poker", "leduc_poker", HEARTS, "oh_hell(players=4)", "euchre", "bargaining", "universal_poker"]

ours_in_openspiel.register()


def random_positions(game: SpielGame, seed: int) -> list[Position]:
    """The positions of a random game."""
    rng = Rng(seed)
    positions = [game.position(STARTS.get(game.ruleset.partition("(")[0], "start"))]
    while not positions[-1].is_over:
        actions = positions[-1].legal_actions()
        positions.append(positions[-1].play(actions[rng.below(len(actions))]))
    return positions


def decisions(game: SpielGame, seed: int) -> list[Position]:
    return [at for at in random_positions(game, seed) if at.to_act not in (None, CHANCE)]


def seen_by_mover(position: Position) -> View:
    assert position.to_act is not None
    return position.view(position.to_act)


# --- that it is OpenSpiel's game ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tic_tac_toe", PIG, "leduc_poker(suit_isomorphism=True)", *HIDDEN])
def test_it_is_openspiels_game(name):
    game = from_openspiel(name)
    spiel = pyspiel.load_game(name)
    for position in random_positions(game, 1):
        if "~" in str(position):
            continue  # chance has not made up its mind
        state = spiel.new_initial_state()
        for number in [] if str(position) == "start" else map(int, str(position).split()):
            state.apply_action(number)
        assert str(game.as_state(position)) == str(state)
        assert position.is_over == state.is_terminal()
        assert game.at(state) == position
        if state.is_terminal():
            lowest, highest = spiel.min_utility(), spiel.max_utility()
            assert position.payoffs == pytest.approx([(won - lowest) / (highest - lowest) for won in state.returns()])
            assert position.scores == tuple(round(won) for won in state.returns())
            assert position.legal_actions() == []
        elif not state.is_chance_node():
            assert position.to_act == state.current_player()
            assert [action.code[0] for action in position.legal_actions()] == state.legal_actions()


@pytest.mark.parametrize("name", ["tic_tac_toe", PIG, "leduc_poker", HEARTS])
def test_positions_views_and_actions_are_read_back(name):
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
            view = seen_by_mover(position)
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
    for at, value in damage.items():
        data[at] = value
    with pytest.raises(EngineError):
        game.position_from_bytes(bytes(data))


def test_a_table_reads_as_openspiel_writes_it():
    game = from_openspiel("leduc_poker")
    position = game.position("0 2 1")
    assert position.table == str(game.as_state(position))
    assert position.view(1).table == game.as_state(position).information_state_string(1)


# --- what is seen ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HIDDEN)
def test_worlds_fit_what_is_seen_and_only_that_is_in_a_view(name):
    game = from_openspiel(name)
    differ = 0
    for position in decisions(game, 3)[:12]:
        view = seen_by_mover(position)
        seen = game.as_state(position).information_state_string(view.observer)
        assert game.as_state(view).information_state_string(view.observer) == seen
        assert view.key == position.view(view.observer).key
        worlds = [view.sample_world(seed) for seed in range(5)]
        for world in worlds:
            assert game.as_state(world).information_state_string(view.observer) == seen
            # From another truth that looks the same, the same view and so the same worlds.
            assert world.view(view.observer) == view
            assert [world.view(view.observer).sample_world(seed) for seed in range(5)] == worlds
        differ += len(set(worlds)) > 1
        assert view.legal_actions() == position.legal_actions()
    assert differ


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_the_others_nodes_rest_on_nothing_that_is_hidden(name):
    """`plain` finds them by a spectator's key: it grows as many of them whatever the others' cards are."""
    game, ours = from_openspiel(name), new_game(name, players=2)
    budget = Budget(iterations=5000)
    theirs = solve(game.position("0 1").view(0), budget, config="plain")
    # The engine's own poker, whose spectator sees no card, has as many; it pays chips, not parts of their range.
    own = ours.position("J Q" if name == "kuhn_poker" else "Ja Jb").view(0)
    in_chips = replace(CONFIGS["plain"], exploration=CONFIGS["plain"].exploration * RANGES[name])
    assert theirs.nodes == solve(own, budget, config=in_chips).nodes
    assert theirs.nodes < solve(game.position("0 1").view(0), budget, config=OWN).nodes


def test_where_nobody_says_what_all_see_each_sees_for_himself():
    assert not from_openspiel("hearts").has_spectator
    assert from_openspiel("leduc_poker").has_spectator
    assert from_openspiel("tic_tac_toe").has_spectator
    assert new_game("leduc_poker", players=2).has_spectator
    view = seen_by_mover(decisions(from_openspiel("oh_hell(players=4)"), 1)[8])
    plain, own = (solve(view, Budget(iterations=200), config=config) for config in ("plain", OWN))
    assert [(move.action, move.visits) for move in plain.moves] == [(move.action, move.visits) for move in own.moves]


# --- chance ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "start"),
    [
        # Six faces alike; a card that is left once and two that are left twice.
        (PIG, "0"),
        ("leduc_poker(suit_isomorphism=True)", "0"),
    ],
)
def test_chance_falls_as_often_as_openspiel_says(name, start):
    game = from_openspiel(name)
    begun = game.position(start)
    assert begun.to_act == CHANCE
    assert {action.type for action in begun.legal_actions()} == {"act" if name == PIG else "draw"}
    chances = dict(game.as_state(begun).chance_outcomes())
    rng = Rng(5)
    found = dict.fromkeys(chances, 0)
    n = 20_000
    for _ in range(n):
        at = begun
        while at is begun or "~" in str(at):
            actions = at.legal_actions()
            at = at.play(actions[rng.below(len(actions))])
        found[int(str(at).split()[-1])] += 1
    for outcome, chance in chances.items():
        assert found[outcome] / n == pytest.approx(chance, abs=4 * (chance * (1 - chance) / n) ** 0.5)


def test_playouts_pay_what_random_play_is_worth():
    """Unequal chances on the way, and digits that were drawn already."""
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
    halfway = next(at for action in draws.legal_actions() if "~" in str(at := draws.play(action)))
    assert game.position(str(halfway)) == halfway
    assert game.as_state(halfway.play_out(3)).is_terminal()


# --- searches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("played", "best"),
    [("0 4 1 3", "2"), ("0 4 1", "2"), ("4 0 2", "6"), ("0 1 3 4", "6"), ("8 4 6", "7")],
)
def test_tic_tac_toe_is_won_and_lost_games_are_saved(played, best):
    view = seen_by_mover(from_openspiel("tic_tac_toe").position(played))
    assert {str(solve(view, Budget(iterations=1500), seed=seed).best) for seed in range(3)} == {best}


def test_tic_tac_toe_is_a_draw():
    found = solve(from_openspiel("tic_tac_toe").deal().view(0), Budget(iterations=6000), config="plain")
    assert str(found.best) == "4"
    assert found.moves[0].win is not None
    assert 0.5 <= found.moves[0].win.mean < 0.75


def bandit(arms: tuple[float, ...], folder: Path) -> SpielGame:
    """One player chooses an arm once, and wins as often as it says."""
    names = " ".join(f'"{arm}"' for arm in range(len(arms)))
    lines = ['EFG 2 R "Bandit" { "Player" "Bank" } ""', f'p "" 1 1 "" {{ {names} }} 0']
    for number, chance in enumerate(arms, 1):
        won = round(100 * chance)
        lines += [
            f'c "" {number} "" {{ "won" {won}/100 "lost" {100 - won}/100 }} 0',
            't "" 1 "won" { 1 -1 }',
            't "" 2 "lost" { -1 1 }',
        ]
    file = folder / "bandit.efg"
    file.write_text("\n".join(lines) + "\n")
    return from_openspiel(f"efg_game(filename={file})")


@pytest.mark.parametrize("config", ["plain", "default", "flat"])
@pytest.mark.parametrize("turned", range(5))
def test_the_best_arm_of_a_bandit_is_found_wherever_it_is(config, turned, tmp_path):
    arms: tuple[float, ...] = (0.65, 0.35, 0.5, 0.3, 0.45)
    arms = arms[turned:] + arms[:turned]
    view = bandit(arms, tmp_path).deal().view(0)
    for seed in range(4):
        found = solve(view, Budget(iterations=5000), config=config, seed=seed)
        assert str(found.best) == str(arms.index(0.65))
        win = found.moves[0].win
        assert win is not None
        assert win.mean == pytest.approx(0.65, abs=0.04)
        # What is known to be worse is left alone, but for a configuration that tries all alike.
        assert found.moves[0].visits > (900 if config == "flat" else 4000)


# The cells of a board, seen in a mirror or from another side.
MIRRORED = [(2, 1, 0, 5, 4, 3, 8, 7, 6), (6, 7, 8, 3, 4, 5, 0, 1, 2), (0, 3, 6, 1, 4, 7, 2, 5, 8)]


@pytest.mark.parametrize("cells", MIRRORED)
def test_in_a_mirror_it_is_the_same_game(cells):
    """Moves are mirrored, and worth the same: what differs is chance alone."""
    game, differences = from_openspiel("tic_tac_toe"), []
    for seed in range(12):
        history = [int(number) for number in str(decisions(game, seed)[2 + seed % 3]).split()]
        mirrored = " ".join(str(cells[number]) for number in history)
        one, other = (
            solve(seen_by_mover(game.position(text)), Budget(iterations=1500), seed=seed, config="plain")
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
            found = solve(view, Budget(iterations=iterations), config=replace(OWN, exploration=exploration), seed=7)
            policy[key] = [(move.action.code[0], move.visits / found.iterations) for move in found.moves]
        for action in state.legal_actions():
            walk(state.child(action))

    walk(game.spiel.new_initial_state())
    return policy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "iterations", "chips", "most"), [("kuhn_poker", 2000, 2.0, 0.18), ("leduc_poker", 300, 5.0, 1.2)]
)
def test_poker_is_played_through_the_bridge_as_by_the_engine(name, iterations, chips, most):
    game = from_openspiel(name)
    found = pyspiel.exploitability(game.spiel, policy_of(game, iterations, chips / RANGES[name]))
    assert found < most
    # Uniformly random play is a good deal worse.
    assert found < 0.6 * pyspiel.exploitability(game.spiel, pyspiel.UniformRandomPolicy(game.spiel))


@pytest.mark.parametrize("name", [HEARTS, "oh_hell(players=4)", "euchre"])
def test_card_games_are_played_on(name):
    game = from_openspiel(name)
    for position in decisions(game, 4)[::6]:
        found = solve(seen_by_mover(position), Budget(iterations=60))
        assert found.best in position.legal_actions()
        assert found.iterations in (0, 60)
        assert found.knowledge == "none"
        assert all(0 <= move.win.mean <= 1 for move in found.moves if move.win is not None)


def test_ours_through_both_bridges_is_still_ours():
    game = from_openspiel("eminence_oriflamme")
    position = decisions(game, 6)[20]
    view = seen_by_mover(position)
    found = solve(view, Budget(iterations=30))
    assert found.best in position.legal_actions()
    assert ours_in_openspiel.as_position(game.as_state(view)).view(view.observer) == ours_in_openspiel.as_position(
        game.as_state(position)
    ).view(view.observer)


def what_was_found(found: Any) -> Any:
    return found.best, found.nodes, [(move.action, move.visits, move.win.mean) for move in found.moves]


@pytest.mark.parametrize("name", ["leduc_poker", "oh_hell(players=4)"])
def test_a_seed_gives_one_answer_on_any_number_of_threads(name):
    view = seen_by_mover(decisions(from_openspiel(name), 7)[2])
    budget = Budget(iterations=400)

    def search(seed: int, **how: Any) -> Any:
        fresh = pickle.loads(pickle.dumps(view))  # nothing is known of its game yet
        return what_was_found(solve(fresh, budget, seed=seed, **how))

    assert search(1) == search(1) != search(2)
    here = compute_here(SearchQuestion(view, budget, seed=1, shares=3))
    assert search(1, shares=3) == what_was_found(here)


def test_the_truth_does_not_change_the_answer():
    game = from_openspiel("oh_hell(players=4)")
    position = decisions(game, 8)[6]
    view = seen_by_mover(position)
    other = next(world for seed in range(9) if (world := view.sample_world(seed)) != position)
    budget = Budget(iterations=150)
    assert what_was_found(solve(view, budget)) == what_was_found(solve(seen_by_mover(other), budget))


def test_two_actions_are_compared():
    view = from_openspiel("tic_tac_toe").position("0 4 1 3").view(0)
    difference = compare(view, ["5", "2"], Budget(iterations=300)).moves[1].win_difference
    assert difference is not None
    assert difference.mean > 0.1


def test_nothing_but_the_last_states_is_kept():
    """Neither after a long search, nor with the game."""
    game = from_openspiel("oh_hell(players=4,num_tricks_fixed=5)")
    view = seen_by_mover(decisions(game, 9)[9])
    solve(view, Budget(iterations=3000))
    assert 0 < game.cache_size <= 1024
    gone = weakref.ref(game)
    del game, view
    gc.collect()
    assert gone() is None


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "says"),
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
def test_games_that_cannot_be_searched_are_refused_by_name(name, says):
    with pytest.raises(InvalidRulesetError, match=says) as refused:
        from_openspiel(name)
    assert name.partition("(")[0] in str(refused.value)


def test_worlds_are_not_counted():
    view = from_openspiel("leduc_poker").position("0 2").view(0)
    with pytest.raises(EngineError, match=r"openspiel:leduc_poker\(\) draws worlds, and does not count"):
        view.count_worlds()
    with pytest.raises(EngineError, match="does not count"):
        list(view.worlds())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 0", r"history: 0 is not possible after \[0\]"),
        ("0 x", "history: '0 x' is neither 'start' nor"),
        ("0 ~3", "drawn: ~3 is not possible"),
        ("0 2 | seen by C", "seen: 'C' is not one of A, B"),
    ],
)
def test_texts_that_are_no_position_are_refused(text, says):
    with pytest.raises(EngineError, match=says):
        from_openspiel("leduc_poker").position(text)


def test_actions_that_are_none_are_refused():
    game = from_openspiel("leduc_poker")
    with pytest.raises(EngineError, match=r"action: '0': not possible here \(legal: 1, 2\)"):
        game.position("0 2").play("0")
    for text in ("x", "-1", "65536", "~512"):
        with pytest.raises(NotationError, match="is not the number of an action"):
            game.action(text)
    with pytest.raises(EngineError, match="itself chooses the first player"):
        game.deal(1, first=1)
    with pytest.raises(EngineError, match="not of leduc_poker"):
        game.at(pyspiel.load_game("kuhn_poker").new_initial_state())


# --- what goes wrong in the middle ----------------------------------------------------------------------------------


def lies(state: Any, player: int, sampler: Any) -> Any:
    """Draws the player's own card anew, too."""
    other = state.get_game().new_initial_state()
    first, second, *moves = state.history()
    for number in (second, first, *moves):
        other.apply_action(number)
    return other


def fails(state: Any, player: int, sampler: Any) -> Any:
    raise ValueError("out of cards")


@pytest.mark.parametrize(
    ("resample", "says"), [(lies, "draws for player 0 a state that they can"), (fails, "out of cards")]
)
def test_a_game_that_fails_in_a_search_is_named(monkeypatch, resample, says):
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
            with pytest.raises(EngineError, match=f"eminence_leduc_poker.*{says}"):
                search()
    # What went wrong then is over.
    assert solve(view, Budget(iterations=50)).iterations == 50
