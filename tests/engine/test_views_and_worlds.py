"""What a player sees, and what may be true behind it."""

from __future__ import annotations

import dataclasses
import random
import statistics
from collections import Counter, defaultdict
from typing import Any

import pytest
from families import ways_to
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tables import ALL_IDS, ALL_SPECS, SPEC_IDS, SPECS, castle_games, games, queue_games, random_game, tables

from engine_cy import Game, Position, Rng, View, new_game

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
def test_a_forced_action_is_forced_in_every_world_of_all_others(spec: Any) -> None:
    forced = 0
    for seed in range(40):
        for table, _ in random_game(new_game(*spec), seed):
            seat = table.to_act
            if seat is None or seat < 0 or table.view(seat).forced_action is None:
                continue
            forced += 1
            for other in players(table):
                if other != seat:
                    worlds = [table.view(other).sample_world(draw) for draw in range(8)]
                    assert {len(world.legal_actions()) for world in worlds} == {1}
    assert forced > 10


def test_two_equal_cards_are_a_choice_to_all_others() -> None:
    game = new_game("oriflamme_prototype", {"two_player_rounds": 6, "cards_per_turn": 2}, 2)
    equal = game.view("- | round 6 | first A | ask A place | hands Spy,Spy ? | seen by A")
    assert [str(action) for action in equal.legal_actions()] == ["place Spy front"]
    assert equal.forced_action is None


def test_one_number_for_a_deal_and_a_world_gives_unrelated_cards() -> None:
    """A hand of 6 of 15 cards shares 2.4 with another one in the mean."""
    game, n = new_game("castle_village_port", "house", 3), 60_000
    common = []
    for seed in range(n):
        dealt = game.deal(seed)
        mine, thought = (table.table.hands[1] for table in (dealt, dealt.view(0).sample_world(seed)))
        common.append(len(set(mine) & set(thought)))
    assert abs(statistics.fmean(common) - 2.4) < 3 * statistics.stdev(common) / n**0.5


def permuted(table: Position, player: int, draw: random.Random) -> Position:
    """The table with the hidden cards of `player`'s opponents shuffled, by way of text."""
    fields = str(table).split(" | ")
    hands = fields[5].split()[1:]
    words = fields[0].split()
    kinds = [card.name for card in table.game.cards]  # type: ignore[attr-defined]
    frame = table.game.frame  # type: ignore[attr-defined]
    for opponent, letter in enumerate(table.game.seats):
        if opponent == player:
            continue
        known = [card.card for slot in table.table.slots for card in slot if card.family == opponent and card.face_up]
        pool = Counter(frame.ids * frame.copies) - Counter(known) - Counter(table.table.piles[opponent])
        cards = [kinds[frame.ids.index(card)] for card in pool.elements()]
        draw.shuffle(cards)
        for w, word in enumerate(words):
            mark, parts = word.startswith(">"), word.removeprefix(">").split("/")
            for p, part in enumerate(parts):
                if part.startswith(letter) and "*" not in part:
                    head, _, tail = part.partition(":")
                    tokens = tail[tail.index("(") :] if "(" in tail else ""
                    parts[p] = f"{head}:{cards.pop()}{tokens}"
            words[w] = ">" * mark + "/".join(parts)
        size = len(table.table.hands[opponent])
        hands[opponent] = ",".join(cards[:size]) or "-"
    return table.game.position(" | ".join([" ".join(words), *fields[1:5], "hands " + " ".join(hands), fields[6]]))


@given(tables(queue_games()), st.randoms(use_true_random=False))
@QUICK
def test_shuffling_what_is_hidden_changes_nothing_for_the_observer(table: Position, draw: random.Random) -> None:
    for player in players(table):
        other = permuted(table, player, draw)
        assert other.view(player) == table.view(player)
        assert other.scores == table.scores
        if table.to_act == player:
            assert other.legal_actions() == table.legal_actions()


@given(tables(queue_games()))
@QUICK
def test_a_view_shows_no_hidden_card(table: Position) -> None:
    for player in players(table):
        view = table.view(player).table
        for slot in view.slots:
            for card in slot:
                assert (card.card is None) == (card.family != player and not card.face_up)
        assert [hand is None for hand in view.hands] == [p != player for p in players(table)]
        assert view.hands[player] == table.table.hands[player]


def permuted_castle(table: Position, player: int, draw: random.Random) -> Position:
    """The table with the hands, selections and decks of `player`'s opponents shuffled, and his own deck."""
    at = table.table
    hands, decks, selected = list(at.hands), list(at.decks), list(at.selected)
    for p in players(table):
        hidden = [*decks[p]] if p == player else [*hands[p], *decks[p], *[selected[p]] * bool(selected[p])]
        draw.shuffle(hidden)
        decks[p] = tuple(hidden.pop() for _ in decks[p])
        if p != player:
            hands[p] = tuple(sorted((hidden.pop() for _ in hands[p]), reverse=True))
            selected[p] = hidden.pop() if selected[p] else 0
    changed = dataclasses.replace(at, hands=tuple(hands), decks=tuple(decks), selected=tuple(selected))
    other = table.game.from_table(changed)
    assert isinstance(other, Position)
    return other


