"""eminence bench: measure the speed of this machine (`benchmarks/` compares it with other programs)."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import click
from rich.text import Text

from eminence import __version__
from engine_cy import CHANCE, Game, Rng, View
from server.cli import formatting
from server.cli.command import command, json_option
from server.cli.inputs import GameChoice
from server.cli.options import game_options
from solver import Budget, solve
from solver.expected_signature import SIGNATURE
from solver.pool import cores

ROUNDS = 3
# Spread above which a figure is marked as noisy: clock frequencies and other programs vary.
NOISY_ABOVE = 0.15


@command(
    "eminence bench --seconds 0.1",
    "eminence bench --seconds 0.1 --threads 2 --json",
    "eminence bench --seconds 0.1 --game castle_village_port --players 4",
)
@game_options
@click.option("--threads", type=click.IntRange(1, 256), help="Threads of the second search. Default: one per core.")
@click.option(
    "--seconds", type=click.FloatRange(0.05, 60), default=0.5, show_default=True, help="Duration of each measurement."
)
@json_option
def bench(choice: GameChoice, threads: int | None, seconds: float, as_json: bool) -> None:
    """Measure the speed of this machine: random games and search iterations per second, on one thread and on all.

    Each is measured three times, in turn; the output is the median and the spread. Other programs slow all of it down,
    so the load is printed, too.
    """
    game = choice.game()
    view = _first_view(game)
    n_threads = threads or cores()
    measures: dict[str, Callable[[], float]] = {
        "playouts_per_second": lambda: playouts(game, seconds),
        "iterations_per_second": lambda: iterations(view, seconds, 1),
    }
    if n_threads > 1:
        measures["iterations_per_second_all_threads"] = lambda: iterations(view, seconds, n_threads)
    load = os.getloadavg()[0]
    rounds = [{name: measure() for name, measure in measures.items()} for _ in range(ROUNDS)]
    result: dict[str, Any] = {
        "game": game.id,
        "players": game.n_players,
        "threads": n_threads,
        "cores": cores(),
        "seconds": seconds,
        "load_before": round(load, 2),
        "python": platform.python_version(),
        "version": __version__,
        "signature": SIGNATURE,
    }
    for name in measures:
        rates = [measured[name] for measured in rounds]
        result[name] = round(median(rates))
        result[f"{name}_spread"] = round((max(rates) - min(rates)) / median(rates), 3)
    if n_threads > 1:
        result["speedup"] = round(result["iterations_per_second_all_threads"] / result["iterations_per_second"], 2)
    formatting.print_json(result) if as_json else _print(result)


def _first_view(game: Game) -> View:
    """Return the view of the first player at the start of a game, after the actions of chance."""
    position = game.deal(seed=1)
    while position.to_act == CHANCE:
        position = position.play(position.legal_actions()[0])
    return position.view(position.to_act or 0)


def playouts(game: Game, seconds: float) -> float:
    """Return random games per second, each played from the deal to the end."""
    start, rng = game.deal(seed=1), Rng(1)
    done, start_s = 0, time.perf_counter()
    while (took := time.perf_counter() - start_s) < seconds:
        for _ in range(100):
            start.play_out(rng)
        done += 100
    return done / took


def iterations(view: View, seconds: float, threads: int) -> float:
    """Return search iterations per second of wall time, of all threads together."""
    start = time.perf_counter()
    answer = solve(view, Budget(time_ms=seconds * 1000), shares=threads)
    return answer.iterations / (time.perf_counter() - start)


def _print(result: dict[str, Any]) -> None:
    table = formatting.table("", "per second", "spread", right=("per second", "spread"))
    rows = {
        "random games, from the deal to the end": "playouts_per_second",
        "search iterations, one thread": "iterations_per_second",
        f"search iterations, {result['threads']} threads": "iterations_per_second_all_threads",
    }
    for label, name in rows.items():
        if name in result:
            spread = result[f"{name}_spread"]
            noisy = "  noisy" if spread > NOISY_ABOVE else ""
            table.add_row(label, formatting.count(result[name]), formatting.percent(spread) + noisy)
    out = formatting.console()
    out.print(formatting.heading(f"{result['game']}, {result['players']} players"), table, "", sep="\n")
    if "speedup" in result:
        out.print(Text(f"{result['threads']} threads are {result['speedup']:.2f} times as fast as one."))
    out.print(
        Text(
            f"{result['cores']} cores, load {result['load_before']} before; Python {result['python']}; "
            f"eminence {result['version']}, engine {result['signature']}",
            style="dim",
        )
    )
