"""Let the levels err as people do: they judge moves wrongly, by kind, and never throw dice.

A level searches a few iterations, so its sight is short, and may forget what the others did, so it guesses their cards
from the table alone. Then it judges each move by the mean of its playouts and an error. Most of the error is common to
all moves of a kind, such as all places for one card: the level overrates one card in one position. Errors are bounded,
so that a level never chooses a move that loses several times its usual error.

`solver/training/search_games.pyx` chooses the same moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine_cy import Action, Rng
from solver.merge import Tally

if TYPE_CHECKING:
    from solver.question import SearchQuestion

MILLION = 1_000_000
# Random streams under the seed of a question: of the errors of moves, and from KINDS on, of those of kinds of moves.
DRAWS, KINDS = 3, 1 << 40
# Moves of a kind differ in the last byte of the first step alone, which holds a place or a target.
KIND_SHIFT = 8
# Playouts that each move counts as more, with the value of an untried one: a single playout convinces no player.
DOUBT = 4
OWN = 0.5  # the part of the error that belongs to a move alone


def misjudged_best(question: SearchQuestion, tallies: Sequence[Tally]) -> Action:
    """Return the move that a level takes for the best."""
    config, me = question.config, question.view.observer
    visits = sum(tally.visits for tally in tallies)
    untried = (sum(tally.payoffs[me] for tally in tallies) / visits if visits else 0.0) - config.first_play
    seed = question.seed ^ question.view.key
    rng = Rng(seed, DRAWS)
    best, most = question.decisions[0], -1e300
    for action, tally in zip(question.decisions, tallies, strict=True):
        value = (tally.payoffs[me] + DOUBT * untried) / (tally.visits + DOUBT)
        kind = error_of(Rng(seed, KINDS + (action.code[0] >> KIND_SHIFT)))
        value += config.misjudgement * (kind + OWN * error_of(rng))
        if value > most:
            best, most = action, value
    return best


def error_of(rng: Rng) -> float:
    """Draw an error: its spread is 1, its bounds are -3 and 3."""
    return 2 * ((rng.below(MILLION) + rng.below(MILLION) + rng.below(MILLION)) / MILLION - 1.5)
