"""Draw the graph of win chances as text or with matplotlib. The HTML report draws the same numbers itself."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.text import Text

from engine_cy.pictures import LIGHT
from engine_cy.seats import SEATS
from server.report.chart import Chart
from solver.extras import importing

# Colours of the seats on terminals and in plots; a letter always repeats the seat.
TERMINAL_COLORS = ("red", "blue", "green", "yellow", "magenta")
PLOT_COLORS = LIGHT.seats
ROWS = 13
LABEL = 6  # columns left of the graph


def as_text(chart: Chart, width: int, rounds: str = "round") -> Text:
    """Draw the graph in `width` columns: a letter at each decision of a seat, dots in between.

    `rounds` is the word before the numbers of the rounds.
    """
    columns = width - LABEL - 1
    low, high = chart.scale

    def column(action: float) -> int:
        return round(action / max(chart.end, 1) * (columns - 1))

    def row(win: float) -> int:
        return round((high - win) / (high - low) * (ROWS - 1))

    cells = [[(" ", "")] * columns for _ in range(ROWS)]
    for begin in chart.rounds[1:]:
        for line in cells:
            line[column(begin)] = ("┊", "dim")
    for series in chart.series:
        style = TERMINAL_COLORS[series.seat]
        for (x0, y0), (x1, y1) in pairwise(series.path):
            first, last = column(x0), column(x1)
            for x in range(first, last + 1):
                part = (x - first) / (last - first) if last > first else 1.0
                cells[row(y0 + (y1 - y0) * part)][x] = ("·", style)
    for series in chart.series:
        for x, y in series.path[1:]:
            cells[row(y)][column(x)] = (SEATS[series.seat], f"bold {TERMINAL_COLORS[series.seat]}")
    text = Text()
    for number, line in enumerate(cells):
        percent = 100 * (high - (high - low) * number / (ROWS - 1))
        text.append(f"{percent:4.0f}% " if number % 3 == 0 else " " * LABEL, style="dim")
        text.append("│", style="dim")
        for sign, style in line:
            text.append(sign, style=style)
        text.append("\n")
    text.append(" " * LABEL + "└" + "─" * columns + "\n", style="dim")
    text.append(rounds.ljust(LABEL + 1), style="dim")
    text.append(_rounds_line(chart, columns), style="dim")
    return text


def _rounds_line(chart: Chart, columns: int) -> str:
    line = [" "] * (columns + 1)
    for number, begin in enumerate(chart.rounds, 1):
        at = round(begin / max(chart.end, 1) * (columns - 1))
        line[at : at + len(str(number))] = str(number)
    return "".join(line).rstrip()


def require_figure() -> Any:
    """Import and return matplotlib's figure, which comes with the extra `plots`."""
    with importing("plots", "plot: a graph"):
        from matplotlib.figure import Figure
    return Figure


def plot(chart: Chart, title: str, path: Path) -> None:
    """Write the graph to a file, in the format of its suffix."""
    figure = require_figure()(figsize=(10, 5), layout="constrained")
    axes = figure.subplots()
    for begin in chart.rounds[1:]:
        axes.axvline(begin, color="#999999", linewidth=0.8, linestyle=":")
    for series in chart.series:
        color = PLOT_COLORS[series.seat]
        axes.plot(*zip(*series.path, strict=True), color=color, linewidth=1.8, label=SEATS[series.seat])
        bad = [
            (judged.decision.index, judged.value_after or 0.0)
            for judged in series.decisions
            if judged.grade in ("mistake", "blunder")
        ]
        if bad:
            axes.plot(*zip(*bad, strict=True), "v", color=color, markersize=7)
    axes.set(title=title, xlabel="action", ylabel="share of the win", xlim=(0, max(chart.end, 1)))
    low, high = chart.scale
    axes.set_ylim(low - 0.02, high + 0.02)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.legend(frameon=False, ncols=len(chart.series), loc="upper left")
    figure.savefig(path, dpi=150)
