"""An installed game in the browser: its analysis, the moves considered, and the graph of its review."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from board import play_to_the_end, set_up, wait_for_turn
from plugins import install_games
from process import Server, server
from waiting import wait_until
from web import post_json

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    environment = install_games(tmp_path_factory.mktemp("games"))
    with server("--plugin-workers", "1", web=True, environment=environment) as running:
        wait_until(lambda: b"liars_dice" in post_json(running.web, "/eminence.v1.RulesService/ListGames", {}).body)
        yield running


@pytest.mark.slow
def test_an_installed_game_is_analysed_and_reviewed(open_page: Open, installed: Server) -> None:
    page = open_page("#/play", installed.web)
    set_up(page, "liars_dice", players=2)
    wait_for_turn(page)
    text = page.locator(".text-view").inner_text()
    choices = page.locator(".choices button").all_inner_texts()

    play_to_the_end(page, random.Random(3))
    page.get_by_role("link", name="Review this game").or_(page.get_by_role("button", name="Review this game")).click()
    page.locator(".graph polyline").nth(1).wait_for(state="attached")
    page.locator("tr[data-decision]").first.wait_for()
    page.locator(".costliest button, tr[data-decision] button").first.click()
    page.locator(".verdict").wait_for()
    page.get_by_text("Moves considered").click()
    considered = page.locator(".verdict .moves tbody th").all_inner_texts()
    assert considered
    assert all(move.split()[0] in ("bid", "call", "liar") for move in considered)

    link = "#/analyse?" + urlencode({"game": "liars_dice", "players": 2, "view": text})
    page.evaluate("address => { location.hash = address }", link)
    page.locator(".best b").wait_for()
    assert page.locator(".best b").inner_text() in " ".join(choices)
    more = page.get_by_role("button", name="Show all")
    if more.count():
        more.click()
    rows = page.locator(".moves tbody th").all_inner_texts()
    assert len(rows) == len(set(rows)) > 1
    assert {row for row in rows if row not in " ".join(choices)} == set()
    assert "%" in page.locator(".win-bar figcaption").inner_text()
