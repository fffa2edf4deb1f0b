"""Fit engine_cy/oriflamme/weights.json.

    python -m solver.training.oriflamme [--help]

solver/training/fitting.py describes the method; fitting all sets takes about five minutes on one core. It learns the
evaluation from fast, weak play; the weights in use were then refitted to increasingly strong games of the search:

    python -m solver.training.oriflamme --by-search 8000 --iterations 150
    python -m solver.training.oriflamme --by-search 12000 --iterations 400 --seed 2 oriflamme-3
    python -m solver.training.oriflamme --by-search 9000 --iterations 400 --seed 2 oriflamme-4
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from engine_cy import Action, Game, Position, Rng, new_game
from engine_cy.learned.self_play import features_of, set_name
from engine_cy.oriflamme.features import WEIGHTS
from engine_cy.record import read_record
from solver.config import Budget
from solver.solve import solve
from solver.training.fitting import FitPlan, Samples, fit, fit_sets, gather, log_loss, parser_for

# The editions of a set, learned together. fr-2019 plays like en-2019.
EDITIONS = ("en-2019", "de-2019", "en-2019", "revised")
SETS: dict[str, list[Game]] = {
    f"oriflamme-{n}": [new_game("oriflamme", edition, n) for edition in EDITIONS] for n in (3, 4, 5)
} | {f"oriflamme_prototype-{n}": [new_game("oriflamme_prototype", "prototype", n)] for n in (2, 3, 4)}
SETS["oriflamme_prototype-2"].append(
    new_game("oriflamme_prototype", {"two_player_rounds": 6, "cards_per_turn": 2}, 2),
)
RANDOM_MOVE = 20  # in games of the search, one move in 20 is random
PLAN = FitPlan(
    WEIGHTS,
    SETS,
    points=(0, 1, 2),
    steps=500,
    games=30000,
)


def play_game(start: Position, policy: Callable[[Position], Action]) -> list[Position]:
    """Return the positions of a game by any policy, such as a search."""
    positions = [start]
    while not positions[-1].is_over:
        positions.append(positions[-1].play(policy(positions[-1])))
    return positions


def read_game(path: Path) -> list[Position]:
    """Return the positions of a recorded game."""
    tables = read_record(path.read_text()).tables()
    return [table for table in tables if isinstance(table, Position)]


def round_ends(games: Iterable[Sequence[Position]]) -> dict[int, Samples]:
    """Return the positions at the ends of rounds of complete games, by any policy."""
    samples = []
    for positions in games:
        for before, after in itertools.pairwise(positions):
            if after.is_over or (before.table.ask, after.table.ask) == ("place", "place"):
                continue
            if after.table.ask == "place":
                row, seats = features_of(after)
                numbers = [np.flatnonzero(seat).astype(np.uint16) for seat in seats]
                values = [np.array(seat)[n].astype(np.float32) for seat, n in zip(seats, numbers, strict=True)]
                sizes = np.array([len(n) for n in numbers], np.int32).tobytes()
                parts = (np.concatenate(numbers).tobytes(), np.concatenate(values).tobytes())
                samples.append((row, sizes, *parts, positions[-1].payoffs))
    return gather(PLAN.n_features, samples)


def search_games(games: Sequence[Game], n_games: int, iterations: int, seed: int) -> Iterator[list[Position]]:
    """Play games of the search against itself, for an evaluation of stronger play.

    Random moves now and then make the games differ.
    """

    def policy(position: Position) -> Action:
        options = position.legal_actions()
        if rng.below(RANDOM_MOVE) == 0:
            return options[rng.below(len(options))]
        view = position.view(position.to_act or 0)
        best = solve(view, Budget(iterations=iterations), seed=rng.bits(), lines=0).best
        assert best is not None
        return best

    for number in range(n_games):
        rng = Rng(seed, number)
        game = games[number % len(games)]
        yield play_game(game.deal(rng, first=rng.below(game.n_players)), policy)


def refit(name: str, games: Iterable[Sequence[Position]], held_out: Iterable[Sequence[Position]], out: Path) -> None:
    """Refit the weights of the features to complete games of one set, staying close to the present weights."""
    tables = WEIGHTS.read()[name]
    rows = [np.array(row) for row in tables["features"]]
    others = round_ends(held_out)
    for row, samples in round_ends(games).items():
        other = others.get(row, samples)
        loss_before = log_loss(rows[row], other)
        rows[row] = fit(PLAN, samples, rows[row])
        print(
            f"{name} row {row:2}: log-loss {loss_before:.3f}, now {log_loss(rows[row], other):.3f} "
            f"({len(samples.shares)} positions)",
            flush=True,
        )
    WEIGHTS.write(out, name, marks=tables["marks"], features=[row.tolist() for row in rows])


def refit_to_records(paths: Sequence[Path], out: Path) -> None:
    games = [read_game(path) for path in paths]
    name = set_name(games[0][0].game)
    if any(set_name(positions[0].game) != name for positions in games):
        raise SystemExit(f"--records: all games must be of one set; the first is of {name}")
    refit(name, games, (), out)


def main() -> None:
    parser = parser_for(PLAN, __doc__)
    parser.add_argument("--records", nargs="+", type=Path, help="refit the features of one set to these games instead")
    parser.add_argument("--by-search", type=int, metavar="GAMES", help="refit them to games of the search instead")
    parser.add_argument("--iterations", type=int, default=400, help="iterations a move of these games (default 400)")
    options = parser.parse_args()
    if options.records:
        refit_to_records(options.records, options.out)
    elif options.by_search:
        for name in options.sets:
            n, iterations, seed = options.by_search, options.iterations, options.seed
            held_out = search_games(SETS[name], n // 8, iterations, seed + 500)
            refit(name, search_games(SETS[name], n, iterations, seed), held_out, options.out)
    else:
        fit_sets(PLAN, options)


if __name__ == "__main__":
    main()
