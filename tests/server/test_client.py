"""The Python client: against the real server, and against one that fails on purpose."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
import sysconfig
import time
import tomllib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import grpc
import pytest
from process import PLACE, Server, milliseconds, server, view
from program import ROOT
from sockets import listening
from tokens import write_tokens
from waiting import wait_until

from eminence.v1 import record_pb2, referee_pb2, rules_pb2, seat_pb2, solver_pb2_grpc, view_pb2
from eminence.v1 import solver_pb2 as pb
from server.client import AsyncClient, Client, Refused, seconds_for
from server.client.requests import review_seconds

START = PLACE + "| seen by A"
LONG = pb.Budget(iterations=10**11)
SHORT = pb.Budget(iterations=50)


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    """Run a server with one thread and no queue, where an answer shows that the thread was free."""
    flags = ("--threads", "1", "--reserved", "0", "--interactive-queue", "0", "--cache-mb", "0")
    with server(*flags, metrics=True) as running:
        yield running


def is_free(client: Client) -> bool:
    """Return whether the server's thread is free."""
    try:
        return client.stub.Suggest(pb.SuggestRequest(view=view(START), budget=SHORT)).suggestion.iterations == 50
    except grpc.RpcError:
        return False


def without_retries(address: str) -> Client:
    client = Client(address)
    channel = grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)])
    client.stub = solver_pb2_grpc.SolverServiceStub(channel)
    return client


def asynchronously(work: Callable[[AsyncClient], Awaitable[None]], address: str, token: str = "") -> None:
    async def run() -> None:
        async with AsyncClient(address, token=token) as client:
            await work(client)

    asyncio.run(run())


# --- every call ------------------------------------------------------------------------------------------------


def items(*names: str) -> list[pb.AnalyzeBatchRequest]:
    return [pb.AnalyzeBatchRequest(item=pb.BatchItem(id=name, view=view(START), budget=SHORT)) for name in names]


def test_the_client_has_every_call_of_the_service() -> None:
    moves = [view_pb2.Action(text="place Spy front"), view_pb2.Action(text="place Heir front")]
    game = view_pb2.GameSpec(game_id="oriflamme", players=3)
    with server() as running, Client(running.address) as client:
        assert client.suggest(view(START), SHORT).iterations == 50
        assert [answer.last for answer in client.analyze(view(START), SHORT)][-1:] == [True]
        assert [compared.action.text for compared in client.compare(view(START), moves, SHORT).actions] == [
            move.text for move in moves
        ]
        assert sorted(answer.id for answer in client.analyze_batch(items("a", "b"))) == ["a", "b"]
        dealt = client.referee.Deal(referee_pb2.DealRequest(game=game, seed=7))
        standing = referee_pb2.Standing(record=dealt.record)
        first = moves[1]
        played = client.referee.Play(referee_pb2.PlayRequest(standing=standing, action=first))
        steps = list(client.review(played.record, SHORT, seat=seat_pb2.SEAT_A))
        assert [step.decision.played.action.text for step in steps[:-1]] == ["place Heir front"]
        assert steps[-1].summary.luck_known
        assert len(client.rules.ListGames(rules_pb2.ListGamesRequest()).games) >= 3

        async def check_async(client: AsyncClient) -> None:
            assert (await client.suggest(view(START), SHORT)).iterations == 50
            assert [answer.last async for answer in client.analyze(view(START), SHORT)][-1:] == [True]
            assert len((await client.compare(view(START), moves, SHORT)).actions) == 2
            assert sorted([answer.id async for answer in client.analyze_batch(iter(items("a", "b")))]) == ["a", "b"]
            reviewed = [step async for step in client.review(played.record, SHORT, seat=seat_pb2.SEAT_A)]
            assert [step.WhichOneof("step") for step in reviewed] == ["decision", "summary"]
            assert len((await client.rules.ListGames(rules_pb2.ListGamesRequest())).games) >= 3
            assert (await client.referee.Deal(referee_pb2.DealRequest(game=game, seed=7))).record == dealt.record

        asynchronously(check_async, running.address)


