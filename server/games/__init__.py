"""The adapters of the games, by the games' ids. A module or folder here with `ADAPTERS` adds its own."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from engine_cy import game_ids
from server.games.adapter import GameAdapter

_ADAPTERS: dict[str, GameAdapter] = {
    adapter.game_id: adapter
    for module in iter_modules(__path__)
    for adapter in getattr(import_module(f"{__name__}.{module.name}"), "ADAPTERS", ())
}


@cache
def adapter_of(game_id: str) -> GameAdapter:
    """Return the adapter of a game; a game without one is served as text."""
    return _ADAPTERS.get(game_id) or GameAdapter(game_id)


def adapters_with_messages() -> list[GameAdapter]:
    """Return an adapter for each `member` of the contract."""
    by_member = {adapter.member: adapter for adapter in map(adapter_of, reversed(game_ids())) if adapter.member}
    return list(reversed(by_member.values()))
