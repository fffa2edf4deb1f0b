"""Logs, metrics and traces hold no key, token, card, name or text of a request."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from collector import attributes_of, collecting
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from process import Server, server
from tokens import write_tokens
from waiting import HANG_S
from web import post, post_json, request

from eminence.v1 import error_reason_pb2, record_pb2, referee_pb2, rules_pb2, table_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb
from server.app import SERVICES
from server.client import Client
from server.client.refusals import Refused

TOKEN, NAME, COMMENT = "a-token-of-alice", "Zaphod", "what-a-comment"
GAMES = [view_pb2.GameSpec(game_id=game_id, players=3) for game_id in ("oriflamme", "castle_village_port")]
# The times and counts of a span.
NUMBERS = {
    "rpc.grpc.status_code",
    *(f"eminence.{name}" for name in ("searches", "iterations", "queue_ms", "search_ms")),
}


def play_to_the_end(client: Client, game: view_pb2.GameSpec) -> tuple[list[str], record_pb2.Record]:
    """Play a game of three people, with refusals; return the keys, and the record."""
    sitters = [table_pb2.Sitter(name=f"{NAME}{seat}") for seat in range(3)]
    opened: Any = client.tables.OpenTable(table_pb2.OpenTableRequest(game=game, sitters=sitters, seed=5))
    keys = [seat.key for seat in opened.keys]
    refuse(client.tables.Act, table_pb2.ActRequest(key=keys[0], action=view_pb2.Action(text="target 9")))
    refuse(client.tables.GetTable, table_pb2.GetTableRequest(key=keys[0][::-1]))
    for _ in range(400):
        for key in keys:
            seen = client.tables.GetTable(table_pb2.GetTableRequest(key=key)).table
            if seen.HasField("result"):
                client.tables.GetTableRecord(table_pb2.GetTableRecordRequest(key=key))
                client.tables.CloseTable(table_pb2.CloseTableRequest(key=key))
                return keys, seen.result.record
            if seen.legal_actions:
                action = table_pb2.ActRequest(key=key, version=seen.version, action=seen.legal_actions[0])
                client.tables.Act(action)
    raise AssertionError("the game does not end")


def refuse(call: Any, message: Any) -> None:
    with pytest.raises(Refused):
        call(message)


def advise(client: Client, record: record_pb2.Record) -> None:
    """Ask for advice on a game with a comment; have impossible questions refused."""
    message = record_pb2.Record()
    message.CopyFrom(record)
    del message.comments[:]
    message.comments.add(after=1, text=COMMENT)
    budget = pb.Budget(iterations=5)
    *steps, last = client.review(message, budget)
    client.write_report(message, [step.decision for step in steps], last.summary)
    view = client.referee.GetViews(referee_pb2.GetViewsRequest(standing=referee_pb2.Standing(record=message))).views[0]
    list(client.analyze(view, budget))
    draft = rules_pb2.CheckDraftRequest(view=view, fill_in=True)
    client.rules.CheckDraft(draft)
    refuse(client.rules.ReadText, rules_pb2.ReadTextRequest(game=view.game, view=f"A:{COMMENT} | seen by A"))
    refuse(client.rules.ReadText, rules_pb2.ReadTextRequest(game=view.game, record=f"game {COMMENT}"))


def knock(running: Server, key: str, card: str) -> None:
    """Send secrets in paths, headers and damaged bodies."""
    headers = {"authorization": f"Bearer {TOKEN}", "traceparent": TOKEN, "user-agent": key}
    for path in (f"/{key}/{card}", f"/eminence.v1.TableService/{key}", f"/?{card}={key}"):
        request(running.web, "GET", path, headers=headers)
        request(running.web, "POST", path, b"{}", {"content-type": "application/json", **headers})
    path = "/eminence.v1.TableService/GetTable"
    post_json(running.web, path, {"key": key}, authorization=f"Bearer {key}")
    post_json(running.web, path, {"key": key, card: card}, **headers)
    post(running.web, path, f'{{"key": "{key}'.encode(), "application/json", **headers)
    post(running.web, path, card.encode(), "application/proto", **headers)
    with running.channel() as channel:
        metadata = (("authorization", f"Bearer {TOKEN}"),)
        for method in (f"/{card}/{key}", f"/eminence.v1.TableService/{key}"):
            unknown: Any = channel.unary_unary(method)
            assert "UNIMPLEMENTED" in str(unknown.future(b"", metadata=metadata, timeout=HANG_S).exception())
        damaged: Any = channel.unary_unary(path)
        assert "INVALID" in str(damaged.future(card.encode(), metadata=metadata, timeout=HANG_S).exception())


def cards_of(game: view_pb2.GameSpec, client: Client) -> set[str]:
    """Return the names and ids of a game's cards, but for the numbers of those without other words."""
    cards = client.rules.ListCards(rules_pb2.ListCardsRequest(game=game)).cards
    words = {word for info in cards for word in (info.card.name, info.names.en, info.names.fr, info.names.de)}
    return {word for word in words if re.search(r"\w{3}", word)}


