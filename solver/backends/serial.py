"""One share after the other on this thread: the definition of what every other backend must find."""

from __future__ import annotations

from solver.backends.base import Job, progress_of, run_in_turn, start_share
from solver.merge import Share
from solver.watch import Watch


class Serial:
    """Computes the shares one by one. A limit of time holds for each share, not for all of them together."""

    def run(self, job: Job, watch: Watch | None = None) -> list[Share]:
        watch = watch or Watch()
        progress = progress_of(job, watch)
        for number in range(job.shares):
            progress.put(number, run_in_turn([start_share(job, number)], watch, progress)[0])
        return progress.found
