"""Format answers: tables and numbers for people, JSON for programs.

Colours appear on terminals only, and never under NO_COLOR.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import click
from google.protobuf.message import Message
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from engine_cy.seats import CHANCE_SEAT, SEATS
from server.codec.json_mapping import to_json
from server.games.continuation import Step
from server.languages import Words

# Line width of an output that has none.
WIDTH = 80
# Blanks between the columns of a table, and the least width of a column of text.
GAP = 3
TEXT_LEAST = 8
# The least width of a column of moves in words, on a line of at least `WIDTH`.
MOVE_LEAST = 24


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # rich would exit with another code.
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints text literally, without markup."""
    console = _Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in console._environ:
        console.width = WIDTH
    return console


class _Table(Table):
    """Table that omits its last columns if they do not fit on a line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = copy(self)
        widths = [_least_width(console, options, column) for column in self.columns]
        columns = [
            replace(column, min_width=width) if column.min_width else column
            for column, width in zip(self.columns, widths, strict=True)
        ]
        while len(widths) > 1 and sum(widths) + GAP * (len(widths) - 1) > options.max_width:
            widths.pop()
        shown.columns = columns[: len(widths)]
        yield from Table.__rich_console__(shown, console, options)


def _least_width(console: Console, options: ConsoleOptions, column: Column) -> int:
    """Return the width of the numbers in a column, or of its longest word, at most `TEXT_LEAST`, or its own least."""
    sizes = [Measurement.get(console, options, cell) for cell in (column.header, *column.cells)]
    if column.min_width and options.max_width >= WIDTH:
        return min(column.min_width, max(size.maximum for size in sizes))
    return max(size.maximum if column.no_wrap else min(size.minimum, TEXT_LEAST) for size in sizes)


def table(*columns: str, right: Sequence[str] = (), moves: str = "") -> Table:
    """Make a table without frames, most important columns first; those in `right` hold numbers, `moves` moves."""
    result = _Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0), header_style="bold", show_edge=False
    )
    for name in columns:
        if name in right:
            result.add_column(name, justify="right", no_wrap=True)
        else:
            result.add_column(name, overflow="fold", min_width=MOVE_LEAST if name == moves else None)
    return result


def print_json(answer: Message | dict[str, Any]) -> None:
    """Print an answer as JSON, of a message in protobuf's mapping; on a terminal over several lines."""
    fields = to_json(answer) if isinstance(answer, Message) else answer
    click.echo(json.dumps(fields, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


# --- numbers ---------------------------------------------------------------------------------------------------


def percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f}\u00a0%"


def win(estimate: Any) -> str:
    """Format a share of the win in percent, with its standard error if known."""
    return _with_error(estimate, 100)


def points(estimate: Any) -> str:
    return _with_error(estimate, 1)


def difference(estimate: Any, unit: float = 1) -> str:
    """Format a difference, with its sign and standard error."""
    return _with_error(estimate, unit, "+")


def likeliest(chances: Iterable[tuple[str, float]], most: int, words: Words) -> str:
    """Format the likeliest cards, at most `most`, and the number of the others."""
    ordered = sorted(chances, key=lambda chance: -chance[1])
    text = ", ".join(f"{name} {percent(chance)}" for name, chance in ordered[:most])
    return text + (f", {words.say('others', n=len(ordered) - most)}" if len(ordered) > most else "")


def count(number: float) -> str:
    """Format a whole number in groups of three digits, from 1e12 on as a power of ten."""
    return f"{number:,.0f}".replace(",", "\u00a0") if number < 1e12 else f"{number:.1e}"


def seconds(duration: Any) -> str:
    """Format a Duration message."""
    value = duration.ToMicroseconds() / 1e6
    return f"{value:.2f} s" if value >= 0.1 else f"{1000 * value:.1f} ms"


def _with_error(estimate: Any, unit: float, sign: str = "") -> str:
    error = _error_of(estimate)
    text = f"{unit * estimate.mean:{sign}.1f}"
    return text if error is None else f"{text} ± {unit * error:.1f}"


def _error_of(estimate: Any) -> float | None:
    if not isinstance(estimate, Message):
        return float(estimate.error)
    return float(estimate.standard_error) if estimate.HasField("standard_error") else None  # type: ignore[attr-defined]


def heading(text: str) -> Text:
    return Text(text, style="bold")


def move(words: str, notation: str, style: str = "") -> Text:
    """Format a move in words, with its notation beside it; a game without words has only this."""
    return Text(notation, style) if words == notation else Text.assemble((words, style), "  ", (notation, "dim"))


def told_line(steps: Iterable[Step]) -> Text:
    """Format a line of play in words, each move with its seat and its notation."""
    return Text("; ").join(Text.assemble(f"{step.letter} ", move(step.words, step.notation)) for step in steps)


def line(actions: Iterable[Any]) -> str:
    """Format a sequence of SeenAction messages in notation, each with its seat."""
    return ", ".join(
        f"{SEATS[action.seat - 1] if action.seat else CHANCE_SEAT} {action.action.text}" for action in actions
    )
