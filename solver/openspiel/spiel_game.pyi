from collections.abc import Callable
from typing import Any, Final

from engine_cy.values import Game, GameState, Position

HISTORY_MAX: Final[int]
NUMBERS: Final[int]
OPTIONS_MAX: Final[int]
PLAYERS_MAX: Final[int]

class SpielGame(Game):
    """A game of OpenSpiel, for our search. Made by `from_openspiel`."""

    def __init__(self, spiel: Any, room: int, perfect: bool, public_text: Callable[[Any], str] | None) -> None: ...
    @property
    def spiel(self) -> Any:
        """The game of OpenSpiel."""

    @property
    def cache_size(self) -> int:
        """The number of OpenSpiel's states in the cache."""

    def at(self, spiel_state: Any) -> Position:
        """Return the position of a state of OpenSpiel's game, which must have a history."""

    def as_state(self, table: GameState) -> Any:
        """Return OpenSpiel's state of a position; for a view, that of the world that represents it."""
