"""SolverService over a socket: answers, refusals, deadlines, overload, streams, batches, reviews."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from messages import bytes_without_elapsed, damaged
from process import (
    EN,
    OTHERS_TURN,
    PLACE,
    REVEAL,
    Server,
    milliseconds,
    refusal,
    refusal_of,
    retry_after,
    server,
    stub,
    suggest,
    view,
)
from program import random_record
from waiting import HANG_S

from eminence.v1 import oriflamme_pb2, record_pb2, rules_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb
from eminence.v1.seat_pb2 import SEAT_A, SEAT_B, SEAT_C
from engine_cy import new_game
from server.codec import records, views
from server.codec.fields import write_seat
from server.services.rules import RulesService
from solver import CONFIGS, Budget, solve

START = PLACE + "| seen by A"
GAME = random_record("oriflamme", "en-2019", 3, seed=4)


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server("--threads", "2", metrics=True) as running:
        yield running


@pytest.fixture
def adviser(running: Server) -> Iterator[Any]:
    with running.channel() as channel:
        yield stub(channel)


# --- Suggest ---------------------------------------------------------------------------------------------------


def test_a_suggestion_is_the_answer_of_the_solver(adviser: Any) -> None:
    request = pb.SuggestRequest(view=view(), budget=pb.Budget(iterations=2000), options=pb.Options(seed=5, shares=2))
    suggestion = adviser.Suggest(request, timeout=60).suggestion
    answer = solve(new_game("oriflamme", "en-2019", 3).view(REVEAL), Budget(iterations=2000), seed=5, shares=2, lines=8)
    assert suggestion.best.text == str(answer.best)
    assert [candidate.action.text for candidate in suggestion.candidates] == [str(move.action) for move in answer.moves]
    for candidate, move in zip(suggestion.candidates, answer.moves, strict=True):
        assert (candidate.visits, candidate.win.mean) == (move.visits, move.win and move.win.mean)
        assert (tuple(candidate.rank_probabilities), candidate.ended) == (move.ranks, move.ended)
        assert len(candidate.principal_variation) == len(move.line)
    assert list(suggestion.share_iterations) == [1000, 1000]
    assert (suggestion.iterations, suggestion.seed, suggestion.shares) == (2000, 5, 2)
    assert suggestion.engine_signature == answer.signature
    assert suggestion.reproducible
    assert suggestion.stop_reason == pb.STOP_REASON_ITERATIONS
    assert [value.seat for value in suggestion.seats] == [SEAT_A, SEAT_B, SEAT_C]
    assert sum(value.win.mean for value in suggestion.seats) == pytest.approx(1)
    assert {belief.seat for belief in suggestion.beliefs} == {SEAT_A, SEAT_C}
    for belief in suggestion.beliefs:
        for spot in belief.face_down:
            assert sum(card.probability for card in spot.cards) == pytest.approx(1)
    assert sum(share.probability for share in suggestion.mix) == pytest.approx(1)


def test_a_sampled_line_is_replayed_to_its_end(adviser: Any) -> None:
    """Every step leads to the view that is sent with it; the line names the cards that it shows."""
    start = view()
    options = pb.Options(seed=5, lines=2, sample_variations=1)
    request = pb.SuggestRequest(view=start, budget=pb.Budget(iterations=4000), options=options)
    candidates = adviser.Suggest(request, timeout=60).suggestion.candidates
    assert [bool(candidate.sample_variation) for candidate in candidates] == [True, False]
    rules, shown = RulesService(), 0
    for step, seen in zip(candidates[0].sample_variation, candidates[0].principal_variation, strict=True):
        assert (step.action.seat, step.action.action) == (seen.seat, seen.action)
        shown += len(step.action.shown)
        played = rules.PlaySeen(rules_pb2.PlaySeenRequest(view=start, action=step.action))
        assert not played.possible_shown
        played.view.ClearField("history")
        assert step.view == played.view
        start = step.view
    assert shown
    # Nothing else changes.
    request.options.sample_variations = 0
    candidates[0].ClearField("sample_variation")
    assert list(adviser.Suggest(request, timeout=60).suggestion.candidates) == list(candidates)


def test_answers_so_far_have_sampled_lines_without_views(adviser: Any) -> None:
    options = pb.Options(sample_variations=1)
    request = pb.AnalyzeRequest(view=view(), budget=pb.Budget(iterations=100_000), options=options)
    request.interval.FromMilliseconds(50)
    *so_far, last = adviser.Analyze(request, timeout=60)
    samples = [step for each in so_far for step in each.suggestion.candidates[0].sample_variation]
    assert samples
    assert not any(step.HasField("view") for step in samples)
    assert all(step.HasField("view") for step in last.suggestion.candidates[0].sample_variation)


def test_equal_questions_in_fields_and_in_text_have_equal_seeds_and_answers(adviser: Any) -> None:
    game = new_game("oriflamme", "en-2019", 3)
    in_fields = views.write_view(game.view(START))
    from_text = adviser.Suggest(
        pb.SuggestRequest(view=view(START), budget=pb.Budget(iterations=800)), timeout=60
    ).suggestion
    from_fields = adviser.Suggest(
        pb.SuggestRequest(view=in_fields, budget=pb.Budget(iterations=800)), timeout=60
    ).suggestion
    assert from_text.seed == from_fields.seed != 0
    assert bytes_without_elapsed(from_text) == bytes_without_elapsed(from_fields)
    changed = pb.SuggestRequest(view=view(START), budget=pb.Budget(iterations=800), options=pb.Options(level=9))
    assert adviser.Suggest(changed, timeout=60).suggestion.seed != from_text.seed


def test_the_share_iterations_of_a_timed_answer_reproduce_it(adviser: Any) -> None:
    options = pb.Options(seed=3, shares=2)
    first = adviser.Suggest(
        pb.SuggestRequest(view=view(START), budget=pb.Budget(time=milliseconds(80)), options=options), timeout=60
    ).suggestion
    assert first.stop_reason == pb.STOP_REASON_TIME
    assert not first.reproducible
    budget = pb.Budget(share_iterations=first.share_iterations)
    again = adviser.Suggest(pb.SuggestRequest(view=view(START), budget=budget, options=options), timeout=60).suggestion
    assert again.reproducible
    for message in (first, again):
        for name in ("elapsed", "budget", "stop_reason", "reproducible"):
            message.ClearField(name)
    assert first == again


def test_without_a_budget_a_search_takes_a_second(adviser: Any) -> None:
    suggestion = adviser.Suggest(pb.SuggestRequest(view=view()), timeout=60).suggestion
    assert suggestion.elapsed.ToMilliseconds() > 900
    assert suggestion.budget.time.ToMilliseconds() == 1000
    assert suggestion.stop_reason == pb.STOP_REASON_TIME


def test_a_level_sets_the_iterations_and_a_budget_caps_them(adviser: Any) -> None:
    request = pb.SuggestRequest(view=view(START), options=pb.Options(level=6))
    suggestion = adviser.Suggest(request, timeout=60).suggestion
    assert suggestion.iterations == CONFIGS["level-6"].iterations
    assert suggestion.reproducible
    request.budget.iterations = 10
    assert adviser.Suggest(request, timeout=60).suggestion.iterations == 10


def test_restrict_to_and_lines_bound_the_candidates(adviser: Any) -> None:
    moves = ["place Spy front", "place Heir front", "place Lord front"]
    options = pb.Options(restrict_to=[view_pb2.Action(text=text) for text in moves], lines=2)
    request = pb.SuggestRequest(view=view(START), budget=pb.Budget(iterations=500), options=options)
    suggestion = adviser.Suggest(request, timeout=60).suggestion
    assert suggestion.best.text in moves
    assert len(suggestion.candidates) == 2
    assert {candidate.action.text for candidate in suggestion.candidates} < set(moves)


def test_each_model_of_an_opponent_changes_the_answer(adviser: Any) -> None:
    answers = set()
    for model in (pb.MODEL_SAME, pb.MODEL_NOISY, pb.MODEL_GREEDY, pb.MODEL_RANDOM):
        options = pb.Options(seed=1, models=[pb.SeatModel(seat=SEAT_B, model=model)])
        request = pb.SuggestRequest(view=view(START), budget=pb.Budget(iterations=500), options=options)
        answers.add(adviser.Suggest(request, timeout=60).suggestion.candidates[0].win.mean)
    assert len(answers) == 4


def test_beliefs_can_be_switched_off(adviser: Any) -> None:
    request = suggest("A:?(3) >B:Heir C:?(1) | round 4 | points 1 2 3 | seen by B", iterations=300)
    on = adviser.Suggest(request, timeout=60).suggestion
    request.options.belief = pb.BELIEF_UNIFORM
    off = adviser.Suggest(request, timeout=60).suggestion
    assert on.fitting_worlds == off.fitting_worlds
    assert on.effective_sample_size < off.effective_sample_size == pytest.approx(off.fitting_worlds)


def test_information_values_the_secrecy_of_each_hidden_card(adviser: Any) -> None:
    text = "A:? B:Ambush >B:Heir C:?(1) | round 3 | points 1 2 3 | seen by B"
    request = suggest(text, iterations=1600)
    request.options.information = True
    suggestion = adviser.Suggest(request, timeout=60).suggestion
    assert [(card.spot.oriflamme.slot, card.card.oriflamme) for card in suggestion.information] == [
        (1, oriflamme_pb2.ORIFLAMME_CARD_AMBUSH),
        (2, oriflamme_pb2.ORIFLAMME_CARD_HEIR),
    ]
    assert [(card.spot.text, card.card.name) for card in suggestion.information] == [
        ("slot 1", "Ambush"),
        ("slot 2", "Heir"),
    ]
    for card in suggestion.information:
        assert {guess.seat for guess in card.guesses} == {SEAT_A, SEAT_C}
        assert all(0 < guess.probability < 1 for guess in card.guesses)
        assert -1 < card.win_if_shown.mean < 1
    again = adviser.Suggest(request, timeout=60).suggestion
    assert bytes_without_elapsed(again) == bytes_without_elapsed(suggestion)
    request.budget.Clear()
    request.budget.time.CopyFrom(milliseconds(200))
    assert adviser.Suggest(request, timeout=60).suggestion.stop_reason == pb.STOP_REASON_TIME


def test_information_values_the_secrecy_of_a_selected_card(adviser: Any) -> None:
    position = new_game("castle_village_port", "house", 3).deal(1)
    for _ in range(3):
        position = position.play(position.legal_actions()[0])  # each player selects
    selected = position.parts.secrets_of(0).selected
    request = pb.SuggestRequest(view=views.write_view(position.view(0)), budget=pb.Budget(iterations=800))
    request.options.information = True
    (card,) = adviser.Suggest(request, timeout=60).suggestion.information
    assert card.card == view_pb2.Card(name=str(selected), castle_village_port=selected)
    assert card.spot == view_pb2.Spot(text="selected")
    assert [guess.seat for guess in card.guesses] == [SEAT_B, SEAT_C]
    assert all(0 < guess.probability < 0.5 for guess in card.guesses)
    assert -1 < card.win_if_shown.mean < 1
    assert card.win_if_shown.standard_error > 0
    # A ruleset with its own cards has no learned knowledge of players.
    cards = [{"value": value, "name": f"Bard {value}", "when": "end", "effect": "fetch"} for value in (3, 5, 9, 11)]
    unknown = new_game("castle_village_port", {"cards": cards, "hand_size": 3, "turns_per_round": 2, "rounds": 2}, 3)
    assert not unknown.has_beliefs
    request.view.CopyFrom(views.write_view(unknown.deal(1).view(0)))
    assert refusal(adviser.Suggest, request) == ("INVALID_ARGUMENT", "CONTRADICTION", "options.information")


def test_a_forced_move_is_answered_at_once(adviser: Any) -> None:
    request = forced()
    suggestion = adviser.Suggest(request, timeout=60).suggestion
    assert (suggestion.stop_reason, suggestion.iterations) == (pb.STOP_REASON_FORCED, 0)
    assert suggestion.reproducible
    assert len(suggestion.candidates) == 1


def forced() -> pb.SuggestRequest:
    """Return a request at a view whose only legal move is public knowledge."""
    game = new_game("castle_village_port", players=3)
    draw = random.Random(1)
    for seed in range(50):
        position = game.deal(seed)
        while not position.is_over:
            seat = position.to_act
            if seat is not None and seat >= 0:
                current = position.view(seat)
                if len(current.legal_actions()) == 1 and solve(current, Budget(iterations=1)).stopped_by == "forced":
                    return pb.SuggestRequest(view=views.write_view(current), budget=pb.Budget(time=milliseconds(5000)))
            position = position.play(draw.choice(position.legal_actions()))
    raise AssertionError("no forced move")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("r.ClearField('view')", ("INVALID_ARGUMENT", "MISSING_FIELD", "view")),
        ("r.view.text = 'A:?? nonsense'", ("INVALID_ARGUMENT", "INVALID_NOTATION", "view.text")),
        (f"r.view.text = {OTHERS_TURN!r}", ("FAILED_PRECONDITION", "NOT_TO_ACT", "view")),
        ("r.budget.iterations = 0", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "budget.iterations")),
        ("r.budget.iterations = 10**12 + 1", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "budget.iterations")),
        ("r.budget.time.SetInParent()", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "budget.time")),
        ("r.budget.time.seconds = -1", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "budget.time")),
        ("r.budget.time.nanos = 2**31 - 1", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "budget.time")),
        ("r.budget.confidence = float('nan')", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "budget.confidence")),
        ("r.budget.confidence = 0.4", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "budget.confidence")),
        ("r.budget.memory_bytes = 99_999", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "budget.memory_bytes")),
        ("r.budget.share_iterations.append(3)", ("INVALID_ARGUMENT", "CONTRADICTION", "budget.iterations")),
        (
            "r.budget.Clear(), r.budget.share_iterations.extend([1, 2])",
            ("INVALID_ARGUMENT", "CONTRADICTION", "budget.share_iterations"),
        ),
        (
            "r.budget.Clear(), r.budget.share_iterations.append(-1)",
            ("INVALID_ARGUMENT", "OUT_OF_RANGE", "budget.share_iterations[0]"),
        ),
        ("r.options.shares = 257", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "options.shares")),
        ("r.options.shares = -1", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "options.shares")),
        ("r.options.level = 11", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "options.level")),
        ("r.options.lines = 1001", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "options.lines")),
        ("r.options.sample_variations = 9", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "options.sample_variations")),
        ("r.options.belief = 9", ("INVALID_ARGUMENT", "UNKNOWN_VALUE", "options.belief")),
        (
            "r.options.restrict_to.add(text='resolve')",
            ("INVALID_ARGUMENT", "INVALID_NOTATION", "options.restrict_to[0].text"),
        ),
        (
            "r.options.restrict_to.add(text='place Spy front')",
            ("INVALID_ARGUMENT", "ILLEGAL_ACTION", "options.restrict_to[0]"),
        ),
        (
            "r.view.CopyFrom(view(START)), r.options.restrict_to.add(text='place ? front')",
            ("INVALID_ARGUMENT", "ILLEGAL_ACTION", "options.restrict_to[0]"),
        ),
        (
            "[r.options.restrict_to.add(text='keep') for _ in range(2)]",
            ("INVALID_ARGUMENT", "CONTRADICTION", "options.restrict_to[1]"),
        ),
        ("r.options.models.add(model=2)", ("INVALID_ARGUMENT", "MISSING_FIELD", "options.models[0].seat")),
        ("r.options.models.add(seat=1)", ("INVALID_ARGUMENT", "MISSING_FIELD", "options.models[0].model")),
        ("r.options.models.add(seat=1, model=9)", ("INVALID_ARGUMENT", "UNKNOWN_VALUE", "options.models[0].model")),
        ("r.options.models.add(seat=2, model=2)", ("INVALID_ARGUMENT", "CONTRADICTION", "options.models[0].seat")),
        ("r.options.models.add(seat=5, model=2)", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "options.models[0].seat")),
    ],
)
def test_invalid_requests_are_refused_by_field(adviser: Any, change: str, expected: tuple[str, str, str]) -> None:
    r = suggest(iterations=10)
    exec(change, {"r": r, "view": view, "START": START})
    assert refusal(adviser.Suggest, r) == expected


def test_a_finished_game_has_no_best_move(adviser: Any) -> None:
    game = new_game("oriflamme", "en-2019", 3)
    end = game.deal(3).play_out(5)
    request = pb.SuggestRequest(view=views.write_view(end.view(0)))
    assert refusal(adviser.Suggest, request) == ("FAILED_PRECONDITION", "GAME_OVER", "view")
    (only,) = adviser.Analyze(pb.AnalyzeRequest(view=request.view), timeout=60)
    assert only.last
    assert only.suggestion.stop_reason == pb.STOP_REASON_GAME_OVER
    assert [value.points.mean for value in only.suggestion.seats] == list(end.scores)


@pytest.mark.timing
def test_time_limits_are_kept(adviser: Any) -> None:
    plain, secrets = suggest(START), suggest("A:? B:Ambush >B:Heir C:?(1) | round 3 | points 1 2 3 | seen by B")
    secrets.options.information = True  # takes its part of the time limit
    comparison = compare("place Heir front", "place Spy front")
    calls = (adviser.Suggest, plain), (adviser.Suggest, secrets), (adviser.Compare, comparison)
    for call, request in calls:
        request.budget.Clear()
        request.budget.time.CopyFrom(milliseconds(200))
        started = time.monotonic()
        call(request, timeout=60)
        assert time.monotonic() - started < 0.35
    started = time.monotonic()
    adviser.Suggest(forced(), timeout=60)
    assert time.monotonic() - started < 0.3
    started = time.monotonic()
    assert adviser.Suggest(suggest(START, time_ms=5000), timeout=0.3).suggestion.iterations > 0
    assert time.monotonic() - started < 0.3


# --- time, and clients that leave ------------------------------------------------------------------------------


def test_the_least_memory_of_the_contract_is_enough(adviser: Any) -> None:
    answer = adviser.Suggest(suggest(iterations=100, memory_bytes=100_000), timeout=60).suggestion
    assert (answer.iterations, answer.budget.memory_bytes) == (100, 100_000)
    answer = adviser.Compare(
        compare("place Heir front", "place Spy front", iterations=100, memory_bytes=100_000), timeout=60
    ).comparison
    assert (answer.worlds, answer.budget.memory_bytes) == (100, 100_000)


def test_a_nanosecond_and_the_least_memory_are_enough_for_an_answer(adviser: Any) -> None:
    request = suggest()
    request.budget.time.nanos = 1
    assert adviser.Suggest(request, timeout=60).suggestion.iterations > 0
    # Twice the iterations at which the payoffs of the information no longer fit into the memory.
    request = suggest(iterations=200_000, memory_bytes=100_000)
    request.options.information = True
    assert len(adviser.Suggest(request, timeout=300).suggestion.information) == 1


def test_too_many_shares_are_refused_and_too_many_iterations_shortened(adviser: Any) -> None:
    request = suggest(START, iterations=2000, memory_bytes=100_000)
    request.options.shares = 256
    assert refusal(adviser.Suggest, request) == ("INVALID_ARGUMENT", "OUT_OF_RANGE", "options.shares")
    # A comparison stores a result for each move and world, so memory bounds its worlds.
    many = compare("place Heir front", "place Spy front", iterations=10**9, memory_bytes=100_000)
    comparison = adviser.Compare(many, timeout=60).comparison
    assert comparison.worlds == comparison.budget.iterations < 10_000
    assert comparison.reproducible


def test_budgets_are_cut_to_the_caps_and_the_answer_holds_the_granted_budget() -> None:
    caps = ("--time-max-ms", "60", "--memory-max-mb", "8", "--iterations-max", "700")
    with server(*caps) as running, running.channel() as channel:
        request = suggest(START, time_ms=10**9, iterations=10**12, memory_bytes=2**36)
        suggestion = stub(channel).Suggest(request, timeout=60).suggestion
        assert (suggestion.budget.time.ToMilliseconds(), suggestion.budget.iterations) == (60, 700)
        assert suggestion.budget.memory_bytes == 8 * 2**20
        assert suggestion.iterations == 700
        suggestion = stub(channel).Suggest(suggest(START, confidence=0.999999), timeout=60).suggestion
        assert suggestion.stop_reason in (pb.STOP_REASON_TIME, pb.STOP_REASON_CONFIDENCE)
        assert suggestion.budget.time.ToMilliseconds() == 60


@pytest.mark.slow
def test_a_near_deadline_ends_the_search_with_the_best_so_far() -> None:
    """Reserve a long time for the network, since the machine may be busy."""
    with server("--network-ms", "60000") as running, running.channel() as channel:
        suggestion = stub(channel).Suggest(suggest(START, time_ms=50_000), timeout=6).suggestion
    assert suggestion.stop_reason == pb.STOP_REASON_DEADLINE
    assert suggestion.iterations > 0
    assert not suggestion.reproducible


def test_a_deadline_of_a_few_milliseconds_is_refused(adviser: Any) -> None:
    for seconds in (0.001, 0.004):
        with pytest.raises(grpc.RpcError) as failed:
            adviser.Suggest(suggest(START, time_ms=5000), timeout=seconds)
        error: Any = failed.value
        assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED


def test_a_client_that_leaves_frees_its_thread() -> None:
    with server("--threads", "1", "--reserved", "0", metrics=True) as running:
        for leave in ("cancel", "close"):
            with running.channel() as other:
                call = stub(other).Suggest.future(suggest(START, iterations=10**11))
                running.wait_for_searches(1)
                if leave == "cancel":
                    call.cancel()
                    running.wait_for_searches(0)
            running.wait_for_searches(0)


def test_analyses_that_clients_cancel_leave_no_generator_to_the_garbage_collector() -> None:
    """Asyncio logs "destroyed" when a garbage collection, on any thread, finds a suspended generator."""
    debug = {"PYTHONASYNCIODEBUG": "1"}
    with server("--threads", "1", metrics=True, environment=debug) as running, running.channel() as channel:
        request = pb.AnalyzeRequest(view=view(START), budget=pb.Budget(iterations=10**11))
        request.interval.CopyFrom(milliseconds(50))
        for reads in (0, 1, 2):
            call = stub(channel).Analyze(request, timeout=60)
            for _ in range(reads):
                next(call)
            running.wait_for_searches(1)
            call.cancel()
            running.wait_for_searches(0)
        for iterations in range(1, 40):  # enough for a garbage collection
            stub(channel).Suggest(suggest(START, iterations=iterations), timeout=60)
        assert running.stop() == 0
        assert running.process.stderr is not None
        assert "destroyed" not in running.process.stderr.read()


def test_a_client_that_dies_frees_its_thread() -> None:
    with server("--threads", "1", "--reserved", "0", metrics=True) as running, running.channel() as channel:
        code = (
            "import sys; sys.path[:0] = ['tests/support']; import grpc, process;"
            f"channel = grpc.insecure_channel({running.address!r});"
            f"call = process.stub(channel).Suggest.future(process.suggest({START!r}, time_ms=60_000));"
            "print('sent', flush=True); call.result()"
        )
        client = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert client.stdout is not None
        assert client.stdout.readline() == "sent\n"
        running.wait_for_searches(1)
        busy = stub(channel).Suggest.future(suggest(START, time_ms=10), timeout=60)
        assert refusal_of(busy.exception())[1] == "OVERLOADED"
        client.kill()
        client.wait()
        running.wait_for_searches(0)


@pytest.mark.timing
def test_a_thread_is_free_within_200_ms_of_the_cancel() -> None:
    with server("--threads", "1", "--reserved", "0", metrics=True) as running, running.channel() as channel:
        call = stub(channel).Suggest.future(suggest(START, iterations=10**11))
        running.wait_for_searches(1)
        started = time.monotonic()
        call.cancel()
        running.wait_for_searches(0)
        assert time.monotonic() - started < 0.2


# --- overload --------------------------------------------------------------------------------------------------


def test_a_search_that_could_not_start_in_time_is_refused_with_a_retry_delay() -> None:
    with server("--threads", "1", "--reserved", "0", metrics=True) as running, running.channel() as channel:
        adviser = stub(channel)
        first = adviser.Suggest.future(suggest(START, time_ms=60_000))
        running.wait_for_searches(1)
        with pytest.raises(grpc.RpcError) as failed:
            adviser.Suggest(suggest(START, time_ms=100), timeout=60)
        assert refusal_of(failed.value)[:2] == ("RESOURCE_EXHAUSTED", "OVERLOADED")
        assert 30 < retry_after(failed.value) <= 60
        error: Any = failed.value
        assert ("grpc-retry-pushback-ms", str(round(retry_after(failed.value) * 1000))) in error.trailing_metadata()
        # A search without a time limit can wait.
        patient = adviser.Suggest.future(suggest(START, iterations=100), timeout=60)
        running.wait_for_searches(1, waiting=1)
        assert not first.done()
        first.cancel()
        assert patient.result().suggestion.iterations == 100


def test_a_search_beyond_the_queue_is_refused() -> None:
    flags = ("--threads", "1", "--reserved", "0", "--interactive-queue", "2", "--drain-ms", "0")
    with server(*flags, metrics=True) as running, running.channel() as channel:
        adviser = stub(channel)
        calls = [adviser.Suggest.future(suggest(START, iterations=10**11)) for _ in range(3)]
        running.wait_for_searches(1, waiting=2)
        with pytest.raises(grpc.RpcError) as failed:
            adviser.Suggest(suggest(START, iterations=10), timeout=60)
        assert refusal_of(failed.value)[:2] == ("RESOURCE_EXHAUSTED", "OVERLOADED")
        for call in calls:
            call.cancel()
        running.wait_for_searches(0)
        assert adviser.Suggest(suggest(START, iterations=10), timeout=60).suggestion.iterations == 10


def test_bulk_work_leaves_a_thread_to_single_calls(running: Server, adviser: Any) -> None:
    items = [batch_item(str(i), iterations=10**11) for i in range(4)]
    responses = adviser.AnalyzeBatch(iter(items), timeout=600)
    running.wait_for_searches(1)
    assert adviser.Suggest(suggest(START, time_ms=50), timeout=60).suggestion.iterations > 0
    responses.cancel()
    running.wait_for_searches(0)


def test_too_long_requests_are_refused_and_the_next_is_answered(adviser: Any) -> None:
    huge = suggest("x" * 300_000, iterations=5)
    for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
        call = adviser.Suggest.future(huge, timeout=60, compression=compression)
        assert call.exception().code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert adviser.Suggest(suggest(iterations=5), timeout=60).suggestion.iterations == 5


@pytest.mark.slow
def test_damaged_requests_never_end_in_unknown_or_internal() -> None:
    draw = random.Random(3)
    position = new_game("oriflamme", "en-2019", 3).deal(5)
    for _ in range(11):
        position = position.play(draw.choice(position.legal_actions()))
    budget = pb.Budget(iterations=20, confidence=0.9, time=milliseconds(50))
    good = pb.SuggestRequest(view=views.write_view(position.view(position.to_act or 0)), budget=budget)
    good.options.CopyFrom(pb.Options(seed=1, shares=2, level=3, lines=2))
    good.options.models.add(seat=good.view.oriflamme.observer % 3 + 1, model=pb.MODEL_NOISY)
    codes = Counter[str]()
    with server("--time-max-ms", "5") as running, running.channel() as channel:
        call: Any = channel.unary_unary("/eminence.v1.SolverService/Suggest")
        for number in range(1000):
            raw = bytearray(damaged(good, draw).SerializeToString())
            if number % 3 == 0:
                raw[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
            failed = call.future(bytes(raw), timeout=60).exception()
            codes[failed.code().name if failed else "OK"] += 1
        assert stub(channel).Suggest(suggest(iterations=5), timeout=60).suggestion.iterations == 5
    assert set(codes) <= {"OK", "INVALID_ARGUMENT", "FAILED_PRECONDITION"}, codes
    assert codes["INVALID_ARGUMENT"] > 200
    assert codes["OK"] > 0


# --- Analyze ---------------------------------------------------------------------------------------------------


def test_an_analysis_reports_progress_and_ends_once(adviser: Any) -> None:
    request = pb.AnalyzeRequest(view=view(START), budget=pb.Budget(time=milliseconds(1000)), interval=milliseconds(1))
    steps = list(adviser.Analyze(request, timeout=60))
    assert [step.last for step in steps] == [False] * (len(steps) - 1) + [True]
    # The interval has a floor of 50 ms.
    assert 2 <= len(steps) <= steps[-1].suggestion.elapsed.ToMilliseconds() / 50 + 2
    counts = [step.suggestion.iterations for step in steps]
    assert counts == sorted(counts)
    assert not any(step.suggestion.stop_reason for step in steps[:-1])
    assert steps[-1].suggestion.stop_reason == pb.STOP_REASON_TIME
    assert all(step.suggestion.best.text for step in steps)


def test_an_analysis_for_a_seat_that_is_not_to_act_has_expectations_and_no_move(adviser: Any) -> None:
    request = pb.AnalyzeRequest(view=view(OTHERS_TURN), budget=pb.Budget(iterations=3000))
    *_, last = adviser.Analyze(request, timeout=60)
    assert not last.suggestion.HasField("best")
    assert not last.suggestion.candidates
    assert sum(value.win.mean for value in last.suggestion.seats) == pytest.approx(1)
    assert {belief.seat for belief in last.suggestion.beliefs} == {SEAT_A, SEAT_B}


def test_a_slow_reader_skips_to_the_last_step(running: Server) -> None:
    request = pb.AnalyzeRequest(view=view(START), budget=pb.Budget(time=milliseconds(1200)), interval=milliseconds(50))
    with running.channel() as channel:
        responses = stub(channel).Analyze(request, timeout=60)
        next(responses)
        running.wait_for_searches(0)
        rest = list(responses)
    # The reader gets the steps in the network's buffers, one pending step, and the last.
    assert rest[-1].last
    assert sum(step.last for step in rest) == 1


# --- AnalyzeBatch ----------------------------------------------------------------------------------------------


def batch_item(name: str, text: str = START, priority: int = 0, **budget: Any) -> pb.AnalyzeBatchRequest:
    request = suggest(text, **budget)
    item = pb.BatchItem(id=name, view=request.view, budget=request.budget, priority=priority)
    return pb.AnalyzeBatchRequest(item=item)


def finals(responses: Any) -> list[pb.AnalyzeBatchResponse]:
    return [response for response in responses if response.WhichOneof("outcome") != "progress"]


def test_every_item_of_a_batch_is_answered_once(adviser: Any) -> None:
    items = [batch_item(f"good {i}", iterations=100 + i) for i in range(20)]
    items += [batch_item("not to act", OTHERS_TURN, iterations=100), batch_item("bad", "???", iterations=100)]
    items += [batch_item("too low", iterations=10, priority=-101)]
    answers = {final.id: final for final in finals(adviser.AnalyzeBatch(iter(items), timeout=60))}
    assert len(answers) == len(items)
    for i in range(20):
        assert answers[f"good {i}"].suggestion.iterations == 100 + i
    assert not answers["not to act"].suggestion.HasField("best")
    assert answers["bad"].error.message.startswith("item.view.text")
    assert answers["too low"].error.message.startswith("item.priority")


def test_items_start_by_priority_and_can_be_cancelled(running: Server) -> None:
    long = batch_item("long", iterations=10**11, priority=100)
    long.item.interval.CopyFrom(milliseconds(50))
    items = [long]
    items += [batch_item(f"low {i}", iterations=50, priority=-i) for i in range(3)]
    items += [
        batch_item("high", iterations=50, priority=7),
        batch_item("queued", iterations=10**11, priority=-100),
    ]
    has_progress, has_answer = threading.Event(), threading.Event()

    def requests() -> Iterator[pb.AnalyzeBatchRequest]:
        yield from items
        has_progress.wait(HANG_S)
        yield pb.AnalyzeBatchRequest(cancel=pb.CancelItem(id="queued"))
        has_answer.wait(HANG_S)
        yield pb.AnalyzeBatchRequest(cancel=pb.CancelItem(id="unknown"))
        yield pb.AnalyzeBatchRequest(cancel=pb.CancelItem(id="long"))

    with running.channel() as channel:
        answers = []
        for response in stub(channel).AnalyzeBatch(requests(), timeout=60):
            if response.WhichOneof("outcome") == "progress":
                has_progress.set()
            else:
                answers.append(response)
                has_answer.set()
    assert [final.id for final in answers] == ["queued", "long", "high", "low 0", "low 1", "low 2"]
    for cancelled in answers[:2]:
        assert cancelled.suggestion.stop_reason == pb.STOP_REASON_CANCELLED
        assert (cancelled.suggestion.iterations > 0) == (cancelled.id == "long")


def test_all_items_can_be_cancelled_and_progress_is_reported(running: Server) -> None:
    first = batch_item("a", iterations=10**11)
    first.item.interval.CopyFrom(milliseconds(50))
    has_progress = threading.Event()

    def requests() -> Iterator[pb.AnalyzeBatchRequest]:
        yield first
        yield batch_item("b", iterations=10**11)
        has_progress.wait(HANG_S)
        yield pb.AnalyzeBatchRequest(cancel_all=pb.CancelAll())

    with running.channel() as channel:
        responses = []
        for response in stub(channel).AnalyzeBatch(requests(), timeout=60):
            responses.append(response)
            if len(responses) == 3:
                has_progress.set()
    kinds = [response.WhichOneof("outcome") for response in responses if response.id == "a"]
    assert kinds[:-1] == ["progress"] * (len(kinds) - 1)
    assert len(kinds) >= 3
    assert sorted(final.id for final in finals(responses)) == ["a", "b"]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([batch_item("", iterations=9)], ("INVALID_ARGUMENT", "OUT_OF_RANGE", "item.id")),
        ([batch_item("x" * 65, iterations=9)], ("INVALID_ARGUMENT", "OUT_OF_RANGE", "item.id")),
        ([batch_item("x", time_ms=9000)] * 2, ("INVALID_ARGUMENT", "CONTRADICTION", "item.id")),
        ([pb.AnalyzeBatchRequest()], ("INVALID_ARGUMENT", "MISSING_FIELD", "command")),
    ],
)
def test_items_without_a_valid_unique_id_end_a_batch(adviser: Any, items: Any, expected: tuple[str, str, str]) -> None:
    with pytest.raises(grpc.RpcError) as failed:
        list(adviser.AnalyzeBatch(iter(items), timeout=60))
    assert refusal_of(failed.value) == expected


# --- Compare ---------------------------------------------------------------------------------------------------


def compare(*texts: str, iterations: int = 2000, **budget: Any) -> pb.CompareRequest:
    actions = [view_pb2.Action(text=text) for text in texts]
    return pb.CompareRequest(view=view(START), actions=actions, budget=pb.Budget(iterations=iterations, **budget))


def test_moves_are_compared_in_the_same_worlds(adviser: Any) -> None:
    texts = ("place Heir front", "place Spy front", "place Lord front")
    comparison = adviser.Compare(compare(*texts), timeout=60).comparison
    assert [move.action.text for move in comparison.actions] == list(texts)
    assert comparison.worlds == 2000
    assert comparison.reproducible
    first = comparison.actions[0]
    assert (first.win_difference.mean, first.win_difference.standard_error) == (0, 0)
    for move in comparison.actions[1:]:
        assert move.win_difference.mean == pytest.approx(move.win.mean - first.win.mean)
        # Paired worlds reduce the error of a difference.
        unpaired = (move.win.standard_error**2 + first.win.standard_error**2) ** 0.5
        assert 0 < move.win_difference.standard_error < 1.05 * unpaired
        assert move.points_difference.mean == pytest.approx(move.points.mean - first.points.mean)
    again = adviser.Compare(compare(*texts), timeout=60).comparison
    assert bytes_without_elapsed(again) == bytes_without_elapsed(comparison)


def test_a_comparison_ends_by_its_time_limit(adviser: Any) -> None:
    request = compare("place Heir front", "place Spy front")
    request.budget.Clear()
    request.budget.time.CopyFrom(milliseconds(100))
    comparison = adviser.Compare(request, timeout=60).comparison
    assert comparison.stop_reason == pb.STOP_REASON_TIME
    assert comparison.worlds > 0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("del r.actions[:]", ("INVALID_ARGUMENT", "OUT_OF_RANGE", "actions")),
        ("r.actions[1].text = 'place Heir front'", ("INVALID_ARGUMENT", "CONTRADICTION", "actions[1]")),
        ("r.options.lines = 1", ("INVALID_ARGUMENT", "CONTRADICTION", "options.lines")),
        (
            "r.options.sample_variations = 1",
            ("INVALID_ARGUMENT", "CONTRADICTION", "options.sample_variations"),
        ),
        ("r.options.information = True", ("INVALID_ARGUMENT", "CONTRADICTION", "options.information")),
        (
            "r.budget.Clear(), r.budget.share_iterations.append(4)",
            ("INVALID_ARGUMENT", "CONTRADICTION", "budget.share_iterations"),
        ),
    ],
)
def test_invalid_comparisons_are_refused_by_field(adviser: Any, change: str, expected: tuple[str, str, str]) -> None:
    r = compare("place Heir front", "place Spy front", iterations=10)
    exec(change, {"r": r})
    assert refusal(adviser.Compare, r) == expected


# --- Review ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game_id", "edition"), [("oriflamme", "en-2019"), ("castle_village_port", "house")])
def test_a_game_is_reviewed_decision_by_decision(adviser: Any, game_id: str, edition: str) -> None:
    record = random_record(game_id, edition, 3, seed=4)
    request = pb.ReviewRequest(record=records.write(record), budget=pb.Budget(iterations=200))
    *steps, last = adviser.Review(request, timeout=100)
    decisions = [i for i, table in enumerate(record.tables()) if table.to_act is not None and table.to_act >= 0]
    assert [step.decision.index for step in steps] == decisions
    summary = last.summary
    assert summary.luck_known
    assert [seat.seat for seat in summary.seats] == [SEAT_A, SEAT_B, SEAT_C]
    end: Any = record.end
    for number, seat in enumerate(summary.seats):
        own = [step.decision for step in steps if step.decision.seat == seat.seat]
        assert seat.decisions == sum(not decision.forced for decision in own)
        assert sum(count.count for count in seat.grades) == seat.decisions
        assert seat.win_loss.mean == pytest.approx(sum(decision.win_loss.mean for decision in own))
        # The losses of decisions and luck lead from a third each to the payoff.
        assert 1 / 3 - seat.win_loss.mean + seat.luck == pytest.approx(end.payoffs[number])
    for step in steps:
        decision = step.decision
        assert decision.played.action.text == str(record.actions[decision.index]).partition(" = ")[0]
        loss, error = decision.win_loss.mean, decision.win_loss.standard_error
        assert loss >= 0
        if decision.grade == pb.GRADE_BEST:
            assert loss == 0
        elif decision.grade == pb.GRADE_FINE:
            assert loss < 0.02 or loss < 2 * error
        else:
            least = {pb.GRADE_INACCURACY: 0.02, pb.GRADE_MISTAKE: 0.05, pb.GRADE_BLUNDER: 0.10}[decision.grade]
            assert loss >= max(least, 2 * error)


def test_a_record_of_one_seats_view_is_reviewed_for_that_seat(adviser: Any) -> None:
    record = GAME.seen_from("B")
    request = pb.ReviewRequest(record=records.write(record), budget=pb.Budget(iterations=100))
    *steps, last = adviser.Review(request, timeout=60)
    assert {step.decision.seat for step in steps} == {SEAT_B}
    assert not last.summary.luck_known
    assert not last.summary.seats[0].HasField("luck")
    assert not any(step.decision.HasField("luck") for step in steps)
    request.seat = SEAT_A
    assert refusal(adviser.Review, request) == ("INVALID_ARGUMENT", "CONTRADICTION", "seat")
    # The others' secrets in a whole record do not change the verdicts.
    whole = pb.ReviewRequest(record=records.write(GAME), seat=SEAT_B, budget=request.budget)
    whole.options.seed = request.options.seed = 3
    request.seat = SEAT_B
    for one, other in zip(adviser.Review(whole, timeout=60), adviser.Review(request, timeout=60), strict=True):
        if one.WhichOneof("step") == "decision":
            one.decision.ClearField("luck")
            one.decision.ClearField("luck_parts")
            assert one == other


def _without_samples(candidates: Any) -> list[pb.Candidate]:
    copies = [pb.Candidate.FromString(candidate.SerializeToString()) for candidate in candidates]
    for copy in copies:
        copy.ClearField("sample_variation")
    return copies


def test_a_review_with_details_begins_with_its_extent_and_lists_moves(adviser: Any) -> None:
    record = records.write(random_record("oriflamme", "en-2019", 3, seed=4))
    for seat in (write_seat(None), SEAT_B):
        options = pb.Options(lines=3, sample_variations=1)
        budget = pb.Budget(iterations=200)
        request = pb.ReviewRequest(record=record, seat=seat, budget=budget, options=options, details=True)
        first, *steps, last = adviser.Review(request, timeout=100)
        assert first.begun.decisions == len(steps)
        assert last.HasField("summary")
        longest = 0
        for step in steps:
            decision = step.decision
            candidates = decision.candidates
            assert 1 <= len(candidates) <= 3
            if decision.forced:
                continue
            assert decision.best in (*_without_samples(candidates), decision.played)
            assert any(candidate.principal_variation for candidate in candidates)
            (sample,) = (each.sample_variation for each in candidates if each.sample_variation)
            assert all(step.view.oriflamme.observer == decision.seat for step in sample)
            longest = max(longest, len(sample))
            assert not decision.best.sample_variation
            assert not decision.played.sample_variation
        assert longest > 2
    one_seat = pb.ReviewRequest(record=records.write(GAME.seen_from("B")), budget=budget, details=True)
    first, *steps, _ = adviser.Review(one_seat, timeout=60)
    assert first.begun.decisions == len(steps) > 0


def test_invalid_reviews_are_refused_by_field(adviser: Any) -> None:
    assert refusal(adviser.Review, pb.ReviewRequest()) == ("INVALID_ARGUMENT", "MISSING_FIELD", "record")
    request = pb.ReviewRequest(record=record_pb2.Record(game=EN))
    assert refusal(adviser.Review, request) == ("INVALID_ARGUMENT", "MISSING_FIELD", "record.contents")
    request = pb.ReviewRequest(record=records.write(GAME), options=pb.Options(information=True))
    assert refusal(adviser.Review, request) == ("INVALID_ARGUMENT", "CONTRADICTION", "options.information")
    request = pb.ReviewRequest(record=records.write(GAME), options=pb.Options(sample_variations=1))
    assert refusal(adviser.Review, request) == ("INVALID_ARGUMENT", "CONTRADICTION", "options.sample_variations")
