"""eminence review: every decision of a game, judged from what its seat knew then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine_cy.record import Record
from engine_cy.seats import SEATS
from server.cli.chart import TERMINAL_COLORS, as_text, chart_of, plot
from server.cli.reviewing import SIGNS, Judged, Reviewed, Reviewing
from solver.config import Budget, check_budget, read_config

GRADE_STYLES = {"best": "green", "fine": "", "inaccuracy": "yellow", "mistake": "bold yellow", "blunder": "bold red"}
ITERATIONS = 20_000
EXAMPLES = """\b
Examples:
  eminence review game.txt
  eminence review game.txt --seat B --iterations 100000
  eminence review game.txt --html report.html --plot chances.svg
  eminence play --save game.txt; eminence review game.txt --seat A
  cat game.json | eminence review - --json
"""


@click.command(epilog=EXAMPLES)
@click.argument("game", type=click.Path(allow_dash=True, dir_okay=False))
@click.option("--seat", metavar="LETTER", help="Judge this seat's decisions only.")
@click.option("--iterations", type=int, help=f"For each decision; {ITERATIONS} if no time is given.")
@click.option("--time-ms", type=float, help="For each decision, on one core.")
@click.option("--config", default="default", show_default=True, help="How to search.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--workers", type=int, default=0, help="Decisions judged at a time; all cores if not given.")
@click.option("--plot", "plot_to", type=click.Path(path_type=Path, dir_okay=False), help="Draw the graph: .svg, .png.")
@click.option("--html", "html_to", type=click.Path(path_type=Path, dir_okay=False), help="Write a report.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def review(
    game: str,
    seat: str | None,
    iterations: int | None,
    time_ms: float | None,
    config: str,
    seed: int,
    workers: int,
    plot_to: Path | None,
    html_to: Path | None,
    as_json: bool,
) -> None:
    """Judge the decisions of GAME, a record: a file, or - for what comes in.

    Each decision is judged from what its seat knew then, never from the cards that others hid. What it lost is the
    share of the win that the best decision would have had more, measured on the same hidden cards; the rest of what
    happened to a seat is luck.
    """
    record = read_game(game)
    if iterations is None and time_ms is None:
        iterations = ITERATIONS
    budget = check_budget(Budget(iterations or 10**9, time_ms=time_ms))
    number = None if seat is None else record.game.seats.index(seat)
    reviewing = Reviewing(record, number, budget, read_config(config), seed=seed, workers=workers)
    reviewed = _judge(reviewing)
    if plot_to:
        plot(chart_of(reviewed), title_of(record), plot_to)
    if html_to:
        from server.cli.report import write_report

        html_to.write_text(write_report(reviewed), "utf-8")
    if as_json:
        click.echo(write_json(reviewed))
    else:
        show(reviewed, Console(highlight=False))


def read_game(path: str) -> Record:
    from engine_cy.record import read_record

    with click.open_file(path) as file:
        return read_record(file.read())


def title_of(record: Record) -> str:
    from server.names import GAMES

    return f"{GAMES[record.game.id].en}, {record.game.ruleset.edition}"


def _judge(reviewing: Reviewing) -> Reviewed:
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        for _ in progress.track(reviewing.run(), total=len(reviewing.decisions), description="judging"):
            pass
    return reviewing.reviewed


# --- what is shown --------------------------------------------------------------------------------------------


def show(reviewed: Reviewed, console: Console) -> None:
    """The decisions, the graph, and how each seat did."""
    console.print(_decisions(reviewed))
    console.print()
    console.print(Text(f"{title_of(reviewed.record)}: share of the win, as each seat could know", style="bold"))
    console.print(as_text(chart_of(reviewed), min(console.width, 100)))
    console.print()
    console.print(_seats(reviewed))


def _decisions(reviewed: Reviewed) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("no", justify="right")
    table.add_column("round", justify="right")
    table.add_column("")
    table.add_column("played", overflow="fold")
    table.add_column("win", justify="right")
    table.add_column("lost", justify="right")
    table.add_column("grade")
    table.add_column("better", overflow="fold")
    for judged in reviewed.chosen:
        verdict = judged.verdict
        lost = "" if verdict.grade == "best" else signed(-verdict.win_loss.mean, verdict.win_loss.error)
        grade = Text(f"{verdict.grade} {SIGNS[verdict.grade]}".rstrip(), style=GRADE_STYLES[verdict.grade])
        better = "" if verdict.played is verdict.best else str(verdict.best.action)
        value = "" if verdict.value is None else f"{100 * verdict.value:.0f} %"
        table.add_row(
            str(judged.decision.index + 1),
            str(judged.round),
            letter(judged),
            str(judged.decision.played),
            value,
            lost,
            grade,
            better,
        )
    return table


def _seats(reviewed: Reviewed) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    end = reviewed.record.end
    table.add_column("seat")
    table.add_column("points", justify="right")
    table.add_column("decisions", justify="right")
    for grade, sign in SIGNS.items():
        table.add_column(f"{grade} {sign}".rstrip(), justify="right")
    table.add_column("lost", justify="right")
    table.add_column("luck", justify="right")
    for score in reviewed.seats:
        lost = score.win_loss
        table.add_row(
            Text(SEATS[score.seat], style=f"bold {TERMINAL_COLORS[score.seat]}"),
            str(end.scores[score.seat]),
            str(score.grades.total()),
            *(str(score.grades[grade] or "") for grade in SIGNS),
            signed(-lost.mean, lost.error),
            "" if score.luck is None else signed(score.luck),
        )
    return table


def letter(judged: Judged) -> Text:
    return Text(SEATS[judged.seat], style=f"bold {TERMINAL_COLORS[judged.seat]}")


def signed(share: float, error: float | None = None) -> str:
    """A change of the share of the win, in percent."""
    text = f"{100 * share:+.1f}"
    return text if error is None else f"{text} ±{100 * error:.1f}"


def write_json(reviewed: Reviewed) -> str:
    """The messages of a Review, as protobuf JSON: `decisions` and `summary`."""
    import json

    from google.protobuf import json_format

    from server.codec.suggestions import write_seat_score, write_verdict

    def told(message: Any) -> Any:
        return json_format.MessageToDict(message)

    decisions = []
    for judged in reviewed.decisions:
        message = write_verdict(judged.verdict)
        if judged.luck is not None:
            message.luck = judged.luck
        decisions.append(told(message))
    return json.dumps({"decisions": decisions, "seats": [told(write_seat_score(score)) for score in reviewed.seats]})
