"""The page while its server is gone, busy or strict: it says so, repeats what helps, and nothing else."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import urlencode

import pytest
from board import set_up, wait_for_turn
from process import Server, free_port, server, stub, suggest
from tokens import client_lines
from waiting import wait_until

Open = Callable[..., Any]
TEXT = "C:Lord* >A:Ambush(1) B:Soldier* A:Lord(1) C:?(2) | round 4 | points 7 7 7 | seen by A"
POSITION = "#/analyse?" + urlencode({"game": "oriflamme", "edition": "en-2019", "players": 3, "view": TEXT})
NOTICE = ".server-notice [role=status]"
GONE = {
    "en-GB": "The server does not answer.",
    "fr-FR": "Le serveur ne répond pas.",
    "de-DE": "Der Server antwortet nicht.",
}


@pytest.fixture
def restarted() -> Callable[[], AbstractContextManager[Server]]:
    """Return a function that runs a server on the same port each time."""
    port = free_port()
    return lambda: server("--threads", "1", "--web", f"127.0.0.1:{port}", web=True)


def kill(running: Server) -> None:
    running.process.send_signal(signal.SIGKILL)
    running.process.wait()


def answered(page: Any) -> None:
    page.locator(".moves tbody tr").first.wait_for()


def count(page: Any, pattern: str, answer: Callable[[Any], None] | None = None) -> list[float]:
    """Return a list to which the time of each call of the page is added; `answer` answers them."""
    times: list[float] = []

    def note(route: Any) -> None:
        times.append(page.evaluate("performance.now()"))
        (answer or (lambda each: each.continue_()))(route)

    page.route(pattern, note)
    return times


def wait_for_calls(page: Any, calls: list[float], number: int) -> None:
    wait_until(lambda: page.evaluate("0") == 0 and len(calls) >= number)  # events of the page arrive during a call


def refuse(reason: str, delay: str | None) -> Callable[[Any], None]:
    details = [{"type": "google.rpc.ErrorInfo", "value": "", "debug": {"reason": reason}}]
    if delay is not None:
        details.append({"type": "google.rpc.RetryInfo", "value": "", "debug": {"retryDelay": delay}})
    body = {"code": "resource_exhausted", "message": "the server's own words", "details": details}
    return lambda route: route.fulfill(status=429, json=body)


@pytest.mark.parametrize("locale", GONE)
def test_a_call_waits_for_a_server_that_is_gone(locale: str, open_page: Open, restarted: Any) -> None:
    with restarted() as running:
        page = open_page("#/play", web=running.web, locale=locale)
        page.locator(".sitters").wait_for()
        kill(running)
    page.evaluate("address => { location.hash = address }", POSITION)
    wait_until(lambda: page.locator(NOTICE).inner_text() == GONE[locale])
    assert page.locator(".complaint").count() == 0
    with restarted():
        answered(page)
        wait_until(lambda: page.locator(NOTICE).inner_text() == "")


@pytest.mark.slow
def test_a_live_analysis_goes_on_after_a_restart(open_page: Open, restarted: Any) -> None:
    with restarted() as running:
        page = open_page(POSITION, web=running.web)
        answered(page)
        kill(running)
        page.get_by_text(GONE["en-GB"]).wait_for()
        assert page.locator("button.live[aria-pressed=true]").count() == 1
    with restarted() as running:
        page.get_by_role("button", name="Try now").click()
        wait_until(lambda: page.locator(NOTICE).inner_text() == "")
        calls = count(page, "**/Analyze")
        assert running.stop() == 0  # the search says that the server stops
        wait_for_calls(page, calls, 1)
    with restarted():
        wait_until(lambda: page.locator(NOTICE).inner_text() == "")
        answered(page)


@pytest.mark.slow
def test_a_choice_that_was_lost_on_its_way_is_sent_again(open_page: Open) -> None:
    """The version of the table keeps a choice from being made twice."""
    page = open_page("#/play")
    set_up(page)
    wait_for_turn(page)
    lost = count(page, "**/Act", lambda route: route.abort())
    page.locator(".hand .open").first.click()
    page.locator("button.gap").first.click()
    page.get_by_text(GONE["en-GB"]).wait_for()
    wait_for_calls(page, lost, 2)
    page.unroute("**/Act")
    wait_until(lambda: page.locator(NOTICE).inner_text() == "")
    wait_until(lambda: page.locator(".hand li").count() == 6)
    assert page.locator(".complaint").count() == 0


def test_a_table_is_not_opened_twice(open_page: Open) -> None:
    page = open_page("#/play")
    page.locator(".sitters").wait_for()
    calls = count(page, "**/OpenTable", lambda route: route.abort())
    page.get_by_role("button", name="Start the game").click()
    page.get_by_text("The connection to the server broke.").wait_for()
    page.wait_for_timeout(1500)  # the first pause would be 500 ms
    assert len(calls) == 1
    page.unroute("**/OpenTable")
    page.get_by_role("button", name="Start the game").click()
    page.locator(".playing").wait_for()


@pytest.mark.slow
def test_a_busy_server_is_asked_again_when_it_says(open_page: Open) -> None:
    page = open_page("#/play")
    page.locator(".sitters").wait_for()
    refusals = iter([refuse("OVERLOADED", "4.000s"), refuse("OVERLOADED", "0.700s")])
    calls = count(page, "**/ValidateView", lambda route: next(refusals, lambda each: each.continue_())(route))
    page.evaluate("address => { location.hash = address }", POSITION)
    page.get_by_text("The server is busy.").wait_for()
    page.get_by_text(re.compile(r"Again in \d s")).wait_for()
    assert page.get_by_role("button", name="Try now").count() == 0  # the server has said when
    answered(page)
    assert calls[1] - calls[0] >= 4000
    assert calls[2] - calls[1] >= 700
    wait_until(lambda: page.locator(NOTICE).inner_text() == "")


@pytest.mark.parametrize(
    ("reason", "delay", "words"),
    [
        ("QUOTA_EXHAUSTED", "3.200s", ["You have used up", "the server's own words", "Try again in 4 s."]),
        ("OVERLOADED", None, ["The server has too much to do.", "the server's own words"]),
        ("INVALID_VIEW", None, ["the server's own words"]),
    ],
)
def test_what_does_not_help_is_not_repeated(reason: str, delay: str | None, words: list[str], open_page: Open) -> None:
    page = open_page("#/play")
    page.locator(".sitters").wait_for()
    calls = count(page, "**/ValidateView", refuse(reason, delay))
    page.evaluate("address => { location.hash = address }", POSITION)
    complaint = page.locator(".complaint").first
    complaint.wait_for()
    for part in words:
        assert part in complaint.inner_text()
    page.wait_for_timeout(1000)
    assert len(calls) == 1
    assert page.locator(NOTICE).inner_text() == ""


@pytest.mark.slow
def test_an_analysis_waits_until_a_busy_server_has_room(open_page: Open) -> None:
    """The only thread is taken, and nothing may wait; the other search ends, and the page gets its turn."""
    flags = ("--threads", "1", "--interactive-queue", "0")
    with server(*flags, web=True, metrics=True) as running, running.channel() as channel:
        page = open_page(POSITION, web=running.web)
        answered(page)
        page.keyboard.press("l")
        page.locator("button.live[aria-pressed=false]").wait_for()
        running.wait_for_searches(0)
        other = stub(channel).Suggest.future(suggest(time_ms=6000))
        running.wait_for_searches(1)
        page.keyboard.press("l")
        page.get_by_text("The server is busy.").wait_for()
        wait_until(lambda: page.locator(NOTICE).inner_text() == "")
        assert other.result().suggestion.iterations > 0
        running.wait_for_searches(1)  # that of the page


# --- tokens ----------------------------------------------------------------------------------------------------

ASKS = {
    "en-GB": ("Token of the server", "The server does not know this token.", "Use the token", "Enter another token"),
    "fr-FR": ("Jeton du serveur", "Le serveur ne connaît pas ce jeton.", "Utiliser le jeton", "Saisir un autre jeton"),
    "de-DE": ("Token des Servers", "Der Server kennt dieses Token nicht.", "Token verwenden", "Anderes Token eingeben"),
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = tmp_path_factory.mktemp("tokens") / "tokens.toml"
    path.write_text(client_lines("alice", "a-secret") + client_lines("bob", "b-secret"), "utf-8")
    with server("--threads", "1", "--tokens", str(path), web=True, metrics=True) as running:
        yield running


def noted(page: Any) -> list[Any]:
    """Return a list to which the requests of a page are added from now on."""
    calls: list[Any] = []
    page.on("request", lambda call: calls.append(call))
    return calls


def give(page: Any, token: str, button: str) -> None:
    page.locator("dialog input").fill(token)
    page.get_by_role("button", name=button).click()


@pytest.mark.parametrize("locale", ASKS)
def test_a_token_is_asked_for_once_and_sent_in_a_header(locale: str, open_page: Open, guarded: Server) -> None:
    title, wrong, use, change = ASKS[locale]
    page = open_page("#/play", web=guarded.web, locale=locale)
    page.get_by_role("dialog", name=title).wait_for()
    assert page.get_by_text(wrong).count() == 0
    give(page, "guessed", use)
    page.get_by_text(wrong).wait_for()
    page.locator("dialog input").fill("nö")
    assert page.get_by_role("button", name=use).is_disabled()  # no header can hold it
    calls = noted(page)
    give(page, " a-secret ", use)
    page.locator("dialog").wait_for(state="detached")
    page.locator(".sitters option").nth(20).wait_for(state="attached")
    page.reload()
    page.locator(".sitters option").nth(20).wait_for(state="attached")
    page.evaluate("address => { location.hash = address }", POSITION)
    answered(page)
    assert page.locator("dialog").count() == 0
    assert tokens_of(calls) == {"Bearer a-secret"}
    assert "a-secret" not in "".join(call.url for call in calls) + page.url
    assert "a-secret" not in page.evaluate("JSON.stringify({...localStorage})")

    page.get_by_role("button", name=change).click()
    give(page, "b-secret", use)
    page.locator("dialog").wait_for(state="detached")
    calls = noted(page)
    page.evaluate("location.hash = '#/play'")
    page.locator(".sitters option").nth(20).wait_for(state="attached")
    assert tokens_of(calls) == {"Bearer b-secret"}


def tokens_of(calls: list[Any]) -> set[str | None]:
    """Return the tokens that calls were made with; files are fetched without."""
    assert not any("authorization" in call.headers for call in calls if "/eminence.v1." not in call.url)
    return {call.headers.get("authorization") for call in calls if "/eminence.v1." in call.url}


@pytest.mark.slow
def test_a_person_without_a_token_is_told_and_may_enter_one_later(open_page: Open, guarded: Server) -> None:
    page = open_page(POSITION, web=guarded.web)
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("The server answers only with a token.").first.wait_for()
    assert page.locator("dialog").count() == 0
    page.get_by_role("button", name="Enter another token").click()
    give(page, "a-secret", "Use the token")
    page.locator("dialog").wait_for(state="detached")
    page.reload()
    answered(page)


@pytest.mark.slow
def test_a_token_that_is_taken_away_is_asked_for_again(open_page: Open, guarded: Server) -> None:
    page = open_page("#/play", web=guarded.web)
    page.evaluate("sessionStorage.setItem('token', 'of yesterday')")
    page.reload()
    page.get_by_text("The server does not know this token.").wait_for()
    give(page, "b-secret", "Use the token")
    page.locator(".sitters option").nth(20).wait_for(state="attached")


def test_a_server_without_tokens_asks_for_none(open_page: Open) -> None:
    page = open_page(POSITION)
    answered(page)
    assert page.locator("dialog").count() == 0
    assert page.get_by_role("button", name="Enter another token").count() == 0
