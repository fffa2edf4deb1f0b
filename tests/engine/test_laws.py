"""Laws that hold at every table of every game."""

from __future__ import annotations

import itertools
import pickle
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import check_random_games
from tables import ALL_IDS, ALL_SPECS, castle_games, games, queue_games, random_game, tables

from engine_cy import Game, IllegalActionError, Position, new_game
from engine_cy.oriflamme.table import kinds_in_queue

QUICK = settings(max_examples=60, deadline=None)


def cards_of(parts: Any, player: int) -> Counter[object]:
    """Return all cards of a player: on the table, in hand, in piles and decks."""
    table, own = parts.table, parts.secrets[player]
    cards = Counter([*own.hand, *table.piles[player]])
    if hasattr(table, "slots"):
        for slot, kinds in zip(table.slots, kinds_in_queue(parts), strict=True):
            cards.update(kinds if slot.family == player else ())
    else:
        cards.update(card.value for row in table.rows for card in row if card.owner == player)
        cards.update([*parts.decks[player], *[own.selected] * bool(own.selected)])
    return cards


@given(games(), st.integers(0, 2**32))
@QUICK
def test_cards_are_conserved(game: Game, seed: int) -> None:
    owned = None
    for position, _ in random_game(game, seed):
        cards = [cards_of(position.parts, player) for player in range(game.n_players)]
        owned = owned or cards
        assert cards == owned


@given(queue_games(), st.integers(0, 2**32))
@QUICK
def test_points_start_at_one_and_fall_only_if_another_player_gains(game: Game, seed: int) -> None:
    log = [0] * game.n_players
    for (before, _), (after, _) in itertools.pairwise(random_game(game, seed)):
        gains = [now - then for then, now in zip(before.scores, after.scores, strict=True)]
        log = [total + gain for total, gain in zip(log, gains, strict=True)]
        assert min(gains) >= 0 or sum(gains) >= 0
        assert min(after.scores) >= 0
        assert list(after.scores) == [1 + total for total in log]


@given(castle_games(), st.integers(0, 2**32))
@QUICK
def test_gold_is_never_negative_and_changes_only_if_a_card_acts_or_a_round_ends(game: Game, seed: int) -> None:
    for (before, action), (after, _) in itertools.pairwise(random_game(game, seed)):
        assert min(after.scores) >= 0
        if action is not None and action.type in ("select", "swap", "replace", "order") and before.is_over is False:
            ends = after.table.round != before.table.round or after.is_over or after.table.phase == "round_end"
            assert after.scores == before.scores or ends


@given(castle_games(), st.integers(0, 2**32))
@QUICK
def test_rows_stay_sorted_and_each_player_plays_a_card_a_turn(game: Game, seed: int) -> None:
    kinds: Counter[str] = Counter()
    for position, action in random_game(game, seed):
        for row in position.table.rows:
            assert [card.value for card in row] == sorted((card.value for card in row), reverse=True)
        if action is not None:
            kinds[action.type] += 1
    shape = position.game.shape  # type: ignore[attr-defined]
    assert kinds["select"] == kinds["place"] == game.n_players * shape.n_rounds * shape.n_turns
    assert kinds["replace"] == kinds["swap"]


@given(games(), st.integers(0, 2**32))
@QUICK
def test_every_invariant_holds_after_every_action(game: Game, seed: int) -> None:
    for position, _ in random_game(game, seed):
        assert position.fault is None
        for player in range(game.n_players):
            assert position.view(player).fault is None


@given(queue_games(), st.integers(0, 2**32))
@QUICK
def test_games_have_as_many_placements_as_the_rules_prescribe(game: Game, seed: int) -> None:
    """A round has at most 60 actions: only Decrees let a card act again."""
    shape = game.shape  # type: ignore[attr-defined]
    kinds = Counter(action.type for _, action in random_game(game, seed) if action is not None)
    assert kinds["place"] == game.n_players * shape.cards_each
    assert sum(kinds.values()) <= 60 * shape.n_rounds


def all_texts(table: Position) -> list[str]:
    """Return the texts of all actions, legal or not, that could be meant at a table."""
    return all_castle_texts(table) if table.game.id == "castle_village_port" else all_queue_texts(table)


