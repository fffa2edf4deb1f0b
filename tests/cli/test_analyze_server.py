"""eminence analyze --server: the rows of a local run, through kills, lost connections and full servers."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status
from process import free_port, server
from program import VIEW, command, environment, random_record, run, views
from sockets import listening
from tokens import write_tokens
from waiting import HANG_S, wait_until

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc
from server.cli import position_answers
from solver.expected_signature import DIGESTS

FEW = ("--iterations", "100")
Rows = dict[tuple[str, int, int | None], dict[str, Any]]


@pytest.fixture(scope="module")
def running():
    with server() as running:
        yield running


def rows(path: Path) -> Rows:
    """Return the complete rows of a file by key; check that no key occurs twice."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    complete = [json.loads(line) for line in lines if line.endswith(b"\n")]
    by_key = {(row["file"], row["line"], row["action"]): row for row in complete}
    assert len(by_key) == len(complete)
    return by_key


def wait_for_rows(process: subprocess.Popen[Any], path: Path, n: int) -> None:
    wait_until(lambda: process.poll() is not None or len(rows(path)) >= n)


# --- the rows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(FEW, marks=pytest.mark.slow),
        pytest.param(("--iterations", "60", "--shares", "2", "--seed", "5", "--uniform"), marks=pytest.mark.slow),
        ("--level", "1"),
    ],
)
def test_a_server_gives_the_rows_of_a_local_run(folder, running, options):
    """Compare positions of every game, with and without histories, and forced moves."""
    games = (
        ("oriflamme", "en-2019", 3),
        ("oriflamme", "fr-2019", 5),
        ("oriflamme_prototype", None, 4),
        ("castle_village_port", "house", 3),
    )
    (folder / "games.txt").write_text(
        "\n".join(str(random_record(game, edition, players, 4)) for game, edition, players in games)
    )
    # Each question leaves out the model of its own observer.
    args = ("games.txt", "positions.txt", *options, "--model", "B=random")
    assert run("analyze", *args, "--out", "here.jsonl", "--workers", "1").code == 0
    output = run("analyze", *args, "--out", "there.jsonl", "--server", running.address, "--json")
    local_rows = rows(folder / "here.jsonl")
    assert (output.code, output.json["answered"]) == (0, len(local_rows))
    assert rows(folder / "there.jsonl") == local_rows
    assert {row["game"] for row in local_rows.values()} == {game for game, _, _ in games}
    assert {row["stopped_by"] for row in local_rows.values()} == {"iterations", "forced"}


def test_a_local_run_is_resumed_with_a_server(folder, running):
    text = (folder / "positions.txt").read_text()
    (folder / "positions.txt").write_text("".join(text.splitlines(keepends=True)[:5]))
    run("analyze", "positions.txt", "--out", "r.sqlite", *FEW, "--workers", "1")
    (folder / "positions.txt").write_text(text)
    summary = run("analyze", "positions.txt", "--out", "r.sqlite", *FEW, "--server", running.address, "--json").json
    assert (summary["answered"], summary["resumed"]) == (7, 5)


def test_bad_lines_are_named_as_in_a_local_run(folder, running):
    impossible = "A:? >B:Heir C:? | round 2 | points 1 2 3 | hands ? Heir ? | seen by B"
    (folder / "bad.txt").write_text(f"{VIEW}\nA:Spy B:Nope\n{impossible}\n{VIEW.replace('by B', 'by C')}\n{VIEW}\n")
    args = ("analyze", "bad.txt", *FEW, "--model", "C=greedy", "--out")
    local = run(*args, "here.jsonl", "--workers", "1")
    remote = run(*args, "there.jsonl", "--server", running.address)
    assert (remote.code, sorted(remote.err.splitlines())) == (1, sorted(local.err.splitlines()))
    assert [line.partition(": ")[0] for line in sorted(remote.err.splitlines())] == [f"bad.txt:{n}" for n in (2, 3, 4)]
    assert [line for _, line, _ in rows(folder / "there.jsonl")] == [1, 5]
    stopped = run(*args, "stopped.jsonl", "--server", running.address, "--bad-lines", "stop")
    assert stopped.code == 1
    assert stopped.err.startswith("eminence: bad.txt:2: ")


