"""A search that can be stopped from any thread, says on the way what it has found, and keeps to a moment in time.

`solve` asks and waits; this is for who serves others: a deadline is a moment on the monotonic clock rather than so many
milliseconds, shares may be more than threads, and a limit of time can be asked for again as so many iterations of each
share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from threading import Lock

from engine_cy import Action, View
from engine_cy.history import History
from engine_cy.record import Record
from solver.analysis import Analysis, Beliefs
from solver.backends.base import Job, Started, part_of, start_share, sum_up
from solver.config import Budget, Config, Model, fit_config, read_config, read_models
from solver.merge import Share, Tally, merge
from solver.solve import beliefs_of, read_history, solve
from solver.sure import is_sure, next_look

# Where one thread searches several shares in turn, each goes on for so long.
TURN_NS = 10_000_000
NEVER_NS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has found so far, or in all."""

    analysis: Analysis | None  # None: the observer is not to act
    beliefs: Beliefs | None
    total: Share  # of all shares together
    share_iterations: tuple[int, ...]
    stopped_by: str  # as `Analysis.stopped_by`
    # Whether no clock and nobody had a say in when it ended.
    reproducible: bool


class Running:
    """One question. `run` answers it, on the thread that calls it and, where there are several shares and an executor,
    on others; everything else may be called from any thread.

    `until_ns` is when to end at the latest, by `time.monotonic_ns`. `share_iterations` says how many iterations each
    share does. An observer who is not to act only watches: there are values and beliefs, but no moves.
    """

    def __init__(
        self,
        view: View,
        budget: Budget,
        *,
        config: str | Config = "default",
        seed: int = 0,
        shares: int = 1,
        models: Mapping[int | str, Model] | None = None,
        history: History | Record | None = None,
        lines: int = 0,
        among: Sequence[Action] = (),
        until_ns: int | None = None,
        share_iterations: Sequence[int] = (),
    ) -> None:
        self._view = view
        self._budget = budget
        self._config = fit_config(read_config(config), view.game)
        self._history = read_history(history, view)
        self._models = models or {}
        self._seed, self._shares, self._lines, self._among = seed, shares, lines, tuple(among)
        self._until_ns = NEVER_NS if until_ns is None else until_ns
        self._share_iterations = tuple(share_iterations)
        self._lock = Lock()
        self._is_stopped = False
        self._trees: list[_Tree] = []

    def stop(self) -> None:
        """Have the search end soon, with what it has found."""
        with self._lock:
            self._is_stopped = True
            for tree in self._trees:
                tree.share.searcher.stop()

    def run(
        self,
        *,
        threads: int = 1,
        executor: Executor | None = None,
        every_ns: int = 0,
        tell: Callable[[Found], None] | None = None,
    ) -> Found:
        """Search to the end. With `tell`, say every `every_ns` what is found so far; it is called on any of the
        threads, one call at a time."""
        work = _Work(self, threads, executor, every_ns, tell)
        if self._view.to_act == self._view.observer:
            analysis = self._solve(work)
            return self._found(work.shares, analysis)
        seats = read_models(self._models, self._view)
        return self._found(
            work.run(Job(self._view, self._config, self._budget, self._seed, self._shares, seats, self._history))
        )

    def _solve(self, backend: _Work | _Done) -> Analysis:
        return solve(
            self._view,
            self._budget,
            config=self._config,
            seed=self._seed,
            workers=self._shares,
            backend=backend,
            models=self._models,
            history=self._history,
            lines=self._lines,
            among=self._among,
        )

    def _found(self, shares: list[Share], analysis: Analysis | None = None) -> Found:
        if analysis is None and self._view.to_act == self._view.observer:
            analysis = self._solve(_Done(shares))
        beliefs = analysis.beliefs if analysis else beliefs_of(self._view, self._history, self._config)
        # Without a search, because a move is forced or the configuration does not search, there are no shares.
        total = merge(shares) if shares else Share((), 0, 0, 0, 0, "iterations")
        ends = [share.stopped_by for share in shares] or [analysis.stopped_by if analysis else "iterations"]
        return Found(
            analysis=analysis,
            beliefs=beliefs,
            total=total,
            share_iterations=tuple(share.iterations for share in shares),
            stopped_by=next((end for end in ("stopped", "time", "confidence") if end in ends), ends[0]),
            reproducible=not {"stopped", "time", ""} & set(ends),
        )

    def _start(self, job: Job) -> list[_Tree]:
        trees = []
        for number in range(job.shares):
            limit = self._share_iterations[number] if self._share_iterations else part_of(job, number)
            trees.append(_Tree(start_share(job, number), limit))
        with self._lock:
            self._trees = trees
        if self._is_stopped:
            self.stop()
        return trees


