"""Fit engine_cy/oriflamme/beliefs.json, or PREFERENCE_WEIGHT of engine_cy/castle_village_port/evidence.pyx.

    python -m solver.training.beliefs [--help]      writes the file
    python -m solver.training.beliefs castle        prints the weight

A mixture of strong and weak players plays games. An item, from a position of a game, is the public information about a
player and the cards that the player hides; the fit maximizes the likelihood of the hidden cards given the public
information. The weights belong to a log-linear model of whole secrets, which is the distribution that a search samples.

A policy learned from one kind of player is too confident about other players: hence the mixture, and hence the power
below 1 of the weights in a search (`Config.trust`).
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from engine_cy import CHANCE, Action, Game, Position, Rng, new_game
from engine_cy.action_log import History
from engine_cy.castle_village_port.evidence import selections
from engine_cy.oriflamme import evidence
from solver.config import Budget
from solver.marginals import weigh_secrets
from solver.solve import solve
from solver.training.games import SETS as SPECS

Floats = NDArray[np.float64]

# For two players of the prototype, who have each card twice, there are too many secrets to weigh until near the end.
SETS = {
    name: specs for name, specs in SPECS.items() if name.startswith("oriflamme") and name != "oriflamme_prototype-2"
}
# Players: configuration, weight in the mixture (of ten), iterations.
PLAYERS = (("default", 5, 300), ("plain", 2, 600), ("flat", 1, 200), ("greedy", 1, 1), ("random", 1, 1))
SAMPLED = 0.2  # share of the positions of a game
BITS_MAX = 13  # candidate kinds, those held twice counted double; items with more are slow and carry little information
BATCH = 64  # items per step of the fit
PASSES = 6
PULL = 1e-3  # towards 0, for traces with few items


class Item(NamedTuple):
    """The public information about a player, and the player's hidden cards."""

    held: list[int]  # number of hidden cards of each kind
    n_hand: int
    traces: NDArray[np.int64]  # by spot and kind
    evidence: Floats  # by spot and kind: of the history, from the placement and from later keeps
    in_hand: NDArray[np.int64]  # by kind: its trace
    spots: list[int]  # the truth: for each spot, the index of its kind
    hand: Floats  # the truth: how many cards of each kind are in hand


# --- games ----------------------------------------------------------------------------------------------------


def play(game: Game, rng: Rng) -> Iterator[tuple[Position, Action]]:
    """Play a game among players drawn from the mixture; yield its positions with the action taken in each."""
    bag = [(name, iterations) for name, share, iterations in PLAYERS for _ in range(share)]
    seats = [bag[rng.below(len(bag))] for _ in range(game.n_players)]
    position = game.deal(rng, first=rng.below(game.n_players))
    while (player := position.to_act) is not None:
        if player == CHANCE:
            actions = position.legal_actions()
            position = position.play(actions[rng.below(len(actions))])
            continue
        config, iterations = seats[player]
        budget = Budget(iterations=iterations)
        action = solve(position.view(player), budget, config=config, seed=rng.bits()).best
        assert action is not None
        yield position, action
        position = position.play(action)


def items_of(games: Sequence[Game], n_games: int, seed: int) -> list[Item]:
    """Return the items of `n_games` games, from a sample of their positions."""
    items = []
    for number in range(n_games):
        rng = Rng(seed, number)
        game = games[number % len(games)]
        history = History(game)
        for position, action in play(game, rng):
            if rng.below(1000) < 1000 * SAMPLED:
                items += [item for player in range(game.n_players) if (item := item_of(position, player, history))]
            history.add(position, action)
    return items


def item_of(position: Position, player: int, history: History) -> Item | None:
    """Return the item of `player`, as another player sees them; None if there is nothing to infer, or too much."""
    view = position.view((player + 1) % position.game.n_players)
    kinds, copies, n_hand, in_hand, spots = evidence.traces(view, player, history)
    if sum(copies) <= 1 or len(copies) + copies.count(2) > BITS_MAX:
        return None
    true_spots, true_hand = evidence.secrets(position, player, [card for card, *_ in spots])
    return Item(
        held=copies,
        n_hand=n_hand,
        traces=np.array([traces for _, traces, _, _ in spots], np.int64).reshape(len(spots), len(kinds), evidence.EACH),
        evidence=np.array([[placed, kept] for *_, placed, kept in spots]).reshape(len(spots), 2, len(kinds)),
        in_hand=np.array(in_hand, np.int64),
        spots=[kinds.index(kind) for kind in true_spots],
        hand=np.array([float(true_hand.count(kind)) for kind in kinds]),
    )


# --- fitting --------------------------------------------------------------------------------------------------


class BeliefWeights(NamedTuple):
    """The weights of the traces, and of the evidence of a history (0 without a history)."""

    traces: Floats
    factors: Floats


def scores_of(item: Item, weights: BeliefWeights) -> tuple[Floats, Floats]:
    """Return the score of each kind in each spot and in the hand."""
    in_spot = weights.traces[item.traces].sum(axis=2) + np.einsum("sfk,f->sk", item.evidence, weights.factors)
    return in_spot, weights.traces[item.in_hand]


def surprise(item: Item, weights: BeliefWeights) -> tuple[float, Floats, Floats]:
    """Return the surprise of the truth, in nats, the probabilities of kinds by spot, and their mean numbers in hand."""
    in_spot, in_hand = scores_of(item, weights)
    chances, hand, ways = weigh_secrets(item.held, item.n_hand, in_spot.tolist(), in_hand.tolist())
    true = sum(in_spot[i, kind] - in_spot[i].max() for i, kind in enumerate(item.spots))
    true += float((item.hand * (in_hand - in_hand.max())).sum())
    return math.log(ways) - true, np.array(chances).reshape(in_spot.shape), np.array(hand)


