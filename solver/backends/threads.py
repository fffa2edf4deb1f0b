"""A thread for each share; the searches hold no lock of Python's, so they run at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext

from solver.backends.base import Job, Parts, Watch, run_share, start_share
from solver.merge import Share


class Threads:
    """Computes all shares at once. Their order, and so the sum, does not depend on which ends first."""

    def run(self, job: Job, watch: Watch | None = None) -> list[Share]:
        return run_shares(job, range(job.shares), watch)


def run_shares(job: Job, numbers: Sequence[int], watch: Watch | None = None) -> list[Share]:
    """Some shares of a job, a thread for each."""
    started = [start_share(job, number) for number in numbers]
    parts = Parts(job.shares)

    def stop() -> None:
        for share in started:
            share.searcher.stop()

    pool = ThreadPoolExecutor(len(started))
    try:
        with watch.stopping(stop) if watch else nullcontext():
            futures = [pool.submit(run_share, share, _of_one(watch, parts, share.number)) for share in started]
            while watch and wait(futures, watch.interval_ms / 1000).not_done:
                parts.report_to(watch)
            return [future.result() for future in futures]
    except BaseException:
        # An interrupt must not wait for the searches to end by themselves.
        stop()
        raise
    finally:
        pool.shutdown()


def _of_one(watch: Watch | None, parts: Parts, number: int) -> Watch | None:
    """What follows one share of a search that reports."""
    if watch is None or watch.report is None:
        return None
    return Watch(lambda part: parts.put(number, part), watch.interval_ms)
