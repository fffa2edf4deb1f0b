from engine_cy.values import Game

class Poker(Game):
    """Kuhn's or Leduc poker.

    A position is written as what has happened: the cards of A and B, the moves, the card turned up, the moves again,
    as in `K Q | pass bet` or `Ka Qb | call call | Qa | raise`. `-` is a card that is not dealt yet, `?` one that the
    observer of a view does not see; `| first B` and `| seen by A` follow where they apply.
    """

    def __init__(self, game: str, ruleset: object, players: object) -> None: ...
    @property
    def cards(self) -> tuple[str, ...]:
        """The names of the cards, weakest first."""
