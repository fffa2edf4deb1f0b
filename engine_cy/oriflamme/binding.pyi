from collections.abc import Mapping

from engine_cy.oriflamme.cards import Card
from engine_cy.oriflamme.editions import Value
from engine_cy.oriflamme.table import Deal, TableShape
from engine_cy.values import Game, Position

class Oriflamme(Game):
    """Oriflamme or its prototype, which share the rules code."""

    def __init__(self, game: str, ruleset: str | Mapping[str, Value] | None, players: int) -> None: ...
    @property
    def cards(self) -> tuple[Card, ...]: ...
    @property
    def shape(self) -> TableShape: ...
    def from_deal(self, deal: Deal) -> Position:
        """Return the start of a game from its `Deal`."""

    def deal_of(self, start: Position) -> Deal | None:
        """Return the `Deal` of the game that starts at `start`; None in the middle of a game."""

GAMES: dict[str, type[Game]]
PLACE: int
