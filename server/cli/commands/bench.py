"""eminence bench: how fast this machine is at what eminence does. Not `benchmarks/`, which compares us with others."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import click
from rich.text import Text

from engine_cy import Game, Rng, View
from server.cli import formatting
from server.cli.command import command, json_option
from server.cli.commands.version import version
from server.cli.inputs import GameChoice
from server.cli.options import game_options
from solver import Budget, solve
from solver.expected_signature import SIGNATURE
from solver.pool import cores

ROUNDS = 3
# Clocks and the machine's mood: rounds that lie further apart than that are told as noisy.
NOISY_ABOVE = 0.15


@command(
    "eminence bench --seconds 0.1",
    "eminence bench --seconds 0.1 --threads 2 --json",
    "eminence bench --seconds 0.1 --game castle_village_port --players 4",
)
@game_options
@click.option("--threads", type=click.IntRange(1, 256), help="Threads of the second search. Default: all cores.")
@click.option("--seconds", type=click.FloatRange(0.05, 60), default=0.5, show_default=True, help="Of each measurement.")
@json_option
def bench(choice: GameChoice, threads: int | None, seconds: float, as_json: bool) -> None:
    """Measure this machine: random games, and search iterations on one thread and on all, per second.

    Each is measured three times, in turn; the middle one counts, and how far they lie apart is told beside it. Other
    programs slow all of it down: the load is told, too.
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
    told: dict[str, Any] = {
        "game": game.id,
        "players": game.n_players,
        "threads": n_threads,
        "cores": cores(),
        "seconds": seconds,
        "load_before": round(load, 2),
        "python": platform.python_version(),
        "version": version(),
        "signature": SIGNATURE,
    }
    for name in measures:
        rates = [found[name] for found in rounds]
        told[name] = round(median(rates))
        told[f"{name}_spread"] = round((max(rates) - min(rates)) / median(rates), 3)
    if n_threads > 1:
        told["speedup"] = round(told["iterations_per_second_all_threads"] / told["iterations_per_second"], 2)
    formatting.print_json(told) if as_json else _print(told)


def _first_view(game: Game) -> View:
    """What the first player sees at the start of a game."""
    position = game.deal(seed=1)
    return position.view(position.to_act or 0)


def playouts(game: Game, seconds: float) -> float:
    """Random games to the end per second, from a deal each."""
    start, rng = game.deal(seed=1), Rng(1)
    done, begun = 0, time.perf_counter()
    while (took := time.perf_counter() - begun) < seconds:
        for _ in range(100):
            start.play_out(rng)
        done += 100
    return done / took


def iterations(view: View, seconds: float, threads: int) -> float:
    """Iterations of a search per second of wall time, all threads together."""
    begun = time.perf_counter()
    found = solve(view, Budget(time_ms=seconds * 1000), shares=threads)
    return found.iterations / (time.perf_counter() - begun)


def _print(told: dict[str, Any]) -> None:
    table = formatting.table("", "per second", "spread", right=("per second", "spread"))
    rows = {
        "random games, from the deal to the end": "playouts_per_second",
        "search iterations, one thread": "iterations_per_second",
        f"search iterations, {told['threads']} threads": "iterations_per_second_all_threads",
    }
    for label, name in rows.items():
        if name in told:
            spread = told[f"{name}_spread"]
            noisy = "  noisy" if spread > NOISY_ABOVE else ""
            table.add_row(label, formatting.count(told[name]), formatting.percent(spread) + noisy)
    out = formatting.console()
    out.print(formatting.heading(f"{told['game']}, {told['players']} players"), table, "", sep="\n")
    if "speedup" in told:
        out.print(Text(f"{told['threads']} threads are {told['speedup']:.2f} times as fast as one."))
    out.print(
        Text(
            f"{told['cores']} cores, load {told['load_before']} before; Python {told['python']}; "
            f"eminence {told['version']}, engine {told['signature']}",
            style="dim",
        )
    )
