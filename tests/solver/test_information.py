"""The value of secrets: zero if the others can deduce them, high if the others would act differently."""

from __future__ import annotations

import pytest

from engine_cy import Position, Rng, new_game
from engine_cy.oriflamme.table import kinds_in_queue
from engine_cy.record import Record
from solver import Budget, InvalidQuestionError, information, solve
from solver.beliefs import Belief, SecretCard, own_spots

GAME = new_game("oriflamme", "en-2019", players=3)
# T5 of the tactical positions: the Soldier can hit only this card, so the secret of the Ambush is worth little.
LONE = "C:Lord* >A:Ambush(1) B:Soldier* | round 4 | points 7 7 7 | seen by A"
# Here the secret matters: B's Soldier may hit the card before it or the one behind it.
CHOICE = "C:Lord* >A:Ambush(1) B:Soldier* A:Lord(1) | round 4 | points 7 7 7 | seen by A"
BUDGET = Budget(iterations=20_000)


def test_an_ambush_is_worth_hiding_from_a_soldier() -> None:
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


def test_a_card_that_the_others_can_deduce_is_worth_exactly_zero() -> None:
    """With as many cards as turns, the card of the last turn is the only one that was never shown."""
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
    assert game.has_beliefs
    n_deduced = n_guessed = 0
    for seed in range(3):
        position, rng = game.deal(seed), Rng(seed)
        while not position.is_over:
            player = position.to_act
            if player is not None and player >= 0:
                for secret in information(position.view(player), Budget(iterations=300)):
                    if secret.guessed[(player + 1) % 3] == 1:
                        n_deduced += 1
                        assert (secret.worth.mean, secret.worth.error) == (0, 0)
                    else:
                        n_guessed += 1
            actions = position.legal_actions()
            position = position.play(actions[rng.below(len(actions))])
    assert n_deduced
    assert n_guessed


def test_worlds_of_a_secret_card_show_all_cards_that_the_others_think_possible() -> None:
    view = GAME.view(CHOICE)
    spots = own_spots(view)
    assert [GAME.name_of(kind) for _, kind in spots] == ["Ambush", "Lord"]
    secret = SecretCard(Belief(view), spots[0][0], 3)
    rng = Rng(1)
    worlds = [secret.sample_world(rng) for _ in range(2000)]
    cards = [kinds_in_queue(world.parts)[1][0] for world in worlds]
    assert all(world.fault is None for world in worlds)
    # The other face-down card is the true one, or exchanged with the Ambush.
    assert {kinds_in_queue(world.parts)[3][0] for world in worlds} == {"lord", "ambush"}
    share = sum(card == "ambush" for card in cards) / len(cards)
    assert share == pytest.approx(secret.guessed, abs=0.04)
    assert len(set(cards)) > 5
    # The worlds look the same to the other players.
    assert len({(view.table, str(kinds_in_queue(view.parts))) for view in (world.view(1) for world in worlds)}) == 1


def test_information_needs_iterations_and_an_unfinished_game() -> None:
    view = GAME.view(CHOICE)
    with pytest.raises(InvalidQuestionError, match=r"budget\.iterations: is required; information"):
        information(view, Budget(time_ms=10))
    with pytest.raises(InvalidQuestionError, match="config: 'greedy' does not search"):
        information(view, config="greedy")
    over = GAME.deal(1).play_out(1)
    with pytest.raises(InvalidQuestionError, match="view: the game is over"):
        information(over.view(2))
    assert information(view.sample_world(1).view(1), Budget(iterations=50)) == ()  # B has nothing face down
    with pytest.raises(InvalidQuestionError, match="view: kuhn_poker has no model of hidden cards"):
        information(new_game("kuhn_poker", players=2).deal(1).view(0))


def test_information_is_reproducible_and_uses_the_history() -> None:
    start = GAME.deal(2)
    record = Record(start)
    rng = Rng(5)
    for _ in range(12):
        actions = record.end.legal_actions()
        record = record.play(actions[rng.below(len(actions))])
    end = record.end
    assert isinstance(end, Position)
    seat = end.to_act or 0
    history = record.seen_from(seat)
    view = end.view(seat)
    budget = Budget(iterations=400)
    assert information(view, budget, history=history) == information(view, budget, history=history)
    assert solve(view, budget, history=history).beliefs != solve(view, budget).beliefs
