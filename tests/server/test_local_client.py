"""LocalClient: the interface of Client without a server."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.protobuf import duration_pb2
from process import REVEAL, Server, milliseconds, server, view
from program import environment, random_record

from eminence.v1 import record_pb2, referee_pb2, rules_pb2, seat_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb
from server.client import Client, Refused
from server.client.local import LocalClient
from server.codec import records
from server.refusals import Refusal
from server.rpc.deadline import Deadline
from server.services.local_batch import LocalBatch
from solver.config import read_config
from solver.pool.threads import Threads

SHORT = pb.Budget(iterations=50)
LONG = pb.Budget(iterations=10**11)
GAME = view_pb2.GameSpec(game_id="oriflamme", players=3)
OTHERS_TURN = view("A:? >B:? C:Heir(1) | round 2 | points 1 2 3 | seen by C")
HIDDEN = view("A:Lord >B:Heir C:? | seen by B")


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server() as running:
        yield running


@pytest.fixture(scope="module", params=[1, 3], ids=["thread", "processes"])
def local(request: pytest.FixtureRequest) -> Iterator[LocalClient]:
    with LocalClient(workers=request.param) as client:
        yield client


def moves(*texts: str) -> list[view_pb2.Action]:
    return [view_pb2.Action(text=text) for text in texts]


def item(name: str, observed: view_pb2.View | None = None, **more: Any) -> pb.AnalyzeBatchRequest:
    more = {"budget": SHORT, **more}
    return pb.AnalyzeBatchRequest(item=pb.BatchItem(id=name, view=observed or view(), **more))


def record(until: int | None = None) -> record_pb2.Record:
    return records.write(random_record("oriflamme", "en-2019", 3, 7, until))


def comparable(answer: Any) -> Any:
    """Remove the time and the granted budget from an answer: both differ from a server to this process."""
    for name in ("suggestion", "progress", "summary"):
        if name in answer.DESCRIPTOR.fields_by_name and answer.HasField(name):
            comparable(getattr(answer, name))
    for name in ("elapsed", "budget"):
        if name in answer.DESCRIPTOR.fields_by_name:
            answer.ClearField(name)
    return answer


def sorted_answers(stream: Any) -> list[Any]:
    """Return the answers of a stream, sorted, since they arrive in any order."""
    return sorted(map(comparable, stream), key=lambda answer: answer.SerializeToString(deterministic=True))


INFORM = pb.Options(information=True, seed=3, shares=2)
CALLS: list[Callable[[Any], Any]] = [
    lambda client: comparable(client.suggest(view(), SHORT)),
    lambda client: comparable(client.suggest(view(), pb.Budget(iterations=800), INFORM)),
    lambda client: comparable(client.suggest(view(), None, pb.Options(level=2, lines=1))),
    lambda client: sorted_answers(client.analyze(view(), SHORT)),
    lambda client: sorted_answers(client.analyze(OTHERS_TURN, SHORT)),
    lambda client: comparable(client.compare(view(), moves("reveal", "keep"), SHORT)),
    lambda client: sorted_answers(client.analyze_batch([item(str(n), options=pb.Options(seed=n)) for n in range(9)])),
    lambda client: sorted_answers(
        client.analyze_batch([item("a"), item("b", HIDDEN), item("c", priority=200), item("d", OTHERS_TURN)])
    ),
    lambda client: [comparable(step) for step in client.review(record(), SHORT)],
    lambda client: [comparable(step) for step in client.review(record(12), SHORT, seat=seat_pb2.SEAT_B)],
    lambda client: client.rules.ListGames(rules_pb2.ListGamesRequest()),
    lambda client: client.rules.ListLegalActions(rules_pb2.ListLegalActionsRequest(view=view())),
    lambda client: client.referee.Deal(referee_pb2.DealRequest(game=GAME, seed=7)),
    lambda client: client.referee.GetRecord(referee_pb2.GetRecordRequest(record=record(), seat=seat_pb2.SEAT_B)),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_a_local_client_answers_as_a_server_does(local: LocalClient, running: Server, number: int) -> None:
    with Client(running.address) as client:
        answers = CALLS[number](client)
    assert CALLS[number](local) == answers
    assert answers


@pytest.mark.slow
def test_a_cluster_answers_as_a_thread_does() -> None:
    with LocalClient(ray_address="local", workers=1) as cluster, LocalClient(workers=1) as thread:
        for number in (0, 1, 3, 5, 6, 7, 9):
            assert CALLS[number](cluster) == CALLS[number](thread)
        endless = [item(str(n), budget=LONG) for n in range(3)]
        answers = list(cluster.analyze_batch([*endless, pb.AnalyzeBatchRequest(cancel_all=pb.CancelAll())]))
        assert {answer.suggestion.stop_reason for answer in answers} == {pb.STOP_REASON_CANCELLED}


REFUSALS: list[Callable[[Any], Any]] = [
    lambda client: client.suggest(HIDDEN, SHORT),
    lambda client: client.suggest(OTHERS_TURN, SHORT),
    lambda client: client.suggest(view(), pb.Budget(confidence=7)),
    lambda client: client.suggest(view(), SHORT, pb.Options(restrict_to=moves("fly"))),
    lambda client: client.compare(view(), moves("reveal", "reveal"), SHORT),
    lambda client: list(client.analyze(HIDDEN, SHORT)),
    lambda client: list(client.analyze(view(), SHORT, interval_ms=-1)),
    lambda client: list(client.review(record_pb2.Record(), SHORT)),
    lambda client: list(client.review(record(), SHORT, seat=9)),
    lambda client: list(client.analyze_batch([pb.AnalyzeBatchRequest()])),
    lambda client: list(client.analyze_batch([item("")])),
    lambda client: list(client.analyze_batch([item("a", budget=LONG), item("a")])),
    lambda client: client.rules.ValidateView(rules_pb2.ValidateViewRequest(view=HIDDEN)),
    lambda client: client.referee.Play(referee_pb2.PlayRequest()),
]


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_a_local_client_refuses_as_a_server_does(local: LocalClient, running: Server, number: int) -> None:
    refusals = []
    with Client(running.address) as client:
        for caller in (client, local):
            with pytest.raises(Refused) as failed:
                REFUSALS[number](caller)
            refusals.append(failed.value.args)
    assert refusals[0] == refusals[1]
    assert refusals[0][0] in ("INVALID_ARGUMENT", "FAILED_PRECONDITION")


def test_a_local_client_has_the_methods_of_a_client() -> None:
    """Compare parameters and defaults; only the time of a batch differs: it is not limited here."""
    names = [name for name, value in vars(Client).items() if callable(value) and not name.startswith("_")]
    assert names
    for name in names:
        remote, local = (dict(inspect.signature(getattr(kind, name)).parameters) for kind in (Client, LocalClient))
        if name == "analyze_batch":
            assert local["seconds"].default is None
            remote["seconds"] = remote["seconds"].replace(annotation="float | None", default=None)
        assert list(remote.items()) == list(local.items()), name
    with Client("127.0.0.1:1") as client:
        services = [name for name in vars(client) if name != "stub" and not name.startswith("_")]
    services.remove("tables")  # they are kept by a server
    assert services
    assert all(hasattr(LocalClient, name) for name in services)


@pytest.mark.parametrize("workers", [0, -3])
def test_a_local_client_without_workers_is_refused(workers: int) -> None:
    with pytest.raises(ValueError, match=f"workers: {workers} is less than 1"):
        LocalClient(workers=workers)


def test_seconds_are_a_number_or_infinite(local: LocalClient) -> None:
    for seconds in (float("inf"), 1e300):
        assert local.suggest(view(), SHORT, seconds=seconds).iterations == 50
        assert [answer.id for answer in local.analyze_batch([item("a")], seconds=seconds)] == ["a"]
    with pytest.raises(ValueError, match="seconds: is not a number"):
        local.suggest(view(), SHORT, seconds=float("nan"))
    with pytest.raises(Refused, match="too little time"):
        local.suggest(view(), SHORT, seconds=-1e300)


def test_a_closed_client_refuses_calls(running: Server) -> None:
    calls: list[Callable[[Any], Any]] = [
        lambda client: client.suggest(view(), SHORT),
        lambda client: client.analyze(view(), SHORT),
        lambda client: client.compare(view(), moves("reveal", "keep"), SHORT),
        lambda client: client.analyze_batch([item("a")]),
        lambda client: client.review(record(), SHORT),
    ]
    clients: list[Client | LocalClient] = [Client(running.address), LocalClient()]
    for client in clients:
        client.close()
        for call in calls:
            with pytest.raises(ValueError, match="closed"):
                call(client)


# --- configurations, deadlines ----------------------------------------------------------------------------------


def test_a_configuration_replaces_the_default_one_and_levels_keep_theirs() -> None:
    with LocalClient(config="plain") as plain, LocalClient() as default:
        for call in CALLS[:1] + CALLS[5:7] + CALLS[9:10]:
            assert call(plain) != call(default)
        assert plain.suggest(view(), SHORT).knowledge == "none"
        assert plain.suggest(view(), None, pb.Options(level=2)).knowledge == default.suggest(view(), SHORT).knowledge


def test_a_local_client_caps_no_budget() -> None:
    with LocalClient() as client:
        budget = pb.Budget(time=milliseconds(10), iterations=10**12, memory_bytes=2**30)
        assert client.suggest(view(), budget).budget == budget
        assert client.suggest(view(), SHORT).budget.memory_bytes == 256 * 2**20


def test_a_deadline_ends_a_search_with_the_best_so_far(local: LocalClient) -> None:
    assert local.suggest(view(), LONG, seconds=0.2).stop_reason == pb.STOP_REASON_DEADLINE
    (final,) = list(local.analyze(view(), LONG, interval_ms=60_000, seconds=0.2))
    assert final.suggestion.stop_reason == pb.STOP_REASON_DEADLINE
    with pytest.raises(Refused) as failed:
        local.suggest(view(), LONG, seconds=0.001)
    assert (failed.value.code, failed.value.reason) == ("DEADLINE_EXCEEDED", "DEADLINE_TOO_SHORT")


def test_the_time_limit_of_a_review_applies_to_each_decision(local: LocalClient) -> None:
    steps = list(local.review(record(), pb.Budget(time=milliseconds(30)), seat=seat_pb2.SEAT_B))
    assert len(steps) > 5
    assert not steps[-1].summary.reproducible
    assert any(step.decision.win_loss.mean for step in steps[:-1])


def interrupt_when_it_searches() -> None:
    """Send SIGINT to this process once it has computed for 0.2 s."""

    def interrupt() -> None:
        started = time.process_time()
        while time.process_time() < started + 0.2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.suggest(view(), LONG),
        lambda client: [answer.suggestion for answer in client.analyze(view(), LONG, interval_ms=60_000)][-1],
        lambda client: client.compare(view(), moves("reveal", "keep"), pb.Budget(time=milliseconds(60_000))),
    ],
)
def test_ctrl_c_ends_a_search_with_the_best_so_far(local: LocalClient, ask: Callable[[Any], Any]) -> None:
    interrupt_when_it_searches()
    answer = ask(local)
    assert answer.stop_reason == pb.STOP_REASON_CANCELLED
    assert answer.worlds > 0


# --- streams ----------------------------------------------------------------------------------------------------


def test_the_answers_of_an_analysis_grow(local: LocalClient) -> None:
    with local.analyze(view(), LONG, interval_ms=50) as answers:
        grown = [next(answers).suggestion for _ in range(3)]
    assert 0 < grown[0].iterations < grown[1].iterations < grown[2].iterations
    times = [suggestion.elapsed.ToMilliseconds() for suggestion in grown]
    assert 0 < times[0] < times[1] < times[2]


def test_a_stream_that_the_caller_leaves_stops_its_search(local: LocalClient) -> None:
    """Leave streams in three ways; a search that went on would hold the thread or process of the next."""

    def cancel_elsewhere(stream: Any) -> None:
        threading.Timer(0.1, stream.cancel).start()
        list(stream)

    def leave(stream: Any) -> None:
        with stream:
            next(stream)

    for end in (leave, next, cancel_elsewhere):
        for stream in (
            local.analyze(view(), LONG, interval_ms=50),
            local.analyze_batch([item("a", budget=LONG, interval=milliseconds(50))]),
            local.review(record(), LONG) if end is cancel_elsewhere else local.analyze(view(), SHORT),
        ):
            end(stream)
            del stream
    assert local.suggest(view(), SHORT).iterations == 50
    assert [answer.id for answer in local.analyze_batch([item("b")])] == ["b"]


def test_a_cancelled_stream_has_no_more_answers(local: LocalClient, running: Server) -> None:
    with Client(running.address) as client:
        for caller in (local, client):
            for stream in (
                caller.analyze(view(), LONG, interval_ms=50),
                caller.analyze_batch([item("a", budget=LONG, interval=milliseconds(50)), item("b")]),
                caller.review(record(), SHORT),
            ):
                next(stream)
                stream.cancel()
                assert list(stream) == []


def test_running_and_queued_positions_of_a_batch_are_cancelled(local: LocalClient) -> None:
    """Cancel single positions and all: running searches end with the best so far, queued ones without iterations."""
    names = [str(n) for n in range(8)]
    has_progress = threading.Event()

    def requests() -> Iterator[pb.AnalyzeBatchRequest]:
        for name in names:
            yield item(name, budget=LONG, interval=milliseconds(50))
        assert has_progress.wait(30)
        yield pb.AnalyzeBatchRequest(cancel=pb.CancelItem(id="0"))
        yield pb.AnalyzeBatchRequest(cancel=pb.CancelItem(id="7"))
        yield pb.AnalyzeBatchRequest(cancel_all=pb.CancelAll())

    finals = {}
    for answer in local.analyze_batch(requests()):
        if answer.HasField("progress") and answer.id == "0":
            has_progress.set()
        elif not answer.HasField("progress"):
            assert answer.id not in finals
            finals[answer.id] = answer.suggestion
    assert sorted(finals) == names
    assert {suggestion.stop_reason for suggestion in finals.values()} == {pb.STOP_REASON_CANCELLED}
    assert finals["0"].iterations > 0
    assert finals["7"].iterations == 0


def test_requests_are_read_while_answers_arrive(local: LocalClient) -> None:
    """Make each request after the answer to the one before."""
    answered: list[str] = []
    ready = threading.Semaphore(1)

    def requests() -> Iterator[pb.AnalyzeBatchRequest]:
        for n in range(5):
            assert ready.acquire(timeout=30)
            assert len(answered) == n
            yield item(str(n))

    for answer in local.analyze_batch(requests()):
        answered.append(answer.id)
        ready.release()
    assert answered == ["0", "1", "2", "3", "4"]


def test_an_error_of_the_requests_ends_the_call(local: LocalClient) -> None:
    def requests() -> Iterator[pb.AnalyzeBatchRequest]:
        yield item("a")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(local.analyze_batch(requests()))


def test_many_positions_that_fail_at_once_are_refused_one_by_one() -> None:
    """Keep the only worker busy, so that the invalid positions fail together when it is free."""
    with LocalClient(workers=1) as client:
        busy = [item(name, budget=pb.Budget(iterations=20_000)) for name in ("a", "b")]
        for wrong in ({"interval": duration_pb2.Duration(nanos=-5_000_000)}, {"priority": 200}):
            answers = client.analyze_batch([*busy, *(item(str(n), **wrong) for n in range(1000))], seconds=60)
            errors = {answer.id: answer.error.message for answer in answers if answer.HasField("error")}
            assert len(errors) == 1000
            assert {message.partition(":")[0] for message in errors.values()} == {f"item.{next(iter(wrong))}"}
    cluster = Threads(1)  # reads a position when its search starts
    wrong_views = [*busy, *(item(str(n), HIDDEN) for n in range(1000))]
    batch = LocalBatch(read_config("default"), 1, cluster, Deadline.within(60))
    assert sum(answer.HasField("error") for answer in batch.responses(wrong_views)) == 1000
    cluster.close()


def test_the_deadline_of_a_batch_ends_its_searches_and_its_requests() -> None:
    """Check processes, and a cluster, which has no deadline of its own."""

    def requests() -> Iterator[pb.AnalyzeBatchRequest]:
        yield item("a", budget=LONG)
        may_continue.wait()
        yield item("b")

    may_continue = threading.Event()

    def check(answers: Iterator[pb.AnalyzeBatchResponse]) -> None:
        first = next(answers)
        assert (first.id, first.suggestion.stop_reason) == ("a", pb.STOP_REASON_DEADLINE)
        assert first.suggestion.iterations
        with pytest.raises((Refusal, Refused), match="before the requests ended"):
            next(answers)

    with Threads(1) as cluster, LocalClient(workers=1) as client:
        check(client.analyze_batch(requests(), seconds=0.5))
        check(LocalBatch(read_config("default"), 1, cluster, Deadline.within(0.5)).responses(requests()))
    may_continue.set()


def test_the_time_limit_of_a_position_counts_from_the_start_of_its_search(local: LocalClient) -> None:
    budget = pb.Budget(time=milliseconds(100))
    answers = list(local.analyze_batch([item(str(n), budget=budget, options=pb.Options(seed=n)) for n in range(6)]))
    assert all(answer.suggestion.iterations for answer in answers)
    assert all(answer.suggestion.elapsed.ToMilliseconds() < 1000 for answer in answers)
    assert {answer.suggestion.stop_reason for answer in answers} == {pb.STOP_REASON_TIME}


def test_a_bug_is_not_reported_as_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError("bug")

    monkeypatch.setattr("server.messages.answers.write_suggestion", broken)
    with LocalClient() as client, pytest.raises(KeyError):
        client.suggest(view(), SHORT)


# --- what it loads ----------------------------------------------------------------------------------------------

PROGRAM = f"""
import sys
from server.client import Refused, text_view
from server.client.local import LocalClient
from eminence.v1 import referee_pb2, rules_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb

def main():
    view, budget = text_view("oriflamme", "en-2019", 3, {REVEAL!r}), pb.Budget(iterations=20)
    with LocalClient(workers=3) as client:
        client.suggest(view, budget, pb.Options(information=True))
        list(client.analyze(view, budget))
        client.compare(view, [view_pb2.Action(text=text) for text in ("reveal", "keep")], budget)
        list(client.analyze_batch([pb.AnalyzeBatchRequest(item=pb.BatchItem(id="a", view=view, budget=budget))]))
        client.rules.ListGames(rules_pb2.ListGamesRequest())
        dealt = client.referee.Deal(referee_pb2.DealRequest(game=view.game))
        list(client.review(dealt.record, budget))
        try:
            client.suggest(view_pb2.View())
        except Refused as refused:
            print(refused.reason)
    print({{name.partition(".")[0] for name in sys.modules}} & {{"grpc", "prometheus_client", "ray", "asyncio"}})

if __name__ == "__main__":
    main()
"""


def test_a_local_client_imports_neither_grpc_nor_prometheus_nor_ray(tmp_path: Any) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    result = subprocess.run(
        [sys.executable, tmp_path / "program.py"], env=environment(), capture_output=True, text=True, timeout=100
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "MISSING_FIELD\nset()\n", "")
