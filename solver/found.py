"""What a search found, so far or in all, whoever's turn it is: for those who serve it to others on the way."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from solver.analysis import Analysis, Beliefs
from solver.backends.base import Backend, Job
from solver.merge import Share, merge
from solver.solve import answer_at_once, as_analysis, beliefs_of
from solver.watch import Watch


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has found."""

    analysis: Analysis | None  # None: the observer is not to act
    beliefs: Beliefs | None
    total: Share  # of all shares together
    share_iterations: tuple[int, ...]  # empty where nothing was searched: a move is forced, say

    @property
    def stopped_by(self) -> str:
        """As `Analysis.stopped_by`; empty while it goes on."""
        return self.total.stopped_by

    @property
    def reproducible(self) -> bool:
        """Whether no clock and nobody had a say in when it ended."""
        return self.stopped_by not in ("stopped", "time", "") and not self.total.missing


def find(job: Job, backend: Backend, watch: Watch | None = None) -> Found:
    """Search to the end. To tell on the way what is found, have the watch report `found_of` the shares."""
    begun = time.perf_counter()
    at_once = answer_at_once(job) if _is_to_act(job) else None
    if at_once is not None:
        analysis = as_analysis(job, at_once, begun)
        return Found(analysis, analysis.beliefs, at_once, ())
    return found_of(job, backend.run(job, watch), begun)


def found_of(job: Job, shares: Sequence[Share], begun: float) -> Found:
    """What all shares of a search together have found that was `begun` then, by `time.perf_counter`."""
    total = merge(shares)
    analysis = as_analysis(job, total, begun) if _is_to_act(job) else None
    beliefs = analysis.beliefs if analysis else beliefs_of(job.view, job.history, job.config)
    return Found(analysis, beliefs, total, tuple(share.iterations for share in shares))


def _is_to_act(job: Job) -> bool:
    return job.view.to_act == job.view.observer
