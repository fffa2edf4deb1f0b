"""The HTTP door: it answers and refuses as gRPC does, and lets in neither other web sites nor silent clients."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import re
import socket
import struct
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import grpc
import pytest
from certificates import make_certificate
from google.protobuf import json_format
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from messages import damaged
from mutations import damaged_bytes
from process import PLACE, Server, server, suggest
from waiting import HANG_S, wait_until
from web import Outcome, connect_outcome, enveloped, envelopes, post, post_json, request

from eminence.v1 import referee_pb2, rules_pb2, rules_pb2_grpc, seat_pb2, table_pb2
from eminence.v1 import solver_pb2 as pb
from engine_cy import new_game
from engine_cy.pictures import DARK, LIGHT
from engine_cy.record import Record
from server.app import SERVICES
from server.codec import positions, records, views
from server.rpc.callers import Callers
from server.rpc.handlers import add_service
from server.rpc.routes import MESSAGE_MAX, Routes
from server.services.solver import SERVICE as SOLVER
from server.settings import Settings
from server.telemetry import Telemetry
from server.web.calls import BODY_MAX
from server.web.door import HEADERS, POLICY, Door
from server.web.files import BUNDLE, read_files
from server.web.listener import Listener

LIST = "/eminence.v1.RulesService/ListRulesets"
SUGGEST = "/eminence.v1.SolverService/Suggest"
ANALYZE = "/eminence.v1.SolverService/Analyze"
START = PLACE + "| seen by A"
FLAGS = ("--threads", "2", "--cache-mb", "0", "--drain-ms", "100", "--caller-tables", "1000", "--tables-max", "1000")
METHODS = {
    f"/{service.full_name}/{method.name}": method
    for service in SERVICES
    for method in service.methods
    if not method.client_streaming
}


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server(*FLAGS, web=True, metrics=True) as running:
        yield running


# --- the twins: both doors answer alike ------------------------------------------------------------------------


def requests_of() -> dict[str, list[Any]]:
    """Return valid requests for each method."""
    game = new_game("oriflamme", "en-2019", 3)
    start = position = game.deal(seed=3)
    record = Record(start)
    for _ in range(4):
        record = record.play(position.legal_actions()[0])
        position = position.play(position.legal_actions()[0])
    view = views.write_view(position.view(position.to_act or 0))
    choice = str(position.legal_actions()[0])
    spec = view.game
    budget = pb.Budget(iterations=20)
    whole = records.write(record)
    unplayed = pb.ReviewSummary(seats=[pb.SeatReview(seat=seat) for seat in seat_pb2.Seat.values()[1:4]])
    standing = referee_pb2.Standing(position=positions.write(start))
    first = [views.write_action(action) for action in start.legal_actions()[:2]]
    return {
        "Suggest": [pb.SuggestRequest(view=view, budget=budget)],
        "Analyze": [pb.AnalyzeRequest(view=view, budget=budget)],
        "Review": [pb.ReviewRequest(record=whole, budget=budget)],
        "WriteReport": [pb.WriteReportRequest(record=records.write(Record(start)), summary=unplayed)],
        "Compare": [pb.CompareRequest(view=views.write_view(start.view(0)), actions=first, budget=budget)],
        "CompareStream": [
            pb.CompareStreamRequest(
                compare=pb.CompareRequest(view=views.write_view(start.view(0)), actions=first, budget=budget)
            )
        ],
        "ListGames": [rules_pb2.ListGamesRequest()],
        "ListRulesets": [rules_pb2.ListRulesetsRequest(game_id="oriflamme")],
        "ListSwitches": [rules_pb2.ListSwitchesRequest(game_id="castle_village_port")],
        "ListCards": [rules_pb2.ListCardsRequest(game=spec)],
        "ValidateView": [rules_pb2.ValidateViewRequest(view=view)],
        "ListLegalActions": [rules_pb2.ListLegalActionsRequest(view=view)],
        "ReadText": [rules_pb2.ReadTextRequest(game=spec, view=str(position.view(0)))],
        "WriteText": [rules_pb2.WriteTextRequest(record=whole)],
        "GetServer": [rules_pb2.GetServerRequest()],
        "CheckDraft": [rules_pb2.CheckDraftRequest(view=views.write_view(position.view(0)))],
        "PlaySeen": [rules_pb2.PlaySeenRequest(view=view, action=views.write_seen(game, None, choice))],
        "ReplayRecord": [rules_pb2.ReplayRecordRequest(record=whole)],
        "Deal": [referee_pb2.DealRequest(game=spec, seed=5)],
        "Play": [referee_pb2.PlayRequest(standing=standing, action=first[0])],
        "GetViews": [referee_pb2.GetViewsRequest(standing=standing)],
        "GetResult": [referee_pb2.GetResultRequest(standing=standing)],
        "OpenTable": [table_pb2.OpenTableRequest(game=spec, sitters=[table_pb2.Sitter()] * 3, seed=5)],
        **{
            name: [getattr(table_pb2, f"{name}Request")(key="x" * 32)]
            for name in ("GetTable", "WatchTable", "TakeBack", "GetTableRecord", "CloseTable")
        },
        "Act": [table_pb2.ActRequest(key="x" * 32, action=first[0])],
        "GetRecord": [referee_pb2.GetRecordRequest(record=whole, seat=seat_pb2.SEAT_A)],
    }


def grpc_outcome(channel: grpc.Channel, path: str, raw: bytes, *, streams: bool) -> Outcome:
    answers: list[bytes] = []
    try:
        if streams:
            call: Any = channel.unary_stream(path)
            answers.extend(call(raw, timeout=HANG_S))
        else:
            single: Any = channel.unary_unary(path)
            answers.append(single(raw, timeout=HANG_S))
    except grpc.RpcError as refused:
        error: Any = refused
        status = rpc_status.from_call(error)
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        for detail in status.details if status else ():
            detail.Unpack(info)
            detail.Unpack(bad)
        fields = tuple((violation.field, violation.description) for violation in bad.field_violations)
        return Outcome(error.code().name, error.details(), info.reason, fields, tuple(answers))
    return Outcome("OK", "", "", (), tuple(answers))


def comparable(outcome: Outcome, method: Any) -> Outcome:
    """Return an outcome without times, and without answers that time limits."""
    kind = GetMessageClass(method.output_type)
    answers = []
    for raw in outcome.answers:
        answer: Any = kind.FromString(raw)
        for name in ("suggestion", "comparison", "summary"):
            if name in answer.DESCRIPTOR.fields_by_name and answer.HasField(name):
                part = getattr(answer, name)
                if "elapsed" in part.DESCRIPTOR.fields_by_name:
                    part.ClearField("elapsed")
                if not part.reproducible:
                    answer = kind()
        answers.append(answer.SerializeToString(deterministic=True))
    if method.server_streaming:  # answers on the way depend on time
        answers = answers[-1:] if outcome.code == "OK" else []
    return outcome._replace(answers=tuple(answers))


def test_each_method_has_its_request() -> None:
    assert set(requests_of()) >= {method.name for method in METHODS.values()}


def codes_of_both(path: str, running: Server, n_damaged: int, seed: str = "") -> list[str]:
    """Call a method with valid and damaged requests at both doors, which must agree; return the codes.

    Of the damaged requests, two of three are messages, and the others bytes.
    """
    method = METHODS[path]
    draw = random.Random(path + seed)
    streams = method.server_streaming
    codes: list[str] = []
    with running.channel() as channel:
        for message in requests_of()[method.name]:
            raws = [message.SerializeToString()]
            raws += [damaged(message, draw).SerializeToString() for _ in range(n_damaged * 2 // 3)]
            raws += [damaged_bytes(raws[0], draw) for _ in range(n_damaged // 3)] if raws[0] else [b"\xff"]
            for raw in raws:
                expected = comparable(grpc_outcome(channel, path, raw, streams=streams), method)
                found = comparable(connect_outcome(running.web, path, raw, streams=streams), method)
                codes.append(expected.code)
                is_random = method.name == "OpenTable" or (method.name in ("Deal", "Play") and raw is not raws[0])
                if is_random and expected.code == "OK":  # keys, and a request that lost its seed has a random one
                    assert found.code == "OK"
                    continue
                assert found == expected
    return codes


@pytest.mark.parametrize("path", METHODS)
def test_both_doors_answer_and_refuse_alike(path: str, running: Server) -> None:
    codes = set(codes_of_both(path, running, 18))
    assert codes & {"OK", "NOT_FOUND"}
    assert "INVALID_ARGUMENT" in codes


@pytest.mark.slow
def test_both_doors_agree_on_2_000_damaged_requests(running: Server) -> None:
    codes = [code for path in METHODS for code in codes_of_both(path, running, 75, "more")]
    assert len(codes) > 2000
    assert sum(code != "OK" for code in codes) > 1000


def test_json_is_answered_as_bytes_are_and_refused_with_readable_reasons(running: Server) -> None:
    message = requests_of()["Suggest"][0]
    reply = post_json(running.web, SUGGEST, json_format.MessageToDict(message))
    expected = connect_outcome(running.web, SUGGEST, message.SerializeToString(), streams=False).answers[0]
    answer = json_format.ParseDict(reply.json, pb.SuggestResponse())
    bytes_answer = pb.SuggestResponse.FromString(expected)
    for each in (answer, bytes_answer):
        each.suggestion.ClearField("elapsed")
    assert answer == bytes_answer
    refused = post_json(running.web, LIST, {"gameId": "go"})
    assert (refused.status, refused.json["code"]) == (400, "invalid_argument")
    info, bad = refused.json["details"]
    assert info["debug"]["reason"] == "INVALID_RULESET"
    assert bad["debug"]["fieldViolations"][0]["field"] == "game_id"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"gamId": "oriflamme"}', "UNKNOWN_FIELD"),
        (b'{"gameId": 3}', "MALFORMED_MESSAGE"),
        (b'{"gameId": "a", "gameId": "b"}', "MALFORMED_MESSAGE"),
        (b"[]", "MALFORMED_MESSAGE"),
        (b"\xff\xfe", "MALFORMED_MESSAGE"),
        (b"[" * 60_000, "MALFORMED_MESSAGE"),
        (b"", "MALFORMED_MESSAGE"),
    ],
    ids=["unknown", "type", "twice", "list", "no text", "deep", "empty"],
)
def test_json_that_is_no_such_message_is_refused(body: bytes, reason: str, running: Server) -> None:
    reply = post(running.web, LIST, body, "application/json")
    assert (reply.status, reply.json["code"]) == (400, "invalid_argument")
    assert reply.json["details"][0]["debug"]["reason"] == reason


def test_streams_end_with_their_last_answer(running: Server) -> None:
    analyze = pb.AnalyzeRequest(view=suggest(START).view, budget=pb.Budget(iterations=2000))
    analyze.interval.FromMilliseconds(50)
    body = json.dumps(json_format.MessageToDict(analyze)).encode()
    reply = post(running.web, ANALYZE, enveloped(body), "application/connect+json")
    *answers, (flags, end) = envelopes(reply.body)
    assert (flags, json.loads(end)) == (2, {})
    assert json.loads(answers[-1][1])["last"]


def test_grpc_web_is_answered(running: Server) -> None:
    raw = rules_pb2.ListRulesetsRequest(game_id="oriflamme").SerializeToString()
    reply = post(running.web, LIST, enveloped(raw), "application/grpc-web+proto")
    (_, answer), (flags, trailers) = envelopes(reply.body)
    assert len(rules_pb2.ListRulesetsResponse.FromString(answer).rulesets) == 4
    assert flags == 0x80
    assert b"grpc-status: 0" in trailers
    refused = post(running.web, LIST, enveloped(b"\xff"), "application/grpc-web+proto")
    ((_, trailers),) = envelopes(refused.body)
    assert b"grpc-status: 3" in trailers
    assert b"grpc-status-details-bin" in trailers


def test_requests_may_be_compressed_and_answers_are_not(running: Server) -> None:
    body = gzip.compress(b'{"gameId": "oriflamme"}')
    reply = post(running.web, LIST, body, "application/json", **{"content-encoding": "gzip", "accept-encoding": "gzip"})
    assert reply.status == 200
    assert reply.headers["content-encoding"] == "identity"
    bomb = gzip.compress(b" " * 2**22)
    assert post(running.web, LIST, bomb, "application/json", **{"content-encoding": "gzip"}).status == 429


def test_a_timeout_of_connect_is_the_deadline(running: Server) -> None:
    """A busy server may answer too late for a short deadline, so longer ones follow, all shorter than the budget."""
    raw = suggest(START, time_ms=60_000).SerializeToString()
    for timeout_ms in (700, 3_000, 12_000, 40_000):
        reply = post(running.web, SUGGEST, raw, "application/proto", **{"connect-timeout-ms": str(timeout_ms)})
        if reply.status == 200:
            break
        assert reply.json["code"] == "deadline_exceeded"
    assert pb.SuggestResponse.FromString(reply.body).suggestion.stop_reason == pb.STOP_REASON_DEADLINE


# --- faults of the server --------------------------------------------------------------------------------------

FAULT = "C:Lord is hidden"  # the text of an exception may name cards
BROKEN = {"Suggest": SUGGEST, "Analyze": ANALYZE}


class BrokenService:
    """Raises what nobody expects, if `is_broken`; a stream does so after its first answer."""

    def __init__(self) -> None:
        self.is_broken = True

    def __getattr__(self, name: str) -> Any:
        async def answer(_request: Any, _context: Any) -> Any:
            if self.is_broken:
                raise RuntimeError(FAULT)
            return pb.SuggestResponse()

        async def stream(_request: Any, _context: Any) -> AsyncIterator[Any]:
            yield pb.AnalyzeResponse()
            if self.is_broken:
                raise RuntimeError(FAULT)

        return stream if name in ("Analyze", "Review", "CompareStream", "AnalyzeBatch") else answer


@contextmanager
def serving(servicer: object) -> Iterator[tuple[str, str]]:
    """Serve a solver by both doors; yield the addresses of gRPC and HTTP."""
    addresses: SimpleQueue[tuple[str, str]] = SimpleQueue()
    stopping = asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        telemetry, callers, routes = Telemetry(), Callers(), Routes()
        add_service(routes, SOLVER, servicer, telemetry, callers)
        channel = grpc.aio.server()
        channel.add_generic_rpc_handlers(tuple(routes.handlers))
        port = channel.add_insecure_port("127.0.0.1:0")
        await channel.start()
        listener = Listener(Settings(web="127.0.0.1:0"))
        listener.start(Door(routes, [SOLVER], {}, "127.0.0.1:0", [], telemetry, callers))
        addresses.put((f"127.0.0.1:{port}", listener.address))
        await stopping.wait()
        await asyncio.gather(channel.stop(0), listener.stop(0))

    thread = Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        yield addresses.get(timeout=HANG_S)
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(HANG_S)
        loop.close()


def without_incident(text: str) -> str:
    return re.sub(r"incident [0-9a-f]{12}$", "incident ...", text)


def error_of(web: str, name: str, kind: str, *, is_before_the_call: bool) -> Any:
    """Return the error of Connect at the end of a call; before a call, that of a stream is the whole answer, too."""
    body = b"{}" if kind == "json" else b""
    if name == "Suggest":
        reply = post(web, SUGGEST, body, f"application/{kind}")
        assert reply.status == 500
        assert reply.headers["content-type"] == "application/json"
        return reply.json
    reply = post(web, ANALYZE, enveloped(body), f"application/connect+{kind}")
    if is_before_the_call:
        assert reply.status == 500
        return reply.json
    *_, (flags, last) = envelopes(reply.body)
    assert flags == 2
    return json.loads(last)["error"]


@pytest.mark.parametrize("fault", ["handler", "reader", "writer", "way"])
def test_a_fault_has_the_same_words_by_both_doors(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of a handler, of the JSON that the HTTP door reads and writes, and of its way to the handler."""

    def fail(*_: Any) -> Any:
        raise RuntimeError(FAULT)

    service = BrokenService()
    with serving(service) as (address, web), grpc.insecure_channel(address) as channel:
        expected = {name: grpc_outcome(channel, path, b"", streams=name == "Analyze") for name, path in BROKEN.items()}
        service.is_broken = fault == "handler"
        if fault == "reader":
            monkeypatch.setattr("server.web.calls.read_json", fail)
        elif fault == "writer":
            monkeypatch.setattr("server.web.calls.write_json", fail)
        elif fault == "way":
            monkeypatch.setattr(Routes, "find", fail)
        for name, outcome in expected.items():
            assert outcome.code == "INTERNAL"
            for kind in ("json", "proto") if fault == "handler" else ("json",):
                error = error_of(web, name, kind, is_before_the_call=fault == "way")
                assert error["code"] == "internal"
                assert without_incident(error["message"]) == without_incident(outcome.text)
                assert FAULT not in str(error)
                assert "Traceback" not in str(error)


