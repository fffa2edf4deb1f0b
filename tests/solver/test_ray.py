"""Questions on Ray's workers: the answers of one thread, deadlines, lost workers, and the driver process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ray_processes import are_idle, busiest, children, cpu_ticks, wait_for_busiest, workers_below
from searches import expected_answers, noteless, opening_view, searches, timeless, timeless_answers
from tables import random_game
from waiting import HANG_S, wait_until

from engine_cy import Position, View, new_game
from engine_cy.action_log import History
from solver import (
    Answer,
    Budget,
    ComparisonQuestion,
    Control,
    InformationQuestion,
    InvalidQuestionError,
    Question,
    SearchQuestion,
    solve,
)
from solver.beliefs import own_spots
from solver.pool import ray_search
from solver.pool.base import SearchLostError, WorkerLostError, answer_many, compute_here
from solver.pool.job_bytes import JobBytesError
from solver.pool.ray_pool import RayPool, RayUnavailableError

ROOT = Path(__file__).parents[2]
GAMES = [("oriflamme", "en-2019", 4), ("oriflamme_prototype", None, 3), ("castle_village_port", None, 3)]
HANDLERS = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
ENDLESS = Budget(iterations=10**11)
OPENING = opening_view()


POISON = 666
POISON_PATCH = f"""
import os, signal
import solver.pool.job_bytes as job_bytes
decode_job = job_bytes.decode_job
def deadly(message):
    question = decode_job(message)
    if question.seed == {POISON}:
        os.kill(os.getpid(), signal.SIGKILL)
    return question
job_bytes.decode_job = deadly
"""


@pytest.fixture(scope="module")
def poison(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let searches with the seed POISON kill the workers of pools that start from now on."""
    folder = tmp_path_factory.mktemp("poison")
    (folder / "sitecustomize.py").write_text(POISON_PATCH)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        yield


@pytest.fixture(scope="module")
def pool() -> Iterator[RayPool]:
    with RayPool(2) as started:
        yield started


@pytest.fixture
def healthy(pool: RayPool) -> Iterator[RayPool]:
    """Return the pool with both workers, and wait for both after the test."""
    wait_until(lambda: is_whole(pool))
    yield pool
    wait_until(lambda: is_whole(pool))


@pytest.fixture(scope="module")
def small_pool(poison: None) -> Iterator[RayPool]:
    """Return a pool with one worker."""
    with RayPool(1) as started:
        yield started


def driver_pid(pool: RayPool) -> int:
    assert pool._process
    return pool._process.pid


def worker_pids(pool: RayPool) -> list[int]:
    return workers_below(driver_pid(pool))


def is_whole(pool: RayPool, n_workers: int = 2) -> bool:
    """Return whether the pool has all workers; on a busy machine its health is late, so processes count too."""
    return pool.health == ("ready", n_workers, "") and len(worker_pids(pool)) == n_workers


@contextmanager
def call_after(seconds: float, function: Callable[[], object]) -> Iterator[None]:
    """Call a function on another thread after a time."""
    timer = threading.Timer(seconds, function)
    timer.start()
    yield
    timer.join()


# --- answers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: spec[0])
def test_a_search_has_the_answer_of_one_thread(pool: RayPool, spec: tuple[str, str | None, int]) -> None:
    game = new_game(*spec)
    history = History(game)
    n_questions = 0
    for number, (position, action) in enumerate(random_game(game, 2)):
        mover = position.to_act
        if number % 6 == 0 and mover is not None and mover >= 0 and len(position.legal_actions()) > 1:
            for shares in (1, 2, 5):
                question = SearchQuestion(
                    position.view(mover),
                    Budget(iterations=301),
                    seed=number,
                    shares=shares,
                    models={(mover + 1) % game.n_players: "noisy"},
                    history=history,
                    lines=2,
                )
                assert_equal_everywhere(pool, question)
                n_questions += 1
        if action is not None:
            history.add(position, action)
    assert n_questions >= 6


def assert_equal_everywhere(pool: RayPool, question: Question) -> None:
    """Check the answer with shares spread over workers, and as a whole on one worker."""
    expected = timeless(compute_here(question))
    spread_answer, whole_answer = pool.submit(question, Control()), pool.submit(question)
    assert timeless(spread_answer.result()) == expected
    assert timeless(whole_answer.result()) == expected


