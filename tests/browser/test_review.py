"""The Review page: the numbers of `eminence review`, each seat's view, better moves, hidden cards only on request."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from board import press_by_keyboard, wait
from google.protobuf import json_format
from mutations import damaged_text
from process import Server
from program import run
from states import show_state
from waiting import wait_until

from engine_cy import CHANCE, Position, View, new_game
from engine_cy.annotations import Comment
from engine_cy.record import Record, read_record
from engine_cy.support.rng import Rng
from server.codec import records
from server.games import adapter_of

Open = Callable[..., Any]
ITERATIONS = 40
SEED = 7


@cache
def game(game_id: str = "oriflamme", players: int = 3, seed: int = 3) -> Record:
    """Return a whole game of random moves."""
    rng = Rng(seed, 1)
    start = position = new_game(game_id, None, players).deal(seed)
    actions = []
    while not position.is_over:
        options = position.legal_actions()
        actions.append(str(options[rng.below(len(options))]))
        position = position.play(actions[-1])
    return Record(start, tuple(actions)).ended()


def views_at(record: Record, ply: int) -> list[View]:
    position = list(record.tables())[ply]
    assert isinstance(position, Position)
    return [position.view(seat) for seat in range(record.game.n_players)]


def review(page: Any, record: object, iterations: int = ITERATIONS, *, wait: bool = True) -> Any:
    """Paste a record, and wait until all its decisions are graded."""
    page.get_by_label("Seed", exact=False).wait_for(state="attached")
    page.locator(".review details", has=page.get_by_label("Seed", exact=False)).evaluate_all(
        "all => all.forEach(each => (each.open = true))"
    )
    page.get_by_label("Iterations for each decision").fill(str(iterations))
    page.get_by_label("Seed", exact=False).fill(str(SEED))
    page.get_by_role("textbox", name="Record of a game").fill(str(record))
    page.get_by_role("button", name="Review", exact=True).click()
    if wait:
        page.get_by_role("button", name="Grade again").wait_for()
        page.locator(".graph svg").wait_for()
    return page


@pytest.fixture(params=["oriflamme", "castle_village_port"])
def reviewed(request: pytest.FixtureRequest, open_page: Open) -> tuple[Any, Record]:
    record = game(request.param)
    return review(open_page("#/review"), record), record


def go(page: Any, ply: int) -> None:
    page.locator("input.slider").fill(str(ply))


def table(page: Any) -> Any:
    return page.locator("section.table")


# --- numbers ---------------------------------------------------------------------------------------------------


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def compact(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("game_id", ["oriflamme", "castle_village_port"])
def test_the_numbers_are_those_of_the_command(game_id: str, open_page: Open, tmp_path: Path) -> None:
    record = game(game_id)
    path = tmp_path / "game.txt"
    path.write_text(str(record))
    expected = run("review", path, "--json", "--iterations", ITERATIONS, "--seed", SEED).json
    page = review(open_page("#/review"), record)
    assert file_of(page, "Save the report") == report_of(record, tmp_path)

    with page.expect_download() as download:
        page.get_by_role("button", name="Save the review").click()
    saved = json.loads(Path(download.value.path()).read_text())
    for decision in saved["decisions"]:
        for detail in ("seats", "beliefs", "candidates"):
            decision.pop(detail, None)
    for decision in (*saved["decisions"], *expected["decisions"]):
        for move in ("played", "best"):
            decision[move].pop("principalVariation", None)  # the page asks for more lines
    assert rounded(saved["decisions"]) == rounded(expected["decisions"])
    for key in ("seats", "seed", "luckKnown", "engineSignature", "reproducible"):
        assert rounded(saved["summary"][key]) == rounded(expected["summary"][key]), key

    shown = {row.get_attribute("data-decision"): row for row in page.locator("tr[data-decision]").all()}
    chosen = [decision for decision in expected["decisions"] if not decision.get("forced")]
    assert set(shown) == {str(decision.get("index", 0)) for decision in chosen}
    for decision in chosen[::5]:
        row = shown[str(decision.get("index", 0))]
        assert decision["played"]["action"]["text"] in compact(row.locator("th").inner_text())
        assert decision["grade"].removeprefix("GRADE_").lower() in row.inner_text()
        win, loss = decision["best"].get("win"), decision["winLoss"].get("mean", 0)
        if win is None:  # nothing was searched
            continue
        assert compact(row.locator(".win").inner_text()).startswith(percent(win["mean"]))
        assert f"± {100 * win['standardError']:.1f}" in row.locator(".win").inner_text()
        assert compact(row.locator(".loss").inner_text()).startswith(percent(loss) if loss else "")
    for seat, article in zip(expected["summary"]["seats"], page.locator(".seat-reviews article").all(), strict=True):
        assert percent(seat["winLoss"]["mean"]) in article.inner_text()
        assert percent(seat["outcome"]) in article.locator(".sum").inner_text()


def file_of(page: Any, button: str) -> str:
    """Press a button that saves a file; return its text."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    return Path(download.value.path()).read_text("utf-8")


