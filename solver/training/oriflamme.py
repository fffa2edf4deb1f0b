"""Fit engine_cy/oriflamme/weights.json.

    python -m solver.training.oriflamme [--help]

solver/training/fitting.py describes the method; fitting a set takes about five minutes on one core. It learns the
evaluation from fast, weak play; the weights in use were then refitted to increasingly strong games of the search:

    python -m solver.training.games oriflamme-3 --games 12000 --iterations 400 --out build/games/oriflamme-3
    python -m solver.training.oriflamme --by-search build/games/oriflamme-3 oriflamme-3
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from engine_cy import Position, new_game
from engine_cy.learned.self_play import PositionList, set_name
from engine_cy.oriflamme.features import WEIGHTS
from engine_cy.record import read_record
from solver.training.fitting import FitPlan, Floats, Samples, fit, fit_sets, gather, log_loss, parser_for
from solver.training.games import SETS as SPECS
from solver.training.games import read_games

SETS = {name: [new_game(*spec) for spec in specs] for name, specs in SPECS.items() if name.startswith("oriflamme")}
HELD_OUT = 8  # one game in 8 judges a refit
PLAN = FitPlan(
    WEIGHTS,
    SETS,
    points=(0, 1, 2),
    steps=500,
    games=30000,
    prior_steps=1200,
)


def read_game(path: Path) -> list[Position]:
    """Return the positions of a recorded game."""
    tables = read_record(path.read_text()).tables()
    return [table for table in tables if isinstance(table, Position)]


def round_ends(games: Iterable[Sequence[Position]]) -> dict[int, Samples]:
    """Return the positions at the ends of rounds of complete games, by any policy."""
    lists: list[PositionList] = []
    for positions in games:
        if not lists:
            lists = [PositionList(positions[0].game)]
        for before, after in itertools.pairwise(positions):
            if after.is_over or (before.table.ask, after.table.ask) == ("place", "place"):
                continue
            if after.table.ask == "place":
                lists[0].add(after, positions[-1].payoffs)
    return gather(PLAN.n_features, lists)


def stored_games(name: str, folder: Path) -> tuple[Iterator[list[Position]], Iterator[list[Position]]]:
    """Return the games of a folder that a refit learns from, and those that judge it: one in `HELD_OUT`."""
    return _replayed(name, folder, is_held_out=False), _replayed(name, folder, is_held_out=True)


def _replayed(name: str, folder: Path, *, is_held_out: bool) -> Iterator[list[Position]]:
    """Yield the positions of games one by one: all games of a folder take tens of gigabytes."""
    for number, played in enumerate(read_games(folder)):
        if (number % HELD_OUT == 0) != is_held_out:
            continue
        positions = [position for position, _ in played.positions()]
        if set_name(positions[0].game) != name:
            raise SystemExit(f"--by-search: {folder} holds games of {set_name(positions[0].game)}, not of {name}")
        last = played.choices[-1].taken
        yield [*positions, positions[-1].play(positions[-1].legal_actions()[last])]


def refitted(
    name: str, rows: list[Floats], games: Iterable[Sequence[Position]], held_out: Iterable[Sequence[Position]]
) -> list[Floats]:
    """Return rows of weights of the features, refitted to complete games of one set, and close to what they were."""
    rows = list(rows)
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
    return rows


def refit(name: str, games: Iterable[Sequence[Position]], held_out: Iterable[Sequence[Position]], out: Path) -> None:
    """Refit the weights of the features of a set, and write them."""
    tables = WEIGHTS.read()[name]
    rows = refitted(name, [np.array(row) for row in tables["features"]], games, held_out)
    WEIGHTS.write(out, name, **{**tables, "features": [row.tolist() for row in rows]})


def refit_to_records(paths: Sequence[Path], out: Path) -> None:
    games = [read_game(path) for path in paths]
    name = set_name(games[0][0].game)
    if any(set_name(positions[0].game) != name for positions in games):
        raise SystemExit(f"--records: all games must be of one set; the first is of {name}")
    refit(name, games, (), out)


def main() -> None:
    parser = parser_for(PLAN, __doc__)
    parser.add_argument("--records", nargs="+", type=Path, help="refit the features of one set to these games instead")
    parser.add_argument("--by-search", type=Path, metavar="FOLDER", help="refit them to games of the search instead")
    options = parser.parse_args()
    if options.records:
        refit_to_records(options.records, options.out)
    elif options.by_search:
        if len(options.sets) != 1:
            parser.error("--by-search: name the one set of the games")
        refit(options.sets[0], *stored_games(options.sets[0], options.by_search), options.out)
    else:
        fit_sets(PLAN, options)


if __name__ == "__main__":
    main()