# --- clients that leave ----------------------------------------------------------------------------------------


def open_socket(running: Server) -> socket.socket:
    address = urlsplit(running.web)
    return socket.create_connection((address.hostname, address.port), timeout=HANG_S)


def head_of(path: str, length: int, kind: str, running: Server) -> bytes:
    host = urlsplit(running.web).netloc
    return f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n".encode()


@pytest.mark.parametrize("path", [SUGGEST, ANALYZE])
def test_a_search_ends_when_its_client_leaves(path: str, running: Server) -> None:
    raw = suggest(START, iterations=10**11).SerializeToString()
    kind = "application/proto"
    if path == ANALYZE:
        raw, kind = enveloped(raw), "application/connect+proto"
    with open_socket(running) as connection:
        connection.sendall(head_of(path, len(raw), kind, running) + raw)
        running.wait_for_searches(1)
    running.wait_for_searches(0)


def test_a_stop_answers_pending_calls() -> None:
    with server("--drain-ms", "100", web=True, metrics=True) as running, open_socket(running) as connection:
        raw = suggest(START, iterations=10**11).SerializeToString()
        connection.sendall(head_of(SUGGEST, len(raw), "application/proto", running) + raw)
        running.wait_for_searches(1)
        assert running.stop() == 0
        answer = b""
        while part := connection.recv(2**16):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    size, _, rest = body.partition(b"\r\n") if b"chunked" in head else (b"%x" % len(body), b"", body)
    suggestion = pb.SuggestResponse.FromString(rest[: int(size, 16)]).suggestion
    assert suggestion.stop_reason == pb.STOP_REASON_SHUTDOWN


