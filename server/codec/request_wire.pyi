from engine_cy import Game, View
from server.codec.numbers import Numbers

def read_request(raw: bytes, games: dict[bytes, Game], numbers: dict[str, Numbers]) -> tuple[View, bytes] | None:
    """The view that a request begins with, and the bytes of all else; None if it is not to be read here. `games` has
    those that are known, by the bytes of their messages, and `numbers` those of a game's id."""
