"""Suggestions as messages: beliefs, forced moves, cancelled searches."""

from __future__ import annotations

import random
from typing import Any

import pytest
from call_counts import counted_calls
from mutations import SPECS
from tables import random_game

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from eminence.v1.seat_pb2 import SEAT_B
from engine_cy import View, new_game
from engine_cy.oriflamme.cards import PROTOTYPE, PUBLISHED
from server.codec import views
from server.games import adapter_of
from server.games.oriflamme.messages import CARDS
from server.messages.answers import add_beliefs, write_suggestion
from server.messages.requests import Caps, Grant, read_search
from server.services.core import suggest_cancelled
from server.services.searches import Lateness
from server.settings import Settings
from solver.beliefs import Belief
from solver.control import Control
from solver.named_beliefs import name_beliefs
from solver.pool.base import compute_here

GAMES = [spec for spec in SPECS if new_game(*spec).has_beliefs]
CARD_NAMES = {CARDS.write(card.id): card.name for card in PUBLISHED + PROTOTYPE}


def views_of(spec: Any, seeds: range) -> list[View]:
    views = []
    for seed in seeds:
        for position, _ in random_game(new_game(*spec), seed):
            views += [position.view(seat) for seat in range(position.game.n_players)]
    return views


def chances_by_name(chances: Any) -> dict[str, float]:
    for chance in chances:
        card = chance.card
        number = str(card.castle_village_port) if card.HasField("castle_village_port") else CARD_NAMES[card.oriflamme]
        assert card.name == number
    return {chance.card.name: chance.probability for chance in chances}


def suggestion_for(game: str, ruleset: str, players: int, **options: Any) -> pb.Suggestion:
    view = new_game(game, ruleset, players).deal(3).view(0)
    request = pb.SuggestRequest(
        view=views.write_view(view), budget=pb.Budget(iterations=300), options=pb.Options(**options)
    )
    search = read_search(request, Caps.of(Settings()))
    assert search.question is not None
    return write_suggestion(compute_here(search.question), search)


def test_suggestions_have_calibrated_and_raw_shares() -> None:
    written = suggestion_for("oriflamme", "en-2019", 3)
    assert written.calibration == "oriflamme en-2019 3"
    estimates = [candidate.win for candidate in written.candidates if candidate.visits]
    estimates += [seat.win for seat in written.seats]
    assert all(estimate.HasField("raw_mean") and estimate.raw_mean != estimate.mean for estimate in estimates)
    assert sum(seat.win.mean for seat in written.seats) == pytest.approx(1)


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        (("leduc_poker", "standard", 2), {}),
        (("oriflamme", "en-2019", 3), {"belief": pb.BELIEF_UNIFORM}),
        (("oriflamme", "en-2019", 3), {"models": [pb.SeatModel(seat=SEAT_B, model=pb.MODEL_NOISY)]}),
    ],
)
def test_suggestions_without_a_fit_say_so(spec: Any, options: Any) -> None:
    written = suggestion_for(*spec, **options)
    assert written.calibration == "none"
    assert not any(candidate.win.HasField("raw_mean") for candidate in written.candidates)


@pytest.mark.parametrize("spec", GAMES, ids=str)
def test_beliefs_keep_their_figures_as_messages(spec: Any) -> None:
    for view in views_of(spec, range(2))[::7]:
        beliefs, written = name_beliefs(Belief(view, None, 0.5)), pb.Suggestion()
        add_beliefs(written, beliefs, view.game)
        assert [message.seat - 1 for message in written.beliefs] == [message.seat for message in beliefs.seats]
        assert (written.effective_sample_size, written.fitting_worlds) == (
            beliefs.effective_worlds,
            float(beliefs.worlds),
        )
        for message, seat in zip(written.beliefs, beliefs.seats, strict=True):
            assert chances_by_name(message.hand) == seat.hand
            spots = [(fields_of(down.spot), chances_by_name(down.cards)) for down in message.face_down]
            cards = sorted(seat.cards, key=lambda card: tuple(card.place.values()))
            assert spots == [(card.place, card.kinds) for card in cards]
            texts = [adapter_of(view.game.id).place_of(card.place) for card in cards]
            assert [down.spot.text for down in message.face_down] == texts


