"""What a suite has measured: as JSON, and against goals as a table for people."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, TypeVar

from benchmarks.measure import Figure, load

S = TypeVar("S")

# A figure with a goal, and what lies behind it.
Measured = tuple[Figure, dict[str, Any]]


class Result(NamedTuple):
    """What was measured: the figures with goals, and what lies behind them."""

    figures: dict[str, Figure]
    raw: dict[str, Any]
    counts: dict[str, Any]  # not timed: the same in every run
    load: dict[str, list[float]]  # before and after


def measure_figures(
    measures: Mapping[tuple[str, ...], Callable[[S], dict[str, Measured]]], scale: S, only: Collection[str]
) -> Result:
    """Measure the figures named, or all: `measures` has a function for the figures that are measured together."""
    before = load()
    figures: dict[str, Figure] = {}
    raw: dict[str, Any] = {}
    for names, measure in measures.items():
        wanted = [name for name in names if not only or name in only]
        measured = measure(scale) if wanted else {}
        for name in wanted:
            figures[name], raw[name] = measured[name]
    return Result(figures, raw, {}, {"before": before, "after": load()})


def as_json(result: Result) -> dict[str, Any]:
    return {
        **{name: round(found.value, 3) for name, found in result.figures.items()},
        "spread": {name: round(found.spread, 3) for name, found in result.figures.items()},
        "noisy": [name for name, found in result.figures.items() if found.noisy],
        "raw": result.raw,
        **result.counts,
        "load": result.load,
    }


class Goal(NamedTuple):
    """What a figure should be, and what is close to the limit of what can be reached."""

    goal: float
    close: float | None  # None: not said

    @property
    def more_is_better(self) -> bool:
        return self.close is None or self.close > self.goal

    def bound(self, value: float | None) -> str:
        return "" if value is None else f"{'>=' if self.more_is_better else '<='} {value:g}"

    def verdict(self, value: float) -> str:
        """Which of the two is reached."""

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
        *(f"{name}: {told}" for name, told in result.raw.items() if told != {}),
    ]
    return "\n".join(lines)


def table(goals: Mapping[str, Goal], figures: Mapping[str, Figure]) -> str:
    """One line a figure; those without a goal are only told."""
    rows: list[tuple[str, ...]] = [("figure", "measured", "spread", "goal", "close", "")]
    for name, found in figures.items():
        goal = goals.get(name)
        bounds = (goal.bound(goal.goal), goal.bound(goal.close)) if goal else ("", "")
        verdict = goal.verdict(found.value) if goal else ""
        noisy = ", noisy" if found.noisy else ""
        rows.append((name, f"{found.value:.2f}", f"{found.spread:.0%}", *bounds, verdict + noisy))
    return aligned(rows)


def aligned(rows: list[tuple[str, ...]]) -> str:
    """Columns as wide as they need to be, the first to the left, the rest to the right, the last as it is."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, *middle, last = row
        cells = [cell.rjust(width) for cell, width in zip(middle, widths[1:-1], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *cells, last]).rstrip())
    return "\n".join(lines)
