from engine_cy.castle_village_port.table import Deal, TableShape
from engine_cy.values import Game, Position

class CastleVillagePort(Game):
    """Castle, Village, Port with the house's tables or a caller's."""

    def __init__(self, game: str, ruleset: object, players: int) -> None: ...
    @property
    def shape(self) -> TableShape: ...
    def from_deal(self, deal: Deal) -> Position:
        """Return the start of a game from its `Deal`."""

    def deal_of(self, start: Position) -> Deal | None:
        """Return the `Deal` of the game that starts at `start`; None in the middle of a game."""

GAMES: dict[str, type[Game]]
PLACE: int
