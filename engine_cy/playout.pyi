from engine_cy.game import Action, Game, Position

class Fault(Exception):
    """The engine broke one of its own laws."""

def perft(position: Position, depth: int) -> int:
    """The number of sequences of `depth` whole decisions (and chance outcomes) from `position`, forced ones included.

    A game that ends earlier counts nothing.
    """

def perft_split(position: Position, depth: int) -> dict[Action, int]:
    """The sequences of `depth` decisions behind each first action."""

def play_watched(game: Game, n_games: int, seed: int = 0) -> int:
    """Play random games action by action, all laws checked after each; return the actions played, or raise Fault."""
