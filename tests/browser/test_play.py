"""The Play page: games by mouse, by keyboard and by touch, on one device and on several."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from board import choose_at_random, is_over, named, play_to_the_end, set_up, settle, shown_text, wait, wait_for_turn
from plugins import install_games
from process import Server, server
from twins import record_of
from waiting import HANG_S, wait_until

from eminence.v1 import table_pb2, table_pb2_grpc
from engine_cy import new_game
from engine_cy.record import read_record
from server.codec import records

Open = Callable[..., Any]
# Names of cards as the page shows them in English.
CARDS = ("Archer", "Soldier", "Spy", "Heir", "Lord", "Shapeshifter", "Assassination", "Decree", "Conspiracy", "Ambush")


@pytest.mark.slow
def test_a_game_against_engines_is_played_to_its_end_and_handed_to_the_review(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page)
    assert play_to_the_end(page, random.Random(1)) > 5
    assert page.get_by_role("heading", name="What everybody had").is_visible()
    points = [int(cell) for cell in page.locator(".ranks tbody td:nth-child(3)").all_inner_texts()]
    assert points == sorted(points, reverse=True)
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save").click()
    record = read_record(Path(saving.value.path()).read_text("utf-8"))
    assert record.observer is None
    assert record.result is not None
    assert sorted(record.result, reverse=True) == points
    page.get_by_role("button", name="Review this game").click()
    wait(page, "location.hash.startsWith('#/review')")


@pytest.mark.slow
def test_the_gains_of_each_move_stand_beside_the_points(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page)
    play_to_the_end(page, random.Random(1))
    totals = page.evaluate("""
        async () => {
            const totals = [0, 0, 0];
            for (const move of document.querySelectorAll('.log button.told')) {
                move.click();
                await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
                [...document.querySelectorAll('.seats li')].forEach((line, seat) => {
                    const gain = line.querySelector('.gain')?.textContent ?? '0';
                    totals[seat] += Number(gain.replace('−', '-'));
                });
            }
            return totals;
        }
    """)
    lines = page.locator(".seats li .points").all_inner_texts()
    assert [1 + total for total in totals] == [int(text.split()[0]) for text in lines]
    assert any(totals)


@pytest.mark.slow
def test_an_installed_game_is_played_by_its_text(open_page: Open, tmp_path: Path) -> None:
    """Its code runs in worker processes; the page shows its views and a button for each move."""
    with server("--plugin-workers", "1", web=True, environment=install_games(tmp_path)) as running:
        page = open_page("#/play", running.web)
        set_up(page, "liars_dice", players=2)
        wait_for_turn(page)
        assert page.locator(".text-view").inner_text().endswith("seen by A")
        assert page.locator(".choices button", has_text="bid 1x6").count() == 1
        play_to_the_end(page, random.Random(3))
        assert page.locator(".all-cards code").count() == 2


@pytest.mark.slow
def test_house_rules_reach_the_table(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page, "castle_village_port", players=3, changes={"hidden gold": "yes"})
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save").click()
    assert "hidden_gold" in Path(saving.value.path()).read_text("utf-8")


@pytest.mark.slow
def test_a_move_is_made_by_touch_and_by_typing(open_page: Open) -> None:
    page = open_page("#/play", has_touch=True, viewport={"width": 360, "height": 740})
    set_up(page)
    wait_for_turn(page)
    page.locator(".hand .open").first.tap()
    assert page.locator(".hand .picked").count() == 1
    page.locator("button.gap").first.tap()
    wait(page, "document.querySelectorAll('.log li[data-frame]').length > 2")
    wait_for_turn(page)
    page.locator(".typed input").fill("no such move")
    page.locator(".typed button").tap()
    page.get_by_role("alert").wait_for()
    before = page.locator(".steps .number").inner_text()
    text = "keep" if page.get_by_role("button", name="Keep face down").count() else None
    if text is None:
        page.locator(".all-moves summary").tap()
        text = page.locator(".all-moves button").first.inner_text()
    page.locator(".typed input").fill(text.upper())
    page.locator(".typed button").tap()
    wait(page, "before => document.querySelector('.steps .number').innerText !== before", before)


def test_things_that_no_legal_move_picks_are_no_buttons(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page)
    wait_for_turn(page)
    # The queue is empty: one place, and the cards of the hand.
    assert page.locator(".table button").count() == page.locator(".hand button").count() + 1
    page.locator(".hand .open").first.click()
    assert page.locator(".hand button").count() == 1  # the card that was picked: a second press takes it back
    assert page.locator("button.gap").count() == 1
    page.locator(".hand .picked").click()
    assert page.locator(".hand button.open").count() == 7
    page.locator("button.gap").click()
    page.keyboard.press("Escape")
    assert page.locator("button.gap.picked").count() == 0


@pytest.mark.slow
def test_two_people_on_one_device_never_see_each_others_cards(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page, people={0: ("Ann", "here"), 1: ("Bea", "here")}, seed=None)
    page.get_by_role("heading", name="Hand the device to Ann").wait_for()
    draw = random.Random(5)
    covers = 0
    for _ in range(8):
        covers += 1
        assert named(shown_text(page), CARDS) == []
        name = page.locator(".cover h2").inner_text().removeprefix("Hand the device to ")
        page.get_by_role("button", name=f"I am {name}: show my cards").click()
        page.locator(".playing").wait_for()
        assert named(shown_text(page), CARDS) != []  # the check above can fail
        letter = "A" if name == "Ann" else "B"
        assert page.locator(".hand .badge").first.inner_text() == letter
        while not page.locator(".cover").count() and not is_over(page):
            wait_for_turn(page)
            if page.locator(".playing h2.turn").count():
                choose_at_random(page, draw)
        if is_over(page):
            break
    assert covers > 3


def test_the_device_is_covered_on_request_and_after_a_reload(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page, people={0: ("Ann", "here"), 1: ("Bea", "here")})
    page.get_by_role("button", name="I am Ann").click()
    page.get_by_role("button", name="Hide my cards").click()
    assert named(shown_text(page), CARDS) == []
    page.get_by_role("button", name="I am Bea: look").click()
    page.locator(".playing").wait_for()
    assert page.locator(".hand .badge").first.inner_text() == "B"
    page.reload()
    page.locator(".cover").wait_for()
    assert named(shown_text(page), CARDS) == []


@pytest.mark.slow
def test_a_shared_device_is_covered_after_a_while_out_of_sight(open_page: Open) -> None:
    """A page out of sight for 20 s, and one that the browser keeps for its back button, shows no card."""
    page = open_page("#/play")
    set_up(page, people={0: ("Ann", "here"), 1: ("Bea", "here")})

    def turn_away(seconds: float) -> None:
        page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.evaluate("seconds => { const now = Date.now(); Date.now = () => now + 1000 * seconds }", seconds)
        page.evaluate("Object.defineProperty(document, 'hidden', { value: false, configurable: true })")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    page.get_by_role("button", name="I am Ann").click()
    page.locator(".playing").wait_for()
    turn_away(5)
    assert named(shown_text(page), CARDS) != []
    turn_away(30)
    page.locator(".cover").wait_for()
    assert named(shown_text(page), CARDS) == []
    page.get_by_role("button", name="I am Ann").click()
    page.locator(".playing").wait_for()
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    page.locator(".cover").wait_for()
    assert named(shown_text(page), CARDS) == []


@pytest.mark.slow
def test_cards_stay_covered_when_a_late_answer_comes(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page, people={0: ("Ann", "here"), 1: ("Bea", "here")})
    page.get_by_role("button", name="I am Ann").click()
    wait_for_turn(page)
    held: list[Any] = []
    page.route("**/Act", lambda route: held.append(route))
    page.locator(".hand .open").first.click()
    page.locator("button.gap").first.click()
    page.get_by_role("button", name="Hide my cards").click()
    held[0].continue_()
    page.get_by_role("heading", name="Hand the device to Bea").wait_for()
    assert named(shown_text(page), CARDS) == []


@pytest.mark.slow
def test_people_on_two_devices_choose_at_the_same_time(open_page: Open) -> None:
    """The link opens the other seat, its key leaves the address, and both choose in any order."""
    first = open_page("#/play")
    set_up(first, "castle_village_port", people={0: ("Ann", "here"), 1: ("Bea", "link")})
    link = first.locator(".links input").first.input_value()
    assert "#/play?key=" in link
    second = open_page(link.partition("/#")[2].join(["#", ""]))
    second.locator(".playing").wait_for()
    assert "key" not in second.url
    assert second.locator(".hand .badge").first.inner_text() == "B"
    wait_for_turn(second)
    second.locator(".hand .open").first.click()
    second.locator(".choices button.main").click()
    second.get_by_text("You have chosen").first.wait_for()
    assert first.locator(".playing h2.turn").count() == 1  # Ann chooses before, with or without Bea's choice
    first.locator(".hand .open").first.click()
    first.locator(".choices button.main").click()
    wait(second, "document.querySelectorAll('.log li[data-frame]').length >= 3")


@pytest.mark.slow
def test_moves_are_taken_back_and_counted(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page, people={0: ("Ann", "here"), 1: ("Bea", "link")})
    wait_for_turn(page)
    hand = page.locator(".hand li").count()
    page.locator(".hand .open").first.click()
    page.locator("button.gap").first.click()
    wait(page, "document.querySelectorAll('.log li[data-frame]').length == 1")
    assert page.locator(".hand li").count() == hand - 1
    page.keyboard.press("u")
    wait(page, "hand => document.querySelectorAll('.hand li').length == hand", hand)
    assert page.get_by_text("1 move taken back").is_visible()
    assert page.get_by_role("button", name="Take back").is_disabled()


def ask_for_a_hint(page: Any) -> None:
    """Press H until there is a hint: a busy server may refuse to think, and the page then tells why."""

    def is_there() -> bool:
        if page.locator(".hint .complaint").count():
            page.keyboard.press("h")
        return bool(page.get_by_text("Look where the star is").count())

    page.keyboard.press("h")
    wait_until(is_there)


@pytest.mark.slow
def test_a_hint_says_where_to_look_then_the_best_moves_then_opens_the_analysis(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page)
    wait_for_turn(page)
    choose_at_random(page, random.Random(6))
    ask_for_a_hint(page)
    assert page.locator(".mark").count() == 1
    assert page.locator(".hint li").count() == 0
    page.keyboard.press("h")
    assert 0 < page.locator(".hint li").count() <= 5
    assert page.get_by_text("1 hint used").is_visible()
    page.get_by_role("button", name="Open in the analysis").click()
    page.locator(".candidates, .moves").first.wait_for()
    assert page.url.partition("#")[2].startswith("/analyse?")


@pytest.mark.slow
def test_a_move_that_loses_much_is_warned_of(open_page: Open, served: Server) -> None:
    """C wins by revealing, and loses by keeping: the page asks for confirmation of the second alone."""
    record = record_of(new_game("oriflamme", "en-2019", 3), 45, 45)
    sitters = [table_pb2.Sitter(level=1), table_pb2.Sitter(level=1), table_pb2.Sitter(name="Cy")]
    request = table_pb2.OpenTableRequest(record=records.write(record), sitters=sitters)
    with served.channel() as channel:
        stub = table_pb2_grpc.TableServiceStub(channel)
        keys = [stub.OpenTable(request, timeout=HANG_S).keys[0].key for _ in range(2)]
    page = open_page(f"#/play?key={keys[0]}")
    wait_for_turn(page)
    settle(page, "Warn me before a bad move", True)
    page.get_by_role("button", name="Keep face down").click()
    page.get_by_text("of the win").wait_for()
    page.get_by_role("button", name="No, another").click()
    page.get_by_role("button", name="Keep face down").click()
    page.get_by_role("button", name="Play it anyway").click()
    wait(page, "document.querySelectorAll('.log li[data-frame]').length > 45")
    page.goto("about:blank")
    page = open_page(f"#/play?key={keys[1]}")
    wait_for_turn(page)
    settle(page, "Warn me before a bad move", True)
    page.get_by_role("button", name="Reveal", exact=True).click()
    wait(page, "document.querySelectorAll('.log li[data-frame]').length > 45")


def open_with_hidden_card(open_page: Open) -> Any:
    """Play until a card of another seat lies face down."""
    page = open_page("#/play")
    set_up(page, players=3)
    wait_for_turn(page)
    while not page.locator(".stacks .card.back").count():
        choose_at_random(page, random.Random(7))
    return page


@pytest.mark.slow
def test_notes_stay_with_their_card(open_page: Open) -> None:
    page = open_with_hidden_card(open_page)
    page.locator(".stacks .card.back").first.click(button="right")
    select = page.locator(".notes select").first
    select.select_option(label="Spy")
    page.locator(".notes input").first.fill("she smiled")
    assert "Spy?" in page.locator(".stacks .card.back").first.inner_text()
    page.reload()
    page.locator(".stacks .card.back").first.wait_for()
    assert "Spy?" in page.locator(".stacks .card.back").first.inner_text()


def test_a_note_follows_its_card_to_another_place(open_page: Open, served: Server) -> None:
    """B's Decree moves a hidden card of A, on which B has a note."""
    record = record_of(new_game("oriflamme", "en-2019", 3), 3, 29)
    assert "A2:?(2) >B1:Decree*" in str(list(record.seen_from("B").tables())[-1])
    sitters = [table_pb2.Sitter(name=name) for name in ("Ann", "Bea", "Cy")]
    with served.channel() as channel:
        request = table_pb2.OpenTableRequest(record=records.write(record), sitters=sitters)
        keys = table_pb2_grpc.TableServiceStub(channel).OpenTable(request, timeout=HANG_S).keys
    page = open_page(f"#/play?key={keys[1].key}")
    wait_for_turn(page)
    slots = page.locator(".stacks li:has(.card)")
    assert "?" in slots.nth(1).inner_text()
    slots.nth(1).locator(".card").click(button="right")
    note = page.locator(".notes li").filter(has=page.locator("select:focus"))
    note.locator("select").select_option(label="Spy")
    note.locator("input").fill("she smiled")

    def places() -> list[int]:
        texts = slots.all_inner_texts()
        return [at for at, text in enumerate(texts) if "Spy?" in text]

    assert places() == [1]
    page.get_by_label("Or type a move").fill("move 1 to 5")
    page.get_by_role("button", name="Play", exact=True).click()
    wait_until(lambda: places() == [3])  # the Decree has left the queue
    assert slots.nth(3).locator(".place").get_attribute("title") == "she smiled"
    moved = page.locator(".notes li").filter(has=page.get_by_text("Ann, Slot 3", exact=True))
    wait_until(lambda: moved.count() == 1)
    assert moved.locator("select").input_value() == "spy"
    assert moved.locator("input").input_value() == "she smiled"
    assert page.get_by_text("Ann, Slot 1", exact=True).count() == 0


