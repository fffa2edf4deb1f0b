"""One share after the other on this thread: the definition of what every other backend must find."""

from __future__ import annotations

from solver.backends.base import Job, Watch, run_share, start_share
from solver.merge import Share, merge


class Serial:
    """Computes the shares one by one. A limit of time holds for each share, not for all of them together."""

    def run(self, job: Job, watch: Watch | None = None) -> list[Share]:
        found: list[Share] = []
        for number in range(job.shares):
            if watch is None or watch.report is None:
                found.append(run_share(start_share(job, number), watch))
            else:
                found.append(_followed(job, number, watch, found))
        return found


def _followed(job: Job, number: int, watch: Watch, before: list[Share]) -> Share:
    """One share, of which is reported together with those before it."""
    assert watch.report is not None
    report = watch.report
    mine = Watch(lambda part: report(merge([*before, part])), watch.interval_ms)
    with watch.stopping(mine.stop):
        return run_share(start_share(job, number), mine)
