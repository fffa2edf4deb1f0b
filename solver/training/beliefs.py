"""Fit engine_cy/oriflamme/beliefs.json, or PREFERENCE_WEIGHT of engine_cy/castle_village_port/evidence.pyx.

    python -m solver.training.beliefs [--help]      writes the file
    python -m solver.training.beliefs castle        prints the weight

A mixed population plays games, in which each player has a style of play. An item, from a position of a game, is the
public information about a player and the cards that the player hides; the fit maximizes the likelihood of the hidden
cards of all players of a style, given the public information. The weights belong to a log-linear model of whole
secrets, which is the distribution that a search samples. A logistic regression then recognizes the styles by the log.

Games are stored in `--work`, so the command resumes. Repeat it after each change of the policy or of `default`.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from engine_cy import CHANCE, Position, Rng
from engine_cy.action_log import History
from engine_cy.castle_village_port.evidence import selections
from engine_cy.oriflamme import evidence
from solver.marginals import weigh_secrets
from solver.pool import cores
from solver.training.games import SETS as SPECS
from solver.training.games import Member, Plan, PlayedGame, make_games, read_games

Floats = NDArray[np.float64]

# For two players of the prototype, who have each card twice, there are too many secrets to weigh until near the end.
SETS = {
    name: specs for name, specs in SPECS.items() if name.startswith("oriflamme") and name != "oriflamme_prototype-2"
}
# The players, each with its style.
POPULATION = {
    Member("default", 1.0, 6): "search",
    Member("plain", 2.0, 2): "plain",
    Member("flat", 1.0, 1): "plain",
    Member("greedy", 0.0, 2): "greedy",
    Member("random", 0.0, 1): "random",
}
STYLE_OF = [evidence.STYLES.index(style) for style in POPULATION.values()]
# How much of the fitted evidence play trusts, where less than all of it plays better.
TRUST = {"oriflamme_prototype-3": 0.8, "oriflamme_prototype-4": 0.8}
FITTED = [number for number, style in enumerate(evidence.STYLES) if style != "random"]
ITERATIONS = 400
SAMPLED = 0.2  # share of the positions of a game
SAMPLES_STREAM = 7
HELD_OUT = 8  # one game in 8 judges the fit
BITS_MAX = 13  # candidate kinds, those held twice counted double; items with more are slow and carry little information
BATCH = 64  # items per step of the fit
PASSES = 6
PULL = 1e-3  # towards 0, for traces with few items
STYLES_PULL = 1e-5  # the same in the regression on styles


class Item(NamedTuple):
    """The public information about a player, and the player's hidden cards."""

    held: list[int]  # number of hidden cards of each kind
    n_hand: int
    traces: NDArray[np.int64]  # by spot and kind
    evidence: Floats  # by spot and kind: of the history, from the placement and from later keeps
    in_hand: NDArray[np.int64]  # by kind: its trace
    spots: list[int]  # the truth: for each spot, the index of its kind
    hand: Floats  # the truth: how many cards of each kind are in hand
    style: int  # the truth
    style_facts: list[float]


# --- games ----------------------------------------------------------------------------------------------------


def belief_games(name: str, n_games: int, seed: int, work: Path, workers: int) -> list[PlayedGame]:
    """Return games of the mixed population in a set, and play those that `work` lacks."""
    folder = work / f"{name}-{seed}"
    make_games(folder, Plan(SPECS[name], ITERATIONS, seed, list(POPULATION)), n_games, workers)
    return list(read_games(folder, n_games))


def items_of(games: Iterable[PlayedGame]) -> list[Item]:
    """Return the items of a sample of the positions of games."""
    items: list[Item] = []
    for game in games:
        rng = Rng(game.seed, (SAMPLES_STREAM << 41) + game.number)
        history = None
        for position, choice in game.positions():
            history = history or History(position.game)
            if choice.seat != CHANCE and rng.below(1000) < 1000 * SAMPLED:
                for player, member in enumerate(game.members):
                    if item := item_of(position, player, STYLE_OF[member], history):
                        items.append(item)
            history.add(position, position.legal_actions()[choice.taken])
    return items


def item_of(position: Position, player: int, style: int, history: History) -> Item | None:
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
        style=style,
        style_facts=evidence.style_facts(view, player, history),
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


def fit_styles(items: Sequence[Item]) -> Floats:
    """Return the weights of the facts for each style, by multinomial logistic regression: all styles count alike."""
    facts = np.array([item.style_facts for item in items])
    true = np.array([item.style for item in items])
    scale = np.abs(facts).max(axis=0) + 1e-9  # the facts are sums over a game
    shape = (len(evidence.STYLES), facts.shape[1])
    weight = (1 / np.maximum(np.bincount(true, minlength=shape[0]), 1))[true]
    weight /= weight.sum()

    def cost(weights: Floats) -> tuple[float, Floats]:
        shares = softmax((facts / scale) @ weights.reshape(shape).T)
        loss = -(weight * np.log(shares[range(len(true)), true])).sum()
        shares[range(len(true)), true] -= 1
        slope = (shares * weight[:, None]).T @ (facts / scale)
        return loss + STYLES_PULL * float(weights @ weights), slope.ravel() + 2 * STYLES_PULL * weights

    result = minimize(cost, np.zeros(math.prod(shape)), jac=True, method="L-BFGS-B")
    weights: Floats = np.asarray(result.x).reshape(shape) / scale
    return weights


