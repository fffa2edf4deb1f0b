"""A game's door from outside: its table of C functions (engine_cy/game_api.pxd), to call and to damage."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import engine_cy
from engine_cy import Game, Position

SPECTATOR = 7

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
}
_TABLE = re.search(
    r"^cdef struct GameApi:\n(.*?)^\S",
    Path(engine_cy.__path__[0], "game_api.pxd").read_text(),
    re.DOTALL | re.MULTILINE,
)
assert _TABLE is not None
# All functions in the order of the table, behind the size of a state.
_ORDER = re.findall(r"^    \S+ \(\*(\w+)\)", _TABLE[1], re.MULTILINE)


class Door:
    """The functions of a game by name, as they are at the moment."""

    def __init__(self, game: Game) -> None:
        # A Game begins with what every Python object has, Cython's table of methods, and the pointers that game.pxd
        # lists: the door, the knowledge, the rules.
        at = id(game) + object.__basicsize__ + ctypes.sizeof(_POINTER)
        api, _, self.rules = (_POINTER * 3).from_address(at)
        assert api is not None
        assert ctypes.c_size_t.from_address(api).value == game.state_size
        self.game = game
        first = api + 8
        self._slots = {name: _POINTER.from_address(first + 8 * i) for i, name in enumerate(_ORDER)}

    def __getattr__(self, name: str) -> Any:
        address = self._slots[name].value
        assert address is not None
        return _FUNCTIONS[name](address)

    def key_of(self, position: Position, observer: int) -> int:
        """The key of a position with nothing blotted out, as a search asks for it."""
        return int(self.key(self.rules, bytes(position), observer))

    @contextmanager
    def replaced(self, **functions: Callable[..., Any]) -> Iterator[None]:
        """Have Python functions in the place of some, for all games that share this door."""
        kept = {name: _FUNCTIONS[name](function) for name, function in functions.items()}
        before = {name: self._slots[name].value for name in functions}
        for name, function in kept.items():
            self._slots[name].value = ctypes.cast(function, _POINTER).value
        try:
            yield
        finally:
            for name, address in before.items():
                self._slots[name].value = address


def state_at(address: int, game: Game) -> bytes:
    """The bytes of the state there."""
    return ctypes.string_at(address, game.state_size)


def write_state(address: int, state: bytes) -> None:
    ctypes.memmove(address, state, len(state))
