"""The Analyse page: its numbers are those of the service and of the command, by mouse and by keyboard."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from analysis import ITERATIONS, SEED, VIEWS, analysed, compact, link_to, with_effort
from board import press_by_keyboard
from process import Server
from program import run
from tables import random_game
from waiting import HANG_S, wait_until
from web import enveloped, envelopes

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc
from engine_cy import CHANCE, new_game
from server.codec import views

Open = Callable[..., Any]
LAID = "B1:Heir* >A1:Spy(2) C1:? | round 1 | first A"


@pytest.mark.parametrize("game_id", VIEWS)
def test_the_numbers_are_those_of_the_service_and_of_the_command(game_id: str, open_page: Open, served: Server) -> None:
    text = VIEWS[game_id]
    view = views.write_view(new_game(game_id, None, 3).view(text))
    with served.channel() as channel:
        request = pb.SuggestRequest(view=view, budget=pb.Budget(iterations=ITERATIONS))
        request.options.seed = SEED
        best = solver_pb2_grpc.SolverServiceStub(channel).Suggest(request, timeout=HANG_S).suggestion.best.text
    effort = ("--iterations", ITERATIONS, "--seed", SEED)
    expected = run("suggest", text, "--game", game_id, "--json", *effort).json
    assert expected["best"]["text"] == best

    page = open_page("#/play")
    with_effort(page)
    analysed(page, link_to(game_id, text))
    assert page.locator(".best b").inner_text() == best
    more = page.get_by_role("button", name="Show all")
    if more.count():
        more.click()
    rows = page.locator(".moves tbody tr")
    assert rows.count() == len(expected["candidates"])
    for row, candidate in zip(rows.all(), expected["candidates"], strict=True):
        assert row.locator("th").inner_text() == candidate["action"]["text"]
        visits = int(candidate.get("visits", 0))
        cell = compact(row.locator("td").first.inner_text())
        if visits < 20:
            assert cell == f"tried {visits} times only"
            continue
        win = candidate["win"]
        assert cell == f"{100 * win['mean']:.1f} % ± {100 * win['standardError']:.1f}"
        numbers = row.locator("td.number").all_inner_texts()
        assert numbers == [f"{candidate['points']['mean']:.1f}", f"{visits:,}"]
    assert compact(page.locator(".effort").inner_text()).startswith(f"{ITERATIONS:,} iterations")
    bar = compact(page.locator(".win-bar figcaption").inner_text())
    for seat in expected["seats"]:
        assert f"{100 * seat['win']['mean']:.1f} %" in bar
    # The numbers of another seed are others: this test can fail.
    other = run("suggest", text, "--game", game_id, "--json", "--iterations", ITERATIONS, "--seed", SEED + 1).json
    assert [each["win"] for each in other["candidates"]] != [each["win"] for each in expected["candidates"]]


def test_the_keyboard_is_enough(open_page: Open) -> None:
    """Switch the analysis, try a move, take it back, compare and weigh secrets, with the focus kept."""
    page = open_page("#/play")
    with_effort(page)
    analysed(page, link_to("oriflamme", VIEWS["oriflamme"]))

    def focus_is_kept() -> bool:
        return bool(page.evaluate("document.activeElement !== document.body"))

    page.get_by_role("button", name="Live analysis").focus()
    page.keyboard.press("l")
    page.get_by_text("all iterations done").wait_for()
    assert focus_is_kept()
    moves = page.locator(".moves button.move")
    moves.first.focus()
    move = moves.first.inner_text()
    page.keyboard.press("Enter")
    page.get_by_text(f"Tried so far: {move}").wait_for()
    assert focus_is_kept()
    page.keyboard.press("ArrowLeft")
    wait_until(lambda: page.get_by_text("Tried so far").count() == 0)
    page.get_by_text("all iterations done").wait_for()
    assert focus_is_kept()
    for at in (0, 1):
        page.locator(".moves input[type=checkbox]").nth(at).focus()
        page.keyboard.press("Space")
    page.get_by_role("button", name="Compare in the same worlds").focus()
    page.keyboard.press("Enter")
    page.get_by_text(re.compile(r"in the same [\d,]+ worlds")).wait_for()
    assert focus_is_kept()
    page.keyboard.press("e")
    page.locator(".editor").wait_for()
    assert focus_is_kept()


def test_a_position_is_set_up_by_keyboard_alone(open_page: Open) -> None:
    """Tab, Enter and the keys of cards build a position and analyse it; the focus is never lost."""
    page = open_page("#/analyse")
    page.locator(".worlds").wait_for()

    def press(*keys: str) -> None:
        for key in keys:
            page.keyboard.press(key)
            assert page.evaluate("document.activeElement !== document.body"), key

    def walk_to(selector: str) -> None:
        press_by_keyboard(page, selector)
        assert page.evaluate("document.activeElement !== document.body"), selector

    press("Tab")
    press("e")
    page.locator(".editor").wait_for()
    walk_to(".editor .head button:nth-of-type(4)")  # an empty table
    walk_to("button.gap")
    page.locator("button.thing[aria-pressed=true]:focus").wait_for()  # the new card has the focus
    press("B", "4", "End", "Enter")
    page.locator("button.thing[aria-pressed=true]:focus").wait_for()
    assert page.locator("button.thing").count() == 2
    press("A", "3", "f", "+", "+", "*", "End", "Enter")
    page.locator("button.thing[aria-pressed=true]:focus").wait_for()
    assert page.locator("button.thing").count() == 3
    press("C", "Delete", "Control+z", "ArrowLeft", "ArrowRight", "Shift+ArrowLeft", "Shift+ArrowRight")
    page.locator(".editor[aria-busy=false]").wait_for()
    assert page.locator(".editor .state code").inner_text().startswith(LAID)
    walk_to(".card-list select")
    press("ArrowDown", "Tab")
    page.locator(".editor[aria-busy=false]").wait_for()
    while page.locator(".editor .chip").count():
        walk_to(".editor .chip")
    page.locator(".editor[aria-busy=false]").wait_for()
    walk_to(".editor .head button.main")
    page.locator(".best").wait_for()
    assert page.evaluate("document.activeElement !== document.body")
    assert page.get_by_label("Position, as one seat sees it").input_value().startswith(LAID)


def test_a_text_typed_while_another_position_is_read_is_kept(open_page: Open) -> None:
    page = open_page("#/play")
    held: list[Any] = []
    page.route("**/ValidateView", lambda route: held.append(route) if not held else route.continue_())
    page.evaluate("location.hash = '#/analyse'")
    text = page.get_by_label("Position, as one seat sees it")
    wait_until(lambda: page.evaluate("true") and held)
    text.fill(VIEWS["castle_village_port"])
    held[0].continue_()
    page.locator(".columns .table").wait_for()
    assert text.input_value() == VIEWS["castle_village_port"]


def test_cards_and_rows_say_what_they_do(open_page: Open) -> None:
    """The words of the server, as tooltips and as descriptions for screen readers, in the language of the page."""
    page = open_page(link_to("castle_village_port", VIEWS["castle_village_port"]))
    king = page.get_by_role("img", name="A: King").first
    king.wait_for()
    assert king.get_attribute("title") == "At the end of each round: is discarded if a Thief is in its location."
    castle = page.get_by_role("region", name="Castle", exact=True)
    assert castle.locator(".rewards").inner_text() == "+4 · +3 · +1"
    assert castle.locator(".rewards").get_attribute("title").endswith(": +4; +3; +1.")
    page.get_by_label("Language").select_option("de")
    page.get_by_role("region", name="Schloss", exact=True).wait_for()
    king = page.get_by_role("img", name="A: König").first
    assert king.get_attribute("title").startswith("Am Ende jeder Runde: wird abgelegt")
    assert page.get_by_role("region", name="Hafen").locator(".rewards").inner_text().endswith(" · -1")


def test_a_card_without_a_name_shows_its_value_once(open_page: Open) -> None:
    view = "castle 3A | village 11B | port 2C | round 1 | turn 2 | seen by A"
    page = open_page(link_to("castle_village_port", view))
    page.get_by_role("img", name="B: Thief").wait_for()  # the names have arrived
    assert page.get_by_role("img", name="A: 3").first.inner_text().split() == ["A", "3"]


def test_a_hidden_card_has_no_description(open_page: Open) -> None:
    page = open_page(link_to("oriflamme", VIEWS["oriflamme"]))
    queue = page.get_by_role("region", name="Queue", exact=True)
    queue.locator(".thing[title]").first.wait_for()
    hidden = queue.locator(".thing", has=page.locator(".card.back"))
    assert hidden.count() == 1
    assert hidden.get_attribute("title") is None


# --- moves on the table ----------------------------------------------------------------------------------------


def to_move(game_id: str) -> str:
    """Return a view at which the seat to act moves a card of the table."""
    for seed in range(200):
        for position, _ in random_game(new_game(game_id, None, 3), seed):
            seat = position.to_act
            if seat is None or seat == CHANCE or position.is_over:
                continue
            view = position.view(seat)
            moves = [str(action) for action in view.legal_actions()]
            if len(moves) > 2 and all(move.startswith("move ") for move in moves):
                return str(view)
    raise AssertionError("no such position")


ENDS = """
path => {
    const at = (length) => path.getPointAtLength(length).matrixTransform(path.getScreenCTM());
    const near = ({x, y}) => [...document.querySelectorAll("[data-thing]")]
        .filter(thing => {
            const {left, right, top, bottom} = thing.getBoundingClientRect();
            return left <= x && x <= right && Math.min(Math.abs(y - top), Math.abs(y - bottom)) < 3;
        })
        .map(thing => thing.getAttribute("aria-label"));
    const curve = path.cloneNode();
    curve.setAttribute("d", path.getAttribute("d").split(" M")[0]);
    path.after(curve);
    const from = near(at(0));
    const end = curve.getPointAtLength(curve.getTotalLength()).matrixTransform(curve.getScreenCTM());
    curve.remove();
    return [from, near(end)];
}
"""


@pytest.mark.parametrize("game_id", VIEWS)
def test_a_move_of_a_card_on_the_table_is_a_curved_arrow(game_id: str, open_page: Open) -> None:
    page = open_page("#/analyse")
    with_effort(page)
    analysed(page, link_to(game_id, to_move(game_id)))
    arrows = page.locator(".arrows path")
    arrows.first.wait_for(state="attached")
    badges = ["①", "②", "③"][: page.locator("table.moves tbody tr").count()]
    assert [arrow.get_attribute("data-mark") for arrow in arrows.all()] == badges
    for arrow, badge in zip(arrows.all(), badges, strict=True):
        for end in arrow.evaluate(ENDS):
            assert any(badge in label for label in end), (badge, end)
    # The arrows follow the layout.
    page.set_viewport_size({"width": 500, "height": 900})
    wait_until(lambda: all(all(end) for end in arrows.first.evaluate(ENDS)))


def test_other_moves_have_no_arrow(open_page: Open) -> None:
    """Twin of the test above: placing a card from the hand is none."""
    page = open_page("#/analyse")
    with_effort(page)
    analysed(page, link_to("oriflamme", "B:Heir* A:Spy C:? | round 2 | first A | ask A place | seen by A"))
    page.locator("[data-mark]").first.wait_for()
    assert page.locator(".arrows").count() == 0


@pytest.mark.parametrize("width", [360, 1440])
def test_the_line_of_every_candidate_can_be_stepped_through(width: int, open_page: Open) -> None:
    page = open_page("#/play", viewport={"width": width, "height": 800})
    with_effort(page)
    analysed(page, link_to("castle_village_port", VIEWS["castle_village_port"]))

    def turn_to(tab: str) -> None:  # only phones have tabs
        for each in page.get_by_role("tab", name=tab).all():
            each.click()

    # A move that was hardly tried has no line.
    rows = [row for row in page.locator("table.moves tbody tr").all() if row.locator("td.line button").count()]
    assert len(rows) >= 2
    for row in rows[:4]:
        move = row.locator("button.move").inner_text()
        button = row.locator("td.line button")
        assert button.inner_text().strip()
        box = button.bounding_box()
        assert box is not None
        assert box["width"] >= 24
        assert box["height"] >= 24
        assert 0 <= box["x"] <= width - box["width"]
        button.click()
        turn_to("Line")
        steps = page.locator(".line-steps .move")
        assert move in steps.first.inner_text()
        steps.first.click()
        page.locator(".line-steps [aria-pressed=true]", has_text=move).wait_for()
        page.get_by_role("button", name="Back to the position").click()
        turn_to("Moves")


@pytest.mark.parametrize("width", [1440, 360])
def test_the_card_that_acts_is_in_view_on_a_phone_that_is_turned(width: int, open_page: Open) -> None:
    queue = "B1:Heir* C1:Lord* A1:Heir* B2:Lord* C2:Heir* >A2:Spy(2) B3:? C3:?"
    page = open_page("#/analyse", viewport={"width": width, "height": 800})
    page.evaluate("address => { location.hash = address }", link_to("oriflamme", f"{queue} | round 3 | seen by A"))
    page.locator(".card.acting").wait_for()
    page.set_viewport_size({"width": 360, "height": 740})

    def is_in_view() -> bool:
        box = page.locator(".card.acting").bounding_box()
        return box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 360

    wait_until(is_in_view)


@pytest.mark.slow
def test_a_comparison_grows_while_it_is_shown(open_page: Open) -> None:
    page = open_page(link_to("oriflamme", VIEWS["oriflamme"]))

    def take_longer(route: Any) -> None:  # a busy machine sends few answers in two seconds
        [(_, body)] = envelopes(route.request.post_data_buffer)
        request = json.loads(body)
        request["compare"]["budget"]["time"] = "6s"
        route.continue_(post_data=enveloped(json.dumps(request).encode()))

    page.route("**/CompareStream", take_longer)
    page.locator(".moves tbody tr").nth(1).wait_for()
    page.keyboard.press("l")
    for box in page.locator(".moves input[type=checkbox]").all()[:2]:
        box.check()
    page.evaluate("""() => {
      window.worlds = new Set();
      const note = () => {
        const text = document.querySelector("section[aria-labelledby=compared] .effort")?.textContent;
        if (text) worlds.add(text);
      };
      new MutationObserver(note).observe(document, {childList: true, subtree: true, characterData: true});
    }""")
    page.get_by_role("button", name="Compare in the same worlds").click()
    page.get_by_role("button", name="Comparing").wait_for()
    page.get_by_role("button", name="Compare in the same worlds").wait_for()
    numbers = [int(re.sub(r"\D", "", text)) for text in page.evaluate("[...worlds]")]
    assert len(numbers) > 1
    assert numbers == sorted(numbers)
    assert page.locator("section[aria-labelledby=compared] li").count() == 1


GLIDES = """
window.glides = [];
const { animate } = Element.prototype;
Element.prototype.animate = function (frames, options) {
    glides.push([this.innerText.includes("Heir"), frames.transform[0], options.duration]);
    return animate.call(this, frames, options);
};
"""


@pytest.mark.parametrize(("motion", "duration"), [("no-preference", 200), ("reduce", 0)])
def test_cards_glide_to_their_new_places(motion: str, duration: int, open_page: Open) -> None:
    """A card in front moves the others to the right: they come from the left."""
    page = open_page("#/play", reduced_motion=motion)
    page.context.add_init_script(GLIDES)
    page.evaluate("localStorage.setItem('live', 'no')")
    page.goto(page.url.partition("#")[0] + link_to("oriflamme", "B:Heir* A:Spy | round 2 | ask A place | seen by A"))
    page.reload()
    page.locator(".hand button.open").first.wait_for()
    assert page.evaluate("glides") == []
    page.get_by_label("Try a move").fill("place Archer front")
    page.get_by_role("button", name="Try it").click()
    page.get_by_text("Tried so far").wait_for()
    wait_until(lambda: page.evaluate("glides.length") >= 2)
    glides = page.evaluate("glides")
    assert {took for _, _, took in glides} == {duration}
    assert any(is_heir and re.match(r"translate\(-\d+px", start) for is_heir, start, _ in glides)
