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
from engine_cy.record import read_record
from solver import CONFIGS, Budget, Control, InvalidQuestionError, Question, SearchQuestion, match, solve
from solver.match import (
    Book,
    Match,
    OtherMatchError,
    PlayedDeal,
    Sprt,
    Turn,
    choose,
    elo_of,
    hang_watch,
    llr_of,
    play,
    read_player,
    score_of,
    share_of,
    with_settings,
)
from solver.pool.base import Pool, WorkerLostError
from solver.pool.processes import Processes
from solver.pool.threads import Threads


def example_match(a: str, b: str, iterations: int = 20, **changes: Any) -> Match:
    game = new_game("oriflamme", "en-2019", 3).spec
    return replace(Match(game, read_player(a), read_player(b), Budget(iterations=iterations), seed=1), **changes)


def lasting(report: match.Report) -> dict[str, Any]:
    """Return the figures of a match that are the same in each run."""
    figures = match.as_json(report)
    return {name: figures[name] for name in figures if name not in ("moves_per_s", "workers")}


# --- arithmetic -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_a_fair_share_is_elo_0(players):
    assert elo_of(1 / players, players) == pytest.approx(0)
    assert share_of(elo_of(0.7, players), players) == pytest.approx(0.7)


def test_elo_of_known_shares():
    # 400 Elo are odds of ten to one.
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


def test_one_deal_gives_no_error_estimate():
    score = score_of([0.5], players=3)
    assert (score.low, score.high) == (0, 1)


def test_a_perfect_score_gives_a_finite_elo():
    score = score_of([1.0] * 4, players=3)
    assert score.elo(score.mean) == pytest.approx(elo_of(11.5 / 12, 3))
    assert score.elo(0.0) == pytest.approx(elo_of(0.5 / 12, 3))


def test_the_llr_points_to_the_likelier_strength():
    means = [0.2, 0.5, 0.3, 0.6] * 25
    assert llr_of([], 3, 0, 50) == 0
    assert llr_of(means, 3, 0, 50) > 0 > llr_of(means, 3, 50, 100)
    assert llr_of(means, 3, 0, 50) == pytest.approx(-llr_of(means, 3, 50, 0))
    # Among many deals, the added prior deal of fair games hardly counts.
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
        "unknown",
        "plain:colour=red",
        "plain:name=x",
        "plain:nodes=none",
        "plain:worlds=few",
        "plain:flat=1",
        "plain:flat",
    ],
)
def test_an_impossible_variant_is_refused(text):
    with pytest.raises(InvalidQuestionError):
        read_player(text)


# --- playing --------------------------------------------------------------------------------------------------


def test_player_a_has_each_seat_once_in_each_deal(monkeypatch):
    views = []

    def record_question(question: SearchQuestion) -> Any:
        views.append((question.view.observer, question.config.name, bytes(question.view), question.seed))
        return solve(question)

    monkeypatch.setattr("solver.match.play.solve", record_question)
    deal = match.play_deal(example_match("random", "flat"), 5)
    assert len(deal.shares) == 3
    # All games of a deal begin with the same cards, the same first player and the same seed.
    first = {view for view in views if view[2] == views[0][2]}
    assert {(seat, name) for seat, name, _, _ in first} == {(5 % 3, "random"), (5 % 3, "flat")}
    assert len({seed for *_, seed in first}) == 1
    # Each game begins where its first view comes again.
    starts = [i for i, view in enumerate(views) if view[2] == views[0][2]]
    games = [views[i:j] for i, j in zip(starts, [*starts[1:], None], strict=True)]
    seats_of_a = [{seat for seat, name, *_ in game if name == "random"} for game in games]
    assert seats_of_a == [{0}, {1}, {2}]


def test_a_configuration_against_itself_scores_a_fair_share():
    report = match.run(example_match("plain", "plain"), 4)
    assert report.score.mean == pytest.approx(1 / 3)
    assert lasting(report)["elo"] == 0.0


def test_the_number_of_workers_does_not_change_the_deals():
    one, two = (match.run(example_match("plain", "flat"), 5, workers=workers) for workers in (1, 2))
    assert one.deals == two.deals


