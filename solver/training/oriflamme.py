"""Fits engine_cy/oriflamme/weights.json: python -m solver.training.oriflamme [--help]

How, says solver/training/fitting.py; for all sets it takes about five minutes on one core. What that learns of who
stands how well comes from quick play; the weights in use were then drawn towards games of the search itself, better and
better ones:

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
from engine_cy.oriflamme import knowledge
from engine_cy.record import read_record
from engine_cy.weights import read_weights, write_weights
from solver.config import Budget
from solver.solve import solve
from solver.training.fitting import FitPlan, Samples, fit, fit_sets, gather, log_loss, parser_for

# What is learned together. fr-2019 plays like en-2019.
EDITIONS = ("en-2019", "de-2019", "en-2019", "revised")
SETS: dict[str, list[Game]] = {
    f"oriflamme-{n}": [new_game("oriflamme", edition, n) for edition in EDITIONS] for n in (3, 4, 5)
} | {f"oriflamme_prototype-{n}": [new_game("oriflamme_prototype", "prototype", n)] for n in (2, 3, 4)}
SETS["oriflamme_prototype-2"].append(
    new_game("oriflamme_prototype", {"two_player_rounds": 6, "cards_per_turn": 2}, 2),
)
ANY_MOVE = 20  # in games of the search, one move in so many is any move
SUBJECT = FitPlan(
    knowledge,
    SETS,
    points=(0, 1, 2),
    values=np.int8,
    steps=500,
    games=30000,
)


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
    return gather(SUBJECT, found)


def searched(games: Sequence[Game], n_games: int, iterations: int, seed: int) -> Iterator[list[Position]]:
    """Games of the search against itself, to learn who stands how well from better play; with any move now and then, so
    that no two are alike."""

    def policy(position: Position) -> Action:
        options = position.legal_actions()
        if rng.below(ANY_MOVE) == 0:
            return options[rng.below(len(options))]
        view = position.view(position.to_act or 0)
        best = solve(view, Budget(iterations=iterations), seed=rng.bits(), lines=0).best
        assert best is not None
        return best

    for number in range(n_games):
        rng = Rng(seed, number)
        game = games[number % len(games)]
        yield by_policy(game.deal(rng, first=rng.below(game.n_players)), policy)


def refit(name: str, games: Iterable[Sequence[Position]], held_out: Iterable[Sequence[Position]], out: Path) -> None:
    """Draw the weights of the features towards what complete games of one set say."""
    marks, features = read_weights(knowledge.WEIGHTS, knowledge.VERSION, knowledge.SIZES)[name]
    rows = [np.array(row) for row in features]
    others = observed(held_out)
    for row, samples in observed(games).items():
        other = others.get(row, samples)
        was = log_loss(rows[row], other)
        rows[row] = fit(SUBJECT, samples, rows[row])
        print(
            f"{name} row {row:2}: log-loss {was:.3f}, now {log_loss(rows[row], other):.3f} "
            f"({len(samples.shares)} positions)",
            flush=True,
        )
    write_weights(out, knowledge.VERSION, knowledge.SIZES, name, marks, rows)


def refit_to_records(paths: Sequence[Path], out: Path) -> None:
    games = [by_record(path) for path in paths]
    name = knowledge.set_name(games[0][0].game)
    if any(knowledge.set_name(tables[0].game) != name for tables in games):
        raise SystemExit(f"--records: these are games of several sets, of which the first is {name}")
    refit(name, games, (), out)


def main() -> None:
    parser = parser_for(SUBJECT, __doc__)
    parser.add_argument("--records", nargs="+", type=Path, help="fit the features of one set to these games instead")
    parser.add_argument(
        "--by-search", type=int, metavar="GAMES", help="fit them to so many games of the search instead"
    )
    parser.add_argument("--iterations", type=int, default=400, help="... of so many iterations a move (default 400)")
    options = parser.parse_args()
    if options.records:
        refit_to_records(options.records, options.out)
    elif options.by_search:
        for name in options.sets:
            n, iterations, seed = options.by_search, options.iterations, options.seed
            held_out = searched(SETS[name], n // 8, iterations, seed + 500)
            refit(name, searched(SETS[name], n, iterations, seed), held_out, options.out)
    else:
        fit_sets(SUBJECT, options)


if __name__ == "__main__":
    main()
