"""Questions on Ray's workers: what one thread finds, in time, and from the rest when workers are lost."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ray_processes import are_idle, busiest, children, cpu_ticks, wait_for_busiest, workers_below
from tables import random_game
from waiting import HANG_S, wait_until

from engine_cy import Position, View, new_game
from engine_cy.action_log import History
from solver import (
    Answer,
    Budget,
    Comparison,
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
from solver.pool.base import Answered, SearchLostError, WorkerLostError, answer_many, compute_here
from solver.pool.job_bytes import JobBytesError
from solver.pool.ray_pool import RayPool, RayUnavailableError

ROOT = Path(__file__).parents[2]
GAMES = [("oriflamme", "en-2019", 4), ("oriflamme_prototype", None, 3), ("castle_village_port", None, 3)]
HANDLERS = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
ENDLESS = Budget(iterations=10**11)


@pytest.fixture(scope="module")
def pool() -> Iterator[RayPool]:
    with RayPool(2) as started:
        yield started


@pytest.fixture
def healthy(pool: RayPool) -> Iterator[RayPool]:
    """The pool, with all of its workers before and after."""
    wait_until(lambda: is_whole(pool))
    yield pool
    wait_until(lambda: is_whole(pool))


def start() -> View:
    position = new_game("oriflamme", "en-2019", 4).deal(3)
    return position.view(position.to_act or 0)


def driver(pool: RayPool) -> int:
    assert pool._process
    return pool._process.pid


def workers(pool: RayPool) -> list[int]:
    return workers_below(driver(pool))


def is_whole(pool: RayPool) -> bool:
    """The processes are looked at, too: where other programs have all the cores, a loss is learned of late."""
    return pool.health == ("ready", 2, "") and len(workers(pool)) == 2


def timeless(answer: Any) -> Any:
    """An answer of any shape, without how long it took."""
    return answer if isinstance(answer, tuple) else replace(answer, elapsed_ms=0.0)


def noteless(answer: Any) -> Any:
    """An answer without how it came about."""
    if isinstance(answer, Answer):
        answer = replace(answer, total=replace(answer.total, note=""))
    return timeless(replace(answer, note="") if isinstance(answer, Comparison) else answer)


@contextmanager
def after(seconds: float, do: Callable[[], object]) -> Iterator[None]:
    timer = threading.Timer(seconds, do)
    timer.start()
    yield
    timer.join()


# --- the same answers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: spec[0])
def test_it_finds_what_one_thread_finds(pool: RayPool, spec: tuple[str, str | None, int]) -> None:
    """Spread over workers, and as one of many questions."""
    game = new_game(*spec)
    history = History(game)
    asked = 0
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
                asked += 1
        if action is not None:
            history.add(position, action)
    assert asked >= 6


def assert_equal_everywhere(pool: RayPool, question: Question) -> None:
    here = timeless(compute_here(question))
    spread, whole = pool.submit(question, Control()), pool.submit(question)
    assert timeless(spread.result()) == here
    assert timeless(whole.result()) == here


@pytest.mark.parametrize("shares", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_a_comparison_finds_what_one_thread_finds(pool: RayPool, shares: int, confidence: float | None) -> None:
    budget = Budget(iterations=1100, confidence=confidence)
    moves = start().legal_actions()[:3]
    assert_equal_everywhere(pool, ComparisonQuestion(start(), moves, budget, shares=shares, seed=5))


@pytest.mark.parametrize("shares", [1, 5])
def test_information_is_what_one_thread_finds(pool: RayPool, shares: int) -> None:
    question = InformationQuestion(with_secrets(), Budget(iterations=300), seed=5, shares=shares)
    assert question.n_parts > 2
    assert len(compute_here(question)) == question.n_parts // 2
    assert_equal_everywhere(pool, question)


def with_secrets() -> View:
    """A view whose observer has two cards face down."""
    for position, _ in random_game(new_game("oriflamme", "en-2019", 3), 4):
        mover = position.to_act
        if mover is not None and mover >= 0 and len(own_spots(position.view(mover))) > 1:
            return position.view(mover)
    raise AssertionError("no such view")


@pytest.mark.parametrize("question", ["forced", "greedy", "nothing hidden"])
def test_a_question_that_needs_no_search_is_answered_too(pool: RayPool, question: str) -> None:
    if question == "forced":
        forced = next(p for p, _ in random_game(new_game("oriflamme", "en-2019", 4), 2) if is_forced(p))
        assert_equal_everywhere(pool, SearchQuestion(forced.view(forced.to_act or 0), Budget(iterations=100)))
    elif question == "greedy":
        assert_equal_everywhere(pool, SearchQuestion(start(), config="greedy"))
    else:
        empty = InformationQuestion(start(), Budget(iterations=100))
        assert empty.n_parts == 0
        assert_equal_everywhere(pool, empty)


def is_forced(position: Position) -> bool:
    mover = position.to_act
    return mover is not None and mover >= 0 and position.view(mover).forced_action is not None


def test_a_comparison_is_spread_over_both_workers(healthy: RayPool) -> None:
    before = {pid: cpu_ticks(pid) for pid in workers(healthy)}
    budget = Budget(iterations=200_000, memory_mb=400)
    question = ComparisonQuestion(start(), start().legal_actions()[:4], budget, shares=2)
    comparison = healthy.submit(question, Control()).result()
    assert (comparison.stopped_by, comparison.missing) == ("iterations", 0)
    assert all(cpu_ticks(pid) - ticks > 15 for pid, ticks in before.items())
    before = {pid: cpu_ticks(pid) for pid in workers(healthy)}
    healthy.submit(question, Control(), width=1).result()
    assert sorted(cpu_ticks(pid) - ticks > 15 for pid, ticks in before.items()) == [False, True]


def test_an_answer_on_ray_is_the_answer(pool: RayPool) -> None:
    for budget in (Budget(iterations=5000), Budget(iterations=60_000, confidence=0.9)):
        here = compute_here(SearchQuestion(start(), budget, seed=3, shares=2))
        there = solve(start(), budget, seed=3, shares=2, pool=pool)
        assert replace(there, elapsed_ms=0.0) == replace(here, elapsed_ms=0.0)
        assert (there.missing, there.note, there.reproducible) == (0, "", True)


def test_who_is_not_to_act_is_answered_too(pool: RayPool) -> None:
    view = new_game("oriflamme", "en-2019", 4).deal(3).view(2)
    assert view.to_act != view.observer
    here = compute_here(SearchQuestion(view, Budget(iterations=1000), seed=3, shares=2))
    there = solve(view, Budget(iterations=1000), seed=3, shares=2, pool=pool)
    assert there.best is None
    assert replace(there, elapsed_ms=0.0) == replace(here, elapsed_ms=0.0)


def test_searches_at_the_same_time_do_not_mix(pool: RayPool) -> None:
    questions = [SearchQuestion(start(), Budget(iterations=2000), seed=seed, shares=2) for seed in range(8)]
    pending = [pool.submit(question, Control()) for question in questions]
    assert [timeless(one.result()) for one in pending] == [timeless(compute_here(one)) for one in questions]


def test_errors_of_a_question_are_raised_here(pool: RayPool) -> None:
    question = SearchQuestion(start(), Budget(iterations=100))
    question.config = replace(question.config, nodes="all")  # type: ignore[arg-type]
    for control in (Control(), None):
        with pytest.raises(JobBytesError, match=r"config\.nodes"):
            pool.submit(question, control).result()
    with pytest.raises(InvalidQuestionError):
        solve(start(), Budget(iterations=0), pool=pool)


def test_functions_run_here_and_ask_the_pool(pool: RayPool) -> None:
    def answered_here(seed: int) -> tuple[int, Any]:
        return os.getpid(), timeless(pool.submit(SearchQuestion(start(), Budget(iterations=50), seed=seed)).result())

    expected = [timeless(compute_here(SearchQuestion(start(), Budget(iterations=50), seed=i))) for i in range(30)]
    assert list(pool.map(answered_here, range(30))) == [(os.getpid(), answer) for answer in expected]
    some = pool.map(answered_here, iter(range(10**9)))
    assert next(some) == (os.getpid(), expected[0])


# --- on the way, and to the end ------------------------------------------------------------------------------------


def test_answers_so_far_are_reported_at_the_interval(pool: RayPool) -> None:
    seen: list[Answer] = []
    found = solve(start(), Budget(time_ms=3000), shares=2, pool=pool, control=Control(seen.append, 150))
    counts = [answer.iterations for answer in seen]
    assert 2 <= len(counts) <= found.elapsed_ms / 150 + 1
    assert counts == sorted(counts)
    assert counts[-1] <= found.iterations
    for answer in seen:
        assert sum(move.visits for move in answer.moves) == answer.iterations


def test_a_stop_frees_all_workers(healthy: RayPool) -> None:
    for _ in range(10):
        control = Control(lambda _: control.stop(), 5)  # noqa: B023
        found = solve(start(), ENDLESS, shares=2, pool=healthy, control=control)
        assert (found.stopped_by, found.missing) == ("stopped", 0)
        assert found.iterations > 0
    # All shares were there, so all workers were free.
    wait_until(lambda: idle(healthy))


@pytest.mark.timing
def test_a_stop_frees_all_workers_soon(healthy: RayPool) -> None:
    delays = []
    for _ in range(10):
        control = Control()
        stopped: list[float] = []

        def stop(stopped: list[float] = stopped, control: Control = control) -> None:
            stopped.append(time.monotonic())
            control.stop()

        with after(0.05, stop):
            solve(start(), ENDLESS, shares=2, pool=healthy, control=control)
            delays.append(time.monotonic() - stopped[0])
    assert sorted(delays)[len(delays) // 2] < 0.05


def test_a_stop_may_overtake_its_search(healthy: RayPool) -> None:
    for delay in (0.0, 0.0002, 0.0005, 0.001, 0.002):
        for _ in range(10):
            control = Control()
            if delay:
                with after(delay, control.stop):
                    found = solve(start(), ENDLESS, shares=2, pool=healthy, control=control)
            else:
                control.stop()
                found = solve(start(), ENDLESS, shares=2, pool=healthy, control=control)
            assert (found.stopped_by, found.missing) == ("stopped", 0)
    # Every one of them came through, and nothing is left behind.
    assert solve(start(), Budget(iterations=100), shares=2, pool=healthy).iterations == 100
    wait_until(lambda: idle(healthy))


def test_an_interrupt_frees_the_workers(healthy: RayPool) -> None:
    def interrupt(_: Answer) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(start(), ENDLESS, shares=2, pool=healthy, control=Control(interrupt, 20))
    wait_until(lambda: idle(healthy))


def idle(pool: RayPool) -> bool:
    return are_idle(workers(pool))


# --- faults --------------------------------------------------------------------------------------------------------


def test_a_worker_is_killed_in_the_middle_of_a_search(healthy: RayPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_search, "LATE_MS", 60_000.0)  # other programs may hold the last of the search up
    pending = healthy.submit(SearchQuestion(start(), Budget(time_ms=5000), shares=2), Control())
    victim = wait_for_busiest(workers(healthy))
    os.kill(victim, signal.SIGKILL)
    found = pending.result()
    # Its share was begun again on the other worker.
    assert (found.missing, found.note) == (0, ray_search.REPLACED)
    assert sum(move.visits for move in found.moves) == found.iterations > 0
    wait_until(lambda: healthy.health.workers == 2 and victim not in workers(healthy))


@pytest.mark.timing
def test_the_answer_is_in_time_although_a_worker_is_killed(healthy: RayPool) -> None:
    for delay in (0.1, 0.29):
        victim = workers(healthy)[0]
        with after(delay, partial(os.kill, victim, signal.SIGKILL)):
            began = time.monotonic()
            found = solve(start(), Budget(time_ms=300), shares=2, pool=healthy)
            took = time.monotonic() - began
        assert took < 0.3 + ray_search.LATE_MS / 1000 + 1
        assert found.iterations > 0
        wait_until(lambda: is_whole(healthy))


def test_an_answer_without_a_limit_of_time_is_the_same_although_a_worker_is_killed(healthy: RayPool) -> None:
    question = SearchQuestion(start(), Budget(iterations=400_000), seed=2, shares=2)
    pending = healthy.submit(question, Control())
    os.kill(wait_for_busiest(workers(healthy)), signal.SIGKILL)
    found = pending.result()
    assert found.note == ray_search.REPLACED
    assert noteless(found) == timeless(compute_here(question))


@pytest.mark.parametrize("confidence", [None, 0.999_999])
def test_a_comparison_is_the_same_although_a_worker_is_killed(healthy: RayPool, confidence: float | None) -> None:
    budget = Budget(iterations=300_000, confidence=confidence, memory_mb=400)
    question = ComparisonQuestion(start(), start().legal_actions()[:4], budget, seed=2, shares=2)
    pending = healthy.submit(question, Control())
    os.kill(wait_for_busiest(workers(healthy)), signal.SIGKILL)
    comparison = pending.result()
    assert (comparison.note, comparison.missing) == (ray_search.REPLACED, 0)
    assert noteless(comparison) == timeless(compute_here(question))


def test_a_comparison_has_what_a_stuck_worker_had_found(healthy: RayPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_search, "LATE_MS", 1500.0)  # other programs may hold the other worker up
    question = ComparisonQuestion(start(), start().legal_actions()[:4], Budget(time_ms=3000))
    pending = healthy.submit(question, Control())
    victim = wait_for_busiest(workers(healthy))
    time.sleep(1.5)  # in which it notes what it has found
    os.kill(victim, signal.SIGSTOP)
    comparison = pending.result()
    assert (comparison.missing, comparison.note, comparison.reproducible) == (2, ray_search.MISSING, False)
    assert comparison.worlds > 0
    assert all(move.win_difference is not None for move in comparison.moves)
    wait_until(lambda: victim not in workers(healthy))


def test_a_worker_is_stuck_in_the_middle_of_a_search(healthy: RayPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_search, "LATE_MS", 1500.0)  # other programs may hold the other worker up
    pending = healthy.submit(SearchQuestion(start(), Budget(time_ms=3000), shares=2), Control())
    victim = wait_for_busiest(workers(healthy))
    time.sleep(1.5)  # in which it notes what it has found
    os.kill(victim, signal.SIGSTOP)
    found = pending.result()
    # Nobody can know it in that time; the answer is what the others found, and what this one had noted.
    assert all(found.share_iterations)
    assert (found.missing, found.note, found.reproducible) == (1, ray_search.MISSING, False)
    assert sum(move.visits for move in found.moves) == found.iterations
    wait_until(lambda: victim not in workers(healthy) and len(workers(healthy)) == 2)


def test_all_workers_are_stuck(healthy: RayPool) -> None:
    victims = workers(healthy)
    for victim in victims:
        os.kill(victim, signal.SIGSTOP)
    found = solve(start(), Budget(time_ms=200), shares=2, pool=healthy)
    assert (found.missing, found.note) == (1, ray_search.HERE)
    assert found.iterations > 0
    wait_until(lambda: not set(victims) & set(workers(healthy)))


@pytest.mark.parametrize("shares", [1, 2])
def test_a_lost_worker_loses_no_answer_where_there_is_no_other(shares: int) -> None:
    """What killed the worker may have been anything, so the search goes on in a process apart."""
    with RayPool(1) as pool:
        for delay in (0.06, 0.3, 0.595):
            wait_until(lambda: pool.health.workers == 1 and len(workers(pool)) == 1)
            victim = workers(pool)[0]
            with after(delay, partial(os.kill, victim, signal.SIGKILL)):
                found = pool.submit(SearchQuestion(start(), Budget(time_ms=600), shares=shares), Control()).result()
            assert found.iterations > 0
        question = SearchQuestion(start(), Budget(iterations=200_000), seed=2, shares=shares)
        wait_until(lambda: pool.health.workers == 1 and len(workers(pool)) == 1)
        pending = pool.submit(question, Control())
        os.kill(wait_for_busiest(workers(pool)), signal.SIGKILL)
        assert noteless(pending.result()) == timeless(compute_here(question))


def test_a_lost_worker_ends_a_comparison_and_information_no_more_than_a_search() -> None:
    moves = start().legal_actions()[:4]
    with RayPool(1) as pool:
        for question in (
            ComparisonQuestion(start(), moves, Budget(iterations=50_000), shares=2),
            InformationQuestion(with_secrets(), Budget(iterations=20_000)),
        ):
            wait_until(lambda: pool.health.workers == 1 and len(workers(pool)) == 1)
            pending = pool.submit(question, Control())
            os.kill(wait_for_busiest(workers(pool)), signal.SIGKILL)
            assert noteless(pending.result()) == timeless(compute_here(question))


def test_poison_is_known_where_there_is_one_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(DEADLY)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    with RayPool(1) as pool:
        for budget in (Budget(iterations=20), Budget(time_ms=100), Budget(time_ms=1000)):
            wait_until(lambda: pool.health.workers == 1 and len(workers(pool)) == 1)
            poison = pool.submit(SearchQuestion(start(), budget, seed=POISON), Control())
            with pytest.raises(SearchLostError, match="2 workers"):
                poison.result()
        assert pool.submit(SearchQuestion(start(), Budget(iterations=20), seed=1), Control()).result().iterations == 20


def test_a_search_that_kills_its_workers_is_given_up(healthy: RayPool) -> None:
    ended = threading.Event()
    killed: set[int] = set()

    def kill_whoever_searches() -> None:
        while not ended.is_set() and len(killed) < ray_search.KILLS_MAX:
            if busy := busiest(workers(healthy)):
                killed.add(busy)
                os.kill(busy, signal.SIGKILL)

    killer = threading.Thread(target=kill_whoever_searches)
    question = SearchQuestion(start(), ENDLESS)
    killer.start()
    try:
        with pytest.raises(SearchLostError, match="2 workers"):
            healthy.submit(question, Control()).result()
    finally:
        ended.set()
        killer.join()


def test_the_driver_is_killed_in_the_middle_of_a_search_and_a_batch(healthy: RayPool) -> None:
    """An answer without a limit of time is the same, one with a limit is in time, a batch has all of its answers; and
    the workers end, though nobody is left who could tell them to."""
    question = SearchQuestion(start(), Budget(iterations=400_000), seed=2, shares=2)
    killed, orphans = driver(healthy), workers(healthy)
    stream = answer_many(questions(100, 2000), healthy)
    answers = [next(stream) for _ in range(20)]
    with after(0.1, partial(os.kill, killed, signal.SIGKILL)):
        found = healthy.submit(question, Control()).result()
    assert found.note == ray_search.HERE
    assert noteless(found) == timeless(compute_here(question))
    assert solve(start(), Budget(time_ms=200), shares=2, pool=healthy).iterations > 0
    assert all_of([*answers, *stream]) == expected(100, 2000)
    wait_until(lambda: max(map(cpu_ticks, orphans)) < 0)
    wait_until(lambda: healthy.health.state == "ready")
    assert driver(healthy) != killed


# --- many positions ------------------------------------------------------------------------------------------------


def questions(n: int, iterations: int = 20) -> Iterator[Question]:
    seen = [new_game("oriflamme", "en-2019", 4).deal(seed) for seed in range(5)]
    views = [position.view(position.to_act or 0) for position in seen]
    return (SearchQuestion(views[i % 5], Budget(iterations=iterations), seed=i, shares=1 + i % 2) for i in range(n))


def expected(n: int, iterations: int = 20) -> list[Answered]:
    return [Answered(i, timeless(compute_here(one))) for i, one in enumerate(questions(n, iterations))]


def all_of(stream: Iterable[Answered]) -> list[Answered]:
    return [one._replace(answer=timeless(one.answer)) if one.error is None else one for one in stream]


def test_a_batch_has_the_answers_of_its_questions(pool: RayPool) -> None:
    assert all_of(answer_many(questions(200), pool)) == expected(200)
    found = answer_many(questions(200), pool, in_order=False)
    assert sorted(all_of(found), key=lambda one: one.number) == expected(200)


def test_a_worker_is_killed_in_the_middle_of_a_batch(healthy: RayPool) -> None:
    victim = workers(healthy)[0]
    stream = answer_many(questions(100, 2000), healthy)
    found = [next(stream) for _ in range(20)]
    os.kill(victim, signal.SIGKILL)
    found += stream
    assert all_of(found) == expected(100, 2000)


def test_closing_a_batch_frees_the_workers(healthy: RayPool) -> None:
    stream = answer_many([next(questions(1)), *[SearchQuestion(start(), ENDLESS)] * 20], healthy)
    next(stream)
    stream.close()
    wait_until(lambda: idle(healthy))


def test_a_question_without_a_control_can_be_cancelled(healthy: RayPool) -> None:
    pending = [healthy.submit(SearchQuestion(start(), ENDLESS, seed=i)) for i in range(12)]
    after_them = healthy.submit(next(questions(1)))
    wait_for_busiest(workers(healthy))
    for one in pending:
        one.cancel()
    answers = [one.result(HANG_S) for one in pending]
    assert {answer.stopped_by for answer in answers} == {"stopped"}
    assert any(answer.iterations for answer in answers)  # of those that had begun
    assert timeless(after_them.result(HANG_S)) == timeless(compute_here(next(questions(1))))
    wait_until(lambda: idle(healthy))


POISON = 666
DEADLY = f"""
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


