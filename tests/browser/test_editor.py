"""The editor of positions: positions by clicking, and each fault at its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engine_cy import CHANCE, View, new_game
from engine_cy.support.rng import Rng

Open = Callable[..., Any]
VIEW = "C:Lord* >A:Ambush(1) B:Soldier* A:Lord(1) C:?(2) | round 4 | points 7 7 7 | seen by A"


def edit(page: Any, text: str = "", game: str = "Oriflamme") -> Any:
    """Open the editor with a view, or with the one that the page shows."""
    page.locator("details.origin").evaluate("(form) => (form.open = true)")  # a phone folds it
    page.locator(".source select").first.select_option(label=game)
    if text:
        page.get_by_label("Position, as one seat sees it").fill(text)
        page.get_by_role("button", name="Show").click()
    page.locator(".worlds").wait_for()
    page.get_by_role("button", name="Set up by clicking").click()
    checked(page)
    return page


def checked(page: Any) -> Any:
    """Wait until the server has answered about the newest draft; return its answer on the page."""
    page.locator(".editor:not([aria-busy=true])").wait_for()
    return page.locator(".editor .state")


def notation(page: Any) -> str:
    """Return the notation of the draft, which must be possible."""
    return str(checked(page).locator("code").inner_text())


def faults(page: Any) -> list[str]:
    return list(checked(page).locator("li").all_inner_texts())


def card(page: Any, row: int, stack: int) -> Any:
    return page.locator(".editor .rows .row").nth(row).locator("button.thing").nth(stack)


def gap(page: Any, row: int, at: int) -> Any:
    return page.locator(".editor .rows .row").nth(row).locator("button.gap").nth(at)


def views_of(game_id: str, players: int, seed: int, every: int) -> Iterator[View]:
    """Yield views of a random game, of each seat in turn."""
    rng = Rng(seed, 1)
    position = new_game(game_id, None, players).deal(seed)
    number = 0
    while not position.is_over:
        if number % every == 0 and position.to_act != CHANCE:
            yield position.view(number // every % players)
        options = position.legal_actions()
        position = position.play(options[rng.below(len(options))])
        number += 1


# --- what can be set up ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game_id", "name", "players"),
    [
        ("oriflamme", "Oriflamme", 3),
        ("oriflamme", "Oriflamme", 5),
        ("oriflamme_prototype", "Oriflamme (prototype)", 2),
        ("castle_village_port", "Castle, Village, Port", 3),
    ],
)
def test_a_view_passes_through_the_editor_unchanged(game_id: str, name: str, players: int, open_page: Open) -> None:
    page, n_views = open_page("#/play"), 0
    address = page.url.split("#")[0]
    for view in views_of(game_id, players, seed=5, every=13):
        page.goto("about:blank")
        page.goto(address + link_to(view))
        page.locator(".worlds").wait_for()
        page.get_by_role("button", name="Set up by clicking").click()
        assert notation(page) == str(view)
        # The page sends what it drew, not the text: a change and its opposite lead back to it.
        page.get_by_label("Round", exact=True).fill("1")
        page.get_by_role("button", name="Undo").click()
        assert notation(page) == str(view)
        n_views += 1
    assert n_views > 2


def link_to(view: View) -> str:
    from urllib.parse import urlencode

    edition = view.game.ruleset.edition
    return "#/analyse?" + urlencode(
        {"game": view.game.id, "edition": edition, "players": view.game.n_players, "view": str(view)}
    )


def test_a_position_is_set_up_from_an_empty_table(open_page: Open) -> None:
    page = edit(open_page("#/analyse"))
    page.get_by_role("button", name="Empty table").click()
    assert " | round 1 | first A | ask A place | points 1 1 1 " in notation(page)
    # B's Heir face up, then A's Spy face down with two tokens at the cursor, then C's hidden card.
    gap(page, 0, 0).click()
    choose(page, owner="B", kind="Heir")
    gap(page, 0, 1).click()
    choose(page, owner="A", kind="Spy", face_up=False, tokens=2)
    page.get_by_role("button", name="acts now").click()
    gap(page, 0, 2).click()
    choose(page, owner="C", kind="")
    assert notation(page).startswith("B1:Heir* >A1:Spy(2) C1:? | round 1 | first A | ask A reveal | points 1 1 1")
    page.get_by_label("Points B").fill("9")
    page.get_by_label("First player").select_option("B")
    text = notation(page)
    assert "first B" in text
    assert "points 1 9 1" in text
    page.get_by_role("button", name="Analyse it").click()
    page.locator(".best").wait_for()
    assert page.get_by_label("Position, as one seat sees it").input_value() == text
    page.locator(".table .stacks .card").nth(2).wait_for()  # the table before stays until the server has answered
    assert page.locator(".table .stacks .card").count() == 3


def choose(page: Any, *, owner: str, kind: str, face_up: bool = True, tokens: int = 0) -> None:
    """Change the selected card."""
    inspector = page.locator(".inspector")
    inspector.get_by_role("button", name=f"Seat {owner}").click()
    page.locator(".inspector select").select_option(label=kind or "unknown")
    if kind:
        page.get_by_label("face up").set_checked(face_up)
    page.get_by_label("Tokens", exact=True).fill(str(tokens))


@pytest.mark.slow
def test_cards_are_stacked_moved_and_removed(open_page: Open) -> None:
    page = edit(open_page("#/analyse"), VIEW)
    before = notation(page)
    card(page, 0, 3).click()
    page.get_by_role("button", name="Move left").click()
    page.get_by_role("button", name="Move right").click()
    assert notation(page) == before
    page.get_by_role("button", name="Remove", exact=True).click()
    assert card(page, 0, 4).count() == 0
    page.get_by_role("button", name="Undo").click()
    assert notation(page) == before
    card(page, 0, 3).click()
    page.get_by_role("button", name="Put a card on it").click()
    assert page.locator(".depths button").all_inner_texts() == ["top card", "under 1"]
    page.locator(".inspector select").select_option(label="Spy")
    page.get_by_role("button", name="Remove Spy").first.click()  # the one in A's hand, which it was
    assert any("A has placed" in fault for fault in faults(page))
    page.get_by_role("button", name="Remove Archer").first.click()  # it was in A's pile
    page.get_by_label("Add a card: Hand").select_option("archer")
    assert "A:Spy" in re.sub(r"(?<=[A-C])\d", "", notation(page))


def test_the_rows_of_castle_village_port_are_set_up(open_page: Open) -> None:
    page = open_page("#/analyse")
    page.locator(".source select").first.select_option(label="Castle, Village, Port")
    page.get_by_role("button", name="Set up by clicking").click()
    page.get_by_role("button", name="Empty table").click()
    assert notation(page).startswith("castle - | village - | port - | round 1 | turn 1")
    for row, (owner, kind) in enumerate((("A", "King"), ("B", "Thief"), ("C", "Sailor"))):
        gap(page, row, 0).click()
        page.locator(".inspector").get_by_role("button", name=f"Seat {owner}").click()
        page.locator(".inspector select").select_option(label=kind)
    assert notation(page).startswith("castle 15A | village 11B | port 2C | round 1 | turn 2")
    page.get_by_label("Gold C").fill("12")
    assert "gold 3 3 12" in notation(page)


# --- faults ----------------------------------------------------------------------------------------------------


def test_all_faults_stand_at_their_places_at_once(open_page: Open) -> None:
    page = edit(open_page("#/analyse"), VIEW)
    card(page, 0, 0).click()
    page.get_by_label("Tokens", exact=True).fill("3")
    page.get_by_label("Round", exact=True).fill("9")
    page.get_by_label("Points C").fill("999")
    texts = faults(page)
    assert len(texts) >= 3
    assert page.get_by_label("Points C").get_attribute("aria-invalid") == "true"
    assert page.get_by_label("Points A").get_attribute("aria-invalid") == "false"
    for label in ("Round", "Points C"):
        field = page.get_by_label(label, exact=True)
        described = page.locator(f"#{field.get_attribute('aria-describedby')}")
        assert described.inner_text() in " ".join(texts)
    assert "faulty" in (card(page, 0, 0).get_attribute("class") or "")
    assert "faulty" not in (card(page, 0, 2).get_attribute("class") or "")
    fault = page.locator(".inspector .fault").first.inner_text()
    assert fault in texts
    assert fault in (card(page, 0, 0).get_attribute("aria-label") or "")
    assert page.get_by_role("button", name="Analyse it").is_disabled()
    # Mended one by one, they leave.
    page.get_by_label("Tokens", exact=True).fill("0")
    page.get_by_label("Round", exact=True).fill("4")
    page.get_by_label("Points C").fill("7")
    assert notation(page)
    assert page.locator(".editor .fault").count() == 0
    assert page.get_by_role("button", name="Analyse it").is_enabled()


def change(page: Any, row: int, stack: int, label: str, value: str) -> None:
    """Select a card, and change a value of it."""
    card(page, row, stack).click()
    if label == "Which card":
        page.locator(".inspector select").select_option(value)
    else:
        page.get_by_label(label, exact=True).fill(value)


def press(page: Any, row: int, stack: int, name: str) -> None:
    """Select a card, and press a button about it."""
    card(page, row, stack).click()
    page.locator(".inspector").get_by_role("button", name=name, exact=True).click()


Change = Callable[[Any], object]
Drafts = dict[str, Change]


def several(*changes: Change) -> Change:
    """Return the changes as one."""

    def make(page: Any) -> None:
        for each in changes:
            each(page)

    return make


OF_ORIFLAMME: Drafts = {
    "a card twice": lambda page: change(page, 0, 2, "Which card", "archer"),
    "a card too many": lambda page: gap(page, 0, 0).click(),
    "a card too few": lambda page: press(page, 0, 4, "Remove"),
    "tokens on a card that is up": lambda page: change(page, 0, 2, "Tokens", "1"),
    "too many tokens": lambda page: change(page, 0, 4, "Tokens", "99"),
    "an own card that is unknown": lambda page: change(page, 0, 3, "Which card", ""),
    "a round too late": lambda page: page.get_by_label("Round", exact=True).fill("7"),
    "a negative round": lambda page: page.get_by_label("Round", exact=True).fill("-1"),
    "points below 0": lambda page: page.get_by_label("Points A").fill("-1"),
    "a question without a card": lambda page: page.get_by_label("Question").select_option("place"),
    "another seat to act": lambda page: page.get_by_label("To act").select_option("1"),
    "an effect of another card": lambda page: page.get_by_label("Acts as").select_option("heir"),
    "a hand of too many cards": lambda page: page.get_by_label("Add a card: Hand").select_option("archer"),
    "a hand of too few cards": lambda page: page.get_by_role("button", name="Remove Heir").first.click(),
    "a pile of too many cards": lambda page: page.get_by_label("Add a card: Pile C").select_option("spy"),
    "a pile of too few cards": lambda page: page.get_by_role("button", name="Remove Archer").last.click(),
    "another observer": lambda page: page.get_by_label("Seen by").select_option("1"),
    "no card that acts": lambda page: press(page, 0, 1, "▼ acts now"),
    "a card that covers another one": lambda page: press(page, 0, 0, "Put a card on it"),
    "a card of another family": lambda page: press(page, 0, 0, "Seat B"),
    "several at once": several(
        lambda page: page.get_by_label("Round", exact=True).fill("7"),
        lambda page: page.get_by_label("Points A").fill("-1"),
    ),
}
# Two cards of a family may have a name; a family has nine cards.
PROTOTYPE = (
    ">A5:Heir B5:? B4:Spy* C1:Queen* B1:Lord* A3:Queen* C5:? | round 5 | first B | ask A reveal | points 6 7 12 | "
    "hands Archer,Soldier ? ? | piles Assassin,Shapeshifter,Ambush Archer,Ambush Archer,Mercenaries,Ambush | seen by A"
)
OF_PROTOTYPE: Drafts = {
    "a card of the family twice": lambda page: change(page, 0, 2, "Which card", "lord"),
    "an own card twice": lambda page: change(page, 0, 0, "Which card", "soldier"),
    "a card too many": lambda page: gap(page, 0, 7).click(),
    "a card too few": lambda page: press(page, 0, 6, "Remove"),
    "tokens on a card that is up": lambda page: change(page, 0, 2, "Tokens", "1"),
    "tokens in an edition without them": lambda page: change(page, 0, 1, "Tokens", "2"),
    "an own card that is unknown": lambda page: change(page, 0, 0, "Which card", ""),
    "a round too late": lambda page: page.get_by_label("Round", exact=True).fill("8"),
    "a round too early": lambda page: page.get_by_label("Round", exact=True).fill("1"),
    "points above all": lambda page: page.get_by_label("Points B").fill("999999"),
    "a question without a card": lambda page: page.get_by_label("Question").select_option("place"),
    "a question of another card": lambda page: page.get_by_label("Question").select_option("pair"),
    "another seat to act": lambda page: page.get_by_label("To act").select_option("2"),
    "an effect of no card": lambda page: page.get_by_label("Acts as").select_option("heir"),
    "a hand of too many cards": lambda page: page.get_by_label("Add a card: Hand").select_option("lord"),
    "a hand of too few cards": lambda page: page.get_by_role("button", name="Remove Soldier").first.click(),
    "a pile of too many cards": lambda page: page.get_by_label("Add a card: Pile C").select_option("spy"),
    "a pile of too few cards": lambda page: page.get_by_role("button", name="Remove Ambush").last.click(),
    "another observer": lambda page: page.get_by_label("Seen by").select_option("1"),
    "a covered card that acts": lambda page: press(page, 0, 0, "Put a card on it"),
    "a card of another family": lambda page: press(page, 0, 3, "Seat B"),
    "several at once": several(
        lambda page: page.get_by_label("Round", exact=True).fill("8"),
        lambda page: page.get_by_label("Points A").fill("-1"),
        lambda page: change(page, 0, 2, "Tokens", "1"),
    ),
}
CASTLE = (
    "castle 13A 11B 6B 2A 2B | village 15C 1A | port 9A 8C 5A | round 2 | turn 3 | first A | ask B rob by 11B | "
    "gold 12 14 3 | selected - - ? | hands 14,11,8 ? ? | piles 12,3 13,10,4,1 14,11,2,1 | seen by A"
)
OF_CASTLE: Drafts = {
    "a card twice in two rows": lambda page: change(page, 1, 0, "Which card", "8"),
    "a card of a row and a pile": lambda page: change(page, 1, 0, "Which card", "14"),
    "a card of a row and the hand": lambda page: change(page, 0, 0, "Which card", "14"),
    "a row out of order": lambda page: press(page, 0, 0, "Move right"),
    "a card too many": lambda page: gap(page, 2, 0).click(),
    "a card too few": lambda page: press(page, 1, 0, "Remove"),
    "a card of another owner": lambda page: press(page, 1, 1, "Seat C"),
    "another card that acts": lambda page: press(page, 2, 1, "▼ acts now"),
    "no card that acts": lambda page: press(page, 0, 1, "▼ acts now"),
    "a round too late": lambda page: page.get_by_label("Round", exact=True).fill("4"),
    "a turn too late": lambda page: page.get_by_label("Turn", exact=True).fill("9"),
    "another first player": lambda page: page.get_by_label("First player").select_option("2"),
    "a question of another card": lambda page: page.get_by_label("Question").select_option("swap"),
    "another seat to act": lambda page: page.get_by_label("To act").select_option("0"),
    "an effect of another card": lambda page: page.get_by_label("Acts as").select_option("2"),
    "a victim of another question": lambda page: page.get_by_label("Card replaced of").select_option("2"),
    "a walk in the middle of a round": lambda page: page.get_by_label("Walk through").select_option("castle"),
    "an own card that was not selected": lambda page: page.get_by_label("Selected card").select_option("8"),
    "a seat that has revealed already": lambda page: page.get_by_label("Has selected B").check(),
    "a seat that must have selected": several(
        lambda page: page.get_by_label("Has selected B").check(),
        lambda page: page.get_by_label("Has selected C").uncheck(),
    ),
    "an order without a card that gives it": lambda page: page.get_by_label("Must place in B").select_option("port"),
    "gold below 0": lambda page: page.get_by_label("Gold A").fill("-1"),
    "a hand of too many cards": lambda page: page.get_by_label("Add a card: Hand").select_option("7"),
    "a pile of too many cards": lambda page: page.get_by_label("Add a card: Pile C").select_option("7"),
    "another observer": lambda page: page.get_by_label("Seen by").select_option("1"),
    "several at once": several(
        lambda page: page.get_by_label("Round", exact=True).fill("4"),
        lambda page: page.get_by_label("Gold A").fill("-1"),
        lambda page: page.get_by_label("Has selected C").uncheck(),
    ),
}
DRAFTS = {
    "Oriflamme": (VIEW, OF_ORIFLAMME),
    "Oriflamme (prototype)": (PROTOTYPE, OF_PROTOTYPE),
    "Castle, Village, Port": (CASTLE, OF_CASTLE),
}


@pytest.mark.slow
@pytest.mark.parametrize("game", DRAFTS)
def test_impossible_drafts_are_kept_and_explained(game: str, open_page: Open) -> None:
    text, drafts = DRAFTS[game]
    assert len(drafts) > 20
    page = edit(open_page("#/analyse"), text, game)
    before = notation(page)
    for name, make in drafts.items():
        make(page)
        texts = faults(page)
        assert texts, name
        assert all(re.search(r"\w{3}", text) for text in texts), name
        assert page.get_by_role("button", name="Analyse it").is_disabled()
        # Each fault has a place, where its own words stand.
        assert page.locator(".state li").count() == page.locator(".state button.link").count() == len(texts), name
        for link in page.locator(".state button.link").all():
            text = link.inner_text()
            link.click()
            assert page.locator(".editor .fault", has_text=text).count() >= 1, f"{name}: {text}"
        undo = page.get_by_role("button", name="Undo")
        while undo.is_enabled():
            undo.click()
        assert notation(page) == before, name


def test_both_cards_of_a_doubled_one_are_marked(open_page: Open) -> None:
    page = edit(open_page("#/analyse"), VIEW)
    change(page, 0, 2, "Which card", "heir")
    press(page, 0, 2, "Seat A")  # A holds the Heir, too
    texts = faults(page)
    assert any("2 copies of A's heir" in text for text in texts)
    assert "faulty" in (card(page, 0, 2).get_attribute("class") or "")
    hand = page.get_by_label("Add a card: Hand")
    assert hand.get_attribute("aria-invalid") == "true"
    described = page.locator(f"#{hand.get_attribute('aria-describedby')}")
    assert "2 copies of A's heir" in described.inner_text()


def test_the_page_fills_in_what_is_left_out(open_page: Open) -> None:
    page = edit(open_page("#/analyse"), VIEW)
    page.get_by_label("Question").select_option("")
    page.get_by_label("To act").select_option("")
    notation(page)
    assert page.get_by_label("Question").locator("option").first.inner_text() == "reveal or keep (filled in)"
    assert page.get_by_label("To act").locator("option").first.inner_text() == "A (filled in)"


# --- access, sizes and languages -------------------------------------------------------------------------------


def test_the_keyboard_is_enough(open_page: Open) -> None:
    page = edit(open_page("#/analyse"), VIEW)
    card(page, 0, 0).focus()
    page.keyboard.press("Enter")
    for _ in range(4):  # two cards, and the gap before each
        page.keyboard.press("ArrowRight")
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused).startswith("Slot 2, B: Soldier")
    page.keyboard.press("c")
    assert page.evaluate(focused).startswith("Slot 2, C: Soldier")
    page.keyboard.press("3")
    assert page.evaluate(focused).startswith("Slot 2, C: Spy")
    page.keyboard.press("f")
    page.keyboard.press("+")
    assert page.evaluate(focused).startswith("Slot 2, C: ?, 1 token, hidden card")
    page.keyboard.press("-")
    page.keyboard.press("Shift+ArrowRight")
    assert page.evaluate(focused).startswith("Slot 3, C: ?, hidden card")
    page.keyboard.press("Delete")
    assert page.locator(".editor button.thing").count() == 4
    assert page.evaluate("document.activeElement !== document.body")
    page.keyboard.press("Control+z")
    assert page.locator(".editor button.thing").count() == 5
    page.keyboard.press("Control+Shift+z")
    assert page.locator(".editor button.thing").count() == 4
    assert page.get_by_role("button", name="Redo").is_disabled()
    page.get_by_role("button", name="Undo").click()
    page.keyboard.press("Control+y")
    assert page.locator(".editor button.thing").count() == 4
    page.keyboard.press("Control+z")
    assert page.locator(".editor button.thing").count() == 5
    page.get_by_role("button", name="add a card before slot 0").focus()
    page.keyboard.press("Enter")
    assert page.locator(".editor button.thing").count() == 6


@pytest.mark.parametrize(("language", "title"), [("fr", "Composer une position"), ("de", "Eine Stellung aufbauen")])
def test_the_editor_speaks_other_languages(language: str, title: str, open_page: Open) -> None:
    page = edit(open_page("#/analyse"))
    page.get_by_label("Language").select_option(language)
    page.get_by_role("heading", name=title).wait_for()
    page.set_viewport_size({"width": 320, "height": 640})
    card(page, 0, 1).click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert "undefined" not in page.locator("body").inner_text()


# --- secrets ---------------------------------------------------------------------------------------------------


def test_the_analysis_tells_what_secrets_are_worth(open_page: Open) -> None:
    page = open_page("#/analyse")
    page.locator(".worlds").wait_for()
    page.locator("body").press("i")
    secrets = page.locator(".secrets")
    secrets.get_by_text("Ambush").wait_for()
    text = " ".join(secrets.inner_text().split())
    assert re.search(r"Ambush \(Slot 1\): if all knew it, [+−]\d+\.\d % ± \d+\.\d ; it is guessed by", text), text
    assert re.search(r"B \d+\.\d % C \d+\.\d %", text), text
    page.locator("body").press("i")
    secrets.wait_for(state="detached")


@pytest.mark.slow
def test_cards_are_dragged_to_gaps_and_onto_others(open_page: Open) -> None:
    page = edit(open_page("#/analyse"), VIEW)
    before = notation(page)
    drag(page, card(page, 0, 3), gap(page, 0, 1))
    assert card(page, 0, 1).get_attribute("aria-label").startswith("Slot 1, A: Lord")
    assert card(page, 0, 1).get_attribute("aria-pressed") == "true"
    # A drag to its own place changes nothing, and a press selects.
    drag(page, card(page, 0, 1), gap(page, 0, 1))
    card(page, 0, 0).click()
    assert card(page, 0, 0).get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="Undo").click()
    assert notation(page) == before
    # Onto another card: the place has one owner.
    drag(page, card(page, 0, 3), card(page, 0, 1))
    checked(page)
    assert page.locator(".editor .rows button.thing").count() == 4
    assert "1 card below" in card(page, 0, 1).get_attribute("aria-label")
    page.get_by_role("button", name="Undo").click()
    assert notation(page) == before
    # The keyboard's way is the same.
    card(page, 0, 3).click()
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    assert card(page, 0, 1).get_attribute("aria-label").startswith("Slot 1, A: Lord")


def drag(page: Any, what: Any, to: Any) -> None:
    what.scroll_into_view_if_needed()
    start, end = what.bounding_box(), to.bounding_box()
    page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=5)
    page.locator(".editor .rows.dragging").wait_for()
    page.mouse.up()
    page.locator(".editor .rows.dragging").wait_for(state="detached")


@pytest.mark.slow
def test_a_castle_card_is_dragged_to_another_row(open_page: Open) -> None:
    page = edit(open_page("#/analyse"), game="Castle, Village, Port")
    gap(page, 0, 0).click()
    label = card(page, 0, 0).get_attribute("aria-label")
    drag(page, card(page, 0, 0), gap(page, 2, 0))
    assert card(page, 2, 0).get_attribute("aria-label").split(", ")[1:2] == label.split(", ")[1:2]
    assert page.locator(".editor .rows .row").nth(0).locator("button.thing").count() == 0