def test_another_seed_is_another_match():
    reports = [match.run(example_match("plain", "flat", seed=seed), 2) for seed in (1, 2)]
    assert reports[0].deals != reports[1].deals


def test_the_search_beats_random_play():
    report = match.run(example_match("plain", "random", 200), 5)
    assert report.score.mean > 0.75
    assert match.per_decision(report, 0) == 200
    assert match.per_decision(report, 1) == 0


def test_a_time_limit_applies_to_each_decision():
    report = match.run(example_match("plain", "flat", budget=Budget(thread_time_ms=0.2)), 1)
    assert match.per_decision(report, 0) >= 100


def test_without_shares_of_a_win_the_highest_payoff_wins():
    assert list(play.shares_of_win((0.25, 0.75))) == [0.25, 0.75]
    assert play.shares_of_win((-3, 5, 5)) == [0, 0.5, 0.5]
    report = match.run(example_match("flat", "flat", 5, game=new_game("leduc_poker", None, 2).spec), 3)
    assert 0 <= report.score.mean <= 1
    # The game chooses its first player, which a deal cannot.
    report = match.run(example_match("flat", "random", 20, game=("openspiel:tic_tac_toe", None, 2)), 3)
    assert report.score.mean > 0.5


def test_a_method_of_a_game_that_does_not_return_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def legal_actions() -> None:
        while True:
            pass

    with pytest.raises(hang_watch.HangError) as caught, hang_watch.hang_watch(__name__.partition(".")[0], 0.2):
        legal_actions()
    assert caught.traceback[-1].name == "legal_actions"


@dataclass(frozen=True, slots=True)
class Last:
    """A guest player that takes its last option, and checks that its turn holds what it saw."""

    name: str
    patience: int = 7

    def choose(self, turn: Turn, budget: Budget, seed: int) -> tuple[Action, int]:
        seen = turn.seen
        assert seen.end == turn.view
        assert seen.actions == turn.history.actions
        return turn.view.legal_actions()[-1], self.patience


def test_a_guest_makes_its_decisions_and_keeps_its_settings(tmp_path):
    path = tmp_path / "deals.jsonl"
    guests = {"last": lambda text, settings: with_settings(Last("last"), text, settings)}
    match_ = replace(example_match("plain", "random"), a=read_player("last:patience=3", guests))
    report = match.run(match_, 2, path=path)
    assert match.per_decision(report, 0) == 3
    assert match.as_json(report)["a"] == "last:patience=3"
    assert match.run(match_, 2, path=path).deals == report.deals
    with pytest.raises(OtherMatchError):
        match.run(replace(match_, a=read_player("last", guests)), 1, path=path)


def test_an_unknown_player_is_refused_with_the_known_ones():
    with pytest.raises(InvalidQuestionError, match=r"'unknown' is not one of random, .*, last"):
        read_player("unknown", {"last": lambda text, settings: Last(text)})


# --- the file of deals ----------------------------------------------------------------------------------------


def test_a_match_resumes_after_its_last_written_deal(tmp_path):
    path = tmp_path / "deals.jsonl"
    match_ = example_match("plain", "flat")
    whole = match.run(match_, 5)
    match.run(match_, 2, path=path)
    with path.open("a") as file:
        file.write('{"deal": 2, "shares": [1.0,')  # the process was killed while it wrote
    resumed = match.run(match_, 5, path=path)
    assert lasting(resumed) == lasting(whole)
    assert len(path.read_text().splitlines()) == 1 + 5
    # The file has all deals.
    complete = match.run(match_, 5, path=path)
    assert lasting(complete) == lasting(whole)
    assert complete.moves_per_s is None
    # A shorter match has the first of them.
    assert match.run(match_, 3, path=path).deals == whole.deals[:3]


