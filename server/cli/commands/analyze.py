"""eminence analyze: analyze many positions on all cores, a cluster or a server, into a file; runs can be resumed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import click
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from eminence.v1 import solver_pb2 as pb
from engine_cy.record import Record, write_ruleset
from server.cli import formatting
from server.cli.command import command, files, json_option
from server.cli.connection import Connection, server_options
from server.cli.exit_codes import DONE, FAILED, Failure
from server.cli.inputs import UNREADABLE, GameChoice, Input, Piece, check_input, open_input, pieces, read_piece
from server.cli.options import Observation, SearchFlags, game_options, observe, search_flags, seat_number
from server.cli.position_answers import PositionAnswers, open_answers
from server.cli.results.files import Key, Results, Row, naming_file, open_results
from server.cli.results.row import InputPosition, row_of
from server.messages.requests import check_to_act
from solver.review import decisions

BAR = TaskID(0)  # the only bar


@command(
    "eminence analyze positions.txt --out results.sqlite --iterations 200",
    "eminence analyze positions.txt game.txt --out results.parquet --iterations 200 --bad-lines stop",
    "cat positions.txt | eminence analyze - --out results.jsonl --iterations 200 --workers 1 --json",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE|- ...", shell_complete=files)
@click.option(
    "--out",
    required=True,
    metavar="FILE",
    shell_complete=files,
    help="File of results: .sqlite, .parquet or .jsonl.",
)
@click.option(
    "--bad-lines",
    type=click.Choice(["skip", "stop"]),
    default="skip",
    show_default=True,
    help="Report invalid input and continue, or stop there.",
)
@click.option("--seat", metavar="LETTER", help="Of records and positions, only the decisions of this seat.")
@click.option("--workers", type=click.IntRange(1, 256), help="Parallel positions. Default: one per core.")
@click.option(
    "--ray-address",
    metavar="HOST:PORT",
    help="Search on a Ray cluster (docs/cluster.md); `local`: start one here.",
)
@game_options
@search_flags
@server_options
@json_option
def analyze(
    files: tuple[str, ...],
    out: str,
    bad_lines: str,
    seat: str | None,
    workers: int | None,
    ray_address: str | None,
    choice: GameChoice,
    flags: SearchFlags,
    connection: Connection,
    as_json: bool,
) -> int:
    """Analyze every position in some files: lines of text or JSON, and every decision of records.

    The same command resumes a killed run: it keeps all answers and repeats none. Invalid input is reported with file
    and line. docs/records.md documents the columns of the results.
    """
    for file in files:
        check_input(file)
    with ExitStack() as stack:
        client = connection.open(config=flags.config, workers=workers, ray_address=ray_address)
        stack.callback(client.close)
        # Rejects invalid options once, before any file is written, not on each line.
        answers = open_answers(connection, client, flags, choice.game())
        results = stack.enter_context(closing(open_results(Path(out))))
        settings = {**asdict(choice), **asdict(flags), "seat": seat}
        run = Run(choice, flags, seat, settings, stops=bad_lines == "stop")
        run.resume(results, out)
        bar = stack.enter_context(_progress(files))
        for row, share in run.rows(files, answers):
            with naming_file(out):
                results.add(row)
            run.answered += 1
            bar.update(BAR, advance=share, answered=run.answered)
        with naming_file(out):
            results.finish()
    return run.report(out, as_json)


# --- one run ---------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """A run over the input."""

    choice: GameChoice
    flags: SearchFlags
    seat: str | None
    # Equal in all rows of a file: a run that resumes needs the same settings.
    settings: dict[str, Any]
    stops: bool
    answered: int = 0
    resumed: int = 0
    bad: int = 0
    start: float = field(default_factory=time.monotonic)
    _done: dict[Key, str] = field(default_factory=dict)
    # Signature of the engine by ruleset. Equal signatures give equal answers; a file holds no others.
    _engines: dict[str, str] = field(default_factory=dict)
    _skipped: float = 0.0

    def resume(self, results: Results, out: str) -> None:
        """Read the answers that the file already holds; check that their settings are the same."""
        known = set()
        for key, digest, settings in results.done():
            if settings not in known and (differences := self._differences(settings)):
                raise Failure(f"out: {out} holds results of other settings: {differences}")
            known.add(settings)
            self._done[key] = digest
        if self._done:
            self._print(f"{out} holds {len(self._done)} answers; resuming")

    def rows(self, files: tuple[str, ...], answers: PositionAnswers) -> Iterator[tuple[Row, float]]:
        """Yield rows as answers arrive, each with its share of the input, in characters."""
        for position, answer in answers.answers(self._positions(files), self._refuse):
            skipped, self._skipped = self._skipped, 0.0
            yield row_of(position, self._settings_of(position, answer), answer), position.share + skipped

    def report(self, out: str, as_json: bool) -> int:
        """Print a summary; return the exit code."""
        seconds = time.monotonic() - self.start
        summary = {
            "out": out,
            "answered": self.answered,
            "resumed": self.resumed,
            "bad": self.bad,
            "seconds": round(seconds, 3),
            "positions_per_second": round(self.answered / seconds, 2),
        }
        if as_json:
            formatting.print_json(summary)
        else:
            positions = "1 position" if self.answered == 1 else f"{self.answered} positions"
            parts = [f"{positions} answered in {seconds:.1f} s ({self.answered / seconds:.1f} per second)"]
            parts += [f"{self.resumed} from earlier runs"] * bool(self.resumed)
            parts += [f"{self.bad} without an answer"] * bool(self.bad)
            click.echo(f"{'; '.join(parts)}; results in {out}")
        return FAILED if self.bad else DONE

    # --- the positions of the input ---

    def _positions(self, files: tuple[str, ...]) -> Iterator[InputPosition]:
        """Yield the positions without an answer in the file."""
        for argument in dict.fromkeys(files):
            file, lines = open_input(argument)
            begin = 0
            for piece in pieces(file, lines):
                size, begin = piece.end - begin, piece.end
                digest = blake2b(piece.text.encode(), digest_size=8).hexdigest()
                if not piece.is_record and self._is_done(Key(file, piece.line, None), digest):
                    self._skipped += size
                    continue
                yield from self._of_piece(piece, digest, size)

    def _of_piece(self, piece: Piece, digest: str, size: int) -> Iterator[InputPosition]:
        try:
            items = list(self._observations(read_piece(piece, self.choice)))
        except UNREADABLE as error:
            self._refuse(Key(piece.file, piece.line, None), error)
            return
        for action, observation, played in items:
            key = Key(piece.file, piece.line, action)
            if self._is_done(key, digest):
                self._skipped += size / len(items)
                continue
            yield InputPosition(key, digest, observation, played, size / len(items))

    def _observations(self, item: Input) -> Iterator[tuple[int | None, Observation, str | None]]:
        """Yield the action number, observation and played move of each decision to analyze."""
        if isinstance(item, Record):
            seat = None if self.seat is None else seat_number(self.seat, item.game)
            for decision in decisions(item, seat):
                history = decision.history if decision.history and decision.history.actions else None
                yield decision.index, Observation(decision.view, history), str(decision.played)
            return
        observation = observe(item, self.seat)
        check_to_act(observation.view)
        yield None, observation, None

    def _is_done(self, key: Key, digest: str) -> bool:
        known = self._done.get(key)
        if known is None:
            return False
        if known != digest:
            raise Failure(
                f"{key.file}:{key.line}: has changed since it was answered; its answer belongs to another position"
            )
        self.resumed += 1
        return True

    # --- the settings of rows ---

    def _settings_of(self, position: InputPosition, answer: pb.Suggestion) -> str:
        """Return the settings of a row, with the signature of its engine."""
        game = position.observation.view.game
        ruleset, engine = f"{game.id} {write_ruleset(game)}", answer.engine_signature
        known = self._engines.setdefault(ruleset, engine)
        if engine != known:
            changed = f"the engine of {ruleset} changed from {known} to {engine}"
            raise Failure(f"{changed}; its answers differ and need another file")
        return json.dumps({**self.settings, "engine": {ruleset: engine}}, sort_keys=True)

    def _differences(self, settings: str) -> str:
        """Return the settings of a row that differ from this run; note the engine of the row."""
        try:
            theirs: dict[str, Any] = json.loads(settings)
            self._engines.update(theirs["engine"])
        except (ValueError, TypeError, KeyError):
            return "unreadable"
        ours: dict[str, Any] = json.loads(json.dumps(self.settings))
        return ", ".join(
            f"{name} {theirs.get(name)!r}, now {value!r}" for name, value in ours.items() if theirs.get(name) != value
        )

    # --- errors ---

    def _refuse(self, key: Key, error: Exception | None) -> None:
        where = f"{key.file}:{key.line}" + ("" if key.action is None else f", action {key.action}")
        if self.stops:
            raise Failure(f"{where}: {error}")
        self.bad += 1
        self._print(f"{where}: {error}")

    @staticmethod
    def _print(text: str) -> None:
        click.echo(text, err=True)


# --- progress -------------------------------------------------------------------------------------


class _Rate(ProgressColumn):
    """Column with the number of positions, and their rate."""

    def render(self, task: Task) -> Text:
        answered, elapsed = task.fields["answered"], task.elapsed or 0.0
        rate = f", {answered / elapsed:.1f} per second" if elapsed else ""
        return Text(f"{formatting.count(answered)} positions{rate}")


@contextmanager
def _progress(files: tuple[str, ...]) -> Iterator[Progress]:
    """Show a progress bar on a terminal; progress is the answered share of the input."""
    sizes = [os.path.getsize(file) if os.path.isfile(file) else None for file in dict.fromkeys(files)]
    total = None if None in sizes else float(sum(size or 0 for size in sizes))
    out = formatting.console(stderr=True)
    columns = (BarColumn(), TaskProgressColumn(), _Rate(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, disable=not out.is_terminal) as bar:
        bar.add_task("", total=total, answered=0)
        yield bar