@pytest.mark.slow
def test_earlier_moves_are_looked_at_and_nothing_is_chosen_there(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page)
    wait_for_turn(page)
    choose_at_random(page, random.Random(8))
    page.keyboard.press("Home")
    assert page.locator(".hand li").count() == 7
    assert page.locator(".playing .open").count() == 0
    page.keyboard.press("End")
    assert page.locator(".playing .open").count() > 0


@pytest.mark.slow
def test_a_failed_call_is_told_and_the_choice_can_be_made_again(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page)
    wait_for_turn(page)
    page.route("**/Act", lambda route: route.fulfill(status=500, json={"code": "internal", "message": "a fault"}))
    for _ in range(2):
        page.locator(".hand .open").first.click()
        page.locator("button.gap").first.click()
        page.locator(".choices .complaint").wait_for()
        wait_for_turn(page)
        assert page.locator(".picked").count() == 0
    page.unroute("**/Act")
    choose_at_random(page, random.Random(1))
    assert page.locator(".complaint").count() == 0


@pytest.mark.slow
def test_a_table_that_ended_is_said_to_be_gone(open_page: Open) -> None:
    page = open_page("#/play?key=" + "x" * 32)
    page.get_by_text("This table is no longer there").wait_for()
    assert page.locator(".sitters").is_visible()


