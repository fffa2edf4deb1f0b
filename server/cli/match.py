"""eminence match: ways to play against each other."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import click

from engine_cy import new_game
from solver.config import Budget, Config, check_budget
from solver.match import Deal, Guest, Match, Sprt, as_json, as_text, elo_text, read_player, run, score_of

EXAMPLES = """\b
Examples:
  eminence match default plain --deals 50
  eminence match default:exploration=0.7 default --iterations 2000 --sprt 0 20 --resume match.jsonl
  eminence match level-6 level-5 --game castle_village_port --players 4
  eminence match default server:127.0.0.1:50051,level=8 --iterations 5000
"""
ITERATIONS = 1_000


@click.command(epilog=EXAMPLES)
@click.argument("a")
@click.argument("b")
@click.option("--game", default="oriflamme", show_default=True)
@click.option("--ruleset", help="The game's first one, if not given.")
@click.option("--players", type=int, default=3, show_default=True)
@click.option("--deals", type=click.IntRange(1), default=100, show_default=True, help="With --sprt, at most so many.")
@click.option("--iterations", type=int, help=f"For each decision; {ITERATIONS} if no time is given.")
@click.option("--time-ms", type=float, help="By the clock, for each decision.")
@click.option("--cpu-ms", type=float, help="Of computing, for each decision: fair on a busy machine.")
@click.option("--sprt", type=float, nargs=2, metavar="ELO0 ELO1", help="Stop when one strength is the likelier one.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--workers", type=click.IntRange(1), help="Deals played at a time; all cores if not given.")
@click.option("--resume", type=click.Path(path_type=Path, dir_okay=False), help="Keep deals in this file; go on there.")
@click.option("--json", "as_json_", is_flag=True, help="Print one JSON object instead.")
def match(
    a: str,
    b: str,
    game: str,
    ruleset: str | None,
    players: int,
    deals: int,
    iterations: int | None,
    time_ms: float | None,
    cpu_ms: float | None,
    sprt: tuple[float, float] | None,
    seed: int,
    workers: int | None,
    resume: Path | None,
    as_json_: bool,
) -> None:
    """Play A against copies of B, and say how much stronger it is.

    A and B are configurations (see below), with other settings if wanted, as in plain:exploration=0.7, or servers:
    server:HOST:PORT, perhaps with ,level=4.

    Each deal is played with A in every seat. The score is A's share of the win; as Elo, a fair share is 0. The interval
    holds the true value with 95 %.
    """
    if iterations is None and time_ms is None and cpu_ms is None:
        iterations = ITERATIONS
    asked = Match(
        game=new_game(game, ruleset, players).spec,
        a=player(a),
        b=player(b),
        budget=check_budget(Budget(iterations, time_ms=time_ms, thread_time_ms=cpu_ms)),
        seed=seed,
    )
    with Progress(asked.players, deals) as progress:
        report = run(
            asked,
            deals,
            workers=workers or len(os.sched_getaffinity(0)),
            path=resume,
            sprt=Sprt(*sprt) if sprt else None,
            tell=progress.tell,
        )
    click.echo(json.dumps(as_json(report)) if as_json_ else as_text(report))


def player(text: str) -> Config | Guest:
    from server.cli.servers import read_server

    return read_player(text, {"server": read_server})


class Progress:
    """A bar on a terminal: deals, score so far, time left."""

    def __init__(self, players: int, deals: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._players = players
        columns = (BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("", total=deals)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def tell(self, deals: Sequence[Deal]) -> None:
        if deals:
            score = score_of([deal.mean for deal in deals], self._players)
            self._bar.update(self._task, completed=len(deals), description=elo_text(score))
