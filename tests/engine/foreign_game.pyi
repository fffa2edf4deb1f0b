from engine_cy.values import Game

class ForeignGame(Game):
    """A game without functions: calling one would end the process. The ruleset names its fault."""

    def __init__(self, game: str, ruleset: object, players: object) -> None: ...
