"""From a view and a budget to an answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine_cy import Action, Position, Rng, View
from engine_cy.history import History
from engine_cy.record import Record
from solver.analysis import Analysis, Beliefs, Move, Outlook, believe, expect, judge, mean_values, recommend
from solver.backends.base import Backend, Job
from solver.backends.serial import Serial
from solver.backends.threads import Threads
from solver.beliefs import Belief
from solver.config import (
    Budget,
    Config,
    InvalidBudgetError,
    Model,
    check_budget,
    fit_budget,
    fit_config,
    read_config,
    read_models,
)
from solver.merge import Share, empty_share, merge
from solver.numbers import exp, log
from solver.search import Searcher
from solver.version import SIGNATURE
from solver.watch import Watch

WORKERS_MAX = 256
LINES_MAX = 100
MILLION = 1_000_000
DRAWS = 3  # the stream of random numbers, of a search's seed, that moves are drawn by


def solve(
    view: View,
    budget: Budget | None = None,
    *,
    config: str | Config = "default",
    seed: int = 0,
    workers: int = 1,
    backend: Backend | None = None,
    watch: Watch | None = None,
    models: Mapping[int | str, Model] | None = None,
    history: History | Record | None = None,
    lines: int = 1,
    among: Sequence[Action | str] = (),
) -> Analysis:
    """What the observer of `view`, whose turn it is, should do.

    The same view, iterations, configuration, seed and number of workers give the same answer, whatever the backend
    and its timing; with a limit of time they do not. `workers` is the number of trees, and of threads unless another
    backend is given. `models` says of other seats, by number or letter, how they are thought to play: as well as the
    search itself ("me", unless said otherwise), "noisy", "greedy" or "random". `history`, what was done up to here, or
    the record of it as the observer saw it, sharpens what is believed of hidden cards. For the `lines` most tried moves
    the answer says how play is likely to go on. With `among`, only these moves are considered. A `watch` is told on the
    way what is found, and can end the search.
    """
    job = make_job(
        view,
        budget,
        config=config,
        seed=seed,
        workers=workers,
        models=models,
        history=history,
        lines=lines,
        among=among,
    )
    begun = time.perf_counter()
    found = answer_at_once(job)
    if found is None:
        found = _search(job, backend, watch)
    return as_analysis(job, found, begun)


def make_job(
    view: View,
    budget: Budget | None = None,
    *,
    config: str | Config = "default",
    seed: int = 0,
    workers: int = 1,
    models: Mapping[int | str, Model] | None = None,
    history: History | Record | None = None,
    lines: int = 1,
    among: Sequence[Action | str] = (),
) -> Job:
    """What `solve` has a backend compute for these arguments; see there. Errors name the argument."""
    job = job_at(
        view,
        budget,
        config=config,
        seed=seed,
        workers=workers,
        models=models,
        history=history,
        lines=lines,
        among=among,
    )
    if not view.legal_actions():
        whose = "nobody's" if view.to_act is None else f"{view.to_act}'s"
        raise InvalidBudgetError(f"view: it is {whose} turn, not the observer's ({view.observer})")
    return job


def job_at(
    view: View,
    budget: Budget | None = None,
    *,
    config: str | Config = "default",
    seed: int = 0,
    workers: int = 1,
    models: Mapping[int | str, Model] | None = None,
    history: History | Record | None = None,
    lines: int = 0,
    among: Sequence[Action | str] = (),
    share_iterations: Sequence[int] = (),
) -> Job:
    """As `make_job`, whoever's turn it is. `share_iterations` says of each share how many it has, where that is not
    as even as may be: so is had again what a clock ended."""
    chosen, wanted, seats, told = _ask(view, budget, config, workers, models, history)
    if type(lines) is not int or not 0 <= lines <= LINES_MAX:
        raise InvalidBudgetError(f"lines: {lines!r} is not in 0..{LINES_MAX}")
    each = tuple(share_iterations)
    if each and (len(each) != workers or min(each) < 0):
        raise InvalidBudgetError(f"share_iterations: {list(each)} is not what {workers} shares have")
    return Job(view, chosen, wanted, seed, workers, seats, told, lines, tuple(read_among(among, view)), each)


def answer_at_once(job: Job) -> Share | None:
    """What is found without a search where none is due: a forced move, or a configuration that does not search."""
    n_players = job.view.game.n_players
    if job.view.forced_action is not None:
        return empty_share(1, n_players, stopped_by="forced")
    return None if job.config.how == "search" else empty_share(len(job.decisions), n_players)


def as_analysis(job: Job, found: Share, begun: float) -> Analysis:
    """The answer to a job, by what all its shares found; it was `begun` then, by `time.perf_counter`."""
    view, chosen, actions = job.view, job.config, job.decisions
    best: Action | None = None
    if chosen.how != "search" and found.stopped_by != "forced":
        best = _without_search(view, chosen, job.seed, actions)
    moves = judge(view, actions, found)
    if not best and len(actions) > 1 and (chosen.temperature or chosen.noise):
        best = _draw_move(view, moves, chosen, job.seed)
    return Analysis(
        view=view,
        best=best or moves[0].action,
        moves=moves,
        values=mean_values(moves),
        beliefs=beliefs_of(view, job.history, chosen),
        mix=((best, 1.0),) if best else recommend(moves),
        config=chosen.name,
        knowledge=view.game.id if chosen.knows else "none",
        iterations=found.iterations,
        worlds=found.worlds,
        nodes=found.nodes,
        tree_bytes=found.tree_bytes,
        elapsed_ms=(time.perf_counter() - begun) * 1000,
        stopped_by=found.stopped_by,
        budget=job.budget,
        seed=job.seed,
        workers=job.shares,
        reproducible=job.budget.reproducible and not found.missing and found.stopped_by not in ("stopped", "time", ""),
        signature=SIGNATURE,
        missing=found.missing,
        note=found.note,
    )


def outlook(
    view: View,
    budget: Budget | None = None,
    *,
    config: str | Config = "default",
    seed: int = 0,
    workers: int = 1,
    backend: Backend | None = None,
    watch: Watch | None = None,
    models: Mapping[int | str, Model] | None = None,
    history: History | Record | None = None,
) -> Outlook:
    """What each seat may expect, whoever's turn it is, as the observer of `view` sees it; see `solve`."""
    chosen, wanted, seats, told = _ask(view, budget, config, workers, models, history)
    if view.to_act is None:
        raise InvalidBudgetError("view: the game is over")
    if chosen.how != "search":
        raise InvalidBudgetError(f"config: {chosen.name!r} does not search, so it expects nothing")
    begun = time.perf_counter()
    found = _search(Job(view, chosen, wanted, seed, workers, seats, told), backend, watch)
    values, points = expect(found)
    return Outlook(
        view=view,
        values=values,
        points=points,
        beliefs=beliefs_of(view, told, chosen),
        config=chosen.name,
        knowledge=view.game.id if chosen.knows else "none",
        iterations=found.iterations,
        worlds=found.worlds,
        elapsed_ms=(time.perf_counter() - begun) * 1000,
        stopped_by=found.stopped_by,
        budget=wanted,
        seed=seed,
        workers=workers,
        reproducible=wanted.reproducible and not found.missing and found.stopped_by not in ("stopped", "time"),
        signature=SIGNATURE,
    )


