"""The grammar of French: articles, owners and elisions."""

from __future__ import annotations

from server.languages import Noun, Phrase

_VOWELS = "AEIOUYÀÂÉÈÊÎÔH"  # every h of a card is mute


def person(name: str | None) -> Phrase:
    text = "vous" if name is None else name
    return Phrase(text, text, text)


def the(noun: Noun) -> Phrase:
    return _phrase(noun, f"{_article(noun)}{noun.name}")


def owned(noun: Noun, owner: str | None) -> Phrase:
    if owner is None:
        return _phrase(noun, f"{'vos' if noun.gender == 'p' else 'votre'} {noun.name}")
    of = "d’" if owner[:1].upper() in _VOWELS else "de "
    return _phrase(noun, f"{_article(noun)}{noun.name} {of}{owner}")


def _article(noun: Noun) -> str:
    if noun.gender == "p":
        return "les "
    elif noun.name[:1].upper() in _VOWELS:
        return "l’"
    return "la " if noun.gender == "f" else "le "


def _phrase(noun: Noun, text: str) -> Phrase:
    return Phrase(text, text, text, noun.gender == "p")
