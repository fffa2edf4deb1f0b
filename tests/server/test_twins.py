"""The answers to a seat depend only on what the seat saw.

For two games that a seat cannot tell apart, every method that answers that seat returns equal bytes: responses,
statuses, and refusals of moves and records. For a seat that sees the difference, or without a seat, each method must
answer differently; otherwise these tests could not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import grpc
import pytest
from knights import knights_edition
from sockets import serving
from tables import ALL_IDS, ALL_SPECS, mostly_slow
from twins import Twins, twins

from eminence.v1 import record_pb2, referee_pb2, referee_pb2_grpc, rules_pb2, rules_pb2_grpc, solver_pb2_grpc, view_pb2
from eminence.v1 import solver_pb2 as pb
from engine_cy import EngineError, Position, View, new_game
from engine_cy.oriflamme.editions import EDITIONS
from engine_cy.record import Record
from engine_cy.seats import SEATS
from server.codec import positions, records, views
from server.codec.fields import write_seat
from server.services import referee, rules
from server.services import solver as solver_service
from server.settings import Settings
from server.telemetry import Telemetry
from solver.answer import SampledLine

BUDGET = pb.Budget(iterations=48)
ILLEGAL = ("keep", "target 1", "rob A", "select 3", "place castle 0", "nonsense")
# Illegal moves whose card is secret: two of a row look the same to all other seats.
HIDDEN = (
    [f"place {card} front" for card in ("Archer", "Soldier", "Knight", "Spy", "Heir", "Lord", "Ambush", "Wizard")],
    [f"place {card} on 0" for card in ("Archer", "Soldier", "Spy", "Heir", "Lord", "Ambush")],
    [f"select {card}" for card in range(17)],
)
LENGTHS = (1, 9, 24, 40)

BARDS = [{"value": value, "name": f"Bard {value}", "when": "end", "effect": "fetch"} for value in range(1, 16, 2)]
SPECS: dict[str, Any] = {
    **dict(zip(ALL_IDS, ALL_SPECS, strict=True)),
    "no decree_onto_stack": ("oriflamme", {"edition": "en-2019", "decree_onto_stack": False}, 3),
    "an edition of its own": ("oriflamme", "knights", 3),
    "hidden_gold": ("castle_village_port", {"hidden_gold": True}, 3),
    "tables of a caller": ("castle_village_port", {"cards": BARDS, "rounds": 2, "hidden_gold": True}, 4),
}
# All rulesets together take most of a minute.
QUICK = ("en-2019-3p", "hidden_gold", "an edition of its own")
every_spec = pytest.mark.parametrize("spec", mostly_slow(SPECS.values(), SPECS, QUICK))


@pytest.fixture(scope="module")
def channel() -> Iterator[grpc.Channel]:
    """Return a channel to a server without a cache and with the edition of Knights."""
    solver = solver_service.SolverService(Settings(cache_mb=0), Telemetry())
    solver.open()
    services = [
        (solver_service.SERVICE, solver),
        (rules.SERVICE, rules.RulesService()),
        (referee.SERVICE, referee.RefereeService()),
    ]
    with pytest.MonkeyPatch.context() as patch, serving(services) as opened:
        patch.setitem(EDITIONS, "knights", knights_edition())
        yield opened
    solver.end()


def outcome(call: Callable[..., Any], request: Any) -> list[bytes]:
    """Return the bytes of every response of a call, or of its status."""
    try:
        responses = call(request, timeout=60)
        messages = [responses] if hasattr(responses, "SerializeToString") else list(responses)
    except grpc.RpcError as error:
        return [f"{error.code()} {error.details()} {error.trailing_metadata()}".encode()]
    return [without_elapsed(message).SerializeToString(deterministic=True) for message in messages]


def without_elapsed(message: Any) -> Any:
    """Remove the elapsed time from a response."""
    for field in ("suggestion", "comparison"):
        if field in message.DESCRIPTOR.fields_by_name and message.HasField(field):
            getattr(message, field).ClearField("elapsed")
    return message


def without_history(view: view_pb2.View) -> view_pb2.View:
    copy = view_pb2.View()
    copy.CopyFrom(view)
    copy.ClearField("history")
    return copy


def answers_to(seat: int, record: Record, channel: grpc.Channel) -> dict[str, list[bytes]]:
    """Return the outcomes of all calls about one seat of a game, by call."""
    solver: Any = solver_pb2_grpc.SolverServiceStub(channel)
    rules: Any = rules_pb2_grpc.RulesServiceStub(channel)
    referee: Any = referee_pb2_grpc.RefereeServiceStub(channel)
    message, number = records.write(record), write_seat(seat)
    standing = referee_pb2.Standing(record=message)
    by_position = referee_pb2.Standing(position=positions.write(record.end))  # type: ignore[arg-type]
    get_views = referee_pb2.GetViewsRequest(standing=standing, seats=[number])
    view = referee.GetViews(get_views).views[0]
    legal = rules.ListLegalActions(rules_pb2.ListLegalActionsRequest(view=view)).actions
    options = pb.Options(information=True)
    item = pb.BatchItem(id="one", view=view, budget=BUDGET)
    answers = {
        "Suggest": outcome(solver.Suggest, pb.SuggestRequest(view=view, budget=BUDGET)),
        "Suggest with information": outcome(
            solver.Suggest, pb.SuggestRequest(view=view, budget=BUDGET, options=options)
        ),
        "Suggest with samples": outcome(
            solver.Suggest, pb.SuggestRequest(view=view, budget=BUDGET, options=pb.Options(sample_variations=8))
        ),
        "Suggest with confidence": outcome(
            solver.Suggest, pb.SuggestRequest(view=view, budget=pb.Budget(iterations=600, confidence=0.9))
        ),
        "Analyze": outcome(solver.Analyze, pb.AnalyzeRequest(view=view, budget=BUDGET)),
        "AnalyzeBatch": outcome(solver.AnalyzeBatch, iter([pb.AnalyzeBatchRequest(item=item)])),
        "Compare": outcome(solver.Compare, pb.CompareRequest(view=view, actions=legal[:2], budget=BUDGET)),
        "Review": outcome(solver.Review, pb.ReviewRequest(record=message, seat=number, budget=BUDGET)),
        "Review with details": outcome(
            solver.Review,
            pb.ReviewRequest(
                record=message, seat=number, budget=BUDGET, details=True, options=pb.Options(sample_variations=2)
            ),
        ),
        "WriteReport": outcome(solver.WriteReport, report_request(solver, message, number)),
        "GetViews": outcome(referee.GetViews, get_views),
        "GetViews of a position": outcome(
            referee.GetViews, referee_pb2.GetViewsRequest(standing=by_position, seats=[number])
        ),
        "GetRecord": outcome(referee.GetRecord, referee_pb2.GetRecordRequest(record=message, seat=number)),
        "ValidateView": outcome(rules.ValidateView, rules_pb2.ValidateViewRequest(view=view)),
        "ListLegalActions": outcome(rules.ListLegalActions, rules_pb2.ListLegalActionsRequest(view=view, words=True)),
        "ReplayRecord": outcome(
            rules.ReplayRecord, rules_pb2.ReplayRecordRequest(record=message, seats=[number], words=True)
        ),
        "CheckDraft": outcome(rules.CheckDraft, rules_pb2.CheckDraftRequest(view=without_history(view))),
        "WriteText": outcome(rules.WriteText, rules_pb2.WriteTextRequest(game=view.game, view=view)),
    }
    for text in ILLEGAL:
        action = view_pb2.Action(text=text)
        for name, standing_at in (("record", standing), ("position", by_position)):
            played = outcome(referee.Play, referee_pb2.PlayRequest(standing=standing_at, action=action))
            if b"StatusCode" in played[0]:
                answers[f"Play at a {name}: {text}"] = played
    return answers


def report_request(solver: Any, record: record_pb2.Record, seat: Any) -> pb.WriteReportRequest:
    """Review the decisions of a seat; return the request for the report."""
    *steps, last = solver.Review(pb.ReviewRequest(record=record, seat=seat, budget=BUDGET))
    decisions = [step.decision for step in steps]
    return pb.WriteReportRequest(record=record, seat=seat, decisions=decisions, summary=last.summary)


def refusals(seat: int | None, record: Record, action: str, channel: grpc.Channel) -> dict[str, list[bytes]]:
    """Return the outcomes of all calls about a record that ends in an illegal action, for one seat or none."""
    solver: Any = solver_pb2_grpc.SolverServiceStub(channel)
    referee: Any = referee_pb2_grpc.RefereeServiceStub(channel)
    acting = record.end.to_act
    assert acting is not None
    as_text = record_pb2.Record(text=f"{record}{SEATS[acting]} {action}\n")
    as_message = records.write(record)
    if as_message.HasField("text"):
        as_message = as_text
    else:
        as_message.whole.actions.add(seat=write_seat(acting), action=view_pb2.Action(text=action))
    number = write_seat(seat)  # None: no seat
    answers = {}
    for form, message in (("message", as_message), ("text", as_text)):
        standing = referee_pb2.Standing(record=message)
        get_record = referee_pb2.GetRecordRequest(record=message, seat=number)
        review = pb.ReviewRequest(record=message, seat=number, budget=BUDGET)
        answers[f"Review of a {form}"] = outcome(solver.Review, review)
        answers[f"GetRecord of a {form}"] = outcome(referee.GetRecord, get_record)
        if seat is None:
            get_result = referee_pb2.GetResultRequest(standing=standing)
            answers[f"GetResult of a {form}"] = outcome(referee.GetResult, get_result)
        else:
            get_views = referee_pb2.GetViewsRequest(standing=standing, seats=[number])
            answers[f"GetViews of a {form}"] = outcome(referee.GetViews, get_views)
            play = referee_pb2.PlayRequest(standing=standing, action=view_pb2.Action(text="keep"))
            answers[f"Play at a {form}"] = outcome(referee.Play, play)
    return answers


def illegal_pairs(pair: Twins) -> Iterator[tuple[str, str]]:
    """Yield illegal actions for the ends of both twins that look the same to their seat."""
    truth, other = (
        {text for row in (ILLEGAL, *HIDDEN) for text in row if not is_legal(record.end, text)} for record in pair[:2]
    )
    yield from ((text, text) for text in ILLEGAL if text in truth & other)
    for row in HIDDEN:
        first = [text for text in row if text in truth]
        last = [text for text in reversed(row) if text in other]
        yield from zip(first[:2], last, strict=False)


def is_legal(position: Any, text: str) -> bool:
    try:
        position.play(text)
    except EngineError:
        return False
    return True


def some_twins(spec: Any, *, acting: bool = True) -> list[Twins]:
    """Return one pair of twins for each length that has any."""
    game = new_game(*spec)
    pairs = [
        next((pair for seed in range(3) for pair in twins(game, seed, length, acting=acting)), None)
        for length in LENGTHS
    ]
    return [pair for pair in pairs if pair is not None]


@every_spec
def test_games_that_a_seat_cannot_tell_apart_have_equal_answers(spec: Any, channel: grpc.Channel) -> None:
    pairs = some_twins(spec)
    assert len(pairs) >= 3
    refused = 0
    for truth, other, seat in pairs:
        assert truth.seen_from(seat) == other.seen_from(seat)
        answers = answers_to(seat, truth, channel)
        refused += sum(name.startswith("Play") for name in answers)
        different = answers_to(seat, other, channel)
        assert answers.keys() == different.keys()
        for name, answer in answers.items():
            assert answer == different[name], name
    assert refused >= 4


@pytest.mark.parametrize("peeks", [False, True])
def test_sampled_lines_would_differ_if_they_were_those_of_the_truth(
    peeks: bool, channel: grpc.Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The budget is large enough for lines that show cards of others."""
    truth: list[Position] = []

    def in_the_truth(view: View, world: bytes, codes: Sequence[tuple[int, ...]]) -> SampledLine:
        positions, actions = list(truth), [view.game.action_from_steps(codes[0])]
        for code in codes[1:]:
            positions.append(positions[-1].play(actions[-1]))
            action = view.game.action_from_steps(code)
            if action not in positions[-1].legal_actions():
                return SampledLine(view.observer, tuple(positions[:-1]), tuple(actions))
            actions.append(action)
        return SampledLine(view.observer, tuple(positions), tuple(actions))

    if peeks:
        monkeypatch.setattr(SampledLine, "of", in_the_truth)
    solver: Any = solver_pb2_grpc.SolverServiceStub(channel)
    options = pb.Options(sample_variations=8)
    game = new_game("oriflamme", "en-2019", 3)
    differs = shows = False
    for pair in (pair for seed in range(6) for pair in twins(game, seed, 10 + 3 * seed)):
        answers = []
        for record in (pair.truth, pair.other):
            assert isinstance(record.end, Position)
            truth[:] = [record.end]
            view = views.write_view(record.end.view(pair.seat), record.seen_from(pair.seat))
            request = pb.SuggestRequest(view=view, budget=pb.Budget(iterations=2000), options=options)
            answers += outcome(solver.Suggest, request)
        differs = differs or answers[0] != answers[1]
        candidates = pb.SuggestResponse.FromString(answers[0]).suggestion.candidates
        shows = shows or any(step.action.shown for each in candidates for step in each.sample_variation)
    assert shows
    assert differs == peeks


