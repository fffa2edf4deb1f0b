"""The states of the page at every width and in both themes: accessible, complete on a phone, and kept as trees."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from board import wait
from states import STATES, show, show_state
from waiting import wait_until

Open = Callable[..., Any]
Axe = Callable[[Any], list[str]]
SIZES = [(360, 740), (768, 1024), (1440, 900)]
THEMES = ("light", "dark")
QUICK = "setup"
# The states of which the tree for screen readers is kept: read it after each change.
TREES = ("setup", "cover", "table", "end", "analysis", "faults", "review")
SNAPSHOTS = Path(__file__).parent / "snapshots"
# The parts that scroll sideways, and those that only people with a screen reader meet.
SCROLLING = (
    ".stacks, .hand ul, .graph, .graph *, .log ol, pre, textarea, input, select, .decisions, .scrolls, table, .unseen,"
    " header h1, header select"
)
# Texts that are cut off, or wider than their box.
CUT_OFF = """
scrolling => [...document.querySelectorAll('body *')]
  .filter(each => each.checkVisibility() && !each.closest(scrolling) && !(each instanceof SVGElement))
  .filter(each => [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim() !== ''))
  .filter(each => getComputedStyle(each).display !== 'inline' && each.scrollWidth > each.clientWidth + 1)
  .map(each => `${each.tagName} ${each.className}: ${each.innerText}`)
"""
SIDEWAYS = """
scrolling => [document.documentElement, ...document.querySelectorAll('body *')]
  .filter(each => each === document.documentElement || each.checkVisibility() && !each.closest(scrolling))
  .filter(each => each.scrollWidth > each.clientWidth + 1
    && (each === document.documentElement || !['visible', 'clip'].includes(getComputedStyle(each).overflowX)))
  .map(each => `${each.tagName} ${each.className}`)
"""
states = pytest.mark.parametrize(
    "state", [pytest.param(name, marks=[] if name == QUICK else [pytest.mark.slow]) for name in STATES]
)


@states
def test_a_state_is_for_everybody(state: str, open_page: Open, axe: Axe, pictures: Path) -> None:
    """Find no serious fault by axe, and no sideways scroll, at any width and in any theme."""
    page = show_state(open_page, state)
    for width, height in SIZES:
        for theme in THEMES:
            show(page, width, height, theme)
            assert axe(page) == [], (width, theme)
            assert page.evaluate(SIDEWAYS, SCROLLING) == [], (width, theme)
            page.screenshot(path=pictures / f"{state}-{width}-{theme}.png")
    show(page, 320, 640, "light")
    assert page.evaluate(SIDEWAYS, SCROLLING) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


@states
@pytest.mark.parametrize("language", ["de", "fr"])
def test_no_word_is_cut_off_on_a_phone(state: str, language: str, open_page: Open, pictures: Path) -> None:
    """The longest labels fit at 360 px."""
    page = show_state(open_page, state)
    page.get_by_label("Language").select_option(language)
    wait(page, "language => document.documentElement.lang === language", language)
    show(page, 360, 740, "light")
    page.screenshot(path=pictures / f"{state}-360-{language}.png", full_page=True)
    assert page.evaluate(CUT_OFF, SCROLLING) == []
    assert page.evaluate(SIDEWAYS, SCROLLING) == []
    assert "undefined" not in page.locator("body").inner_text()


@states
def test_nothing_moves_for_people_who_want_no_motion(state: str, open_page: Open) -> None:
    page = show_state(open_page, state, reduced_motion="reduce")
    assert page.evaluate("document.getAnimations().filter(each => each.playState === 'running').length") == 0
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = !each.open })")
    page.mouse.wheel(0, 300)
    assert page.evaluate("document.getAnimations().filter(each => each.playState === 'running').length") == 0


@pytest.mark.parametrize(
    "state", [pytest.param(name, marks=[] if name == QUICK else [pytest.mark.slow]) for name in TREES]
)
def test_the_tree_for_screen_readers_is_the_one_that_was_read(state: str, open_page: Open) -> None:
    """With EMINENCE_WRITE_DOCS=1, write the trees anew: read their changes before you commit them."""
    page = show_state(open_page, state)
    show(page, 1440, 900, "light")
    found = re.sub(r"http://\S+", "http://...", page.locator("body").aria_snapshot()) + "\n"
    path = SNAPSHOTS / f"{state}.yaml"
    if os.environ.get("EMINENCE_WRITE_DOCS"):
        SNAPSHOTS.mkdir(exist_ok=True)
        path.write_text(found, "utf-8")
    kept = path.read_text("utf-8")
    assert found == kept, "\n".join(difflib.unified_diff(kept.splitlines(), found.splitlines(), lineterm=""))


def test_the_form_of_a_position_is_one_row_on_a_wide_screen(open_page: Open) -> None:
    page = show_state(open_page, "analysis")
    show(page, 1440, 900, "light")
    boxes = [each.bounding_box() for each in page.locator("form.source").first.locator("> *").all()]
    assert len(boxes) == 8
    assert len({round(box["y"] + box["height"]) for box in boxes}) == 1, boxes


# --- the tests above can fail ----------------------------------------------------------------------------------


def test_a_label_that_does_not_fit_is_found(open_page: Open) -> None:
    page = show_state(open_page, QUICK)
    show(page, 360, 740, "light")
    page.evaluate("document.querySelector('button.main').textContent = 'Donaudampfschifffahrtsgesellschaft'.repeat(3)")
    page.evaluate("document.querySelector('main').append(document.createElement('pre'))")
    assert page.evaluate(CUT_OFF, SCROLLING) != [] or page.evaluate(SIDEWAYS, SCROLLING) != []


def test_axe_finds_a_fault(open_page: Open, axe: Axe) -> None:
    page = show_state(open_page, QUICK)
    page.evaluate("document.querySelector('.sitters input').removeAttribute('placeholder')")
    page.evaluate("document.querySelector('.sitters input').closest('label').querySelector('span').remove()")
    assert any(fault.startswith("label") for fault in axe(page))


def test_an_animation_is_found(open_page: Open) -> None:
    page = show_state(open_page, QUICK)
    page.evaluate("void document.body.animate({ opacity: [0.5, 1] }, { duration: 60_000 })")
    wait_until(lambda: page.evaluate("document.getAnimations().length") == 1)
