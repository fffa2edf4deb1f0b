"""RulesService and RefereeService over a socket."""

from __future__ import annotations

import random
from base64 import b64encode
from typing import Any

import grpc
import pytest
from google.protobuf.unknown_fields import UnknownFieldSet
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from messages import damaged
from process import refusal, refusal_of
from tables import ALL_IDS, ALL_SPECS, mostly_slow

from eminence.v1 import (
    record_pb2,
    referee_pb2,
    referee_pb2_grpc,
    rules_pb2,
    rules_pb2_grpc,
    view_pb2,
)
from eminence.v1.seat_pb2 import SEAT_A, SEAT_B, SEAT_D, SEAT_E
from engine_cy import game_ids, new_game
from engine_cy.castle_village_port.editions import read_ruleset
from engine_cy.oriflamme.cards import PUBLISHED
from engine_cy.record import read_record
from server.codec import wire
from server.codec.fields import write_seat
from server.codec.games import write_game, write_ruleset
from server.games.oriflamme.messages import CARDS
from server.refusals import Refusal
from server.rpc.status import _encoded_bytes, status_of

EN = view_pb2.GameSpec(game_id="oriflamme", players=3, ruleset=view_pb2.Ruleset(edition="en-2019"))
CASTLE = view_pb2.GameSpec(game_id="castle_village_port", players=3)
TEXT = "A:Spy >B:Heir* C:?(1) | round 1 | points 1 2 3 | seen by B"


@pytest.fixture
def rules(channel: grpc.Channel) -> Any:
    return rules_pb2_grpc.RulesServiceStub(channel)


@pytest.fixture
def referee(channel: grpc.Channel) -> Any:
    return referee_pb2_grpc.RefereeServiceStub(channel)


# --- RulesService ----------------------------------------------------------------------------------------------


def test_every_listed_game_can_be_dealt(rules: Any, referee: Any) -> None:
    games = rules.ListGames(rules_pb2.ListGamesRequest()).games
    assert [game.game_id for game in games] == game_ids()
    n_dealt = 0
    for game in games:
        assert game.names.en
        assert game.names.fr
        assert game.names.de
        rulesets = rules.ListRulesets(rules_pb2.ListRulesetsRequest(game_id=game.game_id)).rulesets
        assert [info.ruleset.edition for info in rulesets] == list(game.editions)
        for info in rulesets:
            for players in info.players:
                spec = view_pb2.GameSpec(game_id=game.game_id, players=players, ruleset=info.ruleset)
                # A ruleset with all its switches equals the edition that it came from.
                by_name = view_pb2.GameSpec(game_id=game.game_id, players=players)
                by_name.ruleset.edition = info.ruleset.edition
                dealt = referee.Deal(referee_pb2.DealRequest(game=spec, seed=3))
                dealt_by_name = referee.Deal(referee_pb2.DealRequest(game=by_name, seed=3))
                assert dealt == dealt_by_name
                n_dealt += 1
    assert n_dealt == 4 * 3 + 3 + 3 + 1 + 1


def test_every_ruleset_lists_all_its_switches(rules: Any) -> None:
    for game_id in ("oriflamme", "oriflamme_prototype"):
        switches = rules.ListSwitches(rules_pb2.ListSwitchesRequest(game_id=game_id)).switches
        for info in rules.ListRulesets(rules_pb2.ListRulesetsRequest(game_id=game_id)).rulesets:
            listed = getattr(info.ruleset, game_id)
            assert {field.name for field, _ in listed.ListFields()} == {switch.name for switch in switches}
    castle = rules.ListRulesets(rules_pb2.ListRulesetsRequest(game_id="castle_village_port")).rulesets[0].ruleset
    assert len(castle.castle_village_port.cards) == 15
    switches = rules.ListSwitches(rules_pb2.ListSwitchesRequest(game_id="castle_village_port")).switches
    fields = castle.castle_village_port.DESCRIPTOR.fields_by_name
    assert {switch.name for switch in switches} == set(fields) - {"cards", "rewards"}
    assert all(switch.meaning and switch.values for switch in switches)


