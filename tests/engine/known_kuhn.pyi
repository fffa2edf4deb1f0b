from engine_cy.values import Game

def known_kuhn() -> Game:
    """Return the game."""
