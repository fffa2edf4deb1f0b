"""A player of matches that sees all cards and searches like a configuration, to measure the worth of hidden cards.

It exists in the benchmarks alone. Its searches sample only the true world (true_world.pyx); they are the product's in
everything else, so its opponents in the tree see all cards, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.true_world import TrueWorld
from engine_cy import Action, Position, View
from solver.answer import Answer
from solver.beliefs import WorldSampler
from solver.config import Budget
from solver.match import Turn, with_settings
from solver.question import SearchQuestion
from solver.solve import solve


class OpenQuestion(SearchQuestion):
    """A question about a view that gives away the true position."""

    def __init__(self, view: View, position: Position, budget: Budget, **options: Any) -> None:
        super().__init__(view, budget, **options)
        self._world = TrueWorld(view, position)

    @property
    def worlds(self) -> WorldSampler:
        return self._world


@dataclass(frozen=True, slots=True)
class Cheater:
    """A player of matches that sees all cards."""

    name: str
    config: str = "default"

    def choose(self, turn: Turn, budget: Budget, seed: int) -> tuple[Action, int]:
        question = OpenQuestion(turn.view, turn.position, budget, config=self.config, seed=seed, lines=0)
        answer: Answer = solve(question)
        assert answer.best is not None
        return answer.best, answer.iterations


def read_cheater(text: str, settings: str) -> Cheater:
    """Read `cheater`, optionally with a configuration: `cheater:config=plain`."""
    return with_settings(Cheater("cheater"), text, settings)