def test_cards_have_names_in_three_languages(rules: Any) -> None:
    cards = rules.ListCards(rules_pb2.ListCardsRequest(game=EN)).cards
    assert [card.card.oriflamme for card in cards] == [CARDS.write(card.id) for card in PUBLISHED]
    assert [card.card.name for card in cards] == [card.name for card in PUBLISHED]
    ambush = cards[-1]
    assert (ambush.names.en, ambush.names.fr, ambush.names.de) == ("Ambush", "Embuscade", "Hinterhalt")
    prototype = view_pb2.GameSpec(game_id="oriflamme_prototype", players=2)
    assert {card.copies for card in rules.ListCards(rules_pb2.ListCardsRequest(game=prototype)).cards} == {2}
    castle = view_pb2.GameSpec(game_id="castle_village_port", players=4)
    cards = rules.ListCards(rules_pb2.ListCardsRequest(game=castle)).cards
    assert [(card.card.castle_village_port, card.names.fr) for card in cards[:2]] == [(15, "Roi"), (14, "Princesse")]
    sent = read_ruleset({"cards": [{"value": 7, "name": "Zo", "when": "never", "effect": "none"}], "rounds": 1,
                         "turns_per_round": 1})  # fmt: skip
    castle.ruleset.CopyFrom(write_ruleset("castle_village_port", {"edition": "house", **sent.overrides()}))
    (card,) = rules.ListCards(rules_pb2.ListCardsRequest(game=castle)).cards
    assert (card.card, card.names.de) == (view_pb2.Card(name="7", castle_village_port=7), "Zo")


def test_a_valid_view_is_completed(rules: Any) -> None:
    view = view_pb2.View(game=EN, text="A:? >B:Heir C:?(1) | round 1 | points 1 2 3 | seen by B")
    response = rules.ValidateView(rules_pb2.ValidateViewRequest(view=view))
    expected = new_game("oriflamme", "en-2019", 3).view(view.text)
    assert response.text == str(expected)
    assert response.worlds == expected.count_worlds()
    assert rules.ValidateView(rules_pb2.ValidateViewRequest(view=response.view)) == response
    request = rules_pb2.ListLegalActionsRequest(view=response.view)
    legal = rules.ListLegalActions(request)
    assert [action.text for action in legal.actions] == ["reveal", "keep"]
    assert [action.oriflamme.WhichOneof("action") for action in legal.actions] == ["reveal", "keep"]
    assert legal.to_act == 2


def test_a_seat_that_is_not_to_act_has_no_legal_actions(rules: Any) -> None:
    view = view_pb2.View(game=EN, text="A:? >B:? C:Spy(1) | round 1 | points 1 2 3 | seen by C")
    legal = rules.ListLegalActions(rules_pb2.ListLegalActionsRequest(view=view))
    assert (list(legal.actions), legal.to_act) == ([], 2)


@pytest.mark.parametrize(
    "text", ["place Spy front", "place ? on 2", "reveal = Heir", "target 2 = Ambush", "move 2 to 5"]
)
def test_the_text_of_an_action_is_read_and_written_back(rules: Any, text: str) -> None:
    read = rules.ReadText(rules_pb2.ReadTextRequest(game=EN, action=text)).action
    read.action.ClearField("text")
    assert rules.WriteText(rules_pb2.WriteTextRequest(game=EN, action=read)).text == text


