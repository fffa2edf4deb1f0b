"""Play actions from a position, and compare the scores."""

from __future__ import annotations

from engine_cy import Position


def play(position: Position, *actions: str) -> Position:
    """Play actions, and check the invariants of the position after each."""
    for action in actions:
        position = position.play(action)
        assert position.fault is None
    return position


def gains(scores: tuple[int, ...], after: Position) -> dict[str, int]:
    """Return the gain or loss of each seat whose score changed."""
    changes = zip("ABCDE", scores, after.scores, strict=False)
    return {seat: now - then for seat, then, now in changes if now != then}
