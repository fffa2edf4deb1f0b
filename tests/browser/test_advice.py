"""Advice on the table: the marks of the moves that a reader points at, sure and unsure numbers, and the switch."""

from __future__ import annotations

import copy
import json
import math
import re
import shlex
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import pytest
from analysis import VIEWS, analysed, compact, link_to, with_effort
from board import set_up, wait_for_turn
from program import run
from states import ANSWERS, show_state
from waiting import wait_until
from web import enveloped

Open = Callable[..., Any]
PLACE = "B:Heir* A:Spy C:? | round 2 | first A | ask A place | seen by A"
CHANCE = re.compile(r"\d+\.\d % ± \d+\.\d")


def marks(page: Any) -> list[str]:
    return sorted({mark.get_attribute("data-mark") for mark in page.locator(".table [data-mark]").all()})


def is_best_three(page: Any) -> bool:
    badges = {badge for mark in marks(page) for badge in mark.split()}
    return badges == {"①", "②", "③"}


def many_moves(open_page: Open, iterations: int = 3000) -> Any:
    page = open_page("#/play")
    with_effort(page, iterations)
    return analysed(page, link_to("oriflamme", PLACE))


@pytest.mark.parametrize("way", ["pointer", "keyboard"])
def test_a_move_that_is_pointed_at_shows_its_marks_and_its_line(way: str, open_page: Open) -> None:
    page = many_moves(open_page)
    assert is_best_three(page)
    best = page.locator(".moves button.move").first.inner_text()
    line = page.locator(".followed")
    assert line.inner_text().startswith(f"Then: {best} ·")
    top = "each => each.getBoundingClientRect().top + scrollY"
    place = page.locator(".listed").evaluate(top)
    rows = page.locator(".moves tbody tr").filter(has=page.locator("td.line button"))
    row = rows.nth(3)
    move = row.locator("button.move").inner_text()
    if way == "pointer":
        row.hover()
    else:
        rows.nth(2).locator("input").focus()
        page.keyboard.press("Tab")
    wait_until(lambda: marks(page) == ["④"])
    card, _, where = move.removeprefix("place ").partition(" ")
    marked = [each.get_attribute("aria-label") for each in page.locator(".table [aria-label^='④']").all()]
    assert any(card in label for label in marked), (move, marked)
    assert any({"front": "in front", "back": "behind"}[where] in label for label in marked), (move, marked)
    assert line.inner_text().startswith(f"Then: {move} ·")
    assert page.locator(".listed").evaluate(top) == place  # rows that moved would be others under the pointer
    # Away from it, the best three have their badges again.
    if way == "pointer":
        page.mouse.move(5, 5)
    else:
        page.get_by_role("button", name="Live analysis").focus()
    wait_until(lambda: is_best_three(page))
    assert line.inner_text().startswith(f"Then: {best} ·")


def test_a_row_that_was_clicked_by_mouse_keeps_no_marks(open_page: Open) -> None:
    page = many_moves(open_page)
    page.locator(".moves tbody input").nth(4).click()
    page.mouse.move(5, 5)
    wait_until(lambda: is_best_three(page))


def test_a_hardly_tried_move_is_faint_and_has_no_number(open_page: Open) -> None:
    """In the list and in the headline; moves that were tried more have a number with its error."""
    page = many_moves(open_page, 200)
    rows = page.locator(".moves tbody tr")
    faint = [
        compact(row.locator("td").first.inner_text())
        for row in rows.all()
        if "faint" in (row.get_attribute("class") or "")
    ]
    assert faint
    assert all(re.fullmatch(r"tried \d+ times only", cell) for cell in faint)
    assert page.locator(".moves tbody tr:not(.faint)").count() > 0
    for row in page.locator(".moves tbody tr:not(.faint)").all():
        assert CHANCE.fullmatch(compact(row.locator("td").first.inner_text()))
    assert CHANCE.search(compact(page.locator(".headline .best").inner_text()))
    page = many_moves(open_page, 10)
    assert not CHANCE.search(page.locator(".headline .best").inner_text())
    assert re.search(r"tried \d+ times only", page.locator(".headline .best").inner_text())


