"""Searches on Ray's workers: what serial finds, in time, and from the rest when workers are lost."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from ray_processes import are_idle, busiest, children, cpu_ticks, until, workers_below
from tables import random_game

from engine_cy import View, new_game
from engine_cy.history import History
from solver import Budget, InvalidBudgetError, outlook, solve
from solver.backends import cluster
from solver.backends.base import Job
from solver.backends.cluster import RayActors, RayUnavailableError, SearchLostError
from solver.backends.serial import Serial
from solver.batch import Answer, analyze_many, answer
from solver.merge import Share, merge
from solver.solve import as_analysis, make_job
from solver.watch import Watch

ROOT = Path(__file__).parents[2]
GAMES = [("oriflamme", "en-2019", 4), ("oriflamme_prototype", None, 3), ("castle_village_port", None, 3)]
HANDLERS = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
ENDLESS = Budget(iterations=10**11)


@pytest.fixture(scope="module")
def pool() -> Iterator[RayActors]:
    with RayActors(2) as started:
        yield started


@pytest.fixture
def healthy(pool: RayActors) -> Iterator[RayActors]:
    """The pool, with all of its workers before and after."""
    until(lambda: is_whole(pool), 20)
    yield pool
    until(lambda: is_whole(pool), 20)


# Seconds by which a busy machine may be late; by how much an idle one is, `python -m benchmarks backends` measures.
BUSY = 3.0


def start() -> View:
    position = new_game("oriflamme", "en-2019", 4).deal(3)
    return position.view(position.to_act or 0)


def driver(pool: RayActors) -> int:
    assert pool._process
    return pool._process.pid


def workers(pool: RayActors) -> list[int]:
    return workers_below(driver(pool))


def is_whole(pool: RayActors) -> bool:
    """The processes are looked at, too: where other programs have all the cores, a loss is learned of late."""
    return pool.health == ("ready", 2, "") and len(workers(pool)) == 2


@contextmanager
def after(seconds: float, do: Callable[[], object]) -> Iterator[None]:
    timer = threading.Timer(seconds, do)
    timer.start()
    yield
    timer.join()


# --- the same answers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: spec[0])
def test_it_finds_what_serial_finds(pool: RayActors, spec: tuple[str, str | None, int]) -> None:
    game = new_game(*spec)
    history = History(game)
    asked = 0
    for number, (position, action) in enumerate(random_game(game, 2)):
        mover = position.to_act
        if number % 6 == 0 and mover is not None and mover >= 0 and len(position.legal_actions()) > 1:
            for shares in (1, 2, 5):
                job = make_job(
                    position.view(mover),
                    Budget(iterations=301),
                    seed=number,
                    workers=shares,
                    models={(mover + 1) % game.n_players: "noisy"},
                    history=history,
                    lines=2,
                )
                assert pool.run(job) == Serial().run(job)
                asked += 1
        if action is not None:
            history.add(position, action)
    assert asked >= 6


def test_an_answer_on_ray_is_the_answer(pool: RayActors) -> None:
    for budget in (Budget(iterations=5000), Budget(iterations=60_000, confidence=0.9)):
        here = solve(start(), budget, seed=3, workers=2, backend=Serial())
        there = solve(start(), budget, seed=3, workers=2, backend=pool)
        assert replace(there, elapsed_ms=0.0) == replace(here, elapsed_ms=0.0)
        assert (there.missing, there.note, there.reproducible) == (0, "", True)


def test_who_is_not_to_act_is_answered_too(pool: RayActors) -> None:
    view = new_game("oriflamme", "en-2019", 4).deal(3).view(2)
    assert view.to_act != view.observer
    here = outlook(view, Budget(iterations=1000), seed=3, workers=2, backend=Serial())
    there = outlook(view, Budget(iterations=1000), seed=3, workers=2, backend=pool)
    assert replace(there, elapsed_ms=0.0) == replace(here, elapsed_ms=0.0)


def test_searches_at_the_same_time_do_not_mix(pool: RayActors) -> None:
    jobs = [make_job(start(), Budget(iterations=2000), seed=seed, workers=2) for seed in range(8)]
    found: dict[int, list[Share]] = {}
    threads = [threading.Thread(target=lambda job=job: found.update({job.seed: pool.run(job)})) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {job.seed: Serial().run(job) for job in jobs}


def test_errors_of_a_job_are_raised_here(pool: RayActors) -> None:
    job = make_job(start(), Budget(iterations=100))
    with pytest.raises(ValueError, match=r"Config\.nodes"):
        pool.run(replace(job, config=replace(job.config, nodes="all")))  # type: ignore[arg-type]
    with pytest.raises(InvalidBudgetError):
        solve(start(), Budget(iterations=0), backend=pool)


# --- on the way, and to the end ------------------------------------------------------------------------------------


def test_what_was_found_so_far_is_told_at_the_interval(pool: RayActors) -> None:
    seen: list[Share] = []
    found = solve(
        start(),
        Budget(time_ms=1500),
        workers=2,
        backend=pool,
        watch=Watch(lambda shares: seen.append(merge(shares)), 150),
    )
    counts = [share.iterations for share in seen]
    assert 4 <= len(counts) <= 11
    assert counts == sorted(counts)
    assert counts[-1] <= found.iterations
    for share in seen:
        assert sum(tally.visits for tally in share.tallies) == share.iterations


def test_a_stop_frees_all_workers_soon(healthy: RayActors) -> None:
    delays = []
    for _ in range(10):
        watch = Watch()
        stopped: list[float] = []

        def stop(stopped: list[float] = stopped, watch: Watch = watch) -> None:
            stopped.append(time.monotonic())
            watch.stop()

        with after(0.05, stop):
            found = solve(start(), ENDLESS, workers=2, backend=healthy, watch=watch)
            delays.append(time.monotonic() - stopped[0])
        assert (found.stopped_by, found.missing) == ("stopped", 0)
        assert found.iterations > 0
    # All shares were there, so all workers were free.
    assert sorted(delays)[len(delays) // 2] < 0.05


def test_a_stop_may_overtake_its_search(healthy: RayActors) -> None:
    took = []
    for delay in (0.0, 0.0002, 0.0005, 0.001, 0.002):
        for _ in range(10):
            watch = Watch()
            began = time.monotonic()
            if delay:
                with after(delay, watch.stop):
                    found = solve(start(), ENDLESS, workers=2, backend=healthy, watch=watch)
            else:
                watch.stop()
                found = solve(start(), ENDLESS, workers=2, backend=healthy, watch=watch)
            took.append(time.monotonic() - began)
            assert (found.stopped_by, found.missing) == ("stopped", 0)
    # Every one of them came through.
    assert max(took) < 0.05 + BUSY
    # Nothing is left behind.
    assert solve(start(), Budget(iterations=100), workers=2, backend=healthy).iterations == 100
    assert idle(healthy)


def test_an_interrupt_frees_the_workers(healthy: RayActors) -> None:
    def interrupt(_: Sequence[Share]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(start(), ENDLESS, workers=2, backend=healthy, watch=Watch(interrupt, 20))
    assert idle(healthy)


def idle(pool: RayActors) -> bool:
    return are_idle(workers(pool))


# --- faults --------------------------------------------------------------------------------------------------------


def test_a_worker_is_killed_in_the_middle_of_a_search(healthy: RayActors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "LATE_MS", 1000.0)  # other programs may hold the last of the search up
    victim = workers(healthy)[0]
    with after(0.2, lambda: os.kill(victim, signal.SIGKILL)):
        found = solve(start(), Budget(time_ms=1500), workers=2, backend=healthy)
    # Its share was begun again on the other worker.
    assert (found.missing, found.note) == (0, cluster.REPLACED)
    assert sum(move.visits for move in found.moves) == found.iterations > 0
    assert until(lambda: healthy.health.workers == 2 and victim not in workers(healthy), 5) < 5


def test_the_answer_is_in_time_although_a_worker_is_killed(healthy: RayActors) -> None:
    for delay in (0.1, 0.29):
        victim = workers(healthy)[0]
        with after(delay, partial(os.kill, victim, signal.SIGKILL)):
            began = time.monotonic()
            found = solve(start(), Budget(time_ms=300), workers=2, backend=healthy)
            took = time.monotonic() - began
        assert took < 0.3 + cluster.LATE_MS / 1000 + BUSY
        assert found.iterations > 0
        until(lambda: is_whole(healthy), 5 + BUSY)


def test_an_answer_without_a_limit_of_time_is_the_same_although_a_worker_is_killed(healthy: RayActors) -> None:
    job = make_job(start(), Budget(iterations=400_000), seed=2, workers=2)
    victim = workers(healthy)[1]
    with after(0.1, lambda: os.kill(victim, signal.SIGKILL)):
        found = healthy.run(job)
    assert found[0].note == cluster.REPLACED
    assert [replace(share, note="") for share in found] == Serial().run(job)


def test_a_worker_is_stuck_in_the_middle_of_a_search(healthy: RayActors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "LATE_MS", 300.0)  # other programs may hold the other worker up
    job = make_job(start(), Budget(time_ms=1500), workers=2)
    victim = workers(healthy)[0]
    with after(0.8, lambda: os.kill(victim, signal.SIGSTOP)):
        began = time.monotonic()
        shares = healthy.run(job)
        took = time.monotonic() - began
    # Nobody can know it in that time; the answer is what the others found, and what this one had told.
    assert took < 1.5 + cluster.LATE_MS / 1000 + BUSY
    assert [share.missing for share in shares].count(1) == 1
    assert all(share.iterations > 0 for share in shares)
    found = as_analysis(job, merge(shares), time.perf_counter())
    assert (found.missing, found.note, found.reproducible) == (1, cluster.MISSING, False)
    assert sum(move.visits for move in found.moves) == found.iterations
    assert until(lambda: victim not in workers(healthy) and len(workers(healthy)) == 2, 6) < 5


def test_all_workers_are_stuck(healthy: RayActors) -> None:
    victims = workers(healthy)
    for victim in victims:
        os.kill(victim, signal.SIGSTOP)
    began = time.monotonic()
    found = solve(start(), Budget(time_ms=200), workers=2, backend=healthy)
    assert time.monotonic() - began < 0.35 + BUSY
    assert (found.missing, found.note) == (1, cluster.HERE)
    assert found.iterations > 0
    until(lambda: not set(victims) & set(workers(healthy)), 8)


def test_a_search_that_kills_its_workers_is_given_up(healthy: RayActors) -> None:
    ended = threading.Event()
    killed: set[int] = set()

    def kill_whoever_searches() -> None:
        while not ended.is_set() and len(killed) < cluster.KILLS_MAX:
            if busy := busiest(workers(healthy)):
                killed.add(busy)
                os.kill(busy, signal.SIGKILL)

    killer = threading.Thread(target=kill_whoever_searches)
    job = make_job(start(), ENDLESS, workers=1)
    killer.start()
    try:
        with pytest.raises(SearchLostError, match="2 workers"):
            healthy.run(job)
    finally:
        ended.set()
        killer.join()


def test_the_driver_is_killed_in_the_middle_of_a_search_and_a_batch(healthy: RayActors) -> None:
    """An answer without a limit of time is the same, one with a limit is in time, a batch has all of its answers; and
    the workers end, though nobody is left who could tell them to."""
    job = make_job(start(), Budget(iterations=400_000), seed=2, workers=2)
    killed, orphans = driver(healthy), workers(healthy)
    stream = analyze_many(jobs(100, 2000), healthy)
    answers = [next(stream) for _ in range(20)]
    with after(0.1, partial(os.kill, killed, signal.SIGKILL)):
        found = healthy.run(job)
    assert found[0].note == cluster.HERE
    assert [replace(share, note="") for share in found] == Serial().run(job)
    began = time.monotonic()
    assert solve(start(), Budget(time_ms=200), workers=2, backend=healthy).iterations > 0
    assert time.monotonic() - began < 0.4 + BUSY
    assert [*answers, *stream] == expected(100, 2000)
    until(lambda: max(map(cpu_ticks, orphans)) < 0, 10)
    until(lambda: healthy.health.state == "ready", 30)
    assert driver(healthy) != killed


# --- many positions ------------------------------------------------------------------------------------------------


def jobs(n: int, iterations: int = 20) -> Iterator[Job]:
    seen = [new_game("oriflamme", "en-2019", 4).deal(seed) for seed in range(5)]
    views = [position.view(position.to_act or 0) for position in seen]
    return (make_job(views[i % 5], Budget(iterations=iterations), seed=i, workers=1 + i % 2) for i in range(n))


def expected(n: int, iterations: int = 20) -> list[Answer]:
    return [Answer(i, answer(job)) for i, job in enumerate(jobs(n, iterations))]


def test_a_batch_has_the_answers_of_its_jobs(pool: RayActors) -> None:
    assert list(analyze_many(jobs(200), pool)) == expected(200)
    found = analyze_many(jobs(200), pool, in_order=False)
    assert sorted(found, key=lambda one: one.number) == expected(200)


def test_a_worker_is_killed_in_the_middle_of_a_batch(healthy: RayActors) -> None:
    victim = workers(healthy)[0]
    stream = analyze_many(jobs(100, 2000), healthy)
    found = [next(stream) for _ in range(20)]
    os.kill(victim, signal.SIGKILL)
    found += stream
    assert found == expected(100, 2000)


def test_closing_a_batch_frees_the_workers(healthy: RayActors) -> None:
    job = make_job(start(), ENDLESS)
    stream = analyze_many([next(jobs(1)), *[job] * 20], healthy)
    next(stream)
    stream.close()
    assert idle(healthy)


# --- the process that drives Ray -----------------------------------------------------------------------------------


def test_ray_changes_nothing_in_this_process(pool: RayActors) -> None:
    """`ray.init` takes SIGTERM from whoever calls it, and Ray ends a driver that lost its head: not this process."""
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == HANDLERS
    assert pool.health.state == "ready"


def test_what_its_driver_is_told(pool: RayActors) -> None:
    told = dict(
        entry.split("=", 1) for entry in Path(f"/proc/{driver(pool)}/environ").read_text().split("\0") if "=" in entry
    )
    assert told["RAY_AUTH_MODE"] == os.environ.get("RAY_AUTH_MODE", "token")
    assert told["RAY_USAGE_STATS_ENABLED"] == "0"
    assert told["RAY_ENABLE_AUTO_CONNECT"] == "0"
    assert told["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] == "0"
    assert "RAY_ADDRESS" not in told
    # A store of the size of /dev/shm would not fit into a container.
    raylet = next(name for name in children(driver(pool)).values() if "/raylet" in name.split()[0])
    assert f"--object_store_memory={80 * 2**20}" in raylet.split()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", 8265), 1)


def test_nothing_is_left_when_this_process_is_killed() -> None:
    code = (
        "import time\n"
        "from solver.backends.cluster import RayActors\n"
        "pool = RayActors(1)\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    below = children(process.pid)
    assert len(below) > 4
    process.kill()
    process.communicate()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below), 15)


# --- addresses, and what is imported -------------------------------------------------------------------------------


@contextmanager
def listening(answer: bytes) -> Iterator[str]:
    """A server that says the same to everybody."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(answer)
                    time.sleep(1)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def refused(address: str) -> str:
    began = time.monotonic()
    with pytest.raises(RayUnavailableError) as raised:
        RayActors(2, address=address)
    assert time.monotonic() - began < 2
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    "address", ["6379", "localhost", "ray://10.0.0.1:10001", "http://a:8265", "a:0", "a:99999", ":1"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    assert repr(address) in refused(address)


def test_an_address_where_nobody_is_fails_at_once() -> None:
    assert "refused" in refused("127.0.0.1:9")
    assert "no-such-host.invalid:6379" in refused("no-such-host.invalid:6379")
    assert "192.0.2.254:6379" in refused("192.0.2.254:6379")


def test_an_address_of_something_else_fails_at_once() -> None:
    with listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        assert "is not a Ray head" in refused(address)
    with listening(b"") as address:
        assert "says nothing" in refused(address)


def test_a_server_need_not_wait_for_ray() -> None:
    with RayActors(2, address="127.0.0.1:9", wait=False) as pool:
        found = solve(start(), Budget(iterations=1000), seed=2, workers=2, backend=pool)
        until(lambda: pool.health.state == "lost", 2)
        assert "127.0.0.1:9" in pool.health.note
    assert found.note == cluster.HERE
    assert found.moves == solve(start(), Budget(iterations=1000), seed=2, workers=2).moves
    assert pool.health.state == "closed"


def test_a_batch_goes_on_without_ray() -> None:
    with RayActors(2, address="127.0.0.1:9", wait=False) as pool:
        assert list(analyze_many(jobs(30), pool)) == expected(30)
        stream = analyze_many([next(jobs(1)), *[make_job(start(), ENDLESS)] * 5], pool)
        next(stream)
        began = time.monotonic()
        stream.close()
    assert time.monotonic() - began < 2


def test_ray_is_imported_only_by_its_driver() -> None:
    code = (
        "import sys, solver, solver.batch, solver.backends.cluster as c\n"
        "assert 'ray' not in sys.modules, 'imported at once'\n"
        "pool = c.RayActors(1, address='127.0.0.1:9', wait=False)\n"
        "pool.close()\n"
        "assert 'ray' not in sys.modules, 'imported when chosen'\n"
        "import solver.backends.ray_actors\n"
        "assert 'ray' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
