"""RulesService: games, editions, cards, legal actions, and the conversion between text and messages."""

from __future__ import annotations

from eminence.v1 import rules_pb2 as pb
from engine_cy import GameFaultError, editions_of, game_ids, game_sources, players_of
from server.codec import records, views
from server.codec.fields import required, which, write_seat
from server.codec.games import check_game_id, read_required_game, write_ruleset
from server.games import adapter_of
from server.games.adapter import GameAdapter

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


class RulesService:
    """The methods about rules. Stateless and synchronous, so a client in this process calls them, too."""

    def ListGames(self, request: pb.ListGamesRequest) -> pb.ListGamesResponse:
        return pb.ListGamesResponse(games=map(_info_or_fault, game_ids()))

    def ListRulesets(self, request: pb.ListRulesetsRequest) -> pb.ListRulesetsResponse:
        game_id = check_game_id(request.game_id, "game_id")
        return pb.ListRulesetsResponse(
            rulesets=[
                pb.RulesetInfo(
                    ruleset=write_ruleset(game_id, adapter_of(game_id).spelled_out(edition)),
                    players=players_of(game_id, edition),
                )
                for edition in editions_of(game_id)
            ]
        )

    def ListSwitches(self, request: pb.ListSwitchesRequest) -> pb.ListSwitchesResponse:
        return pb.ListSwitchesResponse(switches=adapter_of(check_game_id(request.game_id, "game_id")).switches())

    def ListCards(self, request: pb.ListCardsRequest) -> pb.ListCardsResponse:
        game = read_required_game(request, "")
        return pb.ListCardsResponse(cards=adapter_of(game.id).cards(game))

    def ValidateView(self, request: pb.ValidateViewRequest) -> pb.ValidateViewResponse:
        required(request, "view", "")
        view = views.read_view(request.view)
        return pb.ValidateViewResponse(view=views.write_view(view), text=str(view), worlds=float(view.count_worlds()))

    def ListLegalActions(self, request: pb.ListLegalActionsRequest) -> pb.ListLegalActionsResponse:
        required(request, "view", "")
        view = views.read_view(request.view)
        actions = map(views.write_action, view.legal_actions())
        return pb.ListLegalActionsResponse(actions=actions, to_act=write_seat(view.to_act))

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
