"""The parts of each page that are on screen without scrolling: on a phone, a tablet and a desktop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from analysis import analysed, link_to, with_effort
from board import set_up, wait, wait_for_turn
from layouts import CURSOR, DESKTOP, OFF_SCREEN, PHONE, QUESTIONS, SIZES, TABLET, record_with, sit_down
from plugins import install_games
from process import Server, server
from states import show, show_state

Open = Callable[..., Any]
MANY_MOVES = [
    ("oriflamme", 3, "B:Heir* A:Spy C:? | round 2 | ask A place | seen by A"),
    ("oriflamme", 5, "B1:? C1:? D1:? E1:? A1:Spy | round 2 | ask A place | seen by A"),
    (
        "castle_village_port",
        5,
        "castle 5E 4B | village 15C 14A 13E 8A 8D 7E | port 15D 13C 10E 8B 6D 4D 4A 2D 1E 1B 1A 1D | round 3 | turn 3"
        " | first D | ask B move by 4B | gold 19 20 24 14 11 | selected - - ? - - | hands ? 13,12,3 ? ? ?"
        " | piles 15,13,12,9,7 11,10,9,6,5,2 14,11,8,7,5,4 13,7,3 14,9,6,4 | seen by B",
    ),
]
ANSWER = ("button.live", ".headline .best", ".win-bar svg", ".moves tbody tr:nth-child(-n+3)")
BELIEFS = ("#beliefs", "#beliefs + .scrolls tbody tr:first-child")
TABLE = ("#question", ".seats .badge", ".seats .points", ".hand .held", "ol.stacks")


def off_screen(page: Any, *selectors: str) -> list[str]:
    """Return the faults of the things that selectors find; the page is where it was when it had loaded."""
    page.evaluate("scrollTo(0, 0)")
    found: list[str] = page.evaluate(OFF_SCREEN, list(selectors))
    return found


@pytest.fixture(params=QUESTIONS)
def question(request: pytest.FixtureRequest, open_page: Open, served: Server) -> Any:
    page = open_page(sit_down(served, record_with(*QUESTIONS[request.param])), viewport={"width": 360, "height": 640})
    wait_for_turn(page)
    page.locator(".playing h2.turn").wait_for()
    page.name = request.param
    return page


@pytest.mark.slow
def test_a_player_sees_all_that_a_choice_needs(question: Any) -> None:
    page = question
    for width, height in SIZES:
        show(page, width, height, "light")
        needed = [*TABLE, ".doing button:nth-child(2)"]
        if page.locator(".choices button").count():
            needed.append(".choices button")
        if width == PHONE[0]:
            needed.append(".last")
        if width > PHONE[0] and page.locator(".pile").count():
            needed.append(".pile")
        if width == DESKTOP[0]:
            needed += [".log ol", ".typed input"]
        assert off_screen(page, *needed) == [], (width, height)
        if width == TABLET[0]:  # a part of the log
            log = page.locator(".log ol").bounding_box()
            assert log["y"] + 80 < height, log
        for button in page.locator(".choices button").all():
            assert button.bounding_box()["height"] >= 56
        if page.locator(".card.acting").count() and width == PHONE[0]:
            cursor = page.locator("ol.stacks", has=page.locator(".acting")).evaluate(CURSOR)
            assert cursor["isSeen"], cursor
            assert cursor["cards"] >= 4
            assert cursor["isEnd"] or cursor["off"] < cursor["width"] / 2, cursor
            assert (round(cursor["width"]), round(cursor["height"])) == (60, 84)


@pytest.mark.slow
def test_a_player_who_sees_the_best_moves_sees_the_win_bar(open_page: Open) -> None:
    """No bar without a hint, nor with the one that only says where to look: a bar is advice, too."""
    page = show_state(open_page, "table")
    page.keyboard.press("h")
    page.locator(".hint p").wait_for()
    assert page.locator(".win-bar").count() == 0
    page.keyboard.press("h")
    page.locator(".hint li").first.wait_for()
    show(page, *DESKTOP, "light")
    assert off_screen(page, *TABLE, ".hint .win-bar svg", ".hint li", ".log ol") == []
    assert page.locator(".win-bar .badge").all_inner_texts() == ["A", "B", "C"]


@pytest.mark.slow
def test_a_long_queue_follows_its_cursor(open_page: Open, served: Server) -> None:
    """From move to move, the card that acts stays in the middle of a phone's screen."""
    record = record_with(*QUESTIONS["oriflamme for 5"])
    page = open_page(sit_down(served, record), viewport={"width": 360, "height": 640})
    wait_for_turn(page)
    seen = 0
    for _ in range(12):
        page.locator("#question").focus()
        page.keyboard.press("ArrowLeft")
        wait(page, "document.getAnimations().every(each => each.playState !== 'running')")
        if page.locator(".card.acting").count():
            cursor = page.locator("ol.stacks").evaluate(CURSOR)
            assert cursor["isSeen"], cursor
            assert cursor["isEnd"] or cursor["off"] < cursor["width"] / 2, cursor
            seen += 1
    assert seen > 2


@pytest.mark.slow
def test_a_player_of_an_installed_game_sees_all_that_a_choice_needs(open_page: Open, tmp_path: Path) -> None:
    with server("--plugin-workers", "1", web=True, environment=install_games(tmp_path)) as running:
        page = open_page("#/play", running.web)
        set_up(page, "liars_dice", players=2)
        wait_for_turn(page)
        for width, height in SIZES:
            show(page, width, height, "light")
            needed = ("#question", ".seats .badge", ".text-view", ".choices button", ".doing button:nth-child(2)")
            assert off_screen(page, *needed) == [], (width, height)


