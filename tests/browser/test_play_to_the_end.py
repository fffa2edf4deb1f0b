"""Whole games on the Play page: every game by mouse, some by keyboard alone and by touch, and by several people."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from board import choose_at_random, is_over, play_to_the_end, press_by_keyboard, set_up, tap, wait, wait_for_turn
from process import Server, free_port, server
from waiting import HANG_S

from eminence.v1 import rules_pb2, rules_pb2_grpc, table_pb2, table_pb2_grpc
from engine_cy import new_game
from server.codec import views

Open = Callable[..., Any]
CHOICE = ".playing .open, .choices button.main"
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
SIX_BY_TWO = {"Rounds for two": "6", "Cards a turn": "2"}
GAMES = {
    "en-2019, 3": ("oriflamme", "en-2019", 3, {}),
    "en-2019, 5": ("oriflamme", "en-2019", 5, {}),
    "revised, 3": ("oriflamme", "revised", 3, {}),
    "revised, 5": ("oriflamme", "revised", 5, {}),
    "prototype, 2": ("oriflamme_prototype", "", 2, {}),
    "prototype, 2, 6x2": ("oriflamme_prototype", "", 2, SIX_BY_TWO),
    "prototype, 4": ("oriflamme_prototype", "", 4, {}),
    "castle, 3": ("castle_village_port", "", 3, {}),
    "castle, 5": ("castle_village_port", "", 5, {}),
    "hidden gold": ("castle_village_port", "", 3, {"hidden gold": "yes"}),
    "kuhn": ("kuhn_poker", "", 2, {}),
    "leduc": ("leduc_poker", "", 2, {}),
}
QUICK = "kuhn"


@pytest.mark.parametrize(
    "game", [pytest.param(game, marks=[pytest.mark.slow] if game != QUICK else []) for game in GAMES]
)
def test_every_game_is_played_to_its_end(game: str, open_page: Open) -> None:
    """Every completed walk of picks is a move that the server accepts: else the page complains."""
    game_id, edition, players, changes = GAMES[game]
    page = open_page("#/play")
    set_up(page, game_id, edition=edition, players=players, changes=changes)
    play_to_the_end(page, random.Random(2))
    assert page.locator(".ranks tbody tr").count() == players


@pytest.mark.slow
def test_cards_of_a_caller_are_played_to_the_end(open_page: Open, served: Server) -> None:
    """An app opens a table with cards of its own, some without a name, and gives its person the key."""
    rows = [
        {"value": value, "name": f"Bard {value}" * (value % 2), "when": "end", "effect": "fetch"}
        for value in range(1, 12)
    ]
    game = new_game("castle_village_port", {"cards": rows, "rounds": 2}, 4)
    request = table_pb2.OpenTableRequest(
        game=views.write_view(game.deal(1).view(0)).game,
        sitters=[table_pb2.Sitter(name="Ann"), *[table_pb2.Sitter(level=1)] * 3],
        seed=3,
    )
    with served.channel() as channel:
        keys = table_pb2_grpc.TableServiceStub(channel).OpenTable(request, timeout=HANG_S).keys
    page = open_page(f"#/play?key={keys[0].key}")
    page.locator(".hand .held").first.wait_for()
    assert page.locator(".hand .held", has_text="Bard").count() > 0
    play_to_the_end(page, random.Random(2))
    assert page.locator(".ranks tbody tr").count() == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "players"), [("oriflamme_prototype", 2), ("oriflamme", 3), ("castle_village_port", 3)]
)
def test_a_game_is_played_by_keyboard_alone(game: str, players: int, open_page: Open) -> None:
    """Tab and Enter make the moves, and the focus is never lost."""
    page = open_page("#/play")
    set_up(page, game, players=players)
    wait_for_turn(page)
    draw = random.Random(4)
    while not is_over(page):
        press_by_keyboard(page, CHOICE, draw.randrange(1, 4))
        wait_for_turn(page)
        assert page.evaluate("document.activeElement !== document.body")
        assert page.locator(".complaint").count() == 0
    assert page.locator(".winner").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "players"), [("oriflamme", 5), ("oriflamme_prototype", 2), ("castle_village_port", 3)]
)
def test_a_game_is_played_by_touch_alone(game: str, players: int, open_page: Open) -> None:
    page = open_page("#/play", **PHONE)
    set_up(page, game, players=players)
    play_to_the_end(page, random.Random(5), tap)
    assert page.locator(".ranks tbody tr").count() == players


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "n_people"), [("oriflamme", 2), ("oriflamme", 3), ("castle_village_port", 2), ("castle_village_port", 3)]
)
def test_people_on_one_device_play_to_the_end(game: str, n_people: int, open_page: Open) -> None:
    """Two people and the engine, or people alone: the device goes round."""
    page = open_page("#/play")
    set_up(page, game, people={seat: (name, "here") for seat, name in enumerate(("Ann", "Bea", "Cy")[:n_people])})
    play_to_the_end(page, random.Random(6))
    assert page.locator(".all-cards > li").count() == 3


@pytest.mark.slow
@pytest.mark.parametrize("game", ["oriflamme", "castle_village_port"])
def test_a_game_outlives_the_page_and_the_server(game: str, open_page: Open, tmp_path: Path) -> None:
    """Reload the page in the middle, restart the server with its file of tables, and play on to the end."""
    flags = ("--tables", str(tmp_path / "tables.sqlite"), "--web", f"127.0.0.1:{free_port()}")
    with server(*flags, web=True) as first:
        page = open_page("#/play", first.web)
        set_up(page, game)
        wait_for_turn(page)
        draw = random.Random(7)
        for _ in range(4):
            choose_at_random(page, draw)
        before = seen(page)
        page.reload()
        wait_for_turn(page)
        assert seen(page) == before
        assert first.stop() == 0
    with server(*flags, web=True):
        page.reload()
        wait_for_turn(page)
        assert seen(page) == before
        play_to_the_end(page, draw)
    assert page.locator(".ranks tbody tr").count() == 3


def seen(page: Any) -> list[str]:
    """Return the question, the moves, the table and the hand."""
    return [page.locator(f".playing {part}").first.inner_text() for part in ("h2", ".log ol", "section.table")]


@pytest.mark.slow
def test_every_game_and_edition_can_be_chosen(open_page: Open, served: Server) -> None:
    """The lists of the start page are those of the server."""
    with served.channel() as channel:
        rules = rules_pb2_grpc.RulesServiceStub(channel)
        games = rules.ListGames(rules_pb2.ListGamesRequest(), timeout=HANG_S).games
    page = open_page("#/play")
    selects = page.locator(".of-table select")
    wait(page, "document.querySelectorAll('.of-table select option').length > 10")

    def values(at: int) -> list[str]:
        options = selects.nth(at).locator("option")
        return list(options.evaluate_all("all => all.map(option => option.value)"))

    assert values(0) == [game.game_id for game in games if not game.fault]
    for game in games:
        selects.nth(0).select_option(game.game_id)
        wait(page, "id => document.querySelectorAll('.of-table select')[1].value === id", game.editions[0])
        assert values(1) == list(game.editions)
        assert values(2) == [str(players) for players in game.players]
