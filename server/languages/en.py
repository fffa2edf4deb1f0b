"""The grammar of English: articles and owners."""

from __future__ import annotations

from server.languages import Noun, Phrase


def person(name: str | None) -> Phrase:
    text = "you" if name is None else name
    return Phrase(text, text, text)


def the(noun: Noun) -> Phrase:
    return _phrase(noun, "the " if noun.gender else "")


def owned(noun: Noun, owner: str | None) -> Phrase:
    return _phrase(noun, "your " if owner is None else f"{owner}'s ")


def _phrase(noun: Noun, before: str) -> Phrase:
    text = f"{before}{noun.name}"
    return Phrase(text, text, text, noun.gender == "p")
