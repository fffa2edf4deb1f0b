"""The grammar of German: articles and owners, in the nominative and the accusative."""

from __future__ import annotations

from server.languages import Noun, Phrase

_THE = {"m": ("der", "den"), "f": ("die", "die"), "n": ("das", "das"), "p": ("die", "die")}
_YOUR = {"m": ("dein", "deinen"), "f": ("deine", "deine"), "n": ("dein", "dein"), "p": ("deine", "deine")}


def person(name: str | None) -> Phrase:
    return Phrase("du", "dich", "dir") if name is None else Phrase(name, name, name)


def the(noun: Noun) -> Phrase:
    return _phrase(noun, _THE[noun.gender])


def owned(noun: Noun, owner: str | None) -> Phrase:
    return _phrase(noun, _YOUR[noun.gender]) if owner is None else the(noun).noted(f"von {owner}")


def _phrase(noun: Noun, articles: tuple[str, str]) -> Phrase:
    nominative, accusative = articles
    return Phrase(
        f"{nominative} {noun.name}",
        f"{accusative} {noun.accusative or noun.name}",
        is_plural=noun.gender == "p",
    )
