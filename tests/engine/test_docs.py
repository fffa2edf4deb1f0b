"""The examples on the documentation pages agree with the engine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine_cy import IllegalActionError, new_game
from engine_cy.oriflamme.editions import EDITIONS, SWITCHES
from engine_cy.record import read_record

ROOT = Path(__file__).parent.parent.parent
QUEUE, CASTLE = (ROOT / "docs" / "notation.md").read_text().split("\n# Castle, Village, Port\n")


def blocks(page: str) -> list[str]:
    return re.findall(r"```\w*\n(.*?)```", page, flags=re.DOTALL)


def test_the_positions_and_views_on_the_notation_page_are_read() -> None:
    game = new_game("oriflamme", "en-2019", 3)
    tables = QUEUE[: QUEUE.index("## Records")]
    lines = [line for block in blocks(tables) for line in block.splitlines()]
    assert len(lines) == 4
    for line in lines:
        table = game.view(line) if "seen by" in line else game.position(line)
        assert ("ask" in line) == (str(table) == line)


def test_the_records_on_the_notation_page_replay_and_the_second_is_the_first_as_a_seat_saw_it() -> None:
    whole, seen = (read_record(block) for block in blocks(QUEUE) if block.startswith("game "))
    assert whole.seen_from("A") == seen
    assert whole.result == whole.end.scores


def test_the_record_with_annotations_on_the_notation_page_is_read_and_written() -> None:
    (text,) = (block for block in blocks(QUEUE) if block.startswith("version "))
    record = read_record(text)
    assert str(record) == text
    assert [comment.after for comment in record.comments] == [0, 1]
    assert record.variations[0].variations[0].actions


def test_every_action_on_the_notation_page_is_read() -> None:
    table = QUEUE[QUEUE.index("## Actions") : QUEUE.index("## Records")]
    examples = [text for row in table.splitlines() if row.startswith("| `") for text in re.findall(r"`([^`]+)`", row)]
    published, prototype = new_game("oriflamme"), new_game("oriflamme_prototype")
    assert len(examples) == 11
    for text in examples:
        game = prototype if text.startswith("pair") else published
        assert str(game.action(text)) == text


def test_the_castle_part_of_the_notation_page_is_read() -> None:
    game = new_game("castle_village_port")
    whole, by_hand, full, seen = blocks(CASTLE)
    assert str(game.position(whole.strip())) == whole.strip()
    assert game.position(by_hand.strip()).table.round == 2
    assert read_record(full).seen_from("B") == read_record(seen)
    table = CASTLE[CASTLE.index("## Actions") : CASTLE.index("As another seat")]
    examples = [text for row in table.splitlines() if row.startswith("| `") for text in re.findall(r"`([^`]+)`", row)]
    assert len(examples) == 9
    for text in examples:
        assert str(game.action(text)) == text


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_rules_page_names_each_switch(edition: str) -> None:
    page = (ROOT / "docs" / "rules" / "oriflamme.md").read_text()
    if edition == "prototype":
        page = (ROOT / "docs" / "rules" / "oriflamme_prototype.md").read_text()
    for switch in SWITCHES[EDITIONS[edition].game]:
        assert f"`{switch}`" in page


def test_the_python_blocks_of_the_readme_print_the_lines_that_they_promise(capsys: pytest.CaptureFixture[str]) -> None:
    """`# prints` promises a line of output; the second block ends with the refusal that README.md quotes."""
    readme = (ROOT / "README.md").read_text()
    sessions = [block for block in blocks(readme) if "new_game" in block]
    assert len(sessions) == 4
    exec(sessions[0], {})
    with pytest.raises(IllegalActionError) as refusal:
        exec(sessions[1], {})
    for session in sessions[2:]:
        exec(session, {})
    expected = [line for session in sessions for line in re.findall(r"# prints (.*)", session)]
    assert capsys.readouterr().out.splitlines() == expected
    assert f"IllegalActionError: {refusal.value}\n" in blocks(readme)
