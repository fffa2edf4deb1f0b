"""Likely continuations in words.

A line of play holds actions as its observer would see them, but no tables. Worlds that fit the observer's view supply
these. Words that name a card which no seat has shown yet differ from world to world; such a step keeps its notation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eminence.v1 import view_pb2
from engine_cy import CHANCE, Position, Rng, View
from engine_cy.seats import CHANCE_SEAT, SEATS
from server.games.adapter import GameAdapter
from server.games.narration import Reader

# The least number of tables that agree on the words of a step, and the most worlds that replay a line for them.
AGREEING, WORLDS = 12, 200


class Step(NamedTuple):
    """A step of a line: the letter of its seat, or of chance, and its notation, which stands for missing words."""

    letter: str
    words: str
    notation: str


def told(adapter: GameAdapter, view: View, line: Sequence[view_pb2.SeenAction], reader: Reader) -> list[Step]:
    """Return the steps of a line that begins at a view, in words."""
    seats = [step.seat - 1 if step.seat else CHANCE for step in line]
    notations = [step.action.text for step in line]
    words = notations
    if type(adapter).choice is not GameAdapter.choice:  # a game with words
        words = _in_words(adapter, view, list(zip(seats, notations, strict=True)), reader)
    letters = (CHANCE_SEAT if seat == CHANCE else SEATS[seat] for seat in seats)
    return list(map(Step, letters, words, notations))


def _in_words(adapter: GameAdapter, view: View, line: Sequence[tuple[int, str]], reader: Reader) -> list[str]:
    rng, words = Rng(view.key), [set[str]() for _ in line]
    n_tables = [0] * len(line)
    for _ in range(WORLDS):
        if n_tables and n_tables[-1] >= AGREEING:
            break
        for number, table in enumerate(_tables(view.sample_world(rng), view.observer, line, rng)):
            n_tables[number] += 1
            if line[number][0] != CHANCE and n_tables[number] <= AGREEING:
                words[number].add(adapter.choice(table, line[number][1], reader))
    return [
        said.pop() if len(said) == 1 and n >= AGREEING else notation
        for said, n, (_, notation) in zip(words, n_tables, line, strict=True)
    ]


def _tables(world: Position, observer: int, line: Sequence[tuple[int, str]], rng: Rng) -> Iterator[View]:
    """Yield the observer's view before each step of a line, as long as the line is possible in a world."""
    for seat, notation in line:
        if world.to_act != seat:
            return
        possible = [action for action in world.legal_actions() if str(world.seen_action(action, observer)) == notation]
        if not possible:
            return
        yield world.view(observer)
        world = world.play(possible[rng.below(len(possible))])
