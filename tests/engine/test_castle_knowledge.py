"""The knowledge of Castle, Village, Port: playout policy, priors, evaluation, and the tables that it fits."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from castle_strategies import rulesets
from game_interface import choose_action, evaluate_position, prior_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from playouts import log_loss, playout_positions, shares_by_score
from tables import CASTLE_SPECS, tables

from engine_cy import CHANCE, Game, Position, new_game
from engine_cy.learned.self_play import contest, set_name

QUICK = settings(max_examples=60, deadline=None)

# They differ from the house's ruleset in names and in some numbers; the weights must fit them.
SIMILAR_RULESETS: list[dict[str, Any]] = [
    {"rewards": {"castle": [6, 2, 2], "port": ["per_card", "half_value", -2]}, "starting_gold": 6},
    {"rounds": 2, "hand_size": 7, "hidden_gold": True},
    {
        "cards": [
            {"value": 15, "name": "Pirate", "when": "immediate", "effect": "rob_neighbour", "amount": 3},
            {"value": 12, "name": "Abbot", "when": "end", "effect": "leave_if_present", "who": "Pirate"},
            {"value": 11, "name": "Smith", "when": "never", "effect": "none"},
            {"value": 9, "name": "Bailiff", "when": "immediate", "effect": "move_neighbour"},
            {"value": 8, "name": "Brewer", "when": "immediate", "effect": "gain_per_low", "below": 9},
            {"value": 6, "name": "Mimic", "when": "immediate", "effect": "copy_neighbour"},
            {"value": 5, "name": "Hangman", "when": "immediate", "effect": "discard_neighbour"},
            {"value": 4, "name": "Piper", "when": "immediate", "effect": "fetch"},
            {"value": 3, "name": "Smuggler", "when": "end", "effect": "double_reward", "where": "castle"},
            {"value": 1, "name": "Poacher", "when": "end", "effect": "discard_highest"},
        ],
        "hand_size": 5,
        "turns_per_round": 3,
    },
]
GAMES = [new_game(*spec) for spec in CASTLE_SPECS] + [
    new_game("castle_village_port", ruleset, players)
    for ruleset, players in zip(SIMILAR_RULESETS, (3, 4, 5), strict=True)
]
EVERY_GAME = pytest.mark.parametrize("game", GAMES, ids=lambda game: f"{game.n_players}-{GAMES.index(game)}")


def known_games() -> st.SearchStrategy[Game]:
    return st.sampled_from(GAMES)


def with_a_decision(table: Position) -> Position:
    """Discard tables at which no player is to act."""
    assume(not table.is_over and table.to_act != CHANCE)
    return table


# --- tables that the weights fit ------------------------------------------------------------------------------


@EVERY_GAME
def test_tables_similar_to_the_house_s_have_weights(game: Game) -> None:
    assert game.has_knowledge
    assert set_name(game) == f"castle_village_port-{game.n_players}"
    table = game.deal(1)
    shares = {round(share, 6) for share in prior_of(table).values()}
    assert len(shares) > 3


def one_card(**changed: Any) -> dict[str, Any]:
    """Return a ruleset of fourteen plain cards and one special card."""
    plain = [{"value": v, "name": "", "when": "never", "effect": "none"} for v in range(2, 16)]
    return {"cards": [*plain, {"value": 1, "name": "Odd", **changed}]}


@pytest.mark.parametrize(
    "ruleset",
    [
        {"rounds": 1},
        {"rounds": 5, "turns_per_round": 2},
        {"turns_per_round": 1},
        {"rounds": 4, "turns_per_round": 3},
        {"rounds": 2, "turns_per_round": 5},
        {"hand_size": 9},
        {"starting_gold": 11},
        {"rewards": {"castle": [9]}},
        {"rewards": {"port": [1, -4]}},
        one_card(when="end", effect="gain_per_low"),
        one_card(when="immediate", effect="discard_highest"),
        one_card(when="end", effect="fetch"),
        one_card(when="end", effect="pay_others", amount=4),
        one_card(when="end", effect="double_reward", factor=4),
    ],
    ids=str,
)
def test_tables_that_no_weights_fit_have_no_knowledge(ruleset: dict[str, Any]) -> None:
    game = new_game("castle_village_port", ruleset, 3)
    assert not game.has_knowledge
    with pytest.raises(ValueError, match="no weights fit"):
        set_name(game)


@given(rulesets(), st.sampled_from((3, 4, 5)), st.integers(0, 2**32))
@QUICK
def test_every_table_that_weights_fit_can_be_played_and_evaluated(
    ruleset: dict[str, Any], players: int, seed: int
) -> None:
    # Only the cards of the strategy: its numbers are far from the house's.
    cards = {"cards": ruleset["cards"]} if len(ruleset.get("cards", ())) >= 9 else {}
    game = new_game("castle_village_port", {**cards, "turns_per_round": 3}, players)
    assume(game.has_knowledge)
    for position in playout_positions(game, seed, random_share=0.5):
        assert math.fsum(evaluate_position(position)) == pytest.approx(1)


# --- actions --------------------------------------------------------------------------------------------------


@EVERY_GAME
def test_playouts_take_legal_actions_and_all_of_them_have_a_prior(game: Game) -> None:
    for seed in range(4):
        for position in playout_positions(game, seed, random_share=0.3):
            if position.is_over or position.to_act == CHANCE:
                assert prior_of(position) == {}
                continue
            legal = position.legal_actions()
            assert choose_action(position, seed) in legal
            shares = prior_of(position)
            assert list(shares) == legal
            assert all(share >= 0 for share in shares.values())
            assert math.fsum(shares.values()) == pytest.approx(1, abs=1e-5)


@given(tables(known_games()), st.integers(0, 2**32), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_playout_actions_and_priors_depend_only_on_the_view(table: Position, world: int, seed: int) -> None:
    player = with_a_decision(table).to_act
    assert player is not None
    other = table.view(player).sample_world(world)
    assert choose_action(other, seed) == choose_action(table, seed)
    assert prior_of(other) == prior_of(table)


@EVERY_GAME
def test_the_playout_policy_beats_random_play(game: Game) -> None:
    # +200 Elo is a share of 0.61 with three players, 0.51 with four, 0.44 with five.
    assert contest(game, 600, 1, seats=0b1) > 0.75


# --- evaluation -----------------------------------------------------------------------------------------------


@given(tables(known_games()))
@QUICK
def test_the_evaluated_shares_of_the_win_add_up_to_one(table: Position) -> None:
    shares = evaluate_position(table)
    assert all(0 <= share <= 1 for share in shares)
    assert math.fsum(shares) == pytest.approx(1)
    assert evaluate_position(table) == shares
    if table.is_over:
        assert shares == table.payoffs


@given(tables(known_games()), st.integers(0, 4), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_more_gold_is_never_worse(table: Position, seat: int, more: int) -> None:
    seat %= table.game.n_players
    gold = tuple(gold + more * (p == seat) for p, gold in enumerate(table.table.gold))
    richer = table.game.from_parts(dataclasses.replace(table.parts, table=dataclasses.replace(table.table, gold=gold)))
    assert isinstance(richer, Position)
    assert evaluate_position(richer)[seat] >= evaluate_position(table)[seat] - 1e-12


@pytest.mark.slow
@EVERY_GAME
def test_the_evaluation_predicts_winners_better_than_gold(game: Game) -> None:
    starts: list[Position] = []  # of turns after the first round
    payoffs: list[tuple[float, ...]] = []
    for seed in range(150):
        *positions, end = playout_positions(game, seed, random_share=0.05)
        selections = [p for p in positions if p.table.ask == "select" and p.to_act == p.table.first]
        later = [position for position in selections if position.table.round > 1]
        starts += later
        payoffs += [end.payoffs] * len(later)
    loss = log_loss(map(evaluate_position, starts), payoffs)
    gold = [position.scores for position in starts]
    assert loss < math.log(game.n_players) - 0.1
    assert loss < min(log_loss(shares_by_score(gold, scale / 20), payoffs) for scale in range(20)) - 0.03
