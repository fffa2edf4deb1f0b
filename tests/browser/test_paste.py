"""The page recognises what is pasted or dropped, says what it is, and opens it at its place, or refuses it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from board import wait
from mutations import damaged_text
from twins import record_of
from waiting import wait_until

from engine_cy import CHANCE, View, new_game
from engine_cy.record import Record
from server.cli import inputs

Open = Callable[..., Any]
VIEW = "C:Lord* >A:Ambush(1) B:Soldier* A:Lord(1) C:?(2) | round 4 | points 7 7 7 | seen by A"
POSITION = "A:Heir >B:Spy C:Lord | round 2 | points 1 2 3"


@cache
def game() -> Record:
    return record_of(new_game("oriflamme", "en-2019", 3), 3, 12)


def paste(page: Any, text: str) -> None:
    """Paste outside all fields, as Ctrl+V does."""
    page.evaluate(
        "text => { const data = new DataTransfer(); data.setData('text/plain', text);"
        " document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true })) }",
        text,
    )


def drop(page: Any, text: str, *, as_file: bool) -> bool:
    """Drop a text or a file on the page; return whether the page took it, so that the browser does not leave for it."""
    taken: bool = page.evaluate(
        "([text, asFile]) => { const data = new DataTransfer();"
        " if (asFile) data.items.add(new File([text], 'game.txt')); else data.setData('text/plain', text);"
        " const drop = (kind) => new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });"
        " document.querySelector('h1').dispatchEvent(drop('dragover'));"
        " return !document.querySelector('h1').dispatchEvent(drop('drop')) }",
        [text, as_file],
    )
    return taken


def as_json(text: str) -> dict[str, Any]:
    """Return the JSON that `eminence convert --to json` writes."""
    (piece,) = inputs.pieces("test", text.splitlines(keepends=True))
    return inputs.as_json(inputs.read_piece(piece, inputs.GameChoice()))


def recognised(page: Any, what: str) -> None:
    page.locator(".notice", has_text=f"Recognised: {what}").wait_for()


@pytest.mark.parametrize("where", ["play", "analyse", "review"])
def test_a_pasted_record_opens_in_the_review(where: str, open_page: Open) -> None:
    page = open_page(f"#/{where}")
    paste(page, str(game()))
    recognised(page, "the record of a game")
    page.locator(".plies output", has_text=f"1 / {len(game().actions)}").wait_for()
    page.get_by_role("button", name="Close this note").click()
    assert page.locator(".notice").inner_text() == ""
    assert page.evaluate("document.activeElement.className") == "notice"


def test_a_position_that_is_read_late_does_not_bring_the_reader_back(open_page: Open) -> None:
    """Its answer arrives when a record that was pasted meanwhile is open."""
    page = open_page("#/play")
    late: list[Any] = []
    page.route("**/ValidateView", lambda route: late.append(route))
    page.get_by_role("link", name="Analyse").click()
    wait_until(lambda: page.evaluate("1") == len(late))
    paste(page, str(game()))
    page.locator(".plies output").wait_for()
    address = page.url
    with page.expect_response("**/ValidateView"):
        late[0].continue_()
    page.get_by_role("button", name="Next move").click()
    page.locator(".plies output", has_text="2 / ").wait_for()
    assert page.url == address


def test_a_dropped_file_and_a_dropped_text_open(open_page: Open) -> None:
    page = open_page("#/play")
    assert drop(page, json.dumps(as_json(str(game()))), as_file=True)
    page.locator(".plies output", has_text=f"1 / {len(game().actions)}").wait_for()
    assert drop(page, f"  {VIEW}\n", as_file=False)
    recognised(page, "a position as one seat sees it (Oriflamme)")
    assert page.get_by_label("Position, as one seat sees it").input_value().endswith("seen by A")


def test_the_box_of_the_play_page_takes_a_file(open_page: Open) -> None:
    page = open_page("#/play")
    file = {"name": "game.txt", "mimeType": "text/plain", "buffer": str(game()).encode()}
    page.get_by_label("A file to open").set_input_files(file)
    page.locator(".plies output").wait_for()


def test_a_view_of_another_game_is_found_and_said(open_page: Open) -> None:
    """The text names no game: the chosen one comes first, then the others."""
    page = open_page("#/analyse")
    page.locator(".worlds").wait_for()
    page.get_by_label("Position, as one seat sees it").fill(str(view_of("kuhn_poker", 2)))
    page.get_by_role("button", name="Show").click()
    recognised(page, "a position as one seat sees it (Kuhn poker)")
    assert page.locator(".source select").first.input_value() == "kuhn_poker"


def view_of(game_id: str, players: int) -> View:
    position = new_game(game_id, None, players).deal(1)
    while position.to_act == CHANCE:
        position = position.play(position.legal_actions()[0])
    return position.view(0)


def test_a_position_with_all_cards_asks_whose_eyes(open_page: Open) -> None:
    page = open_page("#/play")
    page.locator("form", has_text="Open a position").locator("textarea").fill(POSITION)
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_text("Whose eyes?").wait_for()
    page.locator(".notice").get_by_role("button", name="Seat B").click()
    page.locator(".worlds").wait_for()
    text = page.get_by_label("Position, as one seat sees it").input_value()
    assert text.endswith("seen by B")
    assert "Heir" not in text.partition("|")[0]


@pytest.mark.parametrize("kind", ["view", "position", "record"])
def test_json_is_told_apart_with_and_without_its_type(kind: str, open_page: Open) -> None:
    text = {"view": VIEW, "position": POSITION, "record": str(game())}[kind]
    typed = as_json(text)
    untyped = {key: value for key, value in typed.items() if key != "@type"}
    for fields in (typed, untyped):
        page = open_page("#/play")
        paste(page, json.dumps(fields, indent=2))
        if kind == "record":
            page.locator(".plies output").wait_for()
        elif kind == "position":
            page.get_by_text("Whose eyes?").wait_for()
        else:
            recognised(page, "a position as one seat sees it")
            page.locator(".worlds").wait_for()


def test_of_several_positions_one_is_chosen(open_page: Open) -> None:
    page = open_page("#/analyse")
    paste(page, f"# from a book\n{VIEW}\n\n{POSITION}\n")
    recognised(page, "several positions")
    page.locator(".notice").get_by_role("button", name=POSITION).click()
    page.get_by_text("Whose eyes?").wait_for()


def test_a_link_of_the_page_opens(open_page: Open) -> None:
    page = open_page("#/analyse")
    wait(page, "location.hash.includes('view=')")
    link = page.url
    page = open_page("#/play")
    paste(page, link)
    recognised(page, "a link of this page")
    page.locator(".worlds").wait_for()
    assert page.url.partition("#")[2] == link.partition("#")[2]


def test_what_cannot_be_read_is_refused_in_words(open_page: Open) -> None:
    page = open_page("#/play")
    for text in (
        "hello",
        '{"view":',
        "A:Dragon | seen by A",
        "game oriflamme en-2019 3\nA fly",
        '{"@type": "x.View", "y": 1}',
    ):
        paste(page, text)
        page.locator(".complaint").first.wait_for()
        assert len(page.locator(".complaint").first.inner_text()) > 10
    page.locator(".notice button").click()
    page.locator(".notice .complaint").wait_for(state="detached")


@pytest.mark.parametrize(
    ("language", "words"), [("en", "not valid JSON"), ("fr", "pas du JSON"), ("de", "kein gültiges JSON")]
)
@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"game": {"players": 3,}}', "line 1 column 24"),
        ('[{"game"', "line 1 column 9"),
        ('"A:? >B:Heir', "line 1 column 13"),
    ],
    ids=["comma", "list", "text"],
)
def test_broken_json_is_told_from_notation(text: str, where: str, language: str, words: str, open_page: Open) -> None:
    page = open_page("#/review", locale=language)
    page.locator("main textarea").fill(text)
    page.locator("main form button.main").click()
    complaint = page.locator(".complaint")
    complaint.wait_for()
    shown = complaint.inner_text()
    page.evaluate("location.hash = '#/play'")
    page.locator(".sitters").wait_for()
    paste(page, text)
    complaint.wait_for()
    assert complaint.inner_text() == shown
    assert words in shown
    assert where in shown


def test_a_list_of_json_is_no_notation(open_page: Open) -> None:
    page = open_page("#/play")
    paste(page, "[]")
    page.locator(".complaint", has_text="is an object").wait_for()


def test_the_note_on_a_phone_leaves_the_table_on_screen_and_goes_with_the_reader(open_page: Open) -> None:
    page = open_page("#/play", viewport={"width": 360, "height": 640})
    paste(page, VIEW)
    recognised(page, "a position as one seat sees it (Oriflamme)")
    page.locator(".best").wait_for()
    assert page.locator(".notice p").bounding_box()["height"] <= 50
    row = page.locator("ol.stacks").bounding_box()
    assert row["y"] + row["height"] <= 640
    page.get_by_role("link", name="Review").click()
    page.locator("main textarea").wait_for()
    assert page.locator(".notice").inner_text() == ""


@pytest.mark.slow
def test_damaged_texts_never_leave_the_page_dead(open_page: Open) -> None:
    page = open_page("#/play")
    texts = [VIEW, POSITION, str(game())[:600], json.dumps(as_json(VIEW))]
    draw = random.Random(1)
    for number in range(60):
        paste(page, damaged_text(texts[number % len(texts)], draw))
        wait(page, "document.querySelector('.notice').innerText !== '' || location.hash !== '#/play'")
    paste(page, VIEW)
    page.locator(".best").wait_for()


def test_a_field_takes_a_pasted_text_for_itself(open_page: Open) -> None:
    page = open_page("#/play")
    page.locator(".sitters input").first.focus()
    page.evaluate(
        "text => { const data = new DataTransfer(); data.setData('text/plain', text);"
        " document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true })) }",
        VIEW,
    )
    assert page.locator(".notice").inner_text() == ""
    assert re.search(r"#/play$|/$", page.url)