@pytest.mark.parametrize("by", ["pointer", "focus"])
def test_rows_keep_their_order_while_the_reader_is_in_them(by: str, open_page: Open) -> None:
    """Two answers about one position, the second in the other order: it orders the rows when the reader leaves them."""
    page = show_state(open_page, "analysis")
    rows, first = page.locator(".moves tbody th"), page.locator(".moves button.move").first
    moves = rows.all_inner_texts()
    assert len(set(moves)) > 1

    def analyse_again(iterations: str, step: int) -> None:
        answer = copy.deepcopy(ANSWERS["Analyze"][-1])
        answer["suggestion"]["candidates"] = answer["suggestion"]["candidates"][::step]
        answer["suggestion"]["iterations"] = iterations
        body = enveloped(json.dumps(answer).encode()) + b"\x02" + len(b"{}").to_bytes(4, "big") + b"{}"
        page.route("**/Analyze", lambda route: route.fulfill(body=body, content_type="application/connect+json"))
        page.keyboard.press("l")
        page.get_by_text(f"{iterations} iterations").wait_for()

    if by == "pointer":
        first.hover()
    else:
        first.focus()
    analyse_again("777", -1)
    assert rows.all_inner_texts() == moves
    if by == "pointer":
        page.mouse.move(5, 5)
    else:
        page.locator("button.live").focus()
    wait_until(lambda: rows.all_inner_texts() == moves[::-1])
    analyse_again("888", 1)
    assert rows.all_inner_texts() == moves  # without a pointer, the order is that of the answer at once


STREAM = """
const request = fetch;
window.fetch = (address, ...more) => {
  if (!String(address).endsWith("/Analyze")) return request(address, ...more);
  const body = new ReadableStream({start: (stream) => (window.answers = stream)});
  return Promise.resolve(new Response(body));
};
let passed = 0;
const now = Date.now;
Date.now = () => now() + passed;
window.pass = (ms) => (passed += ms);
"""


@pytest.mark.parametrize("end", ["time", "stop"])
def test_rows_keep_their_order_for_some_seconds_while_answers_stream(end: str, open_page: Open) -> None:
    """The best move in the headline is that of each answer."""
    page = show_state(open_page, "analysis")
    rows, best = page.locator(".moves tbody th"), page.locator(".headline .best b")
    moves = rows.all_inner_texts()
    page.context.add_init_script(STREAM)
    page.reload()
    wait_until(lambda: page.evaluate("window.answers !== undefined"))

    def send(iterations: int, step: int) -> None:
        answer = copy.deepcopy(ANSWERS["Analyze"][0])
        suggestion = answer["suggestion"]
        suggestion["candidates"] = suggestion["candidates"][::step]
        suggestion["best"] = suggestion["candidates"][0]["action"]
        suggestion["iterations"] = str(iterations)
        page.evaluate("part => answers.enqueue(Uint8Array.from(part))", list(enveloped(json.dumps(answer).encode())))
        page.get_by_text(f"{iterations} iterations").wait_for()

    send(111, 1)
    assert rows.all_inner_texts() == moves
    send(222, -1)
    assert best.inner_text() == moves[-1]
    assert rows.all_inner_texts() == moves
    if end == "time":
        page.evaluate("pass(5000)")
        send(333, -1)
    else:
        page.keyboard.press("l")
    wait_until(lambda: rows.all_inner_texts() == moves[::-1])


@pytest.mark.slow
def test_a_hint_that_is_pointed_at_shows_its_marks_and_its_line(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(
        page, people={seat: (name, "here" if seat == 0 else "link") for seat, name in enumerate(("Ann", "Bo", "Cy"))}
    )
    wait_for_turn(page)
    page.keyboard.press("h")
    page.get_by_text("Look where the star is").wait_for()
    assert marks(page) == ["★"]
    page.keyboard.press("h")
    hints = page.locator(".hint li")
    hints.first.wait_for()
    assert is_best_three(page)
    for hint in hints.all():
        text = compact(hint.inner_text())
        assert CHANCE.search(text) or re.search(r"tried \d+ times only", text), text
    line = page.locator(".hint .followed").inner_text()
    hints.nth(3).hover()
    wait_until(lambda: marks(page) == ["④"])
    assert page.locator(".hint .followed").inner_text() != line
    page.mouse.move(5, 5)
    wait_until(lambda: is_best_three(page))
    hints.nth(3).locator("button").focus()
    page.keyboard.press("Shift+Tab")
    wait_until(lambda: marks(page) == ["③"])


@pytest.mark.parametrize("size", [(360, 640), (768, 1024), (1440, 900)])
def test_the_switch_of_the_engine_is_always_on_screen(size: tuple[int, int], open_page: Open) -> None:
    width, height = size
    page = open_page("#/play", viewport={"width": width, "height": height})
    with_effort(page)
    analysed(page, link_to("castle_village_port", VIEWS["castle_village_port"]))
    switch = page.get_by_role("button", name="Live analysis")
    for end in ("scrollHeight", "scrollHeight / 2"):
        page.evaluate(f"scrollTo(0, document.documentElement.{end})")
        box = switch.bounding_box()
        assert box is not None
        assert 0 <= box["y"] <= height - box["height"], (end, box)
        # Nothing lies over it.
        middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
        assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).closest('button.live') !== null", middle)