def report_of(record: Record, folder: Path, *flags: str) -> str:
    """Return the report that the command writes."""
    (folder / "noted.txt").write_text(str(record))
    report = folder / "report.html"
    written = run("review", folder / "noted.txt", "--iterations", ITERATIONS, "--seed", SEED, "--html", report, *flags)
    assert written.code == 0
    return report.read_text("utf-8")


def test_the_report_holds_the_notes_and_the_language_of_the_page(open_page: Open, tmp_path: Path) -> None:
    record = game("oriflamme")
    page = review(open_page("#/review"), record)
    page.get_by_label("Note on the start").fill("<i>Why not?</i>")
    page.get_by_label("Note on the start").blur()
    page.get_by_label("Language").select_option("de")
    report = file_of(page, "Bericht speichern")
    assert report == report_of(replace(record, comments=(Comment(0, "<i>Why not?</i>"),)), tmp_path, "--lang", "de")


def test_a_report_that_is_refused_says_why(reviewed: Any) -> None:
    page, _ = reviewed
    refusal = {"code": "invalid_argument", "message": "summary.seats: are others"}
    page.route("**/WriteReport", lambda route: route.fulfill(status=400, json=refusal))
    page.get_by_role("button", name="Save the report").click()
    assert "summary.seats: are others" in page.locator(".keep").get_by_role("alert").inner_text()


def rounded(value: Any) -> Any:
    """Return JSON with numbers of nine digits: the two writers of JSON choose other digits for the same number."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return float(f"{value:.9g}") if isinstance(value, float) else float(value) if isinstance(value, int) else value


@pytest.mark.slow
def test_a_review_by_another_seed_has_other_numbers(open_page: Open) -> None:
    """Twin of the test above: it can fail."""
    page = review(open_page("#/review"), game())
    before = page.locator("table.decisions").inner_text()
    page.get_by_text("Another game").click()
    page.get_by_label("Seed", exact=False).fill("8")
    page.get_by_role("button", name="Review", exact=True).click()
    page.get_by_text("--seed 8").wait_for()
    assert page.locator("table.decisions").inner_text() != before


@pytest.mark.slow
def test_the_parts_of_luck_add_up(reviewed: tuple[Any, Record]) -> None:
    page, _ = reviewed
    for article in page.locator(".seat-reviews article").all():
        shares = [
            float(re.sub(r"[^\d.+−]", "", part.locator(".number").inner_text()).replace("−", "-"))
            for part in article.locator(".part").all()
        ]
        assert sum(shares[:-1]) == pytest.approx(shares[-1], abs=0.001)


def test_the_graph_has_a_line_and_a_band_of_each_seat_and_a_table_of_its_numbers(
    reviewed: tuple[Any, Record],
) -> None:
    page, record = reviewed
    assert page.locator(".graph polyline").count() == record.game.n_players
    assert page.locator(".graph polygon.band").count() == record.game.n_players
    assert page.locator(".graph text.end").all_text_contents() == list("ABC")
    assert (
        len(
            set(page.locator(".graph polyline").evaluate_all("all => all.map(e => e.getAttribute('stroke-dasharray'))"))
        )
        == 3
    )
    page.get_by_text("The graph as a table").click()
    rows = page.locator("table.values tbody tr").all()
    listed = page.locator("tr[data-decision]").count()
    assert 0 < len(rows) <= listed
    shares = [float(cell.removesuffix(" %")) for cell in rows[0].locator("td.number").all_inner_texts()[1:]]
    assert sum(shares) == pytest.approx(100, abs=0.3)


# --- steps and views -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_table_is_that_of_the_seat_that_decides_and_of_each_seat_on_request(
    reviewed: tuple[Any, Record],
) -> None:
    page, record = reviewed
    for ply in range(0, len(record.actions), 9):
        position = list(record.tables())[ply]
        assert isinstance(position, Position)
        go(page, ply)
        page.get_by_role("button", name="whoever decides").click()
        if position.to_act is not None and position.to_act != CHANCE:
            page.get_by_role("heading", name=f"The table as {'ABC'[position.to_act]} sees it").wait_for()
        for seat in "ABC":
            page.get_by_role("button", name=f"The table as {seat} sees it").click()
            page.get_by_role("heading", name=f"The table as {seat} sees it").wait_for()
            assert hand_of(page) == hand_in(position.view(seat))


def hand_of(page: Any) -> list[str]:
    """Return the names of the cards in the hand that the page draws."""
    drawn = table(page).locator(".hand .held").evaluate_all("all => all.map(e => e.getAttribute('aria-label'))")
    return sorted(label.split(": ")[1].rstrip(" ✗✓") for label in drawn if "face down" not in label)


def hand_in(view: View) -> list[str]:
    """Return the names of the cards in the observer's hand, without their values."""
    names = adapter_of(view.game.id).kind_names(view.game, "en")
    hands = re.search(r"\| hands ([^|]+)", str(view))
    assert hands is not None
    held = hands[1].split()["ABC".index(str(view)[-1])]
    return [] if held == "-" else sorted(re.sub(r"^\d+ ", "", names.get(kind, kind)) for kind in held.split(","))