@pytest.mark.parametrize("shares", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_a_comparison_has_the_answer_of_one_thread(pool: RayPool, shares: int, confidence: float | None) -> None:
    budget = Budget(iterations=1100, confidence=confidence)
    moves = OPENING.legal_actions()[:3]
    assert_equal_everywhere(pool, ComparisonQuestion(OPENING, moves, budget, shares=shares, seed=5))


@pytest.mark.parametrize("shares", [1, 5])
def test_information_has_the_answer_of_one_thread(pool: RayPool, shares: int) -> None:
    question = InformationQuestion(with_secrets(), Budget(iterations=300), seed=5, shares=shares)
    assert question.n_parts > 2
    assert len(compute_here(question)) == question.n_parts // 2
    assert_equal_everywhere(pool, question)


def with_secrets() -> View:
    """Return a view whose observer has at least two cards face down."""
    for position, _ in random_game(new_game("oriflamme", "en-2019", 3), 4):
        mover = position.to_act
        if mover is not None and mover >= 0 and len(own_spots(position.view(mover))) > 1:
            return position.view(mover)
    raise AssertionError("no such view")


@pytest.mark.parametrize("question", ["forced", "greedy", "nothing hidden"])
def test_a_question_without_a_search_is_answered(pool: RayPool, question: str) -> None:
    if question == "forced":
        forced = next(p for p, _ in random_game(new_game("oriflamme", "en-2019", 4), 2) if is_forced(p))
        assert_equal_everywhere(pool, SearchQuestion(forced.view(forced.to_act or 0), Budget(iterations=100)))
    elif question == "greedy":
        assert_equal_everywhere(pool, SearchQuestion(OPENING, config="greedy"))
    else:
        empty = InformationQuestion(OPENING, Budget(iterations=100))
        assert empty.n_parts == 0
        assert_equal_everywhere(pool, empty)


def is_forced(position: Position) -> bool:
    mover = position.to_act
    return mover is not None and mover >= 0 and position.view(mover).forced_action is not None


@pytest.mark.slow
def test_a_comparison_is_spread_over_both_workers(healthy: RayPool) -> None:
    before = {pid: cpu_ticks(pid) for pid in worker_pids(healthy)}
    budget = Budget(iterations=100_000, memory_mb=400)
    question = ComparisonQuestion(OPENING, OPENING.legal_actions()[:4], budget, shares=2)
    comparison = healthy.submit(question, Control()).result()
    assert (comparison.stopped_by, comparison.missing) == ("iterations", 0)
    assert all(cpu_ticks(pid) - ticks > 15 for pid, ticks in before.items())
    before = {pid: cpu_ticks(pid) for pid in worker_pids(healthy)}
    healthy.submit(question, Control(), width=1).result()
    assert sorted(cpu_ticks(pid) - ticks > 15 for pid, ticks in before.items()) == [False, True]


def test_solve_on_ray_gives_the_answer_of_one_thread(pool: RayPool) -> None:
    for budget in (Budget(iterations=5000), Budget(iterations=60_000, confidence=0.9)):
        expected = compute_here(SearchQuestion(OPENING, budget, seed=3, shares=2))
        answer = solve(OPENING, budget, seed=3, shares=2, pool=pool)
        assert replace(answer, elapsed_ms=0.0) == replace(expected, elapsed_ms=0.0)
        assert (answer.missing, answer.note, answer.reproducible) == (0, "", True)


def test_an_observer_who_is_not_to_act_gets_an_answer(pool: RayPool) -> None:
    view = new_game("oriflamme", "en-2019", 4).deal(3).view(2)
    assert view.to_act != view.observer
    expected = compute_here(SearchQuestion(view, Budget(iterations=1000), seed=3, shares=2))
    answer = solve(view, Budget(iterations=1000), seed=3, shares=2, pool=pool)
    assert answer.best is None
    assert replace(answer, elapsed_ms=0.0) == replace(expected, elapsed_ms=0.0)


def test_concurrent_searches_do_not_mix(pool: RayPool) -> None:
    batch = [SearchQuestion(OPENING, Budget(iterations=2000), seed=seed, shares=2) for seed in range(8)]
    pending = [pool.submit(question, Control()) for question in batch]
    assert [timeless(future.result()) for future in pending] == [timeless(compute_here(question)) for question in batch]


def test_errors_of_workers_are_raised_in_this_process(pool: RayPool) -> None:
    question = SearchQuestion(OPENING, Budget(iterations=100))
    question.config = replace(question.config, nodes="all")  # type: ignore[arg-type]
    for control in (Control(), None):
        with pytest.raises(JobBytesError, match=r"config\.nodes"):
            pool.submit(question, control).result()
    with pytest.raises(InvalidQuestionError):
        solve(OPENING, Budget(iterations=0), pool=pool)


def test_mapped_functions_run_in_this_process_and_may_use_the_pool(pool: RayPool) -> None:
    def answer_with_pid(seed: int) -> tuple[int, Any]:
        return os.getpid(), timeless(pool.submit(SearchQuestion(OPENING, Budget(iterations=50), seed=seed)).result())

    expected = [timeless(compute_here(SearchQuestion(OPENING, Budget(iterations=50), seed=i))) for i in range(30)]
    assert list(pool.map(answer_with_pid, range(30))) == [(os.getpid(), answer) for answer in expected]
    results = pool.map(answer_with_pid, iter(range(10**9)))
    assert next(results) == (os.getpid(), expected[0])


# --- reports and stops ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_reports_arrive_at_the_interval(pool: RayPool) -> None:
    reports: list[Answer] = []
    answer = solve(OPENING, Budget(time_ms=3000), shares=2, pool=pool, control=Control(reports.append, 150))
    counts = [report.iterations for report in reports]
    assert 2 <= len(counts) <= answer.elapsed_ms / 150 + 1
    assert counts == sorted(counts)
    assert counts[-1] <= answer.iterations
    for report in reports:
        assert sum(move.visits for move in report.moves) == report.iterations


def test_a_stop_frees_all_workers(healthy: RayPool) -> None:
    for _ in range(10):
        control = Control(lambda _: control.stop(), 5)  # noqa: B023
        answer = solve(OPENING, ENDLESS, shares=2, pool=healthy, control=control)
        assert (answer.stopped_by, answer.missing) == ("stopped", 0)
        assert answer.iterations > 0
    # No share was missing, so all workers were free.
    wait_until(lambda: idle(healthy))


@pytest.mark.timing
def test_a_stop_frees_all_workers_soon(healthy: RayPool) -> None:
    delays = []
    for _ in range(10):
        control = Control()
        stop_times: list[float] = []

        def stop(stop_times: list[float] = stop_times, control: Control = control) -> None:
            stop_times.append(time.monotonic())
            control.stop()

        with call_after(0.05, stop):
            solve(OPENING, ENDLESS, shares=2, pool=healthy, control=control)
            delays.append(time.monotonic() - stop_times[0])
    assert sorted(delays)[len(delays) // 2] < 0.05


def test_a_stop_may_arrive_before_its_search(healthy: RayPool) -> None:
    for delay in (0.0, 0.0002, 0.0005, 0.001, 0.002):
        for _ in range(10):
            control = Control()
            if delay:
                with call_after(delay, control.stop):
                    answer = solve(OPENING, ENDLESS, shares=2, pool=healthy, control=control)
            else:
                control.stop()
                answer = solve(OPENING, ENDLESS, shares=2, pool=healthy, control=control)
            assert (answer.stopped_by, answer.missing) == ("stopped", 0)
    # All calls ended, and the workers are free.
    assert solve(OPENING, Budget(iterations=100), shares=2, pool=healthy).iterations == 100
    wait_until(lambda: idle(healthy))


def test_an_interrupt_frees_the_workers(healthy: RayPool) -> None:
    def interrupt(_: Answer) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(OPENING, ENDLESS, shares=2, pool=healthy, control=Control(interrupt, 20))
    wait_until(lambda: idle(healthy))


def idle(pool: RayPool) -> bool:
    return are_idle(worker_pids(pool))


# --- faults --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_search_is_complete_although_a_worker_is_killed(healthy: RayPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_search, "LATE_MS", 60_000.0)  # other programs may delay the end of the search
    pending = healthy.submit(SearchQuestion(OPENING, Budget(time_ms=5000), shares=2), Control())
    victim = wait_for_busiest(worker_pids(healthy))
    os.kill(victim, signal.SIGKILL)
    answer = pending.result()
    # The other worker started its share again.
    assert (answer.missing, answer.note) == (0, ray_search.REPLACED)
    assert sum(move.visits for move in answer.moves) == answer.iterations > 0
    wait_until(lambda: healthy.health.workers == 2 and victim not in worker_pids(healthy))


@pytest.mark.timing
def test_an_answer_with_a_time_limit_is_in_time_although_a_worker_is_killed(healthy: RayPool) -> None:
    for delay in (0.1, 0.29):
        victim = worker_pids(healthy)[0]
        with call_after(delay, partial(os.kill, victim, signal.SIGKILL)):
            start = time.monotonic()
            answer = solve(OPENING, Budget(time_ms=300), shares=2, pool=healthy)
            took = time.monotonic() - start
        assert took < 0.3 + ray_search.LATE_MS / 1000 + 1
        assert answer.iterations > 0
        wait_until(lambda: is_whole(healthy))


@pytest.mark.slow
def test_an_answer_without_a_time_limit_is_the_same_although_a_worker_is_killed(healthy: RayPool) -> None:
    question = SearchQuestion(OPENING, Budget(iterations=400_000), seed=2, shares=2)
    pending = healthy.submit(question, Control())
    os.kill(wait_for_busiest(worker_pids(healthy)), signal.SIGKILL)
    answer = pending.result()
    assert answer.note == ray_search.REPLACED
    assert noteless(answer) == timeless(compute_here(question))


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [None, 0.999_999])
def test_a_comparison_is_the_same_although_a_worker_is_killed(healthy: RayPool, confidence: float | None) -> None:
    budget = Budget(iterations=60_000, confidence=confidence, memory_mb=400)
    question = ComparisonQuestion(OPENING, OPENING.legal_actions()[:4], budget, seed=2, shares=2)
    pending = healthy.submit(question, Control())
    os.kill(wait_for_busiest(worker_pids(healthy)), signal.SIGKILL)
    comparison = pending.result()
    assert (comparison.note, comparison.missing) == (ray_search.REPLACED, 0)
    assert noteless(comparison) == timeless(compute_here(question))


@pytest.mark.slow
def test_a_comparison_has_the_results_of_a_stuck_worker(healthy: RayPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_search, "LATE_MS", 1500.0)  # other programs may delay the other worker
    question = ComparisonQuestion(OPENING, OPENING.legal_actions()[:4], Budget(time_ms=3000))
    pending = healthy.submit(question, Control())
    victim = wait_for_busiest(worker_pids(healthy))
    time.sleep(1.5)  # in which the worker records results
    os.kill(victim, signal.SIGSTOP)
    comparison = pending.result()
    assert (comparison.missing, comparison.note, comparison.reproducible) == (2, ray_search.MISSING, False)
    assert comparison.worlds > 0
    assert all(move.win_difference is not None for move in comparison.moves)
    wait_until(lambda: victim not in worker_pids(healthy))


@pytest.mark.slow
def test_a_search_has_the_results_of_a_stuck_worker(healthy: RayPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_search, "LATE_MS", 1500.0)  # other programs may delay the other worker
    pending = healthy.submit(SearchQuestion(OPENING, Budget(time_ms=3000), shares=2), Control())
    victim = wait_for_busiest(worker_pids(healthy))
    time.sleep(1.5)  # in which the worker records results
    os.kill(victim, signal.SIGSTOP)
    answer = pending.result()
    # The loss is noticed only at the deadline: the answer has the other share and the recorded results of this one.
    assert all(answer.share_iterations)
    assert (answer.missing, answer.note, answer.reproducible) == (1, ray_search.MISSING, False)
    assert sum(move.visits for move in answer.moves) == answer.iterations
    wait_until(lambda: victim not in worker_pids(healthy) and len(worker_pids(healthy)) == 2)


@pytest.mark.slow
def test_a_search_runs_in_this_process_if_all_workers_are_stuck(healthy: RayPool) -> None:
    victims = worker_pids(healthy)
    for victim in victims:
        os.kill(victim, signal.SIGSTOP)
    answer = solve(OPENING, Budget(time_ms=200), shares=2, pool=healthy)
    assert (answer.missing, answer.note) == (1, ray_search.HERE)
    assert answer.iterations > 0
    wait_until(lambda: not set(victims) & set(worker_pids(healthy)))


@pytest.mark.slow
@pytest.mark.parametrize("shares", [1, 2])
def test_losing_the_only_worker_loses_no_answer(small_pool: RayPool, shares: int) -> None:
    """The search itself may have killed the worker, so it goes on in a separate process."""
    for delay in (0.06, 0.3, 0.595):
        wait_until(lambda: is_whole(small_pool, 1))
        victim = worker_pids(small_pool)[0]
        with call_after(delay, partial(os.kill, victim, signal.SIGKILL)):
            answer = small_pool.submit(SearchQuestion(OPENING, Budget(time_ms=600), shares=shares), Control()).result()
        assert answer.iterations > 0
    check_kill(small_pool, SearchQuestion(OPENING, Budget(iterations=100_000), seed=2, shares=shares))


@pytest.mark.slow
def test_losing_the_only_worker_does_not_end_a_comparison_or_information(small_pool: RayPool) -> None:
    moves = OPENING.legal_actions()[:4]
    check_kill(small_pool, ComparisonQuestion(OPENING, moves, Budget(iterations=50_000), shares=2))
    check_kill(small_pool, InformationQuestion(with_secrets(), Budget(iterations=20_000)))


def check_kill(pool: RayPool, question: Question) -> None:
    """Kill the only worker while it computes; check that the answer is still that of one thread."""
    wait_until(lambda: is_whole(pool, 1))
    pending = pool.submit(question, Control())
    os.kill(wait_for_busiest(worker_pids(pool)), signal.SIGKILL)
    assert noteless(pending.result()) == timeless(compute_here(question))


@pytest.mark.slow
def test_a_search_that_kills_the_only_worker_is_given_up(small_pool: RayPool) -> None:
    for budget in (Budget(iterations=20), Budget(time_ms=100), Budget(time_ms=1000)):
        wait_until(lambda: is_whole(small_pool, 1))
        poison = small_pool.submit(SearchQuestion(OPENING, budget, seed=POISON), Control())
        with pytest.raises(SearchLostError, match="2 workers"):
            poison.result()
    harmless = SearchQuestion(OPENING, Budget(iterations=20), seed=1)
    assert small_pool.submit(harmless, Control()).result().iterations == 20


@pytest.mark.slow
def test_a_search_that_kills_its_workers_is_given_up(healthy: RayPool) -> None:
    ended = threading.Event()
    killed_pids: set[int] = set()

    def kill_busy_workers() -> None:
        while not ended.is_set() and len(killed_pids) < ray_search.KILLS_MAX:
            if busy := busiest(worker_pids(healthy)):
                killed_pids.add(busy)
                os.kill(busy, signal.SIGKILL)

    killer = threading.Thread(target=kill_busy_workers)
    question = SearchQuestion(OPENING, ENDLESS)
    killer.start()
    try:
        with pytest.raises(SearchLostError, match="2 workers"):
            healthy.submit(question, Control()).result()
    finally:
        ended.set()
        killer.join()


@pytest.mark.slow
def test_killing_the_driver_loses_no_answer_of_a_search_or_a_batch(healthy: RayPool) -> None:
    """An answer without a time limit is the same, and one with a limit is in time. The orphaned workers exit."""
    question = SearchQuestion(OPENING, Budget(iterations=400_000), seed=2, shares=2)
    old_driver, orphans = driver_pid(healthy), worker_pids(healthy)
    stream = answer_many(searches(100, 2000), healthy)
    answers = [next(stream) for _ in range(20)]
    with call_after(0.1, partial(os.kill, old_driver, signal.SIGKILL)):
        answer = healthy.submit(question, Control()).result()
    assert answer.note == ray_search.HERE
    assert noteless(answer) == timeless(compute_here(question))
    assert solve(OPENING, Budget(time_ms=200), shares=2, pool=healthy).iterations > 0
    assert timeless_answers([*answers, *stream]) == expected_answers(searches(100, 2000))
    wait_until(lambda: max(map(cpu_ticks, orphans)) < 0)
    wait_until(lambda: healthy.health.state == "ready")
    assert driver_pid(healthy) != old_driver


# --- batches -------------------------------------------------------------------------------------------------------


def test_a_batch_has_the_answers_of_its_questions(pool: RayPool) -> None:
    expected = expected_answers(searches(200))
    assert timeless_answers(answer_many(searches(200), pool)) == expected
    unordered = timeless_answers(answer_many(searches(200), pool, in_order=False))
    assert sorted(unordered, key=lambda item: item.number) == expected


def test_a_batch_is_complete_although_a_worker_is_killed(healthy: RayPool) -> None:
    victim = worker_pids(healthy)[0]
    stream = answer_many(searches(100, 2000), healthy)
    answers = [next(stream) for _ in range(20)]
    os.kill(victim, signal.SIGKILL)
    answers += stream
    assert timeless_answers(answers) == expected_answers(searches(100, 2000))


def test_closing_a_batch_frees_the_workers(healthy: RayPool) -> None:
    stream = answer_many([next(searches(1)), *[SearchQuestion(OPENING, ENDLESS)] * 20], healthy)
    next(stream)
    stream.close()
    wait_until(lambda: idle(healthy))


def test_a_question_without_a_control_can_be_cancelled(healthy: RayPool) -> None:
    pending = [healthy.submit(SearchQuestion(OPENING, ENDLESS, seed=i)) for i in range(12)]
    last = healthy.submit(next(searches(1)))
    wait_for_busiest(worker_pids(healthy))
    for future in pending:
        future.cancel()
    answers = [future.result(HANG_S) for future in pending]
    assert {answer.stopped_by for answer in answers} == {"stopped"}
    assert any(answer.iterations for answer in answers)  # some had started
    assert timeless(last.result(HANG_S)) == timeless(compute_here(next(searches(1))))
    wait_until(lambda: idle(healthy))


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2])
def test_in_a_batch_only_the_deadly_questions_get_an_error(poison: None, n_workers: int) -> None:
    """Other questions share chunks and workers with the ones that kill every worker."""
    many = list(searches(80))
    many[30:30] = many[60:60] = [SearchQuestion(OPENING, Budget(iterations=20), seed=POISON)]
    with RayPool(n_workers) as pool:
        answers = timeless_answers(answer_many(many, pool))
    failed = [item.number for item in answers if item.error]
    assert failed == [i for i, question in enumerate(many) if question.seed == POISON]
    assert len(failed) == 2
    assert all(isinstance(answers[number].error, WorkerLostError) for number in failed)
    for item, question in zip(answers, many, strict=True):
        assert item.error or item.answer == timeless(compute_here(question))


