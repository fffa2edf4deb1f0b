"""The adapter of Oriflamme and its prototype, which share messages, words and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from eminence.v1 import rules_pb2, view_pb2
from engine_cy import Game, Position, View
from engine_cy.errors import listed
from engine_cy.oriflamme import editions
from engine_cy.oriflamme.cards import read_card, write_card
from engine_cy.oriflamme.table import PlayedCard, Slot
from engine_cy.oriflamme.words import Nature
from engine_cy.seats import SEATS
from server.games.adapter import Names, Ruleset, names_from
from server.games.message_adapter import MessageAdapter
from server.games.narration import COMMON
from server.games.oriflamme import descriptions, narration, pictures
from server.games.oriflamme.messages import CARDS, PLANS, PROTOTYPE_SWITCHES, SWITCHES
from server.games.oriflamme.narration import AREA
from server.languages import DEFAULT, words_of
from server.refusals import Refusal, at, missing, under


class OriflammeAdapter(MessageAdapter):
    member = "oriflamme"
    about = "tables and actions of Oriflamme and its prototype"
    card_keys = ("card", "text_name", "points_at", "amount", "traits", "switches")
    plans = PLANS

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
        return {"edition": edition, **editions.EDITIONS[edition].switches}

    def cards(self, game: Any) -> Iterator[rules_pb2.CardInfo]:
        copies = game.shape.all_cards()
        for card, meaning, effect in zip(game.cards, *descriptions.effects_of(game), strict=True):
            yield rules_pb2.CardInfo(
                card=self.write_card(game, card.name),
                names=descriptions.names_of(card).message(),
                copies=copies[card.id],
                meaning=meaning.message(),
                one_shot=bool(card.nature & (Nature.ONE_SHOT | Nature.LEAVES)),
                effect=effect.message(),
            )

    def edition(self, game: Game) -> str:
        return str(game.ruleset.edition)

    def switches(self) -> Iterator[rules_pb2.SwitchInfo]:
        return descriptions.switches(self.game_id)

    def describe_switches(self, language: str = DEFAULT) -> list[dict[str, Any]]:
        return descriptions.describe_switches(self.game_id, language)

    def kind_names(self, game: Any, language: str = DEFAULT) -> dict[str, str]:
        return {card.name: descriptions.names_of(card).in_language(language) for card in game.cards}

    def edition_names(self, edition: str) -> Names:
        return names_from(AREA, f"edition.{edition}") or super().edition_names(edition)

    # --- messages ---

    def prepare(self, game: Any, parts: Any, field: str, known: View | None) -> Any:
        table = parts.table
        if table.to_act is None and table.ask != "over":
            raise missing(f"{field}.table.to_act", "a seat is required: the game is not over")
        if known is None:
            return parts
        # The history numbers the cards that the message does not.
        slots = tuple(
            slot._replace(cards=tuple(_numbered(card, known_card) for card, known_card in _pairs(slot, known_slot)))
            for slot, known_slot in zip_longest(table.slots, known.table.slots[: len(table.slots)])
        )
        return replace(parts, table=replace(table, slots=slots))

    def spell_card(self, game: Any, name: str, field: str) -> str:
        with at(field):
            return write_card(read_card(name, game.cards), game.cards)

    def card_of(self, game: Any, number: int, field: str) -> str:
        with under(field):
            card_id = CARDS.read(number, "")
        if card_id not in game.shape.ids:
            why = f"{card_id!r} is no card of this edition ({listed(game.shape.ids)})"
            raise Refusal("INVALID_NOTATION", field, why)
        return write_card(card_id, game.cards)

    def has_values(self, game: Any) -> bool:
        return CARDS.has_all(game.shape.ids)

    def number_of(self, game: Any, name: str) -> int:
        return int(CARDS.write(read_card(name, game.cards)))

    def write_spot(self, place: Mapping[str, int | str]) -> view_pb2.Spot:
        spot = super().write_spot(place)
        for name, value in place.items():
            setattr(spot.oriflamme, name, value)
        return spot

    # --- words and pictures ---

    def place_of(self, place: Mapping[str, int | str], language: str = DEFAULT) -> str:
        return words_of(AREA, language).say("place.under" if place["under"] else "place", **place)

    def place_in(self, spot: view_pb2.Spot, language: str = DEFAULT) -> str:
        return self.place_of({"slot": spot.oriflamme.slot, "under": spot.oriflamme.under}, language)

    def round_of(self, table: View | Position) -> int:
        number: int = table.table.round
        return number

    def draw_heading(self, view: View | Position, language: str = DEFAULT) -> str:
        return words_of(COMMON, language).say("round", round=view.table.round, first=SEATS[view.table.first])

    def owned(self, view: View | Position) -> Sequence[int]:
        points: Sequence[int] = view.table.points
        return points


def _pairs(slot: Slot, known: Slot | None) -> Iterator[tuple[PlayedCard, PlayedCard | None]]:
    """Yield the cards of a slot, each with the one in its place in `known`."""
    cards = known.cards[: len(slot.cards)] if known else ()
    yield from zip_longest(slot.cards, cards)


def _numbered(card: PlayedCard, known: PlayedCard | None) -> PlayedCard:
    return card if card.nth or known is None else card._replace(nth=known.nth)


ADAPTERS = (
    OriflammeAdapter("oriflamme", Names("Oriflamme", "Oriflamme", "Oriflamme"), SWITCHES),
    OriflammeAdapter(
        "oriflamme_prototype",
        Names("Oriflamme (prototype)", "Oriflamme (prototype)", "Oriflamme (Prototyp)"),
        PROTOTYPE_SWITCHES,
    ),
)
