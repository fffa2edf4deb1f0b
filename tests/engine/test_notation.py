"""Positions, views, actions and records as text, both ways."""

from __future__ import annotations

import mutations
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import GAMES, move_text, reference_games, start_of
from tables import games, random_game, tables

from engine_cy import Game, InvalidRecordError, NotationError, Position, new_game
from engine_cy.record import Record, read_record

QUICK = settings(max_examples=60, deadline=None)


@given(tables())
@QUICK
def test_every_position_is_read_back_from_its_text(table: Position) -> None:
    assert table.game.position(str(table)) == table


@given(tables())
@QUICK
def test_every_view_is_read_back_from_its_text(table: Position) -> None:
    for player in range(table.game.n_players):
        view = table.view(player)
        assert table.game.view(str(view)) == view


@given(tables())
@QUICK
def test_every_action_is_read_back_from_its_text(table: Position) -> None:
    for action in table.legal_actions():
        assert table.game.action(str(action)) == action
        assert table.play(str(action)) == table.play(action)


@given(games(), st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_a_record_replays_to_the_same_bytes(game: Game, seed: int) -> None:
    played = list(random_game(game, seed))
    record = Record(played[0][0], tuple(str(action) for _, action in played if action is not None)).ended()
    text = str(record)
    assert "position" not in text
    reread = read_record(text)
    assert reread == record
    assert str(reread) == text
    assert [bytes(table) for table in reread.tables()] == [bytes(position) for position, _ in played]


@given(games(), st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_a_record_seen_from_a_seat_is_a_record_without_hidden_cards(game: Game, seed: int) -> None:
    played = list(random_game(game, seed))
    record = Record(played[0][0], tuple(str(action) for _, action in played if action is not None)).ended()
    for player in range(game.n_players):
        seen = record.seen_from(player)
        reread = read_record(str(seen))
        assert reread == seen
        assert list(reread.tables()) == [position.view(player) for position, _ in played]
        others = [
            line for line in str(seen).splitlines() if line[:2].strip() in game.seats.replace("ABCDE"[player], "")
        ]
        secret = " select " if game.id == "castle_village_port" else " place "
        assert any(secret in line for line in others)
        assert all(line.split()[2] == "?" for line in others if secret in line)


@given(tables())
@QUICK
def test_a_record_may_begin_at_any_table(table: Position) -> None:
    legal = table.legal_actions()
    record = Record(table, (str(legal[0]),) if legal else ())
    assert read_record(str(record)) == record
    seen = record.seen_from(0)
    assert read_record(str(seen)) == seen


def test_a_reference_game_becomes_a_record_and_back() -> None:
    reference = next(iter(reference_games(GAMES / "oriflamme-switches.jsonl.gz")))
    record = Record(start_of(reference))
    for step in reference["steps"]:
        record = record.play(move_text(step["move"]))
    record = read_record(str(record.ended()))
    assert list(record.end.scores) == reference["result"]["points"]


def test_comments_and_blank_lines_in_records_are_ignored() -> None:
    game = new_game("oriflamme", "en-2019", 3)
    record = Record(game.deal(seed=4)).play(game.deal(seed=4).legal_actions()[0])
    commented = "# a game\n\n" + str(record).replace("\n", "   # why not\n\n")
    assert read_record(commented) == record


@pytest.mark.parametrize(
    "text",
    [
        "A:Archer >B:decree C:HEIR*",
        "A:archer >B:ROYAL_DECREE C:heir*",
        "A1:Archer   >B1:RoyalDecree  C1:Heir*  |  ask B reveal",
    ],
)
def test_names_are_read_in_any_case_and_by_id(text: str) -> None:
    game = new_game("oriflamme", "en-2019", 3)
    assert game.position(text) == game.position("A:Archer >B:Decree C:Heir*")


def test_omitted_fields_of_a_position_are_completed() -> None:
    parts = new_game("oriflamme", "en-2019", 4).position("B:Heir* >A:Decree(2)/A:Spy C:Lord").parts
    table = parts.table
    assert table.round == 2
    assert table.ask == "reveal"
    assert table.points == (1, 1, 1, 1)
    assert [len(pile) for pile in table.piles] == [0, 1, 1, 2]
    assert [len(own.hand) for own in parts.secrets] == [5, 5, 5, 5]


def test_a_position_before_a_cards_effect_advances_to_the_next_question() -> None:
    position = new_game("oriflamme", "en-2019", 3).position(">A:Lord* B:Spy C:Heir")
    assert position.scores == (2, 1, 1)
    assert position.table.cursor == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "game: missing"),
        ("game oriflamme\n", "players: missing"),
        ("game whist\nplayers 3\n", "'whist' is not a game"),
        ("game oriflamme\nplayers three\n", "'three' is not a number"),
        ("game oriflamme\nplayers 3\nplayers 4\n", "'players' occurs twice"),
        ("version 3\ngame oriflamme\nplayers 3\n", "version: '3' is not supported (1, 2)"),
        ("game oriflamme\nplayers 3\n", "aside A: the cards that A has set aside are missing"),
        ("game oriflamme\nplayers 3\nmeeple A 3\n", "is not like 'aside A Archer,Spy,Heir'"),
        (
            "game oriflamme\nplayers 3\ncolour blue\n",
            "'colour blue' is not like 'aside A Archer,Spy,Heir', once for each seat; "
            "the fields of a header are version, game, ",
        ),
        ("game oriflamme\nruleset en-2019 magic=yes\nplayers 3\n", "oriflamme has no such switch"),
        ("game oriflamme\nruleset en-2019 decree_onto_stack\nplayers 3\n", "is not like 'decree_onto_stack=no'"),
        ("game oriflamme\nplayers 3\nfirst D\n", "first: 'D' is not at this table"),
        ("game oriflamme\nplayers 3\nseen by Z\n", "seen by: 'Z' is not at this table"),
        ("game oriflamme\nplayers 3\nposition - | round 1\nfirst A\n", "cannot be combined with a deal"),
        ("game oriflamme\nplayers 3\nposition - | round 1\nA reveal\n", "line 4: action: 'reveal'"),
        ("game oriflamme\nplayers 3\nposition - | round 1\nB place Spy front\n", "line 4: 'B' is not the seat to act"),
        ("game oriflamme\nplayers 3\nposition -\nA place Archer front\nnonsense\n", "line 5: 'nonsense' is not"),
        ("game oriflamme\nplayers 3\nposition -\nA place Archer front\nresult 9 9 9\n", "end at 1 1 1"),
        ("game oriflamme\nplayers 3\nposition -\nresult one two\n", "line 4"),
        ("game oriflamme\nplayers 3\nposition -\nresult 1 1 1\nA place Archer front\n", "an action after the result"),
        (
            "game oriflamme\nplayers 3\nseen by A\naside A Spy,Heir,Lord\naside B Spy,Heir,Lord\n",
            "aside B: the cards that B has set aside are hidden",
        ),
    ],
)
def test_broken_records_are_refused_with_the_field_or_line(text: str, message: str) -> None:
    with pytest.raises(InvalidRecordError) as refusal:
        read_record(text)
    assert message in str(refusal.value)


def test_an_action_of_a_view_must_name_the_cards_that_it_shows() -> None:
    game = new_game("oriflamme", "en-2019", 3)
    view = game.position(">B:Spy A:Heir C:Lord").view("A")
    with pytest.raises(ValueError, match="shows 1 cards that the observer did not know, but names 0"):
        view.play("reveal")
    assert view.play("reveal = Spy").table.slots[0].cards[0].card == "spy"
    with pytest.raises(ValueError, match="'Archer' cannot be shown: B has no more of them"):
        game.position(">B:Spy A:Heir C:Lord B:Archer* | round 2").view("A").play("reveal = Archer")
    with pytest.raises(NotationError, match="'Joker' is no card of this edition"):
        view.play("reveal = Joker")


def test_no_damaged_input_crashes_a_reader() -> None:
    """`make gates` tries a million inputs."""
    counts = mutations.run(20_000, seed=1)
    assert sum(counts) == 20_000
    assert min(counts) > 500


def test_a_record_may_state_its_version() -> None:
    text = "game oriflamme\nplayers 3\naside A Spy,Heir,Lord\naside B Spy,Heir,Lord\naside C Spy,Heir,Lord\n"
    assert read_record("version 1\n" + text) == read_record(text) == read_record(text + "version 1\n")
