"""Offer our games as OpenSpiel games, for its algorithms and bots. Needs the extra `openspiel`.

    from solver.openspiel import ours_in_openspiel
    ours_in_openspiel.register()
    game = pyspiel.load_game("eminence_oriflamme(ruleset=revised,players=4,first=1)")

**Parameters**: `ruleset`, an edition's name; `players`; `first`, the first player.

**Chance**: every deal is explicit. It consists of parts with few outcomes each: each family of Oriflamme sets cards
aside (120 ways), each deck of Castle, Village, Port is dealt card by card from the top, and poker uses the engine's own
chance actions. All probabilities are therefore exact, a history is complete and replays, and no state holds a random
generator. Whole deals would be 1.7 million outcomes for three players of Oriflamme. Deals drawn from a seed
(SAMPLED_STOCHASTIC) would avoid this, but algorithms that enumerate outcomes refuse such games.

**Actions** are whole decisions, numbered from 0 in an order that depends only on the ruleset and the number of players;
`action_to_string` writes them in our notation, and `string_to_action` reads it. Chance has numbers of its own.

**Returns**: the share of the win minus 1/players, so that returns add up to zero; in the two pokers chips, as usual.

**Strings**: the information state is a player's whole information, line by line as in a record (perfect recall); the
observation is the text of their view. There are no tensors.

**Bots**: an ISMCTS needs `resample_from_infostate`. OpenSpiel's Python bot calls it and plays all these games
(`ISMCTSBot` of `open_spiel.python.algorithms.ismcts`; `step` and `get_policy`). Its C++ bot cannot: OpenSpiel 2.0.2
does not forward the call to a game written in Python, and `pyspiel.ISMCTSBot.get_policy` fails with
"ResampleFromInfostate() not implemented". Do not call `step` of a C++ search on any game written in Python: it releases
the GIL, and the process crashes. `pyspiel.MCTSBot.mcts_search` holds the GIL and works, but it sees hidden information.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Final

from engine_cy import Action, Position, Rng, new_game
from engine_cy.openspiel_terms import Deal, GameTerms, Step, registrations
from engine_cy.seats import SEATS
from solver.extras import importing

with importing("openspiel", __name__):
    import pyspiel

PREFIX: Final = "eminence_"
CHANCE: Final = int(pyspiel.PlayerId.CHANCE)
TERMINAL: Final = int(pyspiel.PlayerId.TERMINAL)

REGISTRATIONS: Final = registrations()


@lru_cache(maxsize=32)
def terms_of(game_id: str, ruleset: str, players: int, first: int) -> GameTerms:
    terms = REGISTRATIONS[game_id].terms(new_game(game_id, ruleset, players), first)
    terms.root = HistoryNode(terms, None, 0, (), None)
    return terms


# --- the course of a game -----------------------------------------------------------------------------------------


class HistoryNode:
    """A node of a game's history, linked to those before it. It is immutable, so that cloned states share it."""

    __slots__ = ("_information", "_options", "before", "deal", "number", "player", "position", "terms")

    def __init__(
        self, terms: GameTerms, before: HistoryNode | None, number: int, deal: Deal, position: Position | None
    ) -> None:
        self.terms = terms
        self.before = before
        self.number = number  # of the action taken at `before`
        self.deal = deal
        if position is None and len(deal) == terms.deal_size:
            position = terms.start(deal)
        self.position = position  # None while the deal is not finished
        seat = CHANCE if position is None else position.to_act
        self.player: int = TERMINAL if seat is None else seat
        self._options: list[int] | None = None
        self._information: dict[int, str] = {}

    def options(self) -> list[int]:
        """Return the numbers of the legal actions, in order."""
        if self._options is None:
            if self.position is None:
                self._options = list(self.terms.outcomes(self.deal))
            else:
                numbers = self.terms.outcome_numbers if self.player == CHANCE else self.terms.numbers
                self._options = sorted([numbers[action] for action in self.position.legal_actions()])
        return self._options

    def after(self, number: int) -> HistoryNode:
        if self.position is None:
            if number not in self.options():
                raise ValueError(f"outcome: {number} is not possible after {self}")
            return HistoryNode(self.terms, self, number, (*self.deal, number), None)
        return HistoryNode(self.terms, self, number, self.deal, self.position.play(self.action(number)))

    def action(self, number: int) -> Action:
        """Return our action with this number."""
        actions = self.terms.chance if self.player == CHANCE else self.terms.actions
        if not 0 <= number < len(actions):
            raise ValueError(f"action: {number} is not in 0..{len(actions) - 1}")
        return actions[number]

    def text(self, player: int, number: int) -> str:
        if player != CHANCE:
            return self.terms.texts[number]
        elif self.position is None:
            return self.terms.outcome_text(self.deal, number)
        return str(self.terms.chance[number])

    def information(self, player: int) -> str:
        """Return the information state of `player`: a line for each observation. Results are cached in the nodes."""
        missing: list[HistoryNode] = []
        node = self
        while player not in node._information:
            if node.before is None or node.before.position is None or self.terms.remembers:
                node._information[player] = node.beginning(player)
            else:
                missing.append(node)
                node = node.before
        for after in reversed(missing):
            after._information[player] = f"{node._information[player]}\n{node.line(after.number, player)}"
            node = after
        return self._information[player]

    def beginning(self, player: int) -> str:
        """Return the first information of `player`: their part of the deal, or the view if there was no deal."""
        return self.terms.deal_text(self.deal, player) if self.deal else self.observation(player)

    def line(self, number: int, player: int) -> str:
        """Return the observation of `player` of the action `number`, taken here."""
        assert self.position is not None
        seat = "*" if self.player == CHANCE else SEATS[self.player]
        return f"{seat} {self.position.seen(self.action(number), player)}"

    def observation(self, player: int) -> str:
        """Return the current view of `player`, as text."""
        return self.terms.deal_text(self.deal, player) if self.position is None else str(self.position.view(player))

    def returns(self) -> list[float]:
        if self.position is None or self.player != TERMINAL:
            return [0.0] * self.terms.game.n_players
        mean = 1 / self.terms.game.n_players if self.terms.shares else 0
        return [paid - mean for paid in self.position.payoffs]

    def path(self) -> list[HistoryNode]:
        """Return all nodes, from the first to this one."""
        nodes = [self]
        while (before := nodes[-1].before) is not None:
            nodes.append(before)
        return nodes[::-1]

    def __deepcopy__(self, memo: object) -> HistoryNode:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        first, *rest = self.path()
        start = None if first is self.terms.root else first.position
        terms = self.terms
        arguments = (terms.game.id, terms.game.spec[1], terms.game.n_players, terms.first)
        return _replay, (arguments, start, first._information if start else {}, [node.number for node in rest])

    def __str__(self) -> str:
        if self.position is not None:
            return str(self.position)
        texts = [node.before.text(CHANCE, node.number) for node in self.path() if node.before is not None]
        return " | ".join(texts) or "the deal"