@pytest.mark.slow
def test_hidden_cards_are_shown_only_on_request(open_page: Open) -> None:
    """Find no card of another seat in the table of A, in any attribute, at any ply, until the switch is on."""
    record = game()
    page = review(open_page("#/review"), record)
    page.get_by_role("button", name="The table as A sees it").click()
    uncovered = 0
    for ply, position in enumerate(record.tables()):
        assert isinstance(position, Position)
        hidden = hidden_from_a(position)
        if not hidden or ply % 5:
            continue
        go(page, ply)
        backs = table(page).locator(".card.back")
        assert backs.count() > 0
        assert not re.search(r"[A-Z][a-z]{2}", " ".join(backs.all_inner_texts()))
        told = page.locator(".told").inner_text()
        page.get_by_label("show hidden cards").check()
        assert table(page).locator(".card.back").count() == 0
        known = table(page).locator(".stacks .card.known .title").all_inner_texts()
        assert set(hidden) <= {name.replace("Royal Decree", "Decree") for name in known}
        assert table(page).locator(".other-hand").count() == 2
        page.get_by_label("show hidden cards").uncheck()
        assert table(page).locator(".other-hand").count() == 0
        assert page.locator(".told").inner_text() == told
        uncovered += 1
    assert uncovered > 2


def hidden_from_a(position: Position) -> list[str]:
    """Return the face-down top cards of others, in notation."""
    queue, seen = str(position).partition(" | ")[0].split(), str(position.view(0)).partition(" | ")[0].split()
    return [
        re.sub(r"\(.*|/.*|\*", "", truth.partition(":")[2])
        for truth, view in zip(queue, seen, strict=True)
        if ":?" in view.partition("/")[0]
    ]


def test_the_keyboard_is_enough(open_page: Open) -> None:
    page = review(open_page("#/review"), game())
    place = page.locator(".plies output")
    end = len(game().actions)
    back = "ArrowLeft"
    for key, expected in (
        ("End", end),
        ("Home", 0),
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        (back, 1),
        (back, 0),
        (back, 0),
    ):
        page.locator("body").press(key)
        assert place.inner_text() == (f"{expected + 1} / {end}" if expected < end else "The end of the record")
    page.locator("body").press("Shift+ArrowRight")
    assert page.locator(".verdict h2").inner_text().endswith("Round 2")
    page.locator("body").press("v")
    before = page.locator("#eyes").inner_text()
    page.locator("body").press("v")
    assert page.locator("#eyes").inner_text() != before
    page.locator("body").press("Home")
    page.locator("body").press(".")
    assert page.locator(".verdict .grade").inner_text().split()[0] in ("inaccuracy", "mistake", "blunder")
    # Tab reaches the buttons, Enter presses them, and the focus stays on them.
    page.get_by_role("button", name="Next move").focus()
    at = place.inner_text()
    page.keyboard.press("Enter")
    assert place.inner_text() != at
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Next move"
    while place.inner_text() != "The end of the record":
        page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Next move"


