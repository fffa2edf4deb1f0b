"""Compute match statistics: scores with their intervals, Elo, and the sequential test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from solver.match.play import PlayedDeal

Z_95 = 1.959964  # standard errors to either side of the mean
LLR_BOUND = math.log(0.95 / 0.05)  # 2.94


def elo_of(share: float, players: int) -> float:
    """Return the Elo of a player with this share of the win against opponents of 0 Elo."""
    return 400 * math.log10(share * (players - 1) / (1 - share))


def share_of(elo: float, players: int) -> float:
    """Return the share of the win of a player with this Elo: the inverse of `elo_of`."""
    return 1 / (1 + (players - 1) * 10 ** (-elo / 400))


class MatchScore(NamedTuple):
    """Hold a mean share of the win and its 95 % interval."""

    mean: float
    low: float
    high: float
    players: int
    games: int

    def elo(self, share: float) -> float:
        """Return the Elo of a share, which is kept half a game away from 0 and 1: Elo is infinite there."""
        least = 0.5 / self.games
        return elo_of(min(max(share, least), 1 - least), self.players)


def score_of(means: Sequence[float], players: int) -> MatchScore:
    """Return the score of the deals' means; a single deal has an infinite error."""
    n = len(means)
    mean = fmean(means)
    variance = sum((x - mean) ** 2 for x in means) / (n - 1) if n > 1 else math.inf
    error = Z_95 * math.sqrt(variance / n)
    return MatchScore(mean, max(mean - error, 0.0), min(mean + error, 1.0), players, n * players)


def llr_of(means: Sequence[float], players: int, elo0: float, elo1: float) -> float:
    """Return the log-likelihood ratio of `elo1` to `elo0` as A's strength, given the deals' means.

    This is Wald's test (1945) with the mean of the deals as a normal variable, as chess engines are tested (M. Van den
    Bergh, "A practical introduction to the GSPRT").
    The estimate of their variance includes one fair deal of independent games, as the first few deals may be equal.
    """
    if not means:
        return 0.0
    n = len(means)
    mean = fmean(means)
    fair = 1 / players
    variance = (sum((x - mean) ** 2 for x in means) + fair * (1 - fair) / players) / n
    p0, p1 = share_of(elo0, players), share_of(elo1, players)
    return n * (p1 - p0) * (2 * mean - p0 - p1) / (2 * variance)


class Sprt(NamedTuple):
    """Hold a sequential probability ratio test of two strengths."""

    elo0: float
    elo1: float

    def llr(self, deals: Sequence[PlayedDeal], players: int) -> float:
        return llr_of([deal.mean for deal in deals], players, self.elo0, self.elo1)

    def decided_after(self, deals: Sequence[PlayedDeal], players: int, checked: int = 0) -> int | None:
        """Return the number of deals that decide the test, or None; skip the first `checked`, which do not."""
        for n in range(checked + 1, len(deals) + 1):
            if abs(self.llr(deals[:n], players)) >= LLR_BOUND:
                return n
        return None

    def verdict(self, llr: float) -> str:
        if llr >= LLR_BOUND:
            return f"rather {self.elo1:g} than {self.elo0:g}"
        if llr <= -LLR_BOUND:
            return f"rather {self.elo0:g} than {self.elo1:g}"
        return "undecided"
