"""The words of the page in the browser: in each language, all in catalogues, and those of the report for grades."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine_cy.pictures import SIGNS
from server.languages import LANGUAGES, words_of
from server.report import WORDS

SOURCES = Path(__file__).parents[2] / "server" / "web" / "board" / "src"
CATALOGUES = sorted(path.parent for path in SOURCES.rglob("words/en.ts"))
# A key of an object, at the beginning of its line or after a brace or comma, and the texts in quotes.
KEY = re.compile(r'(?:^\s*|[{,]\s*)(\w+|"[^"]*")(?=:\s)', re.MULTILINE)
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`')
# The keys of a catalogue itself, also those without a value of their own, and those with a text.
OUTER_KEY = re.compile(r"^ {2}(\w+)(?::|,$)", re.MULTILINE)
OUTER_TEXT = re.compile(r'^ {2}(\w+):\s+"([^"]+)",$', re.MULTILINE)
# The sentences of refusals: English leaves out those that the server has.
REFUSED = re.compile(r"^    refused: \{\n.*?^    \}", re.MULTILINE | re.DOTALL)
# Words that two languages share.
SHARED = {"Hand", "Name", "Note", "Points", "Position"}


def keys(text: str) -> list[str]:
    """Return the keys of a catalogue in their order, with those of its inner objects."""
    body = TEXT.sub(lambda found: found[0] if text[found.end() :].startswith(":") else '""', text)
    return [key for key in KEY.findall(body) if key not in ("string", "number")]


def test_the_keys_of_a_catalogue_are_found() -> None:
    text = 'export const en = {\n  one: "a: b, c: d",\n  two: { three: "x", four: `y: ${1}` },\n};\n'
    assert keys(text) == ["one", "two", "three", "four"]


@pytest.mark.parametrize("folder", CATALOGUES, ids=lambda folder: str(folder.relative_to(SOURCES)))
@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_every_word_is_there_in_each_language(folder: Path, language: str) -> None:
    english = (folder / "en.ts").read_text("utf-8")
    other = (folder / f"{language}.ts").read_text("utf-8")
    assert len(keys(english)) > 20
    assert names_of(REFUSED.sub("", other)) == names_of(REFUSED.sub("", english))
    assert OUTER_KEY.findall(english)
    assert OUTER_KEY.findall(other) == OUTER_KEY.findall(english)
    translated = dict(OUTER_TEXT.findall(other))
    assert {text for key, text in OUTER_TEXT.findall(english) if translated.get(key) == text} <= SHARED
    assert not re.search(r"\w: \"\"", other)


def names_of(text: str) -> list[str]:
    """Return the keys without the parameters of functions, whose types only English names."""
    return keys(re.sub(r"\([^()]*\)\s*=>", "", text))


@pytest.mark.parametrize("language", LANGUAGES)
def test_grades_have_the_names_of_the_report(language: str) -> None:
    page = (SOURCES / "review" / "words" / f"{language}.ts").read_text("utf-8")
    report = words_of(WORDS, language)
    for grade in SIGNS:
        assert f'{grade}: "{report.say(f"grade.{grade}")}"' in page


def test_components_hold_no_words_of_their_own() -> None:
    """Texts between tags are expressions: words of a language stand in its catalogue."""
    for path in SOURCES.rglob("*.svelte"):
        markup = re.sub(
            r"<script.*?</script>|<!--.*?-->|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", "", path.read_text(), flags=re.DOTALL
        )
        words = [text.strip() for text in re.findall(r">([^<>]*[A-Za-z]{3,}[^<>]*)<", markup)]
        assert [text for text in words if text not in ("Eminence",)] == [], path
