"""Games by their ids: built in, or added by installed packages. Each folder of a built-in game registers its own.

A package adds a game by an entry point in the group `eminence.games`: the id, and a subclass of `GameRules` or, from
Cython, of `Game`. A faulty package is refused by name, and the other games work on. A *family* makes a game of any id
that begins with its prefix, such as `openspiel:leduc_poker`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple

from engine_cy.errors import EngineError, GameFaultError, InvalidRulesetError, listed
from engine_cy.game_rules import GameRules
from engine_cy.python_game import python_game
from engine_cy.seats import SEATS
from engine_cy.values import Game

Ruleset = str | Mapping[str, Any] | None


def _built_in_games() -> dict[str, Any]:
    """Return the class of each built-in game by its id: each folder with a module `binding` registers its games."""
    folders = [module.name for module in iter_modules([str(Path(__file__).parent)]) if module.ispkg]
    names = [f"engine_cy.{folder}.binding" for folder in folders]
    bindings = [import_module(name) for name in names if find_spec(name)]
    bindings.sort(key=lambda binding: binding.PLACE)
    return {game_id: kind for binding in bindings for game_id, kind in binding.GAMES.items()}


_CLASSES = _built_in_games()
_GROUP = "eminence.games"
_ID = re.compile(r"[A-Za-z0-9_.-]+")
_PLAYERS = (3, 2, 4, 5, 1)  # by default

# Equal games share one object, so that its interned actions are made once.
_games: dict[object, Game] = {}
_GAMES_MAX = 64
# Why this process runs no installed games; empty: it does.
_kept_out = ""
_families: dict[str, Callable[[str, Ruleset, int | None], Game]] = {}


class GameSource(NamedTuple):
    """Where a game comes from. `package` is a name and a version; None for a built-in game."""

    id: str
    package: str | None = None
    in_python: bool | None = False
    """Whether its rules run in Python; None for an installed game before its first use."""


class _Plugins(NamedTuple):
    entries: dict[str, EntryPoint]
    refusals: list[str]


def game_ids() -> list[str]:
    """Return the ids of all built-in and installed games, without importing the latter."""
    return [*_CLASSES, *_plugins().entries]


def game_sources() -> list[GameSource]:
    """Return the source of each game, without importing installed ones."""
    installed = (GameSource(id, _package(entry), _runs_in_python(entry)) for id, entry in _plugins().entries.items())
    return [*(GameSource(id) for id in _CLASSES), *installed]


def refused_games() -> list[str]:
    """Return a sentence for each installed game whose id cannot be used."""
    return list(_plugins().refusals)


def is_game_id(game: str) -> bool:
    """Return whether `new_game` knows an id, or the prefix of its family."""
    return game in _CLASSES or _family_of(game) is not None or game in _plugins().entries


def _family_of(game: str) -> Callable[[str, Ruleset, int | None], Game] | None:
    """Return the family of an id; None without one, and where installed games are kept out."""
    prefix, _, name = game.partition(":")
    return _families.get(prefix) if name and not _kept_out else None


def has_installed() -> bool:
    """Return whether any package has added a game."""
    return bool(_plugins().entries)


def is_installed(game: str) -> bool:
    """Return whether a game comes from an installed package, without importing it."""
    return game in _plugins().entries


def keep_installed_out(why: str) -> None:
    """Let this process run no code of installed games from now on: calls that need it raise GameFaultError."""
    global _kept_out
    _kept_out = why


def load_for_installed(group: str, game: str) -> Any:
    """Return the object of an entry point in another group, by the package of an installed game; None without one."""
    entry = _plugins().entries.get(game)
    if entry is None or _kept_out:
        return None
    for other in entry_points(group=group, name=game):
        if _package(other) == _package(entry):
            try:
                return other.load()
            except Exception as error:
                where = f"game: {game!r} of {_package(entry)}"
                why = f"{other.value} cannot be imported: {type(error).__name__}: {error}"
                raise GameFaultError(f"{where}: {why}") from error
    return None


def module_of_installed(game: str) -> str:
    """Return the name of the package or module with the code of an installed game."""
    return _plugins().entries[game].module.partition(".")[0]


def editions_of(game: str) -> list[str]:
    """Return the editions of a game, the default one first; none for a game of a family."""
    if game in _CLASSES:
        kind = _CLASSES[game]
    elif game in _plugins().entries:
        kind = _installed_class(_plugins().entries[game])
    else:
        return []
    return list(kind.rulesets if issubclass(kind, GameRules) else kind.editions_of(game))


@cache
def players_of(game: str, edition: str) -> tuple[int, ...]:
    """Return the numbers of players of an edition."""
    possible = []
    for players in range(1, 1 + len(SEATS)):
        with suppress(InvalidRulesetError):
            possible.append(new_game(game, edition, players).n_players)
    return tuple(possible)


def add_game_family(prefix: str, make: Callable[[str, Ruleset, int | None], Game]) -> None:
    """Let `make(name, ruleset, players)` make the games whose ids are `prefix:name`."""
    _families[prefix] = make


def new_game(game: str, ruleset: Ruleset = None, players: int | None = None) -> Game:
    """Return a game by its id.

    `ruleset` is the name of an edition, or a mapping: an `edition`, and switches and tables that replace the edition's.
    Without a number of players, there are three if the game allows it.
    """
    if not isinstance(ruleset, str | Mapping | None):
        raise InvalidRulesetError(f"ruleset: {ruleset!r} is neither an edition's name nor switches")
    family = _family_of(game)
    if game in _CLASSES:
        new: Game = _new(_CLASSES[game], game, ruleset, players)
    elif family is not None:
        new = family(game.partition(":")[2], ruleset, players)
    elif game in _plugins().entries:
        new = _installed_game(_plugins().entries[game], ruleset, players)
    else:
        raise InvalidRulesetError(f"game: {game!r} is not a game ({listed(game_ids())})")
    key = (new.id, str(new.spec[1]), new.n_players)
    if len(_games) >= _GAMES_MAX:
        _games.clear()
    return _games.setdefault(key, new)


def _new(kind: Any, game: str, ruleset: Ruleset, players: int | None) -> Any:
    """Make a game; without a number of players, with the first possible one of `_PLAYERS`."""
    for possible in _PLAYERS if players is None else ():
        with suppress(InvalidRulesetError):
            return kind(game, ruleset, possible)
    return kind(game, ruleset, _PLAYERS[0] if players is None else players)


# --- installed games ------------------------------------------------------------------------------------------------


@lru_cache(1)
def _plugins() -> _Plugins:
    """Return the entry points of installed games by id, in the order of their packages' names."""
    plugins = _Plugins({}, [])
    for entry in sorted(entry_points(group=_GROUP), key=lambda entry: (_package(entry), entry.name)):
        if entry.name in _CLASSES:
            reason = "is the id of a built-in game"
        elif entry.name in plugins.entries:
            reason = f"is the id of a game of {_package(plugins.entries[entry.name])}"
        elif not _ID.fullmatch(entry.name):
            reason = "is not an id of letters, digits, '_', '-' and '.'"
        else:
            plugins.entries[entry.name] = entry
            continue
        plugins.refusals.append(f"game: {entry.name!r} of {_package(entry)} is refused: it {reason}")
    return plugins


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unknown package"


