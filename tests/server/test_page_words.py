"""The words of the page in the browser: the same keys in each language, and those of the report for grades."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine_cy.pictures import SIGNS
from server.cli.options import WORDS
from server.languages import LANGUAGES, words_of

SOURCES = Path(__file__).parents[2] / "server" / "web" / "board" / "src"
CATALOGUES = sorted(path.parent for path in SOURCES.rglob("words/en.ts"))
# A key of an object, at the beginning of its line or after a brace or comma, and the texts in quotes.
KEY = re.compile(r'(?:^\s*|[{,]\s*)(\w+|"[^"]*")(?=:\s)', re.MULTILINE)
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`')


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
    assert names_of(other) == names_of(english)
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