class _Tree:
    """A share on its way."""

    def __init__(self, share: Started, limit: int) -> None:
        self.share = share
        self.limit = limit
        self.ended_by = "" if limit else "iterations"
        self.so_far = sum_up(share, "")
        self._looks_at = next_look(0)

    def go_on(self, nanoseconds: int, until_ns: int) -> None:
        """Search for so long, but not beyond `until_ns`."""
        searcher, confidence = self.share.searcher, self.share.job.budget.confidence
        left = until_ns - time.monotonic_ns()
        if left <= 0:
            self.ended_by = "time"
            return
        goal = self.limit if confidence is None else min(self.limit, self._looks_at)
        why = searcher.run(goal - searcher.iterations, min(nanoseconds, left))
        if why == "stopped" or (why == "iterations" and searcher.iterations >= self.limit):
            self.ended_by = why
        elif why == "iterations" and confidence is not None:
            if is_sure([Tally(*sums) for sums in searcher.results()], searcher.observer, confidence):
                self.ended_by = "confidence"
            self._looks_at = next_look(searcher.iterations)

    def look(self) -> None:
        self.so_far = sum_up(self.share, self.ended_by)


class _Work:
    """A backend that computes the shares of a running search."""

    def __init__(
        self,
        running: Running,
        threads: int,
        executor: Executor | None,
        every_ns: int,
        tell: Callable[[Found], None] | None,
    ) -> None:
        self.shares: list[Share] = []
        self._running = running
        self._threads = threads if executor else 1
        self._executor = executor
        self._every_ns, self._tell = every_ns, tell
        self._telling = Lock()
        self._next_ns = time.monotonic_ns() + every_ns

    def run(self, job: Job) -> list[Share]:
        self._trees = self._running._start(job)
        n = min(self._threads, len(self._trees))
        others = [self._executor.submit(self._search, self._trees[i::n]) for i in range(1, n) if self._executor]
        self._search(self._trees[::n])
        for other in others:
            other.result()
        self.shares = [tree.so_far for tree in self._trees]
        return self.shares

    def _search(self, mine: list[_Tree]) -> None:
        """Search some of the shares, in turn, to their ends."""
        going = [tree for tree in mine if not tree.ended_by]
        turn = TURN_NS if len(going) > 1 else NEVER_NS
        if self._tell:
            turn = min(turn, self._every_ns)
        while going:
            for tree in going:
                tree.go_on(turn, self._running._until_ns)
            going = [tree for tree in going if not tree.ended_by]
            if self._tell and going and time.monotonic_ns() >= self._next_ns:
                self._say(self._tell, mine)
        for tree in mine:
            tree.look()

    def _say(self, tell: Callable[[Found], None], mine: list[_Tree]) -> None:
        for tree in mine:
            tree.look()
        with self._telling:
            if time.monotonic_ns() >= self._next_ns:
                self._next_ns = time.monotonic_ns() + self._every_ns
                tell(self._running._found([tree.so_far for tree in self._trees]))


class _Done:
    """A backend for shares that were computed already."""

    def __init__(self, shares: list[Share]) -> None:
        self._shares = shares

    def run(self, job: Job) -> list[Share]:
        return self._shares
