"""English, French and German: catalogues of messages, and names in sentences.

An area of the program, such as a game's adapter or the command line, has a folder `words` with a module per language.
Its `MESSAGES` map keys to sentences with placeholders; a key that ends in `.you` addresses the reader. A placeholder
may ask for a case, as in `{card:acc}`. A catalogue is imported when its language is first used; those of a game with
the game's adapter, which checks that they are complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from engine_cy.errors import quoted

LANGUAGES = ("en", "fr", "de")
DEFAULT = LANGUAGES[0]
# Variables that set the language of messages, the strongest first (POSIX).
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")


class UnknownLanguageError(ValueError):
    """There is no catalogue of this language."""


def check_language(text: str) -> str:
    """Return the language; raise UnknownLanguageError if it has no catalogue."""
    if text not in LANGUAGES:
        raise UnknownLanguageError(f"{quoted(text)} is not one of {', '.join(LANGUAGES)}")
    return text


def language_of(environment: Mapping[str, str]) -> str:
    """Return the language that the variables of a process ask for; English if it has no catalogue."""
    locale = next((environment[name] for name in _VARIABLES if environment.get(name)), "")
    language = locale.replace("-", "_").replace(".", "_").partition("_")[0].lower()
    return language if language in LANGUAGES else DEFAULT


class Noun(NamedTuple):
    """The name of a thing, its gender, and its accusative if that differs.

    The gender is m, f or n, p of a plural, and empty of an English name without an article.
    """

    name: str
    gender: str = "n"
    accusative: str = ""

    def noted(self, text: str) -> Noun:
        """Return the noun with a text after it."""
        return Noun(f"{self.name} {text}", self.gender, f"{self.accusative or self.name} {text}")


class Phrase(NamedTuple):
    """A noun with its article or owner, or a person. In a format, `acc` and `dat` select the case."""

    nominative: str
    accusative: str
    dative: str = ""
    is_plural: bool = False

    def __format__(self, case: str) -> str:
        return {"": self.nominative, "acc": self.accusative, "dat": self.dative}[case]

    def noted(self, text: str) -> Phrase:
        """Return the phrase with a text after it."""
        return self._replace(nominative=f"{self.nominative} {text}", accusative=f"{self.accusative} {text}")


class Words:
    """The catalogue of an area in a language, with the grammar of the language."""

    def __init__(self, area: str, language: str) -> None:
        module = import_module(f"{area}.words.{check_language(language)}")
        self.language = language
        self.messages: Mapping[str, str] = module.MESSAGES
        self.nouns: Mapping[str, Noun] = getattr(module, "NOUNS", {})
        self._grammar: Any = import_module(f"{__name__}.{language}")

    def say(self, key: str, **values: object) -> str:
        """Return the message of a key, with its placeholders filled in."""
        return self.messages[key].format(**values)

    def begin(self, sentence: str) -> str:
        """Return a sentence with a capital at its beginning."""
        return sentence[:1].upper() + sentence[1:]

    def person(self, name: str | None) -> Phrase:
        """Return a player by their name; the reader if it is None."""
        phrase: Phrase = self._grammar.person(name)
        return phrase

    def the(self, noun: Noun) -> Phrase:
        """Return a noun with its definite article."""
        phrase: Phrase = self._grammar.the(noun)
        return phrase

    def owned(self, noun: Noun, owner: str | None) -> Phrase:
        """Return a noun with its owner, a player; the reader if it is None."""
        phrase: Phrase = self._grammar.owned(noun, owner)
        return phrase


@cache
def words_of(area: str, language: str) -> Words:
    """Return the catalogue of an area, such as `server.cli`, in a language."""
    return Words(area, language)
