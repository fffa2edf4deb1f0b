"""Play games by the playout policy, and measure how well evaluations predict their winners."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence

from game_interface import choose_action

from engine_cy import CHANCE, Game, Position

Shares = tuple[float, ...]


def playout_positions(game: Game, seed: int, random_share: float = 0.0) -> list[Position]:
    """Return the positions of a game by the playout policy, with a share of random actions."""
    draw = random.Random(seed)
    positions = [position := game.deal(seed, seed % game.n_players)]
    while not position.is_over:
        if position.to_act == CHANCE or draw.random() < random_share:
            action = draw.choice(position.legal_actions())
        else:
            action = choose_action(position, draw.getrandbits(32))
        positions.append(position := position.play(action))
    return positions


def log_loss(predictions: Iterable[Shares], payoffs: Sequence[Shares]) -> float:
    """Return the mean logarithmic loss of predicted shares of the win."""
    pairs = [pair for shares, paid in zip(predictions, payoffs, strict=True) for pair in zip(shares, paid, strict=True)]
    return -sum(paid * math.log(share) for share, paid in pairs if paid) / len(payoffs)


def shares_by_score(scores: Iterable[Sequence[int]], scale: float) -> list[Shares]:
    """Predict shares of the win by a softmax of the seats' scores."""
    odds = [[math.exp(scale * score) for score in seats] for seats in scores]
    return [tuple(one / sum(seats) for one in seats) for seats in odds]
