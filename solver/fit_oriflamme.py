"""Fits engine_cy/oriflamme/weights.json: python -m solver.fit_oriflamme [--help]

For each game and number of players, first the weights of the marks (what actions are good) are learned by playing:
after each few thousand games, what the players did is made likelier as far as they won more than their share. Then the
weights of the features (who stands how well) are fitted to the winners of such games: in each row, a multinomial
logistic regression over the seats.

Who changes marks or features deletes the file first, builds, and fits all sets (about five minutes on one core).
Equal seeds give equal weights on one machine; numpy and scipy may differ in the last bits on another.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from engine_cy import Action, Game, Position, new_game
from engine_cy.oriflamme import knowledge
from engine_cy.record import read_record

Floats = NDArray[np.float64]

# What is learned together. fr-2019 plays like en-2019.
EDITIONS = ("en-2019", "de-2019", "en-2019", "revised")
SETS = {f"oriflamme-{n}": [new_game("oriflamme", edition, n) for edition in EDITIONS] for n in (3, 4, 5)} | {
    f"oriflamme_prototype-{n}": [new_game("oriflamme_prototype", "prototype", n)] for n in (2, 3, 4)
}
SETS["oriflamme_prototype-2"].append(
    new_game("oriflamme_prototype", {"two_player_rounds": 6, "cards_per_turn": 2}, 2),
)

POINTS = (0, 1, 2)  # the features that tell who has how many
LOT = 2048  # games between two steps of learning
STRANGERS = 0.1  # seats that play at random for a game: what is learned has to hold against anybody
HEAT = 0.02  # an action that wins 2 % less often is taken e times less often
MIDWAY = 0.08  # positions within rounds that are fitted to

# --- positions ------------------------------------------------------------------------------------------------


class Samples(NamedTuple):
    """Positions of one row: the features of all seats, one seat a line, and who won."""

    features: csr_matrix
    shares: Floats  # one position a line


def gather(found: Iterable[tuple[int, bytes, bytes, bytes, tuple[float, ...]]]) -> dict[int, Samples]:
    """Positions, as `Practice.positions` gives them, by row."""
    sizes: dict[int, list[bytes]] = {}
    numbers: dict[int, list[bytes]] = {}
    values: dict[int, list[bytes]] = {}
    shares: dict[int, list[tuple[float, ...]]] = {}
    for row, *parts, paid in found:
        for kept, part in zip((sizes, numbers, values), parts, strict=True):
            kept.setdefault(row, []).append(part)
        shares.setdefault(row, []).append(paid)
    samples = {}
    for row in sizes:
        ends = np.cumsum(np.frombuffer(b"".join(sizes[row]), np.int32))
        matrix = csr_matrix(
            (
                np.frombuffer(b"".join(values[row]), np.int8).astype(np.float64),
                np.frombuffer(b"".join(numbers[row]), np.uint16).astype(np.int32),
                np.concatenate([[0], ends]),
            ),
            shape=(len(ends), knowledge.SIZES["features"]),
        )
        samples[row] = Samples(matrix, np.array(shares[row]))
    return samples


def played(games: Sequence[Game], n_games: int, seed: int, strangers: float, midway: float) -> dict[int, Samples]:
    """Positions of games by the playouts' policy; each seat plays at random in a share `strangers` of the games."""
    found: list[Any] = []
    for i, game in enumerate(games):
        found += knowledge.Practice(game, 1000 * seed + i, strangers).positions(n_games // len(games), midway)
    return gather(found)


def by_policy(start: Position, policy: Callable[[Position], Action]) -> list[Position]:
    """The tables of a game by any policy, such as a search."""
    tables = [start]
    while not tables[-1].is_over:
        tables.append(tables[-1].play(policy(tables[-1])))
    return tables


def by_record(path: Path) -> list[Position]:
    """The tables of a recorded game."""
    tables = read_record(path.read_text()).tables()
    return [table for table in tables if isinstance(table, Position)]


def observed(games: Iterable[Sequence[Position]]) -> dict[int, Samples]:
    """Positions at the ends of rounds of complete games, however played."""
    found = []
    for tables in games:
        for before, after in itertools.pairwise(tables):
            if after.is_over or (before.table.phase, after.table.phase) == ("place", "place"):
                continue
            if after.table.phase == "place":
                row, seats = knowledge.features_of(after)
                numbers = [np.flatnonzero(seat).astype(np.uint16) for seat in seats]
                values = [np.array(seat)[n].astype(np.int8) for seat, n in zip(seats, numbers, strict=True)]
                sizes = np.array([len(n) for n in numbers], np.int32).tobytes()
                parts = (np.concatenate(numbers).tobytes(), np.concatenate(values).tobytes())
                found.append((row, sizes, *parts, tables[-1].payoffs))
    return gather(found)


# --- who stands how well --------------------------------------------------------------------------------------


def log_loss(weights: Floats, samples: Samples) -> float:
    """How surprised the weights are by the winners, in nats a position."""
    standing = (samples.features @ weights).reshape(samples.shares.shape)
    standing = standing - standing.max(axis=1, keepdims=True)
    chances = standing - np.log(np.exp(standing).sum(axis=1, keepdims=True))
    return float(-(samples.shares * chances).sum() / len(samples.shares))


def fit(samples: Samples, ridge: float, near: Floats, only: Sequence[int] | None = None) -> Floats:
    """The weights that explain the winners best; small, or near to `near`, where little is known."""
    n = len(samples.shares)

    def cost(weights: Floats) -> tuple[float, Floats]:
        standing = (samples.features @ weights).reshape(samples.shares.shape)
        standing = standing - standing.max(axis=1, keepdims=True)
        odds = np.exp(standing)
        chances = odds / odds.sum(axis=1, keepdims=True)
        loss = -(samples.shares * np.log(np.maximum(chances, 1e-300))).sum() / n
        slope = samples.features.T @ ((chances - samples.shares).ravel()) / n
        away = weights - near
        return loss + ridge / n * float(away @ away), slope + 2 * ridge / n * away

    bounds: list[tuple[float | None, float | None]] = [(None, None)] * len(near)
    for feature in POINTS:
        bounds[feature] = (0, None)  # more points are never worse
    if only is not None:
        bounds = [bound if feature in only else (0, 0) for feature, bound in enumerate(bounds)]
    start = near if only is None else np.zeros(len(near))
    found = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 120})
    return np.asarray(found.x)


