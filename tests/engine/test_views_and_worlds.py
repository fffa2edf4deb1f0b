"""Views, and the worlds that they allow."""

from __future__ import annotations

import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from families import ways_to
from hidden_cards import shuffle_hidden
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tables import ALL_IDS, ALL_SPECS, SPEC_IDS, SPECS, castle_games, games, queue_games, random_game, tables

from engine_cy import Game, Position, Rng, View, new_game
from engine_cy.oriflamme.table import SeenTable, kinds_in_queue

QUICK = settings(max_examples=60, deadline=None)
WORLDS_MAX = 3000


def players(table: Position) -> range:
    return range(table.game.n_players)


@given(tables(), st.integers(0, 2**32))
@QUICK
def test_a_sampled_world_looks_the_same_to_its_observer(table: Position, seed: int) -> None:
    for player in players(table):
        view = table.view(player)
        world = view.sample_world(seed)
        assert world.fault is None
        assert world.view(player) == view
        assert world.view(player).key == view.key
        if table.to_act == player:
            assert world.legal_actions() == table.legal_actions() == view.legal_actions() != []
        else:
            assert view.legal_actions() == []


@pytest.mark.parametrize("spec", ALL_SPECS, ids=ALL_IDS)
def test_a_forced_action_is_forced_in_every_world_of_the_other_players(spec: Any) -> None:
    n_forced = 0
    for seed in range(40):
        for table, _ in random_game(new_game(*spec), seed):
            seat = table.to_act
            if seat is None or seat < 0 or table.view(seat).forced_action is None:
                continue
            n_forced += 1
            for other in players(table):
                if other != seat:
                    worlds = [table.view(other).sample_world(draw) for draw in range(8)]
                    assert {len(world.legal_actions()) for world in worlds} == {1}
    assert n_forced > 10


def test_two_equal_cards_in_hand_are_not_a_forced_action() -> None:
    """To the other players, they look like a choice."""
    game = new_game("oriflamme_prototype", {"two_player_rounds": 6, "cards_per_turn": 2}, 2)
    view = game.view("- | round 6 | first A | ask A place | hands Spy,Spy ? | seen by A")
    assert [str(action) for action in view.legal_actions()] == ["place Spy front"]
    assert view.forced_action is None


def test_a_deal_and_a_world_from_one_seed_are_independent() -> None:
    """Two independent hands of 6 of 15 cards share 2.4 cards in the mean."""
    game, n = new_game("castle_village_port", "house", 3), 60_000
    shared_counts = []
    for seed in range(n):
        dealt = game.deal(seed)
        dealt_hand, sampled_hand = (table.parts.secrets[1].hand for table in (dealt, dealt.view(0).sample_world(seed)))
        shared_counts.append(len(set(dealt_hand) & set(sampled_hand)))
    assert abs(statistics.fmean(shared_counts) - 2.4) < 3 * statistics.stdev(shared_counts) / n**0.5


@pytest.mark.parametrize("strategy", [queue_games, castle_games])
@given(st.data(), st.randoms(use_true_random=False))
@QUICK
def test_shuffling_hidden_cards_changes_nothing_for_the_observer(
    strategy: Callable[[], st.SearchStrategy[Game]], data: st.DataObject, draw: random.Random
) -> None:
    table = data.draw(tables(strategy()))
    for player in players(table):
        other = shuffle_hidden(table, player, draw)
        assert other.view(player) == table.view(player)
        assert other.scores == table.scores
        if table.to_act == player:
            assert other.legal_actions() == table.legal_actions()


@given(tables(queue_games()))
@QUICK
def test_a_view_of_an_oriflamme_table_shows_no_hidden_card(table: Position) -> None:
    for player in players(table):
        seen, whole = table.view(player).parts, table.parts
        assert seen == SeenTable(player, whole.table, whole.secrets[player])


@given(tables(castle_games()))
@QUICK
def test_a_view_of_a_castle_table_shows_no_hidden_card(table: Position) -> None:
    for player in players(table):
        seen, whole = table.view(player).parts, table.parts
        assert seen.own == whole.secrets[player]
        assert seen.table.known_gold == whole.table.gold
        hidden_gold = {"gold": None, "remembered_gold": None}
        assert replace(seen.table, **hidden_gold) == replace(whole.table, **hidden_gold)


@given(tables())
@QUICK
def test_views_of_different_tables_have_different_keys(table: Position) -> None:
    keys = {table.view(player).key for player in players(table)}
    assert len(keys) == table.game.n_players
    for action in table.legal_actions() if table.to_act in players(table) else []:
        assert table.play(action).view(table.to_act or 0).key not in keys


def small_views(game: Game, seed: int) -> list[View]:
    views = [position.view(p) for position, _ in random_game(game, seed) for p in range(game.n_players)]
    return [view for view in views if 1 < view.count_worlds() <= WORLDS_MAX]


