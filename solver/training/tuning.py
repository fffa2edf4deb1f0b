"""Tune the settings of `default` by games against itself.

    python -m solver.training.tuning oriflamme-3 --deals 3000 --iterations 2000 --out build/tuning/oriflamme-3.log

Each deal is played once in every seat by a player with settings of its own, drawn from `SETTINGS`, against `default`,
with as many iterations. The luck of a deal is a hundred times as large as the worth of a setting, so no settings are
tried twice: a quadratic surface, fitted to the results of all, tells the Elo that each setting gains over its range,
with the 95 % interval, and where the surface is highest. A setting whose intervals hold 0 is as good as it is.

Optuna spreads the settings evenly over their ranges, and keeps the deals in `--out`, so the command resumes; more
`--deals` add to them. The settings where it is highest have yet to win a match (`python -m benchmarks match`), on deals
of another seed and in time, not iterations.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from engine_cy import new_game
from solver.config import CONFIGS
from solver.match.elo import Z_95, elo_of
from solver.pool import cores
from solver.training.games import SETS, Spec, match_games

Floats = NDArray[np.float64]


class Range(NamedTuple):
    """Hold the range of a setting of `Config`; a logarithmic one is spread by factors."""

    low: float
    high: float
    logarithmic: bool = False

    def at(self, place: float) -> float:
        """Return the value at a place from -1, the low end, to 1."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        value = low + (high - low) * (place + 1) / 2
        return math.exp(value) if self.logarithmic else value

    def place_of(self, value: float) -> float:
        low, high = self._scaled(self.low), self._scaled(self.high)
        return 2 * (self._scaled(value) - low) / (high - low) - 1

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.logarithmic else value


SETTINGS = {
    "exploration": Range(0.4, 2.5, logarithmic=True),
    "first_play": Range(-0.05, 0.45),
    "trust": Range(0.5, 1.5),
}
PLACES = optuna.distributions.FloatDistribution(-1.0, 1.0)


def play(spec: Spec, places: dict[str, float], iterations: int, seed: int, deal: int) -> float:
    """Return the mean result of a deal for the player with the settings at these places."""
    default = replace(CONFIGS["default"], iterations=iterations)
    values: dict[str, Any] = {name: SETTINGS[name].at(place) for name, place in places.items()}
    tuned = replace(default, name="tuned", **values)
    (games,) = match_games(new_game(*spec), seed, tuned, default, [deal])
    return fmean(game.payoffs[seat] for seat, game in enumerate(games))


def play_deals(study: optuna.Study, spec: Spec, iterations: int, seed: int, deals: int, workers: int) -> None:
    """Play the deals that the study lacks."""
    running: dict[Future[float], optuna.Trial] = {}

    def tell_ended(most: int) -> None:
        while len(running) > most:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                study.tell(running.pop(future), future.result())

    for interrupted in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
        study.tell(interrupted.number, state=optuna.trial.TrialState.FAIL)
    # Games hold no GIL, so threads suffice.
    with ThreadPoolExecutor(workers) as threads:
        for _ in range(deals - len(results(study))):
            trial = study.ask(dict.fromkeys(SETTINGS, PLACES))
            running[threads.submit(play, spec, trial.params, iterations, seed, trial.number)] = trial
            tell_ended(workers)
        tell_ended(0)


def results(study: optuna.Study) -> list[tuple[dict[str, float], float]]:
    """Return the places and the mean result of each deal."""
    trials = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    return [(trial.params, trial.value) for trial in trials if trial.value is not None]


# --- the surface ------------------------------------------------------------------------------------------------


class Estimate(NamedTuple):
    """Hold an Elo difference and half the width of its 95 % interval."""

    elo: float
    error: float

    def __str__(self) -> str:
        return f"{self.elo:+.0f} ± {self.error:.0f}"


class Effect(NamedTuple):
    """Hold the worth of a setting at a place p of its range: p * slope + p * p * curve."""

    slope: Estimate
    curve: Estimate

    def at(self, place: float) -> float:
        return place * self.slope.elo + place * place * self.curve.elo

    @property
    def best_place(self) -> float:
        top = -self.slope.elo / (2 * self.curve.elo) if self.curve.elo < 0 else 0.0
        return max((min(max(top, -1.0), 1.0), -1.0, 1.0), key=self.at)


def effects(deals: Sequence[tuple[dict[str, float], float]], players: int) -> dict[str, Effect]:
    """Fit a quadratic surface to the results of deals; return the effect of each setting."""
    places = np.array([[params[name] for name in SETTINGS] for params, _ in deals])
    shares = np.array([share for _, share in deals])
    terms = np.column_stack([np.ones(len(deals)), places, places**2])
    numbers, *_ = np.linalg.lstsq(terms, shares)
    left = shares - terms @ numbers
    variance = left @ left / (len(deals) - terms.shape[1])
    errors = Z_95 * np.sqrt(variance * np.diag(np.linalg.inv(terms.T @ terms)))
    elo = elo_of(1 / players + 0.001, players) / 0.001  # of a whole share of the win, near the fair one
    found = [Estimate(number * elo, error * elo) for number, error in zip(numbers, errors, strict=True)][1:]
    return {name: Effect(found[n], found[n + len(SETTINGS)]) for n, name in enumerate(SETTINGS)}


def as_text(found: dict[str, Effect]) -> str:
    lines = [f"{'setting':<14}{'range':>14}{'slope':>12}{'curve':>12}{'now':>8}{'best':>8}{'gain':>8}"]
    for name, effect in found.items():
        low, high, _ = SETTINGS[name]
        now = getattr(CONFIGS["default"], name)
        best = SETTINGS[name].at(effect.best_place)
        gain = effect.at(effect.best_place) - effect.at(SETTINGS[name].place_of(now))
        lines.append(
            f"{name:<14}{f'{low:g} to {high:g}':>14}{effect.slope!s:>12}{effect.curve!s:>12}"
            f"{now:>8.2f}{best:>8.2f}{gain:>+8.0f}"
        )
    return "\n".join(lines)


# --- from the command line --------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m solver.training.tuning",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--deals", type=int, required=True)
    parser.add_argument("--iterations", type=int, default=2000, help="of each decision (default 2000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=cores(), help="threads (default: one per core)")
    parser.add_argument("--out", type=Path, required=True, help="file of the deals")
    options = parser.parse_args(arguments)
    least = 2 * len(SETTINGS) + 2
    if options.deals < least or min(options.iterations, options.workers) < 1:
        parser.error(f"--deals is at least {least}, --iterations and --workers are at least 1")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # of the sampler
    spec = SETS[options.set][0]
    study = optuna.create_study(
        study_name=f"{options.set}, {options.iterations} iterations, seed {options.seed}",
        storage=JournalStorage(JournalFileBackend(str(options.out))),
        sampler=optuna.samplers.QMCSampler(scramble=True, seed=options.seed),
        direction="maximize",
        load_if_exists=True,
    )
    try:
        play_deals(study, spec, options.iterations, options.seed, options.deals, options.workers)
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command continues")
    print(as_text(effects(results(study), spec[2])))


if __name__ == "__main__":
    main()