@every_spec
def test_illegal_moves_that_look_the_same_are_refused_with_equal_messages(spec: Any, channel: grpc.Channel) -> None:
    """A refusal for one seat quotes neither the position of another seat nor a card that it placed."""
    hidden_cards = False
    for pair in some_twins(spec, acting=False):
        for actions in illegal_pairs(pair):
            hidden_cards = hidden_cards or actions[0] != actions[1]
            answers, different = (
                refusals(pair.seat, record, action, channel) for record, action in zip(pair[:2], actions, strict=True)
            )
            for name, answer in answers.items():
                assert answer[0].startswith(b"StatusCode.INVALID_ARGUMENT"), (name, answer)
                assert answer == different[name], (name, actions)
    assert hidden_cards


@every_spec
def test_every_method_answers_differently_where_the_difference_is_seen(spec: Any, channel: grpc.Channel) -> None:
    """Ask for the seat to act, which sees the difference, and without a seat, where refusals quote the position."""
    differs: dict[str, bool] = {}
    for pair in some_twins(spec, acting=False)[:2]:
        acting = pair.truth.end.to_act
        assert acting is not None
        answers, different = (answers_to(acting, record, channel) for record in pair[:2])
        for action in (first for first, second in illegal_pairs(pair) if first == second):
            for into, record in ((answers, pair.truth), (different, pair.other)):
                quoted = refusals(None, record, action, channel)
                into |= {f"{name}: {action}": answer for name, answer in quoted.items()}
        for name in answers.keys() & different.keys():
            method = name.partition(":")[0]
            # Rulesets without learned knowledge refuse information.
            differ = answers[name] != different[name] or b"options.information" in answers[name][0]
            differs[method] = differs.get(method, False) or differ
    assert [method for method, differ in differs.items() if not differ] == []
