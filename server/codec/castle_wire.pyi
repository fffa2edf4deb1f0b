from engine_cy import View
from engine_cy.castle_village_port.api import CastleVillagePort
from server.codec.numbers import Numbers

def read_view(game: CastleVillagePort, raw: bytes, numbers: Numbers) -> View | None:
    """The view that a message says, None if it is not to be read here."""