def fit_features(name: str, games: Sequence[Game], n_games: int, seed: int, verbose: bool) -> list[list[float]]:
    """The weights of every row of the features."""
    samples = played(games, n_games, seed, STRANGERS, MIDWAY)
    unknown = np.zeros(knowledge.SIZES["features"])
    rows = [unknown] * knowledge.SIZES["rows"]
    for row in sorted(samples):
        rows[row] = fit(samples[row], ridge=3.0, near=unknown)
    weights = [[round(float(weight), 3) for weight in row] for row in rows]
    knowledge.set_weights(name, features=weights)
    if verbose:
        held_out = played(games, n_games // 5, seed + 500, STRANGERS, MIDWAY)
        for row in sorted(samples, key=lambda row: -row):
            points = fit(samples[row], ridge=3.0, near=unknown, only=POINTS)
            print(
                f"  {name} row {row:2}: log-loss {log_loss(np.array(weights[row]), held_out[row]):.3f}"
                f" (fitted on {log_loss(np.array(weights[row]), samples[row]):.3f},"
                f" points only {log_loss(points, held_out[row]):.3f}, uniform {math.log(games[0].n_players):.3f};"
                f" {len(samples[row].shares)} positions)",
                flush=True,
            )
    return weights


def refit(records: Sequence[Path], out: Path) -> None:
    """Draw the weights of the features towards what complete recorded games of one set say."""
    games = [by_record(path) for path in records]
    name = knowledge.set_name(games[0][0].game)
    if any(knowledge.set_name(tables[0].game) != name for tables in games):
        raise SystemExit(f"--records: these are games of several sets, of which the first is {name}")
    weights = json.loads(knowledge.WEIGHTS.read_text())["sets"][name]
    rows = [np.array(knowledge.spread(row, knowledge.SIZES["features"])) for row in weights["features"]]
    marks = knowledge.spread(weights["marks"], knowledge.SIZES["marks"])
    for row, samples in observed(games).items():
        was = log_loss(rows[row], samples)
        rows[row] = fit(samples, ridge=3.0, near=rows[row])
        print(f"{name} row {row:2}: log-loss {was:.3f}, fitted {log_loss(rows[row], samples):.3f}")
    write(out, name, marks, rows)


# --- what is good ---------------------------------------------------------------------------------------------


def learn_marks(name: str, games: Sequence[Game], weights: Floats, steps: int, seed: int, verbose: bool) -> Floats:
    """The weights of the marks after `steps` lots of games: Adam, with a small pull to 0.

    Policies that learn against themselves go round in circles; the mean of the second half is harder to exploit than
    where they happen to stop.
    """
    practices = [knowledge.Practice(game, 1000 * seed + i, STRANGERS) for i, game in enumerate(games)]
    mean, square, total = np.zeros((3, len(weights)))
    knowledge.set_weights(name, weights.tolist())
    for step in range(1, steps + 1):
        slope = np.array(practices[step % len(games)].gradient(LOT, 0.0, HEAT)) / LOT * 100 - 0.005 * weights
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope * slope
        pace = 0.06 if step <= steps // 2 else 0.03
        weights = weights + pace * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 0.3)
        knowledge.set_weights(name, weights.tolist())
        total += weights * (step > steps // 2)
    weights = np.round(total / (steps - steps // 2), 3)
    knowledge.set_weights(name, weights.tolist())
    if verbose:
        share = knowledge.contest(games[0], 10000, 99, 1)
        print(f"  {name}: {elo(share, games[0].n_players):+.0f} Elo against random play", flush=True)
    return weights


def learn_from_nothing(name: str, games: Sequence[Game], steps: int, n_games: int, seed: int, verbose: bool) -> Floats:
    """The weights of the marks, by a first policy and by a second that has an evaluation to learn with."""
    knowledge.set_weights(name, features=[[0.0] * knowledge.SIZES["features"]] * knowledge.SIZES["rows"])
    marks = learn_marks(name, games, np.zeros(knowledge.SIZES["marks"]), steps // 3, seed, False)
    # From here on an evaluation tells luck from skill.
    fit_features(name, games, n_games // 4, seed + 1, False)
    return learn_marks(name, games, marks, steps, seed + 2, verbose)


def elo(share: float, n_players: int) -> float:
    """The advantage of one player over his rivals who wins this share of the games."""
    return 400 * math.log10(share * (n_players - 1) / (1 - share))


# --- the file -------------------------------------------------------------------------------------------------


def thousandths(weights: Iterable[float]) -> list[int | str]:
    """Weights as whole thousandths; a text counts zeros in a row."""
    written: list[int | str] = []
    zeros = 0
    for weight in [*weights, math.inf]:
        if weight == 0 or abs(weight) < 0.0005:
            zeros += 1
            continue
        if zeros:
            written.append(str(zeros))
            zeros = 0
        if weight != math.inf:
            written.append(round(weight * 1000))
    return written


def write(path: Path, name: str, marks: Iterable[float], features: Iterable[Iterable[float]]) -> None:
    """Put the weights of a set into the file, beside those of the others."""
    content: dict[str, Any] = {"version": knowledge.VERSION, "sizes": knowledge.SIZES, "sets": {}}
    if path.exists():
        old = json.loads(path.read_text())
        if (old["version"], old["sizes"]) == (content["version"], content["sizes"]):
            content = old
    content["sets"][name] = {"marks": thousandths(marks), "features": [thousandths(row) for row in features]}
    content["sets"] = dict(sorted(content["sets"].items()))
    path.write_text(json.dumps(content, separators=(",", ":")).replace('"features":', '\n"features":') + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "sets", nargs="*", default=list(SETS), help=f"which weights (default: all of {', '.join(SETS)})"
    )
    parser.add_argument("--steps", type=int, default=500, help="lots of 2048 games to learn from (default 500)")
    parser.add_argument("--games", type=int, default=30000, help="games to fit the features to (default 30000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quiet", action="store_true", help="print no figures")
    parser.add_argument("--out", type=Path, default=knowledge.WEIGHTS, help="the file (default: the engine's)")
    parser.add_argument("--keep-marks", action="store_true", help="fit only the features")
    parser.add_argument("--records", nargs="+", type=Path, help="fit the features of one set to these games instead")
    options = parser.parse_args()
    if options.records:
        refit(options.records, options.out)
        return
    for name in options.sets:
        games = SETS[name]
        began = time.monotonic()
        if options.keep_marks:
            kept = json.loads(knowledge.WEIGHTS.read_text())["sets"][name]["marks"]
            marks = np.array(knowledge.spread(kept, knowledge.SIZES["marks"]))
        else:
            marks = learn_from_nothing(name, games, options.steps, options.games, options.seed, not options.quiet)
        features = fit_features(name, games, options.games, options.seed + 3, not options.quiet)
        write(options.out, name, marks, features)
        print(f"{name}: {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
