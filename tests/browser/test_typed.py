"""Typed moves, whose words may be shortened, and the key that pins a move for comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from analysis import VIEWS, analysed, link_to, with_effort
from board import wait
from layouts import PHONE, QUESTIONS, record_with, sit_down
from process import Server
from states import show, show_state

Open = Callable[..., Any]


@pytest.fixture
def placing(open_page: Open, served: Server) -> Any:
    """Return a page on which a person is to place a card."""
    page = open_page(sit_down(served, record_with(*QUESTIONS["a card to place"])))
    page.locator(".playing h2.turn").wait_for()
    return page


@pytest.mark.parametrize("game_id", VIEWS)
def test_the_example_of_a_typed_move_is_one_of_the_position(game_id: str, open_page: Open) -> None:
    page = open_page("#/play")
    with_effort(page)
    analysed(page, link_to(game_id, VIEWS[game_id]))
    example = page.get_by_label("Try a move").get_attribute("placeholder").partition("“")[2].rstrip("”")
    assert example in page.locator(".moves button.move").all_inner_texts()


@pytest.mark.slow
def test_shortened_words_play_the_move_that_they_mean(placing: Any) -> None:
    page = placing
    moves = page.locator(".log li[data-frame]").count()
    card = page.locator(".hand .held .title").first.inner_text()
    page.keyboard.press("/")
    page.keyboard.type(f"P {card[:3].lower()} b")
    page.keyboard.press("Enter")
    wait(page, "before => document.querySelectorAll('.log li[data-frame]').length > before", moves)
    assert page.locator(".log li[data-frame]").nth(moves).inner_text().strip().endswith("at the back")
    assert page.locator(".typed input").count() == 0 or page.locator(".typed input").input_value() == ""


@pytest.mark.slow
def test_words_that_mean_several_moves_are_completed_first(placing: Any) -> None:
    """The first of them is written out; Enter plays it."""
    page = placing
    field = page.locator(".typed input")
    field.fill("pl")
    field.press("Enter")
    written = field.input_value()
    assert written.startswith("place ")
    assert field.evaluate("input => input.value.slice(input.selectionStart, input.selectionEnd)") == written
    assert page.locator(".complaint").count() == 0
    moves = page.locator(".log li[data-frame]").count()
    field.press("Enter")
    wait(page, "before => document.querySelectorAll('.log li[data-frame]').length > before", moves)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["b", "place", "qlace Spy", "place Spy back now"])
def test_words_that_mean_no_move_are_refused(text: str, placing: Any) -> None:
    """In play, "b" gives no advice: hints have a button, and are counted."""
    page = placing
    field = page.locator(".typed input")
    field.fill(text)
    field.press("Enter")
    if text != "place":
        page.locator(".complaint[role=alert]", has_text="is not one of the moves").wait_for()
    assert page.locator(".playing h2.turn").count() == 1


@pytest.mark.parametrize(("text", "tried"), [("b", "keep"), ("K", "keep"), ("rev = h", None), ("keep", "keep")])
def test_the_analysis_completes_typed_moves(text: str, tried: str | None, open_page: Open) -> None:
    page = show_state(open_page, "analysis")
    page.keyboard.press("/")
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    if tried is None:
        page.locator(".complaint").first.wait_for()
    else:
        page.get_by_text(f"Tried so far: {tried}").wait_for()


def test_a_key_leads_to_the_typed_move_on_a_phone(open_page: Open) -> None:
    page = show_state(open_page, "analysis")
    show(page, *PHONE, "light")
    page.keyboard.press("/")
    wait(page, "document.activeElement.matches('[role=tabpanel] input')")
    page.keyboard.type("b")
    page.keyboard.press("Enter")
    page.get_by_text("Tried so far: keep").wait_for()


def test_a_key_pins_the_move_whose_line_is_shown(open_page: Open) -> None:
    """It is the best move, or the one that the keyboard has reached; a second press lets it go."""
    page = show_state(open_page, "analysis")
    boxes = page.locator(".moves input[type=checkbox]")
    page.keyboard.press("p")
    assert [box.is_checked() for box in boxes.all()] == [True, False]
    page.locator(".moves button.move").first.focus()
    while not page.evaluate("!!document.activeElement.closest('.moves tr:nth-child(2)')"):
        page.keyboard.press("Tab")
    page.keyboard.press("P")
    assert [box.is_checked() for box in boxes.all()] == [True, True]
    page.get_by_role("button", name="Compare in the same worlds").wait_for()
    page.keyboard.press("p")
    assert [box.is_checked() for box in boxes.all()] == [True, False]
