"""Toy games, where it is known what is right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyspiel
import pytest
from open_spiel.python import policy as policies
from open_spiel.python.algorithms import exploitability

from engine_cy import Position, View, new_game
from solver import CONFIGS, Budget, solve
from solver.numbers import log

# Players know their own card, and chips are worth up to four times what a share of a win is.
OWN = replace(CONFIGS["plain"], nodes="own", exploration=2.0)


def tables(position: Position) -> Iterator[Position]:
    """All tables of a toy at which a player is to act."""
    if position.is_over:
        return
    if position.to_act != -1:
        yield position
    for action in position.legal_actions():
        yield from tables(position.play(action))


def information_sets(game_id: str) -> dict[int, View]:
    found: dict[int, View] = {}
    for position in tables(new_game(game_id, players=2).deal()):
        view = position.view(position.to_act or 0)
        found.setdefault(view.key, view)
    return found


def kuhn_state(text: str) -> str:
    """OpenSpiel's name of the information set of a view of Kuhn poker."""
    parts = text.split(" | ")
    cards, moves = parts[0].split(), parts[1] if len(parts) > 2 else ""
    own = next(card for card in cards if card not in "-?")
    return str("JQK".index(own)) + "".join(word[0] for word in moves.split())


def our_policy(iterations: int, seed: int) -> dict[str, list[float]]:
    policy = {}
    for view in information_sets("kuhn_poker").values():
        found = solve(view, Budget(iterations=iterations), config=OWN, seed=seed)
        visits = [found.move(action).visits for action in ("pass", "bet")]
        policy[kuhn_state(str(view))] = [visit / sum(visits) for visit in visits]
    return policy


def their_policy(iterations: int, seed: int) -> dict[str, list[float]]:
    game = pyspiel.load_game("kuhn_poker")
    policy: dict[str, list[float]] = {}

    def walk(state: Any) -> None:
        if state.is_terminal():
            return
        if not state.is_chance_node():
            key = state.information_state_string()
            if key not in policy:
                evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
                kind = pyspiel.ISMCTSFinalPolicyType.NORMALIZED_VISIT_COUNT
                bot = pyspiel.ISMCTSBot(seed, evaluator, 2.0, iterations, -1, kind, False, False)
                policy[key] = [share for _, share in sorted(bot.get_policy(state))]
        for action in state.legal_actions():
            walk(state.child(action))

    walk(game.new_initial_state())
    return policy


def exploitability_of(policy: dict[str, list[float]]) -> float:
    game = pyspiel.load_game("kuhn_poker")
    tabular = policies.TabularPolicy(game)
    for key, shares in policy.items():
        tabular.policy_for_key(key)[:] = shares
    return float(exploitability.exploitability(game, tabular))


@pytest.mark.parametrize("iterations", [1_000, 10_000])
def test_kuhn_is_played_as_well_as_by_openspiel(iterations: int) -> None:
    ours = sum(exploitability_of(our_policy(iterations, seed)) for seed in range(20)) / 20
    theirs = sum(exploitability_of(their_policy(iterations, seed)) for seed in range(1, 21)) / 20
    assert ours <= 1.1 * theirs


def test_there_are_as_many_information_sets_as_in_openspiel() -> None:
    assert set(our_policy(20, 1)) == set(their_policy(20, 1))


@pytest.mark.parametrize(("text", "action"), [("K ? | bet | seen by B", ""), ("? K | bet | seen by B", "bet")])
def test_the_best_card_calls(text: str, action: str) -> None:
    if action:
        view = new_game("kuhn_poker", players=2).view(text)
        assert {str(solve(view, Budget(iterations=500), config=OWN, seed=s).best) for s in range(10)} == {action}


def test_the_worst_card_folds() -> None:
    view = new_game("kuhn_poker", players=2).view("? J | bet | seen by B")
    found = solve(view, Budget(iterations=2000), config=OWN)
    assert str(found.best) == "pass"
    assert found.move("pass").win.mean == -1  # type: ignore[union-attr]
    assert found.move("bet").win.mean == -2  # type: ignore[union-attr]


def test_logarithms_are_right_and_need_no_libm() -> None:
    import math

    for n in [*range(1, 4097), 10**5, 10**9, 2**40]:
        assert log(n) == pytest.approx(math.log(n), rel=1e-12 if n <= 4096 else 1e-3)
    assert log(1) == 0


def test_against_a_random_opponent_the_queen_bets() -> None:
    """Worked out by hand: betting is worth 1/2, passing nothing. Against a good player it is the other way round."""
    view = new_game("kuhn_poker", players=2).view("Q ? | seen by A")
    found = solve(view, Budget(iterations=20_000), config=OWN, models={"B": "random"}, seed=2)
    assert str(found.best) == "bet"
    assert found.move("bet").win.mean == pytest.approx(0.5, abs=0.03)  # type: ignore[union-attr]
    # Few playouts pass, fewest where they began badly, so that one search says little of it.
    passes = [
        solve(view, Budget(iterations=20_000), config=OWN, models={"B": "random"}, seed=seed).move("pass")
        for seed in range(10)
    ]
    total = sum(move.visits * move.win.mean for move in passes if move.win)
    assert total / sum(move.visits for move in passes) == pytest.approx(0, abs=0.25)
    careful = solve(view, Budget(iterations=20_000), config=OWN, seed=2)
    assert str(careful.best) == "pass"


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ({"B": "clever"}, r"models\[B\]: 'clever' is none of me, noisy, greedy, random"),
        ({"A": "random"}, r"models\[A\]: this is the observer's own seat"),
        ({"C": "random"}, "models: 'C' is not at this table"),
        ({1: "greedy"}, r"models\[1\]: 'greedy' needs knowledge"),
    ],
)
def test_senseless_models_are_refused(models: Any, says: str) -> None:
    view = new_game("kuhn_poker", players=2).view("Q ? | seen by A")
    with pytest.raises(ValueError, match=says):
        solve(view, models=models)
