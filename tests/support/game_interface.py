"""Call and replace the C functions of a game, which engine_cy/game_api.pxd declares."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import engine_cy
from engine_cy import CHANCE, Action, Game, Position, Rng

# As in engine_cy/game_api.pxd.
MAX_PLAYERS, MAX_ACTIONS, DECISION_UNFINISHED, SPECTATOR = 5, 512, 2, 7

_POINTER, _INT, _WORD = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64
_FUNCTIONS = {
    "deal": ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _INT, _POINTER),
    "to_act": ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER),
    "legal": ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _POINTER),
    "apply": ctypes.CFUNCTYPE(None, _POINTER, _POINTER, ctypes.c_uint32),
    "part": ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER),
    "round": ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER),
    "play_out": ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _POINTER),
    "payoffs": ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _POINTER),
    "scores": ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _POINTER),
    "observe": ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _INT, _POINTER),
    "key": ctypes.CFUNCTYPE(_WORD, _POINTER, _POINTER, _INT),
    "sample": ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _INT, _POINTER, _POINTER),
    "count_secrets": ctypes.CFUNCTYPE(_WORD, _POINTER, _POINTER, _INT, _INT),
    "write_secret": ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _INT, _INT, _WORD),
    # Knowledge
    "prior": ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _POINTER, _INT, _POINTER),
    "choose": ctypes.CFUNCTYPE(ctypes.c_uint32, _POINTER, _POINTER, _POINTER),
    "evaluate": ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _POINTER),
}
_PXD = Path(engine_cy.__path__[0], "game_api.pxd").read_text()


def _functions_of(struct: str) -> list[str]:
    """Return the names of the functions of a struct, in its order; a flag between them takes as much room as one."""
    fields = re.search(rf"^cdef struct {struct}:\n(.*?)^(?=\S)", f"{_PXD}\nend", re.DOTALL | re.MULTILINE)
    assert fields is not None
    return re.findall(r"^    (?:\w+_f|bint) (\w+)$", fields[1], re.MULTILINE)


def _slots_at(address: int, names: list[str]) -> dict[str, Any]:
    return {name: _POINTER.from_address(address + 8 * i) for i, name in enumerate(names)}


class GameInterface:
    """The current functions of a game by name, with those of its knowledge if it has any."""

    def __init__(self, game: Game) -> None:
        # A Game begins with the header of every Python object, Cython's table of methods, and the pointers that
        # values.pxd lists: the interface, the knowledge, the rules.
        pointers = id(game) + object.__basicsize__ + ctypes.sizeof(_POINTER)
        api, knowledge, self.rules = (_POINTER * 3).from_address(pointers)
        assert api is not None
        assert ctypes.c_size_t.from_address(api + 8).value == game.state_size
        self.game = game
        # The functions of a game stand behind the version and sizes of its headers, and the size of a state.
        self._slots = _slots_at(api + 16, _functions_of("GameApi"))
        if knowledge is not None:
            self._slots |= _slots_at(knowledge, _functions_of("Knowledge"))

    def __getattr__(self, name: str) -> Any:
        address = self._slots[name].value
        assert address is not None
        return _FUNCTIONS[name](address)

    def key_of(self, position: Position, observer: int) -> int:
        """Return the key of a whole position, as a search computes it: `observe` is not called first."""
        return int(self.key(self.rules, bytes(position), observer))

    @contextmanager
    def replaced(self, **functions: Callable[..., Any]) -> Iterator[None]:
        """Replace some functions by Python functions, for all games that share this interface."""
        replacements = {name: _FUNCTIONS[name](function) for name, function in functions.items()}
        originals = {name: self._slots[name].value for name in functions}
        for name, function in replacements.items():
            self._slots[name].value = ctypes.cast(function, _POINTER).value
        try:
            yield
        finally:
            for name, address in originals.items():
                self._slots[name].value = address


# --- knowledge ------------------------------------------------------------------------------------------------


class _Step:
    """A state inside a decision, and its legal actions."""

    def __init__(self, interface: GameInterface, state: bytes) -> None:
        self._interface = interface
        self._state = ctypes.create_string_buffer(state, len(state))
        self._actions = (ctypes.c_uint32 * MAX_ACTIONS)()
        self.has_more = bool(interface.part(interface.rules, self._state) & DECISION_UNFINISHED)

    def priors(self) -> list[tuple[int, float]]:
        n = self._interface.legal(self._interface.rules, self._state, self._actions)
        shares = (ctypes.c_float * n)()
        self._interface.prior(self._interface.rules, self._state, self._actions, n, shares)
        return list(zip(self._actions[:n], shares, strict=True))

    def choose(self, rng: ctypes.Array[ctypes.c_uint64]) -> int:
        return int(self._interface.choose(self._interface.rules, self._state, rng))

    def after(self, action: int) -> _Step:
        state = ctypes.create_string_buffer(self._state.raw, len(self._state))
        self._interface.apply(self._interface.rules, state, action)
        return _Step(self._interface, state.raw)


def prior_of(position: Position) -> dict[Action, float]:
    """Return the prior of each whole decision, or an empty dict unless a player is to act."""

    def extend(step: _Step, steps: tuple[int, ...], share: float) -> None:
        for action, prior in step.priors():
            if step.has_more:
                extend(step.after(action), (*steps, action), share * prior)
            else:
                priors[position.game.action_from_steps((*steps, action))] = share * prior

    priors: dict[Action, float] = {}
    if position.to_act not in (None, CHANCE):
        extend(_Step(GameInterface(position.game), bytes(position)), (), 1.0)
    return priors


def choose_action(position: Position, seed: int = 0) -> Action:
    """Return the whole decision that a playout takes."""
    draws = Rng(seed)
    rng = (ctypes.c_uint64 * 4)(*[draws.bits() for _ in range(4)])
    step = _Step(GameInterface(position.game), bytes(position))
    steps = [step.choose(rng)]
    while step.has_more:
        step = step.after(steps[-1])
        steps.append(step.choose(rng))
    return position.game.action_from_steps(tuple(steps))


def evaluate_position(position: Position) -> tuple[float, ...]:
    """Return the payoff that each seat may expect."""
    interface = GameInterface(position.game)
    payoffs = (ctypes.c_double * MAX_PLAYERS)()
    interface.evaluate(interface.rules, bytes(position), payoffs)
    return tuple(payoffs[: position.game.n_players])


# --- states in memory -----------------------------------------------------------------------------------------


def state_at(address: int, game: Game) -> bytes:
    """Return the bytes of the state at an address."""
    return ctypes.string_at(address, game.state_size)


def write_state(address: int, state: bytes) -> None:
    ctypes.memmove(address, state, len(state))
