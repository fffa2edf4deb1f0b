"""The states of the board in the browser, each reached by a few steps.

Games have people at all seats and a seed, and answers of the solver are those in `tests/browser/answers.json`: a state
depends neither on the engine's play nor on the time that a search took. `python tests/support/states.py` writes that
file anew, which only a change of the contract's messages needs.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from board import choose_at_random, play_to_the_end, set_up, uncover, wait, wait_for_turn
from google.protobuf import json_format
from process import server
from web import enveloped, envelopes, post, post_json

from engine_cy import new_game
from engine_cy.record import Record
from server.codec import records, views

SOLVER = "/eminence.v1.SolverService"
LONG = ("spread", "rawMean", "lead", "rankProbabilities", "pointsLoss")
STORED = Path(__file__).parents[1] / "browser" / "answers.json"
ANSWERS = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
VIEW = "C:Lord* >A:Ambush(1) B:Soldier* A:Lord(1) C:?(2) | round 4 | points 7 7 7 | seen by A"
HERE = {seat: (name, "here") for seat, name in enumerate(("Ann", "Bea", "Cy", "Dan", "Eve"))}
ALONE = {0: ("Ann", "here"), 1: ("Bea", "link"), 2: ("Cy", "link")}


class State(NamedTuple):
    """The address at which a page begins, and the steps from there."""

    address: str
    reach: Callable[[Any], None]


def answer(page: Any) -> None:
    """Answer a page's questions to the solver with the stored answers."""

    def fulfil(name: str) -> Callable[[Any], None]:
        body = json.dumps(ANSWERS[name])
        return lambda route: route.fulfill(body=body, content_type="application/json")

    def fulfil_stream(name: str) -> Callable[[Any], None]:
        answers = [ANSWERS["Compare"]] if name == "CompareStream" else ANSWERS[name]
        parts = [enveloped(json.dumps(part).encode()) for part in answers]
        body = b"".join([*parts, b"\x02" + len(b"{}").to_bytes(4, "big") + b"{}"])
        return lambda route: route.fulfill(body=body, content_type="application/connect+json")

    for name in ("Analyze", "CompareStream", "Review"):
        page.route(f"**/eminence.v1.SolverService/{name}", fulfil_stream(name))
    for name in ("Suggest", "Compare"):
        page.route(f"**/eminence.v1.SolverService/{name}", fulfil(name))


def record() -> str:
    """Return the record of a short game, whose review is stored."""
    return str(ANSWERS["record"])


# --- play ------------------------------------------------------------------------------------------------------


def begin(page: Any) -> None:
    wait(page, "document.querySelectorAll('.sitters option').length > 20")


def cover(page: Any) -> None:
    set_up(page, players=4, people={0: ("Ann", "here"), 1: ("Bea", "here"), 2: ("Cy", "link")})
    page.locator(".cover h2:not(:empty)").wait_for()


def table(page: Any) -> None:
    set_up(page, people=ALONE)
    wait_for_turn(page)


def later(page: Any, game: str = "oriflamme", players: int = 3, choices: int = 13) -> None:
    """Play some moves of people at one device; the newest table is shown."""
    set_up(page, game, players=players, people={seat: HERE[seat] for seat in range(players)})
    draw = random.Random(3)
    uncover(page)
    while choices:
        if page.locator(".cover").count():
            uncover(page)
        else:
            choose_at_random(page, draw)
            choices -= 1
    uncover(page)


def hint(page: Any) -> None:
    later(page)
    page.keyboard.press("n")
    page.keyboard.press("h")
    page.locator(".hint p").wait_for()
    page.keyboard.press("h")
    page.locator(".hint li").first.wait_for()


def rows(page: Any) -> None:
    later(page, "castle_village_port", 5, 24)


def end(page: Any) -> None:
    set_up(page, people={seat: HERE[seat] for seat in range(3)})
    play_to_the_end(page, random.Random(3))
    page.locator(".all-cards").wait_for()


def as_text(page: Any) -> None:
    set_up(page, "leduc_poker", players=2, people={0: ("Ann", "here"), 1: ("Bea", "link")})
    wait_for_turn(page)


# --- analyse ---------------------------------------------------------------------------------------------------


def analysis(page: Any) -> None:
    page.locator(".worlds").wait_for()
    page.locator(".moves tbody tr").first.wait_for()
    page.get_by_text("Ambush", exact=True).first.wait_for()  # the names of the cards have come


def secrets(page: Any) -> None:
    analysis(page)
    page.locator("body").press("i")
    page.locator(".secrets").wait_for()
    for box in page.locator(".moves input[type=checkbox]").all()[:2]:
        box.check()
    page.get_by_role("button", name="Compare in the same worlds").click()
    page.locator("#compared ~ .effort").wait_for()


def evidence(page: Any) -> None:
    analysis(page)
    page.locator(".stacks button[aria-expanded]").click()
    page.locator(".evidence table").wait_for()


