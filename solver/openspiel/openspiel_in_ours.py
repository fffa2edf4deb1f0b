"""OpenSpiel's games as games for our search. Needs the extra `openspiel`.

    from solver import solve
    from solver.openspiel.openspiel_in_ours import from_openspiel
    game = from_openspiel("leduc_poker")
    state = game.spiel.new_initial_state()      # played on as usual, to somebody's turn
    found = solve(game.at(state).view(state.current_player()), config="plain")
    state.apply_action(found.best.code[0])

**Which games**: of 2 to 5 players who move one after the other, with chance that is explicit, a history of at most 376
actions and 512 options. Where anything is hidden, the game has to have `resample_from_infostate`, as bridge, euchre,
hearts, oh_hell, universal_poker and the small pokers have, and ours; others are refused. A game that fails
in the middle of a search ends it with an error that names it: hearts may where cards were passed on, as OpenSpiel
2.0.2 then draws hands that run out of legal cards.

**Whose nodes are told apart by what**: some games say what everybody sees. Where one does not, the nodes of the others
are told apart by what each of them sees, as OpenSpiel's ISMCTSBot does it: `nodes="own"` instead of "public".

**Exploration**: payoffs are 0 for the game's lowest utility and 1 for its highest. Where most results lie far from
both, as in poker, a smaller `exploration` than usual is right: the formula's constant in the game's own unit, divided
by the range.

It is slow: every question is one to Python's objects, under the GIL. More workers give the same answer as several
shares of a search would one after the other, and no sooner.
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
    """A game of OpenSpiel, or what `pyspiel.load_game` calls it, for our search."""
    try:
        spiel = pyspiel.load_game(game) if isinstance(game, str) else game
    except pyspiel.SpielError as error:
        raise InvalidRulesetError(f"game: OpenSpiel cannot load {game!r}: {error}") from None
    _refuse_what_we_cannot_search(spiel)
    perfect = spiel.get_type().information == _KIND.Information.PERFECT_INFORMATION
    if not perfect:
        _refuse_what_cannot_be_resampled(spiel)
    return SpielGame(spiel, spiel.max_history_length(), perfect, None if perfect else _public_text(spiel))


def _refuse_what_we_cannot_search(spiel: Any) -> None:
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
        "it does not say what its players know": (
            kind.information == _KIND.Information.IMPERFECT_INFORMATION
            and not (kind.provides_information_state_string or kind.provides_observation_string)
        ),
        "it is not the same game to all that see it": kind.information == _KIND.Information.ONE_SHOT,
    }
    for reason, applies in reasons.items():
        if applies:
            raise InvalidRulesetError(f"game: {spiel} cannot be searched: {reason}")


def _refuse_what_cannot_be_resampled(spiel: Any) -> None:
    """Only trying tells whether a game can draw worlds, and whether their histories say all of them."""
    state = _first_decision(spiel)
    try:
        drawn = state.resample_from_infostate(state.current_player(), random.Random(1).random)
    except pyspiel.SpielError as error:
        raise InvalidRulesetError(
            f"game: {spiel} cannot be searched: it hides something, and has no resample_from_infostate ({error})"
        ) from None
    again = spiel.new_initial_state()
    for number in drawn.history():
        again.apply_action(number)
    if str(again) != str(drawn):
        raise InvalidRulesetError(
            f"game: {spiel} cannot be searched: its resample_from_infostate draws states that are not what their "
            "histories lead to"
        )


def _first_decision(spiel: Any) -> Any:
    state = spiel.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    return state


def _public_text(spiel: Any) -> Callable[[Any], str] | None:
    """What writes all that everybody sees, if the game has such a thing."""
    for perfect_recall in (True, False):
        wanted = pyspiel.IIGObservationType(
            perfect_recall=perfect_recall, public_info=True, private_info=pyspiel.PrivateInfoType.NONE
        )
        try:
            observation = make_observation(spiel, wanted)
            if observation is None or observation.string_from(_first_decision(spiel), 0) is None:
                continue
        except (pyspiel.SpielError, RuntimeError, ValueError):
            continue
        return lambda state: str(observation.string_from(state, 0))
    return None