@pytest.mark.parametrize(
    ("language", "words"), [("en", "iterations a move"), ("fr", "itérations"), ("de", "Iterationen")]
)
def test_a_level_says_what_it_means_where_it_is_chosen(language: str, words: str, open_page: Open) -> None:
    page = open_page("#/play")
    page.get_by_label("Language").select_option(language)
    page.locator(f"html[lang={language}]").wait_for()
    option = page.locator(".sitters option[value='5']").first
    option.wait_for(state="attached")
    assert re.search(r"5: 37 .*" + words, option.text_content())
    page.evaluate("location.hash = '#/analyse'")
    option = page.locator(".options option[value='10']")
    option.wait_for(state="attached")
    assert re.search(r"10: 50\D000 .*" + words, option.text_content())


# --- how sure the answer is ------------------------------------------------------------------------------------


def test_the_settling_of_the_search_is_drawn_with_its_certainty(open_page: Open) -> None:
    """The badge is the probability by the errors of the wins; the lines end at the wins of the best moves."""
    page = open_page("#/play")
    with_effort(page, 1_000_000)  # a quick machine sends several answers
    analysed(page, link_to("oriflamme", VIEWS["oriflamme"]))
    rows = [compact(row.inner_text()) for row in page.locator(".moves tbody td:nth-child(2)").all()]
    wins = [[float(part) for part in re.findall(r"\d+\.\d", row)] for row in rows if CHANCE.fullmatch(row)]
    assert len(wins) == 2
    (best, its_error), (other, other_error) = wins
    sure = 100 * NormalDist(other, math.hypot(its_error, other_error)).cdf(best)
    shown = page.locator(".sure").inner_text()
    assert abs(int(re.findall(r"^sure (\d+) %$", shown)[0]) - sure) <= 3, (shown, sure)
    told = page.locator(".settling").get_attribute("aria-label")
    assert f"→ {best:.1f} %" in told
    lines = page.locator(".settling polyline")
    assert lines.count() == 2
    points = [point.split(",") for point in lines.first.get_attribute("points").split()]
    assert len(points) > 1
    assert float(points[-1][0]) == 100
    assert [float(x) for x, _ in points] == sorted(float(x) for x, _ in points)
    # Another position begins anew.
    analysed(page, link_to("castle_village_port", VIEWS["castle_village_port"]))
    wait_until(lambda: f"→ {best:.1f} %" not in (page.locator(".settled").inner_html()))


def test_a_single_answer_draws_no_settling(open_page: Open) -> None:
    page = open_page("#/play")
    with_effort(page, 64)  # ends before a second answer is due
    analysed(page, link_to("oriflamme", VIEWS["oriflamme"]))
    assert len(page.locator(".settling polyline").first.get_attribute("points").split()) == 1
    assert not page.locator(".settling").is_visible()


def test_the_copied_command_gives_the_numbers_of_the_page(open_page: Open) -> None:
    """With the options and the history of the view."""
    page = open_page("#/play")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    with_effort(page)
    analysed(page, link_to("oriflamme", VIEWS["oriflamme"]))
    page.locator(".moves button.move", has_text="keep").click()
    page.get_by_text("Tried so far").wait_for()
    page.keyboard.press("ArrowLeft")
    wait_until(lambda: page.get_by_text("Tried so far").count() == 0)
    page.locator(".options summary").click()
    page.get_by_label("B plays").select_option(label="at random")
    page.locator("button.live[aria-pressed=false]").wait_for()
    page.get_by_label("equally likely").check()
    page.locator("button.live[aria-pressed=false]").wait_for()  # it is pressed while the search runs
    shown = [compact(row.inner_text()) for row in page.locator(".moves tbody td:nth-child(2)").all()]
    page.get_by_role("button", name="Copy as command").click()
    page.get_by_role("button", name="Copied").wait_for()
    program, name, *arguments = shlex.split(page.evaluate("navigator.clipboard.readText()"))
    assert (program, name) == ("eminence", "suggest")
    assert {"--uniform", "--model", "B=random"} < set(arguments)
    candidates = run(name, *arguments, "--json").json["candidates"]
    for row, candidate in zip(shown, candidates, strict=True):
        win = candidate["win"]
        assert row in (
            f"{100 * win['mean']:.1f} % ± {100 * win['standardError']:.1f}",
            f"tried {candidate['visits']} times only",
        )
