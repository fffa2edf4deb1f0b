"""Decide whether a search may stop early, because its leading decision is the best with enough probability."""

from __future__ import annotations

import math
from collections.abc import Sequence

from solver.merge import Tally
from solver.numbers import log

SURE_AFTER = 512  # iterations before the first check, and at least between two checks
VISITS_MIN = 30  # visits that every decision needs


def next_look(iterations: int) -> int:
    """Return the number of iterations at the next check: a quarter more than now."""
    return iterations + max(SURE_AFTER, iterations // 4)


def is_sure(tallies: Sequence[Tally], player: int, confidence: float) -> bool:
    """Return whether, with this probability, no other decision has a higher mean than the leading one.

    The rule is that of best-arm identification (LUCB, Kalyanakrishnan et al. 2012): the leader's lower bound is above
    every other's upper bound. The bounds are empirical Bernstein bounds (Audibert, Munos, Szepesvari 2009), which hold
    for any distribution of payoffs in 0..1; the probability of error is shared among decisions and checks.
    """
    if min(tally.visits for tally in tallies) < VISITS_MIN:
        return False
    bounds = [_bounds(tally, player, confidence, len(tallies)) for tally in tallies]
    ahead = max(range(len(bounds)), key=lambda i: tallies[i].payoffs[player] / tallies[i].visits)
    return all(bounds[ahead][0] > upper for i, (_, upper) in enumerate(bounds) if i != ahead)


def _bounds(tally: Tally, player: int, confidence: float, n_decisions: int) -> tuple[float, float]:
    n = tally.visits
    mean = tally.payoffs[player] / n
    variance = max(tally.squares[player] / n - mean * mean, 0.0)
    # ln(3 / risk), with the risk of one bound at one check; `log` takes an integer, which avoids libm.
    looks = 2 * n.bit_length() ** 2
    weight = log(math.ceil(3 * n_decisions * looks / (1 - confidence)))
    radius = math.sqrt(2 * variance * weight / n) + 3 * weight / n
    return mean - radius, mean + radius
