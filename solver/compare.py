"""Two decisions on the same worlds: why this, not that."""

from __future__ import annotations

from dataclasses import dataclass

from engine_cy import Action, View
from solver.analysis import Estimate, estimate
from solver.config import Budget, Config, InvalidBudgetError, check_budget, fit_config, read_config
from solver.search import Searcher

MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much better `action` is than `other`: the mean difference of the win, with its error, over pairs of playouts
    that began in the same worlds. What the worlds have in common cancels out, so small differences show."""

    action: Action
    other: Action
    difference: Estimate
    worlds: int
    config: str
    seed: int

    def __str__(self) -> str:
        gain, error = 100 * self.difference.mean, 100 * self.difference.error
        return f"{self.action} against {self.other}: win {gain:+.1f} % ± {error:.1f} on {self.worlds} worlds"


def compare(
    view: View,
    action: Action | str,
    other: Action | str,
    budget: Budget | None = None,
    *,
    config: str | Config = "default",
    seed: int = 0,
) -> Comparison:
    """Search on behind each of two decisions, in the same worlds one by one. The budget is one of iterations."""
    wanted, chosen = check_budget(budget or Budget()), fit_config(read_config(config), view.game)
    if wanted.iterations is None or not wanted.reproducible:
        raise InvalidBudgetError("budget.iterations: a comparison is of so many worlds, not of a time")
    if chosen.how != "search":
        raise InvalidBudgetError(f"config: {chosen.name!r} does not search, so it compares nothing")
    legal = {str(possible): possible for possible in view.legal_actions()}
    for asked in (action, other):
        if str(asked) not in legal:
            raise InvalidBudgetError(f"action: {str(asked)!r} is none of {', '.join(legal) or 'nothing'}")
    one, two = (
        Searcher(
            view, chosen.settings(wanted.iterations), int(wanted.memory_mb * MEGABYTE / 2), seed, 0, legal[str(a)].code
        )
        for a in (action, other)
    )
    total, squares = one.run_beside(two, wanted.iterations)
    view.game.check()
    return Comparison(
        action=legal[str(action)],
        other=legal[str(other)],
        difference=estimate(one.iterations, total, squares),
        worlds=one.worlds,
        config=chosen.name,
        seed=seed,
    )
