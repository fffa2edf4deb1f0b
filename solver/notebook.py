"""Answers as HTML, for notebooks: the table as the observer sees it, and the moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from engine_cy.seats import SEATS

if TYPE_CHECKING:
    from solver.answer import Answer, Estimate, Move
    from solver.compare import Comparison

MOVES_SHOWN = 10


def answer_html(answer: Answer) -> str:
    """Return an answer as HTML: the picture of the view, and a table of the moves or of the seats."""
    head = f"{answer.iterations} iterations, {answer.worlds} worlds, {answer.elapsed_ms:.0f} ms"
    if answer.best is None:
        rows = [(SEATS[seat], _percent(value.win), _number(value.points)) for seat, value in enumerate(answer.seats)]
        table = _table(("seat", "win", "points"), rows)
    else:
        head = f"Play {answer.best}. {head}"
        table = _table(("move", "win", "points", "visits", "then"), map(_row, answer.moves[:MOVES_SHOWN]))
    return f"<div>{answer.view.to_svg()}<p>{escape(head)}</p>{table}</div>"


def _row(move: Move) -> tuple[str, ...]:
    then = ", ".join(map(str, move.line[1:4]))
    return str(move.action), _percent(move.win), _number(move.points), str(move.visits), then


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison as HTML: the picture of the view, and the moves with their differences from the first."""
    rows = [(str(move.action), _percent(move.win), _percent(move.win_difference, "+")) for move in comparison.moves]
    head = f"{comparison.worlds} worlds, {comparison.elapsed_ms:.0f} ms"
    table = _table(("move", "win", "against the first"), rows)
    return f"<div>{comparison.question.view.to_svg()}<p>{escape(head)}</p>{table}</div>"


def _table(columns: Sequence[str], rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _percent(estimate: Estimate | None, sign: str = "") -> str:
    return "" if estimate is None else f"{100 * estimate.mean:{sign}.1f} % ± {100 * estimate.error:.1f}"


def _number(estimate: Estimate | None) -> str:
    return "" if estimate is None else f"{estimate.mean:.1f}"
