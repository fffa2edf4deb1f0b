"""eminence review: grade every decision of a game, given the knowledge of its seat."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import click
from google.protobuf import json_format
from rich.console import Console
from rich.table import Table
from rich.text import Text

from engine_cy.pictures import SIGNS
from engine_cy.record import Record
from engine_cy.seats import SEATS
from server.cli import formatting
from server.cli.command import check_place, command, files, json_option
from server.cli.connection import Connection, server_options
from server.cli.exit_codes import Failure
from server.cli.inputs import read_game
from server.cli.options import SearchFlags, language_option, search_flags, seat_number
from server.cli.pages.board import letter
from server.cli.pages.win_chart import as_text, plot, require_figure
from server.cli.review_run import Reviewer
from server.games import adapter_of
from server.games.narration import Reader
from server.languages import Words, words_of
from server.messages.answers import GRADES
from server.report import WORDS
from server.report.chart import chart_of
from server.report.review import Parts, Review

GRADE_STYLES = {"best": "green", "fine": "", "inaccuracy": "yellow", "mistake": "bold yellow", "blunder": "bold red"}
ITERATIONS = 20_000
PLOTS = ".svg, .png or .pdf"
GRAPH_WIDTH = 100


@command(
    "eminence review game.txt --iterations 2000",
    "eminence review game.txt --seat B --time-ms 20",
    "eminence review game.txt --iterations 500 --html report.html --plot chances.svg",
    "eminence convert game.txt --to json | eminence review - --json --iterations 500",
)
@click.argument("game", metavar="GAME|FILE|-", shell_complete=files)
@click.option("--seat", metavar="LETTER", help="Grade the decisions of this seat only.")
@partial(search_flags, default=f"Default: {ITERATIONS} iterations, unless another limit is given.")
@click.option(
    "--plot", "plot_to", metavar="FILE", type=click.Path(path_type=Path), help=f"Write the graph to this file: {PLOTS}."
)
@click.option(
    "--html",
    "html_to",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a report, one HTML page, to this file.",
)
@language_option
@server_options
@json_option
def review(
    game: str,
    seat: str | None,
    flags: SearchFlags,
    plot_to: Path | None,
    html_to: Path | None,
    language: str,
    connection: Connection,
    as_json: bool,
) -> None:
    """Grade every decision of a game, given what its seat knew then.

    GAME is a record (docs/notation.md), as text or JSON. The loss of a decision is the share of the win that the best
    move would have added on the same sampled hidden cards. All other changes of a seat's chances have other causes:
    chance, the mistakes of others, and hidden cards. Grades: best, fine (less than 2 % lost), inaccuracy, mistake (5 %
    or more), blunder (10 % or more). Comments and variations of the record are shown, and not searched.

    All limits apply to each decision.
    """
    record = read_game(game)
    if plot_to and (not plot_to.suffix or plot_to.suffix not in PLOTS):
        raise Failure(f"plot: {plot_to} has another suffix than {PLOTS}")
    check_place(plot_to, "plot")
    if plot_to:
        require_figure()
    check_place(html_to, "html")
    if flags.time_ms is flags.iterations is flags.confidence is flags.level is None:
        flags = replace(flags, iterations=ITERATIONS)
    with connection.open(config=flags.config) as client:
        result = run_review(Reviewer(client, record, _seat(seat, record), flags))
    if plot_to:
        plot(chart_of(result), title_of(record, words_of(WORDS, language)), plot_to)
    if html_to:
        from server.report.page import write_report

        html_to.write_text(write_report(result, language), "utf-8")
    if as_json:
        decisions = [json_format.MessageToDict(judged.message) for judged in result.decisions]
        formatting.print_json({"decisions": decisions, "summary": json_format.MessageToDict(result.summary)})
    else:
        print_review(result, formatting.console(), language)


def _seat(letter: str | None, record: Record) -> int | None:
    if letter is None:
        return record.observer
    number = seat_number(letter, record.game)
    if record.observer not in (None, number):
        raise Failure(f"seat: this record holds only the decisions of {SEATS[record.observer or 0]}")
    return number


def run_review(reviewer: Reviewer) -> Review:
    """Run a review, with a progress bar on a terminal."""
    from rich.progress import Progress

    err = formatting.console(stderr=True)
    with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
        for _ in progress.track(reviewer.run(), total=len(reviewer.decisions), description="reviewing"):
            pass
    return reviewer.review


def title_of(record: Record, words: Words) -> str:
    adapter = adapter_of(record.game.id)
    name, edition = adapter.names.in_language(words.language), adapter.edition(record.game)
    title = words.say("review.title", game=name, edition=edition, n=record.game.n_players)
    return ", ".join([title, *filter(None, (record.event, record.date))])


# --- for people ------------------------------------------------------------------------------------------------


def print_review(review: Review, out: Console, language: str) -> None:
    """Print the decisions, the graph, and a summary of each seat."""
    words = words_of(WORDS, language)
    out.print(formatting.heading(title_of(review.record, words)))
    if review.record.names:
        named = zip(SEATS, review.record.names, strict=False)
        out.print(Text(", ".join(f"{seat} {name}" for seat, name in named if name)))
    out.print()
    out.print(_decisions(review, words))
    out.print()
    out.print(formatting.heading(words.say("review.expected")))
    out.print(as_text(chart_of(review), min(out.width, GRAPH_WIDTH), words.say("review.rounds")))
    out.print()
    out.print(_seats(review, words))
    if review.summary.luck_known:
        out.print()
        out.print(formatting.heading(words.say("review.parts")))
        out.print(_parts(review, words))
    _print_notes(review, out, words)
    out.print()
    again = f"--seed {review.summary.seed}" if review.summary.reproducible else "not reproducible"
    units = words.say("review.units")
    out.print(Text(f"{units}; {again}; engine {review.summary.engine_signature}", "dim"))


def _decisions(review: Review, words: Words) -> Table:
    say, reader = words.say, Reader(words.language)
    number, win, lost = (say(f"review.{key}") for key in ("no", "win", "lost"))
    table = formatting.table(
        number, "", say("played"), win, lost, say("review.grade"), right=(number, win, lost), moves=say("played")
    )
    round_ = 0
    for judged in review.chosen:
        if judged.round != round_:
            round_ = judged.round
            table.add_row("", "", Text(say("review.round", n=round_), style="dim"))
        played, best = judged.message.played.action.text, judged.message.best.action.text
        move = formatting.move(judged.in_words(played, reader), played)
        if not judged.is_best:
            better = formatting.move(judged.in_words(best, reader), best)
            move = Text.assemble(move, "\n", (say("review.better"), "dim"), better)
        table.add_row(
            str(judged.number),
            letter(judged.seat),
            move,
            "" if judged.value is None else f"{100 * judged.value:.0f}",
            "" if judged.grade == "best" else formatting.win(judged.message.win_loss),
            Text(say(f"grade.{judged.grade}"), style=GRADE_STYLES[judged.grade]),
        )
    return table


def _seats(review: Review, words: Words) -> Table:
    grades = [words.say(f"grade.{grade}") for grade in SIGNS]
    heads = [f"{grade[:7]}." if len(grade) > 8 else grade for grade in grades]
    numbers = [words.say("points"), *heads, words.say("review.lost")]
    table = formatting.table(words.say("seat"), *numbers, right=numbers)
    scores = review.record.end.scores
    for seat in review.summary.seats:
        counts = {GRADES.read(entry.grade, "grade"): entry.count for entry in seat.grades}
        table.add_row(
            letter(seat.seat - 1),
            str(scores[seat.seat - 1]),
            *(str(counts.get(grade, "")) for grade in SIGNS),
            formatting.win(seat.win_loss),
        )
    return table


def _parts(review: Review, words: Words) -> Table:
    """Return the table of the parts that lead each seat from a fair share to its outcome."""
    is_whole = review.seat is None
    causes = ["chance", *["opponents"] * is_whole, "hidden" if is_whole else "rest"]
    end = "outcome" if review.record.end.is_over else "expected"
    columns = [words.say("seat"), *(words.say(f"way.{key}") for key in ("fair", *causes, "own", end))]
    table = formatting.table(*columns, right=columns[1:])
    for seat in review.summary.seats:
        fair, *changes, outcome = Parts.of(seat, review.record.game.n_players)
        figures = [f"{fair / 10:.1f}", *(f"{part / 10:+.1f}" for part in changes if part is not None)]
        table.add_row(letter(seat.seat - 1), *figures, f"{outcome / 10:.1f}")
    return table


def _print_notes(review: Review, out: Console, words: Words) -> None:
    """Print the names, the event and the comments and variations of the record, if it has any."""
    notes = review.notes(0, len(review.record.actions) + 2)
    if not notes:
        return
    out.print()
    out.print(formatting.heading(words.say("review.notes")))
    for note in notes:
        out.print(Text(f"{note.place}: ", "dim").append(note.text.replace("\n", "\n  "), "not dim"))
