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
no sooner, because the shares of a search run one after the other.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any

from engine_cy import EngineError, GameRules, InvalidPositionError, InvalidRulesetError, NotationError, Rng
from engine_cy.python_game import ACTIONS_MAX, PLAYERS_MAX, TEXT_MAX, PythonGame
from engine_cy.support.world_random import WorldRandom
from engine_cy.values import GameState, Position
from solver.extras import importing

with importing("openspiel", __name__):
    import pyspiel
    from open_spiel.python.observation import make_observation

_KIND = pyspiel.GameType
_OVER = int(pyspiel.PlayerId.TERMINAL)
_START = "start"
# Numbers of actions, of two bytes each, in a packed history.
HISTORY_MAX = TEXT_MAX // 2
# Attempts to draw a world that looks the same to its observer, where no player is to act.
DRAWS_MAX = 1000


class SpielRules(GameRules[Any]):
    """A game of OpenSpiel without hidden information. A state is OpenSpiel's; its text is its history: `2 0 1`.

    Payoffs and scores are returns; scores are rounded.
    """

    numbered = True
    states_cached = 1024

    def __init__(self, spiel: Any) -> None:
        super().__init__(str(spiel), spiel.num_players())
        self.spiel = spiel
        self.actions = [str(number) for number in range(max(spiel.num_distinct_actions(), spiel.max_chance_outcomes()))]
        self.payoff_range = spiel.min_utility(), spiel.max_utility()
        self.text_bytes = max(2 * spiel.max_history_length(), 1)

    def start(self, first: int) -> Any:
        if first:
            raise EngineError(f"first: {first} is not possible; the game itself chooses the first player")
        return self.spiel.new_initial_state()

    def to_act(self, state: Any) -> int | None:
        player: int = state.current_player()
        return None if player == _OVER else player

    def legal_actions(self, state: Any) -> Sequence[int]:
        legal: list[int] = state.legal_actions()
        return legal

    def chances(self, state: Any) -> Sequence[float]:
        chances = dict(state.chance_outcomes())
        return [chances[outcome] for outcome in state.legal_actions()]

    def apply(self, state: Any, action: int) -> Any:
        successor = state.clone()
        successor.apply_action(action)
        return successor

    def copy(self, state: Any) -> Any:
        return state.clone()

    def advance(self, state: Any, action: int) -> Any:
        state.apply_action(action)
        return state

    def payoffs(self, state: Any) -> Sequence[float]:
        returns: list[float] = state.returns()
        return returns

    def scores(self, state: Any) -> Sequence[int]:
        return [round(won) for won in state.returns()]

    def observe(self, state: Any, player: int | None) -> Any:
        return state

    def sample_world(self, view: Any, player: int, rng: random.Random) -> Any:
        return view

    def worlds(self, view: Any, player: int) -> Iterable[Any]:
        return [view]

    def describe(self, state: Any, player: int | None) -> str:
        return str(state)

    def write(self, state: Any) -> str:
        return " ".join(map(str, state.history())) or _START

    def read(self, text: str) -> Any:
        return self.replay(_numbers(text))

    def pack(self, state: Any) -> bytes:
        return array("H", state.history()).tobytes()

    def unpack(self, data: bytes) -> Any:
        return self.replay(array("H", data), strictly=False)

    def replay(self, history: Sequence[int], strictly: bool = True) -> Any:
        """Return the state after a history.

        The history of a drawn world need not obey the rules (`strictly`): the trick-taking games draw players who held
        the suit that they did not follow.
        """
        state = self.spiel.new_initial_state()
        for number in history:
            if state.is_terminal() or (
                number not in state.legal_actions() if strictly else number >= len(self.actions)
            ):
                raise InvalidPositionError(f"history: {number} is not possible after {state.history()}")
            state.apply_action(number)
        return state