@given(tables(castle_games()), st.randoms(use_true_random=False))
@QUICK
def test_shuffling_hands_selections_and_decks_changes_nothing_for_the_observer(
    table: Position, draw: random.Random
) -> None:
    for player in players(table):
        other = permuted_castle(table, player, draw)
        assert other.view(player) == table.view(player)
        if table.to_act == player:
            assert other.legal_actions() == table.legal_actions()


@given(tables(castle_games()))
@QUICK
def test_a_view_of_a_castle_table_shows_no_hidden_card(table: Position) -> None:
    for player in players(table):
        view = table.view(player).table
        assert all(deck is None for deck in view.decks)
        for p in players(table):
            assert (view.hands[p] is None) == (p != player)
            assert view.selected[p] == (None if p != player and table.table.selected[p] else table.table.selected[p])
        assert view.gold == table.table.gold


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
def test_enumerated_worlds_are_all_different_and_all_fit(game: Game, seed: int) -> None:
    views = small_views(game, seed)
    assume(views)
    view = views[seed % len(views)]
    worlds = list(view.worlds())
    assert len(worlds) == len(set(worlds)) == view.count_worlds()
    for world in worlds:
        assert world.fault is None
        assert world.view(view.observer) == view


def small_table(n_cards: int, hand_size: int, turns: int) -> dict[str, object]:
    """A table of castle_village_port small enough to enumerate, with a Courtesan of value 2 to swap selected cards."""
    effects = ["pay_others", "swap_selected", "none", "order_location", "gain_per_low"]
    cards = [
        {"value": value, "name": f"{value}", "when": "immediate", "effect": effects[value - 1]}
        for value in range(1, n_cards + 1)
    ]
    return {"cards": cards, "hand_size": hand_size, "turns_per_round": turns, "rounds": n_cards // turns}


SMALL = [
    ("castle_village_port", small_table(3, 2, 1), 3),
    ("castle_village_port", small_table(4, 3, 2), 3),
    ("castle_village_port", small_table(5, 4, 2), 3),
    ("castle_village_port", small_table(3, 3, 1), 4),
]


@pytest.mark.parametrize("spec", [*SPECS, *SMALL], ids=[*SPEC_IDS, "3 cards", "4 cards", "5 cards", "no deck"])
def test_worlds_are_sampled_as_often_as_deals_lead_to_them(spec: tuple[str, Any, int]) -> None:
    """Where each player has one family, all alike."""
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
        # Worlds that are seldom drawn are counted together.
        expected: dict[Position | None, float] = defaultdict(float)
        seen: Counter[Position | None] = Counter()
        for world, weight in zip(worlds, weights, strict=True):
            often = 40 * n * weight / sum(weights)
            expected[world if often > 5 else None] += often
            seen[world if often > 5 else None] += counts[world]
        assert chisquare([seen[key] for key in expected], list(expected.values())).pvalue > 1e-4


def test_a_second_card_of_a_kind_is_as_likely_as_deals_make_it() -> None:
    """For two, each family sets aside four of ten cards: the other family's Archer is dealt in three of five games."""
    game = new_game("oriflamme_prototype", "prototype", 2)
    view = game.view("A:Spy B:Archer* | round 2 | first A | ask A place | seen by A")
    rng = Rng(3)
    worlds = [view.sample_world(rng).table for _ in range(20_000)]
    second = statistics.fmean("archer" in (world.hands[1] or ()) for world in worlds)
    assert second == pytest.approx(0.6, abs=3 * 0.0035)


def test_at_the_start_an_opponent_has_as_many_secrets_as_there_are_hands() -> None:
    view = new_game("oriflamme", "en-2019", 3).deal(seed=1).view(0)
    assert view.count_worlds() == 120**2


def test_an_opponent_hides_at_most_604800_secrets_in_six_rounds() -> None:
    """Six face-down cards, one in hand, three set aside: 10! / 3! / 1!."""
    game = new_game("oriflamme", "en-2019", 3)
    view = game.view("C:? B:?/B:? A:Heir* C:?/C:? C:?/C:? C:? >A:Spy(2) | round 6 | seen by A")
    hidden_b = 10 * 9 * 8 * 7 * 6 * 5 * 4 * 3 * 2 // (3 * 2)
    assert game.view("C:?/C:?/C:?/C:?/C:?/C:? >A:Spy | round 6 | seen by A").count_worlds() % 604800 == 0
    assert view.count_worlds() > hidden_b


def test_the_true_world_is_as_likely_as_any() -> None:
    """Nothing of the truth leaks into the draw: of three opponents' hidden cards, the true ones come up by chance."""
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
            hits += world.table.slots[1][0].card == table.table.slots[1][0].card
    assert abs(hits / tries - 0.1) < 0.015


@given(games(), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_a_view_kept_up_to_date_by_what_is_seen_is_the_view_of_the_table(game: Game, seed: int) -> None:
    views = None
    for position, action in random_game(game, seed):
        views = views or [position.view(p) for p in range(game.n_players)]
        assert views == [position.view(p) for p in range(game.n_players)]
        if action is not None:
            seen = [position.seen(action, p) for p in range(game.n_players)]
            views = [view.play(text) for view, text in zip(views, seen, strict=True)]
