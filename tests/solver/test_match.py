"""Matches of configurations: the arithmetic, the order of play, and the file of deals."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import active_children
from typing import Any

import pytest

from engine_cy import Action, Rng, View, new_game
from engine_cy.action_log import History
from solver import CONFIGS, Budget, Control, InvalidQuestionError, Question, SearchQuestion, match, solve
from solver.match import (
    Book,
    Deal,
    Match,
    OtherMatchError,
    Sprt,
    Turn,
    choose,
    elo_of,
    llr_of,
    read_player,
    score_of,
    share_of,
    with_settings,
)
from solver.pool.base import Pool, WorkerLostError
from solver.pool.processes import Processes
from solver.pool.threads import Threads


def a_match(a: str, b: str, iterations: int = 20, **changes: Any) -> Match:
    game = new_game("oriflamme", "en-2019", 3).spec
    return replace(Match(game, read_player(a), read_player(b), Budget(iterations=iterations), seed=1), **changes)


def lasting(report: match.Report) -> dict[str, Any]:
    """The figures of a match that do not differ from run to run."""
    figures = match.as_json(report)
    return {name: figures[name] for name in figures if name not in ("moves_per_s", "workers")}


# --- arithmetic -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_a_fair_share_is_elo_0(players):
    assert elo_of(1 / players, players) == pytest.approx(0)
    assert share_of(elo_of(0.7, players), players) == pytest.approx(0.7)


def test_elo_of_known_shares():
    # Ten times the odds are 400.
    assert elo_of(10 / 11, 2) == pytest.approx(400)
    assert elo_of(0.5, 3) == pytest.approx(400 * math.log10(2))


def test_each_deal_is_one_observation():
    means = [0.2, 0.4, 0.6, 0.4]
    score = score_of(means, players=3)
    assert score.games == 12
    assert score.mean == pytest.approx(0.4)
    error = 1.96 * math.sqrt(0.08 / 3 / 4)
    assert [score.low, score.high] == pytest.approx([0.4 - error, 0.4 + error], abs=1e-4)
    # The same deals four times over: half the error.
    assert score_of(means * 4, 3).high - 0.4 == pytest.approx(error / 2, rel=0.15)


def test_of_one_deal_the_error_is_unknown():
    score = score_of([0.5], players=3)
    assert (score.low, score.high) == (0, 1)


def test_nobody_is_infinitely_strong():
    score = score_of([1.0] * 4, players=3)
    assert score.elo(score.mean) == pytest.approx(elo_of(11.5 / 12, 3))
    assert score.elo(0.0) == pytest.approx(elo_of(0.5 / 12, 3))


def test_the_llr_points_to_the_likelier_strength():
    means = [0.2, 0.5, 0.3, 0.6] * 25
    assert llr_of([], 3, 0, 50) == 0
    assert llr_of(means, 3, 0, 50) > 0 > llr_of(means, 3, 50, 100)
    assert llr_of(means, 3, 0, 50) == pytest.approx(-llr_of(means, 3, 50, 0))
    # The added deal of fair games hardly counts among many.
    variance = sum((x - 0.4) ** 2 for x in means) / 100
    p = share_of(50, 3)
    assert llr_of(means, 3, 0, 50) == pytest.approx(100 * (p - 1 / 3) * (0.8 - p - 1 / 3) / (2 * variance), rel=0.05)


# --- configurations -------------------------------------------------------------------------------------------


def test_a_variant_is_a_configuration_with_other_settings():
    assert read_player("plain") == CONFIGS["plain"]
    player = read_player("plain:nodes=own,exploration=0.7,flat=True,worlds=8")
    assert player == replace(
        CONFIGS["plain"],
        name="plain:nodes=own,exploration=0.7,flat=True,worlds=8",
        nodes="own",
        exploration=0.7,
        flat=True,
        worlds=8,
    )


@pytest.mark.parametrize(
    "text",
    [
        "nobody",
        "plain:colour=red",
        "plain:name=x",
        "plain:nodes=none",
        "plain:worlds=few",
        "plain:flat=1",
        "plain:flat",
    ],
)
def test_a_variant_that_cannot_be_is_refused(text):
    with pytest.raises(InvalidQuestionError):
        read_player(text)


# --- playing --------------------------------------------------------------------------------------------------


def test_a_sits_in_each_seat_once_a_deal(monkeypatch):
    views = []

    def watched(question: SearchQuestion) -> Any:
        views.append((question.view.observer, question.config.name, bytes(question.view), question.seed))
        return solve(question)

    monkeypatch.setattr("solver.match.play.solve", watched)
    deal = match.play_deal(a_match("random", "flat"), 5)
    assert len(deal.shares) == 3
    # All games begin alike, with the same player and the same draws.
    first = {view for view in views if view[2] == views[0][2]}
    assert {(seat, name) for seat, name, _, _ in first} == {(5 % 3, "random"), (5 % 3, "flat")}
    assert len({seed for *_, seed in first}) == 1
    # A new deal is noticed by the first player's cards: the games follow each other in `views`.
    starts = [i for i, view in enumerate(views) if view[2] == views[0][2]]
    games = [views[i:j] for i, j in zip(starts, [*starts[1:], None], strict=True)]
    seats_of_a = [{seat for seat, name, *_ in game if name == "random"} for game in games]
    assert seats_of_a == [{0}, {1}, {2}]


def test_a_configuration_against_itself_scores_a_fair_share():
    report = match.run(a_match("plain", "plain"), 4)
    assert report.score.mean == pytest.approx(1 / 3)
    assert lasting(report)["elo"] == 0.0


def test_the_number_of_workers_changes_nothing():
    one, two = (match.run(a_match("plain", "flat"), 5, workers=workers) for workers in (1, 2))
    assert one.deals == two.deals


def test_another_seed_is_another_match():
    reports = [match.run(a_match("plain", "flat", seed=seed), 2) for seed in (1, 2)]
    assert reports[0].deals != reports[1].deals


def test_the_search_beats_random_play():
    report = match.run(a_match("plain", "random", 200), 5)
    assert report.score.mean > 0.75
    assert match.per_decision(report, 0) == 200
    assert match.per_decision(report, 1) == 0


def test_a_limit_of_time_is_one_for_each_decision():
    report = match.run(a_match("plain", "flat", budget=Budget(thread_time_ms=0.2)), 1)
    assert match.per_decision(report, 0) >= 100


def test_games_without_shares_of_a_win_are_refused():
    with pytest.raises(InvalidQuestionError, match="leduc_poker cannot be played as a match"):
        match.run(a_match("flat", "flat", 5, game=new_game("leduc_poker", None, 2).spec), 1)


@dataclass(frozen=True, slots=True)
class Last:
    """A guest that plays the last of its options, and checks that it gets what it saw."""

    name: str
    patience: int = 7

    def choose(self, turn: Turn, budget: Budget, seed: int) -> tuple[Action, int]:
        seen = turn.seen
        assert seen.end == turn.view
        assert seen.actions == turn.history.actions
        return turn.view.legal_actions()[-1], self.patience


def test_a_guest_is_asked_where_there_is_something_to_choose(tmp_path):
    path = tmp_path / "deals.jsonl"
    guests = {"last": lambda text, settings: with_settings(Last("last"), text, settings)}
    game = replace(a_match("plain", "random"), a=read_player("last:patience=3", guests))
    report = match.run(game, 2, path=path)
    assert match.per_decision(report, 0) == 3
    assert match.as_json(report)["a"] == "last:patience=3"
    assert match.run(game, 2, path=path).deals == report.deals
    with pytest.raises(OtherMatchError):
        match.run(replace(game, a=read_player("last", guests)), 1, path=path)


def test_an_unknown_player_is_refused_with_the_known_ones():
    with pytest.raises(InvalidQuestionError, match=r"'nobody' is not one of random, .*, last"):
        read_player("nobody", {"last": lambda text, settings: Last(text)})


# --- the file of deals ----------------------------------------------------------------------------------------


def test_a_match_resumes_where_it_was(tmp_path):
    path = tmp_path / "deals.jsonl"
    game = a_match("plain", "flat")
    whole = match.run(game, 5)
    match.run(game, 2, path=path)
    with path.open("a") as file:
        file.write('{"deal": 2, "shares": [1.0,')  # killed while it was written
    resumed = match.run(game, 5, path=path)
    assert lasting(resumed) == lasting(whole)
    assert len(path.read_text().splitlines()) == 1 + 5
    # Now everything is there.
    again = match.run(game, 5, path=path)
    assert lasting(again) == lasting(whole)
    assert again.moves_per_s is None
    # And fewer deals are the first of them.
    assert match.run(game, 3, path=path).deals == whole.deals[:3]


def test_deals_may_end_in_any_order(tmp_path):
    path = tmp_path / "deals.jsonl"
    game = a_match("plain", "flat")
    book = Book(game, path)
    for number in (2, 0):
        book.add(match.play_deal(game, number))
    assert [deal.number for deal in Book(game, path).first(9)] == [0]
    assert lasting(match.run(game, 3, path=path)) == lasting(match.run(game, 3))


@pytest.mark.parametrize(
    "other",
    [
        a_match("plain", "pimc"),
        a_match("flat", "plain"),
        a_match("plain", "flat", 21),
        a_match("plain", "flat", seed=2),
        a_match("plain", "flat", game=new_game("oriflamme", "en-2019", 4).spec),
        a_match("plain", "flat", game=new_game("oriflamme", "fr-2019", 3).spec),
        a_match("plain:exploration=0.6", "flat"),
    ],
)
def test_the_file_of_another_match_is_refused(tmp_path, other):
    path = tmp_path / "deals.jsonl"
    match.run(a_match("plain", "flat", 5), 1, path=path)
    before = path.read_bytes()
    with pytest.raises(OtherMatchError, match="another match"):
        match.run(other, 1, path=path)
    assert path.read_bytes() == before


# --- the sequential test --------------------------------------------------------------------------------------


def test_the_sequential_test_stops_for_a_clear_winner():
    report = match.run(a_match("flat", "random", 50), 60, sprt=Sprt(0, 100))
    assert len(report.deals) < 20
    figures = match.as_json(report)["sprt"]
    assert figures["llr"] >= 2.94
    assert figures["verdict"] == "rather 100 than 0"


def test_the_sequential_test_stops_where_it_would_whatever_is_known_already(tmp_path):
    path = tmp_path / "deals.jsonl"
    game = a_match("flat", "random", 50)
    one = match.run(game, 60, sprt=Sprt(0, 100))
    match.run(game, len(one.deals) + 2, path=path)
    assert match.run(game, 60, path=path, sprt=Sprt(0, 100)).deals == one.deals


@pytest.mark.parametrize(("shares", "sign"), [((1.0, 0.0, 1.0), 1), ((0.0, 0.0, 1.0), -1)])
def test_the_sequential_test_decides_for_both_sides(shares, sign):
    deals = [Deal(i, shares, (1, 1), (1, 1)) for i in range(200)]
    sprt = Sprt(0, 60)
    n = sprt.decided_after(deals, 3)
    assert n is not None
    assert sign * sprt.llr(deals[:n], 3) >= 2.94
    assert sprt.decided_after(deals, 3, checked=n - 1) == n
    assert sprt.decided_after(deals[: n - 1], 3) is None


# --- on the way -----------------------------------------------------------------------------------------------


def test_tell_gets_all_deals_at_the_start_and_after_each(tmp_path):
    path = tmp_path / "deals.jsonl"
    match.run(a_match("plain", "flat"), 1, path=path)
    counts: list[int] = []
    match.run(a_match("plain", "flat"), 3, path=path, tell=lambda deals: counts.append(len(deals)))
    assert counts == [1, 2, 3]


def test_a_match_that_is_left_leaves_no_workers_behind():
    def leave(deals: object) -> None:
        if deals:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        match.run(a_match("plain", "plain", 100), 50, workers=2, tell=leave)
    assert not active_children()


def test_a_question_holds_what_its_player_saw_and_no_more(monkeypatch):
    questions: list[SearchQuestion] = []

    def watched(question: SearchQuestion) -> Any:
        questions.append(question)
        return solve(question)

    monkeypatch.setattr("solver.match.play.solve", watched)
    for spec in (("oriflamme", "en-2019", 3), ("castle_village_port", None, 3)):
        match.play_deal(a_match("level-1", "random", game=new_game(*spec).spec), 0)
    assert len({question.view.game for question in questions}) == 2
    for question in questions:
        assert question.history is not None
        view = first_view(question)
        for action in question.history.actions:
            view = view.play(action)
        assert view == question.view
    seen = [question.history.actions for question in questions if question.history]
    assert any("place ?" in action for actions in seen for action in actions)


def first_view(question: SearchQuestion) -> View:
    """The deal as the player of a question in deal 0 of seed 1 saw it."""
    return question.view.game.deal(Rng(1, 0), first=0).view(question.view.observer)


# --- on a pool ------------------------------------------------------------------------------------------------


class Spreading:
    """A pool that plays on threads of its own, and searches on others, as a cluster's does."""

    is_reentrant = True

    def __init__(self) -> None:
        self.width = 2
        self.questions = 0
        self._games = ThreadPoolExecutor(4)
        self._searches = Threads(2)

    def compute(self, question: Question, control: Control) -> Any:
        return self.submit(question, control).result()

    def submit(self, question: Question, control: Control | None = None, *, width: int | None = None) -> Future[Any]:
        self.questions += 1
        return self._searches.submit(question, control, width=width)

    def map(self, function: Callable[..., Any], items: Iterable[Any], *, in_order: bool = True) -> Iterator[Any]:
        yield from self._games.map(function, items)

    def close(self) -> None:
        self._games.shutdown()
        self._searches.close()


