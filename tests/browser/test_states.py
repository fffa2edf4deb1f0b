"""The states of the page at every width and in both themes: accessible, complete on a phone, and kept as trees."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from board import wait
from layouts import SIDEWAYS
from process import Server
from states import SIZES, STATES, THEMES, answer, reach, show, show_state
from waiting import wait_until

Open = Callable[..., Any]
Opened = Callable[..., AbstractContextManager[Any]]
Axe = Callable[[Any], list[str]]
QUICK = "setup"
# The states of which the tree for screen readers is kept: read it after each change.
TREES = ("setup", "cover", "table", "end", "analysis", "faults", "review")
RUNNING = "document.getAnimations().filter(each => each.playState === 'running').length"
SNAPSHOTS = Path(__file__).parent / "snapshots"
# The parts that scroll sideways, a line of play that is one line high, and those only for people with a screen reader.
SCROLLING = (
    ".stacks, .hand ul, .graph, .graph *, .log ol, pre, textarea, input, select, .decisions, .scrolls, .followed,"
    " table, .unseen, header h1, header select"
)
# A window of 1280 pixels at 400 % and at 200 % (WCAG 1.4.10): rows of cards scroll sideways, and tables of numbers.
ZOOMED = [(320, 640), (320, 256), (640, 400)]
ROWS = ".stacks, .graph, .graph *, pre, textarea, input, select, .scrolls, table, .followed, .unseen, header h1"
# Texts that are cut off, or wider than their box.
CUT_OFF = """
scrolling => [...document.querySelectorAll('body *')]
  .filter(each => each.checkVisibility() && !each.closest(scrolling) && !(each instanceof SVGElement))
  .filter(each => [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim() !== ''))
  .filter(each => getComputedStyle(each).display !== 'inline' && each.scrollWidth > each.clientWidth + 1)
  .map(each => `${each.tagName} ${each.className}: ${each.innerText}`)
"""


def of_states(*names: str) -> pytest.MarkDecorator:
    """Run a test on the page in each of these states. All tests of a state share its page, and leave it as it was."""
    marked = [pytest.param(name, marks=[] if name == QUICK else [pytest.mark.slow]) for name in names]
    return pytest.mark.parametrize("shown", marked, indirect=True)


@pytest.fixture(scope="module")
def shown(request: pytest.FixtureRequest, opened_page: Opened, served: Server) -> Iterator[Any]:
    """Return a page in the state of the parameter."""
    with opened_page(served.web) as page:
        answer(page)
        reach(page, request.param)
        yield page


@pytest.fixture
def state(request: pytest.FixtureRequest) -> str:
    """Return the name of the state that is shown."""
    name: str = request.node.callspec.params["shown"]
    return name


@of_states(*TREES)
def test_the_tree_for_screen_readers_is_the_one_that_was_read(shown: Any, state: str) -> None:
    """With EMINENCE_WRITE_DOCS=1, write the trees anew: read their changes before you commit them."""
    show(shown, 1440, 900, "light")
    found = re.sub(r"http://\S+", "http://...", shown.locator("body").aria_snapshot()) + "\n"
    path = SNAPSHOTS / f"{state}.yaml"
    if os.environ.get("EMINENCE_WRITE_DOCS"):
        SNAPSHOTS.mkdir(exist_ok=True)
        path.write_text(found, "utf-8")
    kept = path.read_text("utf-8")
    assert found == kept, "\n".join(difflib.unified_diff(kept.splitlines(), found.splitlines(), lineterm=""))


@of_states(*STATES)
def test_a_state_is_for_everybody(shown: Any, state: str, axe: Axe, pictures: Path) -> None:
    """Find no serious fault by axe, and no sideways scroll, at any width and in any theme."""
    for width, height in SIZES:
        for theme in THEMES:
            show(shown, width, height, theme)
            assert axe(shown) == [], (width, theme)
            assert shown.evaluate(SIDEWAYS, SCROLLING) == [], (width, theme)
            shown.screenshot(path=pictures / f"{state}-{width}-{theme}.png")
    for width, height in ZOOMED:
        show(shown, width, height, "light")
        assert shown.evaluate(SIDEWAYS, ROWS) == [], width
        assert shown.evaluate("document.documentElement.scrollWidth") <= width


@of_states(*STATES)
def test_no_word_is_cut_off_on_a_phone(shown: Any, state: str, pictures: Path) -> None:
    """The longest labels fit at 360 px."""
    show(shown, 360, 740, "light")
    for language in ("de", "fr"):
        with in_language(shown, language):
            shown.screenshot(path=pictures / f"{state}-360-{language}.png", full_page=True)
            assert shown.evaluate(CUT_OFF, SCROLLING) == []
            assert shown.evaluate(SIDEWAYS, SCROLLING) == []
            assert "undefined" not in shown.locator("body").inner_text()


@contextmanager
def in_language(page: Any, language: str) -> Iterator[None]:
    select = page.locator("header select").first
    for chosen in (language, "en"):
        select.select_option(chosen, force=True)  # a phone keeps it among the settings
        wait(page, "language => document.documentElement.lang === language", chosen)
        if chosen == language:
            yield


@of_states(*STATES)
def test_nothing_moves_for_people_who_want_no_motion(shown: Any) -> None:
    shown.emulate_media(reduced_motion="reduce")
    assert shown.evaluate(RUNNING) == 0
    for _ in range(2):
        shown.evaluate("document.querySelectorAll('details').forEach(each => { each.open = !each.open })")
        shown.mouse.wheel(0, 300)
        assert shown.evaluate(RUNNING) == 0
    shown.emulate_media(reduced_motion="no-preference")


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
