"""The words of the board in three languages. This test needs no browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "server" / "web" / "board" / "src"
CATALOGUES = sorted(path.parent for path in SOURCES.rglob("words/en.ts"))
KEY = re.compile(r"^ {2}(\w+)(?::|,$)", re.MULTILINE)
TEXT = re.compile(r'^ {2}(\w+):\s+"([^"]+)",$', re.MULTILINE)
# Words that two languages share.
SHARED = {"Hand", "Name", "Note", "Points", "Position"}


@pytest.mark.parametrize("folder", CATALOGUES, ids=[str(path.relative_to(SOURCES)) for path in CATALOGUES])
@pytest.mark.parametrize("language", ["fr", "de"])
def test_every_word_has_a_translation(folder: Path, language: str) -> None:
    english, other = ((folder / f"{name}.ts").read_text("utf-8") for name in ("en", language))
    assert KEY.findall(english)
    assert KEY.findall(other) == KEY.findall(english)
    translated = dict(TEXT.findall(other))
    same = {text for key, text in TEXT.findall(english) if translated.get(key) == text}
    assert same <= SHARED


def test_components_hold_no_words_of_their_own() -> None:
    """Texts between tags are expressions: words of a language stand in its catalogue."""
    for path in SOURCES.rglob("*.svelte"):
        markup = re.sub(
            r"<script.*?</script>|<!--.*?-->|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", "", path.read_text(), flags=re.DOTALL
        )
        words = [text.strip() for text in re.findall(r">([^<>]*[A-Za-z]{3,}[^<>]*)<", markup)]
        assert [text for text in words if text not in ("Eminence",)] == [], path
