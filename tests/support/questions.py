"""Questions along random games, and the parts of answers that must repeat."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tables import random_game

from engine_cy import Action, Position, View, new_game
from engine_cy.action_log import History
from solver import Answer, Budget, Comparison, ComparisonQuestion, InformationQuestion, Question, SearchQuestion

ORIFLAMME = ("oriflamme", "en-2019", 3)


def turns(spec: tuple[str, Any, int], seed: int = 1) -> Iterator[tuple[Position, History]]:
    """Yield the positions of a random game at which the player to act has a choice, each with that player's log."""
    game = new_game(*spec)
    logs = [History(game) for _ in range(game.n_players)]
    followed = logs if game.has_history else []
    for position, action in random_game(game, seed):
        if action is not None and (position.to_act or 0) >= 0 and len(position.legal_actions()) > 1:
            yield position, logs[position.to_act or 0].copy()
        for seat, log in enumerate(followed if action is not None else []):
            log.add(position, position.seen(_known(action), seat))


def _known(action: Action | None) -> Action:
    assert action is not None
    return action


def view_of(position: Position) -> View:
    """Return the position as the player to act sees it."""
    return position.view(position.to_act or 0)


def random_options(position: Position, history: History, draw: random.Random) -> dict[str, Any]:
    """Draw the options of a question at random."""
    return {
        "config": draw.choice(["plain", "default", "pimc", "level-3"]),
        "seed": draw.choice([0, 2**64 - 1, draw.randrange(2**64)]),
        "shares": draw.choice([1, 2, 3]),
        "models": {((position.to_act or 0) + 1) % position.game.n_players: draw.choice(["noisy", "random"])},
        "history": draw.choice([history, None]),
    }


def questions(spec: tuple[str, Any, int], seed: int = 1, every: int = 7) -> Iterator[Question]:
    """Yield questions of every kind along a random game."""
    draw = random.Random(seed)
    for number, (position, history) in enumerate(turns(spec, seed)):
        if number % every:
            continue
        view, choices = view_of(position), position.legal_actions()
        budget = draw.choice([Budget(iterations=60), Budget(iterations=60, memory_mb=1.5, confidence=0.75)])
        yield SearchQuestion(
            view,
            budget,
            lines=draw.choice([0, 2]),
            among=draw.choice([(), choices[::2]]),
            **random_options(position, history, draw),
        )
        yield ComparisonQuestion(
            view, choices[:3], replace(budget, iterations=700), **random_options(position, history, draw)
        )
        observed = position.view(((position.to_act or 0) + 1) % position.game.n_players)
        yield SearchQuestion(observed, budget, shares=2, seed=number)
        if position.game.has_beliefs:
            yield InformationQuestion(view, budget, **random_options(position, history, draw))


def essence(answer: Any) -> Any:
    """Return the parts of an answer that are equal for equal questions."""
    if isinstance(answer, Answer):
        return (
            answer.best,
            answer.moves,
            answer.mix,
            answer.seats,
            answer.total,
            answer.share_iterations,
            answer.beliefs,
        )
    if isinstance(answer, Comparison):
        return answer.moves, answer.worlds, answer.stopped_by, answer.missing, answer.note
    return answer
