"""A row of cards and a hand are one Tab stop each; the arrows, Home and End walk in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from states import show, show_state

Open = Callable[..., Any]
Axe = Callable[[Any], list[str]]
LISTS = ".stacks, .hand ul"
# The Tab stops of each list of things.
STOPS = """
lists => [...document.querySelectorAll(lists)].map(list =>
  [...list.querySelectorAll('*')].filter(each => each.tabIndex >= 0 && each.checkVisibility()).length)
"""
FILLED = "lists => [...document.querySelectorAll(lists)].filter(list => list.querySelector('.card, .gap')).length"
AT = "document.activeElement.dataset.thing ?? document.activeElement.getAttribute('aria-label')"


@pytest.mark.slow
@pytest.mark.parametrize("state", ["table", "later", "rows", "analysis", "editor", "review"])
def test_each_list_is_one_tab_stop(state: str, open_page: Open, axe: Axe) -> None:
    page = show_state(open_page, state)
    for width, height in ((1440, 900), (360, 640)):
        show(page, width, height, "light")
        stops = page.evaluate(STOPS, LISTS)
        filled = page.evaluate(FILLED, LISTS)
        assert sum(stops) == filled > 0
        assert max(stops) == 1
        assert axe(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("state", ["later", "analysis", "editor"])
def test_the_keys_walk_in_a_list(state: str, open_page: Open) -> None:
    """They reach each of its things, and leave the place in the game as it is; Tab leaves the list."""
    page = show_state(open_page, state)
    row = page.locator("ol.stacks").first
    things = row.locator("[data-thing], button").evaluate_all(
        "all => all.map(each => each.dataset.thing ?? each.getAttribute('aria-label'))"
    )
    assert len(things) >= 5
    row.locator("[tabindex='0']").focus()
    place = page.locator(".steps .number").all_inner_texts()
    page.keyboard.press("Home")
    walked = [page.evaluate(AT)]
    for _ in things[1:]:
        page.keyboard.press("ArrowRight")
        walked.append(page.evaluate(AT))
    assert walked == things
    page.keyboard.press("ArrowRight")
    assert page.evaluate(AT) == things[-1]
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(AT) == things[-2]
    page.keyboard.press("Home")
    assert page.evaluate(AT) == things[0]
    page.keyboard.press("End")
    assert page.evaluate(AT) == things[-1]
    assert page.locator(".steps .number").all_inner_texts() == place
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('ol.stacks')") is None
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(AT) == things[-1]  # the list keeps its place


@pytest.mark.slow
def test_a_card_is_chosen_by_keys(open_page: Open) -> None:
    """From the question, Tab reaches the first card that can be chosen."""
    page = show_state(open_page, "table")
    page.locator("#question").focus()
    stops = 0
    while not page.evaluate("document.activeElement.matches('.hand button')"):
        page.keyboard.press("Tab")
        stops += 1
        assert stops < 10
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".hand .held").nth(1).get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.activeElement.matches('.hand button')")