def fields_of(spot: view_pb2.Spot) -> dict[str, int | str]:
    """Return the fields of a spot's message; in Castle, Village, Port, the only spot of a seat has none."""
    if not spot.HasField("oriflamme"):
        return {"at": spot.text}
    return {field.name: getattr(spot.oriflamme, field.name) for field in spot.oriflamme.DESCRIPTOR.fields}


def forced_views(spec: Any) -> list[View]:
    forced = [view for view in views_of(spec, range(4)) if view.forced_action is not None]
    assert forced
    return random.Random(1).sample(forced, min(len(forced), 20))


REQUESTS = [
    pb.SuggestRequest(),
    pb.SuggestRequest(budget=pb.Budget(iterations=70, confidence=0.9)),
    pb.SuggestRequest(options=pb.Options(seed=2**64 - 1, shares=3, lines=2, belief=pb.BELIEF_UNIFORM)),
    pb.SuggestRequest(options=pb.Options(level=4), budget=pb.Budget(iterations=10**12)),
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_forced_move_is_answered_without_a_search(spec: Any) -> None:
    for view in forced_views(spec):
        for options in REQUESTS:
            request = pb.SuggestRequest(view=views.write_view(view))
            request.MergeFrom(options)
            search = read_search(request, Caps.of(Settings()))
            assert search.question is not None
            answer = write_suggestion(compute_here(search.question), search)
            assert (answer.stop_reason, answer.iterations, answer.reproducible) == (pb.STOP_REASON_FORCED, 0, True)
            assert [move.action for move in answer.candidates] == [answer.best] == [mix.action for mix in answer.mix]
            assert (answer.seed, answer.shares) == (search.seed, search.shares)
            assert bool(answer.fitting_worlds) == (search.question.belief is not None)


def test_searches_end_earlier_by_the_90th_percentile_of_lateness_but_at_most_a_fifth_of_their_time() -> None:
    lateness, draw = Lateness(), random.Random(2)
    assert lateness.of(100_000_000) == 0
    for _ in range(300):
        lateness.learn(int(draw.uniform(0, 10_000_000)))
    assert 7_000_000 < lateness.of(100_000_000) < 12_000_000  # the 90th percentile is 9 ms
    assert lateness.of(10_000_000) == 2_000_000
    for _ in range(300):
        lateness.learn(500_000_000)
    assert lateness.of(10**9) == 20_000_000
    for _ in range(300):
        lateness.learn(100_000)
    assert lateness.of(10**9) < 2_500_000
    assert lateness.of(-5) == 0


def searches(spec: Any, shares: int) -> list[Grant]:
    searches = []
    for view in views_of(spec, range(1))[::7]:
        request = pb.SuggestRequest(view=views.write_view(view), options=pb.Options(shares=shares))
        searches.append(read_search(request, Caps.of(Settings())))
    return [search for search in searches if search.question is not None]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_search_cancelled_before_it_starts_and_one_stopped_at_once_have_equal_answers(spec: Any) -> None:
    stopped = Control()
    stopped.stop()
    for search in searches(spec, 3):
        assert search.question is not None
        written = write_suggestion(compute_here(search.question, stopped), search, pb.STOP_REASON_CANCELLED)
        cancelled = suggest_cancelled(search)
        for message in (cancelled, written):
            message.ClearField("elapsed")
        assert cancelled == written


def test_cancelling_256_shares_costs_as_many_calls_as_two() -> None:
    def n_calls(shares: int) -> list[int]:
        counts = []
        for search in searches(SPECS[0], shares):
            with counted_calls() as names:
                suggest_cancelled(search)
            counts.append(len(names))
        return counts

    n_calls(2)  # fill the caches
    assert n_calls(256) == n_calls(2)
