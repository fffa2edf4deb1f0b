from engine_cy.castle_village_port.table import TableShape
from engine_cy.table_game import TableGame
from engine_cy.values import Game

class CastleVillagePort(TableGame):
    """Castle, Village, Port with the house's tables or a caller's."""

    def __init__(self, game: str, ruleset: object, players: int) -> None: ...
    @property
    def shape(self) -> TableShape: ...

GAMES: dict[str, type[Game]]
PLACE: int