@pytest.mark.slow
def test_a_name_is_text_and_nothing_else(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page, people={0: ("<img src=x onerror=alert(1)>", "here")})
    wait_for_turn(page)
    choose_at_random(page, random.Random(9))
    assert page.locator("img").count() == 0
    assert "<img" in page.locator(".seats .name").first.inner_text()


@pytest.mark.slow
def test_notes_and_hints_are_comments_of_the_saved_record(open_page: Open) -> None:
    page = open_with_hidden_card(open_page)
    page.keyboard.press("h")
    page.get_by_text("1 hint used").wait_for()
    page.locator(".stacks .card.back").first.click(button="right")
    page.locator(".notes select").first.select_option(label="Spy")
    page.locator(".notes input").first.fill("she smiled")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save").click()
    record = read_record(Path(saving.value.path()).read_text("utf-8"))
    assert record.observer == 0
    assert record.names[0] == "Ann"
    (comment,) = record.comments
    assert comment.after == len(record.actions)
    hint, note = comment.text.split("\n")
    assert hint == "Ann used a hint."
    assert note.startswith("Ann on ")
    assert note.endswith(": Spy? she smiled")


@pytest.mark.slow
def test_before_the_end_a_record_holds_no_notes_of_other_people(open_page: Open) -> None:
    page = open_page("#/play")
    set_up(page, people={0: ("Ann", "here"), 1: ("Bea", "here")})
    for name, guess in (("Ann", "Spy"), ("Bea", "Heir")):
        page.get_by_role("button", name=f"I am {name}").first.click()
        page.locator(".playing").wait_for()
        wait_for_turn(page)
        if not page.locator(".notes").count():
            page.keyboard.press("n")
        if page.locator(".notes select").count():
            page.locator(".notes select").first.select_option(label=guess)
        if name == "Ann":
            choose_at_random(page, random.Random(1))
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save").click()
    record = read_record(Path(saving.value.path()).read_text("utf-8"))
    assert record.observer == 1
    assert [comment.text.split(" on ")[0] for comment in record.comments] == ["Bea"]


