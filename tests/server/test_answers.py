"""Answers as they are written: what takes a short cut says what the long way says."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from mutations import SPECS
from tables import random_game

from eminence.v1 import solver_pb2 as pb
from engine_cy import View, new_game
from engine_cy.oriflamme.cards import PROTOTYPE, PUBLISHED
from server.codec.suggestions import add_beliefs
from server.codec.words import CARDS
from server.limits import NO_OPTIONS, Caps, read_budget
from server.searches import Overrun, Question, Search, answer_forced
from solver.analysis import believe
from solver.backends.serial import Serial
from solver.beliefs import Belief
from solver.solve import all_see_it_is_forced

CAPS = Caps(1_000.0, 10**6, 2**26)
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
        belief, written = Belief(view, None, 0.5), pb.Suggestion()
        add_beliefs(written, belief)
        said = believe(belief)
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


@pytest.mark.parametrize("spec", SPECS[:3], ids=str)
def test_a_forced_move_is_answered_at_once_as_a_search_answers_it(spec: Any) -> None:
    forced = [
        view
        for view in views_of(spec, range(4))
        if view.to_act == view.observer and len(view.legal_actions()) == 1 and all_see_it_is_forced(view)
    ]
    assert forced
    budget = read_budget(pb.Budget(), NO_OPTIONS, CAPS)
    for view in random.Random(1).sample(forced, min(len(forced), 20)):
        question = Question(view, None, NO_OPTIONS, budget, 7, time.monotonic_ns(), None, b"")
        at_once = pb.Suggestion.FromString(answer_forced(question))
        searched = Search(question, 2**62, by_deadline=False).run(Serial())
        for answer in (at_once, searched):
            answer.ClearField("elapsed")
        assert at_once.stop_reason == pb.STOP_REASON_FORCED
        assert at_once == searched


def test_searches_end_earlier_by_what_most_are_late_and_no_more_than_a_part_of_their_time() -> None:
    overrun, draw = Overrun(), random.Random(2)
    assert overrun.of(100_000_000) == 0
    for _ in range(300):
        overrun.learn(int(draw.uniform(0, 10_000_000)))
    assert 7_000_000 < overrun.of(100_000_000) < 12_000_000  # nine of ten
    assert overrun.of(10_000_000) == 2_000_000
    for _ in range(300):
        overrun.learn(500_000_000)
    assert overrun.of(10**9) == 20_000_000
    for _ in range(300):
        overrun.learn(100_000)
    assert overrun.of(10**9) < 2_500_000
    assert overrun.of(-5) == 0