class HiddenSpielRules(SpielRules):
    """A game of OpenSpiel with hidden information.

    A view is a world, too: one that the observer cannot distinguish from the truth, drawn by the game's own
    `resample_from_infostate` with random numbers derived only from the observer's information. It does not hold the
    truth.
    """

    # The base class counts a single world.
    worlds = GameRules.worlds

    def __init__(self, spiel: Any) -> None:
        super().__init__(spiel)
        self.public_text = _public_text(spiel)
        self.has_spectator = self.public_text is not None
        self.by_information = spiel.get_type().provides_information_state_string

    def observe(self, state: Any, player: int | None) -> Any:
        if player is None:
            raise EngineError("view: the game has views for players only")
        seen = self.information(state, player)
        generator = WorldRandom()
        generator.source = Rng(int.from_bytes(blake2b(f"{player} {seen}".encode(), digest_size=8).digest()))
        view = self.sample_world(state, player, generator)
        if self.information(view, player) != seen:
            raise EngineError(f"resample_from_infostate: player {player} can distinguish {view.history()}")
        return view

    def sample_world(self, view: Any, player: int, rng: random.Random) -> Any:
        if view.current_player() >= 0:
            return view.resample_from_infostate(player, rng.random)
        # OpenSpiel resamples at decisions. During a deal, the small pokers fail or deal to the end; at the end of a
        # game, the result may tell more.
        seen, length = self.information(view, player), view.move_number()
        resamples = True
        for _ in range(DRAWS_MAX):
            try:
                world = view.resample_from_infostate(player, rng.random) if resamples else self._deal(length, rng)
            except (IndexError, pyspiel.SpielError):
                resamples = False
                continue
            if world.move_number() == length and self.information(world, player) == seen:
                return world
            resamples = view.is_terminal()
        raise EngineError(
            f"view: OpenSpiel draws no worlds of {self.spiel} for player {player} at '{self.write(view)}'"
        )

    def _deal(self, length: int, rng: random.Random) -> Any:
        """Return a state after that many outcomes of chance, or the first state in which a player is to act."""
        state = self.spiel.new_initial_state()
        while state.move_number() < length and state.is_chance_node():
            outcomes, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choices(outcomes, chances)[0])
        return state

    def information(self, state: Any, player: int | None) -> str:
        if player is not None:
            text: str = (state.information_state_string if self.by_information else state.observation_string)(player)
            return text
        elif self.public_text is not None:
            return self.public_text(state)
        # No public information but the number of actions and the player to act.
        return f"{state.move_number()} {state.current_player()}"

    def describe(self, state: Any, player: int | None) -> str:
        return str(state) if player is None else self.information(state, player)

    def read_view(self, text: str, player: int) -> Any:
        return self.observe(self.replay(_numbers(text), strictly=False), player)


class SpielGame(PythonGame):
    """A game of OpenSpiel, for our search. Made by `from_openspiel`."""

    def __init__(self, rules: SpielRules) -> None:
        self._rules, self.spiel = rules, rules.spiel
        name = str(rules.spiel)
        super().__init__(rules, f"openspiel:{name}", name, rules.n_players, (from_openspiel, (name,)))

    @property
    def has_fixed_first(self) -> bool:
        return True

    def at(self, value: Any) -> Position:
        """Return the position of a state of OpenSpiel's game, which must have a history."""
        if str(value.get_game()) != self.ruleset:
            raise EngineError(f"state: of {value.get_game()}, not of {self.ruleset}")
        return super().at(self._rules.replay(value.history()))

    def as_state(self, table: GameState) -> Any:
        """Return OpenSpiel's state of a position; for a view, that of the world that represents it."""
        return self.value(table).clone()


def from_openspiel(game: str | Any) -> SpielGame:
    """Wrap a game of OpenSpiel, or the game of a name that `pyspiel.load_game` accepts, for our search."""
    # OpenSpiel prints a list of all games if it does not know one.
    if isinstance(game, str) and game.partition("(")[0] not in pyspiel.registered_names():
        raise InvalidRulesetError(f"game: OpenSpiel cannot load {game!r}: it has no such game")
    try:
        spiel = pyspiel.load_game(game) if isinstance(game, str) else game
    except pyspiel.SpielError as error:
        raise InvalidRulesetError(f"game: OpenSpiel cannot load {game!r}: {error}") from None
    _check_searchable(spiel)
    if spiel.get_type().information == _KIND.Information.PERFECT_INFORMATION:
        return SpielGame(SpielRules(spiel))
    _check_resampling(spiel)
    return SpielGame(HiddenSpielRules(spiel))


def _numbers(text: str) -> list[int]:
    try:
        return [] if text == _START else [int(number) for number in text.split()]
    except ValueError:
        raise NotationError(f"history: {text!r} is neither '{_START}' nor a list of action numbers") from None


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
        f"its actions are numbered beyond {ACTIONS_MAX - 1}": (
            max(spiel.num_distinct_actions(), spiel.max_chance_outcomes()) > ACTIONS_MAX
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
    """Draw a world as a trial: check that the game can, and that the history of the drawn state leads to that state."""
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
