"""Draw a table as its observer sees it, in text of 80 columns that needs no colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from engine_cy import Game, Position, View
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.seats import SEATS
from server.card_names import castle_name
from server.cli.pages.win_chart import TERMINAL_COLORS

WIDTH = 80
SLOT = 16  # columns of a slot; five slots fit on a line


def draw(view: View | Position, seats: Sequence[str] = ()) -> Text:
    """Draw a table with the cards that are known in `view`; `seats` names the players."""
    text = _heading(view, seats)
    text.append_text(_queue(view) if isinstance(view.game, Oriflamme) else _rows(view))
    text.rstrip()
    lines = text.wrap(Console(width=WIDTH), WIDTH)
    for line in lines:
        line.rstrip()
    return Text("\n").join([*lines, Text()])


def letter(seat: int) -> Text:
    return Text(SEATS[seat], style=f"bold {TERMINAL_COLORS[seat]}")


def _heading(view: View | Position, seats: Sequence[str]) -> Text:
    table = view.table
    turn = f", turn {table.turn}" if hasattr(table, "turn") else ""
    text = Text(f"Round {table.round}{turn}, first {SEATS[table.first]}  ")
    owned = table.points if hasattr(table, "points") else table.gold
    for seat in range(view.game.n_players):
        text.append("  ")
        text.append_text(letter(seat))
        player = f" {seats[seat]}" if seats else ""
        text.append(f"{player} {owned[seat]}")
        if view.to_act == seat:
            text.append("◄", style="bold")
    text.append("\n")
    return text


def _whose(seat: int, view: View | Position) -> str:
    return f"Your hand ({SEATS[seat]})" if isinstance(view, View) else f"Hand of {SEATS[seat]}"


# --- Oriflamme ------------------------------------------------------------------------------------------------


def _queue(view: View | Position) -> Text:
    table, names = view.table, _names(view.game)
    text = Text()
    if not table.slots:
        text.append("(no card is on the table)\n", style="dim")
    per_line = WIDTH // SLOT
    for begin in range(0, len(table.slots), per_line):
        slots = list(enumerate(table.slots))[begin : begin + per_line]
        tops, middles, bottoms = Text(), Text(), Text()
        for number, slot in slots:
            card, style = slot[0], TERMINAL_COLORS[slot[0].family]
            mark = f"►{number}" if table.cursor == number else str(number)
            below = f"+{len(slot) - 1}" if len(slot) > 1 else ""
            tokens = f"●{card.tokens}" if card.tokens else ""
            inside = SLOT - 3
            tops.append(f"┌{mark:─<{inside}}┐ ", style=f"bold {style}" if table.cursor == number else style)
            bottoms.append(f"└{tokens + below:─>{inside}}┘ ", style=style)
            middles.append("│", style=style)
            middles.append(SEATS[card.family], style=f"bold {style}")
            middles.append(_face(card, names, inside - 1))
            middles.append("│ ", style=style)
        for line in (tops, middles, bottoms):
            line.rstrip()
            text.append_text(line)
            text.append("\n")
    for seat, hand in enumerate(table.hands):
        if hand is not None:
            text.append(f"{_whose(seat, view)}: {', '.join(names[card] for card in hand) or 'empty'}\n")
    return text


def _face(card: Any, names: dict[str, str], width: int) -> str:
    """Draw a card: face down hatched, followed by its name if the observer knows it."""
    if card.card is None:
        return "▒" * width
    name = names[card.card]
    shown = name if len(name) < width else f"{name[: width - 2]}."
    return f"{' ' if card.face_up else '▒'}{shown:<{width - 1}}"


def _names(game: Game) -> dict[str, str]:
    assert isinstance(game, Oriflamme)
    return {card.id: card.name for card in game.cards}


# --- Castle, Village, Port ------------------------------------------------------------------------------------


def _rows(view: View | Position) -> Text:
    table = view.table
    names = {card.value: castle_name(card.name) for card in view.game.ruleset.cards}
    text = Text()
    for location, row in zip(("castle", "village", "port"), table.rows, strict=True):
        text.append(f"{location:<8}", style="dim")
        for number, card in enumerate(row):
            text.append(" · " if number else " ")
            mark = "►" if table.acting == card else ""
            text.append(f"{mark}{card.value}{SEATS[card.owner]}", style=f"bold {TERMINAL_COLORS[card.owner]}")
            if len(row) < 6 and names[card.value]:
                text.append(f" {names[card.value]}")
        text.append("\n" if row else " -\n")
    text.append("selected", style="dim")
    for seat, value in enumerate(table.selected):
        text.append("  ")
        text.append_text(letter(seat))
        text.append(f" {'-' if value == 0 else '▒▒' if value is None else f'{value} {names[value]}'.strip()}")
        if table.orders[seat]:
            text.append(f" (to the {table.orders[seat]})")
    text.append("\n")
    for seat, hand in enumerate(table.hands):
        if hand is not None:
            cards = ", ".join(f"{value} {names[value]}".strip() for value in hand)
            text.append(f"{_whose(seat, view)}: {cards or 'empty'}\n")
    return text
