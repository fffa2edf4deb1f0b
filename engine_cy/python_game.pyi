from collections.abc import Callable
from typing import Any, Final

from engine_cy.game_rules import GameRules
from engine_cy.values import Game, GameState, Position

TEXT_MAX: Final[int]
ACTIONS_MAX: Final[int]
OPTIONS_MAX: Final[int]
PLAYERS_MAX: Final[int]

class PythonGame(Game):
    """A game whose rules are a `GameRules`. Made by `python_game` and `new_game`."""

    def __init__(
        self,
        game_rules: GameRules[Any],
        id: str,
        ruleset: str,
        players: int,
        origin: tuple[Callable[..., Any], tuple[Any, ...]] | None = None,
    ) -> None: ...
    @property
    def game_rules(self) -> GameRules[Any]: ...
    @property
    def cache_size(self) -> int:
        """The number of states in the cache."""

    def value(self, table: GameState) -> Any:
        """Return a position or view as a state of the rules."""

    def at(self, value: Any) -> Position:
        """Return the position of a state of the rules."""

def python_game(
    rules: type[GameRules[Any]], ruleset: str | None = None, players: int | None = None, id: str | None = None
) -> PythonGame:
    """Return the game of a subclass of GameRules; without an id, under the name of its class."""
