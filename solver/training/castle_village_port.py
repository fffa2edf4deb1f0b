"""Fit engine_cy/castle_village_port/weights.json.

    python -m solver.training.castle_village_port [--help]

solver/training/fitting.py describes the method; fitting all sets takes about five minutes on one core.
"""

from __future__ import annotations

from engine_cy import new_game
from engine_cy.castle_village_port.features import WEIGHTS
from solver.training.fitting import FitPlan, fit_sets, parser_for
from solver.training.games import SETS

PLAN = FitPlan(
    WEIGHTS,
    {
        name: [new_game(*spec) for spec in specs]
        for name, specs in SETS.items()
        if name.startswith("castle_village_port")
    },
    points=(0, 1),
    steps=100,
    games=8000,
    trust=0.5,
    never_worse=(2, 3, 4),  # totals with the payments of the rows
)


def main() -> None:
    fit_sets(PLAN, parser_for(PLAN, __doc__).parse_args())


if __name__ == "__main__":
    main()
