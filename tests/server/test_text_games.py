"""A game without messages is served by text alone, by every service and every command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from program import random_record, run

from eminence.v1 import castle_village_port_pb2, oriflamme_pb2, record_pb2, referee_pb2, rules_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb
from eminence.v1.seat_pb2 import SEAT_A
from engine_cy.record import read_record
from server.client.local import LocalClient
from server.codec import positions, records, views
from server.games import adapter_of
from server.games.adapter import GameAdapter
from server.refusals import Refusal

SPEC = view_pb2.GameSpec(game_id="leduc_poker", players=2, ruleset=view_pb2.Ruleset(edition="standard"))
CASTLE_RULESET = view_pb2.Ruleset(castle_village_port=castle_village_port_pb2.CastleVillagePortTables())
VIEW = view_pb2.View(game=SPEC, text="Ka ? | call | seen by A | first B")
FEW = pb.Budget(iterations=50)
RECORD = random_record("leduc_poker", None, 2, 3)
GAME = ("--game", "leduc_poker", "--players", "2")
TABLE = "Ka ? | seen by A"
COMMANDS: list[tuple[str, ...]] = [
    ("suggest", TABLE, *GAME, "--iterations", "50"),
    ("suggest", "game.txt", "--at", "3", "--iterations", "50"),
    ("compare", TABLE, "call", "raise", *GAME, "--iterations", "50"),
    ("convert", TABLE, *GAME, "--to", "json"),
    ("convert", "game.txt", "--to", "json"),
    ("analyze", "game.txt", "--iterations", "50", "--out", "out.jsonl"),
    ("review", "game.txt", "--iterations", "50", "--html", "out.html"),
    ("bench", *GAME, "--seconds", "0.05", "--threads", "1"),
    ("rules", *GAME[:2]),
]


@pytest.fixture(scope="module")
def client() -> Iterator[LocalClient]:
    with LocalClient(workers=1) as client:
        yield client


def test_the_game_has_no_messages_of_its_own() -> None:
    assert adapter_of("leduc_poker").member == GameAdapter.member == ""


def test_it_is_listed_with_its_edition_and_players(client: LocalClient) -> None:
    (info,) = [
        game for game in client.rules.ListGames(rules_pb2.ListGamesRequest()).games if game.game_id == "leduc_poker"
    ]
    assert (info.names.en, list(info.editions), list(info.players)) == ("Leduc poker", ["standard"], [2])
    rulesets = client.rules.ListRulesets(rules_pb2.ListRulesetsRequest(game_id="leduc_poker")).rulesets
    assert [entry.ruleset for entry in rulesets] == [SPEC.ruleset]
    assert not client.rules.ListSwitches(rules_pb2.ListSwitchesRequest(game_id="leduc_poker")).switches
    assert not client.rules.ListCards(rules_pb2.ListCardsRequest(game=SPEC)).cards


def test_its_views_actions_and_records_are_text(client: LocalClient) -> None:
    answer = client.rules.ValidateView(rules_pb2.ValidateViewRequest(view=VIEW))
    assert (answer.view.WhichOneof("table"), answer.view.text) == ("text", answer.text)
    assert answer.worlds == 5
    legal = client.rules.ListLegalActions(rules_pb2.ListLegalActionsRequest(view=view_pb2.View(game=SPEC, text=TABLE)))
    assert [(action.text, action.WhichOneof("action")) for action in legal.actions] == [("call", None), ("raise", None)]
    message = records.write(RECORD)
    assert message.WhichOneof("contents") == "text"
    assert records.read(message) == RECORD
    for table in RECORD.tables():
        position = positions.write(table)  # type: ignore[arg-type]
        assert positions.read(position, "position") == table


def test_the_solver_answers_with_text(client: LocalClient) -> None:
    view = view_pb2.View(game=SPEC, text=TABLE)
    suggestion = client.suggest(view, budget=FEW)
    assert {candidate.action.text for candidate in suggestion.candidates} == {"call", "raise"}
    assert (suggestion.knowledge, len(suggestion.beliefs)) == ("none", 0)
    actions = [view_pb2.Action(text=text) for text in ("call", "raise")]
    assert len(client.compare(view, actions, budget=FEW).actions) == 2
    *decisions, last = client.review(records.write(RECORD), budget=FEW)
    assert last.HasField("summary")
    assert len(decisions) == sum(action.split()[0] != "deal" for action in RECORD.actions)


def test_the_referee_plays_it(client: LocalClient) -> None:
    dealt = client.referee.Deal(referee_pb2.DealRequest(game=SPEC, seed=1))
    standing = referee_pb2.Standing(record=dealt.record)
    for _ in range(100):
        played = client.referee.Play(
            referee_pb2.PlayRequest(standing=standing, seed=2, action=_choice(client, standing))
        )
        standing = referee_pb2.Standing(record=played.record)
        if played.over:
            break
    assert read_record(played.record.text).end.is_over
    seen = client.referee.GetViews(referee_pb2.GetViewsRequest(standing=standing)).views
    assert [view.text.rpartition("seen by ")[2] for view in seen] == ["A", "B"]
    assert not any(view.HasField("history") for view in seen)


def _choice(client: LocalClient, standing: referee_pb2.Standing) -> view_pb2.Action:
    """Return the first legal action."""
    result: Any = client.referee.GetResult(referee_pb2.GetResultRequest(standing=standing))
    action: view_pb2.Action = result.legal_actions[0]
    return action


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (view_pb2.View(game=SPEC, oriflamme=oriflamme_pb2.OriflammeView()), "view.oriflamme"),
        (
            view_pb2.View(game=view_pb2.GameSpec(game_id="leduc_poker", players=2, ruleset=CASTLE_RULESET), text=TABLE),
            "view.game.ruleset.castle_village_port",
        ),
    ],
    ids=["table", "ruleset"],
)
def test_messages_of_another_game_are_refused(message: view_pb2.View, field: str) -> None:
    with pytest.raises(Refusal) as refused:
        views.read_view(message)
    assert (refused.value.reason, refused.value.field) == ("CONTRADICTION", field)


def test_shown_cards_of_another_game_are_refused() -> None:
    game = RECORD.game
    message = view_pb2.SeenAction(action=view_pb2.Action(text="call"), shown=[view_pb2.Card(castle_village_port=3)])
    with pytest.raises(Refusal) as refused:
        views.read_seen(game, message, "action")
    assert (refused.value.reason, refused.value.field) == ("CONTRADICTION", "action.shown[0].castle_village_port")


def test_a_seat_cannot_get_its_record(client: LocalClient) -> None:
    request = referee_pb2.GetRecordRequest(record=record_pb2.Record(text=str(RECORD)), seat=SEAT_A)
    with pytest.raises(Exception, match="cannot be followed from one seat"):
        client.referee.GetRecord(request)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_every_command_accepts_it(arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("game.txt").write_text(str(RECORD))
    output = run(*arguments)
    assert (output.code, output.err) == (0, "")


def test_a_person_plays_it_to_the_end() -> None:
    output = run("play", *GAME, "--seed", "3", "--level", "1", stdin="1\n" * 20)
    assert output.code == 0
    assert "Ka ? | call" in output.out
    assert "The game is over" in output.out
