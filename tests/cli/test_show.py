"""eminence show: a table as people see it, printed and drawn."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from program import VIEW, run

from engine_cy import new_game
from engine_cy.record import read_record
from solver import Budget, compare, solve

GAME = new_game("oriflamme", "en-2019", 3)


def test_a_view_is_printed_with_backs(folder: Path) -> None:
    shown = run("show", "A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B").out
    assert "Round 2" in shown
    assert "B 2◄" in shown
    assert "▒▒▒" in shown
    assert "Heir" in shown
    assert "Your hand (B)" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_a_position_is_shown_whole_and_for_a_seat(folder: Path) -> None:
    whole = run("show", ">A:Soldier/A:Spy B:Ambush(3)").out
    assert "Ambush" in whole
    assert "Hand of C" in whole
    seen = run("show", ">A:Soldier/A:Spy B:Ambush(3)", "--seat", "A").out
    assert "Ambush" not in seen.split("Your hand")[0]
    assert "Hand of" not in seen


def test_a_record_is_shown_after_any_action(folder: Path) -> None:
    record = read_record((folder / "game.txt").read_text())
    views = [table.view(0) for table in record.tables()]  # type: ignore[union-attr]
    for at in (0, 4):
        assert run("show", "game.txt", "--at", str(at), "--seat", "A", "--json").json["@type"].endswith(".View")
        assert run("show", "game.txt", "--at", str(at), "--svg", "table.svg").out == ""
        assert (folder / "table.svg").read_text() == list(record.tables())[at].to_svg()
    assert run("show", "game.txt", "--seat", "A", "--svg", "table.svg", "--theme", "dark").out == ""
    assert (folder / "table.svg").read_text() == views[-1].to_svg("dark")


def test_a_table_is_shown_and_drawn_in_a_language(folder: Path) -> None:
    view = GAME.view("A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B")
    assert "Nachfahre" in run("show", str(view), "--lang", "de").out
    assert run("show", str(view), "--lang", "de", "--svg", "table.svg").out == ""
    assert (folder / "table.svg").read_text() == view.to_svg(lang="de")
    assert "Nachfahre" in view.to_svg(lang="de")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["show", VIEW, "--lang", "xx"], "lang: 'xx' is not one of en, fr, de"),
        (["show", VIEW, "--theme", "dark"], "--theme needs --svg"),
        (["show", VIEW, "--svg", "no/such/table.svg"], "svg: the folder no/such does not exist"),
        (["show", VIEW, "--svg", "."], "svg: . is a folder"),
        (["show", VIEW, "--at", "3"], "at: 3 needs a record; this is a single table"),
        (["show", "game.txt", "--at", "999"], "at: 999 is not in 0.."),
        (["show", VIEW, "--seat", "Q"], "seat: 'Q' is not at this table (A, B, C)"),
    ],
)
def test_wrong_input_is_refused_in_a_sentence(folder: Path, arguments: list[str], sentence: str) -> None:
    result = run(*arguments)
    assert result.err.startswith(f"eminence: {sentence}")
    assert result.err.count("\n") == 1


def test_answers_show_themselves_in_a_notebook() -> None:
    view = GAME.view("A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B")
    answer = solve(view, Budget(iterations=200), seed=1)
    page = ElementTree.fromstring(answer._repr_html_())
    assert "".join(page.itertext()).count(str(answer.best)) >= 2
    assert [row[0].text for row in page.iter("tr")][1:] == [str(move.action) for move in answer.moves]
    compared = compare(view, ["keep", "reveal"], Budget(iterations=50), seed=1)
    assert [row[0].text for row in ElementTree.fromstring(compared._repr_html_()).iter("tr")][1:] == ["keep", "reveal"]
    waiting = GAME.view("A:? >B:? C:Heir | round 2 | points 1 2 3 | seen by C")
    seats = ElementTree.fromstring(solve(waiting, Budget(iterations=50), seed=1)._repr_html_())
    assert [row[0].text for row in seats.iter("tr")] == ["seat", "A", "B", "C"]
