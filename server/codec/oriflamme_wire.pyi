from engine_cy import View
from engine_cy.oriflamme.api import Oriflamme
from server.codec.numbers import Numbers

def read_view(game: Oriflamme, raw: bytes, numbers: Numbers) -> View | None:
    """The view that a message says, None if it is not to be read here."""
