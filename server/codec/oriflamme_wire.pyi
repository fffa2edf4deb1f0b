from engine_cy import Game, View
from engine_cy.oriflamme.api import Oriflamme

class Numbers:
    """The engine's numbers of cards and of questions by those of the contract."""

    def __init__(self, kinds: dict[int, int], asks: dict[int, int]) -> None: ...

def read_request(raw: bytes, games: dict[bytes, Game], numbers: dict[str, Numbers]) -> tuple[View, bytes] | None:
    """The view that a request begins with, and the bytes of all else; None if it is not to be read here. `games` has
    those that are known, by the bytes of their messages, and `numbers` those of a game's id."""

def read_view(game: Oriflamme, raw: bytes, numbers: Numbers) -> View | None:
    """The view that a message says, None if it is not to be read here."""