def leaks(text: str, secrets: set[str]) -> list[str]:
    return sorted(secret for secret in secrets if re.search(rf"\b{re.escape(secret)}\b", text, re.IGNORECASE))


@pytest.mark.slow
def test_logs_metrics_and_traces_hold_no_secret(tmp_path: Path) -> None:
    flags = ("--tokens", write_tokens(tmp_path, TOKEN), "--threads", "1")
    with collecting() as (collector, address), server("--traces", address, *flags, web=True, metrics=True) as running:
        secrets = {TOKEN, COMMENT, *(f"{NAME}{seat}" for seat in range(3))}
        with Client(running.address, token=TOKEN) as client:
            for game in GAMES:
                keys, record = play_to_the_end(client, game)
                secrets |= {*keys, *(key[::-1] for key in keys), *cards_of(game, client)}
                advise(client, record)
        knock(running, keys[0], "Ambush")
        page = urllib.request.urlopen(f"http://{running.metrics_page}/metrics", timeout=HANG_S).read().decode()
        running.process.terminate()
        assert running.process.stderr is not None
        log = running.process.stderr.read()
    assert len(log.splitlines()) > 10
    assert "eminence_calls_total" in page
    assert leaks(page, secrets) == leaks(log, secrets) == []
    assert len(collector.spans) > 100
    assert leaks("".join(map(str, collector.requests)), secrets) == []
    assert {fault for span in collector.spans for fault in unknown_parts(span)} == set()


REASONS = {"", *(name.removeprefix("ERROR_REASON_") for name, _ in error_reason_pb2.ErrorReason.items())}
METHODS = {f"{service.full_name}/{method.name}" for service in SERVICES for method in service.methods}


def unknown_parts(span: Any) -> list[str]:
    """Return the parts of a span that are neither numbers nor words of this project."""
    attributes = attributes_of(span)
    method = f"{attributes.pop('rpc.service')}/{attributes.pop('rpc.method')}".removeprefix("/")
    numbers = {name: attributes.pop(name) for name in NUMBERS & attributes.keys()}
    allowed = [
        ("name", span.name, span.name == method),
        ("method", method, method in METHODS or method == "other"),
        ("system", attributes.pop("rpc.system"), True),
        ("reason", attributes.pop("eminence.reason", ""), attributes_of(span).get("eminence.reason", "") in REASONS),
        *((name, value, isinstance(value, int | float)) for name, value in numbers.items()),
        ("status", span.status.message, not span.status.message),
    ]
    rest = [f"{name}: {value}" for name, value in attributes.items()]
    rest += [f"event {event.name}" for event in span.events]
    return rest + [f"{name}: {value}" for name, value, is_known in allowed if not is_known]


def test_a_leak_is_found() -> None:
    """Twin of the test above: it can fail."""
    exported: Any = trace_service_pb2.ExportTraceServiceRequest()
    span = exported.resource_spans.add().scope_spans.add().spans.add(name="eminence.v1.TableService/Act")
    for key, value in (("rpc.service", "eminence.v1.TableService"), ("rpc.method", "Act"), ("rpc.system", "grpc")):
        span.attributes.add(key=key).value.string_value = value
    assert unknown_parts(span) == []
    span.attributes.add(key="eminence.action").value.string_value = "place Spy front"
    assert unknown_parts(span) == ["eminence.action: place Spy front"]
    assert leaks(str(exported), {"Spy"}) == ["Spy"]
    assert leaks(json.dumps({"method": "GetTable", "key": "abc"}), {"abc"}) == ["abc"]
