"""Advice that stays covered until the reader has chosen a move, and lines that are looked at on the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from board import wait
from twins import record_of

from engine_cy import new_game

Open = Callable[..., Any]


def analyse(page: Any) -> Any:
    """Wait for advice on the position with which the page begins."""
    page.get_by_role("heading", name="Reveal the card at the cursor").wait_for()
    page.locator(".moves:not(.stale) tbody tr").first.wait_for()
    return page


def test_the_analysis_covers_its_advice_until_a_move_is_chosen(open_page: Open) -> None:
    page = analyse(open_page("#/analyse"))
    page.get_by_label("Think first").check()
    covered = page.locator(".covered-advice")
    covered.wait_for()
    page.locator(".stacks .card").first.wait_for()
    assert page.locator(".moves").count() == 0
    assert page.locator(".mark").count() == 0
    peek = page.get_by_role("button", name="Hold to peek")
    peek.hover()
    page.mouse.down()
    page.locator(".moves").wait_for()
    page.mouse.up()
    page.locator(".moves").wait_for(state="detached")
    peek.focus()
    page.keyboard.down("Enter")
    page.locator(".moves").wait_for()
    page.keyboard.up("Enter")
    page.locator(".moves").wait_for(state="detached")
    page.get_by_role("button", name="Keep face down").click()
    page.get_by_text("You chose keep.").wait_for()
    assert page.locator("tr.chosen .move").inner_text() == "keep"
    # A new position is covered again, also after a reload: the choice is remembered.
    page.reload()
    covered.wait_for()
    page.get_by_label("Think first").uncheck()
    page.locator(".moves").wait_for()


def test_a_line_is_stepped_through_on_the_table_and_adopted(open_page: Open) -> None:
    page = analyse(open_page("#/analyse"))
    page.locator(".line-steps .move").nth(1).wait_for()
    if page.locator("button.live[aria-pressed=true]").count():
        page.locator("button.live").click()  # the line stays as it is
    question = page.get_by_role("heading", name="Reveal the card at the cursor")
    follow(page, 2)
    page.get_by_role("button", name="Analyse from there").wait_for()
    assert page.locator(".table button.open, .table .buttons .open").count() == 0
    page.get_by_role("button", name="Back to the position").click()
    question.wait_for()
    assert page.evaluate("!!document.activeElement.closest('.line-steps')")
    follow(page, 2)
    page.get_by_role("button", name="Analyse from there").click()
    page.get_by_text("Tried so far").wait_for()
    assert page.evaluate("document.activeElement.id") == "position"
    assert page.url.count("&then=") == 2


def follow(page: Any, steps: int) -> None:
    """Step through the line; where a step shows a hidden card, choose the first that is possible."""
    for number in range(steps):
        page.locator(".line-steps .move").nth(number).click()
        reached = f"document.querySelectorAll('.line-steps .move')[{number}].ariaPressed === 'true'"
        wait(page, f"{reached} || !!document.querySelector('.which button')")
        if not page.evaluate(reached):
            page.locator(".which button").first.click()
        wait(page, reached)


def test_the_back_of_a_hidden_card_shows_what_it_may_be(open_page: Open) -> None:
    page = analyse(open_page("#/analyse"))
    back = page.locator(".card.back .may-be").first
    back.wait_for()
    shares = [int(share.get_attribute("data-text")) for share in back.locator("small").all()]
    assert len(shares) == 4
    assert shares == sorted(shares, reverse=True)
    label = page.locator(".stacks [aria-label*='Slot 4']").first.get_attribute("aria-label")
    assert " %" in label
    row = page.locator(".kinds tbody tr", has=page.locator("button")).first
    chances = [int(cell.removesuffix("%").replace("–", "0")) for cell in row.locator("td").all_inner_texts()]
    likeliest = page.locator(".kinds th[scope=col]").nth(chances.index(max(chances))).get_attribute("title")
    assert f", {likeliest} " in label


@pytest.mark.slow
def test_the_review_asks_first_at_costly_moves(open_page: Open) -> None:
    page = open_page("#/review")
    record = record_of(new_game("oriflamme", "en-2019", 3), 3, 60)
    page.get_by_label("Iterations for each decision").evaluate("field => (field.closest('details').open = true)")
    page.get_by_label("Iterations for each decision").fill("60")
    page.get_by_role("textbox", name="Record of a game").fill(str(record))
    page.get_by_role("button", name="Review", exact=True).click()
    page.get_by_role("button", name="Grade again").wait_for()
    page.get_by_label("Ask me first").check()
    assert page.locator(".costliest small").count() == 0
    page.locator(".costliest button").first.click()
    page.get_by_text("Find a better move").wait_for()
    assert page.locator(".compared").count() == 0
    assert page.locator(".table .mark").count() == 0
    page.locator(".review .open").first.wait_for()
    while page.get_by_text("Find a better move").count():
        page.locator(".review .open").last.click()
    answered = page.locator(".answered")
    answered.wait_for()
    wait(page, "!document.querySelector('.answered').innerText.includes('Weighing')")
    assert answered.inner_text().startswith("You chose")
    assert page.evaluate("document.activeElement !== document.body")
    assert page.locator(".compared").count() == 1
    assert page.locator(".costliest small").count() == 1
