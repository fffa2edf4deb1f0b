"""One share after the other on this thread: the definition of what every other backend must find."""

from __future__ import annotations

from solver.backends.base import Job, run_share, start_share
from solver.merge import Share


class Serial:
    """Computes the shares one by one. A limit of time holds for each share, not for all of them together."""

    def run(self, job: Job) -> list[Share]:
        return [run_share(start_share(job, number)) for number in range(job.shares)]
