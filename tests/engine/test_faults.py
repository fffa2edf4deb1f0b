"""All faults of a table, for programs that build a position bit by bit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine_cy import new_game
from engine_cy.castle_village_port.table import Table as CastleTable
from engine_cy.oriflamme.table import PlayedCard
from engine_cy.oriflamme.table import Table as OriflammeTable


def test_all_faults_are_named_with_path_value_and_reason() -> None:
    table = new_game("oriflamme").deal().table
    faults = new_game("oriflamme").faults(replace(table, round=300, points=(1, -2, 999)))
    named = [(fault.path, fault.value, fault.why) for fault in faults]
    assert ("round", 300, "is not in 1..6") in named
    assert ("points[B]", -2, "is not in 0..250") in named
    assert ("points[C]", 999, "is not in 0..250") in named


def test_all_faults_of_a_table_in_rows_are_named() -> None:
    table = new_game("castle_village_port").deal().table
    faults = new_game("castle_village_port").faults(replace(table, turn=9, gold=(-1, 3, 10**9)))
    assert {fault.path for fault in faults} >= {"turn", "gold[A]", "gold[C]"}


@pytest.mark.parametrize(("game", "table"), [("oriflamme", OriflammeTable(())), ("castle_village_port", CastleTable())])
def test_completing_a_complete_table_changes_nothing(game: str, table: object) -> None:
    whole = new_game(game).complete(table)
    assert new_game(game).complete(whole) == whole
    assert new_game(game).faults(table) == []


def test_a_fault_that_bytes_cannot_say_is_named_alone() -> None:
    table = OriflammeTable(((PlayedCard(0, "spy"),),), points=(1, 2))
    (fault,) = new_game("oriflamme").faults(table)
    assert (fault.path, fault.value) == ("points", 2)
