from collections.abc import Mapping

from engine_cy.oriflamme.cards import Card
from engine_cy.oriflamme.editions import Value
from engine_cy.oriflamme.table import TableShape
from engine_cy.table_game import TableGame
from engine_cy.values import Game

class Oriflamme(TableGame):
    """Oriflamme or its prototype, which share the rules code."""

    def __init__(self, game: str, ruleset: str | Mapping[str, Value] | None, players: int) -> None: ...
    @property
    def cards(self) -> tuple[Card, ...]: ...
    @property
    def shape(self) -> TableShape: ...

GAMES: dict[str, type[Game]]
PLACE: int
