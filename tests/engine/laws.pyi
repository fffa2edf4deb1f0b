from engine_cy.values import Game

class Fault(Exception):
    """The engine broke one of its own laws."""

def check_random_games(game: Game, n_games: int, seed: int = 0) -> int:
    """Play random games and check all laws after each action; return the number of actions, or raise Fault."""
