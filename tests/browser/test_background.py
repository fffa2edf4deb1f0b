"""The search for a page ends when its tab is hidden, closed or left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from process import Server

Open = Callable[..., Any]
VIEW = "C:Lord* >A:Ambush(1) B:Soldier* A:Lord(1) C:?(2) | round 4 | points 7 7 7 | seen by A"
POSITION = "#/analyse?" + urlencode({"game": "oriflamme", "players": 3, "view": VIEW})
# Headless Chromium shows all its tabs.
SET_VISIBLE = """(isVisible) => {
  Object.defineProperty(document, "hidden", { value: !isVisible, configurable: true });
  Object.defineProperty(document, "visibilityState", { value: isVisible ? "visible" : "hidden", configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def searching(page: Any, running: Server) -> None:
    page.locator(".moves tbody tr").first.wait_for()
    running.wait_for_searches(1)


def test_a_hidden_tab_stops_its_search(open_page: Open, served: Server) -> None:
    page = open_page(POSITION)
    searching(page, served)
    page.evaluate(SET_VISIBLE, False)
    served.wait_for_searches(0)
    assert page.locator(".moves tbody tr").count() > 0  # its last answer stays
    page.evaluate(SET_VISIBLE, True)
    page.get_by_role("button", name="Live analysis").click()
    searching(page, served)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # a tab that is shown goes on
    page.wait_for_timeout(300)
    served.wait_for_searches(1)


@pytest.mark.parametrize(
    "leave",
    [
        lambda page: page.close(),
        lambda page: page.goto("about:blank"),
        lambda page: page.evaluate("location.hash = '#/play'"),
    ],
    ids=["closed", "another address", "another page"],
)
def test_a_tab_that_is_left_frees_the_threads(leave: Callable[[Any], Any], open_page: Open, served: Server) -> None:
    other = open_page("#/review")
    page = other.context.new_page()
    page.goto(f"{served.web}/{POSITION}")
    searching(page, served)
    leave(page)
    served.wait_for_searches(0)
    assert other.get_by_role("heading", name="Eminence").is_visible()
