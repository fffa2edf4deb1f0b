"""Equivalent questions have equal answers: seats, names, values or currencies differ."""

from __future__ import annotations

import math
import random
from statistics import fmean, stdev
from typing import Any

import pytest
from questions import view_of
from symmetries import by_seat, reseated, reseated_action, rotation
from tables import random_game

from engine_cy import Game, Position, new_game
from solver import Answer, Budget, solve

SEARCHES = ["flat", "pimc", "plain", "default"]
BUDGET = Budget(iterations=400)


def choices(game: Game, seed: int, number: int) -> list[Position]:
    """Sample tables of a random game at which a player has a choice."""
    played = [position for position, _ in random_game(game, seed) if (position.to_act or 0) >= 0]
    decisions = [position for position in played if len(position.legal_actions()) > 1]
    return random.Random(seed).sample(decisions, min(number, len(decisions)))


def summary(answer: Answer) -> list[Any]:
    """Return the results of all moves without their names."""
    return [(move.visits, move.win, move.points, move.lead, move.ranks, move.seats) for move in answer.moves]


@pytest.mark.parametrize("config", SEARCHES)
@pytest.mark.parametrize("players", [3, 4, 5])
def test_editions_that_play_alike_have_the_same_answers(config: str, players: int) -> None:
    english, french = (new_game("oriflamme", edition, players) for edition in ("en-2019", "fr-2019"))
    for position in choices(english, players, 6):
        english_view = view_of(position)
        french_view = french.view_from_bytes(bytes(english_view), english_view.observer)
        one, other = (solve(view, BUDGET, config=config, seed=2) for view in (english_view, french_view))
        assert summary(one) == summary(other)
        assert str(one.best) == str(other.best)


@pytest.mark.parametrize("config", ["flat", "pimc", "plain"])
@pytest.mark.parametrize("spec", [("oriflamme_prototype", "prototype", 2), ("leduc_poker", None, 2)], ids=str)
def test_with_two_players_exchanging_the_seats_does_not_change_the_answer(spec: Any, config: str) -> None:
    """With one opponent, a search draws the same random numbers for either seat."""
    for seed in range(4):
        for position in choices(new_game(*spec), seed, 4):
            one = solve(view_of(position), BUDGET, config=config, seed=3)
            other = solve(view_of(reseated(position, (1, 0))), BUDGET, config=config, seed=3)
            assert [move.visits for move in one.moves] == [move.visits for move in other.moves]
            assert [move.win for move in one.moves] == [move.win for move in other.moves]
            renamed = [reseated_action(str(move.action), (1, 0)) for move in one.moves]
            assert renamed == [str(move.action) for move in other.moves]
            assert [move.seats for move in other.moves] == [by_seat(move.seats, (1, 0)) for move in one.moves]


def castle(values: dict[str, int], names: dict[str, str], currency: int) -> dict[str, Any]:
    """Return a ruleset in which only the order and effects of cards matter, and the proportions of gold."""
    cards: list[tuple[str, str, str, dict[str, Any]]] = [
        ("Guard", "immediate", "move_neighbour", {}),
        ("Thief", "immediate", "rob_neighbour", {"amount": 2 * currency}),
        ("Patron", "end", "pay_others", {"amount": currency}),
        ("Page", "immediate", "swap_selected", {}),
        ("Herald", "immediate", "order_location", {}),
        ("Abbot", "end", "leave_if_present", {"who": names["Thief"]}),
        ("Warrior", "immediate", "discard_neighbour", {}),
    ]
    return {
        "cards": [
            {"value": values[name], "name": names[name], "when": when, "effect": effect, **more}
            for name, when, effect, more in cards
        ],
        "rewards": {place: [4 * currency, 2 * currency, -currency] for place in ("castle", "village", "port")},
        "hand_size": 4,
        "rounds": 2,
        "turns_per_round": 3,
        "starting_gold": 3 * currency,
    }


NAMES = ["Guard", "Thief", "Patron", "Page", "Herald", "Abbot", "Warrior"]
USUAL = castle(dict(zip(NAMES, (12, 11, 9, 8, 5, 4, 2), strict=True)), {name: name for name in NAMES}, 1)
VARIANTS = {
    "other values in the same order": castle(
        dict(zip(NAMES, (15, 10, 7, 6, 4, 3, 1), strict=True)), {name: name for name in NAMES}, 1
    ),
    "other names": castle(
        dict(zip(NAMES, (12, 11, 9, 8, 5, 4, 2), strict=True)), {name: f"the {name[::-1]}" for name in NAMES}, 1
    ),
    "another currency": castle(
        dict(zip(NAMES, (12, 11, 9, 8, 5, 4, 2), strict=True)), {name: name for name in NAMES}, 3
    ),
}


# Knowledge depends on values and amounts, so with `default` only the names may differ.
@pytest.mark.parametrize(
    ("change", "config"),
    [(change, config) for change in VARIANTS for config in SEARCHES if config != "default" or change == "other names"],
)
def test_castle_with_other_names_values_or_currency_has_the_same_answers(change: str, config: str) -> None:
    factor = 3 if change == "another currency" else 1
    for players in (3, 4, 5):
        draw = random.Random(players)
        one, other = (new_game("castle_village_port", table, players).deal(5) for table in (USUAL, VARIANTS[change]))
        while not one.is_over:
            options, others = one.legal_actions(), other.legal_actions()
            assert len(options) == len(others)
            if one.to_act != -1 and len(options) > 1 and draw.random() < 0.3:
                one_answer, other_answer = (
                    solve(view_of(position), BUDGET, config=config, seed=4) for position in (one, other)
                )
                assert [move.visits for move in one_answer.moves] == [move.visits for move in other_answer.moves]
                assert [move.win for move in one_answer.moves] == [move.win for move in other_answer.moves]
                assert [options.index(move.action) for move in one_answer.moves] == [
                    others.index(move.action) for move in other_answer.moves
                ]
                for a, b in zip(one_answer.moves, other_answer.moves, strict=True):
                    assert (
                        b.points is None or a.points is None or b.points.mean == pytest.approx(factor * a.points.mean)
                    )
            chosen = draw.randrange(len(options))
            one, other = one.play(options[chosen]), other.play(others[chosen])
        assert other.scores == tuple(factor * points for points in one.scores)
        assert other.payoffs == one.payoffs


@pytest.mark.parametrize("config", ["plain", "default"])
@pytest.mark.parametrize("spec", [("oriflamme", "en-2019", 3), ("castle_village_port", "house", 4)], ids=str)
def test_rotating_the_seats_of_more_players_changes_values_by_chance_only(spec: Any, config: str) -> None:
    """Opponents' cards are sampled seat by seat, so the search of a rotated table has other samples."""
    game = new_game(*spec)
    differences = []
    for seed in range(8):
        for position in choices(game, seed, 8):
            rotated = reseated(position, rotation(game.n_players, 1 + seed % (game.n_players - 1)))
            one, other = (solve(view_of(position), BUDGET, config=config, seed=6) for position in (position, rotated))
            differences.append(value(one) - value(other))
    assert stdev(differences) > 0
    assert abs(fmean(differences)) < 4 * stdev(differences) / math.sqrt(len(differences))


def value(answer: Answer) -> float:
    """Return the mean win of the player to act over all iterations."""
    return sum(move.visits * move.win.mean for move in answer.moves if move.win) / answer.iterations