@given(games(), st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_enumerated_worlds_are_distinct_and_fit_the_view(game: Game, seed: int) -> None:
    views = small_views(game, seed)
    assume(views)
    view = views[seed % len(views)]
    worlds = list(view.worlds())
    assert len(worlds) == len(set(worlds)) == view.count_worlds()
    for world in worlds:
        assert world.fault is None
        assert world.view(view.observer) == view


def small_ruleset(n_cards: int, hand_size: int, turns: int) -> dict[str, object]:
    """Return a ruleset whose worlds can be enumerated; its card of value 2 swaps selected cards."""
    effects = ["pay_others", "swap_selected", "none", "order_location", "gain_per_low"]
    cards = [
        {"value": value, "name": f"{value}", "when": "immediate", "effect": effects[value - 1]}
        for value in range(1, n_cards + 1)
    ]
    return {"cards": cards, "hand_size": hand_size, "turns_per_round": turns, "rounds": n_cards // turns}


SMALL = [
    ("castle_village_port", small_ruleset(3, 2, 1), 3),
    ("castle_village_port", small_ruleset(4, 3, 2), 3),
    ("castle_village_port", small_ruleset(5, 4, 2), 3),
    ("castle_village_port", small_ruleset(3, 3, 1), 4),
]


@pytest.mark.parametrize("spec", [*SPECS, *SMALL], ids=[*SPEC_IDS, "3 cards", "4 cards", "5 cards", "no deck"])
def test_worlds_are_sampled_as_often_as_deals_lead_to_them(spec: tuple[str, Any, int]) -> None:
    """With one family for each player, that is uniformly."""
    game = new_game(*spec)
    views = [view for seed in range(40) for view in small_views(game, seed)[-9:] if view.count_worlds() <= 400]
    assert len(views) >= 3
    for view in views[:: len(views) // 3]:
        n = view.count_worlds()
        rng = Rng(1789)
        counts = Counter(view.sample_world(rng) for _ in range(40 * n))
        worlds = list(view.worlds())
        weights = [ways_to(world) for world in worlds]
        assert set(counts) <= set(worlds)
        # Chi-square needs counts above 5, so rare worlds are counted together.
        expected: dict[Position | None, float] = defaultdict(float)
        seen: Counter[Position | None] = Counter()
        for world, weight in zip(worlds, weights, strict=True):
            expected_count = 40 * n * weight / sum(weights)
            expected[world if expected_count > 5 else None] += expected_count
            seen[world if expected_count > 5 else None] += counts[world]
        assert chisquare([seen[key] for key in expected], list(expected.values())).pvalue > 1e-4


def test_a_second_card_of_a_kind_is_as_likely_as_in_deals() -> None:
    """In the game for two, each family sets aside four of ten cards, so the other Archer is dealt in 3 of 5 games."""
    game = new_game("oriflamme_prototype", "prototype", 2)
    view = game.view("A:Spy B:Archer* | round 2 | first A | ask A place | seen by A")
    rng = Rng(3)
    worlds = [view.sample_world(rng).parts for _ in range(20_000)]
    second = statistics.fmean("archer" in world.secrets[1].hand for world in worlds)
    assert second == pytest.approx(0.6, abs=3 * 0.0035)


def test_at_the_start_there_are_as_many_worlds_as_hands() -> None:
    view = new_game("oriflamme", "en-2019", 3).deal(seed=1).view(0)
    assert view.count_worlds() == 120**2


def test_an_opponent_hides_at_most_604800_secrets_in_six_rounds() -> None:
    """Six face-down cards, one in hand, three set aside: 10! / 3! / 1!."""
    game = new_game("oriflamme", "en-2019", 3)
    view = game.view("C:? B:?/B:? A:Heir* C:?/C:? C:?/C:? C:? >A:Spy(2) | round 6 | seen by A")
    hidden_b = 10 * 9 * 8 * 7 * 6 * 5 * 4 * 3 * 2 // (3 * 2)
    assert game.view("C:?/C:?/C:?/C:?/C:?/C:? >A:Spy | round 6 | seen by A").count_worlds() % 604800 == 0
    assert view.count_worlds() > hidden_b


def test_the_true_world_is_as_likely_as_any_other() -> None:
    """An opponent's hidden card is the true one in a tenth of the samples: the truth does not leak into the draw."""
    game = new_game("oriflamme", "en-2019", 3)
    hits = tries = 0
    rng = Rng(1789)
    for seed in range(400):
        table = game.deal(seed)
        for action in ("place {} front", "place {} back", "place {} back"):
            table = table.play(action.format(table.legal_actions()[seed % 7].fields["card"]))
        for _ in range(20):
            world = table.view(0).sample_world(rng)
            tries += 1
            hits += kinds_in_queue(world.parts)[1] == kinds_in_queue(table.parts)[1]
    assert abs(hits / tries - 0.1) < 0.015


@given(games(), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_a_view_updated_by_the_seen_actions_is_the_view_of_the_table(game: Game, seed: int) -> None:
    views = None
    for position, action in random_game(game, seed):
        views = views or [position.view(p) for p in range(game.n_players)]
        assert views == [position.view(p) for p in range(game.n_players)]
        if action is not None:
            seen = [position.seen(action, p) for p in range(game.n_players)]
            views = [view.play(text) for view, text in zip(views, seen, strict=True)]