# --- kills and interrupts ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_kills_at_any_moment_lose_no_row_and_repeat_none(folder, running):
    (folder / "many.txt").write_text("\n".join(views(400)) + "\n")
    args = ("analyze", "many.txt", "--out", "r.jsonl", "--iterations", "400", "--server", running.address, "--json")
    rng = random.Random(3)
    earlier: Rows = {}
    for kill in range(3):
        with subprocess.Popen(
            command(*args), env=environment(), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            wait_for_rows(process, folder / "r.jsonl", len(earlier) + rng.randrange(1, 100))
            process.kill()
        now = rows(folder / "r.jsonl")
        assert len(now) > len(earlier), kill
        assert now | earlier == now
        earlier = now
    summary = run(*args).json
    assert (summary["resumed"], summary["answered"]) == (len(earlier), 400 - len(earlier))
    all_rows = rows(folder / "r.jsonl")
    assert all_rows | earlier == all_rows
    assert [line for _, line, _ in sorted(all_rows)] == list(range(1, 401))


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_ends_is_an_error_and_the_run_can_be_resumed(folder, ending):
    (folder / "many.txt").write_text("\n".join(views(300)) + "\n")
    address = f"127.0.0.1:{free_port()}"
    args = ("analyze", "many.txt", "--out", "r.jsonl", "--iterations", "3000", "--server", address)
    with (
        server("--address", address) as first,
        subprocess.Popen(command(*args), env=environment(), cwd=folder, stderr=subprocess.PIPE, text=True) as process,
    ):
        wait_for_rows(process, folder / "r.jsonl", 5)
        first.process.send_signal(ending)
        _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 1
    assert err.startswith(f"eminence: {address}: the call failed with UNAVAILABLE: ")
    assert err.endswith("; the same command resumes this run\n")
    before = rows(folder / "r.jsonl")
    assert len(before) >= 5
    with server("--address", address):
        assert run(*args).code == 0
    all_rows = rows(folder / "r.jsonl")
    assert len(all_rows) == 300
    assert all_rows | before == all_rows
    # No answer that the shutdown of the server cut short became a row.
    assert {(row["stopped_by"], row["iterations"]) for row in all_rows.values()} <= {
        ("iterations", 3000),
        ("forced", 0),
    }


def test_an_interrupted_run_ends_quietly(folder, running):
    (folder / "many.txt").write_text("\n".join(views(300)) + "\n")
    args = ("analyze", "many.txt", "--out", "r.jsonl", "--iterations", "5000", "--server", running.address)
    with subprocess.Popen(command(*args), env=environment(), cwd=folder, stderr=subprocess.PIPE) as process:
        wait_for_rows(process, folder / "r.jsonl", 1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err.strip()) == (130, b"")


# --- servers that fail ------------------------------------------------------------------------------------------

Answer = Callable[[pb.BatchItem, int], "pb.AnalyzeBatchResponse | None"]


class Scripted(solver_pb2_grpc.SolverServiceServicer):
    """A server that refuses `refusals` calls and then answers by `answer`.

    `answer` gets each item and the number of the call, from 0; if it returns None, the server cuts the call off.
    """

    def __init__(self, answer: Answer, refusals: int = 0) -> None:
        self.calls = 0
        self.items: list[str] = []
        self.refusals = refusals
        self._answer = answer

    def Suggest(self, request: Any, context: Any) -> Any:
        """Fail: the program calls neither this method nor a missing one."""
        raise NotImplementedError

    Compare = CompareStream = Review = WriteReport = Suggest

    def Analyze(self, request: Any, context: Any) -> Iterator[pb.AnalyzeResponse]:
        yield pb.AnalyzeResponse(suggestion=pb.Suggestion(engine_signature="e1", budget=request.budget), last=True)

    def AnalyzeBatch(self, requests: Any, context: Any) -> Iterator[pb.AnalyzeBatchResponse]:
        if self.refusals:
            self.refusals -= 1
            context.abort_with_status(rpc_status.to_status(full(10)))
        call, self.calls = self.calls, self.calls + 1
        for request in requests:
            self.items.append(request.item.id)
            response = self._answer(request.item, call)
            if response is None:
                context.abort(grpc.StatusCode.UNAVAILABLE, "cut off")
            assert response is not None
            yield response


@contextmanager
def serving(servicer: solver_pb2_grpc.SolverServiceServicer) -> Iterator[str]:
    """Run a server; yield its address."""
    with listening(partial(solver_pb2_grpc.add_SolverServiceServicer_to_server, servicer)) as address:
        yield address


@contextmanager
def scripted(answer: Answer, refusals: int = 0) -> Iterator[tuple[Scripted, str]]:
    servicer = Scripted(answer, refusals)
    with serving(servicer) as address:
        yield servicer, address


def full(milliseconds: int) -> status_pb2.Status:
    """Return the status of a full server, with this retry delay."""
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromMilliseconds(milliseconds)
    status = status_pb2.Status(code=code_pb2.RESOURCE_EXHAUSTED, message="too many")
    status.details.add().Pack(retry)
    return status


def answer_to(
    item: pb.BatchItem, reason: Any = pb.STOP_REASON_ITERATIONS, engine: str = "e1"
) -> pb.AnalyzeBatchResponse:
    suggestion = pb.Suggestion(stop_reason=reason, engine_signature=engine, iterations=7)
    suggestion.best.text = "keep"
    suggestion.candidates.add(visits=7).action.text = "keep"
    return pb.AnalyzeBatchResponse(id=item.id, suggestion=suggestion)


def arguments_for(address: str) -> tuple[str, ...]:
    return ("analyze", "positions.txt", "--out", "r.jsonl", *FEW, "--server", address)


def test_a_call_that_was_cut_off_is_repeated_while_it_makes_progress(folder):
    """Servers close old connections, and a long run outlives them."""
    with scripted(lambda item, call: answer_to(item) if int(item.id) < 5 * (call + 1) else None) as (servicer, address):
        assert run(*arguments_for(address)).code == 0
    assert servicer.calls == 3
    assert len(rows(folder / "r.jsonl")) == 12


@pytest.mark.slow
def test_a_server_that_answers_nothing_ends_the_run(folder):
    with scripted(lambda item, call: None) as (servicer, address):
        output = run(*arguments_for(address))
    assert (output.code, output.out) == (1, "")
    assert output.err.startswith(f"eminence: {address}: the call failed with UNAVAILABLE: cut off")
    assert servicer.calls <= 5  # gRPC's own attempts


def test_a_server_that_ends_every_search_too_soon_ends_the_run(folder):
    with scripted(lambda item, call: answer_to(item, pb.STOP_REASON_SHUTDOWN)) as (_, address):
        output = run(*arguments_for(address))
    assert output.code == 1
    assert "stops its searches before they are complete" in output.err
    assert not rows(folder / "r.jsonl")


def test_searches_that_the_call_or_the_server_ended_are_repeated(folder):
    reasons = [pb.STOP_REASON_SHUTDOWN, pb.STOP_REASON_DEADLINE, pb.STOP_REASON_CANCELLED]

    def answer(item: pb.BatchItem, call: int) -> pb.AnalyzeBatchResponse:
        is_cut = call == 0 and 0 < int(item.id) <= len(reasons)
        return answer_to(item, reasons[int(item.id) - 1]) if is_cut else answer_to(item)

    with scripted(answer) as (servicer, address):
        assert run(*arguments_for(address)).code == 0
    assert servicer.calls == 2
    assert {row["stopped_by"] for row in rows(folder / "r.jsonl").values()} == {"iterations"}
    assert sorted(servicer.items) == sorted([*map(str, range(12)), "1", "2", "3"])


def test_a_refused_item_is_repeated_after_the_retry_delay(folder):
    refused = set()

    def answer(item: pb.BatchItem, call: int) -> pb.AnalyzeBatchResponse:
        if item.id in refused or int(item.id) % 4:
            return answer_to(item)
        refused.add(item.id)
        return pb.AnalyzeBatchResponse(id=item.id, error=full(200))

    with scripted(answer) as (servicer, address):
        started = time.monotonic()
        assert run(*arguments_for(address)).code == 0
    assert time.monotonic() - started > 3 * 0.2
    assert len(servicer.items) == 12 + 3
    assert len(rows(folder / "r.jsonl")) == 12


@pytest.mark.slow
def test_a_call_that_is_refused_for_lack_of_room_is_repeated(folder):
    """Refuse more often than gRPC itself retries, which is five times."""
    with scripted(lambda item, call: answer_to(item), refusals=6) as (servicer, address):
        assert run(*arguments_for(address)).code == 0
    assert servicer.refusals == 0
    assert len(rows(folder / "r.jsonl")) == 12


def test_a_refused_position_is_named_and_the_others_are_answered(folder):
    def answer(item: pb.BatchItem, call: int) -> pb.AnalyzeBatchResponse:
        if item.id != "3":
            return answer_to(item)
        response = pb.AnalyzeBatchResponse(id=item.id)
        response.error.code, response.error.message = code_pb2.INTERNAL, "our mistake; name incident 5"
        return response

    with scripted(answer) as (_, address):
        output = run(*arguments_for(address))
    assert (output.code, output.err) == (1, "positions.txt:4: our mistake; name incident 5\n")
    assert len(rows(folder / "r.jsonl")) == 11


def test_answers_of_two_engines_are_not_mixed(folder):
    with scripted(lambda item, call: answer_to(item, engine="e1" if item.id != "2" else "e2")) as (_, address):
        output = run(*arguments_for(address))
        assert output.code == 1
        assert "the engine of oriflamme en-2019 changed from e1 to e2; its answers differ" in output.err
        assert len(rows(folder / "r.jsonl")) == 2
    local = run(*arguments_for(address)[:-2])
    assert local.code == 1
    assert f"the engine of oriflamme en-2019 changed from e1 to {DIGESTS['oriflamme']['en-2019']}" in local.err


def test_the_number_of_positions_in_flight_is_bounded(folder, monkeypatch):
    monkeypatch.setattr(position_answers, "IN_FLIGHT_MAX", 5)

    class Slow(Scripted):
        """A server that reads ahead as far as the program sends before it answers."""

        under_way_most = 0

        def AnalyzeBatch(self, requests: Any, context: Any) -> Iterator[pb.AnalyzeBatchResponse]:
            held: list[pb.BatchItem] = []
            with ThreadPoolExecutor(1) as reader:
                reader.submit(lambda: held.extend(request.item for request in requests))
                for answered in range(12):
                    wait_until(partial(self._has_read_ahead, held, answered))
                    time.sleep(0.05)  # time for a position too many
                    self.under_way_most = max(self.under_way_most, len(held) - answered)
                    yield answer_to(held[answered])

        @staticmethod
        def _has_read_ahead(held: list[pb.BatchItem], answered: int) -> bool:
            return len(held) >= min(answered + 5, 12)

    slow = Slow(lambda item, call: None)
    with serving(slow) as address:
        assert run(*arguments_for(address)).code == 0
    assert slow.under_way_most == 5


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "flag"),
    [(("--workers", "2"), "workers"), (("--ray-address", "local"), "ray-address"), (("--config", "plain"), "config")],
)
def test_options_of_local_runs_are_refused(folder, args, flag):
    output = run(*arguments_for("127.0.0.1:1"), *args)
    assert output.code == 1
    assert output.err == f"eminence: --{flag} cannot be used with --server\n"
    assert not (folder / "r.jsonl").exists()


