"""When a search may stop early: the best decision is the best with some probability."""

from __future__ import annotations

import math
from collections.abc import Sequence

from solver.merge import Tally
from solver.numbers import log

SURE_AFTER = 512  # iterations before the question is asked, and between two times
VISITS_MIN = 30  # of every decision that is compared


def next_look(iterations: int) -> int:
    """After how many iterations to ask again: a quarter more than were done."""
    return iterations + max(SURE_AFTER, iterations // 4)


def is_sure(tallies: Sequence[Tally], player: int, confidence: float) -> bool:
    """Whether, with this probability, no other decision has a higher mean than the one that is ahead.

    The rule of best-arm identification (LUCB, Kalyanakrishnan et al. 2012): its lower bound is above every other's
    upper bound. The bounds are empirical Bernstein ones (Audibert, Munos, Szepesvari 2009), which hold for payoffs in
    0..1 of any distribution; the probability of error is shared among decisions and the times they are looked at.
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
    # ln(3 / risk), the risk of one bound at one look; whole numbers keep libm out of the decision.
    looks = 2 * n.bit_length() ** 2
    weight = log(math.ceil(3 * n_decisions * looks / (1 - confidence)))
    radius = math.sqrt(2 * variance * weight / n) + 3 * weight / n
    return mean - radius, mean + radius