def test_the_token_goes_with_every_call(tmp_path: Path) -> None:
    deal = referee_pb2.DealRequest(game=view_pb2.GameSpec(game_id="oriflamme", players=3), seed=7)
    with server("--tokens", write_tokens(tmp_path, "a-secret")) as running:
        with Client(running.address, token="a-secret") as client:
            assert client.suggest(view(START), SHORT).iterations == 50
            assert client.referee.Deal(deal).seed == 7
            assert next(client.analyze_batch(items("a"))).id == "a"

        async def check_async(client: AsyncClient) -> None:
            assert (await client.rules.ListGames(rules_pb2.ListGamesRequest())).games
            assert (await client.suggest(view(START), SHORT)).iterations == 50

        asynchronously(check_async, running.address, token="a-secret")
        with Client(running.address, token="b-secret") as client, pytest.raises(Refused) as refused:
            client.rules.ListGames(rules_pb2.ListGamesRequest())
        assert (refused.value.code, refused.value.reason) == ("UNAUTHENTICATED", "UNAUTHENTICATED")


def test_ports_outside_the_range_are_refused() -> None:
    for address in ("127.0.0.1:65536", "localhost:0", "dns:///example.org:115587", "[::1]:99999999"):
        port = address.rpartition(":")[2]
        for kind in (Client, AsyncClient):
            with pytest.raises(ValueError, match=f"port {port} is not in 1..65535"):
                kind(address)
    for address in ("127.0.0.1:65535", "unix:/tmp/nobody", "example.org", "[::1]:1"):
        Client(address).close()


# --- deadlines -------------------------------------------------------------------------------------------------


def test_the_deadline_follows_from_the_budget() -> None:
    assert seconds_for(None) == seconds_for(pb.Budget()) == 6.0
    assert seconds_for(pb.Budget(time=milliseconds(2500), iterations=5)) == 7.5
    assert seconds_for(SHORT) == 65.0
    assert review_seconds(record_pb2.Record(), SHORT) == 3600.0
    assert review_seconds(record_pb2.Record(text="reveal\n" * 100), SHORT) == 13_000.0  # each action may be of chance


@pytest.mark.slow
def test_a_deadline_of_the_caller_ends_a_call(running: Server) -> None:
    """End with the best so far, or on a busy machine with DEADLINE_EXCEEDED."""
    client, observer = Client(running.address), without_retries(running.address)

    async def ask_asynchronously() -> Any:
        async with AsyncClient(running.address) as client:
            return (await client.suggest(view(START), LONG, seconds=2)).stop_reason

    def analyze() -> Any:
        return list(client.analyze(view(START), LONG, seconds=2))[-1].suggestion.stop_reason

    calls: list[Callable[[], Any]] = [
        lambda: client.suggest(view(START), LONG, seconds=2).stop_reason,
        lambda: asyncio.run(ask_asynchronously()),
        analyze,
    ]
    for call in calls:
        wait_until(lambda: is_free(observer))
        started = time.monotonic()
        try:
            outcome: Any = call()
        except Refused as error:
            outcome = error.code
        assert outcome in (pb.STOP_REASON_DEADLINE, "DEADLINE_EXCEEDED")
        assert 1 < time.monotonic() - started < seconds_for(LONG)


@pytest.mark.slow
def test_no_call_waits_forever() -> None:
    """Call a server that accepts connections and never answers."""
    with failing(never=True) as (address, attempts), Client(address) as client:
        with pytest.raises(Refused) as failed:
            client.rules.ListGames(rules_pb2.ListGamesRequest(), timeout=2)
        assert failed.value.args == ("DEADLINE_EXCEEDED", "Deadline Exceeded", "", "", None)
    assert attempts[0][1] <= 2.01
    with failing() as (address, attempts), Client(address) as client:
        client.rules.ListGames(rules_pb2.ListGamesRequest())
    assert 9 < attempts[0][1] <= 10.5


# --- cancelling ------------------------------------------------------------------------------------------------


def test_a_stream_that_the_caller_leaves_stops_its_search(running: Server) -> None:
    client = without_retries(running.address)

    def cancel() -> None:
        stream = client.analyze(view(START), LONG, interval_ms=50)
        next(stream)
        stream.cancel()
        assert list(stream) == []

    def leave_the_block() -> None:
        with client.analyze(view(START), LONG, interval_ms=50) as stream:
            next(stream)

    def drop() -> None:
        for _ in client.analyze(view(START), LONG, interval_ms=50):
            break

    for leave in (cancel, leave_the_block, drop):
        wait_until(lambda: is_free(client))
        leave()
    wait_until(lambda: is_free(client))


