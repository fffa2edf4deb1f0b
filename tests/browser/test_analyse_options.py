"""The options and numbers of the Analyse page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

from engine_cy.record import Record
from server.cli import inputs

Open = Callable[..., Any]
Axe = Callable[[Any], list[str]]
WIDTHS = (1440, 768, 360)


def analysed(page: Any) -> Any:
    page.locator(".moves:not(.stale) tbody tr").first.wait_for()
    return page


@pytest.mark.slow
def test_options_reach_the_search(open_page: Open) -> None:
    page = analysed(open_page("#/analyse"))
    sent: list[bytes] = []
    page.on("request", lambda request: sent.extend([request.post_data_buffer or b""] * ("Analyze" in request.url)))
    page.locator(".options summary").click()
    page.get_by_label("Strength").select_option("3")
    page.get_by_label("B plays").select_option(label="at random")
    page.get_by_label("equally likely").check()
    analysed(page)
    wait_until(lambda: len(sent) == 3)
    # As a message, or as JSON: the model of B, and the beliefs.
    assert b"\x08\x02\x10\x04" in sent[-1] or b"MODEL_RANDOM" in sent[-1]
    assert b"\x08\x02\x10\x04" not in sent[0]
    assert b"MODEL_RANDOM" not in sent[0]
    # A view of B has no model of B: the server would refuse it.
    page.get_by_label("Position, as one seat sees it").fill("A:? >B:Heir C:? | round 2 | seen by B")
    page.get_by_role("button", name="Show").click()
    page.get_by_label("A plays").wait_for()
    analysed(page)
    assert page.get_by_label("B plays").count() == 0
    assert page.locator(".complaint").count() == 0


@pytest.mark.slow
def test_a_view_copied_as_json_is_read_by_the_command_and_the_page(open_page: Open) -> None:
    page = analysed(open_page("#/analyse"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Keep face down").click()
    page.get_by_text("Tried so far").wait_for()
    page.get_by_role("button", name="Copy as JSON").click()
    page.get_by_role("button", name="Copied").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    record = inputs.read_json(text)
    assert isinstance(record, Record)
    assert record.actions == ("keep",)
    assert json.loads(text)["@type"].endswith("View")


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_has_no_serious_fault_in_any_width(open_page: Open, axe: Axe, theme: str, pictures: Path) -> None:
    page = analysed(open_page("#/analyse", color_scheme=theme))
    page.locator(".options summary").click()
    for state in ("advice", "line", "covered"):
        if state == "line":
            page.locator(".line-steps .move").nth(1).wait_for()
            if page.locator("button.live[aria-pressed=true]").count():
                page.locator("button.live").click()
            page.locator(".line-steps .move").first.click()
            page.get_by_role("button", name="Back to the position").wait_for()
        if state == "covered":
            page.get_by_role("button", name="Back to the position").click()
            page.get_by_label("Think first").check()
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900 if width > 400 else 740})
            assert axe(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.screenshot(path=pictures / f"analyse-{state}-{theme}-{width}.png", full_page=True)
        page.set_viewport_size({"width": WIDTHS[0], "height": 900})


@pytest.mark.slow
def test_marks_stand_on_all_things_that_a_move_picks_and_slash_leads_to_typed_moves(open_page: Open) -> None:
    page = open_page("#/analyse")
    page.locator(".moves").wait_for()
    page.get_by_label("Position, as one seat sees it").fill("- | round 1 | seen by A")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("heading", name="Place a card").wait_for()
    page.locator(".hand .mark").first.wait_for()
    page.locator(".gap .mark").first.wait_for()
    page.locator("h1").click()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.maxLength") == 100