class _Question(NamedTuple):
    """What is asked, checked and filled in."""

    config: Config
    budget: Budget
    models: tuple[Model, ...]
    history: History | None


def _ask(
    view: View,
    budget: Budget | None,
    config: str | Config,
    workers: int,
    models: Mapping[int | str, Model] | None,
    history: History | Record | None,
) -> _Question:
    chosen = fit_config(read_config(config), view.game)
    wanted = fit_budget(check_budget(budget or Budget(iterations=chosen.iterations or None)), chosen)
    if type(workers) is not int or not 1 <= workers <= WORKERS_MAX:
        raise InvalidBudgetError(f"workers: {workers!r} is not in 1..{WORKERS_MAX}")
    return _Question(chosen, wanted, read_models(models or {}, view), read_history(history, view))


def _search(job: Job, backend: Backend | None, watch: Watch | None) -> Share:
    return merge((backend or (Threads() if job.shares > 1 else Serial())).run(job, watch))


def beliefs_of(view: View, history: History | None, config: Config) -> Beliefs | None:
    """What is believed at a view; None where the game has no words for it."""
    return believe(Belief(view, history, config.trust)) if view.game.has_suspicions else None


def read_history(history: History | Record | None, view: View) -> History | None:
    """What was done before `view`, from a history or a record that ends there."""
    if history is None or isinstance(history, History):
        if history is not None and history.game != view.game:
            raise InvalidBudgetError(f"history: it is one of {history.game!r}, and the view one of {view.game!r}")
        return history
    end = history.end
    seen = end.view(view.observer) if isinstance(end, Position) else end
    if seen != view:
        raise InvalidBudgetError(f"history: the record ends at '{seen}', not at '{view}'")
    return History.of(history)


def read_among(among: Sequence[Action | str], view: View) -> list[Action]:
    """The moves that are to be considered, in the order of all legal ones."""
    legal = {str(action): action for action in view.legal_actions()}
    wanted = {str(action) for action in among}
    for asked in among:
        if str(asked) not in legal:
            raise InvalidBudgetError(f"among: {str(asked)!r} is none of {', '.join(legal) or 'nothing'}")
    return [action for text, action in legal.items() if text in wanted]


def _without_search(view: View, config: Config, seed: int, actions: list[Action]) -> Action:
    if config.how == "random":
        return actions[_draws(view, seed).below(len(actions))]
    searcher = Searcher(view, config.settings(None), 2**20, seed, 0)
    return view.game.action_from_steps(searcher.rule_of_thumb())


def _draws(view: View, seed: int) -> Rng:
    """What moves are drawn by: whoever has one seed for a whole game shall not err each time or never."""
    return Rng(seed ^ view.key, DRAWS)


def _draw_move(view: View, moves: tuple[Move, ...], config: Config, seed: int) -> Action:
    """The move of who does not always play the best."""
    rng = _draws(view, seed)
    if rng.below(MILLION) < config.noise * MILLION:
        return moves[rng.below(len(moves))].action
    if not config.temperature:
        return moves[0].action
    most = log(max(moves[0].visits, 1))
    weights = [exp((log(move.visits) - most) / config.temperature) if move.visits else 0.0 for move in moves]
    draw = rng.below(MILLION) / MILLION * sum(weights)
    for move, weight in zip(moves, weights, strict=True):
        draw -= weight
        if draw < 0:
            return move.action
    return moves[0].action