# --- the driver process --------------------------------------------------------------------------------------------


def test_ray_does_not_change_the_signal_handlers_of_this_process(pool: RayPool) -> None:
    """`ray.init` replaces the handler of SIGTERM, and Ray kills a driver that lost its head; neither happens here."""
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == HANDLERS
    assert pool.health.state == "ready"


def test_the_driver_has_a_safe_environment_and_private_files(pool: RayPool) -> None:
    entries = Path(f"/proc/{driver_pid(pool)}/environ").read_text().split("\0")
    environment = dict(entry.split("=", 1) for entry in entries if "=" in entry)
    assert environment["RAY_AUTH_MODE"] == os.environ.get("RAY_AUTH_MODE", "token")
    assert environment["RAY_USAGE_STATS_ENABLED"] == "0"
    assert environment["RAY_ENABLE_AUTO_CONNECT"] == "0"
    assert environment["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] == "0"
    assert "RAY_ADDRESS" not in environment
    # Other users of this machine cannot read the token or Ray's files.
    assert len(environment["RAY_AUTH_TOKEN"]) == 64
    assert environment["RAY_AUTH_TOKEN"] != os.environ.get("RAY_AUTH_TOKEN")
    folder = ray_folder(driver_pid(pool))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.glob("ray/session_*/sockets/*"))
    # An object store as large as /dev/shm would not fit into a container.
    raylet = next(name for name in children(driver_pid(pool)).values() if "/raylet" in name.split()[0])
    assert f"--object_store_memory={80 * 2**20}" in raylet.split()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", 8265), 1)