def test_the_counter_the_heading_the_slider_and_the_list_count_alike(open_page: Open) -> None:
    page = review(open_page("#/review"), game())
    row = page.locator("tr[data-decision]").nth(3)
    row.locator("button").click()
    number = row.locator("td").first.inner_text()
    assert page.locator(".plies output").inner_text() == f"{number} / {len(game().actions)}"
    assert page.locator(".verdict h2").inner_text().startswith(f"Move {number} ")
    assert page.get_by_label("Place in the game").get_attribute("aria-valuetext").startswith(f"{number} / ")


def test_the_buttons_of_the_counter_keep_their_places_at_the_end(open_page: Open) -> None:
    page = review(open_page("#/review", viewport={"width": 360, "height": 640}), game())
    back = page.get_by_role("button", name="Previous move")
    page.locator("body").press("ArrowRight")
    before = back.bounding_box()
    page.locator("body").press("End")
    page.locator(".plies output", has_text="The end of the record").wait_for()
    assert back.bounding_box() == before


@pytest.mark.parametrize(("language", "blunder"), [("en", "blunder"), ("fr", "gaffe"), ("de", "Patzer")])
def test_grades_are_counted_without_a_plural(language: str, blunder: str, open_page: Open) -> None:
    """The words are singular: "2 × Ungenauigkeit"."""
    page = show_state(open_page, "review")
    page.get_by_label("Language").select_option(language)
    page.locator(".legend", has_text=blunder).first.wait_for()
    counts = page.locator(".legend li").all_inner_texts()
    assert all(re.fullmatch(r"\d+ × [\w ]+", count) for count in counts), counts
    assert any(not count.startswith("1 ") for count in counts)


def test_a_touch_or_a_drag_on_the_graph_chooses_the_place(open_page: Open) -> None:
    page = review(open_page("#/review", has_touch=True, viewport={"width": 360, "height": 640}), game())
    graph = page.locator(".graph svg")
    box = graph.bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + 60)
    place = page.get_by_label("Place in the game")
    touched = int(place.input_value())
    assert 0 < touched < len(game().actions)
    graph.hover(position={"x": 60, "y": 60})
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 27, box["y"] + 60, steps=4)
    page.mouse.up()
    assert int(place.input_value()) > touched


# --- what was better -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_better_line_is_stepped_through_on_the_table(open_page: Open) -> None:
    """The line of the best move is an example: it names the cards that it shows, so no step asks which."""
    page = review(open_page("#/review"), game())
    stepped = shown = 0
    for row in page.locator("tr[data-decision]").all():
        go(page, int(row.get_attribute("data-decision")))
        steps = page.locator(".line-steps .move")
        for number in range(steps.count()):
            steps.nth(number).click()
            page.get_by_role("heading", name=f"After {number + 1} moves of the line").wait_for()
            stepped += 1
        if steps.count():
            shown += page.locator(".example").count()
            page.get_by_role("button", name="Back to the game").click()
            page.get_by_role("heading", name="The table as").first.wait_for()
        if stepped > 12 and shown:
            break
    assert stepped > 12
    assert shown


@pytest.mark.slow
def test_the_moves_of_a_decision_are_listed_and_their_lines_are_stepped_through(open_page: Open) -> None:
    """A line that is no example asks which card a step shows."""
    page = review(open_page("#/review"), game())
    considered, asked = page.get_by_text("Moves considered"), 0
    for row in page.locator("tr[data-decision]").all():
        go(page, int(row.get_attribute("data-decision")))
        if considered.count() == 0:
            continue
        considered.click()
        moves = page.locator(".considered tbody tr")
        assert 2 <= moves.count() <= 12
        played = page.locator(".played code").inner_text()
        names = page.locator(".considered tbody th").all_inner_texts()
        assert page.locator(".considered tr.chosen").count() == (played in names)
        lines = moves.locator("td.line button").all()
        for line in lines[1:]:
            line.click()
            steps = page.locator(".line-steps .move")
            assert steps.first.inner_text().split()[1:] != []
            steps.nth(1).click()
            heading = page.get_by_role("heading", name="After 2 moves of the line")
            which = page.locator(".which button")
            heading.or_(which.first).first.wait_for()
            if heading.count() == 0:
                asked += 1
                which.first.click()
            heading.wait_for()
        considered.click()
        if asked:
            break
    assert asked


