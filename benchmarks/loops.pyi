from engine_cy.support.rng import Rng
from engine_cy.values import Position

def play_outs(positions: list[Position], n: int, rng: Rng) -> int:
    """Play `n` random games from copies of `positions` in turn; return how many decisions had two options or more."""

def copy_by_memcpy(position: Position, n: int) -> None:
    """Copy the state `n` times with libc's memcpy, which is told the size at run time: what a search does."""

def copy_in_engine(position: Position, n: int) -> None:
    """Copy the state `n` times as the game's own code does, for which the compiler knows the size."""
