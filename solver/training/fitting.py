"""Fit the weights of a game's knowledge: a policy by self-play, and an evaluation by regression on the winners.

A set of weights is that of a game at one number of players. First, self-play learns the weights of the marks (the
policy of playouts) by policy gradient: every few thousand games, the actions of players who won more than their share
become more likely. Then a multinomial logistic regression over the seats, one for each row, fits the weights of the
features (the evaluation) to the winners of such games. Last, self-play learns on from the marks with the wide marks,
if the game has any, for the prior of the search.

After a change of marks or features, build, and fit all sets. Equal seeds give equal weights on one
machine; on another, numpy and scipy may differ in the last bits.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, vstack

from engine_cy import Game
from engine_cy.learned.self_play import PositionList, SelfPlay, contest
from engine_cy.learned.weights import Weights

Floats = NDArray[np.float64]

STRANGERS = 0.1  # share of seats that play at random for a game: the policy has to hold against any opponent
RIDGE = 3.0  # regularization: how much a weight has to explain
MIDWAY = 0.08  # share of the positions within rounds or turns that enter the fit


class Schedule(NamedTuple):
    """How a policy learns."""

    batch: int  # games per step
    paces: tuple[float, ...]  # of equal parts of the run
    damping: float  # of steps in directions with small gradients
    pull: float  # of the weights towards 0
    veterans: float = 0.0  # share of seats that play by an earlier policy of the run
    heat: float = 0.02  # entropy bonus: an action that wins 2 % less often becomes e times rarer


FROM_NOTHING = Schedule(2048, (0.06, 0.03), 0.3, 0.005)
# From learned weights: larger batches, smaller steps at the end, and rivals from the past, against cycles.
IMPROVE = Schedule(8192, (0.03, 0.03, 0.012, 0.012, 0.005), 0.1, 0.001, veterans=0.3)
SHARPEN = IMPROVE._replace(heat=0.005)  # for the prior, which the search softens again
TYPES = (np.int32, np.int32, np.uint16, np.float32, np.float64)  # of the arrays of a PositionList
MEMORIES = 12  # earlier policies that a run keeps


class FitPlan(NamedTuple):
    """The weights to fit, their sets and the parameters of the fit."""

    weights: Weights
    # The games of each set, learned together.
    sets: Mapping[str, Sequence[Game]]
    # Features of the score: more is never worse. The baseline of an evaluation uses only these.
    points: tuple[int, ...]
    # Batches of games for learning the marks; games for fitting the features.
    steps: int
    games: int
    # Batches of games for learning the prior.
    prior_steps: int = 0
    # Fraction of the second policy's credit that comes from the evaluation instead of the result of the game.
    trust: float = 0.0
    # More features that may not count against a player.
    never_worse: tuple[int, ...] = ()

    @property
    def n_features(self) -> int:
        return self.weights.width("features")


# --- positions ------------------------------------------------------------------------------------------------


class Samples(NamedTuple):
    """Positions of one row: the features of all seats, one seat a line, and the shares of the win."""

    features: csr_matrix
    shares: Floats  # one position a line


def gather(n_features: int, lists: Iterable[PositionList]) -> dict[int, Samples]:
    """Group positions by row."""
    parts: dict[int, list[Samples]] = {}
    for positions in lists:
        rows, sizes, numbers, values, payoffs = map(np.frombuffer, positions.arrays(), TYPES)
        if not len(rows):
            continue
        ends = np.concatenate([[0], np.cumsum(sizes)])
        features = csr_matrix((values, numbers.astype(np.int32), ends), shape=(len(sizes), n_features))
        seats = np.arange(len(sizes)).reshape(len(rows), -1)
        for row in np.unique(rows):
            chosen = rows == row
            shares = payoffs.reshape(seats.shape)[chosen]
            parts.setdefault(int(row), []).append(Samples(features[seats[chosen].ravel()], shares))
    return {
        row: Samples(vstack([part.features for part in lists], "csr"), np.concatenate([part.shares for part in lists]))
        for row, lists in parts.items()
    }


def play(plan: FitPlan, name: str, n_games: int, seed: int) -> dict[int, Samples]:
    """Play games by the playout policy, and return their positions."""
    games = plan.sets[name]
    return gather(
        plan.n_features,
        [
            SelfPlay(game, 1000 * seed + i, STRANGERS).positions(n_games // len(games), MIDWAY)
            for i, game in enumerate(games)
        ],
    )


# --- the evaluation -------------------------------------------------------------------------------------------


def log_loss(weights: Floats, samples: Samples) -> float:
    """Return the mean surprise of the winners, in nats a position."""
    standing = (samples.features @ weights).reshape(samples.shares.shape)
    standing = standing - standing.max(axis=1, keepdims=True)
    chances = standing - np.log(np.exp(standing).sum(axis=1, keepdims=True))
    return float(-(samples.shares * chances).sum() / len(samples.shares))


def fit(plan: FitPlan, samples: Samples, near: Floats, only: Sequence[int] | None = None) -> Floats:
    """Return the weights that explain the winners best; with few samples, they stay close to `near`."""
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
    for feature in (*plan.points, *plan.never_worse):
        bounds[feature] = (0, None)
    if only is not None:
        bounds = [bound if feature in only else (0, 0) for feature, bound in enumerate(bounds)]
    start = near if only is None else np.zeros(len(near))
    result = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 120})
    return np.asarray(result.x)


def fit_features(plan: FitPlan, name: str, n_games: int, seed: int, verbose: bool) -> list[list[float]]:
    """Fit the weights of the features in every row, and install them."""
    samples = play(plan, name, n_games, seed)
    unknown = np.zeros(plan.n_features)
    rows = [unknown] * plan.weights.tables["features"].rows
    for row in sorted(samples):
        rows[row] = fit(plan, samples[row], unknown)
    weights = [[round(float(weight), 3) for weight in row] for row in rows]
    plan.weights.replace(name, features=weights)
    if verbose:
        held_out = play(plan, name, n_games // 5, seed + 500)
        for row in sorted(samples, key=lambda row: -row):
            points = fit(plan, samples[row], unknown, plan.points)
            print(
                f"  {name} row {row:2}: log-loss {log_loss(np.array(weights[row]), held_out[row]):.3f}"
                f" (fitted on {log_loss(np.array(weights[row]), samples[row]):.3f},"
                f" points only {log_loss(points, held_out[row]):.3f},"
                f" uniform {math.log(plan.sets[name][0].n_players):.3f};"
                f" {len(samples[row].shares)} positions)",
                flush=True,
            )
    return weights


# --- the policy -----------------------------------------------------------------------------------------------


def learn_marks(
    plan: FitPlan,
    name: str,
    weights: Floats,
    schedule: Schedule,
    steps: int,
    seed: int,
    trust: float,
    verbose: bool,
    table: str = "marks",
) -> Floats:
    """Learn the weights of the marks of a table from `steps` batches of games: by Adam, with a small pull to 0.

    Policies in self-play cycle; the mean over the second half is harder to exploit than the last policy.
    """
    games, start = plan.sets[name], weights
    of_prior = table == "priors"
    self_plays = [
        SelfPlay(game, 1000 * seed + i, STRANGERS, schedule.veterans, of_prior=of_prior) for i, game in enumerate(games)
    ]
    mean, square, total = np.zeros((3, len(weights)))
    plan.weights.replace(name, **{table: [weights.tolist()]})
    for step in range(1, steps + 1):
        if schedule.veterans and (step - 1) % -(-steps // MEMORIES) == 0:
            for self_play in self_plays:
                self_play.remember(weights.tolist())
        gradient = self_plays[step % len(games)].gradient(schedule.batch, trust, schedule.heat)
        slope = np.array(gradient) / schedule.batch * 100 - schedule.pull * weights
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope * slope
        pace = schedule.paces[(step - 1) * len(schedule.paces) // steps]
        weights = weights + pace * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + schedule.damping)
        plan.weights.replace(name, **{table: [weights.tolist()]})
        total += weights * (step > steps // 2)
    weights = np.round(total / (steps - steps // 2), 3)
    plan.weights.replace(name, **{table: [weights.tolist()]})
    if verbose:
        n = games[0].n_players
        if not of_prior:
            print(f"  {name}: {elo(contest(games[0], 10000, 99, 1), n):+.0f} Elo against random play", flush=True)
        if start.any():
            share = share_against(games[0], start, of_prior=of_prior)
            print(f"  {name}: {table} {elo(share, n):+.0f} Elo against before", flush=True)
    return weights


def learn_prior(plan: FitPlan, name: str, steps: int, seed: int, verbose: bool, schedule: Schedule = SHARPEN) -> Floats:
    """Learn the weights of the prior, from those of the marks in memory."""
    marks = plan.weights.rows(name, "marks")[0]
    start = np.concatenate([marks, np.zeros(plan.weights.width("priors") - len(marks))])
    return learn_marks(plan, name, start, schedule, steps, seed, 0.0, verbose, "priors")


def share_against(game: Game, marks: Floats, *, of_prior: bool = False) -> float:
    """Return the share of the wins of one seat by the present policy, against others by earlier weights."""
    rivals = SelfPlay(game, 99, 0.0, of_prior=of_prior)
    rivals.remember(marks.tolist())
    return float(np.mean([rivals.contest(10000, 1 << seat) for seat in range(game.n_players)]))


def learn_from_nothing(plan: FitPlan, name: str, steps: int, n_games: int, seed: int, verbose: bool) -> Floats:
    """Learn the weights of the marks: a first policy without an evaluation, then a second with one."""
    plan.weights.replace(name, features=[[0.0] * plan.n_features] * plan.weights.tables["features"].rows)
    nothing = np.zeros(plan.weights.width("marks"))
    marks = learn_marks(plan, name, nothing, FROM_NOTHING, steps // 3, seed, 0.0, False)
    # From here on, an evaluation reduces the variance of the credit: it separates luck from skill.
    fit_features(plan, name, n_games // 4, seed + 1, False)
    return learn_marks(plan, name, marks, FROM_NOTHING, steps, seed + 2, plan.trust, verbose)


def elo(share: float, n_players: int) -> float:
    """Return the Elo advantage over the rivals of a player who wins this share of the games."""
    return 400 * math.log10(share * (n_players - 1) / (1 - share))


# --- from the command line ------------------------------------------------------------------------------------


def parser_for(plan: FitPlan, description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = list(plan.sets)
    parser.add_argument("sets", nargs="*", default=names, help=f"sets to fit (default: all of {', '.join(names)})")
    parser.add_argument(
        "--steps",
        type=int,
        help=f"batches to learn from: {plan.steps} of {FROM_NOTHING.batch} games, "
        f"or of {IMPROVE.batch} to improve, or {plan.prior_steps} of {SHARPEN.batch} for the prior",
    )
    parser.add_argument(
        "--games", type=int, default=plan.games, help=f"games to fit the features to (default {plan.games})"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quiet", action="store_true", help="print no figures")
    parser.add_argument("--out", type=Path, default=plan.weights.path, help="output file (default: the engine's)")
    parser.add_argument("--keep-marks", action="store_true", help="fit only the features")
    parser.add_argument(
        "--improve", action="store_true", help="learn on from the marks of the file, and fit nothing else"
    )
    if plan.prior_steps:
        parser.add_argument("--priors", action="store_true", help="learn the prior from the marks, and nothing else")
    parser.set_defaults(priors=False)
    return parser


def fit_sets(plan: FitPlan, options: argparse.Namespace) -> None:
    for name in options.sets:
        started = time.monotonic()
        plan.weights.write(options.out, name, **fit_set(plan, name, options))
        print(f"{name}: {time.monotonic() - started:.0f} s")


def fit_set(plan: FitPlan, name: str, options: argparse.Namespace) -> dict[str, list[list[float]]]:
    """Fit the weights of a set, or only a part of them; return its tables."""
    seed, verbose, weights = options.seed, not options.quiet, plan.weights
    if options.improve:
        before = np.array(weights.rows(name, "marks")[0])
        learn_marks(plan, name, before, IMPROVE, options.steps or plan.steps, seed, plan.trust, verbose)
    elif options.priors:
        learn_prior(plan, name, options.steps or plan.prior_steps, seed, verbose)
    else:
        if not options.keep_marks:
            learn_from_nothing(plan, name, options.steps or plan.steps, options.games, seed, verbose)
        fit_features(plan, name, options.games, seed + 3, verbose)
        if plan.prior_steps and not options.keep_marks:
            learn_prior(plan, name, plan.prior_steps, seed + 4, verbose)
    return {table: weights.rows(name, table) for table in weights.tables}
