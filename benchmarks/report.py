"""The figures of a suite: as JSON, and as a table with their goals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, TypeVar

from benchmarks.measure import Figure, load

S = TypeVar("S")

# A figure, and the values behind it.
Measured = tuple[Figure, dict[str, Any]]


class Result(NamedTuple):
    """The result of a suite: the figures with goals, and the values behind them."""

    figures: dict[str, Figure]
    raw: dict[str, Any]
    counts: dict[str, Any]  # not timed: the same in every run
    load: dict[str, list[float]]  # before and after


def measure_figures(
    measures: Mapping[tuple[str, ...], Callable[[S], dict[str, Measured]]], scale: S, only: Collection[str]
) -> Result:
    """Measure the figures in `only`, or all. Each function in `measures` measures the figures of its key together."""
    before = load()
    figures: dict[str, Figure] = {}
    raw: dict[str, Any] = {}
    for names, measure in measures.items():
        selected = [name for name in names if not only or name in only]
        measured = measure(scale) if selected else {}
        for name in selected:
            figures[name], raw[name] = measured[name]
    return Result(figures, raw, {}, {"before": before, "after": load()})


def as_json(result: Result) -> dict[str, Any]:
    return {
        **{name: round(figure.value, 3) for name, figure in result.figures.items()},
        "spread": {name: round(figure.spread, 3) for name, figure in result.figures.items()},
        "noisy": [name for name, figure in result.figures.items() if figure.noisy],
        "raw": result.raw,
        **result.counts,
        "load": result.load,
    }


class Goal(NamedTuple):
    """The goal of a figure, and a value close to the limit that can be reached."""

    goal: float
    close: float | None  # None: unknown

    @property
    def more_is_better(self) -> bool:
        return self.close is None or self.close > self.goal

    def bound(self, value: float | None) -> str:
        return "" if value is None else f"{'>=' if self.more_is_better else '<='} {value:g}"

    def verdict(self, value: float) -> str:
        """Name the better of the two bounds that a value reaches."""

        def reaches(bound: float) -> bool:
            return value >= bound if self.more_is_better else value <= bound

        if self.close is not None and reaches(self.close):
            return "close to the limit"
        return "met" if reaches(self.goal) else "MISSED"


def as_text(title: str, goals: Mapping[str, Goal], meanings: Mapping[str, str], result: Result) -> str:
    lines = [
        f"{title}; load {result.load['before']} before, {result.load['after']} after",
        "",
        table(goals, result.figures),
        "",
        *(f"{name}: {meanings[name]}" for name in result.figures),
        "",
        *(f"{name}: {details}" for name, details in result.raw.items() if details != {}),
    ]
    return "\n".join(lines)


def table(goals: Mapping[str, Goal], figures: Mapping[str, Figure]) -> str:
    """Format one line per figure; those without a goal have no verdict."""
    rows: list[tuple[str, ...]] = [("figure", "measured", "spread", "goal", "close", "")]
    for name, figure in figures.items():
        goal = goals.get(name)
        bounds = (goal.bound(goal.goal), goal.bound(goal.close)) if goal else ("", "")
        verdict = goal.verdict(figure.value) if goal else ""
        noisy = ", noisy" if figure.noisy else ""
        rows.append((name, f"{figure.value:.2f}", f"{figure.spread:.0%}", *bounds, verdict + noisy))
    return aligned(rows)


def aligned(rows: list[tuple[str, ...]]) -> str:
    """Align columns: the first to the left, the others to the right; the last is not padded."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, *middle, last = row
        cells = [cell.rjust(width) for cell, width in zip(middle, widths[1:-1], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells, last]).rstrip())
    return "\n".join(lines)
