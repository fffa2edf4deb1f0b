"""(game id, ruleset, players) -> game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.errors import InvalidRulesetError, listed
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.toys.poker import Poker
from engine_cy.values import Game

# Each game id and what makes its games.
_MAKERS = {
    "oriflamme": Oriflamme,
    "oriflamme_prototype": Oriflamme,
    "castle_village_port": CastleVillagePort,
    "kuhn_poker": Poker,
    "leduc_poker": Poker,
}

# Games are values; the few that are in use are kept, so that their actions are listed without making them anew.
_made: dict[object, Game] = {}
_KEPT = 64


def game_ids() -> list[str]:
    """The games that there are."""
    return list(_MAKERS)


def new_game(game: str, ruleset: str | Mapping[str, Any] | None = None, players: int = 3) -> Game:
    """A game by its id, under an edition (by name) or switches and tables laid over one, for a number of players."""
    if game not in _MAKERS:
        raise InvalidRulesetError(f"game: {game!r} is not a game ({listed(game_ids())})")
    if not isinstance(ruleset, str | Mapping | None):
        raise InvalidRulesetError(f"ruleset: {ruleset!r} is neither an edition's name nor switches")
    made = _MAKERS[game](game, ruleset, players)
    key = (made.id, str(made.spec[1]), made.n_players)
    if len(_made) >= _KEPT:
        _made.clear()
    return _made.setdefault(key, made)
