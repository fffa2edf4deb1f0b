"""What holds at every table of every game, whatever the cards do."""

from __future__ import annotations

import itertools
import pickle
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import SPEC_IDS, SPECS, games, random_game, tables

from engine_cy import Game, IllegalActionError, Position, new_game
from engine_cy.playout import play_watched

QUICK = settings(max_examples=60, deadline=None)


@given(games(), st.integers(0, 2**32))
@QUICK
def test_cards_are_conserved(game: Game, seed: int) -> None:
    owned = None
    for position, _ in random_game(game, seed):
        table = position.table
        cards = [Counter(hand) + Counter(pile) for hand, pile in zip(table.hands, table.piles, strict=True)]
        for slot in table.slots:
            cards[slot[0].family].update(card.card for card in slot)
        owned = owned or cards
        assert cards == owned


@given(games(), st.integers(0, 2**32))
@QUICK
def test_points_are_the_sum_of_all_gains_and_fall_only_to_a_robber(game: Game, seed: int) -> None:
    log = [0] * game.n_players
    for (before, _), (after, _) in itertools.pairwise(random_game(game, seed)):
        gains = [now - then for then, now in zip(before.scores, after.scores, strict=True)]
        log = [total + gain for total, gain in zip(log, gains, strict=True)]
        assert min(gains) >= 0 or sum(gains) >= 0
        assert min(after.scores) >= 0
        assert list(after.scores) == [1 + total for total in log]


@given(games(), st.integers(0, 2**32))
@QUICK
def test_every_invariant_holds_after_every_action(game: Game, seed: int) -> None:
    for position, _ in random_game(game, seed):
        assert position.fault is None
        for player in range(game.n_players):
            assert position.view(player).fault is None


@given(games(), st.integers(0, 2**32))
@QUICK
def test_games_are_as_long_as_the_rules_say(game: Game, seed: int) -> None:
    """Everybody places one card a turn; in a round no card is asked about more often than Decrees can carry it."""
    frame = game.position("-").game.frame  # type: ignore[attr-defined]
    kinds = Counter(action.type for _, action in random_game(game, seed) if action is not None)
    assert kinds["place"] == game.n_players * frame.cards_each
    assert sum(kinds.values()) <= 60 * frame.n_rounds


def everything(game: Game, n_slots: int) -> list[str]:
    """Every action that could be written down at a table with `n_slots` slots."""
    cards = [card.name for card in game.cards]  # type: ignore[attr-defined]
    slots = range(n_slots + 2)
    return [
        "reveal",
        "keep",
        *(f"place {card} {at}" for card in cards for at in ("front", "back", *(f"on {slot}" for slot in slots))),
        *(f"{verb} {slot}" for verb in ("target", "copy") for slot in slots),
        *(f"rob {seat}" for seat in "ABCDE"),
        *(f"move {slot} {how} {to}" for slot in slots for how in ("to", "on") for to in slots),
        *(f"pair {one} {other}" for one in slots for other in slots if one < other),
    ]


@given(tables())
@settings(max_examples=25, deadline=None)
def test_what_is_legal_is_accepted_and_everything_else_refused(table: Position) -> None:
    legal = {str(action) for action in table.legal_actions()}
    accepted = set()
    for text in everything(table.game, len(table.table.slots)):
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
def test_playing_leaves_the_table_as_it_was(table: Position, draw: random.Random) -> None:
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
    assert len({game.deal(s).play_out(s) for s in range(8)}) > 4


@given(games(), st.integers(0, 2**32))
@QUICK
def test_shares_of_the_win_add_up_to_one_and_go_to_the_most_points(game: Game, seed: int) -> None:
    end = game.deal(seed).play_out(seed)
    assert sum(end.payoffs) == pytest.approx(1)
    best = max(end.scores)
    assert all(end.scores[p] == best for p in range(game.n_players) if end.payoffs[p] > 0)
    assert len({share for share in end.payoffs if share}) == 1


@pytest.mark.parametrize("spec", SPECS, ids=SPEC_IDS)
def test_hundreds_of_watched_games_of_each_kind_are_faultless(spec: tuple[str, str, int]) -> None:
    assert play_watched(new_game(*spec), 300, seed=7) > 300 * 20


@pytest.mark.parametrize("spec", SPECS, ids=SPEC_IDS)
def test_uniform_play_chooses_among_whole_decisions(spec: tuple[str, str, int]) -> None:
    """play_out's games are as long, and pay as much, as those of a plain loop over whole decisions."""
    game = new_game(*spec)
    loop = [position for seed in range(150) for position, action in random_game(game, seed) if action is None]
    fast = [game.deal(seed, seed % game.n_players).play_out(seed) for seed in range(4000)]
    in_loop = sum(sum(end.scores) for end in loop) / len(loop)
    in_fast = sum(sum(end.scores) for end in fast) / len(fast)
    spread = (sum((sum(end.scores) - in_loop) ** 2 for end in loop) / len(loop)) ** 0.5
    assert abs(in_loop - in_fast) < 4.5 * spread / len(loop) ** 0.5