# --- safety ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "evil.example:8080"}, 403),
        ({"host": "192.0.2.7"}, 403),
        ({"host": ""}, 403),
        ({"host": "[::1"}, 403),
        ({"host": "localhost:9999"}, 200),
        ({"host": "[::1]:8080"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://[::1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "application/grpc"}, 415),
        ({"content-type": ""}, 415),
    ],
    ids=str,
)
def test_calls_from_other_sites_are_refused(headers: dict[str, str], status: int, running: Server) -> None:
    reply = request(
        running.web, "POST", LIST, b'{"gameId": "oriflamme"}', {"content-type": "application/json", **headers}
    )
    assert reply.status == status
    assert "access-control-allow-origin" not in reply.headers


def test_the_own_origin_is_let_in_and_a_link_from_elsewhere_to_the_page(running: Server) -> None:
    own = {"origin": running.web, "sec-fetch-site": "same-origin"}
    assert post_json(running.web, LIST, {"gameId": "oriflamme"}, **own).status == 200
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert request(running.web, "GET", "/", headers=link).status == 200
    assert request(running.web, "GET", "/", headers={**link, "sec-fetch-dest": "iframe"}).status == 403
    assert post_json(running.web, LIST, {"gameId": "oriflamme"}, **link).status == 403


def test_other_http_methods_and_paths_are_refused(running: Server) -> None:
    kind = {"content-type": "application/json"}
    assert request(running.web, "GET", LIST).status == 405
    assert request(running.web, "OPTIONS", LIST, headers=kind).status == 405
    assert request(running.web, "PUT", LIST, b"{}", kind).status == 405
    assert request(running.web, "GET", "/nothing").status == 404
    assert request(running.web, "GET", "/docs/../../setup.py").status == 404
    assert request(running.web, "GET", "/docs/%2e%2e/%2e%2e/setup.py").status == 404
    assert post_json(running.web, "/eminence.v1.SolverService/Nothing", {}).status == 404
    assert post_json(running.web, "/eminence.v1.SolverService/AnalyzeBatch", {}).status == 501


