"""A thread for each share; the searches hold no lock of Python's, so they run at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from solver.backends.base import Job, run_share, start_share
from solver.merge import Share


class Threads:
    """Computes all shares at once. Their order, and so the sum, does not depend on which ends first."""

    def run(self, job: Job) -> list[Share]:
        started = [start_share(job, number) for number in range(job.shares)]
        pool = ThreadPoolExecutor(job.shares)
        try:
            futures = [pool.submit(run_share, share) for share in started]
            return [future.result() for future in futures]
        except BaseException:
            # An interrupt must not wait for the searches to end by themselves.
            for share in started:
                share.searcher.stop()
            raise
        finally:
            pool.shutdown()
