from collections.abc import Mapping

from engine_cy.game import Game, View
from engine_cy.oriflamme.cards import Card
from engine_cy.oriflamme.editions import Value
from engine_cy.oriflamme.table import Frame

class Oriflamme(Game):
    """Oriflamme and its prototype: one rules code."""

    def __init__(self, game: str, ruleset: str | Mapping[str, Value] | None, players: int) -> None: ...
    @property
    def cards(self) -> tuple[Card, ...]: ...
    @property
    def frame(self) -> Frame: ...
    def view_by_numbers(
        self,
        observer: int,
        phase: str,
        clock: tuple[int, int, int, int, int],
        points: list[int],
        queue: list[tuple[int, int, int, bool, int, int]],
        hand: list[int],
        piles: list[list[int]],
        hand_sizes: list[int],
    ) -> View | None:
        """A view that is said in numbers, kinds by their rows in `cards`; None where it is not one, or leaves anything
        out. What is wrong then, `from_table` says.

        `clock` is round, first player, player to act, cursor and acting kind, each of the last three -1 for none. In
        the `queue` stand slot, family, kind (-1: unknown), whether it lies face up, tokens and nth for each card, in a
        slot from the top down. No `hand_sizes` need be said.
        """