def softmax(preferences: Floats) -> Floats:
    odds = np.exp(preferences - preferences.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


# --- figures --------------------------------------------------------------------------------------------------


class Model(NamedTuple):
    """Hold the fit of a set: the weights of each style, and those of the regression on styles."""

    bare: list[BeliefWeights]
    told: list[BeliefWeights]
    styles: Floats

    def weights_for(self, item: Item, has_log: bool, trust: float) -> BeliefWeights:
        """Return the mean of the weights over the styles, as the engine computes it."""
        facts = np.array(item.style_facts)
        if not has_log:
            facts[1:] = 0
        shares = trust * softmax(self.styles @ facts)
        styles = list(zip(shares, self.told if has_log else self.bare, strict=True))
        return BeliefWeights(
            np.asarray(sum(share * weights.traces for share, weights in styles)),
            np.asarray(sum(share * weights.factors for share, weights in styles)),
        )

    def tables(self, name: str) -> dict[str, list[list[float]]]:
        """Return the tables of a set, with the part of the evidence that play trusts."""
        trust = TRUST.get(name, 1.0)
        return {
            "bare": [(trust * weights.traces).tolist() for weights in self.bare],
            "told": [(trust * weights.traces).tolist() for weights in self.told],
            "factors": [(trust * weights.factors).tolist() for weights in self.told],
            "styles": self.styles.tolist(),
        }


def bits_a_card(items: Sequence[Item], model: Model, has_log: bool, trust: float) -> str:
    """Return the mean surprise of a face-down card in the queue, in bits, by the style of its player."""
    sums: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for item in items:
        _, chances, _ = surprise(item, model.weights_for(item, has_log, trust))
        for i, kind in enumerate(item.spots):
            sums[item.style][0] -= math.log2(max(float(chances[i, kind]), 1e-9))
            sums[item.style][1] += 1
    return " ".join(f"{bits / n:.3f}" for _, (bits, n) in sorted(sums.items()))


def fit_set(name: str, n_games: int, seed: int, work: Path, workers: int) -> Model:
    """Fit all weights of a set."""
    started = time.monotonic()
    games = belief_games(name, n_games, seed, work, workers)
    held_out = items_of(games[::HELD_OUT])
    del games[::HELD_OUT]
    items = items_of(games)
    play_time = time.monotonic() - started
    nothing = BeliefWeights(np.zeros(evidence.BELIEFS.width("bare")), np.zeros(2))
    rng = np.random.default_rng(seed)
    model = Model([nothing] * len(evidence.STYLES), [nothing] * len(evidence.STYLES), fit_styles(items))
    for style in FITTED:
        own = [item for item in items if item.style == style]
        model.bare[style] = fit(own, nothing, False, rng)
        model.told[style] = fit(own, model.bare[style], True, rng)
    print(
        f"{name}: {len(items)} items of {n_games} games; {play_time:.0f} s playing, "
        f"{time.monotonic() - started - play_time:.0f} s fitting; bits a face-down card of "
        + ", ".join(evidence.STYLES),
        flush=True,
    )
    for label, has_log, trust in (
        ("uniform", False, 0.0),
        ("table", False, 1.0),
        ("log", True, 1.0),
        ("log ^0.7", True, 0.7),
        ("log ^0.5", True, 0.5),
    ):
        print(f"  {label:8} {bits_a_card(held_out, model, has_log, trust)}", flush=True)
    return model


def fit_castle(n_games: int, seed: int, work: Path, workers: int) -> None:
    """Fit and print the weight of preferences in beliefs about selected cards in Castle, Village, Port."""
    for players in (3, 4, 5):
        samples = [
            selection
            for game in belief_games(f"castle_village_port-{players}", n_games, seed, work, workers)
            for position, _ in game.positions()
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
    parser.add_argument("--workers", type=int, default=cores(), help="threads of the games (default: one per core)")
    parser.add_argument("--work", type=Path, default=Path("build/beliefs"), help="folder of the games")
    parser.add_argument("--out", type=Path, default=evidence.BELIEFS.path, help="output file (default: the engine's)")
    options = parser.parse_args()
    for name in options.sets:
        if name == "castle":
            fit_castle(options.games // 10, options.seed, options.work, options.workers)
            continue
        model = fit_set(name, options.games, options.seed, options.work, options.workers)
        evidence.BELIEFS.write(options.out, name, **model.tables(name))


if __name__ == "__main__":
    main()
