"""Fit the Elo of all players of a ladder to the results of matches of one A against n-1 copies of B.

The model is that of `solver.match.elo`: A's share of the win is that of `share_of(elo_a - elo_b, n)`, for two players
the model of Bradley and Terry (1952). All ratings are fitted at once, by maximum likelihood with a wide normal prior,
which keeps them finite. Intervals count deals, as in matches: the games of a deal are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solver.match.elo import Z_95, share_of

Floats = NDArray[np.float64]
PRIOR_ELO = 1000.0  # the spread of the prior: worth a tenth of a game
LOG_ODDS = math.log(10) / 400  # of one Elo
STEP_MAX = 300.0
PRECISION = 1e-6


class Result(NamedTuple):
    """Hold a match of one A against n-1 B, by their numbers: A's mean share of the win in each deal."""

    a: int
    b: int
    players: int
    means: Sequence[float]

    @property
    def games(self) -> int:
        return len(self.means) * self.players


class Ratings(NamedTuple):
    """Hold the Elo of all players, those of the anchor 0, and half of their 95 % intervals.

    `spread` is the covariance by which the next match is chosen: that of the model, with independent games.
    """

    elo: Floats
    errors: Floats
    spread: Floats


def fit(n: int, results: Sequence[Result], anchor: int) -> Ratings:
    """Fit the ratings of n players."""
    elo = np.zeros(n)
    while True:
        gradient, information = _slopes(elo, results)
        step = np.linalg.solve(information, gradient)
        elo += step * min(1.0, STEP_MAX / max(np.abs(step).max(), PRECISION))
        if np.abs(step).max() < PRECISION:
            break
    spread = np.asarray(np.linalg.inv(_slopes(elo, results)[1]), dtype=np.float64)
    covariance = spread @ _noise(elo, results) @ spread
    to_anchor = np.eye(n)
    to_anchor[:, anchor] -= 1
    variances = np.diag(to_anchor @ covariance @ to_anchor.T)
    errors = np.array([Z_95 * math.sqrt(max(variance, 0.0)) for variance in variances])
    return Ratings(elo - elo[anchor], errors, spread)


def _slopes(elo: Floats, results: Sequence[Result]) -> tuple[Floats, Floats]:
    """Return the gradient of the log-likelihood and its negative second derivative."""
    gradient = -elo / PRIOR_ELO**2
    information = np.eye(len(elo)) / PRIOR_ELO**2
    for result in results:
        share = share_of(elo[result.a] - elo[result.b], result.players)
        contrast = contrast_of(len(elo), result.a, result.b)
        gradient += contrast * LOG_ODDS * result.players * (sum(result.means) - len(result.means) * share)
        information += np.outer(contrast, contrast) * result.games * information_of(share)
    return gradient, information


def _noise(elo: Floats, results: Sequence[Result]) -> Floats:
    """Return the covariance of the gradient by deals, with the prior's.

    As in `llr_of`, a match has one fair deal more, as the few deals of a short one may be equal.
    """
    noise = np.eye(len(elo)) / PRIOR_ELO**2
    for result in results:
        share, fair = share_of(elo[result.a] - elo[result.b], result.players), 1 / result.players
        squares = sum((mean - share) ** 2 for mean in result.means) + fair * (1 - fair) / result.players
        contrast = contrast_of(len(elo), result.a, result.b)
        noise += np.outer(contrast, contrast) * (LOG_ODDS * result.players) ** 2 * squares
    return noise


def contrast_of(n: int, a: int, b: int) -> Floats:
    contrast = np.zeros(n)
    contrast[a], contrast[b] = 1, -1
    return contrast


def information_of(share: float) -> float:
    """Return the information of one game about the difference of two ratings."""
    return LOG_ODDS**2 * share * (1 - share)


def gain_of(ratings: Ratings, a: int, b: int, players: int) -> float:
    """Return how much one more deal between A and B would reduce the sum of all variances."""
    information = players * information_of(share_of(ratings.elo[a] - ratings.elo[b], players))
    change = ratings.spread @ contrast_of(len(ratings.elo), a, b)
    return float(information * change @ change / (1 + information * (change[a] - change[b])))
