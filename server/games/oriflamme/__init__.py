"""The adapter of Oriflamme and its prototype, which share messages, words and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from eminence.v1 import rules_pb2, solver_pb2
from engine_cy import Game, Position, View
from engine_cy.oriflamme import editions
from engine_cy.seats import SEATS
from server.games.adapter import GameAdapter, Names, Ruleset
from server.games.oriflamme import messages, pictures, words
from server.games.oriflamme.messages import CARDS
from solver.named_beliefs import HiddenCard


class OriflammeAdapter(GameAdapter):
    member = "oriflamme"
    about = "tables and actions of Oriflamme and its prototype"
    shown_field = "shown_cards"
    card_keys = ("card", "text_name", "points_at", "amount", "besides", "switches")

    read_changes = staticmethod(messages.read_switches)
    write_changes = staticmethod(messages.write_switches)
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
        return {"edition": edition, **editions.EDITIONS[edition].switches}

    def edition(self, game: Game) -> str:
        return str(game.ruleset.edition)

    def switches(self) -> Iterator[rules_pb2.SwitchInfo]:
        return words.switches(self.game_id)

    def describe_switches(self) -> list[dict[str, Any]]:
        return words.describe_switches(self.game_id)

    def card_name(self, card: solver_pb2.CardProbability, game: Game) -> str:
        return _name(card.oriflamme, card.name)

    def card_notation(self, card: solver_pb2.CardProbability, game: Any) -> str:
        kind = CARDS.words.get(card.oriflamme)
        return next((row.name for row in game.cards if row.id == kind), card.name)

    def own_card(self, card: solver_pb2.CardInformation) -> tuple[str, str]:
        return _name(card.card, card.name), _place(card.slot, card.depth)

    def kind_names(self, game: Any) -> dict[str, str]:
        return {card.name: words.names_of(card).en for card in game.cards}

    def place_of(self, card: HiddenCard) -> str:
        return _place(card.place["slot"], card.place["under"])

    def round_of(self, table: View | Position) -> int:
        number: int = table.table.round
        return number

    def draw_heading(self, view: View | Position) -> str:
        return f"Round {view.table.round}, first {SEATS[view.table.first]}"

    def owned(self, view: View | Position) -> Sequence[int]:
        points: Sequence[int] = view.table.points
        return points


def _name(number: int, name: str) -> str:
    """Return the English name of a card; `name` is set for a card of a custom edition."""
    return name or words.CARD_NAMES[CARDS.read(number, "card")].en


def _place(slot: int | str, depth: int | str) -> str:
    return f"slot {slot}" + (f", under {depth}" if depth else "")


ADAPTERS = (
    OriflammeAdapter("oriflamme", Names("Oriflamme", "Oriflamme", "Oriflamme")),
    OriflammeAdapter(
        "oriflamme_prototype", Names("Oriflamme (prototype)", "Oriflamme (prototype)", "Oriflamme (Prototyp)")
    ),
)
