from engine_cy.values import Game

class LiarsDice(Game):
    """Liar's Dice. The text of a table is the dice of each player, the bids, and the first player."""

    def __init__(self, game: str, ruleset: object, players: object) -> None: ...
