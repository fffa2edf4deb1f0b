"""What it is worth that the others do not know a card, and how likely they are to guess it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine_cy import View
from engine_cy.history import History
from engine_cy.record import Record
from solver.analysis import Estimate, estimate
from solver.backends.base import Job
from solver.beliefs import Veiled, own_spots
from solver.config import Budget, Config, InvalidBudgetError, check_budget, fit_config, read_config
from solver.search import Searcher
from solver.solve import read_history
from solver.watch import Watch

MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Information:
    """About one of the observer's own face-down cards.

    `worth` is his win if nobody else knows the card less his win if all know it, in the same worlds: what turning it up
    would give away. `guessed` is, for each opponent, how likely the card is of its true kind to him, who sees what he
    sees and believes as we do.
    """

    place: dict[str, int | str]
    card: str
    worth: Estimate
    guessed: dict[int, float]


def information(
    view: View,
    budget: Budget | None = None,
    *,
    config: str | Config = "default",
    seed: int = 0,
    history: History | Record | None = None,
    watch: Watch | None = None,
) -> tuple[Information, ...]:
    """What the observer's own face-down cards are worth as secrets. The budget, one of iterations, is for each card.

    Two searches go side by side from the same worlds. In one of them the card is, for whoever searches for the others,
    of the kinds that they may take it for, as often as they do; in the other one it is what it is. The first half of
    the iterations is for both to learn, the second is what is compared. A `watch` can stop it, and the answer is then
    not to be used.
    """
    chosen = fit_config(read_config(config), view.game)
    wanted = check_budget(budget or Budget())
    if wanted.iterations is None or not wanted.reproducible:
        raise InvalidBudgetError("budget.iterations: information is measured in so many worlds, not in a time")
    if chosen.how != "search":
        raise InvalidBudgetError(f"config: {chosen.name!r} does not search, so it measures nothing")
    if not view.game.has_suspicions:
        raise InvalidBudgetError(f"view: {view.game.id} says nothing of what players may think of hidden cards")
    if view.to_act is None:
        raise InvalidBudgetError("view: the game is over")
    told = read_history(history, view)
    return tuple(
        _of_card(view, told, chosen, wanted, seed, spot, kind, watch or Watch()) for spot, kind in own_spots(view)
    )


def _of_card(
    view: View,
    history: History | None,
    config: Config,
    budget: Budget,
    seed: int,
    spot: int,
    kind: int,
    watch: Watch,
) -> Information:
    assert budget.iterations is not None
    veiled = Veiled(view, history, config.trust, spot=spot, seed=seed)
    job = Job(view, config, budget, seed, history=history)
    settings: Any = config.settings(budget.iterations)
    bytes_max = int(budget.memory_mb * MEGABYTE / 2)
    secret = Searcher(view, settings, bytes_max, seed, 0, belief=veiled)
    known = Searcher(view, settings, bytes_max, seed, 0, belief=job.belief)
    rest = budget.iterations - budget.iterations // 2
    with watch.stopping(secret.stop):
        secret.run_beside(known, budget.iterations // 2)
        total, squares = secret.run_beside(known, rest)
    others = [seat for seat in range(view.game.n_players) if seat != view.observer]
    return Information(
        place=view.place_of(spot),
        card=view.game.name_of(kind),
        worth=estimate(rest, total, squares),
        # Nobody's own cards say anything about another's.
        guessed=dict.fromkeys(others, veiled.guessed),
    )
