"""What the fitting of any game's weights takes: playing to learn which actions are good, and regressions on who won.

For each set of weights, such as a game at a number of players, first the weights of the marks (what actions are good)
are learned by playing: after each few thousand games, what the players did is made likelier as far as they won more
than their share. Then the weights of the features (who stands how well) are fitted to the winners of such games: in
each row, a multinomial logistic regression over the seats.

Who changes marks or features deletes the file first, builds, and fits all sets. Equal seeds give equal weights on one
machine; numpy and scipy may differ in the last bits on another.
"""

from __future__ import annotations

import argparse
import math
import time
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from engine_cy import Game
from engine_cy.weights import read_weights, write_weights

Floats = NDArray[np.float64]
# A position: its row, the number of features of each seat, their numbers and values, and the shares of the win.
Found = tuple[int, bytes, bytes, bytes, tuple[float, ...]]

LOT = 2048  # games between two steps of learning
STRANGERS = 0.1  # seats that play at random for a game: what is learned has to hold against anybody
HEAT = 0.02  # an action that wins 2 % less often is taken e times less often
RIDGE = 3.0  # how much a weight has to explain
MIDWAY = 0.08  # positions within rounds or turns that are fitted to


class SelfPlay(Protocol):
    """Games of the playouts' policy against itself."""

    def gradient(self, games: int, trust: float, heat: float) -> array[float]: ...

    def positions(self, games: int, midway: float) -> list[Found]: ...


class Knowledge(Protocol):
    """A game's knowledge.pyx, as the fitting sees it."""

    VERSION: int
    SIZES: dict[str, int]
    WEIGHTS: Path

    def set_weights(
        self, name: str, marks: Sequence[float] | None = None, features: Sequence[Sequence[float]] | None = None
    ) -> None: ...

    def contest(self, game: Game, games: int, seed: int, seats: int) -> float: ...

    @property
    def SelfPlay(self) -> Callable[[Game, int, float], SelfPlay]: ...


class FitPlan(NamedTuple):
    """Whose weights are fitted, and how."""

    knowledge: Knowledge
    # What is learned together.
    sets: Mapping[str, Sequence[Game]]
    # The features that tell who has how much: more is never worse. They alone are what an evaluation is compared with.
    points: tuple[int, ...]
    # What the values of features are in `SelfPlay.positions`.
    values: type[np.generic]
    # Lots to learn from; games to fit the features to.
    steps: int
    games: int
    # How far the second policy is judged by the evaluation rather than by the end of the game.
    trust: float = 0.0
    # More features that may not count against a player.
    never_worse: tuple[int, ...] = ()


# --- positions ------------------------------------------------------------------------------------------------


class Samples(NamedTuple):
    """Positions of one row: the features of all seats, one seat a line, and who won."""

    features: csr_matrix
    shares: Floats  # one position a line


def gather(subject: FitPlan, found: Iterable[Found]) -> dict[int, Samples]:
    """Positions, as `SelfPlay.positions` gives them, by row."""
    sizes: dict[int, list[bytes]] = {}
    numbers: dict[int, list[bytes]] = {}
    values: dict[int, list[bytes]] = {}
    shares: dict[int, list[tuple[float, ...]]] = {}
    for row, *parts, paid in found:
        for kept, part in zip((sizes, numbers, values), parts, strict=True):
            kept.setdefault(row, []).append(part)
        shares.setdefault(row, []).append(paid)
    samples = {}
    for row in sizes:
        ends = np.cumsum(np.frombuffer(b"".join(sizes[row]), np.int32))
        matrix = csr_matrix(
            (
                np.frombuffer(b"".join(values[row]), subject.values).astype(np.float64),
                np.frombuffer(b"".join(numbers[row]), np.uint16).astype(np.int32),
                np.concatenate([[0], ends]),
            ),
            shape=(len(ends), subject.knowledge.SIZES["features"]),
        )
        samples[row] = Samples(matrix, np.array(shares[row]))
    return samples


def played(subject: FitPlan, name: str, n_games: int, seed: int) -> dict[int, Samples]:
    """Positions of games by the playouts' policy."""
    games = subject.sets[name]
    found: list[Found] = []
    for i, game in enumerate(games):
        practice = subject.knowledge.SelfPlay(game, 1000 * seed + i, STRANGERS)
        found += practice.positions(n_games // len(games), MIDWAY)
    return gather(subject, found)


# --- who stands how well --------------------------------------------------------------------------------------


def log_loss(weights: Floats, samples: Samples) -> float:
    """How surprised the weights are by the winners, in nats a position."""
    standing = (samples.features @ weights).reshape(samples.shares.shape)
    standing = standing - standing.max(axis=1, keepdims=True)
    chances = standing - np.log(np.exp(standing).sum(axis=1, keepdims=True))
    return float(-(samples.shares * chances).sum() / len(samples.shares))


def fit(subject: FitPlan, samples: Samples, near: Floats, only: Sequence[int] | None = None) -> Floats:
    """The weights that explain the winners best; small, or near to `near`, where little is known."""
    n = len(samples.shares)

    def cost(weights: Floats) -> tuple[float, Floats]:
        standing = (samples.features @ weights).reshape(samples.shares.shape)
        standing = standing - standing.max(axis=1, keepdims=True)
        odds = np.exp(standing)
        chances = odds / odds.sum(axis=1, keepdims=True)
        loss = -(samples.shares * np.log(np.maximum(chances, 1e-300))).sum() / n
        slope = samples.features.T @ ((chances - samples.shares).ravel()) / n
        away = weights - near
        return loss + RIDGE / n * float(away @ away), slope + 2 * RIDGE / n * away

    bounds: list[tuple[float | None, float | None]] = [(None, None)] * len(near)
    for feature in (*subject.points, *subject.never_worse):
        bounds[feature] = (0, None)
    if only is not None:
        bounds = [bound if feature in only else (0, 0) for feature, bound in enumerate(bounds)]
    start = near if only is None else np.zeros(len(near))
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 120})
    return np.asarray(found.x)