@pytest.mark.parametrize("changes", [{}, {"game": new_game("castle_village_port", None, 3).spec}])
@pytest.mark.parametrize("make", [lambda: Threads(3), lambda: Processes(2), Spreading])
def test_a_pool_plays_the_same_deals(make, changes):
    game = a_match("level-2", "plain", **changes)
    here = match.run(game, 4)
    pool: Pool = make()
    there = match.run(game, 4, pool=pool)
    pool.close()
    assert there.deals == here.deals
    assert there.workers == pool.width


def test_a_pool_that_lets_them_has_games_search_on_it():
    pool = Spreading()
    report = match.run(a_match("plain", "flat"), 1, pool=pool)
    pool.close()
    assert pool.questions >= sum(report.deals[0].decisions)


def test_a_lost_worker_ends_the_match_with_its_name():
    class Lost(Spreading):
        def submit(self, question: Question, *_: Any, **__: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(WorkerLostError("3 workers were lost over this"))
            return future

    with pytest.raises(WorkerLostError, match="3 workers were lost"):
        match.run(a_match("plain", "plain"), 1, pool=Lost())


def test_a_lost_process_ends_the_match_which_can_be_resumed(tmp_path):
    path = tmp_path / "deals.jsonl"
    game = a_match("plain", "flat")

    def kill(deals: object) -> None:
        if deals:
            for child in active_children():
                os.kill(child.pid or 0, signal.SIGKILL)

    with pytest.raises(WorkerLostError, match="a worker was lost; the file has the finished deals, to resume from"):
        match.run(game, 30, workers=2, path=path, tell=kill)
    assert not active_children()
    kept = len(path.read_text().splitlines()) - 1
    assert kept >= 1
    assert match.run(game, 4, path=path).deals == match.run(game, 4).deals


def test_guests_play_on_a_pool_too():
    game = replace(a_match("plain", "plain"), b=Last("last"))
    pool = Spreading()
    assert match.run(game, 2, pool=pool).deals == match.run(game, 2).deals
    pool.close()


def test_a_forced_decision_takes_no_iterations():
    position = new_game("oriflamme", "en-2019", 3).deal(1)
    while len(position.legal_actions()) > 1:
        position = position.play(position.legal_actions()[0])
    turn = Turn(position, History(position.game), position)
    for who in (CONFIGS["plain"], Last("last")):
        assert choose(who, turn, Budget(iterations=9), 1) == (position.legal_actions()[0], None)