def test_the_played_and_the_better_move_are_marked_on_the_table(open_page: Open) -> None:
    page = review(open_page("#/review"), game())
    page.locator(".costliest button").first.click()
    verdict = page.locator(".verdict").inner_text()
    assert "✗ Played" in verdict
    assert "✓ Better" in verdict
    marks = " ".join(table(page).locator(".mark").evaluate_all("(marks) => marks.map((mark) => mark.dataset.mark)"))
    assert set(marks.split()) == {"✗", "✓"}


@pytest.mark.slow
@pytest.mark.parametrize("game_id", ["oriflamme", "castle_village_port"])
def test_the_analysis_goes_on_with_what_the_seat_knew(game_id: str, open_page: Open) -> None:
    record = game(game_id)
    page = review(open_page("#/review"), record)
    ply = len(record.actions) // 2
    while not isinstance(to_act := list(record.tables())[ply].to_act, int) or to_act == CHANCE:
        ply += 1
    go(page, ply)
    page.get_by_role("button", name=f"Analyse from here, as {'ABC'[to_act]}").click()
    worlds = views_at(record, ply)[to_act].count_worlds()
    page.get_by_text(re.compile(r"positions fit this view")).wait_for()
    assert page.locator(".worlds").inner_text() == f"{worlds:,} positions fit this view"
    seen = record.seen_from(to_act).actions[:ply]
    assert page.get_by_text("Tried so far").inner_text() == "Tried so far: " + " · ".join(seen)


def test_the_game_is_played_on_by_one_seat(open_page: Open) -> None:
    record = game()
    page = review(open_page("#/review"), record)
    ply = next(at for at, position in enumerate(record.tables()) if at > 15 and position.to_act == 1)
    go(page, ply)
    page.get_by_role("button", name="Play from here, as B").click()
    page.locator(".playing .hand .held").first.wait_for()
    assert "#/play?table=" in page.url
    drawn = page.locator(".playing .hand .held").evaluate_all("all => all.map(e => e.getAttribute('aria-label'))")
    assert sorted(label.split(": ")[1] for label in drawn) == hand_in(views_at(record, ply)[1])


# --- records ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_record_comes_as_json_as_a_file_or_by_a_link(open_page: Open, tmp_path: Path) -> None:
    (tmp_path / "game.txt").write_text(str(game()))
    converted = run("convert", tmp_path / "game.txt", "--to", "json").out
    page = review(open_page("#/review"), converted)
    numbers = page.locator("table.decisions").inner_text()

    page = open_page("#/review")
    page.get_by_text("Iterations and seed").click()
    page.get_by_label("Iterations for each decision").fill(str(ITERATIONS))
    page.get_by_label("Seed", exact=False).fill(str(SEED))
    page.get_by_label("or a file").set_input_files(tmp_path / "game.txt")
    page.get_by_role("button", name="Grade again").wait_for()
    assert page.locator("table.decisions").inner_text() == numbers

    go(page, 5)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy a link").click()
    page.get_by_role("button", name="Copied").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert len(link) < 1500
    linked = open_page(link[link.index("#") :])
    linked.get_by_text("6 / ").wait_for()
    assert linked.locator(".plies output").inner_text() == page.locator(".plies output").inner_text()
    assert linked.locator("#eyes").inner_text() == page.locator("#eyes").inner_text()


@pytest.mark.parametrize("eyes", ["A", "C", None])
def test_a_link_has_the_place_and_the_viewpoint(eyes: str | None, open_page: Open) -> None:
    """A viewpoint that was chosen is kept; else that of the seat which decides; hidden cards stay hidden."""
    page = review(open_page("#/review"), game())
    go(page, 7)
    if eyes is not None:
        page.get_by_role("button", name=f"The table as {eyes} sees it").click()
    page.get_by_label("show hidden cards").check()
    page.get_by_role("button", name="Copy a link").click()
    wait(page, "location.hash.includes('record=')")
    linked = open_page(page.evaluate("location.hash"))
    linked.get_by_text("8 / ").wait_for()
    assert linked.locator("#eyes").inner_text() == page.locator("#eyes").inner_text()
    chosen = linked.locator(".eyes [aria-pressed=true]").last
    assert (chosen.get_attribute("aria-label") or chosen.inner_text()) == (
        "whoever decides" if eyes is None else f"The table as {eyes} sees it"
    )
    assert not linked.get_by_label("show hidden cards").is_checked()
    linked.keyboard.press("Home")
    assert linked.locator("#eyes").inner_text().endswith(f"as {eyes or 'A'} sees it")