def test_every_answer_has_the_headers_of_safety(running: Server) -> None:
    replies = [
        request(running.web, "GET", "/"),
        request(running.web, "GET", "/nothing"),
        request(running.web, "GET", "/", headers={"host": "evil"}),
        post_json(running.web, LIST, {"gameId": "oriflamme"}),
        post_json(running.web, LIST, {"gameId": "go"}),
        post(running.web, ANALYZE, enveloped(suggest(iterations=5).SerializeToString()), "application/connect+proto"),
    ]
    for reply in replies:
        for key, value in HEADERS:
            assert reply.headers[key.decode()] == value.decode()
        assert reply.headers["cache-control"] == "no-store"
    assert set(POLICY.split("; ")) == {
        "default-src 'self'",
        "base-uri 'none'",
        "object-src 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
        "require-trusted-types-for 'script'",
        "trusted-types svelte-trusted-html",
    }
    headers = {key.decode(): value.decode() for key, value in HEADERS}
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == headers["cross-origin-opener-policy"] == "same-origin"


@pytest.mark.parametrize(
    "malformed", [b"hello\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n"]
)
def test_an_answer_to_malformed_http_has_the_headers_of_safety(malformed: bytes, running: Server) -> None:
    with open_socket(running) as connection:
        connection.sendall(malformed)
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    assert status.startswith(b"HTTP/1.1 400 ")
    assert body
    headers = dict(line.lower().split(b": ", 1) for line in lines)
    for key, value in (*HEADERS, (b"cache-control", b"no-store"), (b"connection", b"close")):
        assert headers[key] == value.lower()


