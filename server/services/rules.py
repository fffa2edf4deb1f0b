"""RulesService: games, editions, cards, legal actions, and the conversion between text and messages."""

from __future__ import annotations

from collections.abc import Iterator

from eminence.v1 import rules_pb2 as pb
from engine_cy.castle_village_port import editions as castle_editions
from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.oriflamme import editions
from engine_cy.oriflamme.binding import Oriflamme
from server import card_names
from server.codec import records, views
from server.codec.fields import CARDS, required, which, write_seat
from server.codec.games import GAME_IDS, check_game_id, read_required_game, write_ruleset

_MEANINGS = {
    "hand_size": "cards that each player draws up to",
    "rounds": "rounds of a game",
    "turns_per_round": "turns in a round, for any number of players",
    "starting_gold": "gold of each player at the start",
}

SERVICE = pb.DESCRIPTOR.services_by_name["RulesService"]


class RulesService:
    """The methods about rules. Stateless and synchronous, so a client in this process calls them, too."""

    def ListGames(self, request: pb.ListGamesRequest) -> pb.ListGamesResponse:
        return pb.ListGamesResponse(
            games=[
                pb.GameInfo(
                    game_id=game_id,
                    names=_names(card_names.GAMES[game_id]),
                    editions=_editions(game_id),
                    players=_players(game_id, _editions(game_id)[0]),
                )
                for game_id in GAME_IDS
            ]
        )

    def ListRulesets(self, request: pb.ListRulesetsRequest) -> pb.ListRulesetsResponse:
        game_id = check_game_id(request.game_id, "game_id")
        response = pb.ListRulesetsResponse()
        for edition in _editions(game_id):
            if game_id == "castle_village_port":
                ruleset = castle_editions.EDITIONS[edition].spelled_out()
            else:
                ruleset = {"edition": edition, **editions.EDITIONS[edition].switches}
            response.rulesets.add(ruleset=write_ruleset(game_id, ruleset), players=_players(game_id, edition))
        return response

    def ListSwitches(self, request: pb.ListSwitchesRequest) -> pb.ListSwitchesResponse:
        return pb.ListSwitchesResponse(switches=_switches(check_game_id(request.game_id, "game_id")))

    def ListCards(self, request: pb.ListCardsRequest) -> pb.ListCardsResponse:
        game = read_required_game(request, "")
        response = pb.ListCardsResponse()
        if isinstance(game, Oriflamme):
            for card in game.cards:
                response.cards.add(
                    oriflamme=CARDS.write_if_known(card.id),
                    names=_names(card_names.names_of(card)),
                    notation=card.name,
                    copies=game.frame.copies,
                )
        elif isinstance(game, CastleVillagePort):
            for row in game.frame.cards:
                names = card_names.CASTLE_VILLAGE_PORT.get(row.name, card_names.Names(row.name, row.name, row.name))
                response.cards.add(value=row.value, names=_names(names), notation=str(row.value), copies=1)
        return response

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


def _names(names: card_names.Names) -> pb.Names:
    return pb.Names(en=names.en, fr=names.fr, de=names.de)


def _editions(game_id: str) -> list[str]:
    return list(castle_editions.EDITIONS) if game_id == "castle_village_port" else editions.editions_of(game_id)


def _players(game_id: str, edition: str) -> tuple[int, ...]:
    return castle_editions.PLAYERS if game_id == "castle_village_port" else editions.EDITIONS[edition].players


def _switches(game_id: str) -> Iterator[pb.SwitchInfo]:
    if game_id == "castle_village_port":
        for name, (least, most) in castle_editions.NUMBERS.items():
            yield pb.SwitchInfo(name=name, meaning=_MEANINGS[name], values=map(str, range(least, most + 1)))
        yield pb.SwitchInfo(name="hidden_gold", meaning="gold is hidden from the others", values=("no", "yes"))
        return
    words = {True: "yes", False: "no"}
    for name, switch in editions.SWITCHES[game_id].items():
        values = [words[value] if isinstance(value, bool) else str(value) for value in switch.values]
        yield pb.SwitchInfo(name=name, meaning=switch.meaning, values=values)