def all_queue_texts(table: Position) -> list[str]:
    cards = [card.name for card in table.game.cards]  # type: ignore[attr-defined]
    slots = range(len(table.table.slots) + 2)
    return [
        "reveal",
        "keep",
        *(f"place {card} {at}" for card in cards for at in ("front", "back", *(f"on {slot}" for slot in slots))),
        *(f"{verb} {slot}" for verb in ("target", "copy") for slot in slots),
        *(f"rob {seat}" for seat in "ABCDE"),
        *(f"move {slot} {how} {to}" for slot in slots for how in ("to", "on") for to in slots),
        *(f"pair {one} {other}" for one in slots for other in slots if one < other),
    ]


def all_castle_texts(table: Position) -> list[str]:
    locations = ("castle", "village", "port")
    places = [f"{location} {at}" for location in locations for at in range(max(map(len, table.table.rows)) + 2)]
    cards = [str(card) for row in table.table.rows for card in row]
    cards += [card for card in ("1A", "15B", "7C") if card not in cards]
    return [
        *(f"{verb} {value}" for verb in ("select", "replace") for value in range(1, 16)),
        *(f"place {place}" for place in places),
        *(f"move {card} to {place}" for card in cards for place in places),
        *(f"{verb} {card}" for verb in ("copy", "discard") for card in cards),
        *(f"{verb} {seat}" for verb in ("rob", "swap") for seat in "ABCDE"),
        *(f"order {seat} {location}" for seat in "ABCDE" for location in locations),
    ]


@given(tables())
@settings(max_examples=25, deadline=None)
def test_legal_actions_are_accepted_and_all_others_refused(table: Position) -> None:
    legal = {str(action) for action in table.legal_actions()}
    accepted = set()
    for text in all_texts(table):
        try:
            table.play(text)
        except IllegalActionError:
            continue
        accepted.add(text)
    assert accepted == legal
    assert bool(legal) != table.is_over


@given(tables())
@QUICK
def test_legal_actions_are_listed_once(table: Position) -> None:
    legal = table.legal_actions()
    assert len(set(legal)) == len(legal)
    assert len({str(action) for action in legal}) == len(legal)


@given(tables(), st.randoms())
@QUICK
def test_playing_does_not_change_the_table(table: Position, draw: random.Random) -> None:
    before = bytes(table)
    for action in table.legal_actions():
        assert table.play(action) != table
    table.play_out(1)
    assert bytes(table) == before


@given(tables())
@QUICK
def test_a_clone_equals_its_original(table: Position) -> None:
    clone = table.clone()
    assert clone == table
    assert clone is not table
    assert hash(clone) == hash(table)
    assert bytes(clone) == bytes(table)
    assert clone.legal_actions() == table.legal_actions()
    assert pickle.loads(pickle.dumps(table)) == table


@given(games(), st.integers(0, 2**32))
@QUICK
def test_equal_seeds_play_equal_games(game: Game, seed: int) -> None:
    assert game.deal(seed) == game.deal(seed)
    assert game.deal(seed).play_out(seed) == game.deal(seed).play_out(seed)
    assert len({game.deal(s).play_out(s) for s in range(8)}) > 1


@given(games(), st.integers(0, 2**32))
@QUICK
def test_shares_of_the_win_add_up_to_one_and_go_to_the_highest_scores(game: Game, seed: int) -> None:
    end = game.deal(seed).play_out(seed)
    assert sum(end.payoffs) == pytest.approx(1)
    score_max = max(end.scores)
    assert all(end.scores[p] == score_max for p in range(game.n_players) if end.payoffs[p] > 0)
    assert len({share for share in end.payoffs if share}) == 1


@pytest.mark.parametrize("spec", ALL_SPECS, ids=ALL_IDS)
def test_300_random_games_of_each_kind_keep_every_law(spec: tuple[str, str, int]) -> None:
    assert check_random_games(new_game(*spec), 300, seed=7) > 300 * 20


@pytest.mark.parametrize("spec", ALL_SPECS, ids=ALL_IDS)
def test_play_out_chooses_uniformly_among_whole_decisions(spec: tuple[str, str, int]) -> None:
    """Its games have the same mean total score as those of a plain loop over whole decisions."""
    game = new_game(*spec)
    loop = [position for seed in range(150) for position, action in random_game(game, seed) if action is None]
    fast = [game.deal(seed, seed % game.n_players).play_out(seed) for seed in range(4000)]
    in_loop = sum(sum(end.scores) for end in loop) / len(loop)
    in_fast = sum(sum(end.scores) for end in fast) / len(fast)
    spread = (sum((sum(end.scores) - in_loop) ** 2 for end in loop) / len(loop)) ** 0.5
    assert abs(in_loop - in_fast) < 4.5 * spread / len(loop) ** 0.5
