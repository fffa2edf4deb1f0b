"""The engine: exact rules, states of plain bytes, and the C interface through which a search plays any game."""

from engine_cy.errors import (
    EngineError,
    GameFaultError,
    HiddenCardError,
    IllegalActionError,
    InvalidPositionError,
    InvalidRecordError,
    InvalidRulesetError,
    InvalidViewError,
    NotationError,
    NoWorldError,
)
from engine_cy.game_rules import GameRules
from engine_cy.python_game import python_game
from engine_cy.registry import GameSource, editions_of, game_ids, game_sources, new_game, players_of
from engine_cy.seats import CHANCE
from engine_cy.support.rng import Rng
from engine_cy.values import Action, Game, Position, View

__all__ = [
    "CHANCE",
    "Action",
    "EngineError",
    "Game",
    "GameFaultError",
    "GameRules",
    "GameSource",
    "HiddenCardError",
    "IllegalActionError",
    "InvalidPositionError",
    "InvalidRecordError",
    "InvalidRulesetError",
    "InvalidViewError",
    "NoWorldError",
    "NotationError",
    "Position",
    "Rng",
    "View",
    "editions_of",
    "game_ids",
    "game_sources",
    "new_game",
    "players_of",
    "python_game",
]
