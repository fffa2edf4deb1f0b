"""Follow one seat of one game from its first view on, and keep its history and its search tree."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from engine_cy import Action, View
from engine_cy.action_log import History
from solver.answer import Answer, answer_at_once, answer_of, answer_without_search
from solver.config import Budget, Config, InvalidQuestionError
from solver.control import Control
from solver.pool.base import Pool
from solver.pool.parts import begin_part, run_parts
from solver.question import MEGABYTE, SearchQuestion
from solver.search import Searcher
from solver.solve import solve


class Session:
    """Follow a game as one player sees it, and answer what to play.

    Each answer uses the full history. With `reuse`, the session owns a tree and continues in it, on the calling thread:
    nodes of positions that can still occur keep their statistics. Such an answer depends on earlier ones, so it is not
    marked reproducible. Without `reuse`, it equals that of `solve` for the same view and history.
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
        self._tree = _Tree() if reuse else None

    def play(self, action: Action | str) -> View:
        """Add an action as this player saw it, in the form of `View.play`; return the view after it."""
        after = self.view.play(action)
        if self._tree and self.view.to_act is not None and self.view.to_act >= 0:
            text, _, _ = str(action).partition("=")
            self._tree.taken.append((self.view.to_act, self.view.game.action(text.strip()).code))
        self.history.add(self.view, action)
        self.view = after
        return after

    def solve(
        self,
        budget: Budget | None = None,
        *,
        pool: Pool | None = None,
        control: Control | None = None,
        **options: Any,
    ) -> Answer:
        """Search for the best move now; see `solver.solve`."""
        question = SearchQuestion(self.view, budget, history=self.history.copy(), **self._options, **options)
        if self._tree is None:
            return solve(question, pool=pool, control=control)
        if "shares" in options or pool is not None:
            field = "shares" if "shares" in options else "pool"
            raise InvalidQuestionError(field, "a session that reuses its tree has one; open it with reuse=False")
        return self._tree.answer(question, control or Control())


class _Tree:
    """A tree that is kept from one search to the next."""

    def __init__(self) -> None:
        self.taken: list[tuple[int, tuple[int, ...]]] = []
        self._question: SearchQuestion | None = None
        self._searcher: Searcher | None = None

    def answer(self, question: SearchQuestion, control: Control) -> Answer:
        started = time.perf_counter()
        share = answer_at_once(question)
        if share is not None:
            return answer_without_search(question, share, started)
        question.prepare()
        continued = self._can_continue(question)
        if self._searcher is not None and continued:
            self._searcher.follow(question.view, self.taken, question.worlds)
        else:
            self._searcher = begin_part(question, 0)
        self.taken.clear()
        self._question = question
        answer = answer_of(question, run_parts(question, [0], control, searcher=self._searcher), started)
        return replace(answer, continued=continued)

    def _can_continue(self, question: SearchQuestion) -> bool:
        """Return whether the tree suits this question and fills less than half of its memory: nodes are never freed."""
        last, searcher = self._question, self._searcher
        if last is None or searcher is None or question.among:
            return False
        return (
            (question.config, question.models, question.budget.memory_mb)
            == (last.config, last.models, last.budget.memory_mb)
            and not last.among
            and searcher.tree_bytes * 2 < question.budget.memory_mb * MEGABYTE
        )
