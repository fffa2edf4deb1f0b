from engine_cy.support.rng import Rng
from engine_cy.values import Position

def play_outs(positions: list[Position], n: int, rng: Rng) -> int:
    """Play `n` random games from copies of `positions` in turn; return the decisions with two options or more."""

def copy_by_memcpy(position: Position, n: int) -> None:
    """Copy the state `n` times with libc's memcpy, which gets the size at run time, as in a search."""

def copy_in_engine(position: Position, n: int) -> None:
    """Copy the state `n` times like the game's own code, with a size known to the compiler."""
