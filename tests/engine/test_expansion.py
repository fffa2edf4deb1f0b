"""Invented editions of up to 16 kinds and several cards of a kind are played, viewed, sampled, noted and searched."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
from typing import Any

import pytest
from expansions import EXPANSIONS, NEW, TABLES, edition_of
from hidden_cards import shuffle_hidden
from laws import check_random_games
from scipy.stats import chisquare
from tables import random_game

from engine_cy import (
    InvalidPositionError,
    InvalidRulesetError,
    InvalidViewError,
    NoWorldError,
    Position,
    Rng,
    View,
    new_game,
)
from engine_cy.game_check import check_game
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.oriflamme.cards import PROTOTYPE, PUBLISHED
from engine_cy.oriflamme.editions import EDITIONS
from engine_cy.oriflamme.table import kinds_in_queue
from engine_cy.record import Record, read_record
from solver import Budget, solve
from solver.beliefs import Belief
from solver.marginals import weigh_secrets

IDS = [f"{name}-{players}" for _, name, players in TABLES]


@pytest.fixture(autouse=True)
def _expansions(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, edition in EXPANSIONS.items():
        monkeypatch.setitem(EDITIONS, name, edition)


def deals_of(cards: list[tuple[int, int, int]], n_families: int) -> int:
    """Count the deals and orders of placement that lead to cards: of each kind in a family, dealt and placed."""
    by_lead = Counter({0: 1})  # by the number of cards that the first family dealt more than the second
    orders = 1
    for family, dealt, placed in cards:
        orders *= math.perm(dealt, placed)
        after: Counter[int] = Counter()
        for first in range(dealt + 1) if n_families == 2 else (dealt,):
            here = math.comb(family, first) * math.comb(family, dealt - first)
            for lead, count in by_lead.items():
                after[lead + (2 * first - dealt) * (n_families == 2)] += count * here
        by_lead = after
    return by_lead[0] * orders


def deals_to(world: Position) -> int:
    """Count the deals and orders of placement that lead to a world."""
    game: Any = world.game
    ways = 1
    for player in range(game.n_players):
        placed = [kind for slot, kinds in zip(world.table.slots, kinds_in_queue(world.parts), strict=True)
                  if slot.family == player for kind in kinds]  # fmt: skip
        placed += world.table.piles[player]
        dealt = [*placed, *world.parts.secrets[player].hand]
        ways *= deals_of(
            [(card.copies, dealt.count(card.id), placed.count(card.id)) for card in game.cards], game.shape.n_families
        )
    return ways


def small_views(game: Oriflamme, most: int) -> list[View]:
    views = [
        position.view(seat)
        for seed in range(30)
        for position, _ in random_game(game, seed)
        for seat in range(game.n_players)
    ]
    views = [view for view in views if 2 < view.count_worlds() <= most]
    return views[:: max(len(views) // 4, 1)]


@pytest.mark.parametrize("spec", TABLES, ids=IDS)
def test_the_laws_hold_in_random_games(spec: Any) -> None:
    game = Oriflamme(*spec)
    assert check_random_games(game, 60) > 1000
    assert check_game(game, 1).games == 1


@pytest.mark.parametrize("spec", TABLES, ids=IDS)
def test_cards_are_conserved_and_views_and_keys_hide_them(spec: Any) -> None:
    game = Oriflamme(*spec)
    draw = random.Random(1)
    for position, _ in itertools.chain(*(random_game(game, seed) for seed in range(3))):
        for player, own in enumerate(position.parts.secrets):
            cards = Counter([*own.hand, *own.face_down, *position.table.piles[player]])
            assert cards <= game.shape.all_cards()
        other = shuffle_hidden(position, 0, draw)
        assert other.view(0) == position.view(0)
        assert other.view(0).key == position.view(0).key


@pytest.mark.parametrize("spec", TABLES, ids=IDS)
def test_tables_and_records_are_read_back_from_their_text(spec: Any) -> None:
    game = Oriflamme(*spec)
    played = list(random_game(game, 4))
    for position, _ in played:
        assert game.position(str(position)) == position
        for seat in range(game.n_players):
            assert game.view(str(position.view(seat))) == position.view(seat)
    record = Record(played[0][0], tuple(str(action) for _, action in played if action is not None)).ended()
    for version in (record, *(record.seen_from(seat) for seat in range(game.n_players))):
        assert str(read_record(str(version))) == str(version)
    assert list(record.seen_from(0).tables()) == [position.view(0) for position, _ in played]


@pytest.mark.parametrize(
    "spec", [spec for spec in TABLES if spec[1] in ("few_aside", "threes", "small_prototype") and spec[2] < 5]
)
def test_worlds_are_sampled_as_often_as_deals_lead_to_them(spec: Any) -> None:
    views = small_views(Oriflamme(*spec), 400)
    assert len(views) >= 3
    for view in views:
        worlds = list(view.worlds())
        assert len(worlds) == len(set(worlds)) == view.count_worlds()
        assert all(world.fault is None and world.view(view.observer) == view for world in worlds)
        weights = [deals_to(world) for world in worlds]
        belief = Belief(view, trust=0.0)
        assert belief.effective_worlds == pytest.approx(sum(weights) ** 2 / sum(weight**2 for weight in weights))
        n = 40 * len(worlds)
        for sampler in (view, belief):
            rng = Rng(7)
            counts = Counter(sampler.sample_world(rng) for _ in range(n))
            assert set(counts) <= set(worlds)
            # Chi-square needs counts above 5, so rare worlds are counted together.
            expected: dict[Position | None, float] = defaultdict(float)
            seen: Counter[Position | None] = Counter()
            for world, weight in zip(worlds, weights, strict=True):
                share = n * weight / sum(weights)
                expected[world if share > 5 else None] += share
                seen[world if share > 5 else None] += counts[world]
            assert chisquare([seen[key] for key in expected], list(expected.values())).pvalue > 1e-5


@pytest.mark.parametrize("n_families", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_marginals_equal_the_sums_over_all_secrets(seed: int, n_families: int) -> None:
    draw = random.Random(seed)
    family = [draw.choice([1, 1, 2] if n_families == 2 else [1, 2, 3]) for _ in range(draw.randint(2, 4))]
    held = [draw.randint(1, min(cards * n_families, 3)) for cards in family]
    n_spots = draw.randint(0, min(3, sum(held)))
    n_hand = draw.randint(0, sum(held) - n_spots)
    n_seen = sum(family) * n_families - sum(held)
    if n_families == 2 and (n_spots + n_hand + n_seen) % 2:
        n_hand += 1 if n_spots + n_hand < sum(held) else -1
        if n_hand < 0:
            return
    in_spot = [[draw.uniform(-2, 2) for _ in held] for _ in range(n_spots)]
    in_hand = [draw.uniform(-2, 2) for _ in held]
    weights: dict[Any, float] = {}
    kinds = range(len(held))
    for spots in itertools.product(kinds, repeat=n_spots):
        for hand in itertools.combinations_with_replacement(kinds, n_hand):
            if any(spots.count(kind) + hand.count(kind) > held[kind] for kind in kinds):
                continue
            placed = [n_families * family[kind] - held[kind] + spots.count(kind) for kind in kinds]
            weight = float(deals_of([(family[k], placed[k] + hand.count(k), placed[k]) for k in kinds], n_families))
            for i, kind in enumerate(spots):
                weight *= math.exp(in_spot[i][kind] - max(in_spot[i]))
            weights[spots, hand] = weight * math.prod(math.exp(in_hand[kind] - max(in_hand)) for kind in hand)
    total = sum(weights.values())
    chances, hand_chances, _ = weigh_secrets(held, n_hand, in_spot, in_hand, family, n_families, sum(family))
    for i, kind in itertools.product(range(n_spots), kinds):
        expected = sum(weight for (spots, _), weight in weights.items() if spots[i] == kind) / total
        assert chances[i][kind] == pytest.approx(expected, abs=1e-6)
    for kind in kinds:
        expected = sum(weight * hand.count(kind) for (_, hand), weight in weights.items()) / total
        assert hand_chances[kind] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("spec", TABLES, ids=IDS)
def test_games_are_searched(spec: Any) -> None:
    game = Oriflamme(*spec)
    played = list(random_game(game, 6))
    for config in ("default", "plain"):
        for position, action in played[::9]:
            if action is not None and position.to_act is not None:
                answer = solve(position.view(position.to_act), Budget(iterations=60), config=config, seed=1)
                assert answer.best in position.legal_actions()


def test_a_sixteenth_kind_is_told_from_an_unknown_card() -> None:
    game = Oriflamme("oriflamme", "sixteen", 3)
    martyr = "A:Martyr B:Martyr >C:Martyr | ask C reveal"
    position = game.position(martyr)
    assert "C1:Martyr" in str(position)
    assert [str(action) for action in position.legal_actions()] == ["keep"]
    view = position.view("A")
    assert str(view).startswith("A1:Martyr B1:? >C1:?")
    assert view.play("reveal = Spy").table.slots[2].cards[0].card == "spy"
    with pytest.raises(InvalidPositionError, match=r"secrets\[B\]\.face_down: '\?' must be known"):
        game.position(martyr.replace("B:Martyr", "B:?"))
    with pytest.raises(InvalidViewError, match=r"own\.face_down: '\?' must be known"):
        game.view("A:? B:? >C:? | ask C reveal | seen by A")


def test_too_many_cards_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    many = PUBLISHED + NEW
    refused = {
        "has 17 kinds of cards with 3 players, not 1 to 16": edition_of(many, aside=6),
        "has 5 cards Spy of a player with 3 players, not 1 to 4": edition_of(
            tuple(card._replace(copies=5 if card.id == "spy" else 1) for card in PUBLISHED)
        ),
        "has 40 cards of a player with 3 players, not 1 to 32": edition_of(
            tuple(card._replace(copies=4) for card in PUBLISHED), aside=9
        ),
        "has 6 cards that a player plays with 3 players, not 1 to 4": edition_of(PUBLISHED, aside=6),
    }
    for why, edition in refused.items():
        monkeypatch.setitem(EDITIONS, "refused", edition)
        with pytest.raises(InvalidRulesetError, match=f"ruleset.edition: refused {why}"):
            Oriflamme("oriflamme", "refused", 3)


def test_a_hand_with_a_card_too_often_is_refused() -> None:
    game = Oriflamme("oriflamme", "twelve", 3)
    with pytest.raises(NoWorldError, match=r"3 copies of spy; a family has 2"):
        game.view("- | hands Spy,Spy,Spy ? ? | seen by A")
    with pytest.raises(InvalidPositionError, match=r"aside\[A\]: spy, spy, spy: a family has spy 2x"):
        game.start([["spy"] * 3, ["archer"] * 3, ["archer"] * 3])


def count_secrets(copies: list[int], n_placed: int, n_held: int) -> int:
    """Count the orders of placed cards with a hand out of the given numbers of cards of each kind."""
    counts = Counter({(0, 0): 1})
    for most in copies:
        longer: Counter[tuple[int, int]] = Counter()
        for (placed, held), count in counts.items():
            for more in range(most + 1):
                for kept in range(most - more + 1):
                    longer[placed + more, held + kept] += count * math.comb(placed + more, more)
        counts = longer
    return counts[n_placed, n_held]


@pytest.mark.slow
def test_the_most_secrets_that_a_player_can_have_are_counted_without_an_overflow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(EDITIONS, "most", edition_of((*PROTOTYPE, *NEW[:6]), "prototype"))
    game = new_game("oriflamme_prototype", {"edition": "most", "two_player_rounds": 6, "cards_per_turn": 2}, players=2)
    position = game.deal(1)
    while len(position.table.slots) < 24:
        legal = position.legal_actions()
        at_the_back = [action for action in legal if str(action).endswith((" back", "keep"))]
        position = position.play((at_the_back or legal)[0])
    assert position.view("A").count_worlds() == count_secrets([2] * 16, 12, 12)
    # No other numbers of hidden cards, nor of copies of 32 cards in at most 16 kinds, have more.
    most = max(count_secrets([2] * 16, 12, n_held) for n_held in range(21))
    assert most < 2**64
    assert all(count_secrets([4] * 8, n, h) < most for n in range(13) for h in range(21))
