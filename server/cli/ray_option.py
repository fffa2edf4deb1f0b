"""The Ray cluster that `--ray-address` names, in place of this machine's cores; imports Ray when it is opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from server.cli.exit_codes import Failure
from solver.pool.base import Pool


@contextmanager
def open_cluster(address: str, workers: int | None) -> Iterator[Pool]:
    """Open a pool of at most `workers` workers of a cluster, by default of all."""
    from solver.pool.ray_pool import RayPool, RayUnavailableError

    try:
        cluster = RayPool(workers, address=address)
    except RayUnavailableError as error:
        raise Failure(f"ray-address: {error}") from None
    with cluster:
        yield cluster