def test_invalid_text_is_refused_by_field(rules: Any) -> None:
    wrong = [
        (rules_pb2.ReadTextRequest(game=EN, action="jump"), "INVALID_NOTATION", "action"),
        (rules_pb2.ReadTextRequest(game=EN, action="reveal = Zebra"), "INVALID_NOTATION", "action"),
        (rules_pb2.ReadTextRequest(game=EN, action="reveal = "), "INVALID_NOTATION", "action"),
        (rules_pb2.ReadTextRequest(game=CASTLE, action="place port 0 = x"), "INVALID_NOTATION", "action"),
        (rules_pb2.ReadTextRequest(game=CASTLE, action="place port 0 = 16"), "INVALID_NOTATION", "action"),
        (rules_pb2.ReadTextRequest(game=EN, view="A:Spy("), "INVALID_NOTATION", "view"),
        (rules_pb2.ReadTextRequest(record="nothing"), "INVALID_RECORD", "record"),
        (rules_pb2.ReadTextRequest(record="game go\nplayers 2\n"), "INVALID_RECORD", "record"),
        (rules_pb2.ReadTextRequest(action="reveal"), "MISSING_FIELD", "game"),
        (rules_pb2.ReadTextRequest(game=EN), "MISSING_FIELD", "text"),
        (rules_pb2.ReadTextRequest(game=EN, action="x" * 101), "TOO_LONG", "action"),
    ]
    for request, reason, field in wrong:
        assert refusal(rules.ReadText, request) == ("INVALID_ARGUMENT", reason, field)
    assert refusal(rules.WriteText, rules_pb2.WriteTextRequest()) == ("INVALID_ARGUMENT", "MISSING_FIELD", "message")


# --- RefereeService --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", mostly_slow(ALL_SPECS, ALL_IDS))
def test_the_referee_and_views_play_the_game_of_the_engine(rules: Any, referee: Any, spec: Any) -> None:
    """Play a game through the referee, with players who get their views alone, and the same game in the engine."""
    game, draw = new_game(*spec), random.Random(8)
    dealt = referee.Deal(referee_pb2.DealRequest(game=write_game(game), seed=8, first=SEAT_B))
    truth = game.deal(8, 1)
    record, to_act, over, steps = dealt.record, dealt.to_act, False, 0
    while not over:
        standing = referee_pb2.Standing(record=record)
        play = referee_pb2.PlayRequest(standing=standing, seed=steps)
        if to_act:
            (view,) = referee.GetViews(referee_pb2.GetViewsRequest(standing=standing, seats=[to_act])).views
            legal = rules.ListLegalActions(rules_pb2.ListLegalActionsRequest(view=view)).actions
            assert [action.text for action in legal] == list(map(str, truth.legal_actions()))
            chosen = draw.choice(legal)
            chosen.ClearField(draw.choice(["text", "oriflamme" if chosen.HasField("oriflamme") else "text"]))
            play.action.CopyFrom(chosen)
        played = referee.Play(play)
        for seat, seen in enumerate(played.seen):
            assert rules.WriteText(rules_pb2.WriteTextRequest(game=record.game, action=seen)).text == truth.seen(
                played.action.action.text, seat
            )
        truth = truth.play(played.action.action.text)
        record, to_act, over, steps = played.record, played.to_act, played.over, steps + 1
    result = referee.GetResult(referee_pb2.GetResultRequest(standing=referee_pb2.Standing(position=played.position)))
    assert result.over
    assert (tuple(result.points), tuple(result.win_shares)) == (truth.scores, truth.payoffs)
    assert not result.legal_actions
    written = referee.GetRecord(referee_pb2.GetRecordRequest(record=record))
    assert read_record(written.text).end == truth
    for seat in range(game.n_players):
        seen = referee.GetRecord(referee_pb2.GetRecordRequest(record=record, seat=write_seat(seat)))
        assert read_record(seen.text).end == truth.view(seat)
        assert rules.ReadText(rules_pb2.ReadTextRequest(record=seen.text)).record == seen.record
    standing = referee_pb2.Standing(record=record)
    assert refusal(referee.Play, referee_pb2.PlayRequest(standing=standing))[:2] == ("FAILED_PRECONDITION", "GAME_OVER")


