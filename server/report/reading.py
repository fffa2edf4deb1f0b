"""Read the review of a request for a report: it must be one of the game, and numbers that a page can show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from eminence.v1 import solver_pb2 as pb
from engine_cy import Game, View
from server.codec import views
from server.codec.fields import check_length, check_text, in_range, read_seat, required
from server.languages import DEFAULT, UnknownLanguageError, check_language
from server.messages.answers import GRADES
from server.messages.requests import read_legal_action, read_review_options, read_reviewed
from server.refusals import Refusal
from server.report.review import JudgedDecision, Review
from solver.config import Config
from solver.review import Decision, decisions

# The largest figure of a report, and the longest line of play and name of an engine.
FIGURE_MAX = 1e9
LINE_MAX = 64
SIGNATURE_MAX = 100


def read_language(request: pb.WriteReportRequest) -> str:
    try:
        return check_language(request.language or DEFAULT)
    except UnknownLanguageError as error:
        raise Refusal("UNKNOWN_VALUE", "language", str(error)) from None


def read_review(request: pb.WriteReportRequest, config: Config | None = None) -> Review:
    """Read the review that a report shows. `config` replaces the default configuration."""
    record, seat = read_reviewed(request)
    options = read_review_options(request.options, record.game, config)
    made = list(decisions(record, seat))
    if len(request.decisions) != len(made):
        raise Refusal("CONTRADICTION", "decisions", f"{len(request.decisions)} entries; the review has {len(made)}")
    judged = [
        JudgedDecision(decision, _read_decision(message, decision, f"decisions[{i}]"))
        for i, (decision, message) in enumerate(zip(made, request.decisions, strict=True))
    ]
    required(request, "summary", "")
    observer = record.observer if seat is None else seat
    _check_summary(request.summary, range(record.game.n_players) if observer is None else [observer], record.game)
    return Review(record, judged, request.summary, options.arguments["config"], seat)


def _read_decision(message: pb.ReviewedDecision, decision: Decision, field: str) -> pb.ReviewedDecision:
    """Return the message with each action as text."""
    game = decision.view.game
    if message.index != decision.index:
        why = f"{message.index} is not the action of this decision, which is {decision.index}"
        raise Refusal("CONTRADICTION", f"{field}.index", why)
    if read_seat(message.seat, game.n_players, f"{field}.seat") != decision.seat:
        raise Refusal("CONTRADICTION", f"{field}.seat", "is not the seat that decided")
    GRADES.read(message.grade, f"{field}.grade")
    required(message, "win_loss", field)
    read = pb.ReviewedDecision()
    read.CopyFrom(message)
    for name in ("played", "best"):
        required(message, name, field)
        _read_candidate(getattr(read, name), decision.view, f"{field}.{name}")
    if read.played.action.text != str(decision.played):
        raise Refusal("CONTRADICTION", f"{field}.played.action", "is not the action of the record")
    _check_figures(read, field)
    return read


def _read_candidate(candidate: pb.Candidate, view: View, field: str) -> None:
    required(candidate, "action", field)
    action = read_legal_action(candidate.action, view, view.legal_actions(), f"{field}.action")
    candidate.action.CopyFrom(views.write_action(action))
    check_length(candidate.rank_probabilities, view.game.n_players, f"{field}.rank_probabilities")
    check_length(candidate.principal_variation, LINE_MAX, f"{field}.principal_variation")
    for i, step in enumerate(candidate.principal_variation):
        _, text = views.read_seen(view.game, step, f"{field}.principal_variation[{i}]")
        step.action.text = text


def _check_summary(summary: pb.ReviewSummary, possible: Sequence[int], game: Game) -> None:
    field = "summary.seats"
    seats = [read_seat(entry.seat, game.n_players, f"{field}[{i}].seat") for i, entry in enumerate(summary.seats)]
    if seats != [seat for seat in possible if seat in seats]:
        raise Refusal("CONTRADICTION", field, "are not reviewed seats, each once and in order")
    for i, seat in enumerate(summary.seats):
        if seat.HasField("luck_parts"):  # they lead to the outcome
            required(seat, "outcome", f"{field}[{i}]")
        check_length(seat.grades, len(GRADES.words), f"{field}[{i}].grades")
        for j, count in enumerate(seat.grades):
            GRADES.read(count.grade, f"{field}[{i}].grades[{j}].grade")
    check_text(summary.engine_signature, SIGNATURE_MAX, "summary.engine_signature")
    _check_figures(summary, "summary")


def _check_figures(message: Any, field: str) -> None:
    """Refuse numbers that a graph cannot show, such as NaN and infinity."""
    for descriptor, value in message.ListFields():
        values = list(value) if descriptor.is_repeated else [value]
        for i, one in enumerate(values):
            path = f"{field}.{descriptor.name}" + (f"[{i}]" if descriptor.is_repeated else "")
            if descriptor.type == FieldDescriptor.TYPE_MESSAGE:
                _check_figures(one, path)
            elif descriptor.type == FieldDescriptor.TYPE_DOUBLE:
                in_range(one, -FIGURE_MAX, FIGURE_MAX, path)
