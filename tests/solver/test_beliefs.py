"""Beliefs: exact posteriors over secrets, samples in proportion to them, and no dependence on hidden cards."""

from __future__ import annotations

import gc
import itertools
import math
import pickle
import random
from collections import Counter, defaultdict
from typing import Any

import pytest
from families import ways_of, ways_to
from tables import ALL_IDS, ALL_SPECS, mostly_slow, random_game

from engine_cy import EngineError, Position, Rng, View, new_game
from engine_cy.action_log import History
from engine_cy.oriflamme import evidence
from engine_cy.record import Record
from solver import Budget, InvalidQuestionError, solve
from solver.beliefs import Belief
from solver.marginals import weigh_secrets

SPECS: list[tuple[str, Any, int]] = [
    ("oriflamme", "en-2019", 3),
    ("oriflamme", "de-2019", 5),
    ("oriflamme", "revised", 4),
    ("oriflamme_prototype", "prototype", 3),
    ("oriflamme_prototype", {"two_player_rounds": 6, "cards_per_turn": 2}, 2),
]
IDS = [f"{spec[0]}-{spec[2]}" for spec in SPECS]


def all_secrets(held: list[int], n_spots: int, n_hand: int) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return every way to lay cards into spots and to hold some of the others."""
    cards = [kind for kind, copies in enumerate(held) for _ in range(copies)]
    secrets = set()
    for chosen in itertools.permutations(range(len(cards)), n_spots):
        rest = [card for i, card in enumerate(cards) if i not in chosen]
        for hand in itertools.combinations(rest, n_hand):
            secrets.add((tuple(cards[i] for i in chosen), tuple(sorted(hand))))
    return secrets


def ways_to_hold(held: list[int], spots: tuple[int, ...], hand: tuple[int, ...]) -> int:
    """Count the deals that lead to a secret with two families; of a kind held once, the other card lies face up."""
    placed = [2 - copies + spots.count(kind) for kind, copies in enumerate(held)]
    return ways_of((number + hand.count(kind), number) for kind, number in enumerate(placed))


@pytest.mark.parametrize("two_families", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_marginals_equal_the_sums_over_all_secrets(seed: int, two_families: bool) -> None:
    draw = random.Random(seed)
    held = sorted((draw.choice([1, 1, 2]) for _ in range(draw.randint(1, 5))), reverse=True)
    n_spots = draw.randint(0, min(3, sum(held)))
    n_hand = draw.randint(0, sum(held) - n_spots)
    if two_families:
        # Each family was dealt the same number of cards.
        n_hand += (n_spots + n_hand + held.count(1)) % 2
    in_spot = [[draw.uniform(-2, 2) for _ in held] for _ in range(n_spots)]
    in_hand = [draw.uniform(-2, 2) for _ in held]
    weights = {
        (spots, hand): math.prod(math.exp(in_spot[i][kind] - max(in_spot[i])) for i, kind in enumerate(spots))
        * math.prod(math.exp(in_hand[kind] - max(in_hand)) for kind in hand)
        for spots, hand in all_secrets(held, n_spots, n_hand)
    }
    if two_families:
        weights = {secret: weight * ways_to_hold(held, *secret) for secret, weight in weights.items()}
    total = sum(weights.values())

    dealt = ([1] * len(held), 2, 10) if two_families else ()
    chances, hand_chances, ways = weigh_secrets(held, n_hand, in_spot, in_hand, *dealt)

    assert ways == pytest.approx(total * (3 if two_families else 1), rel=1e-6)
    for i in range(n_spots):
        for kind in range(len(held)):
            marginal = sum(weight for (spots, _), weight in weights.items() if spots[i] == kind) / total
            assert chances[i][kind] == pytest.approx(marginal, abs=1e-6)
    for kind in range(len(held)):
        marginal = sum(weight * hand.count(kind) for (_, hand), weight in weights.items()) / total
        assert hand_chances[kind] == pytest.approx(marginal, abs=1e-6)


def tables_with_histories(spec: tuple[str, Any, int], seed: int, every: int = 7) -> list[tuple[Position, History]]:
    """Return tables of a random game at equal distances, each with its history."""
    game = new_game(*spec)
    history = History(game)
    results = []
    for number, (position, action) in enumerate(random_game(game, seed)):
        if number % every == every - 1:
            results.append((position, history.copy()))
        if action is not None:
            history.add(position, action)
    return results


@pytest.mark.parametrize("spec", SPECS, ids=IDS)
def test_sampled_worlds_fit_the_view_and_are_as_frequent_as_the_posterior(spec: tuple[str, Any, int]) -> None:
    draws = 3000
    for position, history in tables_with_histories(spec, seed=3, every=15):
        observer = position.to_act or 0
        view = position.view(observer)
        belief = Belief(view, history, 1.0)
        rng = Rng(7)
        worlds = [belief.sample_world(rng) for _ in range(draws)]
        assert all(world.fault is None for world in worlds[:50])
        assert all(world.view(observer) == view for world in worlds)
        for player in range(position.game.n_players):
            chances = belief.chances(player)
            if player == observer or chances is None:
                continue
            spots, _ = chances
            counts = Counter(
                (spot, kind)
                for world in worlds
                for spot, kind in zip(spots, evidence.secrets(world, player, list(spots))[0], strict=True)
            )
            for spot, kinds in spots.items():
                assert sum(kinds.values()) == pytest.approx(1)
                for kind, chance in kinds.items():
                    error = math.sqrt(chance * (1 - chance) / draws)
                    assert abs(counts[spot, kind] / draws - chance) < 5 * error + 1e-3


@pytest.mark.parametrize("spec", ALL_SPECS, ids=ALL_IDS)
def test_sampled_worlds_fit_the_view_at_every_position_of_every_game(spec: tuple[str, Any, int]) -> None:
    game = new_game(*spec)
    if not game.has_beliefs:
        return
    for seed, (position, _) in enumerate(random_game(game, 12)):
        for observer in range(game.n_players):
            view = position.view(observer)
            world = Belief(view).sample_world(seed)
            assert world.fault is None
            assert world.view(observer) == view


@pytest.mark.parametrize("spec", SPECS, ids=IDS)
def test_without_trust_worlds_are_as_likely_as_in_deals(spec: tuple[str, Any, int]) -> None:
    for position, history in tables_with_histories(spec, seed=5):
        view = position.view(0)
        belief = Belief(view, history, 0.0)
        if spec[2] > 2:
            assert belief.effective_worlds == pytest.approx(view.count_worlds())
        elif view.count_worlds() < 20_000:
            weights = [ways_to(world) for world in view.worlds()]
            assert belief.effective_worlds == pytest.approx(sum(weights) ** 2 / sum(weight**2 for weight in weights))
        assert Belief(view, history, 1.0).effective_worlds <= view.count_worlds() * (1 + 1e-9)


@pytest.mark.parametrize("spec", SPECS, ids=IDS)
def test_a_history_depends_only_on_what_a_spectator_saw(spec: tuple[str, Any, int]) -> None:
    game = new_game(*spec)
    start = game.deal(3)
    played = list(random_game(game, 3))
    record = Record(played[0][0], tuple(str(action) for _, action in played if action is not None))
    whole = History.of(record)
    assert whole.actions == record.actions
    assert bytes(whole) != bytes(History(game))
    for seat in range(game.n_players):
        seen = record.seen_from(seat)
        log = History.of(seen)
        assert bytes(log) == bytes(whole)
        assert (log.actions, log.end) == (seen.actions, seen.end)
        assert (log == whole) == (seen.actions == record.actions)
    assert pickle.loads(pickle.dumps(whole)) == whole
    assert start.game == game


def test_a_belief_depends_only_on_the_view() -> None:
    for position, history in tables_with_histories(SPECS[0], seed=8):
        view = position.view(1)
        other = view.sample_world(5).view(1)
        one, two = Belief(view, history), Belief(other, history)
        assert [one.chances(seat) for seat in range(3)] == [two.chances(seat) for seat in range(3)]


def log_loss(belief: Belief, position: Position) -> tuple[float, int]:
    """Return the logarithmic loss of the face-down cards in bits, and the number of these cards."""
    others = [player for player in range(position.game.n_players) if player != belief.view.observer]
    bits = [surprise for player in others for surprise in surprises(belief, position, player)]
    return sum(bits), len(bits)


def surprises(belief: Belief, position: Position, player: int) -> list[float]:
    """Return the surprise of each face-down card of a player, in bits; none if the secrets are too many to weigh."""
    chances = belief.chances(player)
    if chances is None:
        return []
    true = evidence.secrets(position, player, list(chances[0]))[0]
    return [-math.log2(kinds[kind]) for kinds, kind in zip(chances[0].values(), true, strict=True)]


@pytest.mark.parametrize("spec", mostly_slow(SPECS[:4], IDS[:4], ["oriflamme-3", "oriflamme_prototype-3"]))
def test_beliefs_predict_better_than_uniform_ones_and_better_still_with_a_history(spec: tuple[str, Any, int]) -> None:
    game = new_game(*spec)
    bits: dict[str, float] = defaultdict(float)
    for number in range(12):
        rng = Rng(99, number)
        position, history = game.deal(rng), History(game)
        while not position.is_over:
            view = position.view(position.to_act or 0)
            for name, belief in (
                ("uniform", Belief(view, None, 0.0)),
                ("table", Belief(view)),
                ("history", Belief(view, history)),
            ):
                loss, n = log_loss(belief, position)
                bits[name] += loss
                bits["cards"] += n
            action = solve(view, Budget(iterations=150), seed=rng.bits()).best
            assert action is not None
            history.add(position, action)
            position = position.play(action)
    uniform, table, with_history = (3 * bits[name] / bits["cards"] for name in ("uniform", "table", "history"))
    assert table < uniform - 0.3
    assert with_history < table - 0.05


def test_the_log_tells_players_of_a_policy_from_random_ones() -> None:
    """Cards of a player by the policy are guessed well, and those of a random player are not guessed too boldly."""
    game = new_game("oriflamme", "en-2019", players=3)
    bits: dict[str, list[float]] = defaultdict(list)
    for number in range(40):
        rng = Rng(98, number)
        position, history = game.deal(rng), History(game)
        while not position.is_over:
            seat = position.to_act or 0
            if position.round > 3:
                view = position.view(0)
                for name, belief in (("", Belief(view, history)), (" uniform", Belief(view, None, 0.0))):
                    for player, style in ((1, "policy"), (2, "random")):
                        bits[style + name] += surprises(belief, position, player)
            actions = position.legal_actions()
            action = solve(position.view(seat), config="greedy", seed=rng.bits()).best if seat < 2 else None
            action = action or actions[rng.below(len(actions))]
            history.add(position, action)
            position = position.play(action)
    policy, policy_uniform, stranger, stranger_uniform = (
        sum(bits[name]) / len(bits[name]) for name in ("policy", "policy uniform", "random", "random uniform")
    )
    assert policy < policy_uniform - 0.8
    assert stranger < stranger_uniform + 0.3


def test_an_answer_has_beliefs_about_each_opponent() -> None:
    game = new_game("oriflamme", "en-2019", players=3)
    view = game.view("C:Lord* >A:Ambush(1) B:Soldier* C:?(2) | round 4 | points 7 7 7 | seen by A")
    beliefs = solve(view, Budget(iterations=50)).beliefs
    assert beliefs is not None
    assert beliefs.worlds == view.count_worlds()
    assert 1 <= beliefs.effective_worlds <= beliefs.worlds
    assert [seat.seat for seat in beliefs.seats] == [1, 2]
    (card,) = beliefs.seats[1].cards
    assert card.place == {"slot": 3, "under": 0, "nth": 2}
    assert sum(card.kinds.values()) == pytest.approx(1)
    assert "Lord" not in card.kinds  # it lies face up elsewhere
    assert sum(beliefs.seats[1].hand.values()) == pytest.approx(len(view.parts.own.hand), abs=1)
    uniform = solve(view, Budget(iterations=50), config="plain").beliefs
    assert uniform is not None
    assert uniform.effective_worlds == pytest.approx(uniform.worlds)
    assert len(set(uniform.seats[1].cards[0].kinds.values())) == 1 or max(
        uniform.seats[1].cards[0].kinds.values()
    ) == pytest.approx(min(uniform.seats[1].cards[0].kinds.values()))


def test_histories_of_other_games_and_positions_are_refused() -> None:
    game = new_game("oriflamme", "en-2019", players=3)
    other = new_game("oriflamme", "de-2019", players=3)
    start = game.deal(1)
    view: View = start.view(0)
    with pytest.raises(EngineError, match=r"table: is of .*de-2019.*, but the history is of .*en-2019"):
        History(game).add(other.deal(1), "place Heir front")
    with pytest.raises(InvalidQuestionError, match="history: it belongs to"):
        solve(view, Budget(iterations=10), history=History(other))
    record = Record(start).play(start.legal_actions()[0])
    with pytest.raises(InvalidQuestionError, match=r"history: the record ends at '.*', not at '.*'"):
        solve(view, Budget(iterations=10), history=record)
    assert solve(view, Budget(iterations=10), history=Record(start.view(0))).iterations == 10


def test_a_history_changes_the_answer_only_through_beliefs() -> None:
    """`plain` has no trust in beliefs, so it samples the same worlds with and without a history."""
    position, history = tables_with_histories(SPECS[0], seed=4)[3]
    view = position.view(position.to_act or 0)
    budget = Budget(iterations=200)
    assert solve(view, budget, config="plain", history=history).moves == solve(view, budget, config="plain").moves


def test_a_belief_in_a_reference_cycle_is_collected() -> None:
    view = new_game("oriflamme", "en-2019", 4).deal(1).view(0)
    gc.disable()
    try:
        for _ in range(200):
            belief, cycle = Belief(view), list[Any]()
            belief.sample_world()
            cycle += [cycle, belief]
            del belief, cycle
        assert gc.collect() >= 400
    finally:
        gc.enable()
