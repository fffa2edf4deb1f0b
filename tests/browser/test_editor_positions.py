"""Positions with every question of every game: pasted, set up by clicking, linked and reloaded, they stay equal."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

import pytest
from board import wait

from eminence.v1 import oriflamme_pb2
from engine_cy import CHANCE, View, new_game
from server.codec import views

Open = Callable[..., Any]
GAMES = {
    "oriflamme": ("Oriflamme", "en-2019", 3),
    "oriflamme_prototype": ("Oriflamme (prototype)", "prototype", 2),
    "castle_village_port": ("Castle, Village, Port", "house", 3),
}
# The questions that a seat answers; chance alone replaces a card.
QUESTIONS = {
    "oriflamme": {"place", "reveal", "target", "rob", "copy", "move", "over"},
    "oriflamme_prototype": {"place", "reveal", "target", "rob", "copy", "pair", "over"},
    "castle_village_port": {"select", "place", "move", "rob", "copy", "swap", "order", "discard", "over"},
}
ROWS = ("castle", "village", "port")


@cache
def positions_of(game_id: str) -> dict[str, list[View]]:
    """Return two views for each question, as the seat to act or another one sees it."""
    _, edition, players = GAMES[game_id]
    game, draw = new_game(game_id, edition, players), random.Random(8)
    found: dict[str, list[View]] = {question: [] for question in QUESTIONS[game_id]}
    for seed in range(400):
        position = game.deal(seed)
        while True:
            if position.to_act != CHANCE and draw.random() < 0.3:
                observer = position.to_act if draw.random() < 0.6 else draw.randrange(players)
                view = without_numbers(position.view(observer or 0))
                found[question_of(view)].append(view)
            if position.is_over:
                break
            position = position.play(draw.choice(position.legal_actions()))
        if all(len(views) > 1 for views in found.values()):
            break
    return {question: [views[0], views[-1]] for question, views in found.items()}


def table_of(view: View) -> Any:
    return getattr(views.write_view(view), message_of(view))


def message_of(view: View) -> str:
    return "castle_village_port" if view.game.id == "castle_village_port" else "oriflamme"


def question_of(view: View) -> str:
    table = table_of(view).table
    name: str = table.DESCRIPTOR.fields_by_name["ask"].enum_type.values_by_number[table.ask].name
    return name.rpartition("_ASK_")[2].lower()


def without_numbers(view: View) -> View:
    """Return a view whose cards in the queue have the numbers that text without numbers gives them."""
    if view.game.id == "castle_village_port":
        return view
    queue, separator, rest = str(view).partition(" | ")
    return view.game.view(re.sub(r"([A-E])\d+:", r"\1:", queue) + separator + rest)


def cases() -> Iterator[Any]:
    """Yield the positions; one of them is quick."""
    for game_id, questions in QUESTIONS.items():
        for question in sorted(questions):
            for number in range(2 if game_id == "oriflamme" else 1):
                is_quick = (game_id, question, number) == ("oriflamme", "target", 0)
                marks = [] if is_quick else [pytest.mark.slow]
                yield pytest.param(game_id, question, number, marks=marks, id=f"{game_id} {question} {number}")


@pytest.mark.parametrize(("game_id", "question", "number"), list(cases()))
def test_a_position_is_the_same_however_it_comes(game_id: str, question: str, number: int, open_page: Open) -> None:
    view = positions_of(game_id)[question][number]
    page = open_page("#/analyse")
    # Pasted.
    name, edition, players = GAMES[game_id]
    page.locator(".source select option").nth(2).wait_for(state="attached")
    selects = page.locator("form.source").first.locator("select")
    selects.nth(0).select_option(label=name)
    selects.nth(1).select_option(edition)
    selects.nth(2).select_option(str(players))
    text = page.get_by_label("Position, as one seat sees it")
    text.fill(str(view))
    page.get_by_role("button", name="Show").click()
    wait(page, "view => new URLSearchParams(location.hash.split('?')[1]).get('view') === view", str(view))
    assert text.input_value() == str(view)
    assert page.locator("details.origin ~ .complaint").count() == 0
    # Set up by clicking, from an empty table.
    page.get_by_role("button", name="Set up by clicking").click()
    page.get_by_role("button", name="Empty table").click()
    lay_out(page, view)
    checked(page)
    assert page.locator(".editor .state li").all_inner_texts() == []
    assert page.locator(".editor .state code").inner_text() == str(view)
    page.get_by_role("button", name="Analyse it").click()
    page.locator(".columns .table").wait_for()
    assert text.input_value() == str(view)
    # Linked, and reloaded.
    link = "#" + page.url.partition("#")[2]
    assert parameters(link)["view"] == str(view)
    page.reload()
    page.locator(".columns .table").wait_for()
    assert page.get_by_label("Position, as one seat sees it").input_value() == str(view)
    page.goto("about:blank")
    linked = open_page(link)
    linked.locator(".columns .table").wait_for()
    assert linked.get_by_label("Position, as one seat sees it").input_value() == str(view)


def parameters(link: str) -> dict[str, str]:
    return dict(parse_qsl(link.partition("?")[2]))


# --- setting up by clicking ------------------------------------------------------------------------------------


def lay_out(page: Any, view: View) -> None:
    """Set up a view by the editor's buttons and fields."""
    message = table_of(view)
    page.get_by_label("Seen by").select_option(str(message.observer - 1))
    if view.game.id == "castle_village_port":
        lay_rows(page, message)
    else:
        lay_queue(page, message)
    table = message.table
    fill(page, "Round", table.round)
    choose(page, "First player", table.first)
    page.get_by_label("Question", exact=True).select_option(question_of(view))
    choose(page, "To act", table.to_act)
    is_castle = view.game.id == "castle_village_port"
    for kind in message.own.hand:
        page.get_by_label("Add a card: Hand", exact=True).select_option(str(kind) if is_castle else id_of(kind))
    for seat, pile in enumerate(table.piles):
        # The server fills in all piles or none; the first change keeps the filled ones of the other seats.
        checked(page)
        label = f"Pile {'ABC'[seat]}"
        chips = page.get_by_role("group", name=label).locator(".chip")
        while chips.count():
            chips.first.click()
        for kind in pile.values if is_castle else pile.cards:
            into = page.get_by_label(f"Add a card: {label}", exact=True)
            into.select_option(str(kind) if is_castle else id_of(kind))