def test_with_asyncio_a_call_that_the_caller_leaves_stops_its_search(running: Server) -> None:
    observer = without_retries(running.address)

    async def cancel(client: AsyncClient) -> None:
        stream = client.analyze(view(START), LONG, interval_ms=50)
        await anext(stream)
        stream.cancel()
        assert [answer async for answer in stream] == []

    async def leave_the_block(client: AsyncClient) -> None:
        async with client.analyze(view(START), LONG, interval_ms=50) as stream:
            await anext(stream)

    async def cancel_once_searched(call: asyncio.Task[Any]) -> None:
        await asyncio.to_thread(running.wait_for_searches, 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    async def be_cancelled(client: AsyncClient) -> None:
        async def read() -> None:
            async for _ in client.analyze(view(START), LONG, interval_ms=50):
                pass

        await cancel_once_searched(asyncio.create_task(read()))

    async def be_cancelled_while_asking(client: AsyncClient) -> None:
        async def ask() -> None:
            await client.suggest(view(START), LONG)

        await cancel_once_searched(asyncio.create_task(ask()))

    async def run(leave: Callable[[AsyncClient], Awaitable[None]]) -> None:
        async with AsyncClient(running.address) as client:
            await leave(client)
            # The channel is still open: the cancel frees the thread.
            await asyncio.to_thread(wait_until, lambda: is_free(observer))

    for leave in (cancel, leave_the_block, be_cancelled, be_cancelled_while_asking):
        asyncio.run(run(leave))


# --- retries ---------------------------------------------------------------------------------------------------


@contextmanager
def failing(
    times: int = 0, *, pushback_ms: int | None = None, never: bool = False
) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Run a server that refuses the first calls, or with `never` answers none.

    Yield its address and, for each call, the time of its arrival and its remaining seconds.
    """
    attempts: list[tuple[float, float]] = []

    def answer(raw: bytes, context: Any) -> bytes:
        attempts.append((time.monotonic(), context.time_remaining()))
        while never and context.is_active():
            time.sleep(0.01)
        if len(attempts) <= times:
            if pushback_ms is not None:
                context.set_trailing_metadata((("grpc-retry-pushback-ms", str(pushback_ms)),))
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "full")
        return pb.SuggestResponse(suggestion=pb.Suggestion(iterations=len(attempts))).SerializeToString()

    class Handler(grpc.GenericRpcHandler):
        def service(self, details: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(answer)

    with listening(lambda listener: listener.add_generic_rpc_handlers((Handler(),))) as address:
        yield address, attempts


def test_the_client_retries_after_the_pushback_of_the_server() -> None:
    with failing(2, pushback_ms=300) as (address, attempts), Client(address) as client:
        assert client.suggest(view(START), SHORT).iterations == 3
        pauses = [later[0] - earlier[0] for earlier, later in pairwise(attempts)]
        assert min(pauses) >= 0.3

    with failing(2, pushback_ms=300) as (address, attempts):

        async def check_async(client: AsyncClient) -> None:
            assert (await client.suggest(view(START), SHORT)).iterations == 3

        asynchronously(check_async, address)


def test_a_negative_pushback_ends_the_retries() -> None:
    with failing(10, pushback_ms=-1) as (address, attempts), Client(address) as client:
        with pytest.raises(Refused):
            client.suggest(view(START), SHORT)
        assert len(attempts) == 1


def test_throttling_bounds_the_retries() -> None:
    with failing(1000, pushback_ms=1) as (address, attempts), Client(address) as client:
        for _ in range(20):
            with pytest.raises(Refused):
                client.suggest(view(START), SHORT)
    # Five attempts for the first call; then one for each, because none succeeds.
    assert 20 <= len(attempts) <= 25


# --- refusals --------------------------------------------------------------------------------------------------


def test_a_refusal_has_code_reason_field_and_retry_delay(running: Server) -> None:
    with Client(running.address) as client, pytest.raises(Refused) as failed:
        client.suggest(view("A:Lord >B:Heir C:? | seen by B"), SHORT)
    refused = failed.value
    assert (refused.code, refused.reason, refused.field) == ("INVALID_ARGUMENT", "HIDDEN_CARD", "view.text")
    assert refused.message == str(refused)
    assert refused.message.startswith("view.text: ")
    assert refused.retry_after is None
    full = without_retries(running.address)
    with full.analyze(view(START), LONG, interval_ms=50) as stream:
        next(stream)
        with pytest.raises(Refused) as failed:
            full.suggest(view(START), SHORT)
    refused = failed.value
    assert (refused.code, refused.reason) == ("RESOURCE_EXHAUSTED", "OVERLOADED")
    assert refused.retry_after is not None
    assert refused.retry_after >= 0.05


def test_every_call_and_every_stream_raises_a_refusal_that_can_be_pickled(running: Server) -> None:
    """Compare the refusals of both clients; a pickled refusal can go to another process."""
    wrong = view("A:Lord >B:Heir C:? | seen by B")
    request = rules_pb2.ValidateViewRequest(view=wrong)
    moves = [view_pb2.Action(text="reveal"), view_pb2.Action(text="keep")]
    client = Client(running.address)
    calls: list[Callable[[], Any]] = [
        lambda: client.suggest(wrong, SHORT),
        lambda: client.compare(wrong, moves, SHORT),
        lambda: next(client.analyze(wrong, SHORT)),
        lambda: next(client.analyze_batch([pb.AnalyzeBatchRequest()])),
        lambda: next(client.review(record_pb2.Record(), SHORT)),
        lambda: client.rules.ValidateView(request),
        lambda: client.referee.Play(referee_pb2.PlayRequest()),
    ]
    refused = []
    for call in calls:
        with pytest.raises(Refused) as failed:
            call()
        refused.append(failed.value.args)
        assert pickle.loads(pickle.dumps(failed.value)).args == failed.value.args

    async def check_async(client: AsyncClient) -> None:
        calls: list[Callable[[], Awaitable[Any]]] = [
            lambda: client.suggest(wrong, SHORT),
            lambda: client.compare(wrong, moves, SHORT),
            lambda: anext(client.analyze(wrong, SHORT)),
            lambda: anext(client.analyze_batch(iter([pb.AnalyzeBatchRequest()]))),
            lambda: anext(client.review(record_pb2.Record(), SHORT)),
            lambda: client.rules.ValidateView(request),
            lambda: client.referee.Play(referee_pb2.PlayRequest()),
        ]
        for call, args in zip(calls, refused, strict=True):
            with pytest.raises(Refused) as failed:
                await call()
            assert failed.value.args == args

    asynchronously(check_async, running.address)
    assert {args[2] for args in refused} == {"HIDDEN_CARD", "MISSING_FIELD"}


# --- the package -----------------------------------------------------------------------------------------------


def test_the_package_of_the_client_imports_only_grpc_and_the_contract(running: Server, tmp_path: Path) -> None:
    subprocess.run([ROOT / ".ci" / "client", tmp_path / "dist"], check=True, timeout=300)
    [wheel] = (tmp_path / "dist").iterdir()
    assert wheel.name.startswith("eminence_client-")
    with ZipFile(wheel) as file:
        file.extractall(tmp_path / "site")
        assert not any("local" in name for name in file.namelist())  # the local client needs the engine
    # Run without `site`, whose .pth file adds this source tree.
    code = f"import sys; sys.path[:0] = {[str(tmp_path / 'site'), sysconfig.get_path('purelib')]}; " + PROGRAM
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, running.address, START], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "50\n['eminence', 'eminence_client', 'google', 'grpc']\n"


PROGRAM = """
before = {name.partition(".")[0] for name in sys.modules} | sys.stdlib_module_names
from eminence_client import Client, text_view
from eminence.v1 import solver_pb2 as pb
with Client(sys.argv[1]) as client:
    print(client.suggest(text_view("oriflamme", "en-2019", 3, sys.argv[2]), pb.Budget(iterations=50)).iterations)
loaded = {name.partition(".")[0] for name in sys.modules} - before
# gRPC itself imports its optional packages.
print(sorted(name for name in loaded if not name.startswith(("_", "cython_", "grpc_", "typing_"))))
"""


def test_the_client_and_the_whole_package_agree_on_their_requirements() -> None:
    client, package = (
        tomllib.loads((ROOT / path).read_text("utf-8"))["project"]
        for path in ("server/client/pyproject.toml", "pyproject.toml")
    )
    assert set(client["dependencies"]) < {*package["dependencies"], *package["optional-dependencies"]["server"]}
    assert client["requires-python"] == package["requires-python"]
