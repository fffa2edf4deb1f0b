"""eminence analyze: many positions, answered on all cores or a cluster, into a file that can be gone on with."""

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
from server.cli.options import Observation, SearchOptions, game_options, observe, seat_number, thinking_options
from server.cli.position_answers import PositionAnswers, open_answers
from server.cli.results.files import Key, Results, Row, open_results, written
from server.cli.results.row import InputPosition, row_of
from server.messages.requests import check_to_act
from solver.review import decisions

BAR = TaskID(0)  # the one bar that there is


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
    help="Where to, by its ending: .sqlite, .parquet or .jsonl.",
)
@click.option(
    "--bad-lines",
    type=click.Choice(["skip", "stop"]),
    default="skip",
    show_default=True,
    help="What to do with what cannot be read: name it and go on, or name it and end.",
)
@click.option("--seat", metavar="LETTER", help="Of records and positions, only this seat's decisions.")
@click.option("--workers", type=click.IntRange(1, 256), help="Positions at a time. Default: a core each.")
@click.option(
    "--ray-address",
    metavar="HOST:PORT",
    help="Have a Ray cluster compute (docs/cluster.md); `local`: one that is begun here.",
)
@game_options
@thinking_options
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
    thinking: SearchOptions,
    connection: Connection,
    as_json: bool,
) -> int:
    """Answer every position of some files: lines of text, lines of JSON, and records, each decision of which is one.

    Killed at any moment and run again, it goes on where it was: nothing is lost, and nothing done twice. What cannot
    be read is said with file and line. docs/records.md tells the columns of the results.
    """
    for file in files:
        check_input(file)
    with ExitStack() as stack:
        client = connection.open(config=thinking.config, workers=workers, ray_address=ray_address)
        stack.callback(client.close)
        # What makes no sense is refused before anything is begun, not at each line.
        answering = open_answers(connection, client, thinking, choice.game())
        results = stack.enter_context(closing(open_results(Path(out))))
        settings = {**asdict(choice), **asdict(thinking), "seat": seat}
        run = Run(choice, thinking, seat, settings, stops=bad_lines == "stop")
        run.resume(results, out)
        bar = stack.enter_context(_progress(files))
        for row, share in run.rows(files, answering):
            with written(out):
                results.add(row)
            run.answered += 1
            bar.update(BAR, advance=share, answered=run.answered)
        with written(out):
            results.finish()
    return run.report(out, as_json)


# --- what is asked ---------------------------------------------------------------------------------------------


