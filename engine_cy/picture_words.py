"""The words of pictures: English ones, and a place for those of other languages, which `server.games` has.

Apart from the drawing, because programs that draw nothing import the words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine_cy.errors import EngineError, quoted

# The English texts of pictures, except for the names of games, cards and places.
TEXTS = {
    "round": "round {round}",
    "turn": "round {round}, turn {turn}",
    "seen_by": "seen by {seat}",
    "points": "points",
    "point": "point",
    "gold": "gold",
    "to_act": "to act",
    "no_card": "no card",
    "selected": "selected",
    "hand": "hand",
    "discarded": "discarded",
    "ordered_to": "ordered to",
    "fact": "{label}: {names}",
    "owned": "{seat}'s {card}",
    "card": "card",
    "face_down": "face down",
    "covered": "covered",
    "token": "{n} token",
    "tokens": "{n} tokens",
    "acts_now": "acts now",
}
# The texts and names of pictures in another language, by the English ones.
Words = Mapping[str, str]

_words_of: Callable[[Any, str], Words] | None = None


def provide_words(words_of: Callable[[Any, str], Words]) -> None:
    """Let pictures have the words that `words_of` returns for a game and a language; it may refuse a language."""
    global _words_of
    _words_of = words_of


def words_in(game: Any, lang: str) -> Words:
    """Return the words for the pictures of a game."""
    if lang == "en":
        return {}
    if _words_of is None:
        why = f"the engine alone draws in English, not {quoted(lang)}; `import server.games` adds languages"
        raise EngineError(f"lang: {why}")
    return _words_of(game, lang)
