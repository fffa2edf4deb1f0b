"""RulesService: games, editions, cards, legal actions, and the conversion between text and messages."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

from eminence import __version__
from eminence.v1 import rules_pb2 as pb
from engine_cy import GameFaultError, Position, View, editions_of, game_ids, game_sources, players_of
from engine_cy.annotations import NAME_MAX
from engine_cy.seats import SEATS
from server.codec import records, views
from server.codec.fields import check_length, check_text, per_seat, read_seat, required, which, write_seat
from server.codec.games import check_game_id, read_required_game, write_ruleset
from server.games import adapter_of
from server.games.adapter import Draft, GameAdapter, in_words, readers_of
from server.messages.requests import Caps
from server.refusals import Refusal, at
from server.services.local import CAPS
from solver.config import LEVELS
from solver.expected_signature import SIGNATURE
from solver.pool import cores

SERVICE = pb.DESCRIPTOR.services_by_name["RulesService"]


def info_of(game_id: str, fault: str = "") -> pb.GameInfo:
    """Return the description of a game. With a fault, which says why it cannot be played, its code does not run."""
    source = next(source for source in game_sources() if source.id == game_id)
    info = pb.GameInfo(game_id=game_id, origin=source.package or "eminence", fault=fault)
    if fault:
        info.names.CopyFrom(GameAdapter(game_id).names.message())
    else:
        info.names.CopyFrom(adapter_of(game_id).names.message())
        info.editions.extend(editions_of(game_id))
        info.players.extend(players_of(game_id, info.editions[0]))
    return info


def _info_or_fault(game_id: str) -> pb.GameInfo:
    try:
        return info_of(game_id)
    except GameFaultError as error:
        return info_of(game_id, str(error))


def server_info(caps: Caps, shares_useful: int, needs_token: bool = False) -> pb.GetServerResponse:
    """Return the description of a server."""
    info = pb.GetServerResponse(
        version=__version__,
        engine_signature=SIGNATURE,
        iterations_max=caps.iterations,
        memory_max_bytes=caps.memory_bytes,
        shares_useful=shares_useful,
        levels=[pb.LevelInfo(level=level, iterations=config.iterations) for level, config in LEVELS.items()],
        needs_token=needs_token,
    )
    info.time_max.FromMicroseconds(round(caps.time_ms * 1000))
    return info


class RulesService:
    """The methods about rules. Stateless and synchronous, so a client in this process calls them, too.

    `server` describes the server, or this process.
    """

    def __init__(self, server: pb.GetServerResponse | None = None) -> None:
        self._server = server or server_info(CAPS, cores())

    def ListGames(self, request: pb.ListGamesRequest) -> pb.ListGamesResponse:
        return pb.ListGamesResponse(games=map(_info_or_fault, game_ids()))

    def ListRulesets(self, request: pb.ListRulesetsRequest) -> pb.ListRulesetsResponse:
        game_id = check_game_id(request.game_id, "game_id")
        return pb.ListRulesetsResponse(
            rulesets=[
                pb.RulesetInfo(
                    ruleset=write_ruleset(game_id, adapter_of(game_id).spelled_out(edition)),
                    players=players_of(game_id, edition),
                    names=adapter_of(game_id).edition_names(edition).message(),
                )
                for edition in editions_of(game_id)
            ]
        )

    def ListSwitches(self, request: pb.ListSwitchesRequest) -> pb.ListSwitchesResponse:
        return pb.ListSwitchesResponse(switches=adapter_of(check_game_id(request.game_id, "game_id")).switches())

    def ListCards(self, request: pb.ListCardsRequest) -> pb.ListCardsResponse:
        game = read_required_game(request, "")
        adapter = adapter_of(game.id)
        return pb.ListCardsResponse(cards=adapter.cards(game), locations=adapter.locations(game))

    def CheckDraft(self, request: pb.CheckDraftRequest) -> pb.CheckDraftResponse:
        required(request, "view", "")
        response = pb.CheckDraftResponse()
        try:
            draft = views.read_draft(request.view, "view", fills_in=request.fill_in)
        except Refusal as refusal:
            draft = Draft([refusal], None, None)
        for problem in draft.problems:
            response.problems.add(field=problem.field, reason=problem.reason, description=problem.why)
        if draft.view is not None:
            response.view.CopyFrom(views.write_view(draft.view))
            response.text, response.worlds = str(draft.view), float(draft.view.count_worlds())
        elif draft.message is not None:
            response.view.CopyFrom(views.write_draft(request.view, draft.message))
        return response

    def PlaySeen(self, request: pb.PlaySeenRequest) -> pb.PlaySeenResponse:
        required(request, "view", "")
        required(request, "action", "")
        view, history = views.read_view_and_history(request.view)
        game = view.game
        if not game.has_history:
            raise Refusal("INVALID_RULESET", "view.game", "this game does not define what a seat sees of an action")
        seat, action = views.read_seen(game, request.action, "action")
        if seat is not None and seat != view.to_act:
            raise Refusal("CONTRADICTION", "action.seat", "is not the seat to act")
        with at("action"):
            possible = [] if "=" in action else views.possible_shown(view, action)
            if possible:
                return pb.PlaySeenResponse(possible_shown=possible)
            after = view.play(action)
        seen = views.write_seen(game, view.to_act, action)
        response = pb.PlaySeenResponse(view=views.write_view(after), action=seen)
        past = response.view.history
        if history is not None:
            past.CopyFrom(request.view.history)
        else:
            views.write_start(view, past)
        past.actions.append(seen)
        return response

    def ReplayRecord(self, request: pb.ReplayRecordRequest) -> pb.ReplayRecordResponse:
        required(request, "record", "")
        with records.sealed("record") if request.seats else nullcontext():
            record = records.read(request.record)
        game, observer = record.game, record.observer
        check_length(request.seats, game.n_players, "seats")
        seats = [read_seat(seat, game.n_players, f"seats[{i}]") for i, seat in enumerate(request.seats)]
        if observer is not None and seats not in ([], [observer]):
            raise Refusal("CONTRADICTION", "seats", f"the record has the views of {SEATS[observer]} only")
        seats = seats or ([observer] if observer is not None else list(range(game.n_players)))
        response = pb.ReplayRecordResponse(seats=map(write_seat, seats))
        reader = seats[0] if request.seats else None
        tells = request.words and (game.has_history or reader is None)
        readers = readers_of(game, record.names)
        before: Position | View | None = None
        adapter = adapter_of(game.id)
        for index, table in enumerate(record.tables()):
            ply = response.plies.add(index=index, to_act=write_seat(table.to_act), over=table.is_over)
            seen_tables = [table.view(seat) if isinstance(table, Position) else table for seat in seats]
            ply.views.extend(map(views.write_view, seen_tables))
            # Beside the views of named seats, the answer holds nothing that these seats do not see.
            ply.points.extend(adapter.owned(seen_tables[0] if request.seats else table))
            if before is not None:
                action = record.actions[index - 1]
                if not request.seats:
                    ply.action.CopyFrom(views.write_seen(game, before.to_act, action))
                for seat in seats if game.has_history else ():
                    seen = before.seen(action, seat) if isinstance(before, Position) else action
                    ply.seen.append(views.write_seen(game, before.to_act, seen))
                if tells:
                    told = _as_seen(reader, before, action, table)
                    ply.words.CopyFrom(in_words(partial(adapter.narrate, *told), readers))
                    ply.effects.CopyFrom(views.write_effects(game, adapter.effects(*told)))
            before = table
        return response

    def GetServer(self, request: pb.GetServerRequest) -> pb.GetServerResponse:
        return self._server

    def ValidateView(self, request: pb.ValidateViewRequest) -> pb.ValidateViewResponse:
        required(request, "view", "")
        view = views.read_view(request.view)
        return pb.ValidateViewResponse(view=views.write_view(view), text=str(view), worlds=float(view.count_worlds()))

    def ListLegalActions(self, request: pb.ListLegalActionsRequest) -> pb.ListLegalActionsResponse:
        required(request, "view", "")
        view = views.read_view(request.view)
        legal = view.legal_actions()
        response = pb.ListLegalActionsResponse(actions=map(views.write_action, legal), to_act=write_seat(view.to_act))
        if request.words:
            if request.names:
                per_seat(request.names, view.game.n_players, "names")
            for number, name in enumerate(request.names):
                check_text(name, NAME_MAX, f"names[{number}]")
            adapter = adapter_of(view.game.id)
            readers = readers_of(view.game, request.names)
            response.words.extend(in_words(partial(adapter.choice, view, str(action)), readers) for action in legal)
            if legal:
                response.question.CopyFrom(in_words(partial(adapter.prompt, view), readers))
        return response

    def ReadText(self, request: pb.ReadTextRequest) -> pb.ReadTextResponse:
        kind = which(request, "text", "")
        if kind == "record":
            return pb.ReadTextResponse(record=records.write(records.read_text(request.record, "record")))
        game = read_required_game(request, "")
        if kind == "view":
            return pb.ReadTextResponse(view=views.write_view(views.read_view_text(game, request.view, "view")))
        return pb.ReadTextResponse(action=views.read_seen_text(game, request.action, "action"))

    def WriteText(self, request: pb.WriteTextRequest) -> pb.WriteTextResponse:
        kind = which(request, "message", "")
        if kind == "view":
            return pb.WriteTextResponse(text=str(views.read_view(request.view)))
        elif kind == "record":
            return pb.WriteTextResponse(text=str(records.read(request.record)))
        game = read_required_game(request, "")
        return pb.WriteTextResponse(text=views.read_seen(game, request.action, "action")[1])


def _as_seen(
    reader: int | None, before: Position | View, action: str, after: Position | View
) -> tuple[Position | View, str, Position | View]:
    """Return an action of a record, and the tables around it, as a seat saw them; without a seat, as they were."""
    if reader is None or not isinstance(before, Position) or not isinstance(after, Position):
        return before, action, after
    return before.view(reader), before.seen(action, reader), after.view(reader)
