"""Bridges between our games and OpenSpiel, a module for each direction. They need the extra `openspiel`."""

from __future__ import annotations

from engine_cy import Game, InvalidRulesetError
from engine_cy.registry import Ruleset
from solver.extras import MissingExtraError


def openspiel_game(name: str, ruleset: Ruleset, players: int | None) -> Game:
    """Return the game with the id `openspiel:name`; a name may have parameters: `game(players=3)`."""
    try:
        from solver.openspiel.openspiel_in_ours import from_openspiel
    except MissingExtraError:
        raise InvalidRulesetError(str(MissingExtraError("openspiel", f"game: 'openspiel:{name}'"))) from None
    game = from_openspiel(name)
    if ruleset not in (None, game.ruleset):
        raise InvalidRulesetError(f"ruleset: {ruleset!r} is not possible in {game.id}, whose name has its parameters")
    if players not in (None, game.n_players):
        raise InvalidRulesetError(
            f"players: {players} is not possible in {game.id} ({game.n_players}); some games have a parameter, as in "
            f"openspiel:{name.partition('(')[0]}(players={players})"
        )
    return game
