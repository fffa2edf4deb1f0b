"""The adapter of Castle, Village, Port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eminence.v1 import rules_pb2, solver_pb2
from engine_cy import Game, Position, View
from engine_cy.castle_village_port import editions
from engine_cy.seats import SEATS
from server.games.adapter import GameAdapter, Names, Ruleset
from server.games.castle_village_port import messages, pictures, words
from solver.named_beliefs import HiddenCard


class CastleVillagePortAdapter(GameAdapter):
    member = "castle_village_port"
    about = "tables and actions of Castle, Village, Port"
    shown_field = "shown_values"
    card_keys = ("value", "when")

    read_changes = staticmethod(messages.read_tables)
    write_changes = staticmethod(messages.write_tables)
    changes_field = staticmethod(messages.changes_field)
    read_view = staticmethod(messages.read_view)
    write_view = staticmethod(messages.write_view)
    read_position = staticmethod(messages.read_position)
    write_position = staticmethod(messages.write_position)
    read_deal = staticmethod(messages.read_deal)
    write_deal = staticmethod(messages.write_deal)
    read_action = staticmethod(messages.read_action)
    write_action = staticmethod(messages.write_action)
    read_shown = staticmethod(messages.read_shown)
    tidy_shown = staticmethod(messages.tidy_shown)
    write_shown = staticmethod(messages.write_shown)
    write_belief = staticmethod(messages.write_belief)
    write_information = staticmethod(messages.write_information)

    cards = staticmethod(words.cards)
    describe_cards = staticmethod(words.describe_cards)
    describe_game = staticmethod(words.describe_game)
    tables = staticmethod(words.tables)
    card_lines = staticmethod(words.card_lines)

    draw = staticmethod(pictures.draw)
    picture = staticmethod(pictures.picture)

    def spelled_out(self, edition: str) -> Ruleset:
        return editions.EDITIONS[edition].spelled_out()

    def edition(self, game: Game) -> str:
        return str(game.ruleset.edition)

    def switches(self) -> Iterator[rules_pb2.SwitchInfo]:
        return words.switches()

    def card_name(self, card: solver_pb2.CardProbability, game: Any) -> str:
        name = next((row.name for row in game.ruleset.cards if row.value == card.value), "")
        return f"{card.value} {name}".rstrip()

    def card_notation(self, card: solver_pb2.CardProbability, game: Game) -> str:
        return str(card.value)

    def own_card(self, card: solver_pb2.CardInformation) -> tuple[str, str]:
        return str(card.value), "selected"

    def kind_names(self, game: Game) -> dict[str, str]:
        return {str(value): f"{value} {name}".strip() for value, name in words.value_names(game).items()}

    def place_of(self, card: HiddenCard) -> str:
        return "selected card"

    def round_of(self, table: View | Position) -> int:
        number: int = table.table.round
        return number

    def draw_heading(self, view: View | Position) -> str:
        return f"Round {view.table.round}, turn {view.table.turn}, first {SEATS[view.table.first]}"

    def owned(self, view: View | Position) -> Sequence[int]:
        gold: Sequence[int] = view.table.gold
        return gold

    def card_title(self, card: Mapping[str, Any]) -> str:
        return f"{card['names']['en']}, value {card['value']}"


ADAPTERS = (
    CastleVillagePortAdapter(
        "castle_village_port", Names("Castle, Village, Port", "Château, Village, Port", "Schloss, Dorf, Hafen")
    ),
)
