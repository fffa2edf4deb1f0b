"""What the engine knows about Castle, Village, Port: playouts' policy, priors, evaluation, and for which tables."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import Any

import pytest
from castle_strategies import rulesets
from door import choose_action, evaluate_position, prior_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tables import CASTLE_SPECS, tables

from engine_cy import CHANCE, Game, Position, new_game
from engine_cy.castle_village_port.knowledge import (
    WEIGHTS,
    contest,
    load_weights,
    set_name,
)

QUICK = settings(max_examples=60, deadline=None)

# Tables that differ from the house's in names and in some numbers, and that the weights are said to fit.
NEAR: list[dict[str, Any]] = [
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
    new_game("castle_village_port", sent, players) for sent, players in zip(NEAR, (3, 4, 5), strict=True)
]
MANY = pytest.mark.parametrize("game", GAMES, ids=lambda game: f"{game.n_players}-{GAMES.index(game)}")


def known_games() -> st.SearchStrategy[Game]:
    return st.sampled_from(GAMES)


def asked(table: Position) -> Position:
    """The table, if a player is asked something there."""
    assume(not table.is_over and table.to_act != CHANCE)
    return table


def played(game: Game, seed: int, strangers: float = 0.0) -> list[Position]:
    """The positions of a game as playouts play it; a share of the actions is random."""
    draw = random.Random(seed)
    position = game.deal(seed, seed % game.n_players)
    found = [position]
    while not position.is_over:
        if position.to_act == CHANCE or draw.random() < strangers:
            action = draw.choice(position.legal_actions())
        else:
            action = choose_action(position, draw.getrandbits(32))
        position = position.play(action)
        found.append(position)
    return found


# --- which tables ---------------------------------------------------------------------------------------------


@MANY
def test_tables_like_the_house_s_have_weights(game: Game) -> None:
    assert game.has_knowledge
    assert set_name(game) == f"castle_village_port-{game.n_players}"
    table = game.deal(1)
    shares = {round(share, 6) for share in prior_of(table).values()}
    assert len(shares) > 3


def one_card(**changed: Any) -> dict[str, Any]:
    """A table of nothing but plain cards, and one card in other words."""
    plain = [{"value": v, "name": "", "when": "never", "effect": "none"} for v in range(2, 16)]
    return {"cards": [*plain, {"value": 1, "name": "Odd", **changed}]}


@pytest.mark.parametrize(
    "sent",
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
def test_tables_that_no_weights_fit_are_known_nothing_of(sent: dict[str, Any]) -> None:
    game = new_game("castle_village_port", sent, 3)
    assert not game.has_knowledge
    with pytest.raises(ValueError, match="do not fit this table"):
        set_name(game)


@given(rulesets(), st.sampled_from((3, 4, 5)), st.integers(0, 2**32))
@QUICK
def test_whatever_table_is_fitted_can_be_played_and_evaluated(sent: dict[str, Any], players: int, seed: int) -> None:
    # The strategy's numbers are far from the house's; its cards are what is tried here.
    near = {"cards": sent["cards"]} if len(sent.get("cards", ())) >= 9 else {}
    game = new_game("castle_village_port", {**near, "turns_per_round": 3}, players)
    assume(game.has_knowledge)
    for position in played(game, seed, strangers=0.5):
        assert math.fsum(evaluate_position(position)) == pytest.approx(1)


# --- actions --------------------------------------------------------------------------------------------------


@MANY
def test_a_playout_takes_legal_actions_all_of_which_have_a_share(game: Game) -> None:
    for seed in range(4):
        for position in played(game, seed, strangers=0.3):
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
def test_what_a_player_does_depends_only_on_what_he_sees(table: Position, world: int, seed: int) -> None:
    player = asked(table).to_act
    assert player is not None
    other = table.view(player).sample_world(world)
    assert choose_action(other, seed) == choose_action(table, seed)
    assert prior_of(other) == prior_of(table)


@MANY
def test_the_policy_of_playouts_beats_random_play(game: Game) -> None:
    # +200 Elo would be a share of 0.61 for three, 0.51 for four, 0.44 for five.
    assert contest(game, 600, 1, seats=0b1) > 0.75


# --- evaluation -----------------------------------------------------------------------------------------------


@given(tables(known_games()))
@QUICK
def test_the_shares_of_the_win_add_up(table: Position) -> None:
    shares = evaluate_position(table)
    assert all(0 <= share <= 1 for share in shares)
    assert math.fsum(shares) == pytest.approx(1)
    assert evaluate_position(table) == shares
    if table.is_over:
        assert shares == table.payoffs


@given(tables(known_games()), st.integers(0, 4), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_more_gold_is_never_worse(table: Position, seat: int, more: int) -> None:
    at, seat = table.table, seat % table.game.n_players
    gold = tuple(gold + more * (p == seat) for p, gold in enumerate(at.gold))
    richer = table.game.from_table(dataclasses.replace(at, gold=gold))
    assert isinstance(richer, Position)
    assert evaluate_position(richer)[seat] >= evaluate_position(table)[seat] - 1e-12


@MANY
def test_the_evaluation_foretells_winners_better_than_gold_does(game: Game) -> None:
    seen: list[tuple[tuple[float, ...], tuple[int, ...], tuple[float, ...]]] = []
    for seed in range(150):
        *positions, end = played(game, seed, strangers=0.05)
        begun = [p for p in positions if p.table.ask == "select" and p.to_act == p.table.first]
        seen += [(evaluate_position(p), p.scores, end.payoffs) for p in begun if p.table.round > 1]

    def surprise(expected: list[tuple[float, ...]]) -> float:
        pairs = zip(expected, [payoffs for _, _, payoffs in seen], strict=True)
        return -sum(math.log(e) for shares, paid in pairs for e, p in zip(shares, paid, strict=True) if p) / len(seen)

    def by_gold(scale: float) -> list[tuple[float, ...]]:
        odds = [[math.exp(scale * g) for g in gold] for _, gold, _ in seen]
        return [tuple(o / sum(row) for o in row) for row in odds]

    ours = surprise([shares for shares, _, _ in seen])
    assert ours < math.log(game.n_players) - 0.1
    assert ours < min(surprise(by_gold(scale / 20)) for scale in range(20)) - 0.03


# --- weights --------------------------------------------------------------------------------------------------


def test_weights_of_another_version_are_refused(tmp_path: Any) -> None:
    text = WEIGHTS.read_text()
    other = tmp_path / "weights.json"
    other.write_text(text.replace('"version":1', '"version":0', 1))
    with pytest.raises(ValueError, match="version 0"):
        load_weights(other)
