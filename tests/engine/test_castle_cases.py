"""Castle, Village, Port: the worked cases of the rules page, and rulings that they do not cover."""

from __future__ import annotations

from typing import Any

import pytest
from scenes import gains, play

from engine_cy import IllegalActionError, Position, new_game
from engine_cy.castle_village_port.table import Secrets


def scene(text: str, players: int = 3, ruleset: Any = "house") -> Position:
    return new_game("castle_village_port", ruleset, players).position(text)


def row(position: Position, location: int = 0) -> str:
    return " ".join(str(card) for card in position.table.rows[location])


START = (3, 3, 3)


def test_a_traitor_has_the_castle_paid_from_the_right() -> None:  # case 16
    after = scene("castle 15A 12B 12C 7A 1C | ask walk")
    assert gains(START, after) == {"A": 3, "C": 5}
    assert row(after) == "12B"
    assert 15 in after.table.piles[0]
    assert after.table.phase == "select"


def test_without_a_traitor_the_castle_is_paid_from_the_left() -> None:  # case 17
    after = scene("castle 15A 12B 12C 1C | ask walk")
    assert gains(START, after) == {"B": 4, "C": 4}
    assert row(after) == ""


def test_a_sailor_alone_in_the_port_counts_twice() -> None:  # case 18
    assert gains(START, scene("port 2A | ask walk")) == {"A": 2}
    # In second place it steals 2 from each other player; in third place its owner pays 2.
    assert gains(START, scene("port 11B 2A | ask walk")) == {"A": 4, "B": 6 - 2, "C": -2}
    assert gains(START, scene("port 11B 6C 2A | ask walk"))["A"] == -3
    # In the village it is an ordinary card.
    assert gains(START, scene("village 2A | ask walk")) == {"A": 3}


def test_a_player_who_owes_more_than_they_have_pays_all_they_have() -> None:
    after = scene("port 11B 6C 2A | ask walk | gold 0 3 3")
    assert after.scores[0] == 0


def test_a_king_leaves_if_a_thief_is_in_its_location() -> None:
    after = scene("castle 15A 11B | ask walk")
    assert gains(START, after) == {"B": 4}
    assert 15 in after.table.piles[0]
    assert gains(START, scene("castle 15A | village 11B | ask walk")) == {"A": 4, "B": 3}


def test_a_princess_earns_every_other_card_its_owner_a_coin() -> None:
    after = scene("castle 14A 14B 6A | ask walk")
    assert gains(START, after) == {"A": 3 + 4 + 1, "B": 1 + 3}


def test_cards_without_a_rank_stay_for_the_next_round() -> None:
    after = scene("castle 13A 12B 11C 5A | ask walk")
    assert row(after) == "5A"
    assert [len(after.table.piles[p]) for p in range(3)] == [3, 4, 4]
    assert after.table.round == 2


def test_equal_cards_may_stand_in_any_order() -> None:
    table = scene("castle 12B 12C | turn 2 | ask A place | selected 12 5 5")
    legal = [str(action) for action in table.legal_actions()]
    assert [action for action in legal if "castle" in action] == ["place castle 0", "place castle 1", "place castle 2"]
    assert row(table.play("place castle 1")) == "12B 12A 12C"


def test_a_card_that_a_guard_moves_does_not_act_again() -> None:
    table = scene("castle 14B 6C | turn 2 | ask A place | selected 12 5 5")
    after = play(table, "place castle 1", "move 6C to village 0")
    assert row(after) == "14B 12A"
    assert row(after, 1) == "6C"
    assert after.scores == START
    assert after.to_act == 1


def test_a_thief_takes_two_coins_from_an_opponent_beside_it() -> None:
    table = scene("castle 12A 10B | turn 3 | ask A place | selected 11 5 5 | gold 3 1 3")
    after = play(table, "place castle 1")
    assert [str(action) for action in after.legal_actions()] == ["rob B"]
    assert after.play("rob B").scores == (4, 0, 3)
    alone = scene("castle 12A | turn 3 | ask A place | selected 11 5 5")
    assert alone.play("place castle 1").to_act == 1


def test_an_alchemist_copies_an_immediate_neighbour_but_no_alchemist() -> None:
    table = scene("castle 11B 10C 9B | turn 3 | ask A place | selected 10 5 5")
    # Between Thief and Alchemist only the Thief can be copied; beside a Courtesan, the Courtesan can.
    assert [str(a) for a in table.play("place castle 1").legal_actions()] == ["copy 11B"]
    assert [str(a) for a in table.play("place castle 2").legal_actions()] == ["copy 9B"]
    assert play(table, "place castle 1", "copy 11B", "rob B").scores == (5, 1, 3)
    assert play(table, "place village 0").to_act == 1


