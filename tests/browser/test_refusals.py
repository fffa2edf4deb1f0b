"""Refusals, faults, editions and places in the language of the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from analysis import VIEWS, analysed, compact, link_to, with_effort
from states import show_state

from eminence.v1 import error_reason_pb2

Open = Callable[..., Any]
REASONS = [name.removeprefix("ERROR_REASON_") for name in error_reason_pb2.ErrorReason.keys()[1:]]
SENTENCE = "view: view.table.slots[2].cards[0].card: no"
# A card that A cannot know, in slot 2.
LEAK = "A:Spy B:Heir* >C:Lord | seen by A"
KNOWN = {
    "de": "Ort 2: Diese Karte kann der Platz nicht kennen.",
    "fr": "Place 2: Cette place ne peut pas connaître cette carte.",
}


def chosen(page: Any, language: str) -> Any:
    page.get_by_label("Language").select_option(language)
    page.locator(f"html[lang={language}]").wait_for()
    return page


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_each_reason_has_a_sentence_above_that_of_the_server(language: str, open_page: Open) -> None:
    """Other languages say all reasons; in English, the server's sentence is enough."""
    page = chosen(open_page("#/analyse"), language)
    page.locator(".worlds").wait_for()
    told: list[str] = []

    def refuse(route: Any) -> None:
        info = {"reason": told[-1], "domain": "eminence.v1"}
        details = [{"type": "google.rpc.ErrorInfo", "value": "", "debug": info}]
        body = {"code": "invalid_argument", "message": f"{SENTENCE} {told[-1]}.", "details": details}
        route.fulfill(status=400, content_type="application/json", body=json.dumps(body))

    page.route("**/ReadText", refuse)
    sentences = set()
    for reason in REASONS:
        told.append(reason)
        page.locator("form.source button[type=submit]").first.click()
        page.locator(f".complaint p[lang=en]:text-is('{SENTENCE} {reason}.')").wait_for()
        own = page.locator(".complaint p:not([lang])").all_inner_texts()
        if language != "en":
            assert len(own) == 1, reason
            assert own[0].startswith({"de": "Ort 2: ", "fr": "Place 2: "}[language])
            sentences.add(own[0])
    assert len(sentences) > 10 or language == "en"


@pytest.mark.parametrize("language", KNOWN)
def test_a_refused_text_is_explained_in_the_language_of_the_page(language: str, open_page: Open) -> None:
    page = chosen(open_page("#/analyse"), language)
    page.locator(".worlds").wait_for()
    page.locator("form.source textarea").fill(LEAK)
    page.locator("form.source button[type=submit]").first.click()
    complaint = page.locator(".complaint").first
    complaint.wait_for()
    assert complaint.locator("p").first.inner_text() == KNOWN[language]
    assert "lies face down and is C's" in complaint.locator("p[lang=en]").inner_text()


@pytest.mark.parametrize(
    ("language", "round_", "card"), [("de", "Runde", "Reihe, Ort 2"), ("fr", "Manche", "File, Place 2")]
)
def test_the_faults_of_a_draft_name_their_places(language: str, round_: str, card: str, open_page: Open) -> None:
    page = show_state(open_page, "faults")
    english = [compact(fault) for fault in page.locator(".state li").all_inner_texts()]
    assert len(english) > 2
    chosen(page, language)
    faults = page.locator(".state li")
    assert faults.locator("small[lang=en]").count() == len(english)
    assert [compact(small) for small in faults.locator("small[lang=en]").all_inner_texts()] == english
    texts = [compact(fault) for fault in faults.all_inner_texts()]
    assert any(text.startswith(f"{round_}: ") for text in texts), texts
    assert any(text.startswith(f"{card}: ") for text in texts), texts
    assert "undefined" not in " ".join(texts)
    # At its place, the fault is in the language of the page, too.
    assert page.locator(".fault small[lang=en]").count() > 0


@pytest.mark.parametrize(
    ("language", "edition", "place"),
    [
        ("en", "English edition (2019)", "Slot 1"),
        ("de", "Englische Ausgabe (2019)", "Ort 1"),
        ("fr", "Édition anglaise (2019)", "Place 1"),
    ],
)
def test_editions_and_places_have_names(language: str, edition: str, place: str, open_page: Open) -> None:
    page = open_page("#/play")
    with_effort(page)
    analysed(page, link_to("oriflamme", VIEWS["oriflamme"]))
    page.keyboard.press("i")
    page.locator(".secrets b").first.wait_for()
    chosen(page, language)
    page.locator(f"option[value='en-2019']:text-is('{edition}')").wait_for(state="attached")
    assert place in page.locator(".secrets").inner_text()
    assert page.locator(".kinds button").inner_text() == place.replace("1", "4")
