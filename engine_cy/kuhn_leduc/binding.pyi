from engine_cy.values import Game

class Poker(Game):
    """Kuhn or Leduc poker.

    The text of a position is the course of the game: the cards of A and B, the moves, the public card, the moves of the
    second round, as in `K Q | pass bet` or `Ka Qb | call call | Qa | raise`. `-` is a card that is not dealt yet, `?` a
    card that the observer of a view does not see; `| first B` and `| seen by A` follow where they apply.
    """

    def __init__(self, game: str, ruleset: object, players: object) -> None: ...
    @property
    def cards(self) -> tuple[str, ...]:
        """The names of the cards, weakest first."""

GAMES: dict[str, type[Game]]
PLACE: int