def test_a_courtesan_swaps_only_players_who_have_not_revealed() -> None:
    table = scene("village 8A | turn 2 | first A | ask B place | selected - 9 5 | hands 15,14,13,12 7,6,5,4 7,6,4,3")
    position = table.play("place castle 0")
    assert [str(action) for action in position.legal_actions()] == ["swap C"]
    chance = position.play("swap C")
    assert chance.to_act == -1
    assert sorted(str(action) for action in chance.legal_actions()) == [
        "replace 3",
        "replace 4",
        "replace 6",
        "replace 7",
    ]
    after = chance.play("replace 6")
    assert after.table.selected == (2,)
    assert after.parts.secrets[2] == Secrets((7, 5, 4, 3), 6)
    assert after.to_act == 2


def test_two_courtesans_show_their_changes_to_the_victim_only() -> None:
    """The victim sees their old and new cards; the other players learn none of the four."""
    table = scene("ask A place | selected 9 9 5 | hands 15,14,13,12,11 15,14,13,12,11 15,14,13,12,11")
    after_one = play(table, "place castle 0", "swap C")
    seen: list[list[Any]] = [[], [], []]
    for first in (15, 14, 13):
        swapped = play(after_one, f"replace {first}", "place village 0", "swap C")
        for second in (12, 11, 5):
            end = swapped.play(f"replace {second}")
            own = end.parts.secrets[2]
            assert own.selected == second
            assert 5 in (*own.hand, own.selected)
            for player in range(3):
                seen[player].append(end.view(player))
            assert end.view(2).parts.own == own
    assert len(set(seen[0])) == len(set(seen[1])) == 1
    # Nine sequences end with one of three cards, and the hand follows from the last card.
    assert len(set(seen[2])) == 3


def test_each_player_can_update_their_view_of_a_swap() -> None:
    table = scene("ask A place | selected 9 8 5 | hands 15,14,13,12,11 15,14,13,12,11 15,14,13,12,11")
    position = play(table, "place castle 0", "swap C")
    assert [position.seen("replace 14", p) for p in "ABC"] == ["replace ?", "replace ?", "replace 14"]
    after = position.play("replace 14")
    for player in range(3):
        assert position.view(player).play(position.seen("replace 14", player)) == after.view(player)


def test_a_strategists_order_holds_after_a_swap() -> None:
    table = scene("ask A place | selected 8 9 5 | hands 15,14,13,12,11 15,14,13,12,11 15,14,13,12,11")
    ordered = play(table, "place castle 0", "order C village")
    assert ordered.table.orders == (None, None, "village")
    swapped = play(ordered, "place port 0", "swap C", "replace 14")
    assert {str(action) for action in swapped.legal_actions()} == {"place village 0"}
    with pytest.raises(IllegalActionError, match="village"):
        swapped.play("place castle 0")


def test_a_second_strategist_replaces_the_order() -> None:
    table = scene("ask A place | selected 8 8 5 | hands 15,14,13,12,11 15,14,13,12,11 15,14,13,12,11")
    after = play(table, "place castle 0", "order C village", "place port 0", "order C castle")
    assert {str(action) for action in after.legal_actions()} == {"place castle 1"}


def test_a_strategist_last_in_turn_has_no_player_to_order() -> None:
    table = scene("castle 12A 12B | first A | ask C place | selected - - 8")
    assert table.play("place port 0").to_act == 1


def test_a_merchant_gains_for_each_low_card() -> None:
    table = scene("castle 5B 3C 1B | turn 3 | ask A place | selected 6 7 7")
    assert table.play("place castle 0").scores == (6, 3, 3)


def test_a_warrior_must_discard_a_neighbour_even_one_of_its_owner() -> None:
    table = scene("castle 12A | turn 2 | ask A place | selected 5 7 7")
    assert [str(action) for action in table.play("place castle 1").legal_actions()] == ["discard 12A"]
    assert table.play("place village 0").to_act == 1


