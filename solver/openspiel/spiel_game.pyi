from collections.abc import Callable
from typing import Any, Final

from engine_cy.values import Game, GameState, Position

HISTORY_MAX: Final[int]
NUMBERS: Final[int]
OPTIONS_MAX: Final[int]
PLAYERS_MAX: Final[int]

class SpielGame(Game):
    """A game of OpenSpiel, for our search. Made by `from_openspiel`."""

    def __init__(self, spiel: Any, room: int, perfect: bool, seen_by_all: Callable[[Any], str] | None) -> None: ...
    @property
    def spiel(self) -> Any:
        """OpenSpiel's game."""

    @property
    def kept(self) -> int:
        """How many states of OpenSpiel's are kept."""

    def at(self, spiel_state: Any) -> Position:
        """The position that a state of OpenSpiel's game stands for; it has to have a history."""

    def as_state(self, table: GameState) -> Any:
        """OpenSpiel's state of a position; of a view, that of the world that stands for it."""