def test_a_long_request_is_refused_as_by_grpc(running: Server) -> None:
    raw = b"\x0a" + struct.pack("B", 0) + b"x" * MESSAGE_MAX
    reply = post(running.web, LIST, raw, "application/proto")
    with running.channel() as channel:
        assert reply.json["code"].upper() == grpc_outcome(channel, LIST, raw, streams=False).code
    assert post(running.web, LIST, b" " * (BODY_MAX + 1), "application/json").status == 413


def test_silent_and_slow_connections_are_closed_and_do_not_stop_others(running: Server) -> None:
    silent = [open_socket(running) for _ in range(200)]
    half_head, half_body, after_an_answer = open_socket(running), open_socket(running), open_socket(running)
    half_head.sendall(b"POST / HTTP/1.1\r\nHo")
    half_body.sendall(head_of(LIST, 100, "application/json", running) + b"{")
    whole = b'{"gameId": "oriflamme"}'
    after_an_answer.sendall(head_of(LIST, len(whole), "application/json", running) + whole)
    after_an_answer.recv(2**16)
    after_an_answer.sendall(b"POST / HT")
    assert post_json(running.web, LIST, {"gameId": "oriflamme"}).status == 200
    assert half_body.recv(2**16).startswith(b"HTTP/1.1 408 ")
    for connection in (*silent, half_head, after_an_answer):
        while connection.recv(2**16):  # until it is closed
            pass
        connection.close()
    half_body.close()


