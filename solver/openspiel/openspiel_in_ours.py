"""Search the games of OpenSpiel. Needs the extra `openspiel`.

    from solver import solve
    from solver.openspiel.openspiel_in_ours import from_openspiel
    game = from_openspiel("leduc_poker")
    state = game.spiel.new_initial_state()      # then play to a decision as usual
    answer = solve(game.at(state).view(state.current_player()), config="plain")
    state.apply_action(answer.best.code[0])

**Games**: 2 to 5 players who move in turn, explicit chance, a history of at most 376 actions, at most 512 options. A
game with hidden information needs `resample_from_infostate`: bridge, euchre, hearts, oh_hell, universal_poker, the
small pokers and our own games have it, and others are refused. A game that fails during a search ends it with an error
that names the game. Hearts may fail once cards have been passed: OpenSpiel 2.0.2 then draws hands that run out of legal
cards.

**Nodes**: some games provide their public information, and the search distinguishes nodes by it. In other games it
distinguishes the nodes of each player by that player's own information, as OpenSpiel's ISMCTSBot does: `nodes="own"`
instead of "public".

**Exploration**: payoffs are 0 for the game's lowest utility and 1 for its highest. If most results lie far from both,
as in poker, use a smaller `exploration`: the formula's constant in the game's own unit, divided by the range.

**Speed**: the search is slow, since every call reaches Python objects, under the GIL. More workers give the same answer
as shares of a search that run one after the other, and no sooner.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyspiel
from open_spiel.python.observation import make_observation

from engine_cy.errors import InvalidRulesetError
from solver.openspiel.spiel_game import HISTORY_MAX, NUMBERS, PLAYERS_MAX, SpielGame

_KIND = pyspiel.GameType


def from_openspiel(game: str | Any) -> SpielGame:
    """Wrap a game of OpenSpiel, or the game of a name that `pyspiel.load_game` accepts, for our search."""
    try:
        spiel = pyspiel.load_game(game) if isinstance(game, str) else game
    except pyspiel.SpielError as error:
        raise InvalidRulesetError(f"game: OpenSpiel cannot load {game!r}: {error}") from None
    _check_searchable(spiel)
    perfect = spiel.get_type().information == _KIND.Information.PERFECT_INFORMATION
    if not perfect:
        _check_resampling(spiel)
    return SpielGame(spiel, spiel.max_history_length(), perfect, None if perfect else _public_text(spiel))


def _check_searchable(spiel: Any) -> None:
    kind = spiel.get_type()
    lowest, highest = spiel.min_utility(), spiel.max_utility()
    reasons = {
        "its players move at once; see pyspiel.convert_to_turn_based": kind.dynamics != _KIND.Dynamics.SEQUENTIAL,
        "its chance is not explicit": kind.chance_mode == _KIND.ChanceMode.SAMPLED_STOCHASTIC,
        f"it has {spiel.num_players()} players, not 2 to {PLAYERS_MAX}": not 2 <= spiel.num_players() <= PLAYERS_MAX,
        f"its histories may have {spiel.max_history_length()} actions, more than {HISTORY_MAX}": (
            spiel.max_history_length() > HISTORY_MAX
        ),
        f"its actions are numbered beyond {NUMBERS - 1}": (
            max(spiel.num_distinct_actions(), spiel.max_chance_outcomes()) > NUMBERS
        ),
        f"its utilities are {lowest} to {highest}": not -1e9 <= lowest < highest <= 1e9,
        "it has neither information states nor observations as text": (
            kind.information == _KIND.Information.IMPERFECT_INFORMATION
            and not (kind.provides_information_state_string or kind.provides_observation_string)
        ),
        "it is a one-shot game": kind.information == _KIND.Information.ONE_SHOT,
    }
    for reason, applies in reasons.items():
        if applies:
            raise InvalidRulesetError(f"game: {spiel} cannot be searched: {reason}")


def _check_resampling(spiel: Any) -> None:
    """Draw a world, as a trial that the game can, and that the history of a drawn state leads to it."""
    state = _first_decision(spiel)
    try:
        sample = state.resample_from_infostate(state.current_player(), random.Random(1).random)
    except pyspiel.SpielError as error:
        raise InvalidRulesetError(
            f"game: {spiel} cannot be searched: it has hidden information, but no resample_from_infostate ({error})"
        ) from None
    replayed = spiel.new_initial_state()
    for number in sample.history():
        replayed.apply_action(number)
    if str(replayed) != str(sample):
        raise InvalidRulesetError(
            f"game: {spiel} cannot be searched: its resample_from_infostate draws states that differ "
            "from those that their histories lead to"
        )


def _first_decision(spiel: Any) -> Any:
    state = spiel.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    return state


def _public_text(spiel: Any) -> Callable[[Any], str] | None:
    """Return a function that writes a state's public information, or None if the game provides none."""
    for perfect_recall in (True, False):
        observation_type = pyspiel.IIGObservationType(
            perfect_recall=perfect_recall, public_info=True, private_info=pyspiel.PrivateInfoType.NONE
        )
        try:
            observation = make_observation(spiel, observation_type)
            if observation is None or observation.string_from(_first_decision(spiel), 0) is None:
                continue
        except (pyspiel.SpielError, RuntimeError, ValueError):
            continue
        return lambda state: str(observation.string_from(state, 0))
    return None