def fit(items: Sequence[Item], start: BeliefWeights, with_history: bool, rng: np.random.Generator) -> BeliefWeights:
    """Return the weights that maximize the likelihood of the truth: by Adam, with a smaller step in each pass."""
    traces, factors = start.traces.copy(), start.factors.copy()
    n = len(traces)
    mean, square = np.zeros(n + 2), np.zeros(n + 2)
    step = 0
    for number in range(PASSES):
        order = rng.permutation(len(items))
        for begin in range(0, len(order), BATCH):
            slope = np.zeros(n + 2)
            batch = order[begin : begin + BATCH]
            for i in batch:
                add_slope(items[i], BeliefWeights(traces, factors), slope)
            slope = slope / len(batch) - PULL * np.concatenate([traces, [0, 0]])
            step += 1
            mean = 0.9 * mean + 0.1 * slope
            square = 0.99 * square + 0.01 * slope * slope
            pace = 0.05 / (1 + number)
            move = pace * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-3)
            traces = traces + move[:n]
            if with_history:
                factors = factors + move[n:]
    return BeliefWeights(traces, factors)


def add_slope(item: Item, weights: BeliefWeights, slope: Floats) -> None:
    """Add the gradient of the log-likelihood of the truth."""
    n = len(weights.traces)
    _, chances, hand = surprise(item, weights)
    away = -chances
    away[range(len(item.spots)), item.spots] += 1
    np.add.at(slope, item.traces, away[:, :, None])
    np.add.at(slope, item.in_hand, item.hand - hand)
    slope[n:] += np.einsum("sfk,sk->f", item.evidence, away)


# --- figures --------------------------------------------------------------------------------------------------


def bits_a_card(items: Sequence[Item], weights: BeliefWeights) -> float:
    """Return the mean surprise of a face-down card in the queue, in bits."""
    total, n = 0.0, 0
    for item in items:
        _, chances, _ = surprise(item, weights)
        for i, kind in enumerate(item.spots):
            total -= math.log2(max(float(chances[i, kind]), 1e-9))
            n += 1
    return total / n


def tempered(weights: BeliefWeights, power: float) -> BeliefWeights:
    return BeliefWeights(weights.traces * power, weights.factors * power)


def fit_set(name: str, n_games: int, seed: int) -> tuple[BeliefWeights, BeliefWeights]:
    """Fit the weights of a set, without and with a history."""
    games = [new_game(*spec) for spec in SETS[name]]
    started = time.monotonic()
    items = items_of(games, n_games, seed)
    held_out = items_of(games, n_games // 8, seed + 500)
    play_time = time.monotonic() - started
    nothing = BeliefWeights(np.zeros(evidence.BELIEFS.width("bare")), np.zeros(2))
    rng = np.random.default_rng(seed)
    bare = fit(items, nothing, False, rng)
    full = fit(items, bare, True, rng)
    figures = [
        f"{label} {bits_a_card(held_out, weights):.3f}"
        for label, weights in (
            ("uniform", nothing),
            ("table", bare),
            ("^0.5", tempered(bare, 0.5)),
            ("with history", full),
            ("^0.5", tempered(full, 0.5)),
        )
    ]
    print(
        f"{name}: bits a face-down card: {', '.join(figures)}; {len(items)} items of {n_games} games; factors "
        f"{full.factors.round(2).tolist()}; {play_time:.0f} s playing, "
        f"{time.monotonic() - started - play_time:.0f} s fitting",
        flush=True,
    )
    return bare, full


def fit_castle(n_games: int, seed: int) -> None:
    """Fit and print the weight of preferences in beliefs about selected cards in Castle, Village, Port."""
    for players in (3, 4, 5):
        game = new_game("castle_village_port", "house", players)
        samples = [
            selection
            for number in range(n_games)
            for position, _ in play(game, Rng(seed, number))
            for player in range(players)
            if (selection := selections(position, player))
        ]

        def surprise_at(weight: float, samples: list[tuple[list[int], list[float], int]] = samples) -> float:
            """Return the mean surprise of a selected card, in bits."""
            total = 0.0
            for cards, preferences, true in samples:
                odds = np.exp(weight * (np.array(preferences) - max(preferences)))
                total -= math.log2(float(odds[cards.index(true)] / odds.sum()))
            return total / len(samples)

        best = minimize_scalar(surprise_at, bounds=(0, 2), method="bounded").x
        print(
            f"castle_village_port-{players}: weight {best:.2f}; bits a selected card: uniform {surprise_at(0):.3f}, "
            f"fitted {surprise_at(best):.3f}; {len(samples)} cards of {n_games} games",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "sets", nargs="*", default=list(SETS), help=f"sets to fit: {', '.join(SETS)} (default: all of these), castle"
    )
    parser.add_argument("--games", type=int, default=2000, help="games to learn from (default 2000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=evidence.BELIEFS.path, help="output file (default: the engine's)")
    options = parser.parse_args()
    for name in options.sets:
        if name == "castle":
            fit_castle(options.games // 10, options.seed)
            continue
        bare, full = fit_set(name, options.games, options.seed)
        evidence.BELIEFS.write(
            options.out,
            name,
            bare=[bare.traces.tolist()],
            told=[full.traces.tolist()],
            factors=[full.factors.tolist()],
        )


if __name__ == "__main__":
    main()
