"""The adapter of the games of OpenSpiel, for `eminence rules`: their own descriptions."""

from __future__ import annotations

from typing import Any

from server.games.adapter import GameAdapter
from server.languages import DEFAULT


class OpenSpielAdapter(GameAdapter):
    def describe_game(self, game: Any, language: str = DEFAULT) -> dict[str, Any]:
        kind = game.spiel.get_type()
        return {
            "numbers": {
                "information": _word(kind.information),
                "utility": _word(kind.utility),
                "chance": _word(kind.chance_mode),
                "lowest_payoff": game.spiel.min_utility(),
                "highest_payoff": game.spiel.max_utility(),
                "longest_history": game.spiel.max_history_length(),
            }
        }


def _word(value: Any) -> str:
    return str(value.name).partition("_")[0].lower()


FAMILIES = {"openspiel": OpenSpielAdapter}
