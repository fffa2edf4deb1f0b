"""The server with the Ray backend keeps its contract when workers and the head of Ray fail."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from messages import bytes_without_elapsed
from process import NOT_SERVING, SERVING, Server, milliseconds, refusal_of, server, stub, suggest
from ray_processes import are_idle, busiest, children, cpu_ticks, head_below, wait_for_busiest, workers_below
from waiting import wait_until

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from engine_cy import new_game
from engine_cy.record import Record
from server.codec import records
from solver.pool import ray_search

pytestmark = pytest.mark.slow
ENDLESS = {"iterations": 10**11}


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    # Ray waits a second, not a minute, for a lost head.
    environment = {"RAY_gcs_rpc_server_reconnect_timeout_s": "1"}
    flags = ("--backend", "ray", "--ray-workers", "2", "--cache-mb", "0", "--network-ms", "2000")
    with server(*flags, environment=environment) as running:
        # The server serves before Ray is ready, except on a machine so busy that Ray was faster.
        with running.channel() as channel:
            suggestion = stub(channel).Suggest(request_of(iterations=100), timeout=60).suggestion
        assert suggestion.note == ray_search.HERE or running.health("ray") == SERVING
        assert (suggestion.iterations, suggestion.reproducible) == (100, True)
        wait_until(lambda: running.health("ray") == SERVING)
        yield running


@pytest.fixture
def adviser(running: Server) -> Iterator[Any]:
    with running.channel() as channel:
        yield stub(channel)


def request_of(shares: int = 2, **budget: Any) -> pb.SuggestRequest:
    request = suggest(**budget)
    request.options.shares = shares
    return request


def workers(running: Server) -> list[int]:
    return workers_below(running.process.pid)


def test_ray_and_threads_give_equal_answers(adviser: Any) -> None:
    with server("--threads", "2") as other, other.channel() as channel:
        for request in (
            request_of(iterations=3000),
            request_of(5, iterations=3000),
            request_of(iterations=50_000, confidence=0.7),
        ):
            on_ray, on_threads = adviser.Suggest(request).suggestion, stub(channel).Suggest(request).suggestion
            assert bytes_without_elapsed(on_ray) == bytes_without_elapsed(on_threads)
            assert (on_ray.note, on_ray.missing_shares, on_ray.reproducible) == ("", 0, True)
        timed = adviser.Suggest(request_of(time_ms=150)).suggestion
        again = stub(channel).Suggest(request_of(share_iterations=timed.share_iterations)).suggestion
        assert (timed.stop_reason, timed.note) == (pb.STOP_REASON_TIME, "")
        assert min(timed.share_iterations) > 0
        assert again.candidates == timed.candidates


def test_an_analysis_reports_more_and_more_iterations(adviser: Any) -> None:
    request = pb.AnalyzeRequest(
        view=request_of().view, budget=request_of(time_ms=2000).budget, options=request_of().options
    )
    request.interval.CopyFrom(milliseconds(100))
    *steps, last = adviser.Analyze(request, timeout=60)
    counts = [step.suggestion.iterations for step in steps]
    assert 2 <= len(counts) <= last.suggestion.elapsed.ToMilliseconds() / 100 + 1
    assert counts == sorted(counts)
    assert last.last
    assert last.suggestion.iterations >= counts[-1] > 0


def test_an_answer_arrives_before_the_deadline(adviser: Any) -> None:
    suggestion = adviser.Suggest(request_of(time_ms=50_000), timeout=6).suggestion
    # LOST: on a busy machine a worker may not answer in time.
    assert suggestion.stop_reason in (pb.STOP_REASON_DEADLINE, pb.STOP_REASON_LOST)
    assert suggestion.iterations > 0


def test_a_client_that_leaves_frees_the_workers(running: Server, adviser: Any) -> None:
    calls = [adviser.Suggest.future(request_of(**ENDLESS)) for _ in range(2)]
    wait_until(lambda: not are_idle(workers(running)))
    for call in calls:
        call.cancel()
    # The next search needs all workers.
    assert adviser.Suggest(request_of(iterations=10), timeout=60).suggestion.iterations == 10
    wait_until(lambda: are_idle(workers(running)))


def short_record() -> Record:
    """Return a record of three decisions."""
    position = new_game("oriflamme", "en-2019", 3).deal(11)
    record, actions = Record(position), []
    for _ in range(3):
        actions.append(str(position.legal_actions()[0]))
        position = position.play(actions[-1])
    return replace(record, actions=tuple(actions))


def comparison_of(**budget: Any) -> pb.CompareRequest:
    request = request_of(**budget)
    moves = [view_pb2.Action(text=text) for text in ("reveal", "keep")]
    return pb.CompareRequest(view=request.view, actions=moves, budget=request.budget, options=request.options)


def test_comparisons_and_information_run_on_the_workers_of_ray(running: Server, adviser: Any) -> None:
    request = request_of(iterations=2000)
    request.options.information = True
    with server("--threads", "2") as other, other.channel() as channel:
        for budget in ({"iterations": 1500}, {"iterations": 9000, "confidence": 0.7}):
            compare = comparison_of(**budget)
            on_ray, on_threads = adviser.Compare(compare).comparison, stub(channel).Compare(compare).comparison
            for comparison in (on_ray, on_threads):
                comparison.ClearField("elapsed")
            assert on_ray == on_threads
        secrets = [client.Suggest(request).suggestion.information for client in (adviser, stub(channel))]
        assert secrets[0]
        assert list(secrets[0]) == list(secrets[1])
    before = {pid: cpu_ticks(pid) for pid in [running.process.pid, *workers(running)]}
    assert adviser.Compare(comparison_of(time_ms=1500)).comparison.worlds > 0
    spent = {pid: cpu_ticks(pid) - ticks for pid, ticks in before.items()}
    assert all(spent[running.process.pid] < ticks for pid, ticks in spent.items() if pid != running.process.pid)
    wait_until(lambda: are_idle(workers(running)))


def test_batches_and_reviews_run_on_the_workers_of_ray(running: Server, adviser: Any) -> None:
    items = [
        pb.BatchItem(
            id=str(i),
            view=request_of().view,
            budget=request_of(iterations=1000 + i).budget,
            options=request_of().options,
        )
        for i in range(10)
    ]
    answers = list(adviser.AnalyzeBatch(iter(pb.AnalyzeBatchRequest(item=item) for item in items), timeout=60))
    suggestions = {answer.id: answer.suggestion for answer in answers}
    assert {name: suggestion.iterations for name, suggestion in suggestions.items()} == {
        str(i): 1000 + i for i in range(10)
    }
    assert {suggestion.note for suggestion in suggestions.values()} == {""}
    before = sum(map(cpu_ticks, workers(running)))
    request = pb.ReviewRequest(record=records.write(short_record()), budget=pb.Budget(iterations=40_000))
    *steps, last = adviser.Review(request, timeout=60)
    assert (len(steps), last.summary.reproducible) == (3, True)
    assert sum(map(cpu_ticks, workers(running))) > before + 2


def test_a_search_answers_though_its_worker_is_killed(running: Server, adviser: Any) -> None:
    wait_until(lambda: len(workers(running)) == 2)
    call = adviser.Suggest.future(request_of(time_ms=5000))
    os.kill(wait_for_busiest(workers(running)), signal.SIGKILL)
    suggestion = call.result(timeout=60).suggestion
    assert suggestion.note in (ray_search.REPLACED, ray_search.MISSING)
    assert suggestion.iterations > 0
    wait_until(lambda: len(workers(running)) == 2)


def test_a_comparison_answers_as_before_though_its_worker_is_killed(running: Server, adviser: Any) -> None:
    request = comparison_of(iterations=150_000)
    expected = adviser.Compare(request, timeout=60).comparison
    wait_until(lambda: len(workers(running)) == 2)
    call = adviser.Compare.future(request, timeout=60)
    os.kill(wait_for_busiest(workers(running)), signal.SIGKILL)
    comparison = call.result().comparison
    for answer in (expected, comparison):
        answer.ClearField("elapsed")
    assert comparison == expected
    wait_until(lambda: len(workers(running)) == 2)


def test_a_review_judges_every_decision_though_a_worker_is_killed(running: Server, adviser: Any) -> None:
    request = pb.ReviewRequest(record=records.write(short_record()), budget=pb.Budget(iterations=150_000))
    *expected, _ = adviser.Review(request, timeout=60)
    wait_until(lambda: len(workers(running)) == 2)
    steps = adviser.Review(request, timeout=60)
    os.kill(wait_for_busiest(workers(running)), signal.SIGKILL)
    *decisions, last = steps
    assert [step.decision.best for step in decisions] == [step.decision.best for step in expected]
    assert last.HasField("summary")
    wait_until(lambda: len(workers(running)) == 2)


def test_a_search_that_kills_its_workers_is_refused_from_then_on(running: Server, adviser: Any) -> None:
    request = request_of(1, **ENDLESS)
    call = adviser.Suggest.future(request, timeout=60)
    killed: set[int] = set()
    while not call.done():
        if (busy := busiest(workers(running))) and len(killed) < ray_search.KILLS_MAX:
            killed.add(busy)
            os.kill(busy, signal.SIGKILL)
    assert refusal_of(call.exception())[:2] == ("INTERNAL", "SEARCH_LOST")
    with pytest.raises(grpc.RpcError) as refused:
        adviser.Suggest(request, timeout=60)
    assert refusal_of(refused.value)[:2] == ("INTERNAL", "SEARCH_LOST")
    wait_until(lambda: len(workers(running)) == 2)
    # Other searches still run.
    assert adviser.Suggest(request_of(1, iterations=100), timeout=60).suggestion.iterations == 100


def test_threads_answer_while_the_head_of_ray_is_lost(running: Server, adviser: Any) -> None:
    request = request_of(iterations=2000)
    before = adviser.Suggest(request).suggestion
    os.kill(head_below(running.process.pid), signal.SIGKILL)

    def answers_without_ray() -> bool:
        assert adviser.Suggest(request_of(time_ms=50), timeout=60).suggestion.iterations > 0
        return bool(running.health("ray") != SERVING)

    wait_until(answers_without_ray)
    assert (running.health("ray"), running.health()) == (NOT_SERVING, SERVING)
    without = adviser.Suggest(request).suggestion
    assert (without.note, without.reproducible) == (ray_search.HERE, True)
    without.ClearField("note")
    assert bytes_without_elapsed(without) == bytes_without_elapsed(before)
    wait_until(lambda: running.health("ray") == SERVING)
    assert bytes_without_elapsed(adviser.Suggest(request).suggestion) == bytes_without_elapsed(before)


def test_at_shutdown_it_answers_and_leaves_no_process_behind(running: Server) -> None:
    """Stop the server of this module, so this is its last test."""
    below = children(running.process.pid)
    assert any("raylet" in name for name in below.values())
    answers: list[pb.Suggestion] = []
    with running.channel() as channel:
        call = threading.Thread(
            target=lambda: answers.append(stub(channel).Suggest(request_of(**ENDLESS), timeout=60).suggestion)
        )
        call.start()
        wait_for_busiest(workers(running))
        assert running.stop() == 0
        call.join()
    assert answers[0].stop_reason == pb.STOP_REASON_SHUTDOWN
    assert answers[0].iterations > 0
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below))