@pytest.mark.slow
def test_a_reader_of_an_analysis_sees_the_answer(open_page: Open) -> None:
    page = show_state(open_page, "analysis")
    more = {PHONE: ("[role=tablist]",), TABLET: BELIEFS[:1], DESKTOP: BELIEFS}
    for size in SIZES:
        show(page, *size, "light")
        assert off_screen(page, *ANSWER, "ol.stacks", *more[size]) == [], size
    left, right = page.locator(".table").bounding_box(), page.locator(".answer").bounding_box()
    assert 1.4 < left["width"] / right["width"] < 1.6


@pytest.mark.slow
@pytest.mark.parametrize(("game_id", "players", "text"), MANY_MOVES)
def test_many_moves_leave_room_for_the_beliefs(game_id: str, players: int, text: str, open_page: Open) -> None:
    """On a desktop, the list of moves scrolls under its head: three moves, the line and the beliefs are on screen."""
    page = open_page("#/play")
    with_effort(page)
    analysed(page, link_to(game_id, text, players))
    assert page.locator(".moves tbody tr").count() == 12
    show(page, *DESKTOP, "light")
    assert off_screen(page, *ANSWER, ".line-steps .move:first-of-type", *BELIEFS) == []
    page.get_by_role("button", name="Show all").click()
    last = page.locator(".moves tbody tr").last
    last.scroll_into_view_if_needed()
    assert off_screen(page, ".moves thead th", ".moves tbody tr:last-child") == []


@pytest.mark.slow
def test_a_reader_of_a_review_sees_the_decision(open_page: Open) -> None:
    page = show_state(open_page, "review")
    page.get_by_role("button", name="Close this note").click()
    needed = [".graph svg", ".plies button", ".told", ".compared .played", ".compared .better", "ol.stacks"]
    more = {PHONE: [], TABLET: [".costliest button"], DESKTOP: [".costliest button", ".then h2"]}
    for size in SIZES:
        show(page, *size, "light")
        assert off_screen(page, *needed, *more[size]) == [], size
    show(page, *PHONE, "light")
    assert page.locator(".graph svg").bounding_box()["height"] == 160
    assert [button.bounding_box()["height"] for button in page.locator(".plies button").all()] == [56] * 4
    page.evaluate("scrollTo(0, 1e6)")
    assert page.evaluate(OFF_SCREEN, [".plies button"]) == []  # the bar stays


# --- tabs of a phone -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "names", "parts"),
    [
        ("analysis", ["Moves", "Beliefs", "Line", "Edit"], [".moves", "#beliefs", ".line-steps", ".options"]),
        ("review", ["Beliefs", "Line", "List"], [".then", ".considered", ".decisions"]),
    ],
)
def test_tabs_show_one_part_each_on_a_phone(state: str, names: list[str], parts: list[str], open_page: Open) -> None:
    """The arrows walk through the tabs, which are one Tab stop; on wide screens, all parts stand beside each other."""
    page = show_state(open_page, state)
    assert page.get_by_role("tablist").count() == 0
    for part in parts:
        assert page.locator(part).first.is_visible(), part
    show(page, *PHONE, "light")
    tabs = page.get_by_role("tab")
    assert tabs.all_inner_texts() == names
    tabs.first.focus()
    for number, (name, part) in enumerate(zip(names, parts, strict=True)):
        tab = page.get_by_role("tab", name=name)
        assert tab.get_attribute("aria-selected") == "true"
        assert tab.get_attribute("tabindex") == "0"
        assert page.locator("[role=tab][tabindex='0']").count() == 1
        assert page.get_by_role("tabpanel", name=name).locator(part).first.is_visible()
        for other in parts[:number] + parts[number + 1 :]:
            assert page.locator(f"[role=tabpanel] {other}").count() == 0, (name, other)
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    assert tabs.first.get_attribute("aria-selected") == "true"
    tabs.last.click()
    assert page.locator(f"[role=tabpanel] {parts[-1]}").first.is_visible()


@pytest.mark.slow
def test_the_answer_stays_on_a_phone(open_page: Open) -> None:
    """Below a scrolled page, the best move, the win bar and the queue are still seen; not where they would fill it."""
    page = show_state(open_page, "analysis")
    show(page, *PHONE, "light")
    page.get_by_role("tab", name="Beliefs").click()
    page.evaluate("scrollTo(0, 260)")
    assert page.evaluate(OFF_SCREEN, ["button.live", ".headline .best", ".win-bar svg", "ol.stacks"]) == []
    show(page, 320, 256, "light")  # a window of 1280 x 1024 at 400 %
    page.evaluate("scrollTo(0, 400)")
    assert page.locator(".headline").bounding_box()["y"] < 0


# --- the tests above can fail ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_things_that_are_covered_or_away_are_found(open_page: Open) -> None:
    page = show_state(open_page, "table")
    show(page, *DESKTOP, "light")
    assert off_screen(page, "#question") == []
    assert off_screen(page, ".no-such-thing") == [".no-such-thing: none"]
    page.evaluate("document.querySelector('#question').style.marginTop = '900px'")
    assert len(off_screen(page, "#question")) == 1
    page.evaluate("document.querySelector('#question').style.marginTop = ''")
    page.evaluate("document.querySelector('header').style.cssText = 'position: fixed; inset: 0; z-index: 9'")
    assert len(off_screen(page, "#question")) == 1
