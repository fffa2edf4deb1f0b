"""A thread for each share; the searches hold no lock of Python's, so they run at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait

from solver.backends.base import Job, progress_of, run_in_turn, start_share
from solver.merge import Share
from solver.watch import Progress, Watch


class Threads:
    """Computes all shares at once, in turns on `threads` if those are fewer. Their order, and so the sum, does not
    depend on which ends first.

    The threads are its own, and the one that calls waits; or those of an `executor`, and the one that calls is one of
    them, so that it takes no other if there is one share.
    """

    def __init__(self, threads: int | None = None, executor: Executor | None = None) -> None:
        self._threads = threads
        self._executor = executor

    def run(self, job: Job, watch: Watch | None = None) -> list[Share]:
        return self.run_some(job, range(job.shares), watch)

    def run_some(
        self, job: Job, numbers: Sequence[int], watch: Watch | None = None, progress: Progress | None = None
    ) -> list[Share]:
        """Some shares of a job, in the order of their numbers."""
        watch = watch or Watch()
        progress = progress or progress_of(job, watch)
        started = [start_share(job, number) for number in numbers]
        n = min(self._threads or len(started), len(started))
        groups = [started[i::n] for i in range(n)]
        elsewhere = groups[1:] if self._executor else groups
        executor = self._executor or ThreadPoolExecutor(n)
        futures = [executor.submit(run_in_turn, group, watch, progress) for group in elsewhere]
        try:
            found = [run_in_turn(groups[0], watch, progress)] if self._executor else []
            found += [future.result() for future in futures]
        except BaseException:
            # An interrupt must not wait for the searches to end by themselves.
            for share in started:
                share.searcher.stop()
            raise
        finally:
            wait(futures)
            if executor is not self._executor:
                executor.shutdown()
        return [found[i % n][i // n] for i in range(len(started))]
