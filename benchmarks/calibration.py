"""Show whether the numbers of answers come true, for every game and number of players; write docs/calibration.md.

    python -m benchmarks calibration --games 500                    every game, 10 ms
    python -m benchmarks calibration --only oriflamme-3 --games 3000 --time-ms 10 100

`default` plays games against itself, and searches some positions of each (strength.py). The page has, for each game
and number of players, the calibration error of the win % with its interval by games, and the error that true forecasts
would have; the same of the raw means; the error of the chances of ranks; the share of results within the interval of
the points; and how much more the player to act was promised in each round than they won. Plots show promised and won.

Games and searches are kept in `--work`, so the command resumes; more `--games` add to them. Nothing was fitted to games
of their seed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import plots, reliability
from benchmarks.pages import DOCS, picture, provenance, replace_section, table
from benchmarks.reliability import Bin, Forecast, Mean, Pairs, of_observer, of_seats
from benchmarks.strength import Row, Task, as_json, figures, forecasts, searches
from engine_cy import EngineError, new_game
from solver.calibration import fit_of, weights_digest
from solver.config import Budget, InvalidQuestionError, check_budget
from solver.pool import cores
from solver.training.games import SETS, Member, Plan, Spec, make_games

PAGE = DOCS / "calibration.md"
SHOWN = {name: specs[0] for name, specs in SETS.items()}
# Iterations of the games; those of Castle, Village, Port take thirty times as long.
PLAY = {"oriflamme": 1000, "oriflamme_prototype": 1000, "castle_village_port": 100}


class Measured(NamedTuple):
    """Hold the searches of a game with one effort: their figures, and the tables of the plots."""

    effort: str
    figures: dict[str, Any]
    mover: list[Bin]
    seats: list[Bin]
    mover_error: Mean
    seats_error: Mean


def measured(effort: str, rows: Sequence[Row]) -> Measured:
    acting = [row for row in rows if row.acting]
    mover, seats = forecasts(acting, "move"), forecasts(acting, "seats")
    return Measured(
        effort,
        figures(rows),
        reliability.reliability(mover, of_observer),
        reliability.reliability(seats, of_seats),
        error_with_interval(mover, of_observer),
        error_with_interval(seats, of_seats),
    )


def error_with_interval(shown: Sequence[Forecast], pairs: Pairs) -> Mean:
    return Mean(reliability.error_of(shown, pairs), *reliability.error_interval(shown, pairs))


def measure(name: str, spec: Spec, budgets: Sequence[Budget], options: argparse.Namespace) -> list[Measured]:
    """Play and search the missing games of a ruleset; return the figures for each effort."""
    game, play = new_game(*spec), options.play or PLAY[spec[0]]
    folder = options.work / f"{name}-{options.seed}-{play}-{weights_digest(game)[:8]}"
    make_games(folder, Plan([spec], play, options.seed, [Member("default", 1.0, 1)]), options.games, options.workers)
    results = []
    for budget in budgets:
        rows = searches(Task("default", budget, options.positions), folder, options.games, options.workers)
        results.append(measured(effort_of(budget), rows))
    return results


def effort_of(budget: Budget) -> str:
    return f"{budget.thread_time_ms:g} ms" if budget.thread_time_ms else f"{budget.iterations:,} iterations"


# --- the page ---------------------------------------------------------------------------------------------------


def write_page(page: Path, name: str, spec: Spec, results: Sequence[Measured], seed: int, command: str) -> None:
    """Write the section of a game and number of players, and its plots."""
    game, title = new_game(*spec), f"{spec[0]}, {spec[1]}, {spec[2]} players"
    pictures = []
    for i, result in enumerate(results):
        path = page.parent / "pictures" / f"calibration-{name}{f'-{i}' if i else ''}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        panels = [("best move", dots_of(result.mover)), ("all seats", dots_of(result.seats))]
        path.write_text(plots.reliability(f"{title}, {result.effort}", panels))
        pictures.append(picture(path, page, f"Promised and won shares of {title}, {result.effort}"))
    rounds = sorted({number for result in results for number in result.figures["surplus_by_round"]})
    fit = fit_of(game)
    lines = [
        f"## {title}\n",
        f"Fit: {f'`{fit.name}`' if fit else 'none; the raw means are shown'}.\n",
        *pictures,
        table(
            ("", *(result.effort for result in results)),
            [(label, *(cell(result) for result in results)) for label, cell in CELLS],
        ),
        table(
            ("promised minus won, round", *map(str, rounds)),
            [(result.effort, *(surplus(result, number) for number in rounds)) for result in results],
        ),
        provenance(game, command, seed),
    ]
    replace_section(page, f"calibration {name}", "\n".join(lines))


CELLS: Sequence[tuple[str, Callable[[Measured], str]]] = (
    ("games, positions", lambda result: f"{result.figures['games']:,}, {result.figures['positions']:,}"),
    ("calibration error, best move", lambda result: with_noise(result.mover_error, result.figures["ece_mover_noise"])),
    ("... of the raw means", lambda result: f"{result.figures['ece_mover_raw']:.3f}"),
    ("calibration error, all seats", lambda result: with_noise(result.seats_error, result.figures["ece_seats_noise"])),
    ("... of the raw means", lambda result: f"{result.figures['ece_seats_raw']:.3f}"),
    ("calibration error, an onlooker's", lambda result: f"{result.figures['ece_onlooker']:.3f}"),
    ("calibration error of ranks", lambda result: f"{result.figures['ranks_error']:.3f}"),
    ("points within their 95 % interval", lambda result: f"{100 * result.figures['points_coverage']:.1f} %"),
)


def with_noise(error: Mean, noise: float) -> str:
    return f"{error.mean:.3f} [{error.low:.3f}, {error.high:.3f}], noise alone {noise:.3f}"


def surplus(result: Measured, number: int) -> str:
    mean = result.figures["surplus_by_round"].get(number)
    return f"{mean.mean:+.3f} ±{(mean.high - mean.low) / 2:.3f}" if mean else ""


def dots_of(bins: Sequence[Bin]) -> list[plots.Dot]:
    most = max((row.forecasts for row in bins), default=1)
    return [plots.Dot(row.predicted, row.won.mean, row.won.low, row.won.high, row.forecasts / most) for row in bins]


def as_text(name: str, result: Measured) -> str:
    lines = [f"{name}, {result.effort}"]
    return "\n".join(lines + [f"  {label:36}{cell(result)}" for label, cell in CELLS])


def values_of(result: Measured) -> dict[str, Any]:
    errors = {"mover_error": result.mover_error, "seats_error": result.seats_error}
    values: dict[str, Any] = as_json({"effort": result.effort, **errors, **result.figures})
    return values


def listed(numbers: Sequence[float]) -> str:
    return " ".join(f"{number:g}" for number in numbers)


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks calibration",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", nargs="+", choices=SHOWN, default=list(SHOWN), metavar="SET", help="such as oriflamme-3"
    )
    parser.add_argument("--games", type=int, default=100, help="of each set (default 100)")
    parser.add_argument("--positions", type=int, default=4, help="of each game (default 4)")
    parser.add_argument("--play", type=int, default=0, metavar="ITERATIONS", help="of the games (default: by game)")
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--time-ms", type=float, nargs="+", default=[10.0], help="CPU time of a search (default 10)")
    limit.add_argument("--iterations", type=int, nargs="+", help="of a search")
    parser.add_argument("--seed", type=int, default=40_001)
    parser.add_argument("--workers", type=int, default=cores(), help="default: one per core")
    parser.add_argument(
        "--work", type=Path, default=Path("build/calibration_page"), help="folder of games and searches"
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="default: docs/calibration.md")
    parser.add_argument("--no-page", action="store_true", help="do not write the page")
    parser.add_argument("--json", action="store_true", help="print one JSON object on the last line")
    options = parser.parse_args(argv)
    if min(options.games, options.positions, options.workers) < 1 or options.play < 0:
        parser.error("--games, --positions and --workers are at least 1")
    results = {}
    try:
        budgets = [check_budget(Budget(iterations)) for iterations in options.iterations or ()] or [
            check_budget(Budget(thread_time_ms=time_ms)) for time_ms in options.time_ms
        ]
        for name in options.only:
            results[name] = measure(name, SHOWN[name], budgets, options)
            if not options.no_page:
                efforts = f"--iterations {listed(options.iterations)}" if options.iterations else ""
                efforts = efforts or f"--time-ms {listed(options.time_ms)}"
                command = f"python -m benchmarks calibration --only {name} --games {options.games} {efforts}"
                write_page(options.page, name, SHOWN[name], results[name], options.seed, command)
            if not options.json:
                print("\n".join(as_text(name, result) for result in results[name]), flush=True)
    except (EngineError, InvalidQuestionError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command continues")
    if options.json:
        print(json.dumps({name: [values_of(result) for result in some] for name, some in results.items()}))
