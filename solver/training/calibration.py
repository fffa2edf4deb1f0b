"""Fit the calibration of answers, calibration.json beside the weights of a game, to games of the search.

    python -m solver.training.calibration oriflamme [--games 100]

plays games of `default` against itself under every ruleset of PLANS (`solver.training.games`, with `--iterations`),
searches a few positions of each with several efforts, as the player to act and as an onlooker, and fits the numbers of
`solver/calibration.py` to the results of these games. Games and searches are stored in `--work`, so the command
resumes; equal seeds give equal samples. Repeat it after each change of weights or of `default`, and commit the file.

Every decision of the games is a sample, too, with the statistics of the search that took it. All seats decide in each
round, and their shares of the win sum to 1, so that the luck of a game hardly touches the offsets.

The numbers of a round, effort and edition are drawn to those of wider groups: all samples of a game at a number of
players, then those of a round, then those of an effort. A group has to show that it differs.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from engine_cy import CHANCE, Rng, editions_of, new_game
from engine_cy.action_log import History
from solver.answer import Answer, estimate, is_decided
from solver.calibration import FORMAT, Ranks, Row, Shares, flat, path_of, unsure, weights_digest
from solver.config import Budget
from solver.merge import Tally
from solver.pool import cores
from solver.pool.processes import Processes
from solver.solve import solve
from solver.training.games import SEARCHED, Member, Plan, PlayedGame, Spec, make_games, read_games

Floats = NDArray[np.float64]


class FitPlan(NamedTuple):
    """The rulesets of a game, each with a number of players and a multiple of the games, and the efforts to fit."""

    rulesets: Sequence[tuple[str, int, int]]
    iterations: int  # of the games
    # Groups are searched and stored apart, so that one can be added.
    groups: Sequence[tuple[int, ...]]

    @property
    def efforts(self) -> tuple[int, ...]:
        return tuple(sorted(effort for group in self.groups for effort in group))


LEVELS = (16,)  # the effort of the lowest levels
PLANS = {
    "oriflamme": FitPlan(
        [
            *[("en-2019", 3, 3), ("en-2019", 4, 3), ("en-2019", 5, 2)],
            *[(edition, n, 1) for edition in ("de-2019", "revised") for n in (3, 4, 5)],
        ],
        1000,
        [LEVELS, (100, 1000, 10_000)],
    ),
    "oriflamme_prototype": FitPlan([("prototype", n, 2) for n in (2, 3, 4)], 1000, [LEVELS, (100, 1000, 10_000)]),
    # Its iterations take thirty times as long.
    "castle_village_port": FitPlan([("house", n, 1) for n in (3, 4, 5)], 100, [LEVELS, (100, 1000)]),
}
POSITIONS = 3  # of each game, besides what they have in common
SAMPLES_STREAM = 5

# How far a group is expected to be from the wider one, for temperatures and powers, and for offsets and tilts.
NEAR = {"players": (0.3, 0.3), "round": (0.15, 0.15), "effort": (0.15, 0.1), "edition": (0.05, 0.05)}
POINTS_NEAR = {"players": (2.0, 0.3), "effort": (0.3, 0.1), "round": (0.5, 0.1), "edition": (0.2, 0.05)}


# --- samples ----------------------------------------------------------------------------------------------------


class Sample(NamedTuple):
    """Hold the raw figures of one search, and what became of the game."""

    game: int
    round: int
    effort: int
    observer: int
    # Of the best move; empty for an onlooker.
    move: list[float]
    points: list[float]  # the observer's mean and spread; empty if no playout reached the end
    ranks: list[float]
    # Of all seats over all playouts.
    seats: list[float]
    seat_points: list[list[float]]
    payoffs: list[float]
    scores: list[int]


def samples_of(game: PlayedGame, efforts: Sequence[int]) -> list[list[Any]]:
    """Search some positions of a game with each effort; return the samples as plain lists."""
    rng = Rng(game.seed, (SAMPLES_STREAM << 41) + game.number)
    decisions = [i for i, choice in enumerate(game.choices) if choice.seat != CHANCE and choice.options > 1]
    wanted = {decisions[rng.below(len(decisions))] for _ in range(POSITIONS)}
    history = None
    samples = []
    for i, (position, choice) in enumerate(game.positions()):
        history = history or History(position.game)
        if i in wanted:
            for observer in (choice.seat, (choice.seat + 1) % position.game.n_players):
                view = position.view(observer)
                log = history.copy()
                log.end = view
                for effort in efforts:
                    answer = solve(view, Budget(iterations=effort), seed=rng.bits(), history=log, lines=0)
                    samples.append(list(_sample(game, view.round, effort, answer)))
        history.add(position, position.legal_actions()[choice.taken])
    return samples


def _sample(game: PlayedGame, number: int, effort: int, answer: Answer) -> Sample:
    observer, tallies = answer.view.observer, answer.total.tallies
    whole = tallies[0]
    for tally in tallies[1:]:
        whole += tally
    move, points, ranks = [], [], []
    if answer.question.decides:
        best = tallies[answer.question.decisions.index(answer.moves[0].action)]
        move = _means(best, observer)
        points = _points(best, observer)
        ranks = [count / best.ended for count in best.ranks[observer]] if best.ended else []
    seats = range(len(game.payoffs))
    return Sample(
        game.number,
        number,
        effort,
        observer,
        move,
        points,
        ranks,
        _means(whole, observer),
        [_points(whole, seat) for seat in seats],
        list(game.payoffs),
        list(game.scores),
    )


def _means(tally: Tally, observer: int) -> list[float]:
    """Return the mean payoffs of a tally; none for a decided game, which is not calibrated."""
    n = tally.visits
    if not n or is_decided(estimate(n, tally.payoffs[observer], tally.squares[observer]), n):
        return []
    return [payoff / n for payoff in tally.payoffs]


def _points(tally: Tally, seat: int) -> list[float]:
    if tally.ended < 2:
        return []
    points = estimate(tally.ended, tally.scores[seat], tally.score_squares[seat])
    return [points.mean, points.spread]


def stored_samples(folder: Path, efforts: Sequence[int], n_games: int, workers: int) -> list[Sample]:
    """Return the samples of the games of a folder with a group of efforts; search those that its file lacks."""
    path = folder / f"samples-{'-'.join(map(str, efforts))}.jsonl"
    known: dict[int, list[list[Any]]] = {}
    if path.exists():
        lines = path.read_text().splitlines()
        known = dict(map(json.loads, lines))
    missing = [game for game in read_games(folder, n_games) if game.number not in known]
    if missing:
        with Processes(workers) as processes, path.open("a") as file:
            call = partial(_numbered_samples, efforts)
            for number, samples in processes.map(call, missing, in_order=False):
                known[number] = samples
                file.write(json.dumps([number, samples]) + "\n")
    return [Sample(*sample) for number in sorted(known) for sample in known[number]]


def samples_on_the_way(folder: Path, n_games: int, iterations: int) -> list[Sample]:
    """Return the searched decisions of the games of a folder as samples, without points and ranks."""
    samples = []
    for game in read_games(folder, n_games):
        for position, choice in game.positions():
            if choice.what == SEARCHED and 0 < choice.best_means[choice.seat] < 1:
                move, seats = list(choice.best_means), list(choice.means)
                results = (list(game.payoffs), list(game.scores))
                no_points: list[list[float]] = [[] for _ in seats]
                samples.append(
                    Sample(
                        game.number, position.round, iterations, choice.seat, move, [], [], seats, no_points, *results
                    )
                )
    return samples


def _numbered_samples(efforts: Sequence[int], game: PlayedGame) -> tuple[int, list[list[Any]]]:
    return game.number, samples_of(game, efforts)


# --- fitting ----------------------------------------------------------------------------------------------------


def drawn_fit(loss: Callable[[Floats], float], near: Sequence[float], within: Sequence[float]) -> list[float]:
    """Return the numbers with the least loss, in nats over all games, drawn to `near` as a normal prior would."""
    center, spread = np.array(near), np.array(within)

    def cost(numbers: Floats) -> float:
        return loss(numbers) + float((((numbers - center) / spread) ** 2).sum()) / 2

    result = minimize(cost, center, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-5, "maxiter": 2000})
    return [float(number) for number in result.x]


def weights_of(samples: Sequence[Sample]) -> Floats:
    """Return the weight of each sample: those of one game, round and observer say nearly the same, and count as one."""
    keys = [(sample.game, sample.round, sample.observer) for sample in samples]
    counts = Counter(keys)
    return np.array([1 / counts[key] for key in keys])


def fit_own(samples: Sequence[Sample], shares: Floats, near: Sequence[float], within: Sequence[float]) -> list[float]:
    """Fit the temperature and offset of the observer's log-odds."""
    weight = weights_of(samples)
    p = np.array([unsure(share, sample.effort) for share, sample in zip(shares, samples, strict=True)])
    odds = np.log(p / (1 - p))
    won = np.array([sample.payoffs[sample.observer] for sample in samples])

    def loss(numbers: Floats) -> float:
        z = numbers[0] * odds + numbers[1]
        return float((weight * (np.logaddexp(0, z) - won * z)).sum())

    return drawn_fit(loss, near, within)