@dataclass
class Run:
    """One run over the input."""

    choice: GameChoice
    thinking: SearchOptions
    seat: str | None
    # What all rows of a file have in common: who goes on has to ask the same.
    settings: dict[str, Any]
    stops: bool
    answered: int = 0
    resumed: int = 0
    bad: int = 0
    begun: float = field(default_factory=time.monotonic)
    _done: dict[Key, str] = field(default_factory=dict)
    # By ruleset, the signature of who answered: equal ones answer alike, and a file holds no others.
    _engines: dict[str, str] = field(default_factory=dict)
    _skipped: float = 0.0

    def resume(self, results: Results, out: str) -> None:
        """Learn what is there already."""
        known = set()
        for key, digest, settings in results.done():
            if settings not in known and (differences := self._differences(settings)):
                raise Failure(f"out: {out} was begun with other settings: {differences}")
            known.add(settings)
            self._done[key] = digest
        if self._done:
            self._say(f"{out} holds {len(self._done)} answers already; going on")

    def rows(self, files: tuple[str, ...], answering: PositionAnswers) -> Iterator[tuple[Row, float]]:
        """Rows as they are found, each with the share of the input that it is, in characters."""
        for position, found in answering.answers(self._positions(files), self._refuse):
            skipped, self._skipped = self._skipped, 0.0
            yield row_of(position, self._settings_of(position, found), found), position.share + skipped

    def report(self, out: str, as_json: bool) -> int:
        """Say how it went; the exit code."""
        seconds = time.monotonic() - self.begun
        told = {
            "out": out,
            "answered": self.answered,
            "resumed": self.resumed,
            "bad": self.bad,
            "seconds": round(seconds, 3),
            "positions_per_second": round(self.answered / seconds, 2),
        }
        if as_json:
            formatting.print_json(told)
        else:
            what = "1 position" if self.answered == 1 else f"{self.answered} positions"
            parts = [f"{what} answered in {seconds:.1f} s ({self.answered / seconds:.1f} a second)"]
            parts += [f"{self.resumed} were there before"] * bool(self.resumed)
            parts += [f"{self.bad} could not be answered"] * bool(self.bad)
            click.echo(f"{'; '.join(parts)}; results in {out}")
        return FAILED if self.bad else DONE

    # --- what is asked ---

    def _positions(self, files: tuple[str, ...]) -> Iterator[InputPosition]:
        """The positions that have no answer yet."""
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
            found = list(self._seen(read_piece(piece, self.choice)))
        except UNREADABLE as error:
            self._refuse(Key(piece.file, piece.line, None), error)
            return
        for action, observation, played in found:
            key = Key(piece.file, piece.line, action)
            if self._is_done(key, digest):
                self._skipped += size / len(found)
                continue
            yield InputPosition(key, digest, observation, played, size / len(found))

    def _seen(self, item: Input) -> Iterator[tuple[int | None, Observation, str | None]]:
        """What is asked of a item: of a record, each decision."""
        if isinstance(item, Record):
            seat = None if self.seat is None else seat_number(self.seat, item.game)
            for decision in decisions(item, seat):
                history = decision.history if decision.history.actions else None
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
                f"{key.file}:{key.line}: is not what it was when it was answered; its answer is of something else"
            )
        self.resumed += 1
        return True

    # --- what rows have in common ---

    def _settings_of(self, position: InputPosition, found: pb.Suggestion) -> str:
        """The settings of a row, with who answered."""
        game = position.observation.view.game
        ruleset, engine = f"{game.id} {write_ruleset(game)}", found.engine_signature
        known = self._engines.setdefault(ruleset, engine)
        if engine != known:
            why = f"the engine of {ruleset} is {engine} now, and was {known}"
            raise Failure(f"{why}: other answers, which belong into a file of their own")
        return json.dumps({**self.settings, "engine": {ruleset: engine}}, sort_keys=True)

    def _differences(self, settings: str) -> str:
        """Which settings of a row differ; learns who answered it."""
        try:
            theirs: dict[str, Any] = json.loads(settings)
            self._engines.update(theirs["engine"])
        except (ValueError, TypeError, KeyError):
            return "they cannot be read"
        ours: dict[str, Any] = json.loads(json.dumps(self.settings))
        return ", ".join(
            f"{name} {theirs.get(name)!r}, now {value!r}" for name, value in ours.items() if theirs.get(name) != value
        )

    # --- what went wrong ---

    def _refuse(self, key: Key, error: Exception | None) -> None:
        where = f"{key.file}:{key.line}" + ("" if key.action is None else f", action {key.action}")
        if self.stops:
            raise Failure(f"{where}: {error}")
        self.bad += 1
        self._say(f"{where}: {error}")

    @staticmethod
    def _say(text: str) -> None:
        click.echo(text, err=True)


# --- what is shown meanwhile -------------------------------------------------------------------------------------


class _Rate(ProgressColumn):
    """Positions, and how many a second."""

    def render(self, task: Task) -> Text:
        answered, elapsed = task.fields["answered"], task.elapsed or 0.0
        rate = f", {answered / elapsed:.1f} a second" if elapsed else ""
        return Text(f"{formatting.count(answered)} positions{rate}")


@contextmanager
def _progress(files: tuple[str, ...]) -> Iterator[Progress]:
    """A bar on a terminal; how far it is goes by how much of the input was answered."""
    sizes = [os.path.getsize(file) if os.path.isfile(file) else None for file in dict.fromkeys(files)]
    total = None if None in sizes else float(sum(size or 0 for size in sizes))
    out = formatting.console(stderr=True)
    columns = (BarColumn(), TaskProgressColumn(), _Rate(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, disable=not out.is_terminal) as bar:
        bar.add_task("", total=total, answered=0)
        yield bar
