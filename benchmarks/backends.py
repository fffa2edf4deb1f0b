"""Measure the pools: Ray's workers against threads, the cost of dispatch, and batches with Ray and without.

Everything runs on one new cluster on this machine with `WORKERS` workers. The bare round trip is a call from this
process to an actor on the same cluster that does nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, islice, repeat
from pathlib import Path
from statistics import median
from threading import Timer
from typing import Any, NamedTuple

from benchmarks import report
from benchmarks.measure import Figure, figure, load
from benchmarks.report import Goal, Measured, Result
from engine_cy import View, new_game
from solver import Budget, ComparisonQuestion, Control, SearchQuestion, solve
from solver.pool.base import Pool, answer_many, compute_here
from solver.pool.ray_pool import RayPool
from solver.pool.threads import Threads

GAME = ("oriflamme", "en-2019", 4)
WORKERS = 2
COMPARED = 8  # moves
TURN = 20  # calls of one side before the turn of the other
ROOT = Path(__file__).parents[1]

GOALS = {
    "ray_vs_threads": Goal(0.93, 0.97),
    "dispatch_vs_round_trip": Goal(3, 2),
    "kill_delay_ms": Goal(50, 20),
    "compare_speedup": Goal(1.8, 1.95),
    "batch_vs_processes": Goal(0.85, 0.95),
    "batch_growth_mib": Goal(20, 5),
}
MEANINGS = {
    "ray_vs_threads": f"iterations of a search of 1 s on {WORKERS} Ray workers against {WORKERS} threads",
    "dispatch_vs_round_trip": f"a search of one iteration on each of {WORKERS} workers, from the question to its "
    "answer, against one bare round trip to an actor",
    "kill_delay_ms": "overrun in ms of an answer when one of two workers is killed in the middle of the search",
    "compare_speedup": f"a Compare of {COMPARED} moves x 20,000 iterations on {WORKERS} Ray workers against 1",
    "batch_vs_processes": "positions/s of a batch of 1 ms each against one process per core that solves them in a loop",
    "batch_growth_mib": "growth of this process over a batch, in MiB",
}


class Scale(NamedTuple):
    """Number and duration of the measurements."""

    rounds: int = 7
    search_s: float = 1.0
    calls: int = 300
    kills: int = 7
    compare: int = 20_000
    batch: int = 5_000
    batch_rounds: int = 5
    long_batch: int = 100_000
    warm_up: int = 5_000


FULL = Scale()
QUICK = Scale(
    rounds=1, search_s=0.05, calls=5, kills=1, compare=50, batch=40, batch_rounds=1, long_batch=200, warm_up=50
)


def run(scale: Scale = FULL) -> Result:
    """Measure all figures."""
    before = load()
    figures: dict[str, Figure] = {}
    raw: dict[str, Any] = {}
    with one_cluster() as (pool, round_trip):
        for name, measure in MEASURES.items():
            figures[name], details = measure(pool, round_trip, scale)
            raw.update(details)
    return Result(figures, raw, {}, {"before": before, "after": load()})


def as_text(result: Result) -> str:
    return report.as_text(f"backends: {WORKERS} workers, {os.cpu_count()} cores", GOALS, MEANINGS, result)


@contextmanager
def one_cluster() -> Iterator[tuple[RayPool, Callable[[], None]]]:
    """Yield a pool, and a call to a bare actor on the same cluster, which reserves none of the workers' CPUs."""
    os.environ.update(
        RAY_AUTH_MODE="token",
        RAY_USAGE_STATS_ENABLED="0",
        RAY_ENABLE_AUTO_CONNECT="0",
        RAY_worker_niceness="5",  # as for a cluster that the pool starts
        PYTHONPATH=str(ROOT),
    )
    import ray

    quiet: dict[str, Any] = {"logging_level": 50, "log_to_driver": False, "include_dashboard": False}
    context: Any = ray.init(address="local", num_cpus=WORKERS, object_store_memory=80 * 2**20, **quiet)
    echo: Any = ray.remote(num_cpus=0)(_Echo).remote()
    try:
        with RayPool(WORKERS, address=context.address_info["address"]) as pool:
            while pool.health.workers < WORKERS:
                time.sleep(0.1)
            yield pool, lambda: ray.get(echo.call.remote())
    finally:
        ray.shutdown()


