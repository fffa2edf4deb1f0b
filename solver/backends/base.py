"""A job and its shares: what every backend computes alike, whatever it runs on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine_cy import View
from solver.config import ITERATIONS_MAX, Budget, Config
from solver.merge import Share, Tally
from solver.search import Searcher


@dataclass(frozen=True, slots=True)
class Job:
    """A search that means the same in a thread, a process or a test."""

    view: View
    config: Config
    budget: Budget
    seed: int
    shares: int = 1


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
    settings = job.config.settings(iterations if budget.iterations is not None else None)
    return Searcher(job.view, settings, bytes_max, job.seed, number), iterations


def run_share(job: Job, searcher: Searcher, iterations: int) -> Share:
    """Search one share to the end of its budget."""
    milliseconds = job.budget.thread_time_ms or job.budget.time_ms or 0
    why = searcher.run(iterations, int(milliseconds * 1e6), job.budget.thread_time_ms is not None)
    return Share(
        tallies=tuple(Tally(*sums) for sums in searcher.results()),
        iterations=searcher.iterations,
        worlds=searcher.worlds,
        nodes=searcher.nodes,
        tree_bytes=searcher.tree_bytes,
        stopped_by=why,
    )
