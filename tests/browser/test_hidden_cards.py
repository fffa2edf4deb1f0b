"""The page tells about hidden cards: the table of beliefs, the evidence for a card, and the cards that a line shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from analysis import ITERATIONS, SEED, VIEWS, analysed, compact, link_to, with_effort
from board import press_by_keyboard, wait
from program import run
from twins import record_of
from waiting import wait_until

from engine_cy import CHANCE, View, new_game
from engine_cy.record import Record
from server.games import adapter_of
from solver.config import read_config
from solver.named_beliefs import Beliefs, beliefs_of
from solver.question import read_history

Open = Callable[..., Any]
# The places of hidden cards in their text notation, and on the page.
PLACES = {"oriflamme": ("slot 4", "Slot 4"), "castle_village_port": ("selected", "Selected card")}
HIDDEN = {
    "oriflamme": VIEWS["oriflamme"],
    "castle_village_port": "castle - | village 5C | port 9B | round 1 | turn 2 | first B | ask A select | gold 3 3 3"
    " | selected - ? ? | hands 15,14,11,9,8 ? ? | piles 10 - - | seen by A",
}
# A card that the seat to act may hit, and that is hidden from it.
TARGET = "B:Heir* C:?(2) >A:Soldier* B:? | round 4 | ask A target | seen by A"


def hidden(open_page: Open, game_id: str = "oriflamme", text: str = "", **settings: Any) -> Any:
    page = open_page("#/play", **settings)
    with_effort(page)
    return analysed(page, link_to(game_id, text or HIDDEN[game_id]))


@cache
def printed(game_id: str) -> dict[str, str]:
    """Return the names that the page shows, by those of the notation."""
    cards = adapter_of(game_id).cards(new_game(game_id, None, 3))
    return {card.card.name: card.names.en or card.card.name for card in cards}


@cache
def command(game_id: str, *flags: str) -> list[Any]:
    effort = ("--iterations", ITERATIONS, "--seed", SEED)
    beliefs: list[Any] = run("suggest", HIDDEN[game_id], "--game", game_id, "--json", *effort, *flags).json["beliefs"]
    return beliefs


def percent(share: float) -> str:
    return "–" if share < 0.005 else f"{100 * share:.0f}%"


# --- the table -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game_id", HIDDEN)
def test_the_table_of_beliefs_is_that_of_the_command(game_id: str, open_page: Open) -> None:
    page = hidden(open_page, game_id)
    table = page.get_by_role("region", name="Beliefs about hidden cards").get_by_role("table")
    kinds = [compact(head.inner_text()) for head in table.get_by_role("columnheader").all()]
    rows = {}
    for row in table.get_by_role("row").all()[1:]:
        cells = [compact(cell.inner_text()) for cell in row.get_by_role("cell").all()]
        faint = row.get_by_role("cell").evaluate_all("cells => cells.map(cell => cell.classList.contains('unlikely'))")
        rows[compact(row.get_by_role("rowheader").inner_text())] = dict(
            zip(kinds, zip(cells, faint, strict=True), strict=True)
        )
    expected = command(game_id)
    text, name = PLACES[game_id]

    def column(kind: str) -> str:
        return kind if kind in kinds else printed(game_id)[kind]

    assert len(rows) == sum(bool(belief.get("hand")) + len(belief.get("faceDown", ())) for belief in expected)
    for belief in expected:
        letter = belief["seat"].removeprefix("SEAT_")
        parts = [
            (
                f"{letter} Hand",
                belief["hand"],
                lambda share: f"{share:.2f}".removeprefix("0") if share < 0.995 else f"{share:.1f}",
            )
        ]
        for spot in belief.get("faceDown", ()):
            assert spot["spot"]["text"] == text
            parts.append((f"{letter} {name}", spot["cards"], lambda share: f"{100 * share:.0f}%"))
        for head, chances, told in parts:
            for chance in chances:
                share = chance.get("probability", 0)
                shown, is_faint = rows[head][column(chance["card"]["name"])]
                assert shown == ("–" if share < 0.005 else told(share)), (head, chance)
                assert is_faint == (share < 0.03)


def test_the_table_of_beliefs_fits_on_a_phone(open_page: Open) -> None:
    """The table of Castle, Village, Port scrolls; the heads of its rows stay in view."""
    wide = "els => els.map(each => each.scrollWidth - each.clientWidth)"
    page = hidden(open_page, viewport={"width": 360, "height": 740})
    page.get_by_role("tab", name="Beliefs").click()
    assert page.locator(".scrolls").evaluate_all(wide) == [0]
    assert all(
        size >= 11
        for size in page.locator(".kinds td").evaluate_all(
            "cells => cells.map(cell => parseFloat(getComputedStyle(cell).fontSize))"
        )
    )
    page = hidden(open_page, "castle_village_port", viewport={"width": 360, "height": 740})
    page.get_by_role("tab", name="Beliefs").click()
    scrolls = page.locator(".scrolls")
    scrolls.evaluate("each => { each.scrollLeft = 1000 }")
    head = page.locator(".kinds th[scope=row]").last.bounding_box()
    box = scrolls.bounding_box()
    assert abs(head["x"] - box["x"]) < 1


# --- what spoke for a card -------------------------------------------------------------------------------------


def shown_evidence(page: Any) -> dict[str, list[str]]:
    """Return the chances of each kind, in the order of the rows: by the cards that are left, the table, the moves."""
    table = page.locator(".evidence table")
    table.wait_for()
    kinds = [head.get_attribute("title") for head in table.locator("th[scope=col]").all()]
    rows = [[compact(cell.inner_text()) for cell in row.locator("td").all()] for row in table.locator("tbody tr").all()]
    return {kind: list(chances) for kind, *chances in zip(kinds, *rows, strict=True)}


def by_mouse(page: Any, selector: str) -> None:
    page.locator(selector).first.click()


def by_touch(page: Any, selector: str) -> None:
    page.locator(selector).first.tap()


def by_keyboard(page: Any, selector: str) -> None:
    press_by_keyboard(page, selector)


PRESSES = {"mouse": by_mouse, "touch": by_touch, "keyboard": by_keyboard}


@pytest.mark.parametrize("how", PRESSES)
def test_a_hidden_card_tells_what_spoke_for_it(how: str, open_page: Open) -> None:
    """The numbers of the cards that are left and of the table are those of the command; Escape gives the focus back."""
    page = hidden(open_page, has_touch=how == "touch")
    card = ".stacks button.thing:has(.card.back)"
    PRESSES[how](page, card)
    shown = shown_evidence(page)
    assert page.evaluate("document.activeElement.id") == "evidence"
    assert page.get_by_role("heading", name="What C's hidden card may be: Slot 4").count() == 1
    by_count, by_table = (
        {
            printed("oriflamme")[chance["card"]["name"]]: chance.get("probability", 0)
            for chance in belief["faceDown"][0]["cards"]
        }
        for flags in ((("--uniform",)), ())
        for belief in command("oriflamme", *flags)
        if belief.get("faceDown")
    )
    assert by_count != by_table
    assert shown == {kind: [percent(by_count[kind]), percent(by_table[kind])] for kind in by_count}
    assert page.get_by_text("The moves before this position are unknown").count() == 1
    assert page.locator(card).get_attribute("aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert page.locator(".evidence").count() == 0
    assert page.evaluate("card => document.activeElement.matches(card)", card)


def test_the_selected_card_of_another_seat_tells_it_too(open_page: Open) -> None:
    page = hidden(open_page, "castle_village_port")
    page.locator(".seats").get_by_role("button", name="has chosen").first.click()
    shown = shown_evidence(page)
    [chances] = [
        belief["faceDown"][0]["cards"] for belief in command("castle_village_port") if belief["seat"] == "SEAT_B"
    ]
    assert {kind: cells[1] for kind, cells in shown.items()} == {
        printed("castle_village_port")[chance["card"]["name"]]: percent(chance.get("probability", 0))
        for chance in chances
    }


def test_a_card_that_can_be_picked_has_a_button_of_its_own(open_page: Open) -> None:
    """A press on the card is the move."""
    page = hidden(open_page, text=TARGET)
    why = page.locator(".why")
    assert why.count() == 2
    box = why.first.bounding_box()
    assert min(box["width"], box["height"]) >= 24
    why.first.click()
    shown_evidence(page)
    assert page.locator(".line-steps, .worlds").count() > 0
    assert page.get_by_text("Tried so far").count() == 0
    page.locator(".stacks button.open:has(.card.back)").first.click()
    # The card is shown then: which one it is decides what the position becomes.
    which = page.locator(".which button")
    which.first.wait_for()
    assert all(re.search(r" \d+\.\d %$", compact(each.inner_text())) for each in which.all())
    page.keyboard.press("Escape")
    assert which.count() == 0
    page.locator(".stacks button.open:has(.card.back)").last.click()
    which.first.click()
    page.get_by_text(re.compile(r"Tried so far: target 3 = \w+")).wait_for()
    assert page.locator(".evidence").count() == 0  # the position is another one


def beliefs_at(record: Record, ply: int, seat: int, *, with_moves: bool) -> Beliefs:
    """Return the beliefs of a seat at a ply, from its view, with or without the actions that it saw."""
    so_far = Record(record.start)
    for action in record.actions[:ply]:
        so_far = so_far.play(action)
    seen = so_far.seen_from(seat)
    *_, view = seen.tables()
    assert isinstance(view, View)
    history = read_history(seen, view) if with_moves else None
    beliefs = beliefs_of(view, history, read_config("default"))
    assert beliefs is not None
    return beliefs


def test_a_review_tells_what_the_moves_spoke_for(open_page: Open) -> None:
    """With the actions that the seat saw, the third column; all numbers come from the view of that seat."""
    record = record_of(new_game("oriflamme", "en-2019", 3), 5, 40)
    page = open_page("#/review")
    page.get_by_label("Iterations for each decision").evaluate("field => (field.closest('details').open = true)")
    page.get_by_label("Iterations for each decision").fill("20")
    page.get_by_role("textbox", name="Record of a game").fill(str(record))
    page.get_by_role("button", name="Review", exact=True).click()
    page.locator(".review .table").wait_for()
    ply = 30
    while (seat := list(record.tables())[ply].to_act) in (None, CHANCE):
        ply += 1
    page.locator("input.slider").fill(str(ply))
    card = page.locator(".stacks button.thing:has(.card.back)").first
    slot = int(re.findall(r"Slot (\d+)", card.get_attribute("aria-label"))[0])
    card.click()
    shown = shown_evidence(page)
    before, after = (
        next(
            card.kinds
            for belief in beliefs_at(record, ply, seat, with_moves=with_moves).seats
            for card in belief.cards
            if card.place["slot"] == slot and not card.place.get("under")
        )
        for with_moves in (False, True)
    )
    assert before != after
    assert {kind: cells[1:] for kind, cells in shown.items()} == {
        printed("oriflamme")[kind]: [percent(before[kind]), percent(after[kind])] for kind in after
    }
    page.get_by_role("button", name="Close", exact=True).click()
    assert page.locator(".evidence").count() == 0


# --- what a line shows -----------------------------------------------------------------------------------------


def test_a_line_that_shows_a_card_asks_which_by_the_beliefs(open_page: Open) -> None:
    """The example names a card; another one can be chosen, and the line ends there."""
    page = hidden(open_page)
    steps = page.locator(".line-steps .move")
    texts = [compact(step.inner_text()) for step in steps.all()]
    number = next(at for at, text in enumerate(texts) if re.fullmatch(r"C reveal \w+", text))
    steps.nth(number).click()
    which = page.locator(".which button")
    which.first.wait_for()
    choices = [compact(choice.inner_text()) for choice in which.all()]
    shares = [float(re.findall(r"(\d+\.\d) %", choice)[0]) for choice in choices]
    assert shares == sorted(shares, reverse=True)
    assert abs(sum(shares) - 100) < 1
    named = texts[number].removeprefix("C reveal ")
    assert [choice.split()[0] for choice in choices if choice.startswith(named)] == [named]
    assert which.filter(has_text=named).get_attribute("aria-pressed") == "true"
    other = page.locator(".which button[aria-pressed=false]").first
    kind = other.evaluate("button => button.firstChild.data.trim()")
    other.click()
    wait_until(lambda: steps.count() == number + 1)
    wait_until(lambda: kind in steps.last.inner_text())
    wait(
        page, "kind => [...document.querySelectorAll('.stacks .title')].some(title => title.textContent === kind)", kind
    )
    page.get_by_role("button", name="Back to the position").click()
    wait_until(lambda: steps.count() == len(texts))
