"""The catalogues of the page: the same words in each language, and each of them is used."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

Code = Callable[..., list[Any]]
SOURCES = Path(__file__).parents[2] / "server" / "web" / "board" / "src"
LANGUAGES = ("en", "fr", "de")


# The words that the page finds by an index: its pages, and what seats collect.
INDEXED = {"play", "analyse", "review", "points", "gold"}
# Reads of a catalogue, or of a part of one: "w.playing.hint", "p.hint", "w.kinds[".
READ = re.compile(r"\b(?:w|p|words\(\))((?:\.\w+)+\[?)")


def unused(paths: list[str], code: str) -> list[str]:
    """Return the words that no code reads: neither by name, nor by an index into the words that hold them."""
    read = set(READ.findall(code))

    def is_used(path: str) -> bool:
        parts = path.split(".")
        names = [".".join(["", *parts[at:]]) for at in range(len(parts))]
        holders = [".".join(["", *parts[at:-1]]) + "[" for at in range(len(parts) - 1)]
        return path in INDEXED or not read.isdisjoint([*names, *holders])

    return [path for path in paths if not is_used(path)]


def code_of_the_page() -> str:
    paths = [path for path in SOURCES.rglob("*") if path.suffix in (".svelte", ".ts") and "words" not in path.parts]
    return "\n".join(path.read_text("utf-8") for path in paths)


def test_each_word_is_used_and_in_each_language(page_code: Code) -> None:
    catalogues = page_code("words.ts", LANGUAGES)
    english, *others = map(set, catalogues)
    assert others[0] == others[1] >= english
    assert unused(sorted(others[0]), code_of_the_page()) == []  # sentences that the server has in English are added


def test_a_word_that_nothing_uses_is_found() -> None:
    code = "w.show, words().kinds[kind], p.paces[name], line.picked, w.playing.hint"
    used = ["show", "pasting.kinds.link", "playing.paces.slow", "playing.hint"]
    dead = ["shown", "themes.auto", "playing.picked", "hint"]
    assert unused([*used, *dead], code) == dead
