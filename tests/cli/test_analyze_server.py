"""eminence analyze --server: the rows that this machine would have found, whatever is killed, cut off or full."""

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
from program import VIEW, command, environment, random_record, run, views, write_files
from waiting import HANG_S, wait_until

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc
from server.cli import position_answers
from solver.expected_signature import DIGESTS

FEW = ("--iterations", "100")
Rows = dict[tuple[str, int, int | None], dict[str, Any]]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def running():
    with server("--no-self-test") as found:
        yield found


def rows(path: Path) -> Rows:
    """The rows that are there, each once."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    told = [json.loads(line) for line in lines if line.endswith(b"\n")]
    found = {(row["file"], row["line"], row["action"]): row for row in told}
    assert len(found) == len(told)
    return found


def wait_for_rows(process: subprocess.Popen[Any], path: Path, n: int) -> None:
    wait_until(lambda: process.poll() is not None or len(rows(path)) >= n)


# --- the rows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked", [FEW, ("--iterations", "60", "--shares", "2", "--seed", "5", "--uniform"), ("--level", "1")]
)
def test_a_server_gives_the_rows_that_this_machine_finds(here, running, asked):
    """Of every game, with histories and without, of forced moves, too."""
    games = (
        ("oriflamme", "en-2019", 3),
        ("oriflamme", "fr-2019", 5),
        ("oriflamme_prototype", None, 4),
        ("castle_village_port", "house", 3),
    )
    (here / "games.txt").write_text(
        "\n".join(str(random_record(game, edition, players, 4)) for game, edition, players in games)
    )
    # The observer's own model is left out of each question.
    args = ("games.txt", "positions.txt", *asked, "--model", "B=random")
    assert run("analyze", *args, "--out", "here.jsonl", "--workers", "1").code == 0
    told = run("analyze", *args, "--out", "there.jsonl", "--server", running.address, "--json")
    found = rows(here / "here.jsonl")
    assert (told.code, told.json["answered"]) == (0, len(found))
    assert rows(here / "there.jsonl") == found
    assert {row["game"] for row in found.values()} == {game for game, _, _ in games}
    assert {row["stopped_by"] for row in found.values()} == {"iterations", "forced"}


def test_what_was_begun_here_is_gone_on_with_at_a_server(here, running):
    text = (here / "positions.txt").read_text()
    (here / "positions.txt").write_text("".join(text.splitlines(keepends=True)[:5]))
    run("analyze", "positions.txt", "--out", "r.sqlite", *FEW, "--workers", "1")
    (here / "positions.txt").write_text(text)
    told = run("analyze", "positions.txt", "--out", "r.sqlite", *FEW, "--server", running.address, "--json").json
    assert (told["answered"], told["resumed"]) == (7, 5)


def test_bad_lines_are_named_as_they_are_here(here, running):
    impossible = "A:? >B:Heir C:? | round 2 | points 1 2 3 | hands ? Heir ? | seen by B"
    (here / "bad.txt").write_text(f"{VIEW}\nA:Spy B:Nope\n{impossible}\n{VIEW.replace('by B', 'by C')}\n{VIEW}\n")
    asked = ("analyze", "bad.txt", *FEW, "--model", "C=greedy", "--out")
    ours = run(*asked, "here.jsonl", "--workers", "1")
    theirs = run(*asked, "there.jsonl", "--server", running.address)
    assert (theirs.code, sorted(theirs.err.splitlines())) == (1, sorted(ours.err.splitlines()))
    assert [line.partition(": ")[0] for line in sorted(theirs.err.splitlines())] == [f"bad.txt:{n}" for n in (2, 3, 4)]
    assert [line for _, line, _ in rows(here / "there.jsonl")] == [1, 5]
    stopped = run(*asked, "stopped.jsonl", "--server", running.address, "--bad-lines", "stop")
    assert stopped.code == 1
    assert stopped.err.startswith("eminence: bad.txt:2: ")


# --- what ends too soon -----------------------------------------------------------------------------------------


def test_killed_at_any_moment_nothing_is_lost_and_nothing_done_twice(here, running):
    (here / "many.txt").write_text("\n".join(views(400)) + "\n")
    args = ("analyze", "many.txt", "--out", "r.jsonl", "--iterations", "400", "--server", running.address, "--json")
    rng = random.Random(3)
    seen: Rows = {}
    for kill in range(3):
        with subprocess.Popen(
            command(*args), env=environment(), cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            wait_for_rows(process, here / "r.jsonl", len(seen) + rng.randrange(1, 100))
            process.kill()
        there = rows(here / "r.jsonl")
        assert len(there) > len(seen), kill
        assert there | seen == there
        seen = there
    told = run(*args).json
    assert (told["resumed"], told["answered"]) == (len(seen), 400 - len(seen))
    whole = rows(here / "r.jsonl")
    assert whole | seen == whole
    assert [line for _, line, _ in sorted(whole)] == list(range(1, 401))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_ends_is_said_and_gone_on_without(here, how):
    (here / "many.txt").write_text("\n".join(views(300)) + "\n")
    address = f"127.0.0.1:{free_port()}"
    args = ("analyze", "many.txt", "--out", "r.jsonl", "--iterations", "3000", "--server", address)
    with (
        server("--no-self-test", "--address", address) as first,
        subprocess.Popen(command(*args), env=environment(), cwd=here, stderr=subprocess.PIPE, text=True) as process,
    ):
        wait_for_rows(process, here / "r.jsonl", 5)
        first.process.send_signal(how)
        _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 1
    assert err.startswith(f"eminence: {address}: the call failed with UNAVAILABLE: ")
    assert err.endswith("; the same command resumes this run\n")
    kept = rows(here / "r.jsonl")
    assert len(kept) >= 5
    with server("--no-self-test", "--address", address):
        assert run(*args).code == 0
    found = rows(here / "r.jsonl")
    assert len(found) == 300
    assert found | kept == found
    # Nobody took for an answer what the server had when it was told to stop.
    assert {(row["stopped_by"], row["iterations"]) for row in found.values()} <= {("iterations", 3000), ("forced", 0)}


def test_interrupted_it_ends_quietly(here, running):
    (here / "many.txt").write_text("\n".join(views(300)) + "\n")
    args = ("analyze", "many.txt", "--out", "r.jsonl", "--iterations", "5000", "--server", running.address)
    with subprocess.Popen(command(*args), env=environment(), cwd=here, stderr=subprocess.PIPE) as process:
        wait_for_rows(process, here / "r.jsonl", 1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err.strip()) == (130, b"")


# --- what a server may do ---------------------------------------------------------------------------------------

Answer = Callable[[pb.BatchItem, int], "pb.AnalyzeBatchResponse | None"]


class Scripted(solver_pb2_grpc.SolverServiceServicer):
    """A server that answers as a test says: `answer` is given each item, and the number of the call, from 0. Where it
    has none, the call is cut off. So many calls are refused first."""

    def __init__(self, answer: Answer, refusals: int = 0) -> None:
        self.calls = 0
        self.asked: list[str] = []
        self.refusals = refusals
        self._answer = answer

    def Suggest(self, request: Any, context: Any) -> Any:
        """Nobody asks for this, nor for what is not written here."""
        raise NotImplementedError

    Compare = Review = Suggest

    def Analyze(self, request: Any, context: Any) -> Iterator[pb.AnalyzeResponse]:
        yield pb.AnalyzeResponse(suggestion=pb.Suggestion(engine_signature="e1", budget=request.budget), last=True)

    def AnalyzeBatch(self, requests: Any, context: Any) -> Iterator[pb.AnalyzeBatchResponse]:
        if self.refusals:
            self.refusals -= 1
            context.abort_with_status(rpc_status.to_status(full(10)))
        call, self.calls = self.calls, self.calls + 1
        for request in requests:
            self.asked.append(request.item.id)
            found = self._answer(request.item, call)
            if found is None:
                context.abort(grpc.StatusCode.UNAVAILABLE, "cut off")
            assert found is not None
            yield found


@contextmanager
def serving(servicer: solver_pb2_grpc.SolverServiceServicer) -> Iterator[str]:
    """Its address."""
    running = grpc.server(ThreadPoolExecutor(4))
    solver_pb2_grpc.add_SolverServiceServicer_to_server(servicer, running)
    port = running.add_insecure_port("127.0.0.1:0")
    running.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        running.stop(None).wait()


@contextmanager
def scripted(answer: Answer, refusals: int = 0) -> Iterator[tuple[Scripted, str]]:
    servicer = Scripted(answer, refusals)
    with serving(servicer) as address:
        yield servicer, address


def full(milliseconds: int) -> status_pb2.Status:
    """There is no room before so long."""
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromMilliseconds(milliseconds)
    status = status_pb2.Status(code=code_pb2.RESOURCE_EXHAUSTED, message="too many")
    status.details.add().Pack(retry)
    return status


def found(item: pb.BatchItem, reason: Any = pb.STOP_REASON_ITERATIONS, engine: str = "e1") -> pb.AnalyzeBatchResponse:
    suggestion = pb.Suggestion(stop_reason=reason, engine_signature=engine, iterations=7)
    suggestion.best.text = "keep"
    suggestion.candidates.add(visits=7).action.text = "keep"
    return pb.AnalyzeBatchResponse(id=item.id, suggestion=suggestion)


def asked_of(address: str) -> tuple[str, ...]:
    return ("analyze", "positions.txt", "--out", "r.jsonl", *FEW, "--server", address)


def test_a_call_that_was_cut_off_is_made_again_as_long_as_it_leads_anywhere(here):
    """Servers end connections by their age; a night of positions is longer."""
    with scripted(lambda item, call: found(item) if int(item.id) < 5 * (call + 1) else None) as (servicer, address):
        assert run(*asked_of(address)).code == 0
    assert servicer.calls == 3
    assert len(rows(here / "r.jsonl")) == 12


def test_a_server_that_answers_nothing_is_not_asked_for_ever(here):
    with scripted(lambda item, call: None) as (servicer, address):
        told = run(*asked_of(address))
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith(f"eminence: {address}: the call failed with UNAVAILABLE: cut off")
    assert servicer.calls <= 5  # gRPC's own attempts


def test_a_server_that_only_ends_searches_too_soon_is_not_asked_for_ever(here):
    with scripted(lambda item, call: found(item, pb.STOP_REASON_SHUTDOWN)) as (_, address):
        told = run(*asked_of(address))
    assert told.code == 1
    assert "stops its searches before they are complete" in told.err
    assert not rows(here / "r.jsonl")


def test_what_the_call_or_the_server_ended_is_asked_again(here):
    reasons = [pb.STOP_REASON_SHUTDOWN, pb.STOP_REASON_DEADLINE, pb.STOP_REASON_CANCELLED]

    def answer(item: pb.BatchItem, call: int) -> pb.AnalyzeBatchResponse:
        is_cut = call == 0 and 0 < int(item.id) <= len(reasons)
        return found(item, reasons[int(item.id) - 1]) if is_cut else found(item)

    with scripted(answer) as (servicer, address):
        assert run(*asked_of(address)).code == 0
    assert servicer.calls == 2
    assert {row["stopped_by"] for row in rows(here / "r.jsonl").values()} == {"iterations"}
    assert sorted(servicer.asked) == sorted([*map(str, range(12)), "1", "2", "3"])


def test_where_there_is_no_room_it_waits_as_long_as_it_is_told(here):
    refused = set()

    def answer(item: pb.BatchItem, call: int) -> pb.AnalyzeBatchResponse:
        if item.id in refused or int(item.id) % 4:
            return found(item)
        refused.add(item.id)
        return pb.AnalyzeBatchResponse(id=item.id, error=full(200))

    with scripted(answer) as (servicer, address):
        begun = time.monotonic()
        assert run(*asked_of(address)).code == 0
    assert time.monotonic() - begun > 3 * 0.2
    assert len(servicer.asked) == 12 + 3
    assert len(rows(here / "r.jsonl")) == 12


def test_a_call_that_is_refused_for_now_is_made_again(here):
    """As often as needed: gRPC itself tries five times."""
    with scripted(lambda item, call: found(item), refusals=6) as (servicer, address):
        assert run(*asked_of(address)).code == 0
    assert servicer.refusals == 0
    assert len(rows(here / "r.jsonl")) == 12


def test_a_position_that_is_refused_is_named_and_the_others_are_answered(here):
    def answer(item: pb.BatchItem, call: int) -> pb.AnalyzeBatchResponse:
        if item.id != "3":
            return found(item)
        response = pb.AnalyzeBatchResponse(id=item.id)
        response.error.code, response.error.message = code_pb2.INTERNAL, "our mistake; name incident 5"
        return response

    with scripted(answer) as (_, address):
        told = run(*asked_of(address))
    assert (told.code, told.err) == (1, "positions.txt:4: our mistake; name incident 5\n")
    assert len(rows(here / "r.jsonl")) == 11


def test_answers_of_two_engines_are_not_mixed(here):
    with scripted(lambda item, call: found(item, engine="e1" if item.id != "2" else "e2")) as (_, address):
        told = run(*asked_of(address))
        assert told.code == 1
        assert "the engine of oriflamme en-2019 changed from e1 to e2; its answers differ" in told.err
        assert len(rows(here / "r.jsonl")) == 2
    local = run(*asked_of(address)[:-2])
    assert local.code == 1
    assert f"the engine of oriflamme en-2019 is {DIGESTS['oriflamme']['en-2019']} now, and was e1" in local.err


def test_a_server_has_only_so_many_positions_at_a_time(here, monkeypatch):
    monkeypatch.setattr(position_answers, "IN_FLIGHT_MAX", 5)

    class Slow(Scripted):
        """Reads as far ahead as it is let before it answers."""

        under_way_most = 0

        def AnalyzeBatch(self, requests: Any, context: Any) -> Iterator[pb.AnalyzeBatchResponse]:
            held: list[pb.BatchItem] = []
            with ThreadPoolExecutor(1) as reader:
                reader.submit(lambda: held.extend(request.item for request in requests))
                for answered in range(12):
                    wait_until(partial(self._is_as_far_ahead_as_ever, held, answered))
                    time.sleep(0.05)  # in which another position might come
                    self.under_way_most = max(self.under_way_most, len(held) - answered)
                    yield found(held[answered])

        @staticmethod
        def _is_as_far_ahead_as_ever(held: list[pb.BatchItem], answered: int) -> bool:
            return len(held) >= min(answered + 5, 12)

    slow = Slow(lambda item, call: None)
    with serving(slow) as address:
        assert run(*asked_of(address)).code == 0
    assert slow.under_way_most == 5


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "flag"),
    [(("--workers", "2"), "workers"), (("--ray-address", "local"), "ray-address"), (("--config", "plain"), "config")],
)
def test_what_only_this_process_could_do_is_refused(here, args, flag):
    told = run(*asked_of("127.0.0.1:1"), *args)
    assert told.code == 1
    assert told.err == f"eminence: --{flag} cannot be used with --server\n"
    assert not (here / "r.jsonl").exists()


def test_a_server_that_is_not_there_leaves_no_file(here):
    address = f"127.0.0.1:{free_port()}"
    told = run(*asked_of(address), "--json")
    assert told.code == 1
    assert json.loads(told.err)["error"]["reason"] == "UNAVAILABLE"
    assert address in told.err
    assert not (here / "r.jsonl").exists()


def test_a_server_that_grants_less_is_said_before_anything_is_asked(here):
    with server("--no-self-test", "--iterations-max", "50", "--time-max-ms", "900", "--memory-max-mb", "16") as running:
        for args, why in (
            (("--iterations", "100"), "iterations: {} grants 50 at most"),
            (("--time-ms", "1000"), "time-ms: {} grants 900 at most"),
            (("--iterations", "50", "--memory-mb", "17"), "memory-mb: {} grants 16 at most"),
        ):
            told = run("analyze", "positions.txt", "--out", "r.jsonl", *args, "--server", running.address)
            assert (told.code, told.err) == (1, f"eminence: {why.format(running.address)}\n")
        assert not (here / "r.jsonl").exists()
        told = run("analyze", "view.txt", "--out", "r.jsonl", "--iterations", "50", "--server", running.address)
        assert told.code == 0


def test_a_server_that_wants_a_token_is_told_one(here):
    from hashlib import sha256

    (here / "tokens.toml").write_text(f'[ann]\ntoken_sha256 = "{sha256(b"secret").hexdigest()}"\n')
    with server("--no-self-test", "--tokens", str(here / "tokens.toml")) as running:
        assert "UNAUTHENTICATED" in run(*asked_of(running.address)).err
        assert run(*asked_of(running.address), EMINENCE_TOKEN="secret").code == 0