@pytest.mark.slow
def test_a_game_without_histories_has_a_list_of_moves(open_page: Open, tmp_path: Path) -> None:
    with server("--plugin-workers", "1", web=True, environment=install_games(tmp_path)) as running:
        page = open_page("#/play", running.web)
        set_up(page, "liars_dice", players=2)
        wait_for_turn(page)
        page.locator(".choices button", has_text="bid 1x6").click()
        wait(page, "!!document.querySelector('.log li[data-frame]')")
        assert "bid 1x6" in page.locator(".log li[data-frame]").first.inner_text()
        wait_for_turn(page)
        play_to_the_end(page, random.Random(3))
        wait(page, "document.querySelectorAll('.log li[data-frame]').length >= 2")
        # The record of the end has the moves of all players.
        assert any("call" in text or "liar" in text for text in page.locator(".log li").all_inner_texts())


@pytest.mark.slow
def test_own_tables_of_a_castle_game_are_played_and_analysed(open_page: Open) -> None:
    """They reach the table, the link of the analysis, and refusals name their place."""
    page = open_page("#/play")
    page.evaluate("localStorage.setItem('pace', 'quick')")
    page.reload()
    wait(page, "document.querySelectorAll('.sitters option').length > 20")
    page.locator(".fields select").first.select_option("castle_village_port")
    page.locator("form details").first.evaluate("details => details.open = true")
    page.get_by_role("button", name="Begin with those of the edition").click()
    field = page.get_by_label("Own cards and rewards (JSON)")
    tables = json.loads(field.input_value())
    tables["cards"][0]["name"] = "Hermit"
    field.fill('{"cards": 3}')
    page.get_by_role("button", name="Start the game").click()
    page.locator(".complaint", has_text="cards").wait_for()
    field.fill(json.dumps({"castleVillagePort": tables}))
    page.get_by_role("button", name="Start the game").click()
    wait_for_turn(page)
    assert page.locator(".rules dt", has_text="Hermit").count() == 1
    page.keyboard.press("h")
    page.get_by_text("1 hint used").wait_for()
    page.keyboard.press("h")
    page.get_by_role("button", name="Open in the analysis").click()
    page.locator(".worlds").wait_for()
    page.get_by_text("House rules apply").wait_for()
    page.reload()
    page.locator(".worlds").wait_for()
    assert "Hermit" in page.url.replace("%22", '"')
