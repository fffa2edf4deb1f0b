"""Tables in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table of Kuhn or Leduc poker in words."""

    cards: tuple[str | None, str | None]  # of each seat; None: not dealt yet, "?": the observer does not see it
    public_card: str | None
    moves: tuple[tuple[str, ...], ...]  # of each round of betting
    stakes: tuple[int, int]  # chips each seat has put in
    first: int
    to_act: int | None  # a seat, chance (-1), or None when the game is over
    observer: int | None = None