def test_a_refusal_for_a_seat_names_the_place_and_no_card(referee: Any) -> None:
    dealt = referee.Deal(referee_pb2.DealRequest(game=EN, seed=1))
    get_record, written = referee_pb2.GetRecordRequest, dealt.record
    lines = referee.GetRecord(get_record(record=written)).text.splitlines()
    text = record_pb2.Record(text="\n".join([*lines, "A place Wizard front"]))
    deal, actions, result, ruleset = (record_pb2.Record.FromString(written.SerializeToString()) for _ in range(4))
    deal.whole.oriflamme.aside[1].cards[0] = deal.whole.oriflamme.aside[1].cards[1]
    actions.whole.actions.add(action=view_pb2.Action(text="place Wizard front"))
    result.result.extend([9, 9, 9])
    for record, place in (
        (text, f"record.text: line {len(lines) + 1} "),
        (deal, "record.whole.oriflamme: "),
        (actions, "record.whole.actions[0]: "),
        (result, "record.result: "),
    ):
        message = details(referee.GetRecord, get_record(record=record, seat=SEAT_A))
        assert message == f"{place}is not possible; `GetRecord` without a seat says why"
        assert refusal(referee.GetRecord, get_record(record=record, seat=SEAT_A))[1] == "INVALID_RECORD"
        assert "says why" not in details(referee.GetRecord, get_record(record=record))
    ruleset.game.ruleset.edition = "fr-1914"
    assert "'fr-1914' is not an edition" in details(referee.GetRecord, get_record(record=ruleset, seat=SEAT_A))

    dealt.position.oriflamme.secrets[1].hand[0] = dealt.position.oriflamme.secrets[1].hand[1]
    standing = referee_pb2.Standing(position=dealt.position)
    for call, request in ((referee.GetViews, referee_pb2.GetViewsRequest), (referee.Play, referee_pb2.PlayRequest)):
        assert details(call, request(standing=standing)) == "standing.position: is not possible; `GetResult` says why"
    message = details(referee.GetResult, referee_pb2.GetResultRequest(standing=standing))
    assert message == "standing.position.oriflamme.secrets[1].hand: 2 copies of soldier; a family has 1"


def details(call: Any, request: Any) -> str:
    """Return the message of the status with which a request is refused."""
    with pytest.raises(grpc.RpcError) as refused:
        call(request)
    return str(refused.value.details())


def test_deals_without_a_seed_differ(referee: Any) -> None:
    request = referee_pb2.DealRequest(game=EN)
    assert len({referee.Deal(request).seed for _ in range(8)}) == 8


def test_invalid_requests_to_the_referee_are_refused_by_field(referee: Any) -> None:
    dealt = referee.Deal(referee_pb2.DealRequest(game=EN, seed=1))
    seat_record = referee.GetRecord(referee_pb2.GetRecordRequest(record=dealt.record, seat=SEAT_A)).record
    standing = referee_pb2.Standing(position=dealt.position)
    play = referee_pb2.PlayRequest
    wrong: list[tuple[Any, Any, str, str]] = [
        (referee.Deal, referee_pb2.DealRequest(), "MISSING_FIELD", "game"),
        (referee.Deal, referee_pb2.DealRequest(game=EN, first=SEAT_D), "OUT_OF_RANGE", "first"),
        (referee.Play, play(), "MISSING_FIELD", "standing"),
        (referee.Play, play(standing=referee_pb2.Standing()), "MISSING_FIELD", "standing.at"),
        (referee.Play, play(standing=standing), "MISSING_FIELD", "action"),
        (referee.Play, play(standing=standing, action=view_pb2.Action()), "MISSING_FIELD", "action"),
        (referee.Play, play(standing=standing, action=view_pb2.Action(text="reveal")), "ILLEGAL_ACTION", "action"),
        (referee.GetRecord, referee_pb2.GetRecordRequest(record=seat_record), "INVALID_RECORD", "record"),
        (referee.GetViews, referee_pb2.GetViewsRequest(standing=standing, seats=[SEAT_E]), "OUT_OF_RANGE", "seats[0]"),
        (
            referee.GetRecord,
            referee_pb2.GetRecordRequest(record=record_pb2.Record()),
            "MISSING_FIELD",
            "record.contents",
        ),
    ]
    for call, request, reason, field in wrong:
        assert refusal(call, request) == ("INVALID_ARGUMENT", reason, field)


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        ("reveal", "action: 'reveal': A must place a card (legal: "),
        ("jump", "action.text: 'jump' is not one of place CARD front|back, "),
        ("target 99", "action.text: '99' in 'target 99' is not a slot"),
    ],
)
def test_a_refused_play_names_the_wrong_field_once(referee: Any, sent: str, error: str) -> None:
    standing = referee_pb2.Standing(position=referee.Deal(referee_pb2.DealRequest(game=EN, seed=1)).position)
    with pytest.raises(grpc.RpcError) as refused:
        referee.Play(referee_pb2.PlayRequest(standing=standing, action=view_pb2.Action(text=sent)))
    assert str(refused.value.details()).startswith(error)
    status: Any = rpc_status.from_call(refused.value)  # type: ignore[arg-type]
    bad = error_details_pb2.BadRequest()
    assert status.details[1].Unpack(bad)
    (violation,) = bad.field_violations
    assert f"{violation.field}: {violation.description}" == refused.value.details()


