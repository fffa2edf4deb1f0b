"""Measure the steps between the levels, and fit the levels to even steps.

    python -m benchmarks levels --games 1000             each level against the one below, 3 and 4 players
    python -m benchmarks levels --fit --minutes 60       the rows of LEVELS in solver/config.py, with even steps

A level has three numbers: its iterations, the errors of its judgement, and whether it remembers (solver/mistakes.py).
The fit plays matches between neighbours on PATH, a list of such numbers from weak to strong, fits the Elo of all to the
games of all numbers of players together (ratings.py), and takes ten points at even distances, between those of the
path where necessary. It prints the rows; the measurement then plays one match for each step, on other deals, and writes
the table in docs/levels.md.

Games are kept in `--work`, so both commands resume. Every level is a number of iterations, so machines do not matter.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.ladder import BATCH_S, Entrant, Matches, Pair, read_entrant
from benchmarks.pages import DOCS, provenance, replace_section, table
from benchmarks.ratings import Ratings, Result, fit, gain_of
from engine_cy import CHANCE, EngineError, Game, new_game
from solver import LEVEL_NAMES, LEVELS, InvalidQuestionError, solve
from solver.config import Config
from solver.match import MatchScore, score_of
from solver.pool import cores
from solver.pool.base import Pool
from solver.pool.processes import Processes

PAGE = DOCS / "levels.md"
FIT_SEED, SEED = 50_001, 55_001
TIMED_DEALS = 2
STEPS = (60.0, 100.0)  # the Elo of a step that a player notices


class Strength(NamedTuple):
    """Hold the numbers of a level."""

    iterations: int
    misjudgement: float
    remembers: bool

    @property
    def entrant(self) -> Entrant:
        values = ",".join(f"{field}={value}" for field, value in self._asdict().items())
        return read_entrant(f"default:{values}")


# From "a child wins" to the strongest level. Between points, iterations change by factors and errors by differences.
PATH = (
    Strength(16, 0.45, False),
    Strength(16, 0.3, False),
    Strength(16, 0.2, False),
    Strength(16, 0.15, False),
    Strength(24, 0.12, False),
    Strength(32, 0.09, True),
    Strength(48, 0.065, True),
    Strength(100, 0.045, True),
    Strength(200, 0.03, True),
    Strength(400, 0.02, True),
    Strength(1_000, 0.01, True),
    Strength(4_000, 0.0, True),
    Strength(50_000, 0.0, True),
)


# --- fitting ----------------------------------------------------------------------------------------------------


class Scale(NamedTuple):
    """Hold the points of a path with their Elo."""

    points: Sequence[Strength]
    elo: Sequence[float]

    def at(self, elo: float) -> Strength:
        """Return the numbers of a level of this Elo, between two points of the path."""
        for (a, low), (b, high) in pairwise(zip(self.points, self.elo, strict=True)):
            if elo <= high:
                part = max((elo - low) / (high - low), 0.0) if high > low else 1.0
                return between(a, b, part)
        return self.points[-1]

    def levels(self, number: int) -> tuple[list[Strength], float]:
        """Return levels at even distances, the first and the last point among them, and the Elo of a step."""
        step = (self.elo[-1] - self.elo[0]) / (number - 1)
        return [self.at(self.elo[0] + i * step) for i in range(number)], step


def between(a: Strength, b: Strength, part: float) -> Strength:
    """Return a strength between two points, with few digits."""
    iterations = a.iterations * (b.iterations / a.iterations) ** part
    digits = max(int(math.log10(iterations)) - 1, 0)
    misjudgement = a.misjudgement + part * (b.misjudgement - a.misjudgement)
    return Strength(round(iterations / 10**digits) * 10**digits, round(misjudgement, 3), (a, b)[part >= 0.5].remembers)


def rising(elo: Sequence[float]) -> list[float]:
    """Return the nearest numbers that never fall: neighbours in the wrong order get their mean."""
    groups: list[list[float]] = []
    for value in elo:
        groups.append([value])
        while len(groups) > 1 and mean(groups[-2]) > mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    return [mean(group) for group in groups for _ in group]


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


class Steps:
    """The matches between neighbours among some players, for several numbers of players."""

    def __init__(self, games: Sequence[Game], entrants: Sequence[Entrant], seed: int, work: Path) -> None:
        self.entrants = entrants
        self.matches = [Matches(game, entrants, seed, work) for game in games]
        self.pairs = [Pair(i + 1, i) for i in range(len(entrants) - 1)]

    @property
    def results(self) -> list[Result]:
        return [result for matches in self.matches for result in matches.results]

    @property
    def ratings(self) -> Ratings:
        return fit(len(self.entrants), self.results, 0)

    def play_until(self, until: float, pool: Pool | None) -> None:
        """Play the pair next whose deals narrow the intervals most for their time, until a time."""
        while time.monotonic() < until:
            matches, pair = self.best_choice()
            time_left = min(BATCH_S, max(until - time.monotonic(), 1.0)) * (pool.width if pool else 1)
            deals = round(time_left / matches.seconds_of(pair))
            matches.play(pair, min(max(deals, 2), 20 + len(matches.played.get(pair, ()))), pool)
            a, b = (self.entrants[number].name for number in pair)
            print(f"{matches.game.n_players} players: {a} against {b}", file=sys.stderr, flush=True)

    def best_choice(self) -> tuple[Matches, Pair]:
        ratings = self.ratings

        def gain(choice: tuple[Matches, Pair]) -> float:
            matches, (a, b) = choice
            return gain_of(ratings, a, b, matches.game.n_players) / matches.seconds_of(choice[1])

        return max(((matches, pair) for matches in self.matches for pair in self.pairs), key=gain)

    def play_games(self, games: int, until: float, pool: Pool | None) -> None:
        """Play a number of games for each step, the cheap ones first, until a time."""
        for pair in self.pairs:
            for matches in self.matches:
                wanted = -(-games // matches.game.n_players)
                while time.monotonic() < until and (known := len(matches.played.get(pair, ()))) < wanted:
                    time_left = min(BATCH_S, until - time.monotonic()) * (pool.width if pool else 1)
                    deals = max(round(time_left / matches.seconds_of(pair)), 2)
                    matches.play(pair, min(deals, wanted - known), pool)

    def score(self, matches: Matches, pair: Pair) -> MatchScore | None:
        deals = matches.played.get(pair)
        return score_of([deal.mean for deal in deals], matches.game.n_players) if deals else None


def fitted(steps: Steps, path: Sequence[Strength]) -> tuple[list[Strength], float, Ratings]:
    """Return the fitted levels and the Elo of a step."""
    ratings = steps.ratings
    levels, step = Scale(path, rising([float(value) for value in ratings.elo])).levels(len(LEVELS))
    return levels, step, ratings


# --- the report -------------------------------------------------------------------------------------------------


def milliseconds(config: Config, game: Game) -> float:
    """Return the median CPU time of a decision, in milliseconds, in games of the heuristic policy."""
    times = []
    for seed in range(TIMED_DEALS):
        position = game.deal(seed)
        while not position.is_over:
            options = position.legal_actions()
            if position.to_act == CHANCE or len(options) == 1:
                position = position.play(options[0])
                continue
            assert position.to_act is not None
            view = position.view(position.to_act)
            started = time.thread_time()
            solve(view, config=config, seed=seed, lines=0)
            times.append(1000 * (time.thread_time() - started))
            best = solve(view, config="greedy", seed=seed).best
            assert best is not None
            position = position.play(best)
    return sorted(times)[len(times) // 2]


def values_of(steps: Steps) -> list[dict[str, Any]]:
    rows = []
    for pair in steps.pairs:
        for matches in steps.matches:
            if score := steps.score(matches, pair):
                elo = [round(score.elo(share), 1) + 0.0 for share in (score.mean, score.low, score.high)]
                row = {"level": pair.a + 1, "players": matches.game.n_players, "games": score.games}
                rows.append({**row, "elo": elo[0], "low": elo[1], "high": elo[2]})
    return rows


def step_text(score: MatchScore | None) -> str:
    if score is None:
        return ""
    elo, low, high = (score.elo(share) for share in (score.mean, score.low, score.high))
    return f"{elo:+.0f} [{low:+.0f}, {high:+.0f}]"


def rows_of(steps: Steps) -> list[tuple[str, ...]]:
    """Return a row for each level: its numbers, its time, and its step above the level below."""
    names = {level: name for name, level in LEVEL_NAMES.items()}
    rows = []
    for level, config in LEVELS.items():
        scores = [steps.score(matches, Pair(level - 1, level - 2)) if level > 1 else None for matches in steps.matches]
        rows.append(
            (
                str(level),
                f"`{names[level]}`" if level in names else "",
                f"{config.iterations:,}",
                f"±{100 * config.misjudgement:.1f} %" if config.misjudgement else "none",
                "yes" if config.remembers else "no",
                rounded(milliseconds(config, steps.matches[0].game)),
                *(step_text(score) for score in scores),
                f"{sum(score.games for score in scores if score):,}" if level > 1 else "",
            )
        )
    return rows


def rounded(ms: float) -> str:
    return f"{ms:.0f}" if ms >= 10 else f"{ms:.1f}"


def head_of(steps: Steps) -> tuple[str, ...]:
    players = [f"Elo above the level below, {matches.game.n_players} players" for matches in steps.matches]
    return ("level", "name", "iterations", "errors", "remembers", "ms", *players, "games")


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks levels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fit", action="store_true", help="fit the levels, instead of measuring them")
    parser.add_argument("--game", default="oriflamme")
    parser.add_argument("--ruleset", help="default: the first of the game")
    parser.add_argument("--players", type=int, nargs="+", default=[3, 4], help="default: 3 4")
    parser.add_argument(
        "--games", type=int, default=1000, help="of each step, at each number of players (default 1000)"
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="of play; 0: only report (default 10)")
    parser.add_argument("--seed", type=int, help=f"default: {FIT_SEED} to fit, {SEED} to measure")
    parser.add_argument("--workers", type=int, default=cores(), help="default: one per core")
    parser.add_argument("--work", type=Path, default=Path("build/levels"), help="folder of the kept games")
    parser.add_argument("--page", type=Path, default=PAGE, help="default: docs/levels.md")
    parser.add_argument("--no-page", action="store_true", help="do not write the page")
    parser.add_argument("--json", action="store_true", help="print one JSON object on the last line")
    options = parser.parse_args(argv)
    if min(options.games, options.workers) < 1 or not 0 <= options.minutes < math.inf:
        parser.error("--games and --workers are at least 1, and --minutes at least 0")
    try:
        games = [new_game(options.game, options.ruleset, players) for players in options.players]
        values = run_fit(games, options) if options.fit else run_steps(games, options)
    except (EngineError, InvalidQuestionError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command continues")
    if options.json:
        print(json.dumps(values))


def run_fit(games: Sequence[Game], options: argparse.Namespace) -> dict[str, Any]:
    steps = Steps(games, [point.entrant for point in PATH], options.seed or FIT_SEED, options.work)
    if options.minutes:
        with Processes(options.workers) as pool:
            steps.play_until(time.monotonic() + 60 * options.minutes, pool)
    levels, step, ratings = fitted(steps, PATH)
    if not options.json:
        for i, point in enumerate(PATH):
            error = f"±{ratings.errors[i]:.0f}" if i else ""
            print(f"{ratings.elo[i]:+5.0f} {error:5} {point.iterations:6} {point.misjudgement:5} {point.remembers}")
        print(f"\n{len(levels)} levels, {step:.0f} Elo a step; LEVELS in solver/config.py:")
        for level in levels:
            print(f"            ({level.iterations:_}, {level.misjudgement}, {level.remembers}),")
        if not STEPS[0] <= step <= STEPS[1]:
            print(
                f"Steps of {step:.0f} Elo are not between {STEPS[0]:.0f} and {STEPS[1]:.0f}: change the ends of PATH."
            )
    path = [{**point._asdict(), "elo": round(float(elo), 1)} for point, elo in zip(PATH, ratings.elo, strict=True)]
    return {"step": round(step, 1), "path": path, "levels": [level._asdict() for level in levels]}


def run_steps(games: Sequence[Game], options: argparse.Namespace) -> dict[str, Any]:
    seed = options.seed or SEED
    steps = Steps(games, [read_entrant(f"level-{level}") for level in LEVELS], seed, options.work)
    if options.minutes:
        with Processes(options.workers) as pool:
            steps.play_games(options.games, time.monotonic() + 60 * options.minutes, pool)
    rows = rows_of(steps)
    if not options.no_page:
        command = f"python -m benchmarks levels --game {options.game} --games {options.games}"
        text = f"{table(head_of(steps), rows)}\n{provenance(games[0], command, seed)}"
        replace_section(options.page, f"levels {options.game}", text)
    if not options.json:
        print("\n".join("  ".join(row) for row in [head_of(steps), *rows]))
    return {"steps": values_of(steps)}
