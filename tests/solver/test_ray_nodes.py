"""A cluster of several nodes on this machine: nodes join and leave, and each question has one answer."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from searches import expected_answers, opening_view, searches, timeless, timeless_answers
from waiting import wait_until

from solver import Budget, Control, solve
from solver.expected_signature import SIGNATURE
from solver.pool.base import answer_many, compute_here
from solver.pool.ray_pool import RayPool, RayUnavailableError

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Start a head without CPUs, and a node with one."""
    patch = pytest.MonkeyPatch()
    python_path = os.environ.get("PYTHONPATH")
    for name, value in {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_AUTO_CONNECT": "0",
        "RAY_gcs_rpc_server_reconnect_timeout_s": "1",  # a lost head is given up soon
        "PYTHONPATH": f"{ROOT}{os.pathsep}{python_path}" if python_path else str(ROOT),
    }.items():
        patch.setenv(name, value)
    created = new_cluster()
    add_node(created)
    yield created
    created.shutdown()
    patch.undo()


def new_cluster(attempts: int = 3) -> Any:
    """Start a head; rarely its raylet never starts, which times out after half a minute, so try again."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "object_store_memory": 80 * 2**20, "include_dashboard": False}
    while True:
        try:
            return Cluster(initialize_head=True, head_node_args=head)
        except Exception as error:
            attempts -= 1
            if not attempts or "timed out during startup" not in str(error):
                raise


def add_node(cluster: Any) -> Any:
    return cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)


@pytest.fixture(scope="module")
def pool(cluster: Any) -> Iterator[RayPool]:
    with RayPool(address=cluster.address) as joined:
        yield joined


def test_a_node_joins_and_is_used(cluster: Any, pool: RayPool) -> None:
    wait_until(lambda: pool.health == ("ready", 1, ""))
    node = add_node(cluster)
    wait_until(lambda: pool.health.workers == 2)
    question = next(searches(1, 2000))
    assert timeless(pool.submit(question, Control()).result()) == timeless(compute_here(question))
    cluster.remove_node(node, allow_graceful=True)
    wait_until(lambda: pool.health.workers == 1)
    assert timeless(pool.submit(question, Control()).result()) == timeless(compute_here(question))


def test_a_node_with_another_engine_is_not_used(
    cluster: Any, pool: RayPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_engine("0123456789abcdef", tmp_path, monkeypatch)
    node = add_node(cluster)
    wait_until(lambda: "a node has engine 0123456789abcdef" in pool.health.note)
    assert (pool.health.state, pool.health.workers) == ("ready", 1)
    question = next(searches(1, 2000))
    assert timeless(pool.submit(question, Control()).result()) == timeless(compute_here(question))
    cluster.remove_node(node, allow_graceful=True)
    wait_until(lambda: pool.health == ("ready", 1, ""))


def test_a_cluster_whose_nodes_all_have_another_engine_is_refused(
    cluster: Any, pool: RayPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool.close()
    pretend_engine("0123456789abcdef", tmp_path, monkeypatch)  # of this process
    with pytest.raises(RayUnavailableError, match=f"engine {SIGNATURE}, and this is 0123456789abcdef: install one"):
        RayPool(address=cluster.address)


def pretend_engine(signature: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give processes that start from now on another signature of their engine."""
    (path / "sitecustomize.py").write_text(
        f"import solver.expected_signature\nsolver.expected_signature.SIGNATURE = '{signature}'\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{path}{os.pathsep}{os.environ['PYTHONPATH']}")


def test_the_cap_limits_workers_and_a_lost_node_loses_no_answer(cluster: Any) -> None:
    node = add_node(cluster)
    with RayPool(1, address=cluster.address) as capped:
        time.sleep(1.5)
        assert capped.health.workers == 1
    with RayPool(address=cluster.address) as pool:
        wait_until(lambda: pool.health.workers == 2)
        stream = answer_many(searches(150, 2000), pool, in_order=False)
        answers = [next(stream) for _ in range(20)]
        cluster.remove_node(node, allow_graceful=False)
        answers += stream
        assert len(answers) == 150
        answers = sorted(timeless_answers(answers), key=lambda item: item.number)
        assert answers == expected_answers(searches(150, 2000))
        wait_until(lambda: pool.health.workers == 1)


