"""Work that grows with a request runs off the event loop; each request replays its log and builds beliefs once."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from process import milliseconds, stub
from sockets import serving
from tables import random_game

import solver.pool.parts
import solver.question
from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from engine_cy import View, new_game
from engine_cy.record import Record
from server.codec import records, views
from server.services import solver as solver_service
from server.services.searches import NICENESS, lower_priority
from server.services.solver import SolverService
from server.settings import Settings
from server.telemetry import Telemetry
from solver.pool.threads import Threads

GAME = new_game("oriflamme", "en-2019", 3)
FEW = pb.Budget(iterations=60)


def runs_a_loop() -> bool:
    """Return whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the calls of expensive functions by label, and fail those on an event loop's thread."""
    counts: Counter[str] = Counter()

    def watch(module: Any, name: str, label: str) -> None:
        original: Callable[..., Any] = getattr(module, name)

        def watched(*arguments: Any, **keywords: Any) -> Any:
            assert not runs_a_loop(), f"{label} on the event loop"
            counts[label] += 1
            return original(*arguments, **keywords)

        monkeypatch.setattr(module, name, watched)

    watch(solver.question, "Belief", "belief")
    watch(solver.question, "SecretCard", "secret")
    watch(solver.pool.parts, "Searcher", "search")
    watch(views, "History", "replay")
    watch(records, "read_record", "replay")
    watch(Record, "tables", "replay")
    return counts


@pytest.fixture
def adviser(counts: Counter[str]) -> Iterator[Any]:
    service = SolverService(Settings(cache_mb=0, threads=2), Telemetry())
    service.open()
    with serving([(solver_service.SERVICE, service)]) as channel:
        yield stub(channel)
    service.end()


def game_so_far(n_actions: int = 20, seed: int = 3) -> tuple[View, Record]:
    """Return the view and the record of a player who is to act and has a choice."""
    game = list(random_game(GAME, seed))
    for number, (position, _) in enumerate(game):
        mover = position.to_act
        if number >= n_actions and mover is not None and mover >= 0 and len(position.legal_actions()) > 1:
            record = Record(game[0][0], tuple([str(action) for _, action in game[:number]]))
            return position.view(mover), record.seen_from(mover)
    raise AssertionError("the game is over")


def message() -> view_pb2.View:
    return views.write_view(*game_so_far())


def test_a_search_with_a_history_replays_it_once_and_builds_one_belief(adviser: Any, counts: Counter[str]) -> None:
    view = message()
    counts.clear()
    options = pb.Options(shares=3)
    suggestion = adviser.Suggest(pb.SuggestRequest(view=view, budget=FEW, options=options), timeout=60).suggestion
    assert suggestion.iterations == 60
    assert suggestion.beliefs
    assert counts == {"replay": 1, "belief": 1, "search": 3}


def test_information_shares_the_belief(adviser: Any, counts: Counter[str]) -> None:
    view = message()
    counts.clear()
    request = pb.SuggestRequest(view=view, budget=FEW, options=pb.Options(information=True))
    suggestion = adviser.Suggest(request, timeout=60).suggestion
    cards = len(suggestion.information)
    assert cards
    assert (counts["replay"], counts["belief"]) == (1, 1)
    # Each card takes two searches, with the card secret and known, and a second secret for the guesses of others.
    assert (counts["search"], counts["secret"]) == (1 + 2 * cards, 2 * cards)


def test_every_arm_of_a_comparison_shares_the_belief(adviser: Any, counts: Counter[str]) -> None:
    view, _ = game_so_far()
    moves = [view_pb2.Action(text=str(action)) for action in view.legal_actions()[:3]]
    written = message()
    counts.clear()
    request = pb.CompareRequest(
        view=written, actions=moves, budget=pb.Budget(iterations=600), options=pb.Options(shares=2)
    )
    comparison = adviser.Compare(request, timeout=60).comparison
    assert comparison.worlds == 600
    assert counts == {"replay": 1, "belief": 1, "search": 2 * len(moves)}


def test_a_share_without_iterations_has_no_tree(adviser: Any, counts: Counter[str]) -> None:
    view, _ = game_so_far()
    moves = [view_pb2.Action(text=str(action)) for action in view.legal_actions()[:2]]
    written = message()
    counts.clear()
    request = pb.CompareRequest(view=written, actions=moves, budget=pb.Budget(iterations=256))
    request.options.shares = 256
    assert adviser.Compare(request, timeout=60).comparison.worlds == 256
    assert counts["search"] == 2


def test_a_forced_move_is_answered_off_the_event_loop(adviser: Any, counts: Counter[str]) -> None:
    forced = next(
        position.view(position.to_act)
        for position, _ in random_game(GAME, 1)
        if position.to_act is not None and position.to_act >= 0 and position.view(position.to_act).forced_action
    )
    counts.clear()
    suggestion = adviser.Suggest(pb.SuggestRequest(view=views.write_view(forced)), timeout=60).suggestion
    assert suggestion.stop_reason == pb.STOP_REASON_FORCED
    assert counts == {"belief": 1}


def test_streams_compute_nothing_on_the_event_loop(adviser: Any, counts: Counter[str]) -> None:
    analyze = pb.AnalyzeRequest(view=message(), budget=pb.Budget(time=milliseconds(200)), interval=milliseconds(50))
    assert [step.last for step in adviser.Analyze(analyze, timeout=60)][-1]
    items = [pb.AnalyzeBatchRequest(item=pb.BatchItem(id=name, view=message(), budget=FEW)) for name in "abc"]
    items.append(pb.AnalyzeBatchRequest(cancel=pb.CancelItem(id="c")))
    assert len(list(adviser.AnalyzeBatch(iter(items), timeout=60))) == 3


def test_a_review_replays_a_game_once_for_each_seat_and_off_the_event_loop(adviser: Any, counts: Counter[str]) -> None:
    game = list(random_game(GAME, 2))
    record = Record(game[0][0], tuple([str(action) for _, action in game if action is not None]))
    written = records.write(record)
    counts.clear()
    steps = list(adviser.Review(pb.ReviewRequest(record=written, budget=pb.Budget(iterations=4)), timeout=60))
    decisions = len(steps) - 1
    assert decisions > 20
    # A replay of each seat's record, and one of its end for the result: not one for each decision.
    assert counts["replay"] < 12


def test_the_guard_fails_work_on_the_event_loop(counts: Counter[str]) -> None:
    async def on_the_loop() -> None:
        assert solver.question.SearchQuestion(GAME.deal(1).view(0)).belief

    with pytest.raises(AssertionError, match="belief on the event loop"):
        asyncio.run(on_the_loop())


def test_an_error_off_the_event_loop_reaches_the_client(adviser: Any) -> None:
    with pytest.raises(grpc.RpcError, match="view"):
        adviser.Suggest(pb.SuggestRequest(), timeout=60)


def test_search_threads_run_below_the_priority_of_the_event_loop() -> None:
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    with Threads(1, lower_priority) as threads:
        assert threads.call(priority).result() == min(priority() + NICENESS, 19)