@pytest.mark.slow
def test_an_unreachable_server_leaves_no_file(folder):
    address = f"127.0.0.1:{free_port()}"
    output = run(*arguments_for(address), "--json")
    assert output.code == 1
    assert json.loads(output.err)["error"]["reason"] == "UNAVAILABLE"
    assert address in output.err
    assert not (folder / "r.jsonl").exists()


def test_caps_below_the_budget_are_an_error_before_the_first_search(folder):
    with server("--iterations-max", "50", "--time-max-ms", "900", "--memory-max-mb", "16") as running:
        for args, why in (
            (("--iterations", "100"), "iterations: {} grants 50 at most"),
            (("--time-ms", "1000"), "time-ms: {} grants 900 at most"),
            (("--iterations", "50", "--memory-mb", "17"), "memory-mb: {} grants 16 at most"),
        ):
            output = run("analyze", "positions.txt", "--out", "r.jsonl", *args, "--server", running.address)
            assert (output.code, output.err) == (1, f"eminence: {why.format(running.address)}\n")
        assert not (folder / "r.jsonl").exists()
        output = run("analyze", "view.txt", "--out", "r.jsonl", "--iterations", "50", "--server", running.address)
        assert output.code == 0


def test_the_token_reaches_the_server(folder):
    with server("--tokens", write_tokens(folder, "secret")) as running:
        assert "UNAUTHENTICATED" in run(*arguments_for(running.address)).err
        assert run(*arguments_for(running.address), EMINENCE_TOKEN="secret").code == 0
