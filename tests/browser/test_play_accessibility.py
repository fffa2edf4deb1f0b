"""Accessibility of the Play page: axe finds no serious fault in any width and theme, nothing moves if unwanted."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from board import choose_at_random, is_over, set_up, wait, wait_for_turn

Open = Callable[..., Any]
Axe = Callable[[Any], list[str]]
WIDTHS = (1440, 768, 360)


def states(page: Any) -> Iterator[str]:
    """Bring the page into its states, one after the other; yield their names."""
    wait(page, "document.querySelectorAll('.sitters option').length > 20")
    yield "setup"
    set_up(page, players=4, people={0: ("Ann", "here"), 1: ("Bea", "here"), 2: ("Cy", "link")})
    page.locator(".cover h2:not(:empty)").wait_for()
    yield "cover"
    page.evaluate("location.hash = '#/play'")
    page.locator(".sitters").wait_for()
    set_up(page, players=4)
    draw = random.Random(3)
    for _ in range(6):
        wait_for_turn(page)
        choose_at_random(page, draw)
    page.keyboard.press("n")
    page.keyboard.press("h")
    page.locator(".hint p").wait_for()
    page.keyboard.press("h")
    yield "table"
    while not is_over(page):
        choose_at_random(page, draw)
    yield "end"
    page.evaluate("location.hash = '#/play'")
    page.locator(".sitters").wait_for()
    set_up(page, "castle_village_port", players=5)
    for _ in range(6):
        wait_for_turn(page)
        choose_at_random(page, draw)
    yield "rows"


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_have_no_serious_fault_and_fit_every_width(open_page: Open, axe: Axe, pictures: Path, theme: str) -> None:
    """Screenshots of all states go to `pictures`."""
    page = open_page("#/play", color_scheme=theme)
    for state in states(page):
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900 if width > 400 else 740})
            assert axe(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.screenshot(path=pictures / f"play-{state}-{theme}-{width}.png", full_page=width == WIDTHS[0])
        page.set_viewport_size({"width": 320, "height": 640})
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        page.set_viewport_size({"width": WIDTHS[0], "height": 900})


def test_axe_finds_a_fault(open_page: Open, axe: Axe) -> None:
    page = open_page("#/play")
    page.locator(".sitters li").first.wait_for()
    page.evaluate("document.querySelector('.sitters input').removeAttribute('placeholder')")
    page.evaluate("document.querySelector('.sitters input').closest('label').querySelector('span').remove()")
    assert any(fault.startswith("label") for fault in axe(page))


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