def editor(page: Any) -> None:
    page.locator(".worlds").wait_for()
    page.get_by_role("button", name="Set up by clicking").click()
    checked(page)
    page.locator(".editor button.thing").nth(2).click()


def faults(page: Any) -> None:
    editor(page)
    page.get_by_label("Tokens", exact=True).fill("2")
    page.get_by_label("Round", exact=True).fill("9")
    page.get_by_label("Points C").fill("999")
    checked(page)


def checked(page: Any) -> None:
    page.locator(".editor[aria-busy=false]").wait_for()


# --- review ----------------------------------------------------------------------------------------------------


def form(page: Any) -> None:
    page.get_by_role("textbox", name="Record of a game").wait_for()


def review(page: Any) -> None:
    page.get_by_role("textbox", name="Record of a game").fill(record())
    page.get_by_role("button", name="Review", exact=True).click()
    page.locator(".review .part.sum").first.wait_for()
    page.locator(".costliest button").first.click()
    page.locator(".verdict .grade").wait_for()
    page.get_by_text("Moves considered").click()
    page.locator(".verdict .moves tbody tr").first.wait_for()


def truth(page: Any) -> None:
    review(page)
    page.get_by_label("show hidden cards").check()
    page.get_by_text("The graph as a table").click()


ANALYSE = "#/analyse"
SIZES = [(360, 740), (768, 1024), (1440, 900)]
THEMES = ("light", "dark")
STATES = {
    "setup": State("#/play", begin),
    "cover": State("#/play", cover),
    "table": State("#/play", table),
    "later": State("#/play", later),
    "hint": State("#/play", hint),
    "rows": State("#/play", rows),
    "end": State("#/play", end),
    "text": State("#/play", as_text),
    "analysis": State(ANALYSE, analysis),
    "secrets": State(ANALYSE, secrets),
    "evidence": State(ANALYSE, evidence),
    "editor": State(ANALYSE, editor),
    "faults": State(ANALYSE, faults),
    "form": State("#/review", form),
    "review": State("#/review", review),
    "truth": State("#/review", truth),
}


def show_state(open_page: Callable[..., Any], name: str, **settings: Any) -> Any:
    """Open a page and bring it into a state, with stored answers of the solver."""
    page = open_page("", **settings)
    answer(page)
    reach(page, name)
    return page


def reach(page: Any, name: str) -> None:
    """Bring a page into a state."""
    page.evaluate("address => { location.hash = address }", STATES[name].address)
    STATES[name].reach(page)


def show(page: Any, width: int, height: int, theme: str) -> None:
    """Give a page a size and a theme, and wait until it is laid out and at rest."""
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    wait(page, "document.getAnimations().every(each => each.playState !== 'running')")


# --- the stored answers ----------------------------------------------------------------------------------------


def write_answers() -> None:
    """Ask a server what the pages ask it, and store its answers."""
    draw, game = random.Random(5), new_game("oriflamme", "en-2019", 3)
    view = json_format.MessageToDict(views.write_view(game.view(VIEW)))
    position = game.deal(5)
    record = Record(position)
    while not position.is_over:
        action = draw.choice(position.legal_actions())
        record, position = record.play(action), position.play(action)
    question = {"view": view, "budget": {"iterations": 2000}, "options": {"seed": 3, "information": True}}
    moves = {"actions": [{"text": text} for text in ("keep", "reveal")]}
    reviewed = {"record": json_format.MessageToDict(records.write(record.ended())), "details": True}
    effort = {"budget": {"iterations": 60}, "options": {"seed": 3, "lines": 3, "sampleVariations": 1}}
    with server("--threads", "1", web=True) as running:
        answers = {
            "record": str(record.ended()),
            "Suggest": post_json(running.web, f"{SOLVER}/Suggest", question).json,
            "Compare": post_json(running.web, f"{SOLVER}/Compare", question | moves | {"options": {"seed": 3}}).json,
            "Analyze": stream(running.web, "Analyze", question)[-1:],
            "Review": stream(running.web, "Review", reviewed | effort),
        }
    for part in answers["Review"]:
        if part.get("decision", {}).get("index", 0) % 6:
            part["decision"].pop("beliefs", None)
        for belief in part.get("decision", {}).get("beliefs", ()):
            belief.pop("hand", None)
    STORED.write_text(json.dumps(shortened(answers), separators=(",", ":"), ensure_ascii=False) + "\n", "utf-8")


def stream(web: str, name: str, request: Any) -> list[Any]:
    body = enveloped(json.dumps(request).encode())
    reply = post(web, f"{SOLVER}/{name}", body, "application/connect+json")
    return [json.loads(part) for flags, part in envelopes(reply.body) if not flags & 2]


def shortened(value: Any) -> Any:
    """Return answers without what the page does not show or what fills most of the file; numbers have four digits."""
    if isinstance(value, dict):
        return {key: shortened(part) for key, part in value.items() if key not in LONG}
    if isinstance(value, list):
        return [shortened(part) for part in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


if __name__ == "__main__":
    write_answers()