def _installed_class(entry: EntryPoint) -> Any:
    """Import the class of an installed game; every fault of its package is an error that names it."""
    where = _name(entry)
    if _kept_out:
        raise GameFaultError(f"{where} cannot run here: {_kept_out}")
    try:
        kind = _load(entry)
    except Exception as error:
        raise GameFaultError(f"{where} cannot be imported: {type(error).__name__}: {error}") from error
    if not isinstance(kind, type) or not issubclass(kind, Game | GameRules):
        raise GameFaultError(f"{where} is not a game: {entry.value} is a subclass of neither GameRules nor Game")
    return kind


def _installed_game(entry: EntryPoint, ruleset: Ruleset, players: int | None) -> Game:
    kind = _installed_class(entry)
    if issubclass(kind, GameRules):
        if not isinstance(ruleset, str | None):
            raise InvalidRulesetError(f"ruleset: {entry.name} has named rulesets only ({listed(kind.rulesets)})")
        return python_game(kind, ruleset, players, id=entry.name)
    try:
        new: Game = _new(kind, entry.name, ruleset, players)
    except EngineError:
        raise
    except Exception as error:
        raise GameFaultError(f"{_name(entry)} cannot be made: {type(error).__name__}: {error}") from error
    if new.interface_fault is not None:
        raise GameFaultError(f"{_name(entry)} cannot be played: {new.interface_fault}")
    return new


def _name(entry: EntryPoint) -> str:
    return f"game: {entry.name!r} of {_package(entry)}"


# The objects of the entry points that have been imported, by id.
_loaded: dict[str, object] = {}


def _load(entry: EntryPoint) -> object:
    if entry.name not in _loaded:
        _loaded[entry.name] = entry.load()
    return _loaded[entry.name]


def _runs_in_python(entry: EntryPoint) -> bool | None:
    kind = _loaded.get(entry.name)
    return issubclass(kind, GameRules) if isinstance(kind, type) else None