@pytest.mark.parametrize("eyes", ["Z", "", "%00"])
def test_a_link_with_an_unknown_viewpoint_opens(eyes: str, open_page: Open) -> None:
    page = review(open_page("#/review"), game())
    page.get_by_role("button", name="Copy a link").click()
    wait(page, "location.hash.includes('record=')")
    linked = open_page(page.evaluate("location.hash") + f"&eyes={eyes}")
    linked.locator(".plies output").wait_for()
    assert linked.get_by_role("button", name="whoever decides").get_attribute("aria-pressed") == "true"


def test_a_record_of_one_seat_has_that_seat_alone(open_page: Open) -> None:
    page = review(open_page("#/review"), game().seen_from("B"), wait=False)
    page.get_by_role("button", name="Grade again").wait_for()
    assert page.locator(".seat-reviews article").count() == 1
    assert page.get_by_label("show hidden cards").count() == 0
    assert page.get_by_text("Luck is known only if").count() == 1
    assert page.locator(".graph polyline").count() == 1


def test_a_game_without_pictures_is_reviewed_as_text(open_page: Open) -> None:
    record = game("kuhn_poker", 2)
    page = review(open_page("#/review"), record, wait=False)
    page.get_by_role("button", name="Grade again").wait_for()
    assert page.locator(".graph polyline").count() == 2
    start = next(ply for ply, position in enumerate(record.tables()) if position.to_act != CHANCE)
    go(page, start)
    assert page.locator(".table pre").inner_text() == str(
        views_at(record, start)[list(record.tables())[start].to_act or 0]
    )
    assert page.locator("tr[data-decision]").count() > 0
    page.get_by_label("show hidden cards").check()
    assert page.locator(".table pre").count() == 2


def test_notes_are_kept_with_the_record(open_page: Open) -> None:
    record = game()
    noted = Record(record.start, record.actions, comments=(Comment(0, "A quiet evening"), Comment(3, "Too early")))
    page = review(open_page("#/review"), noted)
    assert page.get_by_label("Note on the start").input_value() == "A quiet evening"
    go(page, 2)
    assert page.get_by_label("Note on move 3").input_value() == "Too early"
    go(page, 4)
    page.get_by_label("Note on move 5").fill("Why not?\n<img src=x onerror=alert(1)>")
    page.get_by_label("Note on move 5").blur()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the record").click()
    saved = read_record(Path(download.value.path()).read_text())
    assert saved.actions == record.actions
    assert [(comment.after, comment.text) for comment in saved.comments] == [
        (0, "A quiet evening"),
        (3, "Too early"),
        (5, "Why not?\n<img src=x onerror=alert(1)>"),
    ]


def test_a_record_that_another_page_hands_over_is_reviewed(open_page: Open) -> None:
    page = open_page("#/play")
    page.evaluate("record => sessionStorage.setItem('record-to-review', record)", str(game()))
    page.get_by_role("link", name="Review").click()
    page.get_by_role("heading", name="Chances to win").wait_for()
    assert page.evaluate("sessionStorage.getItem('record-to-review')") is None


@pytest.mark.slow
def test_garbage_is_refused_and_leaves_the_page_alive(open_page: Open) -> None:
    page = open_page("#/review")
    running: list[Any] = []
    page.on("request", lambda request: running.append(request))
    page.on("requestfinished", lambda request: running.remove(request))
    page.on("requestfailed", lambda request: running.remove(request))
    rng = random.Random(5)
    texts = ["", "{", "{}", "null", "[]", '{"whole": 3}', "game", "x" * 3000, "\0", "game oriflamme\nplayers 99\n"]
    whole = str(game())
    as_json = json.dumps(json_format.MessageToDict(records.write(game())))
    texts += [damaged_text(whole, rng) for _ in range(140)]
    texts += [damaged_text(as_json, rng, '{}[]",:0123456789nulltrue') for _ in range(140)]
    texts += [rng.randbytes(200).decode("latin-1") for _ in range(10)]
    assert len(texts) == 300
    for text in texts:
        drop(page, text)
        # The page has refused it, or shows its game and grades it; either way the next one can be dropped.
        wait(page, "!!document.querySelector('.complaint, .progress')")
        page.evaluate("document.querySelector('details.another').open = true")
    while running:  # a late answer would close the form that is filled next
        page.wait_for_timeout(20)
    review(page, game())


