"""An edition with its own card, as docs/how_to/extend.md adds one: no answer confuses it with the card it replaces."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import json_format
from knights import knights_edition
from process import refusal_of, stub
from program import run
from sockets import serving

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from eminence.v1.oriflamme_pb2 import ORIFLAMME_CARD_SOLDIER, ORIFLAMME_CARD_UNSPECIFIED
from engine_cy import Position, View, new_game
from engine_cy.oriflamme.cards import PUBLISHED
from engine_cy.oriflamme.editions import EDITIONS
from engine_cy.record import Record
from server.cli.commands import rules
from server.cli.results.row import _beliefs
from server.codec import positions, records, views
from server.refusals import Refusal
from server.services import solver as solver_service
from server.services.solver import SolverService
from server.settings import Settings
from server.telemetry import Telemetry

POSSIBLE = "archer, knight, spy, heir, lord, shapeshifter, assassination, royal_decree, conspiracy, ambush"

# Tables of en-2019 at which A sees a Soldier, and the field that holds it.
TABLE, OWN = "view.oriflamme.table", "view.oriflamme.own"
SOLDIERS = {
    "in the queue": (">A:Soldier* B:? C:? | ask A target", f"{TABLE}.slots[0].cards[0].card"),
    "face down": (">A:Soldier B:? C:? | ask A reveal", f"{OWN}.face_down[0]"),
    "in hand": (">A:Spy B:? C:? | ask A reveal | hands Archer,Soldier,Heir,Lord,Decree,Ambush ? ?", f"{OWN}.hand[1]"),
    "in a pile": (
        ">A:Spy B:? | ask A reveal | hands Archer,Heir,Lord,Decree,Conspiracy,Ambush ? ? | piles - - Soldier",
        f"{TABLE}.piles[2].cards[0]",
    ),
}


@pytest.fixture(autouse=True)
def _knights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EDITIONS, "knights", knights_edition())


def among_knights(text: str) -> view_pb2.View:
    """Return the message of a table of en-2019, relabelled as one of the edition with Knights."""
    message = views.write_view(new_game("oriflamme", "en-2019", 3).view(f"{text} | seen by A"))
    message.game.ruleset.edition = "knights"
    return message


@pytest.fixture(scope="module")
def adviser() -> Any:
    service = SolverService(Settings(cache_mb=0), Telemetry())
    service.open()
    with serving([(solver_service.SERVICE, service)]) as channel:
        yield stub(channel)


@pytest.mark.parametrize(("text", "field"), SOLDIERS.values(), ids=SOLDIERS)
def test_a_view_with_the_card_that_was_replaced_is_refused(text: str, field: str) -> None:
    message = among_knights(text)
    with pytest.raises(Refusal) as refused:
        views.read_view(message)
    assert (refused.value.reason, refused.value.field) == ("INVALID_VIEW", field)
    assert refused.value.why == f"'soldier' is no card of this edition ({POSSIBLE})"


@pytest.mark.parametrize(("text", "field"), SOLDIERS.values(), ids=SOLDIERS)
def test_a_request_with_the_card_that_was_replaced_is_refused(adviser: Any, text: str, field: str) -> None:
    views.read_view(view_pb2.View(game=among_knights(text).game, text="| seen by A"))  # caches the game
    with pytest.raises(grpc.RpcError) as refused:
        adviser.Suggest(pb.SuggestRequest(view=among_knights(text), budget=pb.Budget(iterations=10)))
    assert refusal_of(refused.value) == ("INVALID_ARGUMENT", "INVALID_VIEW", field)


def test_beliefs_do_not_name_the_card_that_was_replaced(adviser: Any) -> None:
    text = ">A:Knight* B:? C:? | ask A target | seen by A"
    message = view_pb2.View(game=among_knights("").game, text=text)
    answer = adviser.Suggest(pb.SuggestRequest(view=message)).suggestion
    assert answer.best.text == "target 1"
    (of_b,) = [belief for belief in answer.beliefs if belief.seat == 2]
    for cards in (of_b.face_down[0].cards, of_b.hand):
        numbers = [chance.card.oriflamme for chance in cards]
        assert ORIFLAMME_CARD_SOLDIER not in numbers
        assert numbers.count(ORIFLAMME_CARD_UNSPECIFIED) == 1
        assert len(numbers) == len(PUBLISHED)
    assert sum(chance.probability for chance in of_b.face_down[0].cards) == pytest.approx(1)
    (knight,) = [chance.card for chance in of_b.hand if not chance.card.HasField("oriflamme")]
    assert knight.name == "Knight"


def knight_record() -> Record:
    """Play a random game that places, reveals and shows Knights wherever it can."""
    rng = random.Random(4)
    start = position = new_game("oriflamme", "knights", 3).deal(4)
    actions = []
    while not position.is_over:
        legal = position.legal_actions()
        action = next(
            (choice for choice in legal if "Knight" in str(choice) or str(choice) == "reveal"), rng.choice(legal)
        )
        actions.append(str(action))
        position = position.play(action)
    return Record(start, tuple(actions)).ended()


def test_every_message_of_a_game_with_knights_is_read_back() -> None:
    record = knight_record()
    assert sum("Knight" in action for action in record.actions) > 1
    assert records.read(records.write(record)) == record
    n_shown = 0
    for seat in range(3):
        seat_record = record.seen_from(seat)
        n_shown += sum("= Knight" in action for action in seat_record.actions)
        assert records.read(records.write(seat_record)) == seat_record
        for table in seat_record.tables():
            assert isinstance(table, View)
            assert views.read_view(views.write_view(table)) == table
    assert n_shown
    for position in record.tables():
        assert isinstance(position, Position)
        assert positions.read(positions.write(position), "position") == position
        for action in position.legal_actions():
            assert views.read_action(record.game, views.write_action(action), "action") == action
            assert views.write_action(action).HasField("oriflamme") == ("Knight" not in str(action))


def test_a_knight_is_suggested_and_listed_by_name(adviser: Any) -> None:
    text = "- | hands Archer,Knight,Heir,Lord,Decree,Conspiracy,Ambush ? ? | seen by A"
    message = view_pb2.View(game=among_knights("").game, text=text)
    options = pb.Options(restrict_to=[view_pb2.Action(text="place Knight front")])
    answer = adviser.Suggest(pb.SuggestRequest(view=message, options=options)).suggestion
    assert answer.best.text == "place Knight front"
    game = new_game("oriflamme", "knights", 3)
    (row,) = [row for row in rules.describe_cards(game) if row["card"] == "knight"]
    assert row["names"] == {"en": "Knight", "fr": "Knight", "de": "Knight"}


def test_the_command_line_names_knights_and_no_soldiers(tmp_path: Path) -> None:
    view = ">A:Knight B:? C:? | round 2 | ask A reveal | seen by A"
    args = ("--ruleset", "knights", "--iterations", 100)
    answer = run("suggest", view, *args, "--information")
    assert (answer.code, "Soldier" in answer.out) == (0, False)
    assert "Knight" in answer.out.partition("Likely hidden cards")[2]
    assert "Knight   slot 0" in answer.out
    refused = run("suggest", view.replace("Knight", "Soldier"), *args)
    assert "'Soldier' is no card of this edition" in refused.err
    suggestion = json_format.Parse(run("suggest", view, *args, "--json").out, pb.Suggestion())
    beliefs = {row["card"] for row in _beliefs(suggestion, new_game("oriflamme", "knights", 3))}
    assert "Knight" in beliefs
    assert not beliefs & {"Soldier", "0"}
    (tmp_path / "game.txt").write_text(str(knight_record()))
    report = tmp_path / "report.html"
    review = run("review", tmp_path / "game.txt", "--iterations", 20, "--html", report)
    assert review.code == 0, review.err
    assert "Knight" in report.read_text()
    assert "Soldier" not in report.read_text()