@pytest.mark.timing
def test_silent_and_slow_connections_are_closed_within_6_s(running: Server) -> None:
    silent = [open_socket(running) for _ in range(200)]
    half_head, half_body = open_socket(running), open_socket(running)
    half_head.sendall(b"POST / HTTP/1.1\r\nHo")
    half_body.sendall(head_of(LIST, 100, "application/json", running) + b"{")
    started = time.monotonic()
    assert request(running.web, "GET", "/").status == 200
    assert time.monotonic() - started < 1
    for connection in (*silent, half_head, half_body):
        while connection.recv(2**16):
            pass
        connection.close()
    assert time.monotonic() - started < 6


def test_connections_are_bounded() -> None:
    with server("--connections", "3", web=True) as running:
        held = [open_socket(running) for _ in range(3)]
        wait_until(lambda: is_closed_at_once(running))
        for connection in held:
            connection.close()
        wait_until(lambda: not is_closed_at_once(running))
        assert post_json(running.web, LIST, {"gameId": "oriflamme"}).status in (200, 503)


def is_closed_at_once(running: Server) -> bool:
    with open_socket(running) as connection:
        connection.settimeout(0.3)
        try:
            return connection.recv(1) == b""
        except TimeoutError:
            return False
        except ConnectionResetError:
            return True