@pytest.mark.parametrize("workers", [1, 2])
def test_each_game_of_a_match_is_kept_as_a_record(tmp_path, workers):
    settings = example_match("plain", "random", 10)
    report = match.run(settings, 2, workers=workers, games=tmp_path / "games")
    paths = sorted((tmp_path / "games").iterdir())
    assert [path.name for path in paths] == [f"deal-{deal:05}-{seat}.txt" for deal in (0, 1) for seat in "ABC"]
    records = [read_record(path.read_text("utf-8")) for path in paths]
    for number, record in enumerate(records):
        seat = number % 3
        assert record.names == tuple("plain" if other == seat else "random" for other in range(3))
        assert record.end.payoffs[seat] == report.deals[number // 3].shares[seat]
    assert report.deals[0].records == ()  # a long match keeps no records in memory


def test_a_resumed_match_keeps_the_games_of_its_further_deals(tmp_path):
    settings, path = example_match("plain", "random", 10), tmp_path / "match.jsonl"
    match.run(settings, 2, path=path, games=tmp_path / "all")
    whole = {file.name: file.read_text() for file in (tmp_path / "all").iterdir()}
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2]))
    match.run(settings, 2, path=path, games=tmp_path / "rest")
    rest = {file.name: file.read_text() for file in (tmp_path / "rest").iterdir()}
    assert len(rest) == 3
    assert rest.items() < whole.items()
    assert path.read_text() == "".join(lines)


def test_the_games_of_another_match_are_not_touched(tmp_path):
    path = tmp_path / "match.jsonl"
    match.run(example_match("plain", "random", 10), 1, path=path)
    with pytest.raises(OtherMatchError):
        match.run(example_match("plain", "random", 11), 1, path=path, games=tmp_path / "games")
    assert not (tmp_path / "games").exists()


def test_deals_may_end_in_any_order(tmp_path):
    path = tmp_path / "deals.jsonl"
    match_ = example_match("plain", "flat")
    book = Book(match_, path)
    for number in (2, 0):
        book.add(match.play_deal(match_, number))
    assert [deal.number for deal in Book(match_, path).first(9)] == [0]
    assert lasting(match.run(match_, 3, path=path)) == lasting(match.run(match_, 3))


@pytest.mark.parametrize(
    "other",
    [
        example_match("plain", "pimc"),
        example_match("flat", "plain"),
        example_match("plain", "flat", 21),
        example_match("plain", "flat", seed=2),
        example_match("plain", "flat", game=new_game("oriflamme", "en-2019", 4).spec),
        example_match("plain", "flat", game=new_game("oriflamme", "fr-2019", 3).spec),
        example_match("plain:exploration=0.6", "flat"),
    ],
)
def test_the_file_of_another_match_is_refused_and_kept(tmp_path, other):
    path = tmp_path / "deals.jsonl"
    match.run(example_match("plain", "flat", 5), 1, path=path)
    before = path.read_bytes()
    with pytest.raises(OtherMatchError, match="another match"):
        match.run(other, 1, path=path)
    assert path.read_bytes() == before


# --- the sequential test --------------------------------------------------------------------------------------


def test_the_sequential_test_stops_for_a_clear_winner():
    report = match.run(example_match("flat", "random", 50), 60, sprt=Sprt(0, 100))
    assert len(report.deals) < 20
    figures = match.as_json(report)["sprt"]
    assert figures["llr"] >= 2.94
    assert figures["verdict"] == "rather 100 than 0"


def test_the_sequential_test_stops_at_the_same_deal_if_the_file_has_more(tmp_path):
    path = tmp_path / "deals.jsonl"
    match_ = example_match("flat", "random", 50)
    one = match.run(match_, 60, sprt=Sprt(0, 100))
    match.run(match_, len(one.deals) + 2, path=path)
    assert match.run(match_, 60, path=path, sprt=Sprt(0, 100)).deals == one.deals


@pytest.mark.parametrize(("shares", "sign"), [((1.0, 0.0, 1.0), 1), ((0.0, 0.0, 1.0), -1)])
def test_the_sequential_test_decides_for_both_sides(shares, sign):
    deals = [PlayedDeal(i, shares, (1, 1), (1, 1)) for i in range(200)]
    sprt = Sprt(0, 60)
    n = sprt.decided_after(deals, 3)
    assert n is not None
    assert sign * sprt.llr(deals[:n], 3) >= 2.94
    assert sprt.decided_after(deals, 3, checked=n - 1) == n
    assert sprt.decided_after(deals[: n - 1], 3) is None


