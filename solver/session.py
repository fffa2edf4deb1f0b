"""One seat of one game, from its first view on: what was done is remembered, and so is what was searched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine_cy import Action, View
from engine_cy.history import History
from solver.analysis import Analysis
from solver.backends.base import Job, Started, run_share, start_share
from solver.config import Budget, Config, InvalidBudgetError
from solver.merge import Share
from solver.solve import solve
from solver.watch import Watch


class Session:
    """Follows a game with the eyes of one player, and answers what to play.

    Each answer rests on all that was done so far. With `reuse`, it also goes on with the tree of the one before: what
    was found then about tables that may still come counts again. Such an answer depends on what was asked before, so it
    is not called reproducible; without `reuse` it is what `solve` gives for the same view and history.
    """

    def __init__(
        self,
        view: View,
        *,
        config: str | Config = "default",
        seed: int = 0,
        reuse: bool = True,
        history: History | None = None,
    ) -> None:
        self.view = view
        self.history = history.copy() if history else History(view.game)
        self._options: dict[str, Any] = {"config": config, "seed": seed}
        self._tree = _OneTree() if reuse else None

    def play(self, action: Action | str) -> View:
        """Something was done, as this player saw it (as `View.play` takes it); the view after that."""
        after = self.view.play(action)
        if self._tree and self.view.to_act is not None and self.view.to_act >= 0:
            text, _, _ = str(action).partition("=")
            self._tree.taken.append((self.view.to_act, self.view.game.action(text.strip()).code))
        self.history.add(self.view, action)
        self.view = after
        return after

    def solve(self, budget: Budget | None = None, **options: Any) -> Analysis:
        """What to play now; see `solver.solve`."""
        if not self._tree:
            return solve(self.view, budget, history=self.history, **self._options, **options)
        if "workers" in options or "backend" in options:
            raise InvalidBudgetError("workers: a session that keeps its tree has one; open it with reuse=False")
        found = solve(self.view, budget, history=self.history, backend=self._tree, **self._options, **options)
        return replace(found, reproducible=found.reproducible and not self._tree.grown)


class _OneTree:
    """A backend whose tree lives on from one search to the next."""

    def __init__(self) -> None:
        self.taken: list[tuple[int, tuple[int, ...]]] = []
        self.grown = False  # whether the last search went on with a tree from before
        self._last: Started | None = None

    def run(self, job: Job, watch: Watch | None = None) -> list[Share]:
        if self._last and self._goes_on(self._last, job):
            self._last.searcher.follow(job.view, self.taken, job.belief)
            self._last = self._last._replace(job=job)
            self.grown = True
        else:
            self._last = start_share(job, 0)
            self.grown = False
        self.taken.clear()
        return [run_share(self._last, watch)]

    @staticmethod
    def _goes_on(last: Started, job: Job) -> bool:
        """Whether the tree is one for this job too, and has room: what cannot be reached any more is never freed."""
        asked = (job.config, job.models, job.budget.memory_mb)
        return (
            asked == (last.job.config, last.job.models, last.job.budget.memory_mb)
            and last.searcher.tree_bytes * 2 < job.budget.memory_mb * 2**20
        )
