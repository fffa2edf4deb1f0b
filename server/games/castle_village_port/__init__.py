"""The adapter of Castle, Village, Port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from google.protobuf.message import Message

from eminence.v1 import rules_pb2, view_pb2
from engine_cy import CHANCE, Game, Position, View
from engine_cy.castle_village_port import editions
from engine_cy.castle_village_port.table import EFFECT_ASKS
from engine_cy.errors import listed
from engine_cy.seats import SEATS
from server.codec.plans import Plan
from server.games.adapter import Names, Ruleset, names_from
from server.games.castle_village_port import descriptions, messages, narration, pictures
from server.games.castle_village_port.narration import AREA
from server.games.message_adapter import MessageAdapter
from server.games.narration import COMMON
from server.languages import DEFAULT, words_of
from server.refusals import Refusal, missing


class CastleVillagePortAdapter(MessageAdapter):
    member = "castle_village_port"
    about = "tables and actions of Castle, Village, Port"
    unit = "gold"
    card_keys = ("value", "when")
    plans = messages.PLANS

    changes_field = staticmethod(messages.changes_field)
    describe_cards = staticmethod(descriptions.describe_cards)
    describe_game = staticmethod(descriptions.describe_game)
    number_name = staticmethod(descriptions.number_name)
    tables = staticmethod(descriptions.tables)
    card_lines = staticmethod(descriptions.card_lines)
    card_text = staticmethod(descriptions.card_text)

    draw = staticmethod(pictures.draw)
    picture = staticmethod(pictures.picture)
    picture_names = staticmethod(pictures.names_in)
    choice = staticmethod(narration.choice)
    narrate = staticmethod(narration.narrate)
    effects = staticmethod(narration.effects)
    prompt = staticmethod(narration.prompt)

    def spelled_out(self, edition: str) -> Ruleset:
        return editions.EDITIONS[edition].spelled_out()

    def edition(self, game: Game) -> str:
        return str(game.ruleset.edition)

    def switches(self) -> Iterator[rules_pb2.SwitchInfo]:
        return descriptions.switches()

    def kind_names(self, game: Game, language: str = DEFAULT) -> dict[str, str]:
        names = descriptions.value_names(game, language)
        return {str(value): f"{value} {name}".strip() for value, name in names.items()}

    def is_choice_simultaneous(self, table: View | Position) -> bool:
        return bool(table.table.ask == "select")

    def edition_names(self, edition: str) -> Names:
        return names_from(AREA, f"edition.{edition}") or super().edition_names(edition)

    # --- messages ---

    def read_changes(self, message: Any, field: str) -> dict[str, Any]:
        return messages.from_contract(super().read_changes(message, field))

    def write_changes(self, changes: Mapping[str, Any]) -> Message:
        return super().write_changes(messages.to_contract(changes))

    def prepare(self, game: Any, parts: Any, field: str, known: View | None) -> Any:
        table = parts.table
        if table.ask == "replace":
            if table.to_act is not None:
                raise Refusal("CONTRADICTION", f"{field}.table.to_act", "a seat is given, but chance replaces a card")
            table = replace(table, to_act=CHANCE)
        elif table.to_act is None and table.ask != "over":
            raise missing(f"{field}.table.to_act", "a seat is required: the game is not over")
        if table.acting is None and table.ask in EFFECT_ASKS:
            raise missing(f"{field}.table.acting", f"the card that asks to {table.ask} is required")
        if known is not None and table.remembered_gold is None:
            table = replace(table, remembered_gold=known.table.remembered_gold)
        if parts.observer is None or not game.shape.hidden_gold:
            if table.gold is None:
                raise missing(f"{field}.table.gold")
        elif table.gold is not None:
            raise Refusal("CONTRADICTION", f"{field}.table.gold", "is hidden in this game; use remembered_gold")
        elif table.remembered_gold is None:
            why = "is required if gold is hidden, because every gain was public; a history can replace it"
            raise missing(f"{field}.table.remembered_gold", why)
        return replace(parts, table=table)

    def _written(self, game: Any, plan: Plan, value: Any) -> Message | None:
        message: Any = super()._written(game, plan, value)
        # The engine has an entry for each seat, though there may be no order.
        if message is not None and "table" in message.DESCRIPTOR.fields_by_name and not any(message.table.orders):
            message.table.ClearField("orders")
        return message  # type: ignore[no-any-return]

    def spell_card(self, game: Any, name: str, field: str) -> str:
        if not name.isdecimal() or not name.isascii():
            raise Refusal("INVALID_NOTATION", field, f"{name!r} is no card's value (1 to 15)")
        return self.card_of(game, int(name), field)

    def card_of(self, game: Any, number: int, field: str) -> str:
        if number not in game.shape.values:
            why = f"{number} is no card of this table ({listed(game.shape.values)})"
            raise Refusal("INVALID_NOTATION", field, why)
        return str(number)

    def number_of(self, game: Any, name: str) -> int:
        return int(name)

    # --- words and pictures ---

    def place_of(self, place: Mapping[str, int | str], language: str = DEFAULT) -> str:
        return words_of(AREA, language).say("selected")

    def place_in(self, spot: view_pb2.Spot, language: str = DEFAULT) -> str:
        return self.place_of({}, language)

    def cards(self, game: Any) -> Iterator[rules_pb2.CardInfo]:
        rows: Any = self.write_changes(game.ruleset.spelled_out())
        for card, row, words in zip(game.ruleset.cards, rows.cards, descriptions.card_words(game), strict=True):
            yield rules_pb2.CardInfo(
                card=self.write_card(game, str(card.value)),
                names=descriptions.names_of(card).message(),
                copies=1,
                meaning=words.meaning.message(),
                when=words.when.message(),
                effect=words.effect.message(),
                castle_village_port=row,
            )

    def locations(self, game: Any) -> Iterator[rules_pb2.LocationInfo]:
        return descriptions.locations(game)

    def round_of(self, table: View | Position) -> int:
        number: int = table.table.round
        return number

    def draw_heading(self, view: View | Position, language: str = DEFAULT) -> str:
        table = view.table
        return words_of(COMMON, language).say("turn", round=table.round, turn=table.turn, first=SEATS[table.first])

    def owned(self, view: View | Position) -> Sequence[int]:
        gold: Sequence[int] = view.table.known_gold
        return gold

    def card_title(self, card: Mapping[str, Any], language: str = DEFAULT) -> str:
        return words_of(AREA, language).say("title", name=card["names"][language], value=card["value"])


ADAPTERS = (
    CastleVillagePortAdapter(
        "castle_village_port",
        Names("Castle, Village, Port", "Château, Village, Port", "Schloss, Dorf, Hafen"),
        messages.TABLES,
    ),
)