def drop(page: Any, text: str) -> None:
    """Drop a file on the form, as a file manager does."""
    page.evaluate(
        "text => { const dropped = new DataTransfer();"
        " dropped.items.add(new File([text], 'game.txt', { type: 'text/plain' }));"
        " document.querySelector('form.drop').dispatchEvent("
        " new DragEvent('drop', { dataTransfer: dropped, bubbles: true, cancelable: true })) }",
        text,
    )


@pytest.mark.slow
def test_a_broken_link_says_so(open_page: Open) -> None:
    page = open_page("#/review")
    for link in ("%00", "AAAA", "Q" * 5000, "é", "-", "====", "eJw", "%", "a" * 60_000):
        page.evaluate("link => { location.hash = '#/review?record=' + link }", link)
        page.locator(".complaint").wait_for()
        page.evaluate("location.hash = '#/play'")
        page.locator(".sitters").wait_for()


def test_a_review_can_be_stopped(open_page: Open, served: Server) -> None:
    page = review(open_page("#/review"), game(), 1_000_000, wait=False)
    page.get_by_role("progressbar").wait_for()
    wait_until(lambda: served.metrics()["eminence_searches_running"] > 0)
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped after").wait_for()
    wait_until(lambda: served.metrics()["eminence_searches_running"] == 0)
    page.get_by_label("Place in the game").fill("7")  # the game can be read all the same
    assert page.locator(".plies output").inner_text().startswith("8 / ")


@pytest.mark.slow
def test_leaving_the_page_stops_a_review(open_page: Open, served: Server) -> None:
    page = review(open_page("#/review"), game(), 1_000_000, wait=False)
    wait_until(lambda: served.metrics()["eminence_searches_running"] > 0)
    page.get_by_role("link", name="Play").click()
    wait_until(lambda: served.metrics()["eminence_searches_running"] == 0)


# --- access, sizes and languages -------------------------------------------------------------------------------


@pytest.mark.parametrize(("language", "words"), [("fr", "Ce qui a coûté le plus"), ("de", "Was am meisten kostete")])
def test_the_page_speaks_other_languages(language: str, words: str, open_page: Open) -> None:
    page = review(open_page("#/review"), game())
    page.get_by_label("Language").select_option(language)
    page.get_by_role("heading", name=words).wait_for()
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert "undefined" not in page.locator("body").inner_text()


def test_nothing_moves_for_people_who_asked_for_less_motion(open_page: Open) -> None:
    page = review(open_page("#/review", reduced_motion="reduce"), game())
    for _ in range(5):
        page.get_by_role("button", name="Next move").click()
        assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.slow
def test_a_game_is_reviewed_by_keyboard_alone(open_page: Open) -> None:
    """Open a record, stop and grade it, walk through it, and show hidden cards, by keys; the focus is never lost."""
    page = open_page("#/review")
    page.get_by_role("textbox", name="Record of a game").wait_for()

    def is_kept() -> bool:
        return bool(page.evaluate("document.activeElement !== document.body"))

    while not page.evaluate("document.activeElement.matches('textarea')"):
        page.keyboard.press("Tab")
    page.keyboard.insert_text(str(game()))
    page.route("**/Review", lambda _: None)  # no answer until it is stopped: a quick machine would have ended before
    press_by_keyboard(page, ".review form button.main")
    page.get_by_role("progressbar").wait_for()
    assert is_kept()
    for name in ("Stop", "Grade again"):
        page.get_by_role("button", name=name).wait_for()
        assert page.evaluate("document.activeElement.innerText.trim()") == name
        page.keyboard.press("Enter")
        page.unroute("**/Review")
        assert is_kept()
    for key in ("End", "Home", "ArrowRight", "Shift+ArrowRight", "v", "ArrowLeft"):
        page.keyboard.press(key)
        assert is_kept()
    page.get_by_role("button", name="Stop").or_(page.get_by_role("button", name="Grade again")).first.wait_for()
    for selector in ('[aria-label="Next move"]', ".eye", ".costliest button", "tr[data-decision] button"):
        press_by_keyboard(page, selector)
        assert is_kept()
    while not page.evaluate("document.activeElement.matches('.truth input')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.get_by_label("show hidden cards").is_checked()
    assert is_kept()