def fit_features(subject: FitPlan, name: str, n_games: int, seed: int, verbose: bool) -> list[list[float]]:
    """The weights of every row of the features."""
    samples = played(subject, name, n_games, seed)
    unknown = np.zeros(subject.knowledge.SIZES["features"])
    rows = [unknown] * subject.knowledge.SIZES["rows"]
    for row in sorted(samples):
        rows[row] = fit(subject, samples[row], unknown)
    weights = [[round(float(weight), 3) for weight in row] for row in rows]
    subject.knowledge.set_weights(name, features=weights)
    if verbose:
        held_out = played(subject, name, n_games // 5, seed + 500)
        for row in sorted(samples, key=lambda row: -row):
            points = fit(subject, samples[row], unknown, subject.points)
            print(
                f"  {name} row {row:2}: log-loss {log_loss(np.array(weights[row]), held_out[row]):.3f}"
                f" (fitted on {log_loss(np.array(weights[row]), samples[row]):.3f},"
                f" points only {log_loss(points, held_out[row]):.3f},"
                f" uniform {math.log(subject.sets[name][0].n_players):.3f};"
                f" {len(samples[row].shares)} positions)",
                flush=True,
            )
    return weights


# --- what is good ---------------------------------------------------------------------------------------------


def learn_marks(
    subject: FitPlan, name: str, weights: Floats, steps: int, seed: int, trust: float, verbose: bool
) -> Floats:
    """The weights of the marks after `steps` lots of games: Adam, with a small pull to 0.

    Policies that learn against themselves go round in circles; the mean of the second half is harder to exploit than
    where they happen to stop.
    """
    games = subject.sets[name]
    practices = [subject.knowledge.SelfPlay(game, 1000 * seed + i, STRANGERS) for i, game in enumerate(games)]
    mean, square, total = np.zeros((3, len(weights)))
    subject.knowledge.set_weights(name, weights.tolist())
    for step in range(1, steps + 1):
        slope = np.array(practices[step % len(games)].gradient(LOT, trust, HEAT)) / LOT * 100 - 0.005 * weights
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope * slope
        pace = 0.06 if step <= steps // 2 else 0.03
        weights = weights + pace * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 0.3)
        subject.knowledge.set_weights(name, weights.tolist())
        total += weights * (step > steps // 2)
    weights = np.round(total / (steps - steps // 2), 3)
    subject.knowledge.set_weights(name, weights.tolist())
    if verbose:
        share = subject.knowledge.contest(games[0], 10000, 99, 1)
        print(f"  {name}: {elo(share, games[0].n_players):+.0f} Elo against random play", flush=True)
    return weights


def learn_from_nothing(subject: FitPlan, name: str, steps: int, n_games: int, seed: int, verbose: bool) -> Floats:
    """The weights of the marks, by a first policy and by a second that has an evaluation to learn with."""
    sizes = subject.knowledge.SIZES
    subject.knowledge.set_weights(name, features=[[0.0] * sizes["features"]] * sizes["rows"])
    marks = learn_marks(subject, name, np.zeros(sizes["marks"]), steps // 3, seed, 0.0, False)
    # From here on an evaluation tells luck from skill.
    fit_features(subject, name, n_games // 4, seed + 1, False)
    return learn_marks(subject, name, marks, steps, seed + 2, subject.trust, verbose)


def elo(share: float, n_players: int) -> float:
    """The advantage of one player over his rivals who wins this share of the games."""
    return 400 * math.log10(share * (n_players - 1) / (1 - share))


# --- from the command line ------------------------------------------------------------------------------------


def parser_for(subject: FitPlan, description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = list(subject.sets)
    parser.add_argument("sets", nargs="*", default=names, help=f"which weights (default: all of {', '.join(names)})")
    parser.add_argument(
        "--steps", type=int, default=subject.steps, help=f"lots of {LOT} games to learn from (default {subject.steps})"
    )
    parser.add_argument(
        "--games", type=int, default=subject.games, help=f"games to fit the features to (default {subject.games})"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quiet", action="store_true", help="print no figures")
    parser.add_argument("--out", type=Path, default=subject.knowledge.WEIGHTS, help="the file (default: the engine's)")
    parser.add_argument("--keep-marks", action="store_true", help="fit only the features")
    return parser


def fit_sets(subject: FitPlan, options: argparse.Namespace) -> None:
    knowledge = subject.knowledge
    for name in options.sets:
        began = time.monotonic()
        if options.keep_marks:
            marks = np.array(read_weights(knowledge.WEIGHTS, knowledge.VERSION, knowledge.SIZES)[name][0])
        else:
            marks = learn_from_nothing(subject, name, options.steps, options.games, options.seed, not options.quiet)
        features = fit_features(subject, name, options.games, options.seed + 3, not options.quiet)
        write_weights(options.out, knowledge.VERSION, knowledge.SIZES, name, marks, features)
        print(f"{name}: {time.monotonic() - began:.0f} s")