def fit_others(samples: Sequence[Sample], rows: Sequence[Sequence[float]], near: float, within: float) -> float:
    """Fit the power of the other seats' shares."""
    weight = weights_of(samples)
    others = [
        [max(share, 1e-4) for seat, share in enumerate(row) if seat != sample.observer]
        for sample, row in zip(samples, rows, strict=True)
    ]
    paid = np.array([[pay for seat, pay in enumerate(s.payoffs) if seat != s.observer] for s in samples])
    logs = np.log(np.array(others))

    def loss(numbers: Floats) -> float:
        z = numbers[0] * logs
        z = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        return float(-(weight * (paid * z).sum(axis=1)).sum())

    return drawn_fit(loss, [near], [within])[0]


def fit_points(pairs: Sequence[Sequence[float]], near: Sequence[float], within: Sequence[float]) -> list[float]:
    """Fit the shift of points and the factor of their spread to pairs of mean and spread, and the result."""
    if not pairs:
        return list(near)
    means, spreads, results = np.array(pairs, float).T
    spreads = np.maximum(spreads, 0.5)
    weight = 1 / POSITIONS  # those of a game are not independent

    def loss(numbers: Floats) -> float:
        z = (results - means - numbers[0]) / (spreads * max(numbers[1], 0.1))
        return float(weight * (z * z / 2 + math.log(max(numbers[1], 0.1))).sum())

    return drawn_fit(loss, near, within)


