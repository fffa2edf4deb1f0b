"""The adapters of the games, by the games' ids. A module or folder here with `ADAPTERS` adds its own.

`FAMILIES` of a module has the class for the ids with a prefix, such as `openspiel:leduc_poker`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from engine_cy import Game, GameFaultError, game_ids
from engine_cy.picture_words import TEXTS, provide_words
from engine_cy.registry import load_for_installed
from server.games.adapter import GameAdapter
from server.games.narration import COMMON
from server.languages import UnknownLanguageError, words_of

_MODULES = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
_ADAPTERS: dict[str, GameAdapter] = {
    adapter.game_id: adapter for module in _MODULES for adapter in getattr(module, "ADAPTERS", ())
}
_FAMILIES: dict[str, type[GameAdapter]] = {
    prefix: kind for module in _MODULES for prefix, kind in getattr(module, "FAMILIES", {}).items()
}


# The entry points with the adapters of installed games: the game's id, and a subclass of GameAdapter.
_GROUP = "eminence.adapters"


@cache
def adapter_of(game_id: str) -> GameAdapter:
    """Return the adapter of a game; a game without one is served as text.

    The package of an installed game may have its adapter; it is imported only where the game itself may run.
    """
    prefix, _, name = game_id.partition(":")
    if name and prefix in _FAMILIES:
        return _FAMILIES[prefix](game_id)
    return _ADAPTERS.get(game_id) or _installed_adapter(game_id) or GameAdapter(game_id)


def _installed_adapter(game_id: str) -> GameAdapter | None:
    kind = load_for_installed(_GROUP, game_id)
    if kind is None:
        return None
    if not isinstance(kind, type) or not issubclass(kind, GameAdapter):
        raise GameFaultError(f"game: {game_id!r}: {kind!r} in {_GROUP} is not a subclass of GameAdapter")
    return kind(game_id)


def picture_words(game: Game, language: str) -> dict[str, str]:
    """Return the words of the engine's pictures in a language, by the English ones."""
    try:
        words = words_of(COMMON, language)
    except UnknownLanguageError as error:
        raise UnknownLanguageError(f"lang: {error}") from None
    adapter = adapter_of(game.id)
    texts = {text: words.messages[f"picture.{key}"] for key, text in TEXTS.items()}
    return {**texts, adapter.names.en: adapter.names.in_language(language), **adapter.picture_names(game, language)}


provide_words(picture_words)


def adapters_with_messages() -> list[GameAdapter]:
    """Return an adapter for each `member` of the contract."""
    built_in = [_ADAPTERS[game_id] for game_id in reversed(game_ids()) if game_id in _ADAPTERS]
    by_member = {adapter.member: adapter for adapter in built_in if adapter.member}
    return list(reversed(by_member.values()))