def test_a_missing_or_wrong_token_is_refused(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The usual timeout suits distant clusters.
    (tmp_path / "sitecustomize.py").write_text("import solver.pool.ray_driver as ours\nours.JOIN_S = 2.0\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}")
    for token in (None, secrets.token_hex(32)):
        monkeypatch.delenv("RAY_AUTH_TOKEN")
        if token:
            monkeypatch.setenv("RAY_AUTH_TOKEN", token)
        else:
            monkeypatch.setenv("HOME", str(tmp_path))
        with pytest.raises(RayUnavailableError, match="RAY_AUTH_TOKEN"):
            RayPool(address=cluster.address)
        monkeypatch.setenv("RAY_AUTH_TOKEN", "")


def test_another_version_of_ray_is_refused(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The version that the driver reports as its own.
    (tmp_path / "sitecustomize.py").write_text("import ray\nray.__version__ = '2.1.0'\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(RayUnavailableError, match=r"versions differ from ours: .*2\.1\.0"):
        RayPool(address=cluster.address)


def test_nothing_is_unpickled_on_either_side(cluster: Any, tmp_path: Path) -> None:
    """Only bytes and numbers pass between driver and workers."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, script, cluster.address]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr[-2000:]


def test_a_search_runs_here_if_the_head_of_the_cluster_is_lost(cluster: Any) -> None:
    """Keep this test the last one: the cluster cannot be used after it."""
    view = opening_view()
    with RayPool(address=cluster.address) as pool:
        cluster.head_node.kill_gcs_server()
        wait_until(lambda: pool.health.state == "lost")
        answer = solve(view, Budget(iterations=500), shares=2, seed=3, pool=pool)
        assert answer.moves == solve(view, Budget(iterations=500), shares=2, seed=3).moves
        assert answer.note
        wait_until(lambda: "no Ray head at" in pool.health.note)


SCRIPT = """
import sys
import ray
from engine_cy import new_game
from solver import Budget, SearchQuestion
from solver.pool import ray_driver
from solver.pool.driver_channel import GroupOptions, calls_of, write_groups
from solver.pool.job_bytes import decode_share, encode_job, read_answer, unpack
from solver.question import pack

unpickled = []

def listen(event, arguments):
    if event == "pickle.find_class":
        unpickled.append(arguments)

class AuditedWorker(ray_driver.Worker):
    def begin(self):
        sys.addaudithook(lambda event, names: event == "pickle.find_class" and self.unpickled.append(str(names)))
        self.unpickled = []

    def count(self):
        return len(self.unpickled)

    def count_after(self, argument):
        return len(self.unpickled)

ray.init(address=sys.argv[1], logging_level=50)
options = {"num_cpus": 1, "concurrency_groups": {"search": 2, "control": 1}}
worker = ray.remote(**options)(AuditedWorker).remote()
ray.get(worker.begin.remote())
sys.addaudithook(listen)
position = new_game("oriflamme", "en-2019", 4).deal(3)
job = encode_job(SearchQuestion(position.view(position.to_act), Budget(iterations=100), shares=3))

def message(job):
    return calls_of(write_groups([1, 0], GroupOptions(2, 5, 1e6), job), 7)

for number, iterations in ((7, [33]), (8, [34, 33])):
    shares = unpack(read_answer(ray.get(worker.search.remote(message(job)[number]))))
    assert [decode_share(share).iterations for share in shares] == iterations
for nonsense in (job, b"nonsense", b"cos\\nsystem\\n(S'true'\\ntR."):
    answers = unpack(ray.get(worker.batch.remote(8, pack([nonsense, nonsense]))))
    assert len(answers) == 2 and (answers[0][0] == 0) == (nonsense is job), answers
assert ray.get(worker.search.remote(message(b"nonsense")[7]))[0] == 1
ray.get([worker.stop.remote(9), worker.peek.remote(9), worker.ready.remote()])
assert unpickled == [], unpickled
count = ray.get(worker.count.remote())
assert count == 0, count
# The audit hook works: an object as an argument is noticed.
from fractions import Fraction
assert ray.get(worker.count_after.remote(Fraction(1, 3))) > 0
"""