def fit_ranks(samples: Sequence[Sample], near: Sequence[float], within: Sequence[float]) -> list[float]:
    """Fit the trust in the chances of ranks, and their tilt."""
    samples = [sample for sample in samples if sample.move and sample.ranks]
    if not samples:
        return list(near)
    weight = weights_of(samples)
    raw = np.array([sample.ranks for sample in samples])
    taken = np.array([rank_of(sample, sample.observer) for sample in samples])
    steps = np.arange(raw.shape[1])

    def loss(numbers: Floats) -> float:
        trust = trust_of(numbers[0])
        z = np.log(trust * raw + (1 - trust) / len(steps)) + numbers[1] * steps
        chosen = z[np.arange(len(taken)), taken]
        return float((weight * (np.log(np.exp(z).sum(axis=1)) - chosen)).sum())

    trust, tilt = drawn_fit(loss, near, within)
    return [trust_of(trust), tilt]


def trust_of(number: float) -> float:
    return min(max(number, 0.01), 0.99)


def rank_of(sample: Sample, seat: int) -> int:
    """Return the rank of a seat at the end of the game, from 0, as the search counts it."""
    mine = (sample.payoffs[seat], sample.scores[seat])
    return sum((sample.payoffs[i], sample.scores[i]) > mine for i in range(len(sample.payoffs)) if i != seat)


def fit_shares(samples: Sequence[Sample], kind: str, near: Shares, level: str) -> Shares:
    """Fit the numbers of the moves, of the seats, or of those that an onlooker sees."""
    within, points_within = NEAR[level], POINTS_NEAR[level]
    rows = [sample.move if kind == "move" else sample.seats for sample in samples]
    known = [(sample, row) for sample, row in zip(samples, rows, strict=True) if row]
    if not known:
        return near
    kept, shares = [sample for sample, _ in known], [row for _, row in known]
    own = fit_own(kept, np.array([row[s.observer] for s, row in known]), near[:2], within)
    others = fit_others(kept, shares, near.others, within[0]) if len(shares[0]) > 2 else near.others
    mine: list[list[float]] = []
    theirs: list[list[float]] = []
    for sample in kept:
        if kind == "move":
            if sample.points:
                mine.append([*sample.points, sample.scores[sample.observer]])
            continue
        for seat, points in enumerate(sample.seat_points):
            if points:
                (mine if seat == sample.observer else theirs).append([*points, sample.scores[seat]])
    return Shares._make(
        [
            *own,
            others,
            *fit_points(mine, (near.own_points, near.own_spread), points_within),
            *fit_points(theirs, (near.other_points, near.other_spread), points_within),
        ]
    )


def fit_row(samples: Sequence[Sample], near: Row, level: str) -> Row:
    acting = [sample for sample in samples if sample.move or sample.points]
    looking = [sample for sample in samples if not (sample.move or sample.points)]
    return Row(
        fit_shares(acting, "move", near.move, level),
        fit_shares(acting, "seats", near.seats, level),
        fit_shares(looking, "onlooker", near.onlooker, level),
        Ranks(*fit_ranks(acting, near.ranks, NEAR[level])),
    )


NOTHING = Shares(1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0)


