"""Compute questions on threads, processes or Ray's workers, behind one interface."""

import os


def cores() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0))
