"""Games by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.errors import InvalidRulesetError, listed
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.toys.poker import Poker
from engine_cy.values import Game

# The class of each game id.
_CLASSES = {
    "oriflamme": Oriflamme,
    "oriflamme_prototype": Oriflamme,
    "castle_village_port": CastleVillagePort,
    "kuhn_poker": Poker,
    "leduc_poker": Poker,
}

# Equal games share one object, so that its interned actions are made once.
_games: dict[object, Game] = {}
_GAMES_MAX = 64


def game_ids() -> list[str]:
    """Return the ids of all games."""
    return list(_CLASSES)


def new_game(game: str, ruleset: str | Mapping[str, Any] | None = None, players: int = 3) -> Game:
    """Return a game by its id.

    `ruleset` is the name of an edition, or a mapping: an `edition`, and switches and tables that replace the edition's.
    """
    if game not in _CLASSES:
        raise InvalidRulesetError(f"game: {game!r} is not a game ({listed(game_ids())})")
    if not isinstance(ruleset, str | Mapping | None):
        raise InvalidRulesetError(f"ruleset: {ruleset!r} is neither an edition's name nor switches")
    new = _CLASSES[game](game, ruleset, players)
    key = (new.id, str(new.spec[1]), new.n_players)
    if len(_games) >= _GAMES_MAX:
        _games.clear()
    return _games.setdefault(key, new)
