"""eminence analyze: many positions, answered on all cores or a cluster, into a file that can be gone on with."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

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

from engine_cy.record import Record, write_ruleset
from engine_cy.seats import SEATS
from server.cli import show
from server.cli.asking import Seen, Thinking, cores, game_options, seat_number, seen_by, thinking_options
from server.cli.cluster import open_cluster
from server.cli.commands import command, json_option
from server.cli.failing import DONE, FAILED, Failure
from server.cli.reading import UNREADABLE, GameChoice, Piece, Thing, open_input, pieces, read_piece
from server.cli.results import SCHEMA, Key, Results, Row, open_results
from server.limits import MEGABYTE, canonical, check_to_act, derived_seed
from solver.analysis import Beliefs, Move
from solver.backends.base import Job
from solver.batch import Answer, LocalProcesses, LocalThreads, Pool, analyze_many
from solver.config import Budget, InvalidBudgetError
from solver.review import decisions
from solver.solve import as_analysis, make_job
from solver.version import SIGNATURE

BAR = TaskID(0)  # the one bar that there is
LINES = 3  # of so many moves it is told what is likely to follow


@command(
    "eminence analyze positions.txt --out results.sqlite --iterations 200",
    "eminence analyze positions.txt game.txt --out results.parquet --iterations 200 --bad-lines stop",
    "cat positions.txt | eminence analyze - --out results.jsonl --iterations 200 --workers 1 --json",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE|- ...")
@click.option("--out", required=True, metavar="FILE", help="Where to, by its ending: .sqlite, .parquet or .jsonl.")
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
@json_option
def analyze(
    files: tuple[str, ...],
    out: str,
    bad_lines: str,
    seat: str | None,
    workers: int | None,
    ray_address: str | None,
    choice: GameChoice,
    thinking: Thinking,
    as_json: bool,
) -> int:
    """Answer every position of some files: lines of text, lines of JSON, and records, each decision of which is one.

    Killed at any moment and run again, it goes on where it was: nothing is lost, and nothing done twice. What cannot
    be read is said with file and line. docs/records.md tells the columns of the results.
    """
    settings = _settings(choice, thinking, seat)
    # What makes no sense is refused before anything is begun, not at each line.
    game = choice.game()
    thinking.granted(thinking.chosen(game, None, thinking.options(game)))
    run = Run(choice, thinking, seat, settings, stops=bad_lines == "stop")
    with ExitStack() as stack:
        results = stack.enter_context(closing(open_results(Path(out))))
        run.resume(results, out)
        pool = stack.enter_context(_pool(workers, ray_address))
        bar = stack.enter_context(_progress(files))
        for row, share in run.rows(files, pool):
            results.add(row)
            run.answered += 1
            bar.update(BAR, advance=share, answered=run.answered)
        results.finish()
    return run.report(out, as_json)


# --- what is asked ---------------------------------------------------------------------------------------------


def _settings(choice: GameChoice, thinking: Thinking, seat: str | None) -> str:
    """What all rows of a file have in common: who goes on has to ask the same."""
    said = {**asdict(choice), **asdict(thinking), "seat": seat, "engine": SIGNATURE}
    return json.dumps(said, sort_keys=True)


class Position(NamedTuple):
    """A position of the input: its key, what is asked, and how much of the input it is."""

    key: Key
    digest: str
    seen: Seen
    played: str | None
    share: float


@dataclass
class Run:
    """One run over the input."""

    choice: GameChoice
    thinking: Thinking
    seat: str | None
    settings: str
    stops: bool
    answered: int = 0
    resumed: int = 0
    bad: int = 0
    begun: float = field(default_factory=time.monotonic)
    _done: dict[Key, str] = field(default_factory=dict)
    _under_way: dict[int, tuple[Position, Job]] = field(default_factory=dict)
    _skipped: float = 0.0

    def resume(self, results: Results, out: str) -> None:
        """Learn what is there already."""
        settings = ""
        for key, digest, settings in results.done():
            if settings != self.settings:
                raise Failure(f"out: {out} was begun with other settings: {_differences(settings, self.settings)}")
            self._done[key] = digest
        if self._done:
            self._say(f"{out} holds {len(self._done)} answers already; going on")

    def rows(self, files: tuple[str, ...], pool: Pool) -> Iterator[tuple[Row, float]]:
        """Rows as they are found, each with the share of the input that it is, in characters."""
        for answer in analyze_many(self._jobs(files), pool, in_order=False):
            position, job = self._under_way.pop(answer.number)
            skipped, self._skipped = self._skipped, 0.0
            if answer.found is None:
                self._refuse(position.key, answer.error)
            else:
                yield self._row(position, job, answer), position.share + skipped

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
            show.print_json(told)
        else:
            parts = [f"{self.answered} positions answered in {seconds:.1f} s ({self.answered / seconds:.1f} a second)"]
            parts += [f"{self.resumed} were there before"] * bool(self.resumed)
            parts += [f"{self.bad} could not be answered"] * bool(self.bad)
            click.echo(f"{'; '.join(parts)}; results in {out}")
        return FAILED if self.bad else DONE

    # --- from the input to jobs ---

    def _jobs(self, files: tuple[str, ...]) -> Iterator[Job]:
        number = 0
        for position in self._positions(files):
            try:
                job = self._job(position)
            except (*UNREADABLE, InvalidBudgetError) as error:
                self._refuse(position.key, error)
                continue
            self._under_way[number] = position, job
            number += 1
            yield job

    def _positions(self, files: tuple[str, ...]) -> Iterator[Position]:
        """The positions that have no answer yet."""
        for argument in dict.fromkeys(files):
            file, lines = open_input(argument)
            if file == "argument":
                raise Failure(f"{argument}: there is no such file")
            begin = 0
            for piece in pieces(file, lines):
                size, begin = piece.end - begin, piece.end
                digest = blake2b(piece.text.encode(), digest_size=8).hexdigest()
                if not piece.is_record and self._is_done(Key(file, piece.line, None), digest):
                    self._skipped += size
                    continue
                yield from self._of_piece(piece, digest, size)

    def _of_piece(self, piece: Piece, digest: str, size: int) -> Iterator[Position]:
        try:
            found = list(self._seen(read_piece(piece, self.choice)))
        except UNREADABLE as error:
            self._refuse(Key(piece.file, piece.line, None), error)
            return
        for action, seen, played in found:
            key = Key(piece.file, piece.line, action)
            if self._is_done(key, digest):
                self._skipped += size / len(found)
                continue
            yield Position(key, digest, seen, played, size / len(found))

    def _seen(self, thing: Thing) -> Iterator[tuple[int | None, Seen, str | None]]:
        """What is asked of a thing: of a record, each decision."""
        if isinstance(thing, Record):
            seat = None if self.seat is None else seat_number(self.seat, thing.game)
            for decision in decisions(thing, seat):
                history = decision.history if decision.history.actions else None
                yield decision.index, Seen(decision.view, history), str(decision.played)
            return
        seen = seen_by(thing, self.seat)
        check_to_act(seen.view)
        yield None, seen, None

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

    def _job(self, position: Position) -> Job:
        seen = position.seen
        # How the observer plays is the search's own matter.
        others = [said for said in self.thinking.models if not said.upper().startswith(SEATS[seen.view.observer])]
        thinking = replace(self.thinking, models=tuple(others))
        options = thinking.chosen(seen.game, seen.view, thinking.options(seen.game))
        seed = derived_seed(canonical(seen.view, seen.history, options)) if options.seed is None else options.seed
        granted = thinking.granted(options)
        return make_job(
            seen.view,
            Budget(
                iterations=granted.iterations,
                time_ms=granted.time_ms if granted.is_timed else None,
                memory_mb=granted.memory_bytes / MEGABYTE,
                confidence=granted.confidence,
            ),
            config=options.config,
            seed=seed,
            workers=options.shares,
            models=dict(options.models),
            history=seen.history,
            lines=LINES,
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

    # --- from answers to rows ---

    def _row(self, position: Position, job: Job, answer: Answer) -> Row:
        assert answer.found is not None
        found = as_analysis(job, answer.found, time.perf_counter())
        game, best = job.view.game, found.move(found.best)
        return {
            "schema": SCHEMA,
            **position.key._asdict(),
            "input": position.digest,
            "settings": self.settings,
            "game": game.id,
            "ruleset": write_ruleset(game),
            "players": game.n_players,
            "observer": SEATS[job.view.observer],
            "view": str(job.view),
            "played": position.played,
            "best": str(found.best),
            **_figures(best),
            "seats": list(found.values),
            "moves": [_move(move) for move in found.moves],
            "beliefs": list(_beliefs(found.beliefs)),
            "worlds_fitting": float(found.beliefs.worlds) if found.beliefs else None,
            "worlds_effective": found.beliefs.effective_worlds if found.beliefs else None,
            "iterations": found.iterations,
            "worlds": found.worlds,
            "nodes": found.nodes,
            "tree_bytes": found.tree_bytes,
            "stopped_by": found.stopped_by,
            "seed": str(found.seed),
            "reproducible": found.reproducible,
            "knowledge": found.knowledge,
        }


def _figures(move: Move) -> Row:
    """The win and the points of a move, with their errors."""
    win, points = move.win, move.points
    return {
        "win": win.mean if win else None,
        "win_error": win.error if win else None,
        "points": points.mean if points else None,
        "points_error": points.error if points else None,
    }


def _move(move: Move) -> Row:
    return {
        "move": str(move.action),
        "visits": move.visits,
        **_figures(move),
        "lead": move.lead,
        "ranks": list(move.ranks),
        "line": ", ".join(move.line),
    }


def _beliefs(beliefs: Beliefs | None) -> Iterator[Row]:
    for belief in beliefs.seats if beliefs else ():
        seat = SEATS[belief.seat]
        places = [(" ".join(f"{name} {at}" for name, at in card.place.items()), card.kinds) for card in belief.cards]
        for place, kinds in [*places, ("hand", belief.hand)]:
            for card, chance in kinds.items():
                yield {"seat": seat, "place": place, "card": card, "chance": chance}


def _differences(one: str, other: str) -> str:
    """Which settings differ."""
    try:
        theirs, ours = json.loads(one), json.loads(other)
        names = [name for name in ours if theirs.get(name) != ours[name]]
    except (ValueError, AttributeError):
        return "they cannot be read"
    return ", ".join(f"{name} {theirs.get(name)!r}, now {ours[name]!r}" for name in names)


# --- who computes, and what is shown meanwhile -------------------------------------------------------------------


@contextmanager
def _pool(workers: int | None, ray_address: str | None) -> Iterator[Pool]:
    """Processes of this machine, or a cluster."""
    if ray_address is not None:
        with open_cluster(ray_address, workers) as cluster:
            yield cluster
        return
    n = workers or cores()
    local = LocalThreads(1) if n == 1 else LocalProcesses(n)
    try:
        yield local
    finally:
        local.close()


class _Rate(ProgressColumn):
    """Positions, and how many a second."""

    def render(self, task: Task) -> Text:
        answered, elapsed = task.fields["answered"], task.elapsed or 0.0
        rate = f", {answered / elapsed:.1f} a second" if elapsed else ""
        return Text(f"{show.count(answered)} positions{rate}")


@contextmanager
def _progress(files: tuple[str, ...]) -> Iterator[Progress]:
    """A bar on a terminal; how far it is goes by how much of the input was answered."""
    sizes = [os.path.getsize(file) if os.path.isfile(file) else None for file in dict.fromkeys(files)]
    total = None if None in sizes else float(sum(size or 0 for size in sizes))
    out = show.console(stderr=True)
    columns = (BarColumn(), TaskProgressColumn(), _Rate(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, disable=not out.is_terminal) as bar:
        bar.add_task("", total=total, answered=0)
        yield bar
