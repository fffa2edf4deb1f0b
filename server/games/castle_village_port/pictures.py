"""The locations of Castle, Village, Port, drawn for the terminal and for reports."""

from __future__ import annotations

from collections.abc import Iterator

from engine_cy import Position, View
from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.castle_village_port.cards import LOCATIONS
from engine_cy.seats import SEATS
from server.games.adapter import (
    DrawnCard,
    Picture,
    StyledText,
    drawn_hands,
    drawn_piles,
    owned_by_letter,
    piles_by_letter,
)
from server.games.castle_village_port.descriptions import value_names
from server.games.castle_village_port.narration import AREA, title_of
from server.languages import DEFAULT, words_of


def draw(view: View | Position, language: str = DEFAULT) -> Iterator[StyledText]:
    """Draw the rows, the selected cards, the piles and the known hands."""
    table, names, words = view.table, value_names(view.game, language), words_of(AREA, language)
    for location, row in zip(LOCATIONS, table.rows, strict=True):
        yield StyledText(f"{words.say(f'row.{location}'):<8}", "dim")
        for number, card in enumerate(row):
            yield StyledText(" · " if number else " ")
            mark = "►" if table.acting == card else ""
            yield StyledText(f"{mark}{card.value}{SEATS[card.owner]}", "bold", card.owner)
            if len(row) < 6 and names[card.value]:
                yield StyledText(f" {names[card.value]}")
        yield StyledText("\n" if row else " -\n")
    yield StyledText(words.say("selected"), "dim")
    for seat, card in enumerate(_selected(view, names)):
        yield StyledText("  ")
        yield StyledText(SEATS[seat], "bold", seat)
        yield StyledText(f" {card or '▒▒' if seat in table.selected else '-'}")
        if table.orders[seat]:
            yield StyledText(f" {words.say('to', place=words.say(table.orders[seat]))}")
    yield StyledText("\n")
    yield from drawn_piles(table.piles, lambda value: _named(value, names), language)
    yield from drawn_hands(view, lambda value: _named(value, names), language)


def picture(view: View, language: str = DEFAULT) -> Picture:
    """Return the rows of the locations for a report."""
    table, names, words = view.table, value_names(view.game, language), words_of(AREA, language)
    rows = [
        (
            words.say(f"row.{location}"),
            [
                DrawnCard(SEATS[card.owner], names[card.value], "up", card.value, 0, table.acting == card)
                for card in row
            ],
        )
        for location, row in zip(LOCATIONS, table.rows, strict=True)
    ]
    hand = [_named(value, names) for value in view.parts.own.hand]
    cards = _selected(view, names)
    selected = [(SEATS[seat], cards[seat] or words.say("face_down")) for seat in table.selected]
    return Picture(
        rows=rows,
        hand=hand,
        owned=owned_by_letter(table.known_gold),
        selected=selected,
        piles=piles_by_letter(table.piles, lambda value: _named(value, names)),
    )


def names_in(game: CastleVillagePort, language: str) -> dict[str, str]:
    """Map the engine's names of the cards and locations to those in a language."""
    words = words_of(AREA, language)
    rows = {location: words.say(f"row.{location}") for location in LOCATIONS}
    return rows | {card.name: title_of(words, card) for card in game.ruleset.cards if card.name}


def _selected(view: View | Position, names: dict[int, str]) -> list[str]:
    """Return the name of each seat's selected card; empty for a hidden card, or without a selected one."""
    secrets = [view.parts.secrets_of(seat) for seat in range(view.game.n_players)]
    return [_named(own.selected, names) if own and own.selected else "" for own in secrets]


def _named(value: int, names: dict[int, str]) -> str:
    return f"{value} {names[value]}".strip()