@pytest.mark.slow
def test_no_process_and_no_file_is_left_when_this_process_is_killed() -> None:
    code = (
        "import time\n"
        "from solver.pool.ray_pool import RayPool\n"
        "pool = RayPool(1)\n"
        "print('ready', flush=True)\n"
        "time.sleep(3600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    below = children(process.pid)
    assert len(below) > 4
    folder = next(ray_folder(pid) for pid, command in below.items() if "ray_driver" in command)
    assert folder.is_dir()
    process.kill()
    process.communicate()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below))
    wait_until(lambda: not folder.exists())


@pytest.mark.slow
def test_rays_files_are_removed_when_its_driver_ends() -> None:
    with RayPool(1) as pool:
        folder = ray_folder(driver_pid(pool))
        os.kill(driver_pid(pool), signal.SIGKILL)
        wait_until(lambda: not folder.exists())
        wait_until(lambda: pool.health.state == "ready")
        another = ray_folder(driver_pid(pool))
        assert another.is_dir()
    assert not another.exists()


def ray_folder(pid: int) -> Path:
    """Return the folder of a driver's files."""
    return Path(Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")[-1])


# --- addresses and imports -----------------------------------------------------------------------------------------


@contextmanager
def listening_server(answer: bytes) -> Iterator[str]:
    """Run a server that sends the same bytes on every connection; yield its address."""
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


def refusal_of(address: str) -> str:
    with pytest.raises(RayUnavailableError) as raised:
        RayPool(2, address=address)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    "address", ["6379", "localhost", "ray://10.0.0.1:10001", "http://a:8265", "a:0", "a:99999", ":1"]
)
def test_invalid_addresses_are_refused(address: str) -> None:
    assert repr(address) in refusal_of(address)


