"""WriteReport: the page of a review, as `eminence review --html` writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import web
from process import server
from program import random_record
from program import run as run_program

from eminence.v1 import seat_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb
from engine_cy import new_game
from engine_cy.annotations import Comment
from engine_cy.record import Record
from server.client import Client
from server.client.local import LocalClient
from server.client.refusals import Refused
from server.codec import records
from server.web.door import POLICY

BUDGET = pb.Budget(iterations=60)
OPTIONS = pb.Options(seed=3)
FLAGS = ("--iterations", "60", "--seed", "3")
PATH = "/eminence.v1.SolverService/WriteReport"


def request_for(client: Any, record: Record, **fields: Any) -> pb.WriteReportRequest:
    """Review a game; return the request for its report."""
    message = records.write(record)
    seat, options = fields.get("seat", seat_pb2.SEAT_UNSPECIFIED), fields.get("options", OPTIONS)
    *steps, last = client.review(message, BUDGET, options, seat=seat)
    return pb.WriteReportRequest(
        record=message,
        decisions=[step.decision for step in steps],
        summary=last.summary,
        **{"options": options, **fields},
    )


def report_of(client: LocalClient, request: pb.WriteReportRequest) -> str:
    response: pb.WriteReportResponse = next(client._answers("WriteReport", request, None))
    return response.html


def from_command(folder: Path, record: Record, *flags: str) -> str:
    """Return the report that the command line writes."""
    (folder / "game.txt").write_text(str(record))
    output = run_program("review", folder / "game.txt", *FLAGS, "--html", folder / "report.html", *flags)
    assert output.code == 0, output.err
    return (folder / "report.html").read_text("utf-8")


@pytest.fixture(scope="module")
def game() -> Record:
    record = random_record("oriflamme", "en-2019", 3, seed=4)
    return Record(record.start, record.actions, comments=(Comment(2, "<b>A trap?</b>"),)).ended()


@pytest.fixture(scope="module")
def request_of_game(game: Record) -> pb.WriteReportRequest:
    with LocalClient() as client:
        return request_for(client, game)


@pytest.mark.parametrize(
    ("game_id", "edition", "players", "language"),
    [
        ("oriflamme", "de-2019", 4, "de"),
        ("oriflamme_prototype", None, 2, "en"),
        ("castle_village_port", "house", 3, "fr"),
        ("kuhn_poker", None, 2, "en"),
    ],
)
def test_the_report_is_that_of_the_command_line(
    tmp_path: Path, game_id: str, edition: str | None, players: int, language: str
) -> None:
    record = random_record(game_id, edition, players, seed=4)
    with LocalClient() as client:
        html = report_of(client, request_for(client, record, language=language))
    assert html == from_command(tmp_path, record, "--lang", language)
    assert f'<html lang="{language}">' in html


def test_the_report_of_one_seat_is_that_of_the_command_line(tmp_path: Path, game: Record) -> None:
    with LocalClient() as client:
        whole = report_of(client, request_for(client, game, seat=seat_pb2.SEAT_B))
        seen = report_of(client, request_for(client, game.seen_from("B")))
    assert whole == from_command(tmp_path, game, "--seat", "B")
    assert seen == from_command(tmp_path, game.seen_from("B"))


def test_beliefs_follow_the_options_of_the_review(
    tmp_path: Path, game: Record, request_of_game: pb.WriteReportRequest
) -> None:
    options = pb.Options(seed=3, belief=pb.BELIEF_UNIFORM)
    with LocalClient() as client:
        html = report_of(client, request_for(client, game, options=options))
        assert html == from_command(tmp_path, game, "--uniform")
        assert html != report_of(client, request_of_game)


def test_comments_of_the_record_are_in_the_report_as_text(request_of_game: pb.WriteReportRequest) -> None:
    request = pb.WriteReportRequest()
    request.CopyFrom(request_of_game)
    request.summary.engine_signature = "<script>"
    with LocalClient() as client:
        html = report_of(client, request)
    assert "&lt;b&gt;A trap?&lt;/b&gt;" in html
    assert "&lt;script&gt;" in html
    assert "<b>A trap" not in html


def test_both_forms_of_actions_give_the_same_report(request_of_game: pb.WriteReportRequest) -> None:
    """A request may leave out the text of actions, or their fields, and what details a review has."""
    as_text, as_fields = pb.WriteReportRequest(), pb.WriteReportRequest()
    for request in (as_text, as_fields):
        request.CopyFrom(request_of_game)
        for decision in request.decisions:
            del decision.seats[:], decision.beliefs[:]
            steps = [step.action for step in decision.best.principal_variation]
            for action in (decision.played.action, decision.best.action, *steps):
                if request is as_text:
                    action.ClearField("oriflamme")
                elif "=" not in action.text:
                    action.ClearField("text")
    with LocalClient() as client:
        expected = report_of(client, request_of_game)
        assert report_of(client, as_text) == report_of(client, as_fields) == expected


def test_a_game_without_decisions_has_a_report() -> None:
    start = Record(new_game("oriflamme", "en-2019", 3).deal(seed=1))
    with LocalClient() as client:
        assert "<html" in report_of(client, request_for(client, start))


def test_a_server_writes_the_same_report_over_grpc_and_http(tmp_path: Path, game: Record) -> None:
    with server("--threads", "1", web=True) as running:
        with Client(running.address) as client:
            request = request_for(client, game)
            html = client.write_report(
                request.record, request.decisions, request.summary, OPTIONS, language=request.language
            )
        reply = web.post(running.web, PATH, request.SerializeToString(), "application/proto")
        foreign = web.post(
            running.web, PATH, request.SerializeToString(), "application/proto", **{"sec-fetch-site": "cross-site"}
        )
        navigated = web.request(running.web, "GET", PATH)
        long = web.post(running.web, PATH, b" " * 2**19, "application/proto")
    assert html == from_command(tmp_path, game)
    assert pb.WriteReportResponse.FromString(reply.body).html == html
    assert reply.headers["content-security-policy"] == POLICY
    assert reply.headers["content-type"] == "application/proto"
    assert reply.headers["cache-control"] == "no-store"
    assert [refused.status for refused in (foreign, navigated, long)] == [403, 405, 413]


def test_a_server_with_tokens_writes_no_report_without_one(tokens: str, request_of_game: Any) -> None:
    with server("--threads", "1", "--tokens", tokens, web=True) as running:
        body = request_of_game.SerializeToString()
        bare = web.post(running.web, PATH, body, "application/proto")
        known = web.post(running.web, PATH, body, "application/proto", authorization="Bearer a-secret")
    assert (bare.status, known.status) == (401, 200)
    assert json.loads(bare.body)["code"] == "unauthenticated"


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("change", "reason", "field"),
    [
        ("r.ClearField('record')", "MISSING_FIELD", "record"),
        ("r.ClearField('summary')", "MISSING_FIELD", "summary"),
        ("r.language = 'it'", "UNKNOWN_VALUE", "language"),
        ("r.options.information = True", "CONTRADICTION", "options.information"),
        ("r.options.level = 11", "OUT_OF_RANGE", "options.level"),
        ("r.seat = 2", "CONTRADICTION", "decisions"),
        ("del r.decisions[-1]", "CONTRADICTION", "decisions"),
        ("r.decisions[3].index += 1", "CONTRADICTION", "decisions[3].index"),
        ("r.decisions[3].seat = 0", "MISSING_FIELD", "decisions[3].seat"),
        ("r.decisions[3].seat = 5", "OUT_OF_RANGE", "decisions[3].seat"),
        ("r.decisions[3].seat = r.decisions[3].seat % 3 + 1", "CONTRADICTION", "decisions[3].seat"),
        ("r.decisions[3].grade = 0", "MISSING_FIELD", "decisions[3].grade"),
        ("r.decisions[3].ClearField('win_loss')", "MISSING_FIELD", "decisions[3].win_loss"),
        ("r.decisions[3].ClearField('best')", "MISSING_FIELD", "decisions[3].best"),
        ("r.decisions[3].best.ClearField('action')", "MISSING_FIELD", "decisions[3].best.action"),
        ("act(r.decisions[3].best.action, 'select 9')", "INVALID_NOTATION", "decisions[3].best.action.text"),
        ("act(r.decisions[3].best.action, 'target 3')", "ILLEGAL_ACTION", "decisions[3].best.action"),
        ("r.decisions[3].played.action.CopyFrom(other)", "CONTRADICTION", "decisions[3].played.action"),
        ("r.decisions[3].win_loss.mean = nan", "OUT_OF_RANGE", "decisions[3].win_loss.mean"),
        ("r.decisions[3].best.points.standard_error = inf", "OUT_OF_RANGE", "decisions[3].best.points.standard_error"),
        ("r.decisions[3].luck_parts.hidden = 1e300", "OUT_OF_RANGE", "decisions[3].luck_parts.hidden"),
        (
            "r.decisions[3].best.rank_probabilities[:] = [0.1, nan]",
            "OUT_OF_RANGE",
            "decisions[3].best.rank_probabilities[1]",
        ),
        ("r.decisions[3].best.rank_probabilities[:] = [0.1] * 4", "TOO_LONG", "decisions[3].best.rank_probabilities"),
        (
            "r.decisions[3].best.principal_variation.extend(line * 65)",
            "TOO_LONG",
            "decisions[3].best.principal_variation",
        ),
        (
            "r.decisions[3].best.principal_variation.add()",
            "MISSING_FIELD",
            "decisions[3].best.principal_variation[-1].action",
        ),
        ("r.summary.seats.reverse()", "CONTRADICTION", "summary.seats"),
        ("r.summary.seats.extend(r.summary.seats[2:])", "CONTRADICTION", "summary.seats"),
        ("r.summary.seats[1].grades.add(grade=9)", "UNKNOWN_VALUE", "summary.seats[1].grades[-1].grade"),
        ("r.summary.seats[1].ClearField('outcome')", "MISSING_FIELD", "summary.seats[1].outcome"),
        ("r.summary.seats[1].outcome = nan", "OUT_OF_RANGE", "summary.seats[1].outcome"),
        ("r.summary.engine_signature = 'x' * 101", "TOO_LONG", "summary.engine_signature"),
    ],
)
def test_an_impossible_review_is_refused_by_field(
    request_of_game: pb.WriteReportRequest, change: str, reason: str, field: str
) -> None:
    request = pb.WriteReportRequest()
    request.CopyFrom(request_of_game)
    played, best = request.decisions[3].played, request.decisions[3].best
    legal = next(action for action in _legal_at(request, 3) if action != played.action.text)
    del request.summary.seats[1].grades[2:]

    def act(action: view_pb2.Action, text: str) -> None:
        action.CopyFrom(view_pb2.Action(text=text))

    names = {"r": request, "nan": NAN, "inf": INFINITY, "act": act, "other": view_pb2.Action(text=legal)}
    exec(change, {**names, "line": list(best.principal_variation[:1])})
    last = f"[{len(request.decisions[3].best.principal_variation) - 1}]" if "variation" in field else "[2]"
    with LocalClient() as client, pytest.raises(Refused) as refused:
        report_of(client, request)
    assert (refused.value.reason, refused.value.field) == (reason, field.replace("[-1]", last))


def _legal_at(request: pb.WriteReportRequest, number: int) -> list[str]:
    record = records.read(request.record)
    table = list(record.tables())[request.decisions[number].index]
    return [str(action) for action in table.legal_actions()]
