"""Invalid messages are refused with the field, the reason and the accepted values; none crashes the reader."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from google.rpc import error_details_pb2
from messages import damaged
from mutations import SPECS
from tables import ALL_IDS, random_game

from eminence.v1 import error_reason_pb2, view_pb2
from engine_cy import View, new_game
from engine_cy.record import Record
from server.codec import positions, records, views
from server.refusals import Refusal
from server.rpc.status import TEXT_MAX, refusal_of, status_of

VIEW = (
    "A1:Spy >B1:? C1:Lord* A2:Heir* | round 2 | first C | ask B reveal | points 1 2 3"
    " | hands Archer,Soldier,Lord,Decree,Ambush ? ? | piles - Archer Spy | seen by A"
)
HIDDEN_GOLD = {"hidden_gold": True}


def oriflamme() -> view_pb2.View:
    return views.write_view(new_game("oriflamme", "en-2019", 3).view(VIEW))


def castle(ruleset: Any = "house") -> view_pb2.View:
    table = new_game("castle_village_port", ruleset, 3).deal(3)
    for _ in range(3):
        table = table.play(table.legal_actions()[0])
    return views.write_view(table.view("A"))


def history() -> view_pb2.View:
    game = new_game("oriflamme", "en-2019", 3)
    played = list(random_game(game, 3))[:12]
    record = Record(played[0][0], tuple(str(action) for _, action in played[:-1])).seen_from("A")
    return views.write_view(end_of(record), record)


def end_of(record: Record) -> View:
    end = record.end
    assert isinstance(end, View)
    return end


# Changes to a valid view, and the reason and field of the refusal.
BREAKS: dict[str, tuple[Any, str, str, str]] = {
    "no game": (oriflamme, "v.ClearField('game')", "MISSING_FIELD", "view.game"),
    "no game id": (oriflamme, "v.game.game_id = ''", "MISSING_FIELD", "view.game.game_id"),
    "no such game": (oriflamme, "v.game.game_id = 'go'", "INVALID_RULESET", "view.game.game_id"),
    "no players": (oriflamme, "v.game.players = 0", "MISSING_FIELD", "view.game.players"),
    "six players": (oriflamme, "v.game.players = 6", "INVALID_RULESET", "view.game.players"),
    "no such edition": (
        oriflamme,
        "v.game.ruleset.edition = 'fr-1914'",
        "INVALID_RULESET",
        "view.game.ruleset.edition",
    ),
    "a switch out of range": (
        oriflamme,
        "v.game.ruleset.oriflamme.ambush_own_gain = 10",
        "INVALID_RULESET",
        "view.game.ruleset.oriflamme.ambush_own_gain",
    ),
    "an unknown word in a switch": (
        oriflamme,
        "v.game.ruleset.oriflamme.uncovered_resolves = 9",
        "UNKNOWN_VALUE",
        "view.game.ruleset.oriflamme.uncovered_resolves",
    ),
    "another game's switches": (
        oriflamme,
        "v.game.ruleset.castle_village_port.rounds = 2",
        "CONTRADICTION",
        "view.game.ruleset.castle_village_port",
    ),
    "a reward out of range": (
        castle,
        "v.game.ruleset.castle_village_port.rewards.port.for_five.rewards.add(gold=100)",
        "INVALID_RULESET",
        "view.game.ruleset.castle_village_port.rewards.port.for_five.rewards[0]",
    ),
    "a reward that says nothing": (
        castle,
        "v.game.ruleset.castle_village_port.rewards.port.for_five.rewards.add()",
        "MISSING_FIELD",
        "view.game.ruleset.castle_village_port.rewards.port.for_five.rewards[0].reward",
    ),
    "a card without an effect": (
        castle,
        "v.game.ruleset.castle_village_port.cards.add(value=1, when=1)",
        "MISSING_FIELD",
        "view.game.ruleset.castle_village_port.cards[0].effect",
    ),
    "no table": (oriflamme, "v.ClearField('oriflamme')", "MISSING_FIELD", "view.table"),
    "another game's table": (castle, "v.oriflamme.observer = 1", "CONTRADICTION", "view.oriflamme"),
    "no public part": (oriflamme, "o.ClearField('table')", "MISSING_FIELD", "view.oriflamme.table"),
    "no own part": (oriflamme, "o.ClearField('own')", "MISSING_FIELD", "view.oriflamme.own"),
    "no observer": (oriflamme, "o.observer = 0", "MISSING_FIELD", "view.oriflamme.observer"),
    "an observer from elsewhere": (oriflamme, "o.observer = 4", "OUT_OF_RANGE", "view.oriflamme.observer"),
    "an unknown observer": (oriflamme, "o.observer = 17", "UNKNOWN_VALUE", "view.oriflamme.observer"),
    "no round": (oriflamme, "t.round = 0", "MISSING_FIELD", "view.oriflamme.table.round"),
    "round 9": (oriflamme, "t.round = 9", "INVALID_VIEW", "view.oriflamme.table.round"),
    "no first player": (oriflamme, "t.first = 0", "MISSING_FIELD", "view.oriflamme.table.first"),
    "no question": (oriflamme, "t.ask = 0", "MISSING_FIELD", "view.oriflamme.table.ask"),
    "a wrong question": (oriflamme, "t.ask = 3", "INVALID_VIEW", "view.oriflamme.table.ask"),
    "an unknown question": (oriflamme, "t.ask = 99", "UNKNOWN_VALUE", "view.oriflamme.table.ask"),
    "no seat to act": (oriflamme, "t.to_act = 0", "MISSING_FIELD", "view.oriflamme.table.to_act"),
    "another seat to act": (oriflamme, "t.to_act = 1", "INVALID_VIEW", "view.oriflamme.table.to_act"),
    "no cursor": (oriflamme, "t.ClearField('cursor')", "INVALID_VIEW", "view.oriflamme.table.cursor"),
    "a cursor on nothing": (oriflamme, "t.cursor = 4", "INVALID_VIEW", "view.oriflamme.table.cursor"),
    "an ability too soon": (oriflamme, "t.acting = 1", "INVALID_VIEW", "view.oriflamme.table.acting"),
    "no points": (oriflamme, "del t.points[:]", "MISSING_FIELD", "view.oriflamme.table.points"),
    "points of two": (oriflamme, "del t.points[2]", "INVALID_VIEW", "view.oriflamme.table.points"),
    "negative points": (oriflamme, "t.points[1] = -1", "INVALID_VIEW", "view.oriflamme.table.points[1]"),
    "a slot without cards": (oriflamme, "del t.slots[1].cards[:]", "INVALID_VIEW", "view.oriflamme.table.slots[1]"),
    "a slot of no seat": (
        oriflamme,
        "t.slots[1].family = 0",
        "MISSING_FIELD",
        "view.oriflamme.table.slots[1].family",
    ),
    "too many slots": (
        oriflamme,
        "[t.slots.add(family=1) for _ in range(99)]",
        "TOO_LONG",
        "view.oriflamme.table.slots",
    ),
    "no such card": (
        oriflamme,
        "t.slots[2].cards[0].card = 40",
        "UNKNOWN_VALUE",
        "view.oriflamme.table.slots[2].cards[0].card",
    ),
    "a card of the prototype": (
        oriflamme,
        "t.slots[2].cards[0].card = 13",
        "INVALID_VIEW",
        "view.oriflamme.table.slots[2].cards[0].card",
    ),
    "an own card of the prototype": (
        oriflamme,
        "o.own.face_down[0] = 13",
        "INVALID_VIEW",
        "view.oriflamme.own.face_down",
    ),
    "negative tokens": (
        oriflamme,
        "t.slots[1].cards[0].tokens = -1",
        "INVALID_VIEW",
        "view.oriflamme.table.slots[1].cards[0].tokens",
    ),
    "tokens on a face-up card": (
        oriflamme,
        "t.slots[2].cards[0].tokens = 1",
        "INVALID_VIEW",
        "view.oriflamme.table.slots[2].cards[0].tokens",
    ),
    "a number twice": (oriflamme, "t.slots[3].cards[0].nth = 1", "INVALID_VIEW", "view.oriflamme.table.slots"),
    "a card too few in a pile": (
        oriflamme,
        "del t.piles[1].cards[:]",
        "NO_WORLD_FITS",
        "view.oriflamme.table.piles[1]",
    ),
    "a card twice": (oriflamme, "o.own.hand[0] = 3", "NO_WORLD_FITS", "view.oriflamme.table"),
    "a hand too small": (oriflamme, "del o.own.hand[0]", "NO_WORLD_FITS", "view.oriflamme.own.hand"),
    "a face-down card missing": (oriflamme, "del o.own.face_down[:]", "NO_WORLD_FITS", "view.oriflamme.own.face_down"),
    "too many face-down cards": (
        oriflamme,
        "o.own.face_down.append(5)",
        "NO_WORLD_FITS",
        "view.oriflamme.own.face_down",
    ),
    "an unknown card in hand": (oriflamme, "o.own.hand[1] = 99", "UNKNOWN_VALUE", "view.oriflamme.own.hand[1]"),
    "a too long hand": (oriflamme, "o.own.hand.extend([1] * 40)", "TOO_LONG", "view.oriflamme.own.hand"),
    "wrong sizes of hands": (oriflamme, "t.hand_sizes[1] = 1", "NO_WORLD_FITS", "view.oriflamme.table.hand_sizes"),
    "castle: no turn": (castle, "c.table.turn = 0", "MISSING_FIELD", "view.castle_village_port.table.turn"),
    "castle: turn 5": (castle, "c.table.turn = 5", "INVALID_VIEW", "view.castle_village_port.table.turn"),
    "castle: no gold": (castle, "del c.table.gold[:]", "MISSING_FIELD", "view.castle_village_port.table.gold"),
    "castle: an effect without a card": (
        castle,
        "c.table.ask = 4",
        "MISSING_FIELD",
        "view.castle_village_port.table.acting",
    ),
    "castle: value 16": (
        castle,
        "c.table.port.add(value=16, owner=1)",
        "INVALID_VIEW",
        "view.castle_village_port.table.port[0].value",
    ),
    "castle: a row unsorted": (
        castle,
        "c.table.port.add(value=1, owner=1), c.table.port.add(value=2, owner=1)",
        "INVALID_VIEW",
        "view.castle_village_port.table.port[1]",
    ),
    "castle: nothing selected": (castle, "c.own.selected = 0", "INVALID_VIEW", "view.castle_village_port.own.selected"),
    "castle: a card twice": (
        castle,
        "c.own.selected = c.own.hand[0]",
        "NO_WORLD_FITS",
        "view.castle_village_port.table",
    ),
    "castle: wrong seats selected": (
        castle,
        "c.table.selected.pop()",
        "INVALID_VIEW",
        "view.castle_village_port.table.selected",
    ),
    "castle: orders of two": (
        castle,
        "c.table.orders.extend([0, 0])",
        "INVALID_VIEW",
        "view.castle_village_port.table.orders",
    ),
    "castle: an order to nowhere": (
        castle,
        "c.table.orders.extend([0, 99, 0])",
        "UNKNOWN_VALUE",
        "view.castle_village_port.table.orders[1]",
    ),
    "castle: visible gold that is hidden": (
        lambda: castle(HIDDEN_GOLD),
        "c.table.gold.extend([3, 3, 3])",
        "CONTRADICTION",
        "view.castle_village_port.table.gold",
    ),
    "castle: gold not remembered": (
        lambda: castle(HIDDEN_GOLD),
        "del c.table.remembered_gold[:]",
        "MISSING_FIELD",
        "view.castle_village_port.table.remembered_gold",
    ),
    "castle: gold remembered and visible": (
        castle,
        "c.table.remembered_gold.extend([3, 3, 3])",
        "INVALID_VIEW",
        "view.castle_village_port.table.remembered_gold",
    ),
    "invalid text": (oriflamme, "v.text = 'A:Soldier('", "INVALID_NOTATION", "view.text"),
    "text of a position": (oriflamme, "v.text = '>A:Spy B:Spy C:Spy'", "INVALID_NOTATION", "view.text"),
    "text with a hidden card": (oriflamme, "v.text = '>A:Spy B:Spy C:? | seen by A'", "HIDDEN_CARD", "view.text"),
    "too long text": (oriflamme, "v.text = 'A' * 5000", "TOO_LONG", "view.text"),
    "a history without start": (history, "v.history.ClearField('oriflamme')", "MISSING_FIELD", "view.history.start"),
    "a history without one action": (history, "del v.history.actions[3]", "ILLEGAL_ACTION", "view.history.actions[3]"),
    "a history with another seat's turn": (
        history,
        "v.history.actions[0].seat = 3",
        "INVALID_RECORD",
        "view.history.actions[0].seat",
    ),
    "a history that ends too soon": (history, "del v.history.actions[-1]", "INVALID_RECORD", "view.history"),
    "a history with an empty action": (
        history,
        "v.history.actions[1].ClearField('action')",
        "MISSING_FIELD",
        "view.history.actions[1].action",
    ),
    "a history with an illegal action": (
        history,
        "v.history.actions[0].action.CopyFrom(view_pb2.Action(text='keep'))",
        "ILLEGAL_ACTION",
        "view.history.actions[0]",
    ),
    "a history that names a placed card": (
        history,
        "v.history.actions[next(i for i, a in enumerate(v.history.actions) if a.seat == 2)].action.CopyFrom("
        "view_pb2.Action(text='place Spy front'))",
        "ILLEGAL_ACTION",
        "view.history.actions",
    ),
    "a too long history": (
        history,
        "v.history.actions.extend([v.history.actions[0]] * 600)",
        "TOO_LONG",
        "view.history.actions",
    ),
    "an action that contradicts itself": (
        history,
        "setattr(v.history.actions[0].action, 'text', 'keep')",
        "CONTRADICTION",
        "view.history.actions[0].action.text",
    ),
    "a shown card of another game": (
        history,
        "v.history.actions[0].shown.add(castle_village_port=3)",
        "CONTRADICTION",
        "view.history.actions[0].shown[0].castle_village_port",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_an_invalid_view_is_refused_by_field_and_reason(name: str) -> None:
    make, change, reason, field = BREAKS[name]
    v = make()
    views.read_view(v)
    names: dict[str, Any] = {"v": v, "view_pb2": view_pb2}
    if v.HasField("oriflamme"):
        names |= {"o": v.oriflamme, "t": v.oriflamme.table}
    else:
        names |= {"c": v.castle_village_port}
    exec(change, names)
    with pytest.raises(Refusal) as refused:
        views.read_view(v)
    refusal = refused.value
    assert (refusal.reason, refusal.field.startswith(field)) == (reason, True), str(refusal)
    assert f"ERROR_REASON_{reason}" in error_reason_pb2.ErrorReason.DESCRIPTOR.values_by_name


def test_at_least_sixty_invalid_views_are_checked() -> None:
    assert len(BREAKS) >= 60


def test_a_status_holds_field_reason_and_text_for_programs_and_people() -> None:
    v = oriflamme()
    del v.oriflamme.own.hand[0]
    with pytest.raises(Refusal) as refused:
        views.read_view(v)
    status = status_of(refused.value)
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    assert status.details[0].Unpack(info)
    assert status.details[1].Unpack(bad)
    assert (status.code, info.reason, info.domain) == (9, "NO_WORLD_FITS", "eminence.v1")
    assert status.message == "view.oriflamme.own.hand: 4 cards; A has 5 left"
    (violation,) = bad.field_violations
    assert (violation.field, violation.reason) == ("view.oriflamme.own.hand", "NO_WORLD_FITS")
    assert violation.description == "4 cards; A has 5 left"


def test_an_internal_error_has_an_incident_number_and_hides_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    card = "Ambush"

    def broken() -> None:
        raise ValueError(f"B holds the {card}")

    with pytest.raises(ValueError, match="B holds") as error:
        broken()
    status = status_of(refusal_of(error.value))
    assert status.code == 13
    assert "Ambush" not in str(status)
    assert "Ambush" not in caplog.text
    info = error_details_pb2.ErrorInfo()
    status.details[0].Unpack(info)
    assert info.metadata["incident"] in caplog.text
    assert "test_refused_messages.py" in caplog.text


# --- random damage ---------------------------------------------------------------------------------------------


def refused_by(read: Callable[[Any], object], message: Any) -> Refusal | None:
    """Return the refusal by which `read` rejects the message; None if it accepts the message."""
    try:
        read(message)
    except Refusal as refusal:
        return refusal
    return None


@pytest.mark.parametrize("spec", SPECS, ids=[*ALL_IDS, "sent-3p"])
def test_damaged_messages_are_accepted_or_refused_but_never_crash(spec: Any) -> None:
    game, draw = new_game(*spec), random.Random(23)
    played = list(random_game(game, 2))
    record = Record(played[0][0], tuple(str(action) for _, action in played if action is not None))
    seat_record = record.seen_from(1)
    beginning = Record(seat_record.start, seat_record.actions[:9])
    makers: list[Any] = [(records.write(record), records.read), (records.write(seat_record), records.read)]
    makers += [(views.write_view(end_of(beginning), beginning), views.read_view)]
    for position, action in played[:: max(len(played) // 10, 1)]:
        makers.append((positions.write(position), lambda message: positions.read(message, "position")))
        makers.append((views.write_view(position.view(0)), views.read_view))
        if action is not None:
            makers.append((views.write_action(action), lambda message: views.read_action(game, message, "action")))
    refusals = [refused_by(read, damaged(message, draw)) for message, read in makers for _ in range(8)]
    for refusal in refusals:
        if refusal is not None:
            assert refusal.field
            assert "<" not in refusal.why, "an object's address"
            assert len(status_of(refusal).SerializeToString()) < 4 * TEXT_MAX + 600
    reasons = {None if refusal is None else refusal.reason for refusal in refusals}
    assert refusals.count(None) >= 20
    assert len(reasons) >= 6