# --- progress -------------------------------------------------------------------------------------------------


def test_tell_gets_all_deals_at_the_start_and_after_each(tmp_path):
    path = tmp_path / "deals.jsonl"
    match.run(example_match("plain", "flat"), 1, path=path)
    counts: list[int] = []
    match.run(example_match("plain", "flat"), 3, path=path, on_progress=lambda deals: counts.append(len(deals)))
    assert counts == [1, 2, 3]


def test_an_interrupted_match_leaves_no_workers():
    def interrupt(deals: object) -> None:
        if deals:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        match.run(example_match("plain", "plain", 100), 50, workers=2, on_progress=interrupt)
    assert not active_children()


def test_a_question_holds_only_what_its_player_saw(monkeypatch):
    questions: list[SearchQuestion] = []

    def record_question(question: SearchQuestion) -> Any:
        questions.append(question)
        return solve(question)

    monkeypatch.setattr("solver.match.play.solve", record_question)
    for spec in (("oriflamme", "en-2019", 3), ("castle_village_port", None, 3)):
        match.play_deal(example_match("level-1", "random", game=new_game(*spec).spec), 0)
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
    """Return the first view of a question's player in deal 0 of seed 1."""
    return question.view.game.deal(Rng(1, 0), first=0).view(question.view.observer)


# --- on a pool ------------------------------------------------------------------------------------------------


class TwoPools:
    """A pool that plays games on some threads and searches on others, as a cluster's does."""

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


CASTLE = {"game": new_game("castle_village_port", None, 3).spec}


@pytest.mark.parametrize("changes", [pytest.param({}, id="oriflamme"), pytest.param(CASTLE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", [lambda: Threads(3), lambda: Processes(2), TwoPools])
def test_a_pool_plays_the_same_deals(make, changes):
    match_ = example_match("level-2", "plain", **changes)
    expected = match.run(match_, 4)
    pool: Pool = make()
    pool_report = match.run(match_, 4, pool=pool)
    pool.close()
    assert pool_report.deals == expected.deals
    assert pool_report.workers == pool.width


def test_games_on_a_reentrant_pool_search_on_that_pool():
    pool = TwoPools()
    report = match.run(example_match("plain", "flat"), 1, pool=pool)
    pool.close()
    assert pool.questions >= sum(report.deals[0].decisions)


def test_a_lost_worker_ends_the_match_with_its_error():
    class Lost(TwoPools):
        def submit(self, question: Question, *_: Any, **__: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(WorkerLostError("3 workers were lost over this"))
            return future

    with pytest.raises(WorkerLostError, match="3 workers were lost"):
        match.run(example_match("plain", "plain"), 1, pool=Lost())


@pytest.mark.slow
def test_a_match_that_lost_a_process_can_be_resumed(tmp_path):
    path = tmp_path / "deals.jsonl"
    match_ = example_match("plain", "flat")

    def kill(deals: object) -> None:
        if deals:
            for child in active_children():
                os.kill(child.pid or 0, signal.SIGKILL)

    with pytest.raises(WorkerLostError, match="a worker was lost; the file has the finished deals, to resume from"):
        match.run(match_, 30, workers=2, path=path, on_progress=kill)
    assert not active_children()
    n_kept = len(path.read_text().splitlines()) - 1
    assert n_kept >= 1
    assert match.run(match_, 4, path=path).deals == match.run(match_, 4).deals


def test_guests_play_on_a_pool():
    match_ = replace(example_match("plain", "plain"), b=Last("last"))
    pool = TwoPools()
    assert match.run(match_, 2, pool=pool).deals == match.run(match_, 2).deals
    pool.close()


def test_a_forced_decision_takes_no_iterations():
    position = new_game("oriflamme", "en-2019", 3).deal(1)
    while len(position.legal_actions()) > 1:
        position = position.play(position.legal_actions()[0])
    turn = Turn(position, History(position.game), position)
    for player in (CONFIGS["plain"], Last("last")):
        assert choose(player, turn, Budget(iterations=9), 1) == (position.legal_actions()[0], None)
