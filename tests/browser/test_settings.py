"""The settings of the page: keys of single letters and announcements can be switched off, and stay so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from board import settle, wait
from states import show, show_state

Open = Callable[..., Any]
Axe = Callable[[Any], list[str]]
KEYS = "Keys of a single letter or sign"
ANNOUNCEMENTS = "Tell a screen reader each new best move"


def live(page: Any) -> str:
    return str(page.locator("button.live").get_attribute("aria-pressed"))


def place(page: Any) -> str:
    return str(page.locator(".plies output").inner_text())


def test_letter_keys_can_be_switched_off_in_the_analysis(open_page: Open) -> None:
    page = show_state(open_page, "analysis")
    before = live(page)
    settle(page, KEYS, False)
    for key in ("l", "L", "i", "e", "/", "p"):
        page.keyboard.press(key)
    assert live(page) == before
    assert page.locator(".editor, .secrets, #compared").count() == 0
    assert page.evaluate("document.activeElement.matches('input')") is False
    page.reload()
    page.locator(".worlds").wait_for()
    page.keyboard.press("e")
    assert page.locator(".editor").count() == 0  # the switch is remembered
    settle(page, KEYS, True)
    page.keyboard.press("e")
    page.locator(".editor").wait_for()


@pytest.mark.parametrize(
    ("state", "keys"),
    [("analysis", "EL/I"), pytest.param("later", "HUN/", marks=pytest.mark.slow)],
)
def test_keys_that_are_switched_off_are_not_shown(state: str, keys: str, open_page: Open) -> None:
    """Neither on buttons and fields nor in the list of keys; arrows and named keys stay."""
    page = show_state(open_page, state)
    signs = page.locator("main kbd").filter(has_text=re.compile(r"^[^←]$"))
    assert set(signs.all_text_contents()) == set(keys)
    settle(page, KEYS, False)
    assert signs.count() == 0
    assert page.locator("main kbd").count() > 0
    settle(page, KEYS, True)
    assert set(signs.all_text_contents()) == set(keys)


@pytest.mark.slow
def test_letter_keys_can_be_switched_off_in_play_and_review(open_page: Open) -> None:
    page = show_state(open_page, "later")
    settle(page, KEYS, False)
    for key in ("n", "h", "u", "/"):
        page.keyboard.press(key)
    assert page.locator(".notes, .hint p, .typed input:focus").count() == 0
    moves = page.locator(".steps .number")
    page.locator("#question").focus()
    before = moves.inner_text()
    page.keyboard.press("ArrowLeft")
    wait(page, "before => document.querySelector('.steps .number').innerText !== before", before)
    page = show_state(open_page, "review")
    settle(page, KEYS, False)
    before, eyes = place(page), page.locator("#eyes").inner_text()
    for key in (",", ".", "v", "V"):
        page.keyboard.press(key)
    assert (place(page), page.locator("#eyes").inner_text()) == (before, eyes)
    page.keyboard.press("ArrowLeft")
    assert place(page) != before


def test_announcements_of_the_analysis_can_be_switched_off(open_page: Open) -> None:
    page = show_state(open_page, "analysis")
    best = page.locator(".headline .best [aria-live]")
    assert best.get_attribute("aria-live") == "polite"
    settle(page, ANNOUNCEMENTS, False)
    assert best.get_attribute("aria-live") == "off"
    page.reload()
    assert best.get_attribute("aria-live") == "off"


@pytest.mark.parametrize("name", ["Language", "Theme"])
def test_the_lists_of_the_header_have_visible_names(name: str, open_page: Open) -> None:
    page = open_page("#/play")
    label = page.locator("header > label", has=page.get_by_role("combobox", name=name, exact=True))
    assert name in label.inner_text()
    assert label.bounding_box()["width"] > page.get_by_label(name).bounding_box()["width"] + 30


@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_the_settings_are_for_everybody(language: str, open_page: Open, axe: Axe) -> None:
    """The menu opens, switches and closes by keys, in each language, on each screen; it keeps the focus."""
    page = open_page("#/play", locale=language)
    page.locator("main .setup").wait_for()
    for width, height in ((1440, 900), (360, 640), (320, 640)):
        for theme in ("light", "dark"):
            show(page, width, height, theme)
            page.locator("header .sign").focus()
            page.keyboard.press("Enter")
            menu = page.locator("#settings")
            assert menu.is_visible()
            assert menu.locator("label").count() == (4 if width == 1440 else 6)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            box = menu.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert axe(page) == []
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.closest('#settings') !== null")
            page.keyboard.press("Escape")
            assert not menu.is_visible()
            assert page.evaluate("document.activeElement.matches('header .sign')")
    text = page.locator("#settings").text_content()
    assert (KEYS in text) == (ANNOUNCEMENTS in text) == (language == "en")


def test_language_and_theme_are_in_the_settings_of_a_phone(open_page: Open) -> None:
    page = open_page("#/play", viewport={"width": 360, "height": 640})
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Language").select_option("de")
    page.get_by_label("Farben").select_option("dark")
    assert page.evaluate("document.documentElement.lang") == "de"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