# --- every call ------------------------------------------------------------------------------------------------


def raw(channel: grpc.Channel, method: str) -> Any:
    """Return a call that sends bytes unchanged."""
    return channel.unary_unary(f"/eminence.v1.{method}", request_serializer=None, response_deserializer=None)


def test_malformed_bytes_are_refused(channel: grpc.Channel) -> None:
    call = raw(channel, "RulesService/ValidateView")
    assert refusal(call, b"\xff\xff\xff") == ("INVALID_ARGUMENT", "MALFORMED_MESSAGE", "")
    assert refusal(call, b"\x0a\x03\x22\x01\xff") == ("INVALID_ARGUMENT", "MALFORMED_MESSAGE", "")


def test_unknown_fields_are_refused_by_their_path(channel: grpc.Channel) -> None:
    call = raw(channel, "RulesService/ValidateView")
    view = view_pb2.View(game=EN, text=TEXT)
    view.game.ruleset.oriflamme.MergeFromString(b"\xb8\x06\x01")
    request = rules_pb2.ValidateViewRequest(view=view).SerializeToString()
    assert refusal(call, request) == ("INVALID_ARGUMENT", "UNKNOWN_FIELD", "view.game.ruleset.oriflamme.103")
    assert refusal(call, request + b"\xb8\x06\x01") == ("INVALID_ARGUMENT", "UNKNOWN_FIELD", "103")


