"""Draw the plots of pages as SVG, in the colours and themes of the pictures of tables: no library is necessary."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from engine_cy.pictures import DARK, LIGHT, Palette

WIDTH = 720
RIGHT, TOP, BOTTOM, ROW = 24, 46, 44, 24
LETTER = 7.2  # the width of a letter, about
PANEL = 270
DOT = 4.5


class Interval(NamedTuple):
    """Hold a figure to draw: its name, and its mean within its interval."""

    label: str
    mean: float
    low: float
    high: float


class Dot(NamedTuple):
    """Hold a point of a reliability plot: a predicted share, and the one that came true within its interval."""

    predicted: float
    mean: float
    low: float
    high: float
    weight: float  # between 0 and 1: its share of the largest bin


def intervals(title: str, unit: str, rows: Sequence[Interval]) -> str:
    """Draw a row for each figure: a dot on the bar of its interval."""
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    step = step_of(high - low, 6)
    first, last = step * (low // step), step * -(-high // step)

    left = 28 + LETTER * max(len(row.label) for row in rows)

    def x(value: float) -> float:
        return left + (WIDTH - left - RIGHT) * (value - first) / (last - first)

    bottom = TOP + ROW * len(rows)
    parts = [text(left, bottom + 36, unit, "soft")]
    for number in range(round((last - first) / step) + 1):
        value = first + number * step
        parts.append(line(x(value), TOP, x(value), bottom, "grid"))
        parts.append(text(x(value), bottom + 18, f"{value:g}", "soft middle"))
    for i, row in enumerate(rows):
        y = TOP + ROW * (i + 0.5)
        parts += [
            text(left - 12, y + 4, row.label, "end"),
            line(x(row.low), y, x(row.high), y, "bar"),
            dot(x(row.mean), y, DOT, f"{row.label}: {row.mean:.0f} [{row.low:.0f}, {row.high:.0f}]"),
        ]
    return document(title, WIDTH, bottom + BOTTOM, parts)


def reliability(title: str, panels: Sequence[tuple[str, Sequence[Dot]]]) -> str:
    """Draw predicted shares against those that came true, in panels; true forecasts lie on the diagonal."""
    parts = []
    for number, (name, dots) in enumerate(panels):
        parts += _panel(56 + number * (PANEL + 64), name, dots)
    return document(title, 56 + len(panels) * (PANEL + 64) - 64 + RIGHT, TOP + 16 + PANEL + BOTTOM, parts)


def _panel(left: float, name: str, dots: Sequence[Dot]) -> list[str]:
    top = TOP + 16

    def x(value: float) -> float:
        return left + PANEL * value

    def y(value: float) -> float:
        return top + PANEL * (1 - value)

    parts = [text(x(0.5), top - 8, name, "middle"), text(x(0.5), y(0) + 36, "promised; upwards: won", "soft middle")]
    for number in range(0, 11, 2):
        at = number / 10
        parts += [
            line(x(at), y(0), x(at), y(1), "grid"),
            line(x(0), y(at), x(1), y(at), "grid"),
            text(x(at), y(0) + 18, f"{at:g}", "soft middle"),
            text(left - 8, y(at) + 4, f"{at:g}", "soft end"),
        ]
    parts.append(line(x(0), y(0), x(1), y(1), "diagonal"))
    for point in dots:
        at, low, high = x(point.predicted), max(point.low, 0.0), min(point.high, 1.0)
        label = f"{point.predicted:.3f}: {point.mean:.3f} [{low:.3f}, {high:.3f}]"
        parts += [line(at, y(low), at, y(high), "bar"), dot(at, y(point.mean), 2.5 + 4 * point.weight**0.5, label)]
    return parts


def step_of(width: float, steps: int) -> float:
    """Return a round distance between the lines of a scale."""
    step = 1.0
    while width / step > steps:
        step *= 10
    return step / 5 if width / step * 5 <= steps else step / 2 if width / step * 2 <= steps else step


# --- elements ---------------------------------------------------------------------------------------------------


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def dot(x: float, y: float, radius: float, label: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"><title>{escape(label)}</title></circle>'


def text(x: float, y: float, words: str, style: str) -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def document(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    name = escape(title)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{name}" '
            f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">',
            f"<title>{name}</title>",
            f"<style>{_SHAPES}{_colours(LIGHT)}@media (prefers-color-scheme:dark){{{_colours(DARK)}}}</style>",
            f'<rect class="sheet" width="{width:g}" height="{height:g}" rx="12"/>',
            text(20, 28, title, "title"),
            *parts,
            "</svg>\n",
        ]
    )


_SHAPES = (
    "text{font:13px system-ui,'Segoe UI',Roboto,sans-serif}"
    ".title{font:600 17px Georgia,'Times New Roman',serif}"
    ".soft{font-size:11px}.middle{text-anchor:middle}.end{text-anchor:end}"
    ".grid{stroke-width:1}.bar{stroke-width:3;stroke-opacity:.45}.diagonal{stroke-width:1;stroke-dasharray:5 5}"
)


def _colours(palette: Palette) -> str:
    return (
        f".sheet{{fill:{palette.sheet}}}text{{fill:{palette.ink}}}.soft{{fill:{palette.soft}}}"
        f".grid{{stroke:{palette.line}}}.diagonal{{stroke:{palette.soft}}}"
        f".bar{{stroke:{palette.seats[0]}}}circle{{fill:{palette.seats[0]}}}"
    )
