"""How answers look: tables and numbers for people, JSON for programs. Colours only on a terminal, and never under
NO_COLOR."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

import click
from google.protobuf import json_format
from google.protobuf.message import Message
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from engine_cy.seats import CHANCE_SEAT, SEATS

# Where nothing says how wide a line may be.
WIDTH = 80
# Blanks between the columns of a table, and what a column of text is left in short lines.
GAP = 3
TEXT_LEAST = 8


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # rich would end the process with a code of its own.
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Where to print. Text is printed as it is: nothing in it is markup."""
    made = _Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal and "COLUMNS" not in made._environ:
        made.width = WIDTH
    return made


class _Table(Table):
    """A table that leaves out its last columns where a line has no room for them."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = copy(self)
        widths = [_least_width(console, options, column) for column in self.columns]
        while len(widths) > 1 and sum(widths) + GAP * (len(widths) - 1) > options.max_width:
            widths.pop()
        shown.columns = self.columns[: len(widths)]
        yield from Table.__rich_console__(shown, console, options)


def _least_width(console: Console, options: ConsoleOptions, column: Column) -> int:
    """Return the room that numbers need on one line, or that the longest word of text does, up to `TEXT_LEAST`."""
    sizes = [Measurement.get(console, options, cell) for cell in (column.header, *column.cells)]
    return max(size.maximum if column.no_wrap else min(size.minimum, TEXT_LEAST) for size in sizes)


def table(*columns: str, right: Sequence[str] = ()) -> Table:
    """A table without frames, the first columns the most important ones; those named in `right` hold numbers."""
    made = _Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0), header_style="bold", show_edge=False)
    for name in columns:
        if name in right:
            made.add_column(name, justify="right", no_wrap=True)
        else:
            made.add_column(name, overflow="fold")
    return made


def print_json(answer: Message | dict[str, Any]) -> None:
    """An answer for programs: protobuf's JSON where there is a message. Over several lines on a terminal only."""
    said = json_format.MessageToDict(answer) if isinstance(answer, Message) else answer
    click.echo(json.dumps(said, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


# --- numbers ---------------------------------------------------------------------------------------------------


def percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f}\u00a0%"


def win(estimate: Any) -> str:
    """A share of the win in percent, with its error where one is known; of a protobuf or our own estimate."""
    return _with_error(estimate, 100)


def points(estimate: Any) -> str:
    return _with_error(estimate, 1)


def difference(estimate: Any, unit: float = 1) -> str:
    """A difference, with its sign."""
    return _with_error(estimate, unit, "+")


def likeliest(chances: Iterable[tuple[str, float]], most: int) -> str:
    """The likeliest of some cards, `most` at the most, and how many others there are."""
    ordered = sorted(chances, key=lambda chance: -chance[1])
    text = ", ".join(f"{name} {percent(chance)}" for name, chance in ordered[:most])
    return text + (f", {len(ordered) - most} others" if len(ordered) > most else "")


def count(number: float) -> str:
    """A whole number in groups of three digits; large ones by their power of ten."""
    return f"{number:,.0f}".replace(",", "\u00a0") if number < 1e12 else f"{number:.1e}"


def seconds(duration: Any) -> str:
    """A protobuf duration."""
    long = duration.ToMicroseconds() / 1e6
    return f"{long:.2f} s" if long >= 0.1 else f"{1000 * long:.1f} ms"


def _with_error(estimate: Any, unit: float, sign: str = "") -> str:
    error = _error_of(estimate)
    said = f"{unit * estimate.mean:{sign}.1f}"
    return said if error is None else f"{said} ± {unit * error:.1f}"


def _error_of(estimate: Any) -> float | None:
    if not isinstance(estimate, Message):
        return float(estimate.error)
    return float(estimate.standard_error) if estimate.HasField("standard_error") else None  # type: ignore[attr-defined]


def heading(text: str) -> Text:
    return Text(text, style="bold")


def line(actions: Iterable[Any]) -> str:
    """Decisions that follow one another, each with its seat, of protobuf's messages."""
    return ", ".join(f"{SEATS[seen.seat - 1] if seen.seat else CHANCE_SEAT} {seen.action.text}" for seen in actions)