@pytest.mark.parametrize("n_workers", [1, 2])
def test_poison_refuses_nothing_innocent(n_workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions share chunks and workers with one that kills every worker."""
    (tmp_path / "sitecustomize.py").write_text(DEADLY)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    many = list(questions(80))
    many[30:30] = many[60:60] = [SearchQuestion(start(), Budget(iterations=20), seed=POISON)]
    with RayPool(n_workers) as pool:
        found = all_of(answer_many(many, pool))
    refused = [one.number for one in found if one.error]
    assert refused == [i for i, question in enumerate(many) if question.seed == POISON]
    assert len(refused) == 2
    assert all(isinstance(found[number].error, WorkerLostError) for number in refused)
    for one, question in zip(found, many, strict=True):
        assert one.error or one.answer == timeless(compute_here(question))


# --- the process that drives Ray -----------------------------------------------------------------------------------


def test_ray_changes_nothing_in_this_process(pool: RayPool) -> None:
    """`ray.init` takes SIGTERM from whoever calls it, and Ray ends a driver that lost its head: not this process."""
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == HANDLERS
    assert pool.health.state == "ready"


def test_what_its_driver_is_told(pool: RayPool) -> None:
    told = dict(
        entry.split("=", 1) for entry in Path(f"/proc/{driver(pool)}/environ").read_text().split("\0") if "=" in entry
    )
    assert told["RAY_AUTH_MODE"] == os.environ.get("RAY_AUTH_MODE", "token")
    assert told["RAY_USAGE_STATS_ENABLED"] == "0"
    assert told["RAY_ENABLE_AUTO_CONNECT"] == "0"
    assert told["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] == "0"
    assert "RAY_ADDRESS" not in told
    # Nobody else on this machine can read the token or Ray's files.
    assert len(told["RAY_AUTH_TOKEN"]) == 64
    assert told["RAY_AUTH_TOKEN"] != os.environ.get("RAY_AUTH_TOKEN")
    folder = ray_folder(driver(pool))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.glob("ray/session_*/sockets/*"))
    # A store of the size of /dev/shm would not fit into a container.
    raylet = next(name for name in children(driver(pool)).values() if "/raylet" in name.split()[0])
    assert f"--object_store_memory={80 * 2**20}" in raylet.split()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", 8265), 1)


def test_nothing_is_left_when_this_process_is_killed() -> None:
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


def test_ray_s_files_are_gone_when_its_driver_is() -> None:
    with RayPool(1) as pool:
        folder = ray_folder(driver(pool))
        os.kill(driver(pool), signal.SIGKILL)
        wait_until(lambda: not folder.exists())
        wait_until(lambda: pool.health.state == "ready")
        another = ray_folder(driver(pool))
        assert another.is_dir()
    assert not another.exists()


def ray_folder(pid: int) -> Path:
    """The folder that a driver was given."""
    return Path(Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")[-1])


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
    with pytest.raises(RayUnavailableError) as raised:
        RayPool(2, address=address)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    "address", ["6379", "localhost", "ray://10.0.0.1:10001", "http://a:8265", "a:0", "a:99999", ":1"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    assert repr(address) in refused(address)


def test_an_address_where_nobody_is_fails() -> None:
    assert "refused" in refused("127.0.0.1:9")
    assert "no-such-host.invalid:6379" in refused("no-such-host.invalid:6379")
    assert "192.0.2.254:6379" in refused("192.0.2.254:6379")


def test_an_address_of_something_else_fails() -> None:
    with listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address:
        assert "is not a Ray head" in refused(address)
    with listening(b"") as address:
        assert "no answer" in refused(address)


@pytest.mark.timing
@pytest.mark.parametrize("address", ["6379", "127.0.0.1:9", "no-such-host.invalid:6379", "192.0.2.254:6379"])
def test_an_address_fails_within_two_seconds(address: str) -> None:
    began = time.monotonic()
    assert refused(address)
    assert time.monotonic() - began < 2


def test_a_server_need_not_wait_for_ray() -> None:
    with RayPool(2, address="127.0.0.1:9", wait=False) as pool:
        found = solve(start(), Budget(iterations=1000), seed=2, shares=2, pool=pool)
        wait_until(lambda: pool.health.state == "lost")
        assert "127.0.0.1:9" in pool.health.note
    assert found.note == ray_search.HERE
    assert found.moves == solve(start(), Budget(iterations=1000), seed=2, shares=2).moves
    assert pool.health.state == "closed"


def test_a_batch_goes_on_without_ray() -> None:
    with RayPool(2, address="127.0.0.1:9", wait=False) as pool:
        assert all_of(answer_many(questions(30), pool)) == expected(30)
        stream = answer_many([next(questions(1)), *[SearchQuestion(start(), ENDLESS)] * 5], pool)
        next(stream)
        stream.close()


def test_comparisons_and_information_go_on_without_ray() -> None:
    comparison = ComparisonQuestion(start(), start().legal_actions()[:3], Budget(iterations=600), shares=2)
    worth = InformationQuestion(with_secrets(), Budget(iterations=300))
    with RayPool(2, address="127.0.0.1:9", wait=False) as pool:
        found = pool.submit(comparison, Control()).result()
        assert found.note == ray_search.HERE
        assert noteless(found) == timeless(compute_here(comparison))
        assert pool.submit(worth, Control()).result() == compute_here(worth)


def test_closing_ends_what_is_under_way() -> None:
    pool = RayPool(2, address="127.0.0.1:9", wait=False)
    pending = [pool.submit(SearchQuestion(start(), ENDLESS), control) for control in (Control(), None, None, None)]
    pool.close()
    for one in [*pending, pool.submit(SearchQuestion(start(), ENDLESS)), pool.submit(next(questions(1)), Control())]:
        with pytest.raises(CancelledError):
            one.result(HANG_S)


def test_threads_that_search_here_are_initialized() -> None:
    names: set[str] = set()
    with RayPool(
        2, address="127.0.0.1:9", wait=False, initializer=lambda: names.add(threading.current_thread().name)
    ) as pool:
        assert solve(start(), Budget(iterations=100), shares=2, pool=pool).note == ray_search.HERE
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
