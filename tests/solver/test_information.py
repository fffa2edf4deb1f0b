"""What a secret is worth: nothing where all can tell, much where it would change what others do."""

from __future__ import annotations

import pytest

from engine_cy import Position, Rng, new_game
from engine_cy.record import Record
from solver import Budget, InvalidQuestionError, information, solve
from solver.beliefs import Belief, SecretCard, own_spots

GAME = new_game("oriflamme", "en-2019", players=3)
# T5 of the tactical positions: the Soldier has nobody else to hit, so it does not matter who knows the Ambush.
LONE = "C:Lord* >A:Ambush(1) B:Soldier* | round 4 | points 7 7 7 | seen by A"
# ... and here it does: B's Soldier may hit the card before it or the one behind it.
CHOICE = "C:Lord* >A:Ambush(1) B:Soldier* A:Lord(1) | round 4 | points 7 7 7 | seen by A"
BUDGET = Budget(iterations=20_000)


def test_an_ambush_is_a_secret_where_a_soldier_may_walk_into_it() -> None:
    ambush, lord = information(GAME.view(CHOICE), BUDGET)
    assert (ambush.card, ambush.place, lord.card, lord.place) == (
        "Ambush",
        {"slot": 1, "under": 0, "nth": 1},
        "Lord",
        {"slot": 3, "under": 0, "nth": 2},
    )
    assert ambush.worth.mean > 0.03
    assert ambush.worth.mean > 5 * ambush.worth.error
    assert set(ambush.guessed) == {1, 2}
    assert 0 < ambush.guessed[1] < 0.5


def test_a_secret_that_changes_nothing_is_worth_little() -> None:
    (ambush,) = information(GAME.view(LONE), BUDGET)
    assert abs(ambush.worth.mean) < 0.04


def test_what_all_can_deduce_is_worth_exactly_nothing() -> None:
    """With as many cards as turns, the last one selected is the only one that nobody has seen."""
    table = {
        "cards": [
            {"value": 12, "name": "Guard", "when": "immediate", "effect": "move_neighbour"},
            {"value": 11, "name": "Thief", "when": "immediate", "effect": "rob_neighbour", "amount": 2},
            {"value": 9, "name": "Patron", "when": "end", "effect": "pay_others", "amount": 1},
            {"value": 8, "name": "Page", "when": "never", "effect": "none"},
            {"value": 5, "name": "Abbot", "when": "end", "effect": "leave_if_present", "who": "Thief"},
            {"value": 4, "name": "Warrior", "when": "immediate", "effect": "discard_neighbour"},
        ],
        "rewards": {place: [4, 2, -1] for place in ("castle", "village", "port")},
        "hand_size": 4,
        "rounds": 2,
        "turns_per_round": 3,
        "starting_gold": 3,
    }
    game = new_game("castle_village_port", table, players=3)
    assert game.has_suspicions
    deduced = guessed = 0
    for seed in range(3):
        position, rng = game.deal(seed), Rng(seed)
        while not position.is_over:
            player = position.to_act
            if player is not None and player >= 0:
                for secret in information(position.view(player), Budget(iterations=300)):
                    if secret.guessed[(player + 1) % 3] == 1:
                        deduced += 1
                        assert (secret.worth.mean, secret.worth.error) == (0, 0)
                    else:
                        guessed += 1
            actions = position.legal_actions()
            position = position.play(actions[rng.below(len(actions))])
    assert deduced
    assert guessed


def test_others_take_the_card_for_what_it_may_be() -> None:
    view = GAME.view(CHOICE)
    spots = own_spots(view)
    assert [GAME.name_of(kind) for _, kind in spots] == ["Ambush", "Lord"]
    secret = SecretCard(Belief(view), spots[0][0], 3)
    rng = Rng(1)
    worlds = [secret.sample_world(rng) for _ in range(2000)]
    cards = [world.table.slots[1][0].card for world in worlds]
    assert all(world.fault is None for world in worlds)
    # The other face-down card is as it is, or is what the Ambush changed places with.
    assert {world.table.slots[3][0].card for world in worlds} == {"lord", "ambush"}
    true = sum(card == "ambush" for card in cards) / len(cards)
    assert true == pytest.approx(secret.guessed, abs=0.04)
    assert len(set(cards)) > 5
    # To everybody else, all of it looks the same.
    assert {str(world.view(1).table.slots) for world in worlds} == {str(worlds[0].view(1).table.slots)}


def test_information_is_asked_for_in_iterations_while_the_game_lasts() -> None:
    view = GAME.view(CHOICE)
    with pytest.raises(InvalidQuestionError, match=r"budget\.iterations: is required: information"):
        information(view, Budget(time_ms=10))
    with pytest.raises(InvalidQuestionError, match="config: 'greedy' does not search"):
        information(view, config="greedy")
    over = GAME.deal(1).play_out(1)
    with pytest.raises(InvalidQuestionError, match="view: the game is over"):
        information(over.view(2))
    assert information(view.sample_world(1).view(1), Budget(iterations=50)) == ()  # B has nothing face down
    with pytest.raises(InvalidQuestionError, match="view: kuhn_poker has no model of hidden cards"):
        information(new_game("kuhn_poker", players=2).deal(1).view(0))


def test_information_repeats_and_takes_a_history() -> None:
    start = GAME.deal(2)
    record = Record(start)
    rng = Rng(5)
    for _ in range(12):
        actions = record.end.legal_actions()
        record = record.play(actions[rng.below(len(actions))])
    end = record.end
    assert isinstance(end, Position)
    seat = end.to_act or 0
    mine = record.seen_from(seat)
    view = end.view(seat)
    few = Budget(iterations=400)
    assert information(view, few, history=mine) == information(view, few, history=mine)
    assert solve(view, few, history=mine).beliefs != solve(view, few).beliefs
