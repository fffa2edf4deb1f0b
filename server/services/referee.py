"""RefereeService: it deals, plays, and returns the view of each seat. It keeps no state between calls.

Only this service and `codec/positions.py` handle positions with nothing hidden; tests check this of the rest of the
server.
"""

from __future__ import annotations

import secrets
from contextlib import nullcontext
from dataclasses import replace

from eminence.v1 import referee_pb2 as pb
from engine_cy import CHANCE, Action, Position, Rng
from engine_cy.record import Record
from server.codec import positions, records, views
from server.codec.fields import check_length, read_optional_seat, read_seat, required, write_seat
from server.codec.games import read_required_game
from server.games import adapter_of
from server.refusals import Refusal, at, missing

SERVICE = pb.DESCRIPTOR.services_by_name["RefereeService"]


class RefereeService:
    """The referee's methods. Stateless, so any thread may call them."""

    def Deal(self, request: pb.DealRequest) -> pb.DealResponse:
        game = read_required_game(request, "")
        first = read_optional_seat(request.first, game.n_players, "first") or 0
        seed = request.seed if request.HasField("seed") else secrets.randbits(64)
        start = game.deal(seed, first)
        return pb.DealResponse(
            position=positions.write(start),
            record=records.write(Record(start)),
            seed=seed,
            to_act=write_seat(start.to_act),
        )

    def Play(self, request: pb.PlayRequest) -> pb.PlayResponse:
        required(request, "standing", "")
        position, record = positions.read_sealed_standing(request.standing)
        if position.is_over:
            raise Refusal("GAME_OVER", "standing", "the game is over")
        action = _read_action(request, position)
        with at("action"):
            after = position.play(action)
        response = pb.PlayResponse(
            position=positions.write(after),
            action=views.write_seen(position.game, position.to_act, str(action)),
            seen=[
                views.write_seen(position.game, position.to_act, position.seen(action, seat))
                for seat in range(position.game.n_players)
                if position.game.has_history
            ],
            to_act=write_seat(after.to_act),
            over=after.is_over,
            effects=views.write_effects(
                position.game, adapter_of(position.game.id).effects(position, str(action), after)
            ),
        )
        if record is not None:
            longer = replace(record, actions=(*record.actions, str(action)), result=None)
            response.record.CopyFrom(records.write(longer.ended() if after.is_over else longer))
        return response

    def GetViews(self, request: pb.GetViewsRequest) -> pb.GetViewsResponse:
        required(request, "standing", "")
        position, record = positions.read_sealed_standing(request.standing)
        n = position.game.n_players
        check_length(request.seats, n, "seats")
        seats = [read_seat(seat, n, f"seats[{i}]") for i, seat in enumerate(request.seats)] or list(range(n))
        if not position.game.has_history:
            record = None
        return pb.GetViewsResponse(
            views=[
                views.write_view(position.view(seat), None if record is None else record.seen_from(seat))
                for seat in seats
            ]
        )

    def GetResult(self, request: pb.GetResultRequest) -> pb.GetResultResponse:
        required(request, "standing", "")
        position, _ = positions.read_standing(request.standing)
        return pb.GetResultResponse(
            over=position.is_over,
            points=position.scores,
            win_shares=position.payoffs if position.is_over else (),
            to_act=write_seat(position.to_act),
            legal_actions=map(views.write_action, position.legal_actions()),
        )

    def GetRecord(self, request: pb.GetRecordRequest) -> pb.GetRecordResponse:
        required(request, "record", "")
        with records.sealed("record") if request.seat else nullcontext():
            record = positions.read_whole_record(request.record, "record")
        seat = read_optional_seat(request.seat, record.game.n_players, "seat")
        if seat is not None:
            record = record.seen_from(seat)
        return pb.GetRecordResponse(record=records.write(record), text=str(record))


def _read_action(request: pb.PlayRequest, position: Position) -> Action:
    """Read the request's action, or draw one of chance."""
    if request.HasField("action"):
        return views.read_action(position.game, request.action, "action")
    if position.to_act != CHANCE:
        raise missing("action", "an action is required: it is not chance's turn")
    seed = request.seed if request.HasField("seed") else secrets.randbits(64)
    legal = position.legal_actions()
    return legal[Rng(seed).below(len(legal))]
