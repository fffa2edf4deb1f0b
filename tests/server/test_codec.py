"""The codec loses nothing: a value that is written as a message and read back has the same bytes."""

from __future__ import annotations

import random
from typing import Any, TypeVar

import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import SPECS
from tables import games, random_game, tables

from eminence.v1 import castle_village_port_pb2, oriflamme_pb2, record_pb2, referee_pb2, view_pb2
from engine_cy import Game, Position, View, new_game
from engine_cy.action_log import History
from engine_cy.castle_village_port.editions import EFFECTS as CASTLE_EFFECTS
from engine_cy.castle_village_port.editions import REWARDS as CASTLE_REWARDS
from engine_cy.castle_village_port.editions import WHEN as CASTLE_WHEN
from engine_cy.castle_village_port.table import ASKS as CASTLE_ASKS
from engine_cy.oriflamme.cards import PROTOTYPE, PUBLISHED
from engine_cy.oriflamme.table import ASKS
from engine_cy.record import Record, write_record
from server.codec import positions, records, views
from server.codec.fields import words_of
from server.codec.games import read_game, write_game
from server.refusals import Refusal

M = TypeVar("M", bound=Message)
IDS = [f"{spec[0]}-{n}" for n, spec in enumerate(SPECS)]


def transmitted(message: M) -> M:
    """Serialize and parse a message."""
    return type(message).FromString(message.SerializeToString())


def whole_record(game: Game, seed: int) -> Record:
    played = list(random_game(game, seed))
    return Record(played[0][0], tuple(str(action) for _, action in played if action is not None)).ended()


@settings(deadline=None)
@given(games())
def test_a_game_and_its_ruleset_are_read_back(game: Game) -> None:
    assert read_game(transmitted(write_game(game)), "game") == game


@settings(deadline=None)
@given(tables())
def test_views_are_read_back_byte_for_byte(position: Position) -> None:
    for seat in range(position.game.n_players):
        view = position.view(seat)
        read = views.read_view(transmitted(views.write_view(view)))
        assert read == view
        assert bytes(read) == bytes(view)


@settings(deadline=None)
@given(tables())
def test_positions_are_read_back_byte_for_byte(position: Position) -> None:
    read = positions.read(transmitted(positions.write(position)), "position")
    assert read == position
    assert bytes(read) == bytes(position)


@settings(deadline=None)
@given(tables())
def test_views_and_positions_are_read_from_text(position: Position) -> None:
    game = write_game(position.game)
    assert positions.read(referee_pb2.Position(game=game, text=str(position)), "position") == position
    view = position.view(0)
    assert views.read_view(view_pb2.View(game=game, text=str(view))) == view


@settings(deadline=None)
@given(tables())
def test_actions_are_read_from_fields_and_from_text(position: Position) -> None:
    for action in position.legal_actions():
        message = transmitted(views.write_action(action))
        assert message.text == str(action)
        assert views.read_action(position.game, message, "action") == action
        message.ClearField("text")
        assert views.read_action(position.game, message, "action") == action
        assert views.read_action(position.game, view_pb2.Action(text=str(action)), "action") == action


@pytest.mark.parametrize("spec", SPECS, ids=IDS)
def test_whole_records_and_those_of_each_seat_are_read_back(spec: Any) -> None:
    game = new_game(*spec)
    for seed in range(3):
        record = whole_record(game, seed)
        for version in [record, *(record.seen_from(seat) for seat in range(game.n_players))]:
            assert records.read(transmitted(records.write(version))) == version
            text = records.read(record_pb2.Record(text=write_record(version)))
            assert (text.end, text.actions) == (version.end, version.actions)


@pytest.mark.parametrize("spec", SPECS, ids=IDS)
def test_a_history_leads_to_the_view_and_may_replace_it(spec: Any) -> None:
    game = new_game(*spec)
    record = whole_record(game, 5)
    draw = random.Random(5)
    for seat in range(game.n_players):
        seat_record = record.seen_from(seat)
        history = Record(seat_record.start, seat_record.actions[: draw.randrange(len(seat_record.actions))])
        end = history.end
        assert isinstance(end, View)
        message = transmitted(views.write_view(end, history))
        view, log = views.read_view_and_history(message)
        assert log is not None
        assert (view, log.record, log) == (end, history, History.of(history))
        # With a history, cards need no numbers and gold no memory.
        for slot in message.oriflamme.table.slots if message.HasField("oriflamme") else ():
            for card in slot.cards:
                card.nth = 0
        if message.HasField("castle_village_port"):
            del message.castle_village_port.table.remembered_gold[:]
        assert views.read_view(message) == end
        message.ClearField("oriflamme")
        message.ClearField("castle_village_port")
        assert views.read_view(message) == end


@settings(deadline=None)
@given(tables(), st.integers(0, 2**32))
def test_a_history_that_leads_elsewhere_is_refused(position: Position, seed: int) -> None:
    record = whole_record(position.game, seed)
    seat_record = record.seen_from(0)
    message = views.write_view(position.view(0), Record(seat_record.start, seat_record.actions))
    if position.view(0) == seat_record.end:
        assert views.read_view(message) == seat_record.end
        return
    with pytest.raises(Refusal, match=r"^view\.(history|oriflamme|castle_village_port)"):
        views.read_view(message)


@settings(deadline=None)
@given(tables(), st.integers(0, 2**32))
def test_hidden_cards_do_not_change_the_message_of_a_view(position: Position, seed: int) -> None:
    for seat in range(position.game.n_players):
        message = views.write_view(position.view(seat)).SerializeToString(deterministic=True)
        world = position.view(seat).sample_world(seed)
        assert views.write_view(world.view(seat)).SerializeToString(deterministic=True) == message


def test_a_record_that_starts_in_the_middle_of_a_game_is_sent_as_text() -> None:
    game = new_game("oriflamme", "en-2019", 3)
    record = Record(game.position(">A:Soldier B:Ambush C:Lord"), ("reveal",))
    message = records.write(record)
    assert message.WhichOneof("contents") == "text"
    assert records.read(transmitted(message)) == record


def test_every_word_of_the_engine_has_its_value_in_the_contract() -> None:
    assert words(oriflamme_pb2.OriflammeCard) == {card.id for card in (*PUBLISHED, *PROTOTYPE)}
    assert words(oriflamme_pb2.OriflammeAsk) == set(ASKS)
    # A view or position in the contract never waits for the walk at the end of a round.
    assert words(castle_village_port_pb2.CastleVillagePortAsk) == set(CASTLE_ASKS) - {"walk"}
    assert words(castle_village_port_pb2.CastleVillagePortWhen) == set(CASTLE_WHEN)
    assert words(castle_village_port_pb2.CastleVillagePortEffect) == set(CASTLE_EFFECTS)
    assert words(castle_village_port_pb2.CastleVillagePortRewardKind) == set(CASTLE_REWARDS)


def words(enum: Any) -> set[str]:
    return set(words_of(enum.DESCRIPTOR).words.values())


def test_a_table_without_orders_leaves_them_out() -> None:
    game = new_game("castle_village_port", players=3)
    message = views.write_view(game.deal(1).view("A"))
    assert not message.castle_village_port.table.orders
    assert views.read_view(message) == game.deal(1).view("A")
