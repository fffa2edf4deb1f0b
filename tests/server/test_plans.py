"""The generic codec: plans between messages and values by the names of fields, and `typed` messages."""

from __future__ import annotations

from dataclasses import make_dataclass, replace
from typing import Any, NamedTuple

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto
from hypothesis import given, settings
from tables import games, tables

from eminence.v1 import castle_village_port_pb2 as castle_pb2
from eminence.v1 import oriflamme_pb2, view_pb2
from eminence.v1.seat_pb2 import SEAT_A, SEAT_C, SEAT_D
from engine_cy import Position, new_game
from engine_cy.castle_village_port import table as castle
from engine_cy.castle_village_port.actions import ACTIONS as CASTLE_ACTIONS
from engine_cy.oriflamme import table as oriflamme
from server.codec.action_plans import ActionPlans
from server.codec.members import read_member, write_member
from server.codec.plans import Plan
from server.games import adapter_of
from server.games.adapter import GameAdapter
from server.games.castle_village_port.messages import PLANS as CASTLE
from server.games.oriflamme.messages import PLANS as ORIFLAMME
from server.refusals import Refusal


def passed(plan: Plan, value: Any, n_players: int) -> Any:
    """Write a value, send the message, and read it back."""
    message = plan.message()
    plan.write(value, message)
    return plan.read(plan.message.FromString(message.SerializeToString()), n_players)


def passed_table(plan: Plan, parts: Any, game: Any) -> Any:
    """Pass a table; fill in what a message leaves out: chance as the seat to act, and a list without a seat."""
    read = adapter_of(game.id).prepare(game, passed(plan, parts, game.n_players), "table", None)  # type: ignore[attr-defined]
    if getattr(read.table, "selected", ()) is None:
        return replace(read, table=replace(read.table, selected=()))
    return read


@settings(deadline=None)
@given(tables())
def test_tables_of_any_ruleset_are_read_back_equal(position: Position) -> None:
    game: Any = position.game
    plans: Any = adapter_of(game.id).plans
    assert passed_table(plans.position, position.parts, game) == position.parts
    for seat in range(game.n_players):
        assert passed_table(plans.view, position.view(seat).parts, game) == position.view(seat).parts
    for action in position.legal_actions():
        message = plans.actions.message()
        assert plans.actions.write(action.fields, message)
        assert plans.actions.read(message, game, "action") == action


@settings(deadline=None)
@given(games())
def test_deals_of_any_ruleset_are_read_back_equal(game: Any) -> None:
    deal = game.deal_of(game.deal(3, 1))
    assert passed(adapter_of(game.id).plans.deal, deal, game.n_players) == deal


# --- refusals --------------------------------------------------------------------------------------------------


def seen(plan: Plan, game: str, position: str) -> Any:
    """Return the message of A's view of a table."""
    message = plan.message()
    plan.write(new_game(game, None, 3).position(position).view(0).parts, message)
    return message


def a_queue() -> Any:
    return seen(ORIFLAMME.view, "oriflamme", ">A:Spy B:Archer C:Lord* | ask A reveal | piles - - -")


def rows() -> Any:
    return castle_pb2.CastleVillagePortView(
        observer=SEAT_A,
        table=castle_pb2.CastleVillagePortTable(
            round=1, turn=1, first=SEAT_A, ask=castle_pb2.CASTLE_VILLAGE_PORT_ASK_SELECT, gold=[3, 3, 3]
        ),
        own=castle_pb2.CastleVillagePortSecrets(hand=[1]),
    )


