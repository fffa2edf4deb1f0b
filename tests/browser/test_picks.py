"""The picks of the page: every legal action is reached by exactly one walk, and no walk ends elsewhere.

Node runs the page's own code on views and actions of games that the engine and the independent implementation played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.protobuf import json_format
from reference import GAMES, move_text, reference_games, start_of
from tables import ALL_IDS, ALL_SPECS, random_game

from engine_cy import CHANCE, Position, new_game
from engine_cy.record import Record
from server.codec import views

Code = Callable[..., list[Any]]
Walk = Callable[..., list[list[str]]]


@pytest.fixture(scope="module")
def walk(page_code: Code) -> Walk:
    """Return a function that passes positions to the page's code, and returns the faults of each."""
    return lambda positions, *arguments: page_code("picks.ts", map(asked, positions), *arguments)


def asked(position: Position) -> dict[str, object]:
    """Return the view of the seat to act and its legal actions, as the service sends them to a page."""
    assert position.to_act is not None
    view = position.view(position.to_act)
    actions = [json_format.MessageToDict(views.write_action(action)) for action in view.legal_actions()]
    return {"view": json_format.MessageToDict(views.write_view(view)), "actions": actions}


def choosing(positions: Iterator[Position], every: int = 1) -> Iterator[Position]:
    for number, position in enumerate(positions):
        if number % every == 0 and position.to_act not in (None, CHANCE) and not position.is_over:
            yield position


@pytest.mark.parametrize("spec", ALL_SPECS, ids=ALL_IDS)
def test_every_legal_action_is_one_walk_of_picks(spec: Any, walk: Walk) -> None:
    played = [position for seed in range(2) for position, _ in random_game(new_game(*spec), seed)]
    faults = walk(choosing(iter(played), every=2))
    assert len(faults) > 20
    assert [each for each in faults if each] == []


@pytest.mark.slow
def test_every_legal_action_of_the_reference_games_is_one_walk_of_picks(walk: Walk) -> None:
    """Ask at every tenth ply of all 576 games."""
    n_games = n_positions = 0
    for path in sorted(GAMES.glob("*.jsonl.gz")):
        played: list[Position] = []
        for reference in reference_games(path):
            record = Record(start_of(reference), tuple(move_text(step["move"]) for step in reference["steps"]))
            played += [table for table in list(record.tables())[::10] if isinstance(table, Position)]
            n_games += 1
        faults = walk(choosing(iter(played)))
        n_positions += len(faults)
        assert [each for each in faults if each] == [], path
    assert n_games == 576
    assert n_positions > 2000


def test_two_actions_with_the_same_picks_are_found(walk: Walk) -> None:
    """Twin of the tests above: they can fail."""
    start = new_game("oriflamme", None, 3).deal(1)
    [faults] = walk(iter([start]), "same-picks")
    assert len(faults) == 1