def checked(page: Any) -> None:
    """Wait until the server has answered about the newest draft."""
    page.locator(".editor[aria-busy=false]").wait_for()


def lay_queue(page: Any, message: Any) -> None:
    """Lay the stacks from the front, each from its lowest card; then name the own face-down cards."""
    table, own = message.table, list(message.own.face_down)
    inspector = page.locator(".inspector")
    for number, slot in enumerate(table.slots):
        kinds = []
        for card in slot.cards:
            known = own.pop(0) if slot.family == message.observer and not card.card else 0
            kinds.append((card, card.card or known))
        page.locator(".editor .rows .row").first.locator("button.gap").nth(number).click()
        inspector.get_by_role("button", name=f"Seat {'ABC'[slot.family - 1]}").click()
        for depth, (card, kind) in enumerate(reversed(kinds)):
            if depth:
                page.get_by_role("button", name="Put a card on it").click()
            inspector.locator("select").select_option(id_of(kind) if kind else "")
            if kind:
                page.get_by_role("checkbox", name="face up").set_checked(bool(card.card))
            page.get_by_label("Tokens", exact=True).fill(str(card.tokens))
        if table.HasField("cursor") and table.cursor == number:
            page.get_by_role("button", name="acts now").click()
    if table.acting:
        page.get_by_label("Acts as").select_option(id_of(table.acting))
    for seat, points in enumerate(table.points):
        fill(page, f"Points {'ABC'[seat]}", points)


def lay_rows(page: Any, message: Any) -> None:
    table = message.table
    for row, location in enumerate(ROWS):
        for number, card in enumerate(getattr(table, location)):
            page.locator(".editor .rows .row").nth(row).locator("button.gap").nth(number).click()
            page.locator(".inspector").get_by_role("button", name=f"Seat {'ABC'[card.owner - 1]}").click()
            page.locator(".inspector select").select_option(str(card.value))
            if table.HasField("acting") and table.acting == card:
                page.get_by_role("button", name="acts now").click()
    fill(page, "Turn", table.turn)
    if table.HasField("effect"):
        page.get_by_label("Acts as").select_option(str(table.effect))
    choose(page, "Card replaced of", table.victim)
    if table.HasField("walk"):
        page.get_by_label("Walk through").select_option(ROWS[table.walk.location - 1])
        page.get_by_label("Pays from the right").set_checked(table.walk.from_right)
        for label, cards in (("Will still act", table.walk.due), ("Took a rank", table.walk.ranked)):
            for card in cards:
                page.get_by_label(f"Add a card: {label}").select_option(f"{card.value}{'ABC'[card.owner - 1]}")
    for seat, gold in enumerate(table.gold):
        fill(page, f"Gold {'ABC'[seat]}", gold)
    for seat, order in enumerate(table.orders):
        if order:
            page.get_by_label(f"Must place in {'ABC'[seat]}").select_option(ROWS[order - 1])
    for seat in table.selected:
        page.get_by_label(f"Has selected {'ABC'[seat - 1]}").check()
    if message.own.selected:
        page.get_by_label("Selected card").select_option(str(message.own.selected))


def id_of(kind: Any) -> str:
    """Return the id of a card of Oriflamme, as the editor's lists have it."""
    return oriflamme_pb2.OriflammeCard.Name(kind).removeprefix("ORIFLAMME_CARD_").lower()


def fill(page: Any, label: str, number: int) -> None:
    page.get_by_label(label, exact=True).fill(str(number))


def choose(page: Any, label: str, seat: int) -> None:
    page.get_by_label(label, exact=True).select_option(str(seat - 1) if seat else "")