def test_the_search_for_an_unknown_field_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request of 0.25 MB can hold 100,000 messages, and the search takes a Python call for each."""
    searched: list[Any] = []

    def counted(message: Any) -> Any:
        searched.append(message)
        return UnknownFieldSet(message)

    monkeypatch.setattr(wire, "UnknownFieldSet", counted)
    history = view_pb2.History(actions=[view_pb2.SeenAction()] * 100_000)
    many = rules_pb2.ValidateViewRequest(view=view_pb2.View(game=EN, history=history))
    with pytest.raises(Refusal) as refused:
        wire.read_message(many.SerializeToString() + b"\x0a\x03\xb8\x06\x01", rules_pb2.ValidateViewRequest)
    assert (refused.value.reason, refused.value.field) == ("UNKNOWN_FIELD", "view.103")
    request = many.SerializeToString()
    many.view.history.actions[-1].MergeFromString(b"\xb8\x06\x01")
    assert len(many.SerializeToString()) > len(request)
    with pytest.raises(Refusal) as refused:
        wire.read_message(many.SerializeToString(), rules_pb2.ValidateViewRequest)
    assert (refused.value.reason, refused.value.field) == ("UNKNOWN_FIELD", "")
    assert wire.SEARCHED_MAX <= len(searched) <= wire.SEARCHED_MAX + 10
    searched.clear()
    with pytest.raises(Refusal) as refused:
        wire.read_message(b"\xb8\x06\x01" * 50_000, rules_pb2.ValidateViewRequest)
    assert (refused.value.reason, refused.value.field, searched) == ("UNKNOWN_FIELD", "", [])


@pytest.mark.parametrize("text", ["\N{GRINNING FACE}" * 3_999, "%" * 3_999, "\u00e9" * 3_999, "x" * 3_999])
def test_every_refusal_fits_into_the_headers(channel: grpc.Channel, text: str) -> None:
    """Clients read 8 KiB of headers; a longer status is lost."""
    request = rules_pb2.ValidateViewRequest(view=view_pb2.View(game=EN, text=text)).SerializeToString()
    for _ in range(5):
        assert refusal(raw(channel, "RulesService/ValidateView"), request)[0] == "INVALID_ARGUMENT"
    shown = status_of(Refusal("INVALID_NOTATION", text, text))
    in_headers = sum(map(_encoded_bytes, shown.message)) + len(b64encode(shown.SerializeToString()))
    assert in_headers < 7_000


def test_a_position_sent_as_a_view_is_refused(channel: grpc.Channel, referee: Any) -> None:
    """Send a position, whose fields differ from those of a view."""
    position = referee.Deal(referee_pb2.DealRequest(game=EN, seed=1)).position
    request = b"\x0a" + bytes([len(position.SerializeToString()) & 0x7F | 0x80, len(position.SerializeToString()) >> 7])
    code, reason, _ = refusal(raw(channel, "RulesService/ValidateView"), request + position.SerializeToString())
    assert code == "INVALID_ARGUMENT"
    assert reason in ("MALFORMED_MESSAGE", "UNKNOWN_FIELD", "MISSING_FIELD")


def test_the_status_of_a_bug_holds_only_an_incident_number(faulty_channel: grpc.Channel) -> None:
    rules: Any = rules_pb2_grpc.RulesServiceStub(faulty_channel)
    with pytest.raises(grpc.RpcError) as failed:
        rules.ListGames(rules_pb2.ListGamesRequest())
    error: Any = failed.value
    assert refusal_of(error) == ("INTERNAL", "INTERNAL", "")
    assert "Ambush" not in f"{error.details()} {error.trailing_metadata()}"
    # The server still answers.
    assert rules.ListCards(rules_pb2.ListCardsRequest(game=EN)).cards


def test_damaged_requests_never_end_in_unknown_or_internal(channel: grpc.Channel, rules: Any, referee: Any) -> None:
    draw = random.Random(6)
    dealt = referee.Deal(referee_pb2.DealRequest(game=EN, seed=1))
    standing = referee_pb2.Standing(record=dealt.record)
    action = view_pb2.Action(text="place Spy front")
    (view, *_) = referee.GetViews(referee_pb2.GetViewsRequest(standing=standing)).views
    requests: list[tuple[str, Any]] = [
        ("RulesService/ValidateView", rules_pb2.ValidateViewRequest(view=view)),
        ("RulesService/ListLegalActions", rules_pb2.ListLegalActionsRequest(view=view)),
        ("RulesService/ListCards", rules_pb2.ListCardsRequest(game=EN)),
        ("RulesService/WriteText", rules_pb2.WriteTextRequest(game=EN, record=dealt.record)),
        ("RefereeService/Play", referee_pb2.PlayRequest(standing=standing, action=action)),
        (
            "RefereeService/GetViews",
            referee_pb2.GetViewsRequest(standing=referee_pb2.Standing(position=dealt.position)),
        ),
        ("RefereeService/GetRecord", referee_pb2.GetRecordRequest(record=dealt.record)),
    ]
    codes = set()
    for method, request in requests:
        for n in range(60):
            body = bytearray(damaged(request, draw).SerializeToString())
            if n % 3 == 0 and body:
                body[draw.randrange(len(body))] = draw.randrange(256)
            call = raw(channel, method).with_call
            try:
                call(bytes(body), timeout=60)
                codes.add("OK")
            except grpc.RpcError as error:
                code, reason, _ = refusal_of(error)
                codes.add(code)
                assert reason != "INTERNAL", (method, bytes(body))
    assert {"OK", "INVALID_ARGUMENT"} <= codes <= {"OK", "INVALID_ARGUMENT", "FAILED_PRECONDITION"}
    assert rules.ListGames(rules_pb2.ListGamesRequest()).games