def _start_at(terms: GameTerms, position: Position, information: dict[int, str]) -> HistoryNode:
    """Start a game at `position`, with the earlier information of the players."""
    node = HistoryNode(terms, None, 0, (), position)
    node._information.update(information)
    return node


def _replay(
    arguments: tuple[str, str, int, int], start: Position | None, information: dict[int, str], numbers: list[int]
) -> HistoryNode:
    terms = terms_of(*arguments)
    node = terms.root if start is None else _start_at(terms, start, information)
    for number in numbers:
        node = node.after(number)
    return node


# --- the interface of OpenSpiel -----------------------------------------------------------------------------------


class EminenceGame(pyspiel.Game):  # type: ignore[misc]
    """One of our games, as OpenSpiel's `Game`."""

    game_id: str

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        defaults = REGISTRATIONS[self.game_id]
        arguments = {"ruleset": defaults.ruleset, "players": defaults.players, "first": 0, **(params or {})}
        players, first = arguments["players"], arguments["first"]
        if not 0 <= first < players:
            raise ValueError(f"first: {first} is not in 0..{players - 1}")
        self.terms = terms = terms_of(self.game_id, arguments["ruleset"], players, first)
        lowest, highest = terms.utility_range
        info = pyspiel.GameInfo(
            num_distinct_actions=len(terms.actions),
            max_chance_outcomes=terms.max_outcomes,
            num_players=players,
            min_utility=lowest,
            max_utility=highest,
            utility_sum=0.0,
            max_game_length=terms.max_decisions,
        )
        super().__init__(_game_type(self.game_id), info, arguments)

    def new_initial_state(self) -> EminenceState:
        return EminenceState(self)

    def max_chance_nodes_in_history(self) -> int:
        return self.terms.max_chances

    def action_to_string(self, player: int, number: int) -> str:
        root: HistoryNode = self.terms.root
        return root.text(player, number)

    def make_py_observer(self, kind: Any = None, params: Any = None) -> EminenceObserver | None:
        """Return an observer of one player's information; None for a kind with only its public or private part."""
        if params:
            raise ValueError(f"observer: {params} are not possible; an observer has no parameters")
        kind = kind or pyspiel.IIGObservationType(perfect_recall=False)
        if not kind.public_info or kind.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            return None
        return EminenceObserver(kind.perfect_recall)

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (str(self),)


