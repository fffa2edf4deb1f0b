"""Searches of games in Python."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref
from typing import Any

import pytest
from liars_dice import LiarsDice
from questions import essence

from engine_cy import EngineError, View, python_game
from solver import Budget, SearchQuestion, compare, solve
from solver.pool.base import compute_here


class Failing(LiarsDice):
    """Liar's Dice that fails after a bid of 1x4."""

    def to_act(self, state: Any) -> int | None:
        return 1 // (4 - len(state.bids)) * 0 or super().to_act(state)


def view(text: str = "1 ?, first A | seen by A", rules: type[LiarsDice] = LiarsDice) -> View:
    return python_game(rules, "1x4", 2).view(text)


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("2 ? 1x4, first B | seen by A", "liar"),
        ("1 ? 2x2, first B | seen by A", "liar"),
        ("4 ? 2x4, first B | seen by A", "liar"),
    ],
)
def test_the_search_finds_good_moves(text, best):
    answer = solve(view(text), Budget(iterations=2000), seed=1)
    assert str(answer.best) == best
    assert answer.knowledge == "none"


def test_a_call_is_valued_by_the_dice_that_it_may_meet():
    """The bidder of 2x1 against a caller with a two wins with one of the four faces: never."""
    comparison = compare(view("2 ? 2x1, first B | seen by A"), ["liar", "bid 2x2"], Budget(iterations=2000))
    assert comparison.moves[0].win is not None
    assert comparison.moves[0].win.mean == 1


def test_equal_seeds_give_equal_answers_on_any_number_of_workers():
    question = view("1 ? 1x2, first B | seen by A")
    budget = Budget(iterations=600)

    def search(seed: int, **options: Any) -> Any:
        return essence(solve(pickle.loads(pickle.dumps(question)), budget, seed=seed, **options))

    assert search(1) == search(1) != search(2)
    assert search(1, shares=3) == essence(compute_here(SearchQuestion(question, budget, seed=1, shares=3)))


def test_the_answer_depends_on_the_own_die_only():
    game = python_game(LiarsDice, "1x4", 2)
    answers = [
        essence(solve(game.position(f"{ours} {theirs} 1x2, first B").view(0), Budget(iterations=400)))
        for ours, theirs in ((1, 2), (1, 4), (3, 2))
    ]
    assert answers[0] == answers[1] != answers[2]


def test_the_public_last_call_is_forced_and_other_choices_are_not():
    assert str(view("1 ? 2x4, first B | seen by A").forced_action) == "liar"
    assert view("1 ? 2x3, first B | seen by A").forced_action is None


@pytest.mark.parametrize("shares", [1, 3])
def test_an_error_ends_the_search_and_harms_no_other(shares):
    failing, sound = view("1 ? 1x2, first B | seen by A", Failing), view("1 ? 1x2, first B | seen by A")
    expected = essence(solve(sound, Budget(iterations=300)))
    answers: list[Any] = []
    thread = threading.Thread(
        target=lambda: answers.extend(essence(solve(sound, Budget(iterations=300))) for _ in "123")
    )
    thread.start()
    for _ in range(3):
        with pytest.raises(EngineError, match=r"Failing.to_act \(test_python_game.py, line \d+\): ZeroDivisionError"):
            solve(failing, Budget(iterations=10**9), shares=shares)
    thread.join()
    assert answers == [expected] * 3
    # Its own next search fails alone, too, and a state before the error can be used.
    assert failing.game.check() == 0
    assert failing.sample_world(1).play("liar").is_over


def test_a_view_that_tells_the_truth_ends_the_search():
    class Telling(LiarsDice):
        def observe(self, state: Any, player: int | None) -> Any:
            return state

        def sample_world(self, view: Any, player: int, rng: Any) -> Any:
            return view._replace(dice=(view.dice[0], (rng.randint(1, 4),)))

    question = python_game(Telling, "1x4", 2).position("1 2, first A").view(0)
    with pytest.raises(
        EngineError, match=r"Telling.sample_world: player 0 can distinguish '1 \d, first A' from the view"
    ):
        solve(question, Budget(iterations=100))


def test_a_game_is_freed_with_its_states():
    question = view()
    solve(question, Budget(iterations=500))
    reference = weakref.ref(question.game)
    del question
    gc.collect()
    assert reference() is None