def test_an_address_without_a_server_is_refused() -> None:
    assert "refused" in refusal_of("127.0.0.1:9")
    assert "no-such-host.invalid:6379" in refusal_of("no-such-host.invalid:6379")
    assert "192.0.2.254:6379" in refusal_of("192.0.2.254:6379")


def test_an_address_of_another_kind_of_server_is_refused() -> None:
    with listening_server(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        assert "is not a Ray head" in refusal_of(address)
    with listening_server(b"") as address:
        assert "no answer" in refusal_of(address)


@pytest.mark.timing
@pytest.mark.parametrize("address", ["6379", "127.0.0.1:9", "no-such-host.invalid:6379", "192.0.2.254:6379"])
def test_an_address_is_refused_within_two_seconds(address: str) -> None:
    start = time.monotonic()
    assert refusal_of(address)
    assert time.monotonic() - start < 2


def test_searches_run_here_while_ray_is_not_available() -> None:
    with RayPool(2, address="127.0.0.1:9", wait=False) as pool:
        answer = solve(OPENING, Budget(iterations=1000), seed=2, shares=2, pool=pool)
        wait_until(lambda: pool.health.state == "lost")
        assert "127.0.0.1:9" in pool.health.note
    assert answer.note == ray_search.HERE
    assert answer.moves == solve(OPENING, Budget(iterations=1000), seed=2, shares=2).moves
    assert pool.health.state == "closed"


def test_a_batch_runs_here_without_ray() -> None:
    with RayPool(2, address="127.0.0.1:9", wait=False) as pool:
        assert timeless_answers(answer_many(searches(30), pool)) == expected_answers(searches(30))
        stream = answer_many([next(searches(1)), *[SearchQuestion(OPENING, ENDLESS)] * 5], pool)
        next(stream)
        stream.close()


def test_comparisons_and_information_run_here_without_ray() -> None:
    comparison = ComparisonQuestion(OPENING, OPENING.legal_actions()[:3], Budget(iterations=600), shares=2)
    information = InformationQuestion(with_secrets(), Budget(iterations=300))
    with RayPool(2, address="127.0.0.1:9", wait=False) as pool:
        answer = pool.submit(comparison, Control()).result()
        assert answer.note == ray_search.HERE
        assert noteless(answer) == timeless(compute_here(comparison))
        assert pool.submit(information, Control()).result() == compute_here(information)


def test_closing_cancels_searches_in_flight() -> None:
    pool = RayPool(2, address="127.0.0.1:9", wait=False)
    pending = [pool.submit(SearchQuestion(OPENING, ENDLESS), control) for control in (Control(), None, None, None)]
    pool.close()
    late = [pool.submit(SearchQuestion(OPENING, ENDLESS)), pool.submit(next(searches(1)), Control())]
    for future in [*pending, *late]:
        with pytest.raises(CancelledError):
            future.result(HANG_S)


def test_threads_that_search_here_are_initialized() -> None:
    names: set[str] = set()
    with RayPool(
        2, address="127.0.0.1:9", wait=False, initializer=lambda: names.add(threading.current_thread().name)
    ) as pool:
        assert solve(OPENING, Budget(iterations=100), shares=2, pool=pool).note == ray_search.HERE
    assert names
    assert threading.current_thread().name not in names


def test_ray_is_imported_only_by_its_driver() -> None:
    code = (
        "import sys, solver, solver.pool.ray_pool as c\n"
        "assert 'ray' not in sys.modules, 'imported at once'\n"
        "pool = c.RayPool(1, address='127.0.0.1:9', wait=False)\n"
        "pool.close()\n"
        "assert 'ray' not in sys.modules, 'imported when chosen'\n"
        "import solver.pool.ray_driver\n"
        "assert 'ray' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
