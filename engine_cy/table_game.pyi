from typing import Any

from engine_cy.values import Game, Position

class TableGame(Game):
    """A game with a shape, declared actions, and tables that split into a public part and the secrets of each seat."""

    @property
    def shape(self) -> Any: ...
    def from_deal(self, deal: Any) -> Position:
        """Return the start of a game from its `Deal`."""

    def deal_of(self, start: Position) -> Any:
        """Return the `Deal` of the game that starts at `start`; None in the middle of a game."""
