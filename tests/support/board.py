"""The Play page of the board, as a person uses it, through Playwright."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from waiting import wait_until

# A thing that can be picked or pressed to choose a move.
OPEN = ".playing .open"
# The number of tabs within which every thing on the page is reached.
TABS_MAX = 400
# Whether the thing with the focus is looked for, whether it is in a row or a hand, and whether it is the last there.
WALK = """
selector => {
  const at = document.activeElement, list = at.closest('.stacks, .hand ul');
  const last = list && [...list.querySelectorAll('[tabindex]')].at(-1);
  return [at.matches(selector), list !== null, at === last];
}
"""
READY = "!!document.querySelector('.winner, .playing h2.turn, .cover')"


def wait(page: Any, script: str, argument: Any = None) -> None:
    """Wait until a script is true. Playwright's own wait evaluates text in the page, which its policy forbids."""
    wait_until(lambda: page.evaluate(script, argument))


def set_up(
    page: Any,
    game: str = "oriflamme",
    *,
    edition: str = "",
    players: int = 3,
    people: Mapping[int, tuple[str, str]] | None = None,
    level: int = 1,
    seed: int | None = 7,
    changes: Mapping[str, str] | None = None,
) -> None:
    """Set up a table and start it. `people` maps seats to names and "here" or "link"; the others are engines."""
    people = {0: ("Ann", "here")} if people is None else people
    page.evaluate("localStorage.setItem('pace', 'quick')")
    page.reload()
    wait(page, "document.querySelectorAll('.sitters option').length > 20")
    selects = page.locator(".fields select")
    selects.nth(0).select_option(game)
    wait(page, "!document.querySelector('button[type=submit].main').disabled")
    if edition:
        selects.nth(1).select_option(edition)
    selects.nth(2).select_option(str(players))
    for seat in range(players):
        name, who = people.get(seat, ("", str(level)))
        if seat in people:
            page.locator(".sitters input").nth(seat).fill(name)
        page.locator(".sitters select").nth(seat).select_option(who)
    page.locator("form details").evaluate("details => details.open = true")
    for label, value in (changes or {}).items():
        page.get_by_label(label).first.select_option(value)
    if seed is not None:
        page.get_by_label("Seed of the deal").fill(str(seed))
    page.get_by_role("button", name="Start the game").click()
    page.locator(".playing, .cover").wait_for()


def wait_for_turn(page: Any) -> None:
    """Wait until this page may choose, the device is to be handed over, or the game is over."""
    wait(page, READY)


def is_over(page: Any) -> bool:
    return bool(page.locator(".winner").count())


def click(thing: Any) -> None:
    thing.click()


def tap(thing: Any) -> None:
    thing.tap()


def choose_at_random(page: Any, draw: random.Random, press: Callable[[Any], None] = click) -> None:
    """Make picks at random until they are a move, and wait for the next turn."""
    version = page.locator(".steps .number, .text-view").first.inner_text()
    while True:
        confirm = page.locator(".choices button.main")
        if confirm.count():
            press(confirm.first)
            break
        things = page.locator(OPEN)
        press(things.nth(draw.randrange(things.count())))
        if page.locator(".picked").count() == 0:  # the move was made
            break
    wait(
        page,
        "before => !!document.querySelector('.winner, .cover')"
        " || ![before, undefined].includes(document.querySelector('.steps .number, .text-view')?.innerText)",
        version,
    )
    wait_for_turn(page)


def play_to_the_end(page: Any, draw: random.Random, press: Callable[[Any], None] = click) -> int:
    """Play at random until the game is over; return the number of choices made on this page."""
    chosen = 0
    wait_for_turn(page)
    while not is_over(page):
        if page.locator(".cover").count():
            uncover(page, press)
            continue
        choose_at_random(page, draw, press)
        assert page.locator(".complaint").count() == 0
        chosen += 1
    return chosen


def uncover(page: Any, press: Callable[[Any], None] = click) -> None:
    """Take the device as the person to whom it is to be handed, once it is known who that is."""
    wait(page, "!!document.querySelector('.winner, .playing, .cover button.main:enabled')")
    if page.locator(".cover").count():
        press(page.locator(".cover button.main").first)
        page.locator(".playing").wait_for()
    wait_for_turn(page)


def settle(page: Any, name: str, is_on: bool) -> None:
    """Switch one of the page's settings on or off."""
    page.get_by_role("button", name="Settings").click()
    page.get_by_label(name).set_checked(is_on)
    page.keyboard.press("Escape")


def press_by_keyboard(page: Any, selector: str, number: int = 1) -> None:
    """Walk by Tab, and by arrows in rows and hands, to the nth thing that a selector finds, and press Enter."""
    key = "Tab"
    for _ in range(TABS_MAX):
        page.keyboard.press(key)
        found, is_in_list, is_last = page.evaluate(WALK, selector)
        if key == "Tab" and is_in_list:
            page.keyboard.press("Home")
            found, is_in_list, is_last = page.evaluate(WALK, selector)
        number -= found
        if number == 0:
            page.keyboard.press("Enter")
            return
        key = "ArrowRight" if is_in_list and not is_last else "Tab"
    raise AssertionError(f"{TABS_MAX} keys did not reach {selector}")


def shown_text(page: Any) -> str:
    """Return everything that the page holds for a reader: texts, labels, titles and values."""
    text: str = page.evaluate(
        "document.title + document.documentElement.outerHTML.replaceAll(/<(script|style|link)[^>]*>/g, '')"
        " + [...document.querySelectorAll('input')].map(input => input.value).join()"
    )
    return text


def named(text: str, words: Sequence[str]) -> list[str]:
    return [word for word in words if word in text]
