"""Draw a table as its observer sees it, in text of 80 columns that needs no colours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from engine_cy import Position, View
from engine_cy.seats import SEATS
from server.cli.pages.win_chart import TERMINAL_COLORS
from server.games import adapter_of
from server.games.adapter import StyledText
from server.languages import DEFAULT

WIDTH = 80


def draw(view: View | Position, seats: Sequence[str] = (), language: str = DEFAULT) -> Text:
    """Draw a table with the cards that are known in `view`; `seats` names the players."""
    text = _paint(_heading(view, seats, language))
    text.append_text(_paint(adapter_of(view.game.id).draw(view, language)))
    text.rstrip()
    lines = text.wrap(Console(width=WIDTH), WIDTH)
    for line in lines:
        line.rstrip()
    return Text("\n").join([*lines, Text()])


def letter(seat: int) -> Text:
    return _paint([StyledText(SEATS[seat], "bold", seat)])


def _paint(spans: Iterable[StyledText]) -> Text:
    text = Text()
    for span in spans:
        color = "" if span.seat is None else TERMINAL_COLORS[span.seat]
        text.append(span.text, style=f"{span.style} {color}".strip())
    return text


def _heading(view: View | Position, seats: Sequence[str], language: str) -> Iterator[StyledText]:
    """Draw the round and the points of each seat; a mark follows the seat to act."""
    adapter = adapter_of(view.game.id)
    heading = adapter.draw_heading(view, language)
    yield StyledText(f"{heading}  " if heading else "")
    for seat, number in enumerate(adapter.owned(view)):
        yield StyledText("  ")
        yield StyledText(SEATS[seat], "bold", seat)
        yield StyledText(f"{f' {seats[seat]}' if seats else ''} {number}")
        if view.to_act == seat:
            yield StyledText("◄", "bold")
    yield StyledText("\n")