class _Echo:
    def call(self) -> None:
        pass


def start(seed: int = 3) -> View:
    position = new_game(*GAME).deal(seed)
    return position.view(position.to_act or 0)


def with_choice() -> View:
    """Return a view with enough moves to compare."""
    position = new_game(*GAME).deal(3)
    while len(position.legal_actions()) < COMPARED:
        position = position.play(position.legal_actions()[0])
    return position.view(position.to_act or 0)


# --- the figures ----------------------------------------------------------------------------------------------


def measure_ray_vs_threads(pool: RayPool, _: Callable[[], None], scale: Scale) -> Measured:
    budget, threads = Budget(time_ms=scale.search_s * 1000), Threads()
    ratios, done = [], []
    for i in range(scale.rounds):
        sides: list[Pool] = [pool, threads] if i % 2 else [threads, pool]
        iterations = {side: solve(start(), budget, seed=i, shares=WORKERS, pool=side).iterations for side in sides}
        ratios.append(iterations[pool] / iterations[threads])
        done.append(iterations[pool])
    return figure(ratios), {"ray_iterations_per_s": round(median(done) / scale.search_s)}


def measure_dispatch(pool: RayPool, round_trip: Callable[[], None], scale: Scale) -> Measured:
    question = SearchQuestion(start(), Budget(iterations=WORKERS), shares=WORKERS)
    ours: list[float] = []
    bare: list[float] = []
    ratios, best = [], []
    for _ in range(scale.rounds):
        mine, other = [], []
        # Turns are short, so that other programs affect both sides alike.
        for _ in range(max(scale.calls // TURN, 1)):
            mine += _microseconds(lambda: pool.compute(question, Control()), min(TURN, scale.calls))
            other += _microseconds(round_trip, min(TURN, scale.calls))
        ratios.append(median(mine) / median(other))
        best.append(min(mine) / min(other))
        ours += mine
        bare += other
    raw = {
        "dispatch_us": {"median": round(median(ours)), "least": round(min(ours))},
        "round_trip_us": {"median": round(median(bare)), "least": round(min(bare))},
        "dispatch_vs_round_trip_of_the_least": round(median(best), 2),
    }
    return figure(ratios), raw


def _microseconds(call: Callable[[], object], times: int) -> list[float]:
    taken = []
    for _ in range(times):
        start_time = time.perf_counter()
        call()
        taken.append((time.perf_counter() - start_time) * 1e6)
    return taken


def measure_kill(pool: RayPool, _: Callable[[], None], scale: Scale) -> Measured:
    """Kill a worker in each search; measure the worst overrun, and the time until a new worker has replaced it."""
    delays, missing, back = [], 0, []
    for i in range(scale.kills):
        victims = _workers()
        timer = Timer(0.25, os.kill, (victims[i % len(victims)], signal.SIGKILL))
        timer.start()
        start_time = time.perf_counter()
        answer = solve(start(), Budget(time_ms=500), seed=i, shares=WORKERS, pool=pool)
        delays.append((time.perf_counter() - start_time - 0.5) * 1000)
        timer.join()
        missing += answer.missing
        start_time = time.perf_counter()
        while len(set(_workers()) - set(victims)) < 1 or pool.health.workers < WORKERS:
            time.sleep(0.01)
        back.append(time.perf_counter() - start_time)
        time.sleep(0.5)
    raw = {
        "kill_delays_ms": [round(delay, 1) for delay in delays],
        "kill_shares_missing": missing,
        "capacity_back_s": round(max(back), 2),
    }
    return Figure(max(delays), figure(delays).spread), raw


def _workers() -> list[int]:
    """Return the workers of this process's own node: another program may use Ray, too."""
    listed = subprocess.check_output(["ps", "-e", "-ww", "-o", "pid=,ppid=,args="], text=True)
    rows = [line.split(None, 2) for line in listed.splitlines()]
    ours = {pid for pid, parent, _ in rows if int(parent) == os.getpid()}
    return [int(pid) for pid, parent, name in rows if parent in ours and name.startswith("ray::Worker")]


def measure_compare(pool: RayPool, _: Callable[[], None], scale: Scale) -> Measured:
    """Alternate the same question between one worker and all of them."""
    view = with_choice()
    moves = view.legal_actions()[:COMPARED]
    ratios, taken = [], []
    for i in range(scale.rounds):
        question = ComparisonQuestion(view, moves, Budget(iterations=scale.compare), seed=i)
        seconds = {}
        for width in (1, WORKERS) if i % 2 else (WORKERS, 1):
            start_time = time.perf_counter()
            comparison = pool.submit(question, Control(), width=width).result()
            seconds[width] = time.perf_counter() - start_time
            assert (comparison.worlds, comparison.note) == (scale.compare, "")
        ratios.append(seconds[1] / seconds[WORKERS])
        taken.append(seconds[WORKERS])
    return figure(ratios), {"compare_s": round(median(taken), 2)}


def measure_batch(pool: RayPool, _: Callable[[], None], scale: Scale) -> Measured:
    ratios, ours = [], []
    processes = [_Loop() for _ in range(WORKERS)]
    try:
        for i in range(scale.batch_rounds):
            sides = [_ray_rate, _loop_rate] if i % 2 else [_loop_rate, _ray_rate]
            rates = {side: side(pool, processes, scale.batch) for side in sides}
            ratios.append(rates[_ray_rate] / rates[_loop_rate])
            ours.append(rates[_ray_rate])
    finally:
        for process in processes:
            process.close()
    return figure(ratios), {"ray_positions_per_s": round(median(ours))}


def _ray_rate(pool: RayPool, _: list[_Loop], n: int) -> float:
    start_time = time.perf_counter()
    assert sum(outcome.error is None for outcome in answer_many(one_ms_questions(0, n), pool)) == n
    return n / (time.perf_counter() - start_time)


def _loop_rate(_: RayPool, processes: list[_Loop], n: int) -> float:
    start_time = time.perf_counter()
    for number, process in enumerate(processes):
        process.begin(number, n // len(processes))
    for process in processes:
        process.wait()
    return n // len(processes) * len(processes) / (time.perf_counter() - start_time)


def one_ms_questions(first: int, n: int) -> Iterator[SearchQuestion]:
    """Yield questions that take 1 ms each on any machine."""
    views = [start(seed) for seed in range(20)]
    questions = (SearchQuestion(views[i % 20], Budget(time_ms=1.0), seed=i) for i in count(first))
    return islice(questions, n)


class _Loop:
    """A process that makes questions and answers them one by one, without communication."""

    def __init__(self) -> None:
        code = "from benchmarks.backends import loop; loop()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.wait()

    def begin(self, first: int, n: int) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{first} {n}\n")

    def wait(self) -> None:
        assert self._process.stdout
        self._process.stdout.readline()

    def close(self) -> None:
        self._process.communicate()


def loop() -> None:
    """Run the loop of a `_Loop`."""
    print("ready", flush=True)
    for line in sys.stdin:
        first, n = map(int, line.split())
        for question in one_ms_questions(first, n):
            compute_here(question)
        print("done", flush=True)


def measure_growth(pool: RayPool, _round_trip: Callable[[], None], scale: Scale) -> Measured:
    """Measure the growth of memory per position, with questions of one iteration."""
    question = SearchQuestion(start(), Budget(iterations=1), lines=0)
    stream = answer_many(repeat(question, scale.warm_up + scale.long_batch), pool)
    for _ in islice(stream, scale.warm_up):
        pass
    before, start_time = _rss_mib(), time.perf_counter()
    assert sum(outcome.error is None for outcome in stream) == scale.long_batch
    rate = scale.long_batch / (time.perf_counter() - start_time)
    return Figure(_rss_mib() - before, 0.0), {"tiny_positions_per_s": round(rate), "rss_mib": round(_rss_mib(), 1)}


def _rss_mib() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


MEASURES: dict[str, Callable[[RayPool, Callable[[], None], Scale], Measured]] = {
    "ray_vs_threads": measure_ray_vs_threads,
    "dispatch_vs_round_trip": measure_dispatch,
    "kill_delay_ms": measure_kill,
    "compare_speedup": measure_compare,
    "batch_vs_processes": measure_batch,
    "batch_growth_mib": measure_growth,
}
