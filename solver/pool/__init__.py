"""Where questions are computed: threads, processes or Ray's workers, behind one interface."""

import os


def cores() -> int:
    """Return how many threads of this process can run at a time."""
    return len(os.sched_getaffinity(0))
