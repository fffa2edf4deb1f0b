"""Tables in words: their public part, and the cards of each seat."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """The public part of a table of Kuhn or Leduc poker."""

    public_card: str | None
    moves: tuple[tuple[str, ...], ...]  # of each round of betting
    stakes: tuple[int, int]  # chips each seat has put in
    first: int
    to_act: int | None  # a seat, chance (-1), or None when the game is over


@dataclass(frozen=True)
class Parts:
    """A table with the cards that its observer knows; all cards without an observer."""

    table: Table
    cards: tuple[str | None, str | None]  # of each seat; None: not dealt yet, "?": the observer does not see it
    observer: int | None = None