def test_tokens_and_quotas_hold(tokens: str) -> None:
    with server("--tokens", tokens, web=True) as running:
        body = {"gameId": "oriflamme"}
        assert post_json(running.web, LIST, body).status == 401
        assert post_json(running.web, LIST, body, authorization="Bearer c-secret").status == 401
        unread = post(running.web, LIST, b"\xff", "application/proto")
        assert unread.json["details"][0]["debug"]["reason"] == "UNAUTHENTICATED"
        stream = post(running.web, ANALYZE, enveloped(b""), "application/connect+proto")
        assert b"UNAUTHENTICATED" in stream.body
        as_bob = {"authorization": "Bearer b-secret"}
        assert [post_json(running.web, LIST, body, **as_bob).status for _ in range(4)] == [200, 200, 200, 429]
        refused = post_json(running.web, LIST, body, **as_bob)
        assert int(refused.headers["retry-after"]) > 0
        assert post_json(running.web, "/grpc.health.v1.Health/Check", {}).status == 200
        server_info = post_json(running.web, "/eminence.v1.RulesService/GetServer", {})
        assert server_info.json["needsToken"]
        with running.channel() as channel:
            info = rules_pb2_grpc.RulesServiceStub(channel).GetServer(rules_pb2.GetServerRequest(), timeout=HANG_S)
            assert info.needs_token
        assert request(running.web, "GET", "/").status == 200


def test_calls_are_counted_and_logs_hold_neither_tokens_nor_cards(tokens: str) -> None:
    with server("--tokens", tokens, web=True, metrics=True) as running:
        message = json_format.MessageToDict(suggest(START, iterations=5))
        assert post_json(running.web, SUGGEST, message, authorization="Bearer a-secret").status == 200
        request(running.web, "GET", "/?key=a-secret", headers={"host": "evil"})
        metrics = running.metrics()
        assert metrics['eminence_calls_total{code="OK",method="Suggest",reason=""}'] == 1
        assert metrics['eminence_calls_total{code="PERMISSION_DENIED",method="other",reason=""}'] == 1
        page = urllib.request.urlopen(f"http://{running.metrics_page}/metrics", timeout=HANG_S).read().decode()
        running.process.terminate()
        assert running.process.stderr is not None
        log = running.process.stderr.read()
    for secret in ("a-secret", "Archer"):
        assert secret not in page + log
    assert '"method": "Suggest"' in log


