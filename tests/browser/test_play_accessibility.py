"""Accessibility of the Play page: axe finds no serious fault in any width and theme, nothing moves if unwanted."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from board import choose_at_random, set_up, wait, wait_for_turn

Open = Callable[..., Any]
Axe = Callable[[Any], list[str]]
WIDTHS = (1440, 768, 360)


@pytest.mark.slow
def test_nothing_moves_for_people_who_want_no_motion(open_page: Open) -> None:
    page = open_page("#/play", reduced_motion="reduce")
    set_up(page)
    draw = random.Random(1)
    for _ in range(4):
        wait_for_turn(page)
        choose_at_random(page, draw)
        assert page.evaluate("document.getAnimations().filter(each => each.playState === 'running').length") == 0


@pytest.mark.slow
@pytest.mark.parametrize(("language", "start"), [("de", "Spiel beginnen"), ("fr", "Commencer la partie")])
def test_the_page_speaks_the_language_of_the_browser(open_page: Open, language: str, start: str) -> None:
    page = open_page("#/play", locale=language)
    wait(page, "document.querySelectorAll('.sitters option').length > 20")
    assert page.evaluate("document.documentElement.lang") == language
    page.get_by_role("button", name=start).click()
    page.locator(".playing h2.turn").wait_for()
    text = page.locator("body").inner_text()
    for english in ("Your hand", "Take back", "Moves", "Queue", "points", "Royal Decree"):
        assert english not in text


@pytest.mark.slow
def test_what_happens_is_told_to_a_screen_reader(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page)
    wait_for_turn(page)
    region = page.locator("[aria-live=polite]").first
    assert region.inner_text() == "Which card do you place, and where?"
    page.evaluate("localStorage.setItem('pace', 'slow')")
    page.reload()
    wait_for_turn(page)
    page.locator(".hand .open").first.click()
    page.locator("button.gap").first.click()
    wait(page, "document.querySelector('[aria-live=polite]').innerText.startsWith('Bruno places a card')")
