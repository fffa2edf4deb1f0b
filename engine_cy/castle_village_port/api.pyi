from engine_cy.castle_village_port.table import Draft, Frame, Table
from engine_cy.game import Game, Position, View

class CastleVillagePort(Game):
    """Castle, Village, Port with the house's tables or a caller's."""

    def __init__(self, game: str, ruleset: object, players: int) -> None: ...
    @property
    def frame(self) -> Frame: ...
    def from_table(self, table: Table | Draft) -> Position | View:
        """The position, or the view if it has an observer, that a table or a draft of one describes."""
