from engine_cy.values import Game

class Fault(Exception):
    """The engine broke one of its own laws."""

def play_watched(game: Game, n_games: int, seed: int = 0) -> int:
    """Play random games action by action, all laws checked after each; return the actions played, or raise Fault."""
