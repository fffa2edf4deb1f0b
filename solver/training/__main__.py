"""Train a set of weights, a game at a number of players, from nothing: policy, evaluation and beliefs.

    python -m solver.training oriflamme-3 [--games 70000] [--iterations 400]

Four steps, whose results are stored in `--work`, so that the command resumes:

1. *learn*: self-play of the policy learns its marks, a first evaluation and the prior (`solver.training.fitting`);
2. *games*: the search plays with these weights, in a mixed population (`solver.training.games`);
3. *refit*: the evaluation is fitted again, to these games, of which every eighth judges it;
4. *beliefs*: hidden cards are fitted to games of a mixture of players (`solver.training.beliefs`).

`--install` then writes the set into the files of the engine. Afterwards, build, refit the calibration with
`python -m solver.training.calibration`, and state the new signature. `--quick` makes the smallest run, to try it out.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engine_cy.learned.weights import Weights
from engine_cy.oriflamme.evidence import BELIEFS
from solver.pool import cores
from solver.training import beliefs, castle_village_port, oriflamme
from solver.training.fitting import FitPlan, fit_features, learn_from_nothing, learn_prior
from solver.training.games import POPULATION, SETS, Plan, make_games

Tables = dict[str, list[list[float]]]


class Sizes(NamedTuple):
    """How much a run plays and learns."""

    steps: int  # batches of games of the policy
    prior_steps: int  # ... of the prior
    features: int  # games of the policy that the first evaluation is fitted to
    games: int  # of the search
    iterations: int
    belief_games: int


QUICK = Sizes(steps=3, prior_steps=2, features=200, games=100, iterations=20, belief_games=16)


def plan_of(name: str) -> FitPlan:
    return next(plan for plan in (oriflamme.PLAN, castle_village_port.PLAN) if name in plan.sets)


class Run:
    """A run for one set: a folder with a file for each finished step."""

    def __init__(self, name: str, sizes: Sizes, seed: int, workers: int, work: Path) -> None:
        self.name, self.sizes, self.seed, self.workers = name, sizes, seed, workers
        self.plan = plan_of(name)
        self.folder = work / name
        self.folder.mkdir(parents=True, exist_ok=True)
        header = json.dumps({"set": name, **sizes._asdict(), "seed": seed})
        path = self.folder / "run.json"
        if path.exists() and path.read_text() != header:
            raise SystemExit(f"--work: {self.folder} holds another run: {path.read_text()}, not {header}")
        path.write_text(header)

    def step(self, number: int, step: str, make: Callable[[], Any]) -> Any:
        """Return the result of a step, from its file if it is done."""
        path = self.folder / f"{number}-{step}.json"
        if not path.exists():
            started = time.monotonic()
            content = {"result": make(), "seconds": round(time.monotonic() - started, 1), "machine": platform.machine()}
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps(content))
            partial.replace(path)
        content = json.loads(path.read_text())
        print(f"{self.name}: {step} took {content['seconds']:.0f} s", flush=True)
        return content["result"]

    def learn(self) -> Tables:
        sizes = self.sizes
        learn_from_nothing(self.plan, self.name, sizes.steps, sizes.features, self.seed, True)
        fit_features(self.plan, self.name, sizes.features, self.seed + 3, True)
        if self.plan.prior_steps:
            learn_prior(self.plan, self.name, sizes.prior_steps, self.seed + 4, True)
        return {table: self.plan.weights.rows(self.name, table) for table in self.plan.weights.tables}

    def games(self) -> str:
        folder = self.folder / "games"
        plan = Plan(SETS[self.name], self.sizes.iterations, self.seed, POPULATION)
        make_games(folder, plan, self.sizes.games, self.workers, verbose=True)
        return folder.name

    def refit(self, learned: Tables) -> list[list[float]]:
        """Fit the evaluation to the games of the search, drawn to the first one; only games with rounds have ends."""
        if self.plan is not oriflamme.PLAN:
            return learned["features"]
        games, held_out = oriflamme.stored_games(self.name, self.folder / "games")
        rows = [np.array(row) for row in learned["features"]]
        return [row.tolist() for row in oriflamme.refitted(self.name, rows, games, held_out)]

    def beliefs(self) -> Tables | None:
        """Fit the beliefs of a set that has weights for them."""
        if self.name not in beliefs.SETS:
            return None
        model = beliefs.fit_set(self.name, self.sizes.belief_games, self.seed, self.folder / "beliefs", self.workers)
        return model.tables(self.name)

    def run(self, install: bool) -> None:
        learned: Tables = self.step(1, "learn", self.learn)
        self.plan.weights.replace(self.name, **learned)
        self.step(2, "games", self.games)
        features = self.step(3, "refit", lambda: self.refit(learned))
        self.plan.weights.replace(self.name, features=features)
        hidden: Tables | None = self.step(4, "beliefs", self.beliefs)
        if install:
            _install(self.plan.weights, self.name, {**learned, "features": features})
            if hidden is not None:
                _install(BELIEFS, self.name, hidden)


def _install(weights: Weights, name: str, tables: Tables) -> None:
    weights.write(weights.path, name, **tables)
    print(f"{name}: written to {weights.path}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m solver.training",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--games", type=int, default=70_000, help="of the search (default 70000)")
    parser.add_argument("--iterations", type=int, default=400, help="for each decision of these games (default 400)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=cores(), help="threads of the games (default: one per core)")
    parser.add_argument("--work", type=Path, default=Path("build/training"), help="folder of the steps")
    parser.add_argument("--install", action="store_true", help="write the set into the files of the engine")
    parser.add_argument("--quick", action="store_true", help="the smallest run; its weights are useless")
    options = parser.parse_args(arguments)
    if min(options.games, options.iterations, options.workers) < 1:
        parser.error("--games, --iterations and --workers are at least 1")
    if options.quick and options.install:
        parser.error("--quick: its weights are useless, so --install is refused")
    plan = plan_of(options.set)
    sizes = Sizes(plan.steps, plan.prior_steps, plan.games, options.games, options.iterations, 2000)
    run = Run(options.set, QUICK if options.quick else sizes, options.seed, options.workers, options.work)
    try:
        run.run(options.install)
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command continues")


if __name__ == "__main__":
    main()