REFUSALS: dict[str, tuple[Any, Any, str, str, str]] = {
    "no nested message": (ORIFLAMME.view, a_queue, "m.ClearField('own')", "MISSING_FIELD", "own"),
    "no seat": (ORIFLAMME.view, a_queue, "m.table.slots[1].family = 0", "MISSING_FIELD", "table.slots[1].family"),
    "no number": (ORIFLAMME.view, a_queue, "m.table.round = 0", "MISSING_FIELD", "table.round"),
    "no word": (ORIFLAMME.view, a_queue, "m.table.ask = 0", "MISSING_FIELD", "table.ask"),
    "no list": (ORIFLAMME.view, a_queue, "del m.table.points[:]", "MISSING_FIELD", "table.points"),
    "unknown seat": (ORIFLAMME.view, a_queue, "m.observer = 17", "UNKNOWN_VALUE", "observer"),
    "absent seat": (ORIFLAMME.view, a_queue, "m.table.to_act = 4", "OUT_OF_RANGE", "table.to_act"),
    "unknown word": (ORIFLAMME.view, a_queue, "m.own.hand[1] = 99", "UNKNOWN_VALUE", "own.hand[1]"),
    "unset word in a list": (ORIFLAMME.view, a_queue, "m.own.hand[0] = 0", "MISSING_FIELD", "own.hand[0]"),
    "word in a wrapped list": (
        ORIFLAMME.view,
        a_queue,
        "m.table.piles[2].cards.append(99)",
        "UNKNOWN_VALUE",
        "table.piles[2].cards[0]",
    ),
    "long list": (ORIFLAMME.view, a_queue, "m.own.hand.extend([1] * 40)", "TOO_LONG", "own.hand"),
    "long list of messages": (
        ORIFLAMME.view,
        a_queue,
        "[m.table.slots[0].cards.add() for _ in range(40)]",
        "TOO_LONG",
        "table.slots[0].cards",
    ),
    "long wrapped list": (
        CASTLE.view,
        rows,
        "m.table.piles.add(values=[1] * 16)",
        "TOO_LONG",
        "table.piles[0].values",
    ),
    "owner of a card": (CASTLE.view, rows, "m.table.port.add(value=3)", "MISSING_FIELD", "table.port[0].owner"),
    "nested in nested": (
        CASTLE.view,
        rows,
        "m.table.walk.due.add(value=3, owner=5)",
        "MISSING_FIELD",
        "table.walk.location",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_has_its_reason_and_path(name: str) -> None:
    plan, make, change, reason, field = REFUSALS[name]
    message = make()
    plan.read(message, 3)
    exec(change, {"m": message})
    with pytest.raises(Refusal) as refused:
        plan.read(message, 3)
    assert (refused.value.reason, refused.value.field) == (reason, field)


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (oriflamme_pb2.OriflammeAction(), "a.action"),
        (
            oriflamme_pb2.OriflammeAction(place=oriflamme_pb2.OriflammePlace(card=oriflamme_pb2.ORIFLAMME_CARD_ARCHER)),
            "a.place.place",
        ),
        (
            oriflamme_pb2.OriflammeAction(
                place=oriflamme_pb2.OriflammePlace(
                    card=oriflamme_pb2.ORIFLAMME_CARD_QUEEN, at=oriflamme_pb2.ORIFLAMME_END_FRONT
                )
            ),
            "a.place.card",
        ),
        (oriflamme_pb2.OriflammeAction(target=oriflamme_pb2.OriflammeTarget()), "a.target.slot"),
        (oriflamme_pb2.OriflammeAction(target=oriflamme_pb2.OriflammeTarget(slot=2**16)), "a.target.slot"),
        (oriflamme_pb2.OriflammeAction(copy=oriflamme_pb2.OriflammeCopy(slot=-1)), "a.copy.slot"),
        (oriflamme_pb2.OriflammeAction(rob=oriflamme_pb2.OriflammeRob(player=SEAT_D)), "a.rob.player"),
    ],
)
def test_a_wrong_argument_of_an_action_is_refused_by_its_path(message: Any, field: str) -> None:
    with pytest.raises(Refusal) as refused:
        ORIFLAMME.actions.read(message, new_game("oriflamme", "en-2019", 3), "a")
    assert refused.value.field == field


