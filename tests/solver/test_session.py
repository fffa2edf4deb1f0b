"""A session follows a game from one seat: it answers like `solve`, and can reuse its tree."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from engine_cy import Action, Position, Rng, new_game
from engine_cy.action_log import History
from solver import Answer, Budget, Control, InvalidQuestionError, Session, solve
from solver.pool.threads import Threads

SPECS: list[tuple[str, Any, int]] = [
    ("oriflamme", "en-2019", 3),
    ("oriflamme_prototype", "prototype", 2),
    ("castle_village_port", "house", 3),
]


def follow(session: Session, position: Position, rng: Rng) -> Position:
    """Play a random action also in the session; return the table after it."""
    return position.play(follow_action(session, position, rng))


def follow_action(session: Session, position: Position, rng: Rng) -> Action:
    """Play a random action, as its player sees it, in the session; return the action."""
    actions = position.legal_actions()
    action = actions[rng.below(len(actions))]
    session.play(position.seen(action, session.view.observer))
    return action


@pytest.mark.parametrize("spec", SPECS, ids=[spec[0] for spec in SPECS])
def test_without_reuse_a_session_gives_the_answers_of_solve(spec: tuple[str, Any, int]) -> None:
    game = new_game(*spec)
    position, rng = game.deal(4), Rng(4)
    session = Session(position.view(1), reuse=False, seed=9)
    full_history = History(game)
    history = History(game)  # the actions as the session's player saw them
    n_decisions = 0
    while not position.is_over:
        assert session.view == position.view(1)
        if position.to_act == 1 and n_decisions < 6:
            n_decisions += 1
            answer = session.solve(Budget(iterations=120))
            expected = solve(position.view(1), Budget(iterations=120), seed=9, history=history)
            assert (answer.moves, answer.beliefs, answer.best) == (expected.moves, expected.beliefs, expected.best)
            assert answer.reproducible
            assert answer.question == expected.question
        action = follow_action(session, position, rng)
        history.add(position, position.seen(action, 1))
        full_history.add(position, action)
        position = position.play(action)
        assert session.history == history
        # Beliefs depend only on what all players saw.
        assert bytes(session.history) == bytes(full_history)
    assert n_decisions == 6


@pytest.mark.parametrize("spec", SPECS, ids=[spec[0] for spec in SPECS])
def test_a_tree_is_reused_at_the_next_decision(spec: tuple[str, Any, int]) -> None:
    game = new_game(*spec)
    position = game.deal(6)
    seat = position.to_act if position.to_act is not None and position.to_act >= 0 else 0
    session = Session(position.view(seat), config="plain")
    rng = Rng(8)
    answers: list[Answer] = []
    while not position.is_over and len(answers) < 5:
        if position.to_act == seat and len(position.legal_actions()) > 1:
            answer = session.solve(Budget(iterations=500))
            answers.append(answer)
            assert answer.iterations == 500
            assert sum(move.visits for move in answer.moves) == 500
            assert set(map(str, position.legal_actions())) == {str(move.action) for move in answer.moves}
        position = follow(session, position, rng)
    assert answers[0].reproducible
    assert not any(answer.reproducible for answer in answers[1:])
    # The nodes of earlier decisions are still in the tree.
    assert all(later.nodes > earlier.nodes for earlier, later in itertools.pairwise(answers))


def test_a_reused_tree_gets_fewer_new_nodes_than_a_fresh_one() -> None:
    """The search after a public move visits nodes that the first search made."""
    game = new_game("oriflamme", "en-2019", players=3)
    position = game.position("A:Spy B:Soldier* >A:Decree* C:Lord* B:Heir* | round 6 | points 5 5 5")
    session = Session(position.view(0), config="plain")
    first = session.solve(Budget(iterations=3000))
    assert first.best is not None
    position = position.play(first.best)
    session.play(str(first.best))
    while position.to_act != 0 and not position.is_over:
        action = position.legal_actions()[0]
        session.play(position.seen(action, 0))
        position = position.play(action)
    assert position.to_act == 0, "A should act again in this position"
    fresh = solve(position.view(0), Budget(iterations=1000), config="plain")
    later = session.solve(Budget(iterations=1000))
    assert later.nodes - first.nodes < fresh.nodes


def test_a_full_tree_is_replaced_by_a_new_one() -> None:
    game = new_game("oriflamme", "en-2019", players=3)
    position, rng = game.deal(6), Rng(1)
    session = Session(position.view(0))
    sizes = []
    while not position.is_over:
        if position.to_act == 0 and len(position.legal_actions()) > 1:
            answer = session.solve(Budget(iterations=4000, memory_mb=0.5))
            sizes.append(answer.tree_bytes)
            assert answer.tree_bytes <= 0.5 * 2**20
        position = follow(session, position, rng)
    assert any(later < earlier for earlier, later in itertools.pairwise(sizes))


def test_a_session_with_a_tree_has_one_share_and_no_pool() -> None:
    session = Session(new_game("oriflamme", "en-2019", players=3).deal(6).view(0))
    with pytest.raises(InvalidQuestionError, match="shares: a session that reuses its tree has one"):
        session.solve(Budget(iterations=10), shares=2)
    with Threads(1) as pool, pytest.raises(InvalidQuestionError, match="pool: a session that reuses its tree has one"):
        session.solve(Budget(iterations=10), pool=pool)


def test_a_stopped_search_does_not_stop_the_next_one() -> None:
    session = Session(new_game("oriflamme", "en-2019", players=3).deal(6).view(0))
    control = Control()
    control.stop()
    assert session.solve(Budget(iterations=10), control=control).stopped_by == "stopped"
    control = Control(lambda _: control.stop(), 1)
    assert session.solve(Budget(iterations=10**9), control=control).stopped_by == "stopped"
    assert session.solve(Budget(iterations=100)).iterations == 100
