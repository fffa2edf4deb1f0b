"""Turn the raw means of playouts into numbers that come true: shares of the win, points, and chances of ranks.

The search is too sure of itself, and too optimistic about its observer: its opponents in tree and playouts are weaker
than real ones. A calibration corrects that by a few numbers for each round and effort, fitted to games that the search
played against itself (`solver/training/calibration.py`). A share p of the observer becomes the q with

    log-odds(q) = temperature x log-odds(p) + offset

which keeps the order of moves; the other seats divide the rest in proportion to their raw shares to a power. Points get
a shift, their spread a factor. The chances of ranks are drawn to equal ones, and tilted.

The file `calibration.json` beside the weights of a game belongs to one version of them: with other weights, with other
settings than those of `default`, and for rulesets without a fit, answers keep the raw means and say so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from engine_cy import Game
from solver.config import CONFIGS, WEAKNESSES, Config
from solver.numbers import divide_rest, log, temper_share

if TYPE_CHECKING:
    from solver.question import Question

FORMAT = 1
# The settings that may differ from those of `default`: they change the effort, or the choice among searched moves.
FREE = ("name", "iterations", *WEAKNESSES)
UNSURE = 0.5  # added to the wins and to the losses of all iterations: a share is never quite 0 or 1


class Shares(NamedTuple):
    """Hold the numbers for the shares and points of one kind of figure."""

    temperature: float  # of the observer's log-odds
    offset: float  # added to them
    others: float  # the power of the other seats' shares
    own_points: float  # added to the observer's points
    own_spread: float  # the factor of their spread
    other_points: float
    other_spread: float


class Ranks(NamedTuple):
    """Hold the numbers for the chances of ranks."""

    trust: float  # the part of the playouts' chances; the rest is spread evenly
    tilt: float  # the chance of rank k is multiplied by exp(tilt x k)


class Row(NamedTuple):
    """Hold the numbers for one round and effort: for a move, for the seats of the player to act, and of an onlooker."""

    move: Shares
    seats: Shares
    onlooker: Shares
    ranks: Ranks


NUMBERS = (*[len(Shares._fields)] * 3, len(Ranks._fields))


def read_row(numbers: Sequence[float]) -> Row:
    """Read a row of plain numbers."""
    if len(numbers) != sum(NUMBERS):
        raise ValueError(f"{len(numbers)} numbers in a row, not {sum(NUMBERS)}")
    parts, at = [], 0
    for n in NUMBERS:
        parts.append(numbers[at : at + n])
        at += n
    move, seats, onlooker, ranks = parts
    return Row(Shares(*move), Shares(*seats), Shares(*onlooker), Ranks(*ranks))


def flat(row: Row) -> list[float]:
    """Return the numbers of a row: the inverse of `read_row`."""
    return [number for part in row for number in part]


class Fit(NamedTuple):
    """Hold the fit of a ruleset: for each round, a row for each of the efforts, in iterations of one tree."""

    name: str  # such as "oriflamme en-2019 3"
    efforts: tuple[int, ...]
    rounds: Mapping[int, tuple[Row, ...]]

    def row(self, round_number: int, iterations: int) -> Row:
        """Return the row of a round and effort, interpolated in the logarithm of the effort."""
        rows = self.rounds[min(max(round_number, min(self.rounds)), max(self.rounds))]
        if iterations <= self.efforts[0]:
            return rows[0]
        for i, effort in enumerate(self.efforts[1:], 1):
            if iterations < effort:
                low = log(self.efforts[i - 1])
                part = (log(iterations) - low) / (log(effort) - low)
                pairs = zip(flat(rows[i - 1]), flat(rows[i]), strict=True)
                return read_row([a + part * (b - a) for a, b in pairs])
        return rows[-1]


# --- the corrections --------------------------------------------------------------------------------------------


def calibrated_shares(raw: Sequence[float], observer: int, fit: Shares, iterations: int) -> tuple[float, ...]:
    """Return the calibrated shares of all seats; their sum is that of the raw ones, 1."""
    return divide_rest(raw, observer, calibrated_share(raw[observer], fit, iterations), fit.others)


def calibrated_share(raw: float, fit: Shares, iterations: int) -> float:
    """Return the calibrated share of the observer."""
    return temper_share(unsure(raw, iterations), fit.temperature, fit.offset)


def unsure(raw: float, iterations: int) -> float:
    """Return a share that is never quite 0 or 1."""
    raw = min(max(raw, 0.0), 1.0)
    return (raw * iterations + UNSURE) / (iterations + 2 * UNSURE)


def slope(raw: float, calibrated: float, temperature: float, iterations: int) -> float:
    """Return the factor by which the error of a share changes."""
    inner = unsure(raw, iterations)
    return temperature * calibrated * (1 - calibrated) / (inner * (1 - inner))


# --- the files --------------------------------------------------------------------------------------------------


def calibration_of(question: Question) -> Fit | None:
    """Return the fit for the answers to a question; None if it has no fit, and raw means remain."""
    if any(model != "me" for model in question.models) or not has_settings_of_default(question.config):
        return None
    return fit_of(question.view.game)


def has_settings_of_default(config: Config) -> bool:
    """Return whether a configuration searches like `default`, with any effort."""
    default = CONFIGS["default"]
    return replace(config, **{field: getattr(default, field) for field in FREE}) == default


@lru_cache(256)
def fit_of(game: Game) -> Fit | None:
    """Return the fit of a ruleset that belongs to the present weights, if there is one."""
    _, ruleset, players = game.spec
    path = path_of(game)
    if path is None or not isinstance(ruleset, str):
        return None
    fits = _read(path, weights_digest(game))
    name = f"{game.id} {ruleset} {players}"
    content = fits.get(name)
    if content is None:
        return None
    rounds = {int(number): tuple(read_row(row) for row in rows) for number, rows in content["rounds"].items()}
    return Fit(name, tuple(content["efforts"]), rounds)


def path_of(game: Game) -> Path | None:
    """Return the path of a game's calibration, whether or not it exists; None for a game without learned weights."""
    return game.weights[0].path.with_name("calibration.json") if game.weights else None


@lru_cache(16)
def _read(path: Path, weights: str) -> dict[str, Any]:
    if not path.exists():
        return {}
    content = json.loads(path.read_text())
    if (content["format"], content["weights"]) != (FORMAT, weights):
        return {}
    fits: dict[str, Any] = content["fits"]
    return fits


def weights_digest(game: Game) -> str:
    """Return the version of a game's weights, and of the settings of `default`, to which a calibration belongs."""
    settings = {field: value for field, value in asdict(CONFIGS["default"]).items() if field not in FREE}
    digest = blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=8)
    # The files, not the memory: a role that an edition adds lengthens that with zeros, and changes no answer of others.
    for weights in game.weights:
        if weights.path.exists():
            digest.update(json.dumps(json.loads(weights.path.read_text()), sort_keys=True).encode())
    return digest.hexdigest()