def test_a_bard_fetches_any_card_of_another_location() -> None:
    table = scene("castle 12A | village 11B 4C | turn 2 | ask A place | selected 4 7 7")
    position = table.play("place port 0")
    legal = {str(action) for action in position.legal_actions()}
    assert legal == {"move 12A to port 0", "move 11B to port 0", "move 4C to port 0", "move 4C to port 1"}


def test_a_hunter_discards_the_leftmost_of_the_highest_cards() -> None:
    after = scene("village 12C 12B 6A 6B 6C 1B | ask walk | round 2")
    assert 12 in after.table.piles[2]
    alone = scene("village 1A | ask walk")
    assert gains(START, alone) == {}


# A Bard that fetches at the end of a round, a Sailor above it and one below; only the Port pays.
SAILORS: Any = {
    "cards": [
        {"value": 5, "name": "Sailor", "when": "end", "effect": "double_reward"},
        {"value": 4, "name": "Bard", "when": "end", "effect": "fetch"},
        {"value": 2, "name": "Sailor", "when": "end", "effect": "double_reward"},
    ],
    "rewards": {"castle": [], "village": [], "port": [1, 1, 1]},
    "hand_size": 3,
    "rounds": 1,
    "turns_per_round": 3,
}


def test_a_sailor_that_enters_the_port_during_its_walk_counts_once() -> None:
    for sailor, index in (("2B", 1), ("5B", 0)):
        table = scene(f"village {sailor} | port 4A | turn 3 | ask walk", ruleset=SAILORS)
        assert table.table.walk.due == ()
        assert table.play(f"move {sailor} to port {index}").scores == (4, 4, 3)


def test_a_sailor_that_is_in_the_port_when_its_walk_begins_counts_twice() -> None:
    for port, index in (("4A 2B", 2), ("5B 4A", 2)):
        table = scene(f"village 2C | port {port} | turn 3 | ask walk", ruleset=SAILORS)
        # On either side of the Bard: its effect takes place at payment.
        assert [card.owner for card in table.table.walk.due] == [1]
        assert table == scene(str(table), ruleset=SAILORS)
        assert table.view(0).sample_world(1).fault is None
        assert table.play(f"move 2C to port {index}").scores == (4, 5, 4)


def test_a_tie_goes_to_the_first_player_after_the_last_pass_or_clockwise_from_there() -> None:
    end = scene("ask over | round 3 | turn 4 | first B | gold 9 3 9")
    assert end.payoffs == (0, 0, 1)
    end = scene("ask over | round 3 | turn 4 | first A | gold 9 3 9")
    assert end.payoffs == (1, 0, 0)


def test_a_hand_of_only_card_fifteen_is_not_an_unknown_hand() -> None:
    """A hand has one bit for each value: the highest bit alone must not mean an unknown hand."""
    cards = [{"value": value, "name": "", "when": "never", "effect": "none"} for value in (15, 7, 3)]
    game = new_game("castle_village_port", {"cards": cards, "hand_size": 1, "turns_per_round": 1, "rounds": 3}, 3)
    table = game.start([[15, 7, 3]] * 3)
    assert [str(action) for action in table.legal_actions()] == ["select 15"]
    assert table.view(0).sample_world(1).fault is None
    assert table.fault is None


def test_a_view_with_hidden_gold_needs_the_remembered_gold() -> None:
    game = new_game("castle_village_port", {"hidden_gold": True}, 3)
    view = game.deal(seed=2).view("B")
    text = str(view)
    assert "gold ? 3 ?" in text
    assert "remembered_gold 3 3 3" in text
    assert game.view(text) == view
    with pytest.raises(ValueError, match="remembered_gold"):
        game.view(text.replace(" | remembered_gold 3 3 3", ""))
    assert view.sample_world(3).scores == (3, 3, 3)


def test_a_seats_record_lists_the_cards_it_drew() -> None:
    game = new_game("castle_village_port", {"rounds": 2}, 3)
    position = game.deal(seed=5)
    drawn = None
    while not position.is_over and drawn is None:
        action = position.legal_actions()[0]
        after = position.play(action)
        if after.table.round == 2:
            drawn = sorted(set(after.parts.secrets[1].hand) - set(position.parts.secrets[1].hand))
            text = position.seen(action, 1)
            named = sorted(int(card) for card in text.partition("=")[2].split(","))
            assert set(drawn) <= set(named)
            assert position.view(1).play(text) == after.view(1)
            with pytest.raises(IllegalActionError, match=r"draw|shows"):
                position.view(1).play(text.partition(" =")[0])
        position = after
    assert drawn
