"""A cluster of several nodes on this machine: they come and go, and nothing is lost and nothing is answered twice."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine_cy import new_game
from solver import Budget, solve
from solver.backends.base import Job
from solver.backends.cluster import RayActors, RayUnavailableError
from solver.backends.serial import Serial
from solver.batch import Answer, analyze_many, answer
from solver.solve import make_job

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without CPUs of its own, and a node with one."""
    patch = pytest.MonkeyPatch()
    known = os.environ.get("PYTHONPATH")
    for name, value in {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_AUTO_CONNECT": "0",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{known}" if known else str(ROOT),
    }.items():
        patch.setenv(name, value)
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "object_store_memory": 80 * 2**20, "include_dashboard": False},
    )
    add_node(made)
    yield made
    made.shutdown()
    patch.undo()


def add_node(cluster: Any) -> Any:
    return cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)


def until(happens: Any, seconds: float) -> float:
    began = time.monotonic()
    while not happens():
        assert time.monotonic() - began < seconds
        time.sleep(0.02)
    return time.monotonic() - began


def jobs(n: int) -> Iterator[Job]:
    position = new_game("oriflamme", "en-2019", 4).deal(3)
    view = position.view(position.to_act or 0)
    return (make_job(view, Budget(iterations=2000), seed=i, workers=1 + i % 2) for i in range(n))


@pytest.fixture(scope="module")
def pool(cluster: Any) -> Iterator[RayActors]:
    with RayActors(address=cluster.address) as joined:
        yield joined


def test_a_node_joins_and_is_used(cluster: Any, pool: RayActors) -> None:
    until(lambda: pool.health == ("ready", 1, ""), 10)
    node = add_node(cluster)
    until(lambda: pool.health.workers == 2, 20)
    job = next(jobs(1))
    assert pool.run(job) == Serial().run(job)
    cluster.remove_node(node, allow_graceful=True)
    until(lambda: pool.health.workers == 1, 20)
    assert pool.run(job) == Serial().run(job)


def test_no_more_workers_than_the_cap(cluster: Any, pool: RayActors) -> None:
    node = add_node(cluster)
    until(lambda: pool.health.workers == 2, 20)
    pool.close()
    with RayActors(1, address=cluster.address) as capped:
        time.sleep(1.5)
        assert capped.health.workers == 1
    cluster.remove_node(node, allow_graceful=False)


def test_a_node_is_killed_in_the_middle_of_a_batch(cluster: Any) -> None:
    node = add_node(cluster)
    with RayActors(address=cluster.address) as pool:
        until(lambda: pool.health.workers == 2, 20)
        stream = analyze_many(jobs(300), pool, in_order=False)
        found = [next(stream) for _ in range(60)]
        cluster.remove_node(node, allow_graceful=False)
        found += stream
        assert len(found) == 300
        assert sorted(found, key=lambda one: one.number) == [Answer(i, answer(job)) for i, job in enumerate(jobs(300))]
        until(lambda: pool.health.workers == 1, 20)


def test_a_token_is_wanted(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for token in (None, secrets.token_hex(32)):
        monkeypatch.delenv("RAY_AUTH_TOKEN")
        if token:
            monkeypatch.setenv("RAY_AUTH_TOKEN", token)
        else:
            monkeypatch.setenv("HOME", str(tmp_path))
        began = time.monotonic()
        with pytest.raises(RayUnavailableError, match="RAY_AUTH_TOKEN"):
            RayActors(address=cluster.address)
        assert time.monotonic() - began < 12
        monkeypatch.setenv("RAY_AUTH_TOKEN", "")


def test_another_version_is_told_at_once(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What this driver takes for its own version.
    (tmp_path / "sitecustomize.py").write_text("import ray\nray.__version__ = '2.1.0'\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    began = time.monotonic()
    with pytest.raises(RayUnavailableError, match=r"versions differ from ours: .*2\.1\.0"):
        RayActors(address=cluster.address)
    assert time.monotonic() - began < 2


def test_the_head_of_a_cluster_is_lost(cluster: Any) -> None:
    """The last test: nobody can use the cluster after it."""
    position = new_game("oriflamme", "en-2019", 4).deal(3)
    view = position.view(position.to_act or 0)
    with RayActors(address=cluster.address) as pool:
        cluster.head_node.kill_gcs_server()
        until(lambda: pool.health.state == "lost", 20)
        found = solve(view, Budget(iterations=500), workers=2, seed=3, backend=pool)
        assert found.moves == solve(view, Budget(iterations=500), workers=2, seed=3).moves
        assert found.note
        until(lambda: "nobody at" in pool.health.note, 10)
