"""A game in OpenSpiel's terms: its actions as numbers, its deal as outcomes of chance. Nothing here needs OpenSpiel.

The module `openspiel_terms` in a game's folder registers the game; `solver/openspiel/ours_in_openspiel.py` plays it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any, NamedTuple

import engine_cy
from engine_cy.values import Game, Position

# A deal, as the outcomes of chance one after the other.
Deal = tuple[int, ...]


class Step(NamedTuple):
    """An action by its seat and number; CHANCE has numbers of its own."""

    seat: int
    number: int


class GameTerms(ABC):
    """A game of ours with a first player: its actions as numbers, its deal as outcomes of chance."""

    deal_size: int  # outcomes of a deal, before the first position
    max_outcomes: int  # of a choice of chance
    max_decisions: int  # of players in a game: an upper bound that no game reaches
    max_chances: int  # choices of chance in a game
    remembers = False  # whether a view contains all earlier observations
    shares = True  # whether payoffs are shares of a win
    root: Any  # the first node of every history, which the bridge sets

    def __init__(self, game: Game, first: int, texts: Sequence[str], chance: Sequence[str] = ()) -> None:
        self.game = game
        self.first = first
        self.actions = [game.action(text) for text in texts]
        self.texts = [str(action) for action in self.actions]
        self.numbers = {action: number for number, action in enumerate(self.actions)}
        self.chance = [game.action(text) for text in chance]
        self.outcome_numbers = {action: number for number, action in enumerate(self.chance)}

    @abstractmethod
    def start(self, deal: Deal) -> Position:
        """Return the position after a finished deal."""

    @abstractmethod
    def rebuild(self, deal: Deal, steps: list[Step], world: Position, player: int) -> tuple[Deal, list[int]]:
        """Return a deal and actions that lead to `world` with the same observations of `player` on the way.

        `player` cannot distinguish `world` from the position after `deal` and `steps`.
        """

    # For games with a deal before the first position:

    def outcomes(self, deal: Deal) -> Sequence[int]:
        """Return the possible next outcomes of an unfinished deal, all equally likely."""
        raise NotImplementedError

    def outcome_text(self, deal: Deal, outcome: int) -> str:
        raise NotImplementedError

    def deal_text(self, deal: Deal, player: int) -> str:
        """Return the text of a deal, perhaps unfinished, as `player` sees it."""
        raise NotImplementedError

    @property
    def utility_range(self) -> tuple[float, float]:
        return -1 / self.game.n_players, 1 - 1 / self.game.n_players


class Registration(NamedTuple):
    """The data that registers a game with OpenSpiel."""

    terms: Callable[[Game, int], GameTerms]
    long_name: str
    ruleset: str  # the default
    players: int  # the default
    least: int
    most: int


def registrations() -> dict[str, Registration]:
    """Return the registrations of all games by their ids."""
    packages = [f"engine_cy.{module.name}" for module in iter_modules(engine_cy.__path__) if module.ispkg]
    found = {
        game_id: registration
        for package in packages
        if find_spec(f"{package}.openspiel_terms")
        for game_id, registration in import_module(f"{package}.openspiel_terms").REGISTRATIONS.items()
    }
    return {game_id: found[game_id] for game_id in engine_cy.game_ids() if game_id in found}