def test_tls_is_served(tmp_path: Path) -> None:
    import ssl

    certificate = make_certificate(tmp_path, "server")
    with server("--tls-cert", certificate, "--tls-key", certificate.replace(".pem", ".key"), web=True, wait=False) as s:
        assert s.web.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=certificate)
        with urllib.request.urlopen(s.web, timeout=HANG_S, context=context) as page:
            assert b"Eminence" in page.read()


def test_further_names_of_the_server_are_let_in() -> None:
    with server("--web-hosts", "cards.example, other.example", web=True) as running:
        for host, status in (("cards.example", 200), ("Other.example:443", 200), ("third.example", 403)):
            assert request(running.web, "GET", "/", headers={"host": host}).status == status


# --- files -----------------------------------------------------------------------------------------------------


def test_a_built_page_is_served_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html>")
    (tmp_path / "assets" / "app-1a2b.js").write_text("1")
    (tmp_path / "icon.svg").write_text("<svg/>")
    files = read_files(tmp_path)
    assert files["/"].content == b"<!doctype html>"
    assert files["/"].kind == "text/html; charset=utf-8"
    assert files["/assets/app-1a2b.js"].kind == "text/javascript; charset=utf-8"
    assert b"immutable" in files["/assets/app-1a2b.js"].headers[0][1]
    assert files["/icon.svg"].kind.startswith("image/svg+xml")


def test_the_page_and_the_files_that_it_names_are_served(running: Server) -> None:
    page = request(running.web, "GET", "/").body.decode()
    names = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert {Path(name).suffix for name in names} == {".css", ".js", ".svg"}
    for name in names:
        reply = request(running.web, "GET", f"/{name.removeprefix('./')}")
        assert reply.status == 200
        assert reply.headers["content-security-policy"] == POLICY


def test_files_are_sent_packed_to_clients_that_accept_it(running: Server) -> None:
    plain = request(running.web, "GET", "/")
    packed = request(running.web, "GET", "/", headers={"accept-encoding": "gzip, br"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == plain.headers["vary"] == "accept-encoding"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body)


def test_the_page_asks_no_other_host() -> None:
    """Find no address in the bundle but those of XML name spaces and of Svelte's explanations of errors."""
    for path, file in read_files().items():
        if Path(path).suffix not in {".md", ""}:
            hosts = set(re.findall(r"https?://([\w.-]+)", file.content.decode()))
            assert hosts <= {"www.w3.org", "svelte.dev"}, path


def test_the_page_uses_nothing_that_chromium_alone_has() -> None:
    """Firefox and Safari are not at hand: look for the names of what they lack."""
    lacking = """
        requestIdleCallback showOpenFilePicker showSaveFilePicker launchQueue userAgentData EyeDropper BarcodeDetector
        scheduler.yield scheduler.postTask documentPictureInPicture navigation.navigate getScreenDetails deviceMemory
        navigator.connection -webkit-app-region anchor-name
    """
    for path, file in read_files().items():
        if Path(path).suffix in {".js", ".css", ".html"}:
            text = file.content.decode()
            assert [name for name in lacking.split() if name in text] == [], path


def test_the_page_has_the_colours_of_the_pictures() -> None:
    [style] = BUNDLE.glob("assets/*.css")
    light_and_dark = r"--([\w-]+):var\(--lightningcss-light,(#\w+)\)var\(--lightningcss-dark,(#\w+)\)"
    colours = {name: (light, dark) for name, light, dark in re.findall(light_and_dark, style.read_text())}
    for name in ("page", "sheet", "shade", "ink", "soft", "line", "gold", "accent"):
        assert colours[name] == (getattr(LIGHT, name), getattr(DARK, name)), name
    for letter, light, dark in zip("abcde", LIGHT.seats, DARK.seats, strict=True):
        assert colours[f"seat-{letter}"] == (light, dark)
    for grade, light in LIGHT.grades.items():
        assert colours[f"grade-{grade}"] == (light, DARK.grades[grade])