def test_indices_in_wrapped_lists_have_the_name_of_the_list() -> None:
    assert ORIFLAMME.view.field_of("table.piles[2][0]") == "table.piles[2].cards[0]"
    assert CASTLE.position.field_of("decks[1][4]") == "decks[1].values[4]"
    assert ORIFLAMME.view.field_of("table.slots[2].cards[0].card") == "table.slots[2].cards[0].card"


# --- plans that cannot be made ---------------------------------------------------------------------------------


class Slotless(NamedTuple):
    family: int


def test_a_class_with_other_fields_than_its_message_cannot_have_a_plan() -> None:
    more = make_dataclass("More", [("family", int), ("cards", tuple[oriflamme.PlayedCard, ...]), ("colour", int)])
    for make, field in ((Slotless, "cards"), (more, "colour"), (castle.Secrets, "selected")):
        with pytest.raises(TypeError, match=rf"differ in the fields .*{field}"):
            Plan(oriflamme_pb2.OriflammeSlot, make, most={"cards": 32})


def test_actions_with_other_verbs_than_their_message_cannot_have_a_plan() -> None:
    with pytest.raises(ImportError, match="the message OriflammeAction lacks discard, order, replace, select, swap"):
        ActionPlans(oriflamme_pb2.OriflammeAction, CASTLE_ACTIONS)


def test_a_list_without_a_maximum_cannot_have_a_plan() -> None:
    with pytest.raises(KeyError, match="cards"):
        Plan(oriflamme_pb2.OriflammeSlot, oriflamme.Slot)


# --- games outside the contract --------------------------------------------------------------------------------

ADAPTER = GameAdapter("a_game_outside_the_contract")


@pytest.fixture(scope="module")
def token() -> Any:
    """Return a message class that the contract does not have: `test.Token`, with a number and a seat of its own."""
    from google.protobuf import descriptor_pool, message_factory

    file = FileDescriptorProto(name="test_token.proto", package="test", syntax="proto3")
    message: DescriptorProto = file.message_type.add(name="Token")
    for number, name in enumerate(("value", "seat"), 1):
        message.field.add(name=name, number=number, type=5, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("test.Token"))


def test_a_typed_message_is_read_back(token: Any) -> None:
    view = view_pb2.View()
    assert write_member(view, ADAPTER, token(value=7, seat=2))
    assert view.WhichOneof("table") == "typed"
    read, path = read_member(view, "table", ADAPTER, token, "view")
    assert (Plan(token).read(read, 3), path) == ({"value": 7, "seat": 2}, "view.typed")


def test_an_unknown_field_of_a_typed_message_is_refused(token: Any) -> None:
    view = view_pb2.View()
    write_member(view, ADAPTER, token(value=7))
    view.typed.value += b"\xb8\x06\x01"
    with pytest.raises(Refusal) as refused:
        read_member(view, "table", ADAPTER, token, "view")
    assert (refused.value.reason, refused.value.field) == ("UNKNOWN_FIELD", "view.typed.103")
    view.typed.value = b"\xff"
    with pytest.raises(Refusal) as refused:
        read_member(view, "table", ADAPTER, token, "view")
    assert (refused.value.reason, refused.value.field) == ("MALFORMED_MESSAGE", "view.typed")


def test_a_typed_message_of_another_class_or_game_is_refused(token: Any) -> None:
    view = view_pb2.View()
    view.typed.Pack(oriflamme_pb2.OriflammeReveal())
    other = view_pb2.View(oriflamme=oriflamme_pb2.OriflammeView(observer=SEAT_C))
    for message, expected, field in (
        (view, token, "view.typed"),
        (view, None, "view.typed"),
        (other, token, "view.oriflamme"),
    ):
        with pytest.raises(Refusal) as refused:
            read_member(message, "table", ADAPTER, expected, "view")
        assert (refused.value.reason, refused.value.field) == ("CONTRADICTION", field)
