"""What a seat is answered depends on what it saw, and on nothing else.

Of two games that a seat cannot tell apart, every method that answers that seat returns equal bytes: responses,
statuses, and the Referee's refusals of moves. The checks are then made of another seat, and have to fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from process import server
from tables import ALL_IDS, ALL_SPECS
from twins import Twins, twins

from eminence.v1 import referee_pb2, referee_pb2_grpc, rules_pb2, rules_pb2_grpc, solver_pb2_grpc, view_pb2
from eminence.v1 import solver_pb2 as pb
from engine_cy import new_game
from engine_cy.record import Record
from server.codec import positions, records
from server.codec.fields import write_seat

BUDGET = pb.Budget(iterations=48)
ILLEGAL = ("keep", "target 1", "rob A", "select 3", "place castle 0", "nonsense")
LENGTHS = (1, 4, 9, 16)


@pytest.fixture(scope="module")
def channel() -> Iterator[grpc.Channel]:
    with server() as running, running.channel() as opened:
        yield opened


def outcome(call: Callable[..., Any], request: Any) -> list[bytes]:
    """The bytes of all that a call returns, or those of its status."""
    try:
        responses = call(request, timeout=60)
        messages = [responses] if hasattr(responses, "SerializeToString") else list(responses)
    except grpc.RpcError as error:
        return [f"{error.code()} {error.details()} {error.trailing_metadata()}".encode()]
    return [timeless(message).SerializeToString(deterministic=True) for message in messages]


def timeless(message: Any) -> Any:
    """A response without the time that it took."""
    for field in ("suggestion", "comparison"):
        if field in message.DESCRIPTOR.fields_by_name and message.HasField(field):
            getattr(message, field).ClearField("elapsed")
    return message


def answers_to(seat: int, record: Record, channel: grpc.Channel) -> dict[str, list[bytes]]:
    """All that the services answer about one seat of a game."""
    solver: Any = solver_pb2_grpc.SolverServiceStub(channel)
    rules: Any = rules_pb2_grpc.RulesServiceStub(channel)
    referee: Any = referee_pb2_grpc.RefereeServiceStub(channel)
    whole, number = records.write(record), write_seat(seat)
    standing = referee_pb2.Standing(record=whole)
    bare = referee_pb2.Standing(position=positions.write(record.end))  # type: ignore[arg-type]
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
        "Suggest with confidence": outcome(
            solver.Suggest, pb.SuggestRequest(view=view, budget=pb.Budget(iterations=600, confidence=0.9))
        ),
        "Analyze": outcome(solver.Analyze, pb.AnalyzeRequest(view=view, budget=BUDGET)),
        "AnalyzeBatch": outcome(solver.AnalyzeBatch, iter([pb.AnalyzeBatchRequest(item=item)])),
        "Compare": outcome(solver.Compare, pb.CompareRequest(view=view, actions=legal[:2], budget=BUDGET)),
        "Review": outcome(solver.Review, pb.ReviewRequest(record=whole, seat=number, budget=BUDGET)),
        "GetViews": outcome(referee.GetViews, get_views),
        "GetRecord": outcome(referee.GetRecord, referee_pb2.GetRecordRequest(record=whole, seat=number)),
        "ValidateView": outcome(rules.ValidateView, rules_pb2.ValidateViewRequest(view=view)),
        "ListLegalActions": outcome(rules.ListLegalActions, rules_pb2.ListLegalActionsRequest(view=view)),
        "WriteText": outcome(rules.WriteText, rules_pb2.WriteTextRequest(game=view.game, view=view)),
    }
    for text in ILLEGAL:
        action = view_pb2.Action(text=text)
        for name, where in (("record", standing), ("position", bare)):
            played = outcome(referee.Play, referee_pb2.PlayRequest(standing=where, action=action))
            if b"StatusCode" in played[0]:
                answers[f"Play {text} at a {name}"] = played
    return answers


def all_twins(spec: Any) -> list[Twins]:
    game = new_game(*spec)
    return [found for length in LENGTHS for seed in range(2) for found in twins(game, seed, length)]


@pytest.mark.parametrize("spec", ALL_SPECS, ids=ALL_IDS)
def test_what_a_seat_cannot_tell_apart_has_equal_answers(spec: Any, channel: grpc.Channel) -> None:
    found = all_twins(spec)
    assert found
    refused = 0
    for truth, other, seat in found[:4]:
        answers = answers_to(seat, truth, channel)
        refused += sum(name.startswith("Play") for name in answers)
        different = answers_to(seat, other, channel)
        assert answers.keys() == different.keys()
        for name, answer in answers.items():
            assert answer == different[name], name
    assert refused >= 4


@pytest.mark.parametrize("spec", ALL_SPECS, ids=ALL_IDS)
def test_the_check_fails_where_a_seat_sees_more(spec: Any, channel: grpc.Channel) -> None:
    """Another seat, whose cards differ, is answered something else."""
    differ = set()
    for truth, other, seat in all_twins(spec)[:3]:
        for rival in range(truth.game.n_players):
            if rival != seat:
                one, two = (get_views(rival, record, channel) for record in (truth, other))
                differ.add(one != two)
    assert True in differ


def get_views(seat: int, record: Record, channel: grpc.Channel) -> list[bytes]:
    referee: Any = referee_pb2_grpc.RefereeServiceStub(channel)
    standing = referee_pb2.Standing(record=records.write(record))
    return outcome(referee.GetViews, referee_pb2.GetViewsRequest(standing=standing, seats=[write_seat(seat)]))
