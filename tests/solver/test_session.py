"""A session follows a game from one seat: it asks what `solve` asks, and may go on with its tree."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from engine_cy import Position, Rng, new_game
from engine_cy.history import History
from solver import Analysis, Budget, InvalidBudgetError, Session, solve

SPECS: list[tuple[str, Any, int]] = [
    ("oriflamme", "en-2019", 3),
    ("oriflamme_prototype", "prototype", 2),
    ("castle_village_port", "house", 3),
]


def follow(session: Session, position: Position, rng: Rng) -> Position:
    """A random decision, played at the table and seen by the session's player."""
    actions = position.legal_actions()
    action = actions[rng.below(len(actions))]
    session.play(position.seen(action, session.view.observer))
    return position.play(action)


@pytest.mark.parametrize("spec", SPECS, ids=[spec[0] for spec in SPECS])
def test_without_its_tree_a_session_gives_the_answers_of_solve(spec: tuple[str, Any, int]) -> None:
    game = new_game(*spec)
    position, rng = game.deal(4), Rng(4)
    session = Session(position.view(1), reuse=False, seed=9)
    history = History(game)
    asked = 0
    while not position.is_over:
        assert session.view == position.view(1)
        if position.to_act == 1 and asked < 6:
            asked += 1
            found = session.solve(Budget(iterations=120))
            same = solve(position.view(1), Budget(iterations=120), seed=9, history=history)
            assert (found.moves, found.beliefs, found.best) == (same.moves, same.beliefs, same.best)
            assert found.reproducible
        before = position
        position = follow(session, position, rng)
        history.add(before, before_action(before, position))
        assert bytes(session.history) == bytes(history)
    assert asked == 6


def before_action(before: Position, after: Position) -> str:
    """What was done between two tables."""
    return next(str(action) for action in before.legal_actions() if before.play(action) == after)


@pytest.mark.parametrize("spec", SPECS, ids=[spec[0] for spec in SPECS])
def test_a_tree_lives_on_from_one_decision_to_the_next(spec: tuple[str, Any, int]) -> None:
    game = new_game(*spec)
    position = game.deal(6)
    seat = position.to_act if position.to_act is not None and position.to_act >= 0 else 0
    session = Session(position.view(seat), config="plain")
    rng = Rng(8)
    answers: list[Analysis] = []
    while not position.is_over and len(answers) < 5:
        if position.to_act == seat and len(position.legal_actions()) > 1:
            found = session.solve(Budget(iterations=500))
            answers.append(found)
            assert found.iterations == 500
            assert sum(move.visits for move in found.moves) == 500
            assert set(map(str, position.legal_actions())) == {str(move.action) for move in found.moves}
        position = follow(session, position, rng)
    assert answers[0].reproducible
    assert not any(answer.reproducible for answer in answers[1:])
    # What was found before is still there.
    assert all(later.nodes > earlier.nodes for earlier, later in itertools.pairwise(answers))


def test_what_was_found_counts_again() -> None:
    """Behind a move that everybody sees, the same nodes are found: fewer are new than in a tree of its own."""
    game = new_game("oriflamme", "en-2019", players=3)
    position = game.position("A:Spy B:Soldier* >A:Decree* C:Lord* B:Heir* | round 6 | points 5 5 5")
    session = Session(position.view(0), config="plain")
    first = session.solve(Budget(iterations=3000))
    position = position.play(first.best)
    session.play(str(first.best))
    while position.to_act != 0 and not position.is_over:
        action = position.legal_actions()[0]
        session.play(position.seen(action, 0))
        position = position.play(action)
    assert position.to_act == 0, "the position was meant to ask A again"
    fresh = solve(position.view(0), Budget(iterations=1000), config="plain")
    later = session.solve(Budget(iterations=1000))
    assert later.nodes - first.nodes < fresh.nodes


def test_a_full_tree_is_left_for_a_new_one() -> None:
    game = new_game("oriflamme", "en-2019", players=3)
    position, rng = game.deal(6), Rng(1)
    session = Session(position.view(0))
    sizes = []
    while not position.is_over:
        if position.to_act == 0 and len(position.legal_actions()) > 1:
            found = session.solve(Budget(iterations=4000, memory_mb=0.5))
            sizes.append(found.tree_bytes)
            assert found.tree_bytes <= 0.5 * 2**20
        position = follow(session, position, rng)
    assert any(later < earlier for earlier, later in itertools.pairwise(sizes))


def test_a_session_with_a_tree_has_one_worker() -> None:
    session = Session(new_game("oriflamme", "en-2019", players=3).deal(6).view(0))
    with pytest.raises(InvalidBudgetError, match="workers: a session that keeps its tree has one"):
        session.solve(Budget(iterations=10), workers=2)