def fit_players(by_edition: dict[str, list[Sample]], efforts: Sequence[int]) -> dict[str, dict[int, list[Row]]]:
    """Fit the rows of all editions at one number of players, by edition and round."""
    every = [
        sample._replace(game=sample.game + (number << 32))
        for number, samples in enumerate(by_edition.values())
        for sample in samples
    ]
    start = Row(NOTHING, NOTHING, NOTHING, Ranks(0.9, 0.0))
    wide = fit_row(every, start, "players")
    rounds = sorted({sample.round for sample in every})
    fits: dict[str, dict[int, list[Row]]] = {edition: {number: [] for number in rounds} for edition in by_edition}
    for number in rounds:
        of_round = fit_row([sample for sample in every if sample.round == number], wide, "round")
        for effort in efforts:
            here = [sample for sample in every if (sample.effort, sample.round) == (effort, number)]
            of_effort = fit_row(here, of_round, "effort")
            for edition, samples in by_edition.items():
                own = [sample for sample in samples if (sample.effort, sample.round) == (effort, number)]
                row = fit_row(own, of_effort, "edition") if len(by_edition) > 1 else of_effort
                fits[edition][number].append(row)
    return fits


# --- from the command line --------------------------------------------------------------------------------------


def same_rules(game_id: str, edition: str, players: int) -> Iterator[str]:
    """Yield the editions with the same rules as this one, itself included."""
    rules = new_game(game_id, edition, players).ruleset
    for other in editions_of(game_id):
        ruleset = new_game(game_id, other, players).ruleset
        if ruleset == rules or getattr(ruleset, "switches", 0) == getattr(rules, "switches", 1):
            yield other


def calibrate(game_id: str, n_games: int, seed: int, work: Path, workers: int, out: Path | None = None) -> None:
    """Make the games and samples of a game that are missing, and write its calibration."""
    plan = PLANS[game_id]
    samples: dict[int, dict[str, list[Sample]]] = {}
    for edition, players, times in plan.rulesets:
        n = times * n_games
        spec: Spec = (game_id, edition, players)
        folder = work / f"{game_id}-{edition}-{players}"
        make_games(folder, Plan([spec], plan.iterations, seed, [Member("default", 1.0, 1)]), n, workers)
        samples.setdefault(players, {})[edition] = [
            sample for efforts in plan.groups for sample in stored_samples(folder, efforts, n, workers)
        ] + samples_on_the_way(folder, n, plan.iterations)
        print(f"{folder.name}: {len(samples[players][edition])} samples", flush=True)
    fits = {}
    for players, by_edition in samples.items():
        for edition, rounds in fit_players(by_edition, plan.efforts).items():
            rows = {
                str(number): [[round(value, 4) for value in flat(row)] for row in rows]
                for number, rows in rounds.items()
            }
            for name in same_rules(game_id, edition, players):
                fits[f"{game_id} {name} {players}"] = {"efforts": plan.efforts, "rounds": rows}
    game = new_game(game_id, *plan.rulesets[0][:2])
    path = out or path_of(game)
    assert path is not None
    games = {f"{edition} {players}": times * n_games for edition, players, times in plan.rulesets}
    made_of = {"games": games, "iterations": plan.iterations, "positions": POSITIONS, "seed": seed}
    _write(path, game_id, weights_digest(game), made_of, fits)


def _write(path: Path, game_id: str, weights: str, made_of: dict[str, Any], fits: dict[str, Any]) -> None:
    """Write the fits of a game, and keep those of other games with the same weights."""
    content: dict[str, Any] = {"format": FORMAT, "weights": weights, "made_of": {}, "fits": {}}
    if path.exists():
        old = json.loads(path.read_text())
        if (old["format"], old["weights"]) == (FORMAT, weights):
            content = old
    kept = {name: fit for name, fit in content["fits"].items() if not name.startswith(f"{game_id} ")}
    content["made_of"] = dict(sorted({**content["made_of"], game_id: made_of}.items()))
    content["fits"] = dict(sorted({**kept, **fits}.items()))
    text = json.dumps(content, separators=(",", ":"))
    path.write_text(text.replace("[[", "[\n[").replace("],[", "],\n[") + "\n")
    print(f"{path}: {len(fits)} fits of {game_id}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m solver.training.calibration",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("game", choices=PLANS)
    parser.add_argument("--games", type=int, default=100, help="for each ruleset, or a multiple of it (default 100)")
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--workers", type=int, default=cores(), help="default: one per core")
    parser.add_argument("--work", type=Path, default=Path("build/calibration"), help="folder of games and searches")
    parser.add_argument("--out", type=Path, help="output file (default: the engine's)")
    options = parser.parse_args(arguments)
    if min(options.games, options.workers) < 1:
        parser.error("--games and --workers are at least 1")
    try:
        calibrate(options.game, options.games, options.seed, options.work, options.workers, options.out)
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command continues")


if __name__ == "__main__":
    main()