# A class for each game, not a factory function: OpenSpiel releases its reference after Python has shut down, which
# crashes unless another reference exists. A class refers to itself.


GAMES: Final[tuple[type[EminenceGame], ...]] = tuple(
    type(f"{game_id.title().replace('_', '')}Game", (EminenceGame,), {"game_id": game_id}) for game_id in REGISTRATIONS
)


class EminenceState(pyspiel.State):  # type: ignore[misc]
    """A node of a game's history, as OpenSpiel's `State`."""

    # OpenSpiel copies and pickles the attributes one by one, so there is only one.
    _node: HistoryNode

    def __init__(self, game: EminenceGame) -> None:
        super().__init__(game)
        self._node = game.terms.root

    def current_player(self) -> int:
        return self._node.player

    def is_terminal(self) -> bool:
        return self._node.player == TERMINAL

    def _legal_actions(self, player: int) -> list[int]:
        return self._node.options()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        outcomes = self._node.options()
        return [(outcome, 1 / len(outcomes)) for outcome in outcomes]

    def _apply_action(self, action: int) -> None:
        self._node = self._node.after(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return self._node.text(player, action)

    def returns(self) -> list[float]:
        return self._node.returns()

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> EminenceState:
        """Draw a state that `player` cannot distinguish from this one; worlds that fit the view are equally likely.

        Its history leads there with the same observations of `player` on the way; it is any of several such histories.
        A state made by `from_position` has no history, so the drawn state starts at the world, without history.
        """
        node = self._node
        if node.position is None:
            raise ValueError("resample: the deal is not finished")
        world = node.position.view(player).sample_world(Rng(int(sampler() * 2**53)))
        game: EminenceGame = self.get_game()
        state = game.new_initial_state()
        first, *rest = node.path()
        if first is not node.terms.root:
            state._node = _start_at(node.terms, world, {player: node.information(player)})
            return state
        steps = [Step(n.before.player, n.number) for n in rest if n.before is not None and n.before.position]
        deal, numbers = node.terms.rebuild(node.deal, steps, world, player)
        for number in (*deal, *numbers):
            state.apply_action(number)
        if state._node.position != world:
            raise AssertionError(f"resample: {deal} and {numbers} lead to {state}, not to {world}")
        return state

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_state, (str(self.get_game()), self.serialize())

    def __str__(self) -> str:
        return str(self._node)


class EminenceObserver:
    """An observer that writes one player's information as text."""

    tensor = None

    def __init__(self, perfect_recall: bool) -> None:
        self.perfect_recall = perfect_recall
        self.dict: dict[str, Any] = {}

    def set_from(self, state: EminenceState, player: int) -> None:
        """Do nothing: there is no tensor to write."""

    def string_from(self, state: EminenceState, player: int) -> str:
        return state._node.information(player) if self.perfect_recall else state._node.observation(player)


@cache
def _game_type(game_id: str) -> Any:
    registration = REGISTRATIONS[game_id]
    return pyspiel.GameType(
        short_name=PREFIX + game_id,
        long_name=registration.long_name,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.ZERO_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=registration.most,
        min_num_players=registration.least,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=False,
        parameter_specification={"ruleset": registration.ruleset, "players": registration.players, "first": 0},
    )


# --- functions for callers ----------------------------------------------------------------------------------------


def register() -> list[str]:
    """Make our games known to `pyspiel.load_game`; return their names. Calling it again does nothing."""
    known = set(pyspiel.registered_names())
    types = [_game_type(game.game_id) for game in GAMES]
    for game_type, game in zip(types, GAMES, strict=True):
        if game_type.short_name not in known:
            pyspiel.register_game(game_type, game)
    return [game_type.short_name for game_type in types]


def _load(name: str) -> EminenceGame:
    register()
    game: EminenceGame = pyspiel.load_game(name)
    return game


def _load_state(name: str, text: str) -> EminenceState:
    state: EminenceState = _load(name).deserialize_state(text)
    return state


def as_position(state: EminenceState) -> Position:
    """Return the position of a state of one of our games."""
    if state._node.position is None:
        raise ValueError("state: the deal is not finished")
    return state._node.position


def from_position(position: Position) -> EminenceState:
    """Make a state at any position; it has no history, and its players remember nothing but their view."""
    game_id, ruleset, players = position.game.spec
    if game_id not in REGISTRATIONS or not isinstance(ruleset, str):
        raise ValueError(f"position: of {game_id} under {ruleset}; only the editions have a name in OpenSpiel")
    register()
    game = pyspiel.load_game(PREFIX + game_id, {"ruleset": ruleset, "players": players})
    state: EminenceState = game.new_initial_state()
    state._node = _start_at(state._node.terms, position, {})
    return state
