"""A job and its shares: what every backend computes alike, whatever it runs on."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from engine_cy import View
from engine_cy.history import History
from solver.beliefs import Belief
from solver.config import ITERATIONS_MAX, Budget, Config, Model
from solver.merge import Share, Tally
from solver.search import Searcher
from solver.sure import SURE_AFTER, is_sure


@dataclass(frozen=True, slots=True)
class Job:
    """A search that means the same in a thread, a process or a test."""

    view: View
    config: Config
    budget: Budget
    seed: int
    shares: int = 1
    models: tuple[Model, ...] = ()
    history: History | None = None

    @property
    def belief(self) -> Belief | None:
        """How likely the worlds are; None: all alike."""
        if self.config.trust and self.view.game.has_suspicions:
            return Belief(self.view, self.history, self.config.trust)
        return None


class Backend(Protocol):
    """Computes all shares of a job, in their order."""

    def run(self, job: Job) -> list[Share]: ...


def start_share(job: Job, number: int) -> tuple[Searcher, int]:
    """The searcher of one share, and how many iterations it has: as equal parts as there are."""
    budget = job.budget
    iterations = ITERATIONS_MAX
    if budget.iterations is not None:
        iterations = budget.iterations // job.shares + (number < budget.iterations % job.shares)
    bytes_max = int(budget.memory_mb * 2**20 / job.shares)
    settings = job.config.settings(iterations if budget.iterations is not None else None, job.models)
    return Searcher(job.view, settings, bytes_max, job.seed, number, belief=job.belief), iterations


def run_share(job: Job, searcher: Searcher, iterations: int) -> Share:
    """Search one share to the end of its budget."""
    milliseconds = job.budget.thread_time_ms or job.budget.time_ms or 0
    nanoseconds, thread_time = int(milliseconds * 1e6), job.budget.thread_time_ms is not None
    if job.budget.confidence is None:
        why = searcher.run(iterations, nanoseconds, thread_time)
    else:
        why = _run_until_sure(searcher, iterations, nanoseconds, thread_time, job)
    job.view.game.check()
    return Share(
        tallies=tuple(Tally(*sums) for sums in searcher.results()),
        iterations=searcher.iterations,
        worlds=searcher.worlds,
        nodes=searcher.nodes,
        tree_bytes=searcher.tree_bytes,
        stopped_by=why,
    )


def _run_until_sure(searcher: Searcher, iterations: int, nanoseconds: int, thread_time: bool, job: Job) -> str:
    """Search in bursts, each a quarter of all before it, and ask after each whether the best is the best."""
    assert job.budget.confidence is not None
    clock = time.thread_time_ns if thread_time else time.monotonic_ns
    deadline = clock() + nanoseconds
    burst = SURE_AFTER
    while True:
        left = deadline - clock()
        if nanoseconds and left <= 0:
            return "time"
        why = searcher.run(
            min(burst, iterations - searcher.iterations), max(left, 1) if nanoseconds else 0, thread_time
        )
        if why != "iterations" or searcher.iterations >= iterations:
            return why
        if is_sure([Tally(*sums) for sums in searcher.results()], job.view.observer, job.budget.confidence):
            return "confidence"
        burst = max(SURE_AFTER, searcher.iterations // 4)
