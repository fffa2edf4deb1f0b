"""Measure the strength of configurations: matches of one A against n-1 copies of B (solver/match/).

    python -m benchmarks match A B --iterations 500 --deals 100

A and B are names of `solver.CONFIGS`, optionally with other settings: `plain:nodes=own,exploration=0.7`. Or
`openspiel`: OpenSpiel's ISMCTSBot, which plays our game through the bridge, one simulation per iteration; its settings
are those of `openspiel.Bot`, as in `openspiel:rollouts=engine`. Or `default-1`: an earlier version of `default`, built
from the history of this repository (frozen.py). Or `cheater`: a search that sees all cards (cheater.py).

`--time-ms` limits the CPU time of a thread for each decision, which is fair on a busy machine; `--wall-ms` limits wall
time. `--resume FILE` appends each finished deal to FILE, and first reads the deals in it. `--sprt ELO0 ELO1` stops
early by the SPRT of the two strengths.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.cheater import read_cheater
from benchmarks.frozen import GUESTS, FrozenBuildError
from benchmarks.measure import load
from engine_cy import EngineError, new_game
from solver import Budget, Config, InvalidQuestionError
from solver import match as matches
from solver.config import check_budget
from solver.match import Guest, Match, OtherMatchError, PlayedDeal, Report, Sprt, elo_text, score_of, with_settings
from solver.pool import cores

PROGRESS_SECONDS = 20.0


def read_player(text: str) -> Config | Guest:
    """Parse a configuration or another player, optionally with other settings."""
    return matches.read_player(text, {"openspiel": _read_bot, "cheater": read_cheater, **GUESTS})


def _read_bot(text: str, settings: str) -> Guest:
    from benchmarks.openspiel import Bot

    return with_settings(Bot("openspiel"), text, settings)


def bridge_costs(match: Match) -> dict[str, float] | None:
    """Return the time that the bridge costs OpenSpiel's bot, if it plays."""
    bots: list[Any] = [player for player in (match.a, match.b) if hasattr(player, "bridge_costs")]
    return bots[0].bridge_costs(match.game) if bots else None


class MatchProgress:
    """Prints the score so far every `PROGRESS_SECONDS`."""

    def __init__(self, players: int) -> None:
        self._players = players
        self._printed = time.perf_counter()

    def __call__(self, deals: Sequence[PlayedDeal]) -> None:
        if deals and time.perf_counter() - self._printed > PROGRESS_SECONDS:
            self._printed = time.perf_counter()
            print(
                f"  {len(deals)} deals: {elo_text(score_of([deal.mean for deal in deals], self._players))}", flush=True
            )


def as_json(report: Report, loads: dict[str, list[float]]) -> dict[str, Any]:
    fields = {**matches.as_json(report), "load": loads}
    costs = bridge_costs(report.match)
    return {**fields, "bridge": costs} if costs else fields


def as_text(report: Report, loads: dict[str, list[float]]) -> str:
    text = f"{matches.as_text(report)}\nload {loads['before']} before, {loads['after']} after"
    costs = bridge_costs(report.match)
    if costs:
        calls = ", ".join(f"{name.removesuffix('_ns')} {ns:.0f} ns" for name, ns in costs.items())
        text += f"\nthrough the bridge: {calls}"
    return text


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks match",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("a", metavar="A")
    parser.add_argument("b", metavar="B")
    parser.add_argument("--game", default="oriflamme")
    parser.add_argument("--ruleset", help="default: the first of the game")
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--deals", type=int, default=100, help="with --sprt, at most")
    limit = parser.add_mutually_exclusive_group(required=True)
    limit.add_argument("--iterations", type=int, help="for each decision")
    limit.add_argument("--time-ms", type=float, help="CPU time of a thread for each decision")
    limit.add_argument("--wall-ms", type=float, help="wall time for each decision")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=cores(), help="default: one per core")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="save deals in FILE, and resume from it")
    parser.add_argument("--sprt", type=float, nargs=2, metavar=("ELO0", "ELO1"))
    parser.add_argument("--json", action="store_true", help="print one JSON object on the last line")
    arguments = parser.parse_args(argv)
    if min(arguments.deals, arguments.workers) < 1:
        parser.error("--deals and --workers are at least 1")
    try:
        match = Match(
            game=new_game(arguments.game, arguments.ruleset, arguments.players).spec,
            a=read_player(arguments.a),
            b=read_player(arguments.b),
            budget=check_budget(
                Budget(arguments.iterations, time_ms=arguments.wall_ms, thread_time_ms=arguments.time_ms)
            ),
            seed=arguments.seed,
        )
        sprt = Sprt(*arguments.sprt) if arguments.sprt else None
        before = load()
        report = matches.run(
            match,
            arguments.deals,
            workers=arguments.workers,
            path=arguments.resume,
            sprt=sprt,
            on_progress=None if arguments.json else MatchProgress(match.players),
        )
    except (EngineError, FrozenBuildError, InvalidQuestionError, OtherMatchError) as error:
        parser.error(str(error))
    loads = {"before": before, "after": load()}
    print(json.dumps(as_json(report, loads)) if arguments.json else as_text(report, loads))
