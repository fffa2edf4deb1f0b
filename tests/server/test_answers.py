"""Answers as they are written."""

from __future__ import annotations

import random
from typing import Any

import pytest
from call_counts import counted_calls
from mutations import SPECS
from tables import random_game

from eminence.v1 import solver_pb2 as pb
from engine_cy import View, new_game
from engine_cy.oriflamme.cards import PROTOTYPE, PUBLISHED
from server.codec import views
from server.codec.fields import CARDS
from server.messages.answers import add_beliefs, write_suggestion
from server.messages.requests import Caps, Grant, read_search
from server.services.core import suggest_cancelled
from server.services.searches import Lateness
from server.settings import Settings
from solver.beliefs import Belief
from solver.control import Control
from solver.named_beliefs import believe
from solver.pool.base import compute_here

GAMES = [spec for spec in SPECS if new_game(*spec).has_suspicions]
CARD_NAMES = {CARDS.write(card.id): card.name for card in PUBLISHED + PROTOTYPE}


def views_of(spec: Any, seeds: range) -> list[View]:
    found = []
    for seed in seeds:
        for position, _ in random_game(new_game(*spec), seed):
            found += [position.view(seat) for seat in range(position.game.n_players)]
    return found


def named(chances: Any) -> dict[str, float]:
    return {
        CARD_NAMES[one.oriflamme] if one.HasField("oriflamme") else str(one.value): one.probability for one in chances
    }


@pytest.mark.parametrize("spec", GAMES, ids=str)
def test_beliefs_are_written_as_they_are_said(spec: Any) -> None:
    for view in views_of(spec, range(2))[::7]:
        said, written = believe(Belief(view, None, 0.5)), pb.Suggestion()
        add_beliefs(written, said, view.game)
        assert [one.seat - 1 for one in written.beliefs] == [one.seat for one in said.seats]
        assert (written.effective_sample_size, written.fitting_worlds) == (said.effective_worlds, float(said.worlds))
        for one, of_seat in zip(written.beliefs, said.seats, strict=True):
            assert named(one.hand) == of_seat.hand
            spots = {(spot.slot, spot.depth, spot.nth): named(spot.cards) for spot in one.face_down}
            assert list(spots) == sorted(spots)
            if one.selected:
                assert [named(one.selected)] == [card.kinds for card in of_seat.cards]
            else:
                assert spots == {tuple(card.place.values()): card.kinds for card in of_seat.cards}


def forced_views(spec: Any) -> list[View]:
    found = [view for view in views_of(spec, range(4)) if view.forced_action is not None]
    assert found
    return random.Random(1).sample(found, min(len(found), 20))


THINKING = [
    pb.SuggestRequest(),
    pb.SuggestRequest(budget=pb.Budget(iterations=70, confidence=0.9)),
    pb.SuggestRequest(options=pb.Options(seed=2**64 - 1, shares=3, lines=2, belief=pb.BELIEF_UNIFORM)),
    pb.SuggestRequest(options=pb.Options(level=4), budget=pb.Budget(iterations=10**12)),
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_forced_move_is_answered_without_a_search(spec: Any) -> None:
    for view in forced_views(spec):
        for thinking in THINKING:
            request = pb.SuggestRequest(view=views.write_view(view))
            request.MergeFrom(thinking)
            asked = read_search(request, Caps.of(Settings()))
            assert asked.question is not None
            answer = write_suggestion(compute_here(asked.question), asked)
            assert (answer.stop_reason, answer.iterations, answer.reproducible) == (pb.STOP_REASON_FORCED, 0, True)
            assert [move.action for move in answer.candidates] == [answer.best] == [mix.action for mix in answer.mix]
            assert (answer.seed, answer.shares) == (asked.seed, asked.shares)
            assert bool(answer.fitting_worlds) == (asked.question.belief is not None)


def test_searches_end_earlier_by_what_most_are_late_and_no_more_than_a_part_of_their_time() -> None:
    lateness, draw = Lateness(), random.Random(2)
    assert lateness.of(100_000_000) == 0
    for _ in range(300):
        lateness.learn(int(draw.uniform(0, 10_000_000)))
    assert 7_000_000 < lateness.of(100_000_000) < 12_000_000  # nine of ten
    assert lateness.of(10_000_000) == 2_000_000
    for _ in range(300):
        lateness.learn(500_000_000)
    assert lateness.of(10**9) == 20_000_000
    for _ in range(300):
        lateness.learn(100_000)
    assert lateness.of(10**9) < 2_500_000
    assert lateness.of(-5) == 0


def searches(spec: Any, shares: int) -> list[Grant]:
    asked = []
    for view in views_of(spec, range(1))[::7]:
        request = pb.SuggestRequest(view=views.write_view(view), options=pb.Options(shares=shares))
        asked.append(read_search(request, Caps.of(Settings())))
    return [search for search in asked if search.question is not None]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_search_that_was_cancelled_before_it_began_is_answered_as_one_that_is_stopped_at_once(spec: Any) -> None:
    stopped = Control()
    stopped.stop()
    for asked in searches(spec, 3):
        assert asked.question is not None
        written = write_suggestion(compute_here(asked.question, stopped), asked, pb.STOP_REASON_CANCELLED)
        cancelled = suggest_cancelled(asked)
        for message in (cancelled, written):
            message.ClearField("elapsed")
        assert cancelled == written


def test_many_shares_that_are_cancelled_cost_no_more_than_one() -> None:
    def n_calls(shares: int) -> list[int]:
        counts = []
        for asked in searches(SPECS[0], shares):
            with counted_calls() as names:
                suggest_cancelled(asked)
            counts.append(len(names))
        return counts

    n_calls(2)  # what is made once for all
    assert n_calls(256) == n_calls(2)
