"""How strong a configuration of the search is: matches of one A against n-1 copies of B (solver/match/).

    python -m benchmarks match A B --iterations 500 --deals 100

A and B are names of `solver.CONFIGS`, with other settings if wanted: `plain:nodes=own,exploration=0.7`. Or `openspiel`:
OpenSpiel's ISMCTSBot, which plays our game through the bridge, one simulation an iteration; its settings are those of
`openspiel.Bot`, as in `openspiel:rollouts=engine`.

`--time-ms` is the CPU time of a thread for each decision, fair on a machine that others use; `--wall-ms` is time by the
clock. `--resume FILE` writes each deal to FILE when it is over, and first reads what is there. `--sprt ELO0 ELO1` stops
as soon as one of two strengths is the likelier one.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import load
from engine_cy import EngineError, new_game
from solver import Budget, Config, InvalidQuestionError
from solver import match as matches
from solver.config import check_budget
from solver.match import Deal, Guest, Match, OtherMatchError, Report, Sprt, elo_text, score_of, with_settings
from solver.pool import cores

PROGRESS_SECONDS = 20.0


def read_player(text: str) -> Config | Guest:
    """A configuration, or OpenSpiel's bot, with other settings if there are any."""
    return matches.read_player(text, {"openspiel": _read_bot})


def _read_bot(text: str, settings: str) -> Guest:
    from benchmarks.openspiel import Bot

    return with_settings(Bot("openspiel"), text, settings)


def bridge_costs(match: Match) -> dict[str, float] | None:
    """What our game costs OpenSpiel's bot, if it plays."""
    bots: list[Any] = [who for who in (match.a, match.b) if not isinstance(who, Config)]
    return bots[0].bridge_costs(match.game) if bots else None


class MatchProgress:
    """Prints every now and then how it stands."""

    def __init__(self, players: int) -> None:
        self._players = players
        self._told = time.perf_counter()

    def __call__(self, deals: Sequence[Deal]) -> None:
        if deals and time.perf_counter() - self._told > PROGRESS_SECONDS:
            self._told = time.perf_counter()
            print(
                f"  {len(deals)} deals: {elo_text(score_of([deal.mean for deal in deals], self._players))}", flush=True
            )


def as_json(report: Report, loads: dict[str, list[float]]) -> dict[str, Any]:
    found = {**matches.as_json(report), "load": loads}
    costs = bridge_costs(report.match)
    return {**found, "bridge": costs} if costs else found


def as_text(report: Report, loads: dict[str, list[float]]) -> str:
    text = f"{matches.as_text(report)}\nload {loads['before']} before, {loads['after']} after"
    costs = bridge_costs(report.match)
    if costs:
        told = ", ".join(f"{name.removesuffix('_ns')} {ns:.0f} ns" for name, ns in costs.items())
        text += f"\nthrough the bridge: {told}"
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
    parser.add_argument("--ruleset", help="the game's usual one, if not given")
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--deals", type=int, default=100, help="with --sprt, at most so many")
    limit = parser.add_mutually_exclusive_group(required=True)
    limit.add_argument("--iterations", type=int, help="for each decision")
    limit.add_argument("--time-ms", type=float, help="CPU time of a thread for each decision")
    limit.add_argument("--wall-ms", type=float, help="time by the clock for each decision")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=cores(), help="processes; all cores")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="where deals are written and read")
    parser.add_argument("--sprt", type=float, nargs=2, metavar=("ELO0", "ELO1"))
    parser.add_argument("--json", action="store_true", help="print one JSON object on the last line")
    given = parser.parse_args(argv)
    if min(given.deals, given.workers) < 1:
        parser.error("--deals and --workers are at least 1")
    try:
        match = Match(
            game=new_game(given.game, given.ruleset, given.players).spec,
            a=read_player(given.a),
            b=read_player(given.b),
            budget=check_budget(Budget(given.iterations, time_ms=given.wall_ms, thread_time_ms=given.time_ms)),
            seed=given.seed,
        )
        sprt = Sprt(*given.sprt) if given.sprt else None
        before = load()
        report = matches.run(
            match,
            given.deals,
            workers=given.workers,
            path=given.resume,
            sprt=sprt,
            tell=None if given.json else MatchProgress(match.players),
        )
    except (EngineError, InvalidQuestionError, OtherMatchError) as error:
        parser.error(str(error))
    loads = {"before": before, "after": load()}
    print(json.dumps(as_json(report, loads)) if given.json else as_text(report, loads))
