"""The class to subclass for a game in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, ClassVar, Generic, TypeVar

State = TypeVar("State")


class GameRules(ABC, Generic[State]):
    """The rules of a game in Python.

    Subclass it, and `python_game(YourRules, players=3)` makes a game that every search can play. A package that
    declares the class as an entry point in the group `eminence.games` adds it to `new_game` by its name.

    A state is a value of your own, such as a NamedTuple, and is never changed: `apply` returns a new one. Players are
    seats 0, 1, ...; chance, such as dice and deals, acts like a player by the name of CHANCE. Methods must depend on
    their arguments only: equal arguments, equal results. A method may be called from several threads, one at a time.
    """

    players: ClassVar[Sequence[int]] = range(2, 6)
    """The possible numbers of players, from 2 to 5."""

    rulesets: ClassVar[Sequence[str]] = ("standard",)
    """The names of the rulesets; the first is the default."""

    actions: Sequence[str] = ()
    """The texts of all actions of players and of chance, at most 65,536. `__init__` may set it, too."""

    payoff_range: tuple[float, float] = (0.0, 1.0)
    """The lowest and the highest payoff. The engine scales payoffs to 0..1."""

    text_bytes: int = 752
    """The length of the longest `write` or `pack` in bytes, at most 752."""

    states_cached: int = 4096
    """How many states the engine keeps as objects. The engine reads the others back when it needs them."""

    numbered: bool = False
    """Whether `legal_actions`, `apply` and `advance` use numbers, the indices of `actions`, instead of texts."""

    has_spectator: bool = True
    """Whether `observe` and `information` accept None as the player: a spectator, who sees only public facts."""

    def __init__(self, ruleset: str, players: int) -> None:
        self.ruleset = ruleset
        self.n_players = players

    # --- the course of a game ---

    @abstractmethod
    def start(self, first: int) -> State:
        """Return the start of a game, before chance has dealt or rolled anything; `first` is the first player."""

    @abstractmethod
    def to_act(self, state: State) -> int | None:
        """Return the seat to act, CHANCE, or None when the game is over."""

    @abstractmethod
    def legal_actions(self, state: State) -> Sequence[str] | Sequence[int]:
        """Return the legal actions of the seat to act, or of chance, each once.

        In a view, the engine calls it only if the observer is to act.
        """

    @abstractmethod
    def apply(self, state: State, action: Any) -> State:
        """Return the state after a legal action."""

    @abstractmethod
    def payoffs(self, state: State) -> Sequence[float]:
        """Return each seat's payoff at the end of the game, such as the share of the win."""

    # --- hidden information ---

    @abstractmethod
    def observe(self, state: State, player: int | None) -> State:
        """Return the view of `player`: the state without the facts that the player does not see."""

    @abstractmethod
    def sample_world(self, view: State, player: int, rng: Random) -> State:
        """Draw a state whose view for `player` is `view`, each as often as chance leads to it.

        Take all randomness from `rng`: then equal seeds give equal answers.
        """

    # --- text ---

    @abstractmethod
    def write(self, state: State) -> str:
        """Return the text of a state or view, on one line. Different states have different texts."""

    @abstractmethod
    def read(self, text: str) -> State:
        """Return the state of a text that `write` wrote. Raise a ValueError that says what is wrong with others."""

    # --- optional methods ---

    def chances(self, state: State) -> Sequence[float] | None:
        """Return the probabilities of `legal_actions` where chance is to act; None if all are equally likely."""
        return None

    def worlds(self, view: State, player: int) -> Iterable[State]:
        """Yield all states whose view for `player` is `view`, each once. Without it, worlds are drawn, not counted."""
        raise NotImplementedError

    def information(self, state: State, player: int | None) -> str:
        """Return a text that is equal for two states exactly if `player` sees the same.

        By default, this is the text of the view. Searches ask for it often: a faster method is worth writing.
        """
        return self.write(self.observe(state, player))

    def scores(self, state: State) -> Sequence[int] | None:
        """Return each seat's current points. By default, they are the payoffs at the end, rounded."""
        return None

    def round(self, state: State) -> int:
        """Return the current round, from 1."""
        return 1

    def describe(self, state: State, player: int | None) -> str:
        """Return a state, or the view of `player`, in words for people."""
        return self.write(state)

    def read_view(self, text: str, player: int) -> State:
        """Return the view of `player` with a text."""
        return self.read(text)

    def copy(self, state: State) -> State:
        """Return a state for `advance`: of mutable states a copy."""
        return state

    def advance(self, state: State, action: Any) -> State:
        """Return the state after an action. `state` comes from `copy` and is not used again: it may be changed."""
        return self.apply(state, action)

    def pack(self, state: State) -> bytes:
        """Return a state as bytes, where they are shorter than the text or made sooner."""
        return self.write(state).encode()

    def unpack(self, data: bytes) -> State:
        """Return the state of bytes that `pack` returned."""
        return self.read(data.decode())
