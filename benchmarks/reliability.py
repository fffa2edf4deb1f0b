"""Measure whether predicted shares of the win come true: log-loss, reliability tables, expected calibration error.

A *forecast* is a share that was predicted for a seat, with the share that the seat won. The predictions of one game
share its result, so intervals and noise count games, not forecasts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from engine_cy import Rng
from solver.match.elo import Z_95

BINS = 10
LEAST = 1e-3  # a share of less counts as this much in the log-loss: a search may say 0
NOISE_DRAWS = 200


class Forecast(NamedTuple):
    """Hold the predicted shares of all seats of a position, and the shares that they won."""

    game: int
    round: int
    observer: int
    shares: tuple[float, ...]
    payoffs: tuple[float, ...]


class Mean(NamedTuple):
    """Hold a mean, with its 95 % interval by games."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.4f} [{self.low:.4f}, {self.high:.4f}]"


def mean_of(values: Iterable[tuple[int, float]]) -> Mean:
    """Return the mean of values by game; the values of a game count as one observation of their sum and number."""
    sums: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for game, value in values:
        sums[game][0] += value
        sums[game][1] += 1
    total, number, games = sum(s for s, _ in sums.values()), sum(n for _, n in sums.values()), len(sums)
    mean = total / number
    if games < 2:
        return Mean(mean, -math.inf, math.inf)
    squares = sum((s - mean * n) ** 2 for s, n in sums.values())
    error = Z_95 * math.sqrt(squares * games / (games - 1)) / number
    return Mean(mean, mean - error, mean + error)


def log_loss(forecast: Forecast) -> float:
    """Return the surprise of the result, in nats."""
    shares = [max(share, LEAST) for share in forecast.shares]
    total = sum(shares)
    return -sum(paid * math.log(share / total) for share, paid in zip(shares, forecast.payoffs, strict=True))


def difference(one: Mapping[tuple[int, int], Forecast], other: Mapping[tuple[int, int], Forecast]) -> Mean:
    """Return the mean log-loss of one version minus that of another on the same positions."""
    common = sorted(one.keys() & other.keys())
    return mean_of((one[key].game, log_loss(one[key]) - log_loss(other[key])) for key in common)


# --- reliability ------------------------------------------------------------------------------------------------

Pairs = Callable[[Forecast], list[tuple[float, float]]]


def of_observer(forecast: Forecast) -> list[tuple[float, float]]:
    return [(forecast.shares[forecast.observer], forecast.payoffs[forecast.observer])]


def of_seats(forecast: Forecast) -> list[tuple[float, float]]:
    return list(zip(forecast.shares, forecast.payoffs, strict=True))


class Bin(NamedTuple):
    """Hold a row of a reliability table: forecasts of similar shares."""

    predicted: float
    won: Mean
    forecasts: int


def reliability(forecasts: Sequence[Forecast], pairs: Pairs) -> list[Bin]:
    """Return the bins of ten percent each that have forecasts."""
    bins: dict[int, list[tuple[int, float, float]]] = defaultdict(list)
    for forecast in forecasts:
        for share, paid in pairs(forecast):
            bins[bin_of(share)].append((forecast.game, share, paid))
    return [
        Bin(fmean(share for _, share, _ in rows), mean_of((game, paid) for game, _, paid in rows), len(rows))
        for _, rows in sorted(bins.items())
    ]


def bin_of(share: float) -> int:
    return min(int(share * BINS), BINS - 1)


def calibration_error(pairs: Iterable[tuple[float, float]]) -> float:
    """Return the expected calibration error: the mean distance of bins from the diagonal, by their forecasts."""
    sums = [[0.0, 0.0] for _ in range(BINS)]
    number = 0
    for share, paid in pairs:
        at = sums[bin_of(share)]
        at[0] += share
        at[1] += paid
        number += 1
    return sum(abs(predicted - paid) for predicted, paid in sums) / max(number, 1)


def error_of(forecasts: Sequence[Forecast], pairs: Pairs) -> float:
    return calibration_error(pair for forecast in forecasts for pair in pairs(forecast))


def error_interval(forecasts: Sequence[Forecast], pairs: Pairs, seed: int = 1) -> tuple[float, float]:
    """Return the 95 % interval of the calibration error, by a basic bootstrap of the games.

    Errors of drawn games are larger than that of all games, by as much as noise makes that one too large; the basic
    bootstrap takes this off.
    """
    sums: dict[int, list[float]] = defaultdict(lambda: [0.0] * (BINS + 1))  # of each game: differences, and forecasts
    for forecast in forecasts:
        at = sums[forecast.game]
        for share, paid in pairs(forecast):
            at[bin_of(share)] += share - paid
            at[BINS] += 1
    if len(sums) < 2:
        return 0.0, 1.0
    games, rng = list(sums.values()), Rng(seed)
    errors = []
    for _ in range(NOISE_DRAWS):
        columns = [sum(column) for column in zip(*(games[rng.below(len(games))] for _ in games), strict=True)]
        errors.append(sum(map(abs, columns[:BINS])) / columns[BINS])
    errors.sort()
    error = error_of(forecasts, pairs)
    low, high = errors[round(0.025 * NOISE_DRAWS)], errors[round(0.975 * NOISE_DRAWS) - 1]
    return max(2 * error - high, 0.0), max(2 * error - low, 0.0)


def noise_of(forecasts: Sequence[Forecast], pairs: Pairs, seed: int = 1) -> float:
    """Return the mean error that these forecasts would have if each were true.

    The winner is drawn anew for each game: one number decides all positions of a game, so that they stay dependent.
    """
    rng = Rng(seed)
    errors = []
    for _ in range(NOISE_DRAWS):
        draws: dict[int, float] = {}
        drawn = []
        for forecast in forecasts:
            draw = draws.setdefault(forecast.game, rng.below(1 << 30) / (1 << 30))
            payoffs = [0.0] * len(forecast.shares)
            payoffs[_winner(forecast.shares, draw)] = 1.0
            drawn.append(forecast._replace(payoffs=tuple(payoffs)))
        errors.append(error_of(drawn, pairs))
    return fmean(errors)


def _winner(shares: Sequence[float], draw: float) -> int:
    for seat, share in enumerate(shares):
        draw -= share
        if draw < 0:
            return seat
    return len(shares) - 1


def surplus_by_round(forecasts: Sequence[Forecast]) -> dict[int, Mean]:
    """Return, for each round, how much more the observer was promised than they won."""
    rounds: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for forecast in forecasts:
        ((share, paid),) = of_observer(forecast)
        rounds[forecast.round].append((forecast.game, share - paid))
    return {number: mean_of(values) for number, values in sorted(rounds.items())}
