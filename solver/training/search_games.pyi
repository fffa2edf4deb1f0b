from typing import Self, final

from engine_cy.values import Game
from solver.config import Config

@final
class SearchGames:
    """Play games of one ruleset, without Python between the deal and the end of a game.

    `population` lists configurations with the iterations of a move, and the probability of a random decision instead
    of their own; `weights` how often a seat draws each.

    Without weights, the first of two plays against copies of the second, each deal once in every seat: these are the
    games of `solver.match` with the same seed, if both search.
    """

    def __new__(
        cls, game: Game, seed: int, population: list[tuple[Config, int, float]], weights: list[int] | None = None
    ) -> Self: ...
    def play(self, begin: int, end: int) -> bytes:
        """Return the games from number `begin` to `end` - 1, as bytes; solver/training/games.py reads them."""
