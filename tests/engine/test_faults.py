"""All faults of a table, for programs that build a position bit by bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine_cy import new_game
from engine_cy.castle_village_port.table import Secrets as CastleSecrets
from engine_cy.castle_village_port.table import Table as CastleTable
from engine_cy.castle_village_port.table import WholeTable as CastleParts
from engine_cy.oriflamme.table import PlayedCard, Secrets, Slot, Table, WholeTable
from engine_cy.tables import OMITTED

# Tables of three with all omitted.
QUEUE = WholeTable(Table((), piles=OMITTED), (Secrets(None),) * 3)
ROWS = CastleParts(CastleTable(), (CastleSecrets(OMITTED, OMITTED),) * 3)


def changed(parts: Any, **fields: object) -> Any:
    return replace(parts, table=replace(parts.table, **fields))


def test_all_faults_are_named_with_path_value_and_reason() -> None:
    parts = new_game("oriflamme").deal().parts
    faults = new_game("oriflamme").faults(changed(parts, round=300, points=(1, -2, 999)))
    named = [(fault.path, fault.value, fault.why) for fault in faults]
    assert ("table.round", 300, "is not in 1..6") in named
    assert ("table.points[B]", -2, "is not in 0..250") in named
    assert ("table.points[C]", 999, "is not in 0..250") in named


def test_all_faults_of_a_table_in_rows_are_named() -> None:
    parts = new_game("castle_village_port").deal().parts
    faults = new_game("castle_village_port").faults(changed(parts, turn=9, gold=(-1, 3, 10**9)))
    assert {fault.path for fault in faults} >= {"table.turn", "table.gold[A]", "table.gold[C]"}


@pytest.mark.parametrize(("game", "parts"), [("oriflamme", QUEUE), ("castle_village_port", ROWS)])
def test_completing_a_complete_table_changes_nothing(game: str, parts: object) -> None:
    whole = new_game(game).complete(parts)
    assert new_game(game).complete(whole) == whole
    assert new_game(game).faults(parts) == []


def test_a_fault_that_bytes_cannot_say_is_named_alone() -> None:
    table = Table((Slot(0, (PlayedCard("spy"),)),), points=(1, 2))
    (fault,) = new_game("oriflamme").faults(WholeTable(table, (Secrets(None),) * 3))
    assert (fault.path, fault.value) == ("table.points", 2)
