"""eminence match: play configurations against each other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from server.cli import formatting
from server.cli.command import check_place, command, json_option
from server.cli.exit_codes import Failure
from server.cli.inputs import GameChoice
from server.cli.options import game_options
from server.cli.ray_option import open_cluster
from server.cli.server_player import ServerPlayer, read_server
from solver import match as matches
from solver.config import CONFIGS, LEVEL_NAMES, Budget, Config, InvalidQuestionError, check_budget
from solver.match import Guest, Match, OtherMatchError, PlayedDeal, Sprt, as_text, elo_text, read_player, run, score_of
from solver.pool import cores
from solver.pool.base import WorkerLostError

ITERATIONS = 1_000


def _names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in (*CONFIGS, *LEVEL_NAMES) if name.startswith(incomplete)]


@command(
    "eminence match default plain --deals 3 --iterations 50",
    "eminence match default:exploration=0.7 default --sprt 0 20 --resume match.jsonl --deals 4 --iterations 20",
    "eminence match level-3 level-1 --game castle_village_port --players 4 --deals 1",
    "eminence match default random --deals 2 --cpu-ms 1 --json",
    "eminence match hard easy --deals 2 --games games",
)
@click.argument("a", metavar="A", shell_complete=_names)
@click.argument("b", metavar="B", shell_complete=_names)
@game_options
@click.option(
    "--deals", type=click.IntRange(1), default=100, show_default=True, help="Number of deals; with --sprt, at most."
)
@click.option("--iterations", type=int, help=f"Limit for each decision. Default: {ITERATIONS}, unless a time is given.")
@click.option("--time-ms", type=float, help="Time limit for each decision, of wall time.")
@click.option("--cpu-ms", type=float, help="Time limit for each decision, of CPU time: fair on a busy machine.")
@click.option("--sprt", type=float, nargs=2, metavar="ELO0 ELO1", help="Stop early by the SPRT of these two strengths.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of deals, chance and searches.")
@click.option(
    "--workers", type=click.IntRange(1), help="Parallel deals, or workers of Ray. Default: all cores or workers."
)
@click.option("--ray-address", metavar="HOST:PORT", help="Search on a Ray cluster (docs/cluster.md).")
@click.option(
    "--resume", metavar="FILE", type=click.Path(path_type=Path), help="Save deals in FILE, and resume a match from it."
)
@click.option(
    "--games",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Keep a record of each game in this folder. A resumed match keeps the games of its further deals.",
)
@json_option
def match(
    a: str,
    b: str,
    choice: GameChoice,
    deals: int,
    iterations: int | None,
    time_ms: float | None,
    cpu_ms: float | None,
    sprt: tuple[float, float] | None,
    seed: int,
    workers: int | None,
    ray_address: str | None,
    resume: Path | None,
    games: Path | None,
    as_json: bool,
) -> None:
    """Play A against copies of B, and measure how much stronger A is.

    A and B are configurations (random, greedy, flat, pimc, plain, default, level-1 to level-10), or names of levels
    (beginner, easy, normal, hard, expert), optionally with other settings, as in plain:exploration=0.7; or servers, as
    in server:HOST:PORT or server:HOST:PORT,level=4.

    Each deal is played with A in every seat. The score is A's share of the win; a fair share is 0 Elo; the interval
    has a confidence of 95 %. If payoffs are not shares of a win, such as chips, the highest payoff wins. With a
    budget of iterations, a match is exactly reproducible.
    """
    if iterations is time_ms is cpu_ms is None:
        iterations = ITERATIONS
    settings = Match(
        game=choice.game().spec,
        a=_player(a),
        b=_player(b),
        budget=check_budget(Budget(iterations, time_ms=time_ms, thread_time_ms=cpu_ms)),
        seed=seed,
    )
    if cpu_ms is not None and any(isinstance(player, ServerPlayer) for player in (settings.a, settings.b)):
        raise InvalidQuestionError("cpu-ms", "cannot be used with servers, which report no CPU time")
    if sprt and not sprt[0] < sprt[1]:
        raise InvalidQuestionError("sprt", f"{sprt[0]:g} and {sprt[1]:g}: ELO0 must be below ELO1")
    check_place(resume, "resume")
    if games is not None and not games.is_dir():
        if games.exists():
            raise Failure(f"games: {games} is not a folder")
        check_place(games, "games")
    cluster = nullcontext() if ray_address is None else open_cluster(ray_address, workers)
    with cluster as pool, _Bar(settings.players, deals) as bar:
        try:
            report = run(
                settings,
                deals,
                workers=workers or cores(),
                pool=pool,
                path=resume,
                games=games,
                sprt=Sprt(*sprt) if sprt else None,
                on_progress=bar.update,
            )
        except (OtherMatchError, WorkerLostError) as error:
            raise Failure(f"resume: {error}" if isinstance(error, OtherMatchError) else str(error)) from None
    if as_json:
        formatting.print_json(matches.as_json(report))
    else:
        formatting.console().print(as_text(report), soft_wrap=True)


def _player(text: str) -> Config | Guest:
    return read_player(text, {"server": read_server})


class _Bar:
    """Progress bar with deals, time and score so far; on a terminal only."""

    def __init__(self, players: int, deals: int) -> None:
        err = formatting.console(stderr=True)
        columns = (BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._players = players
        self._progress = Progress(
            *columns, TextColumn("{task.description}"), console=err, transient=True, disable=not err.is_terminal
        )
        self._task = self._progress.add_task("", total=deals)

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def update(self, deals: Sequence[PlayedDeal]) -> None:
        if deals:
            score = score_of([deal.mean for deal in deals], self._players)
            self._progress.update(self._task, completed=len(deals), description=elo_text(score))
