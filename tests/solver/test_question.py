"""Questions: their bytes and equality, work that is done only once for each, and their checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from questions import ORIFLAMME, essence, questions, turns, view_of

from engine_cy import Position, View, new_game
from engine_cy.action_log import History
from engine_cy.record import Record
from solver import (
    CONFIGS,
    Budget,
    ComparisonQuestion,
    Config,
    Control,
    InformationQuestion,
    InvalidQuestionError,
    Question,
    SearchQuestion,
    solve,
)
from solver.beliefs import Belief, own_spots
from solver.config import Model
from solver.pool.base import compute_here
from solver.pool.job_bytes import decode_job, encode_job
from solver.pool.threads import Threads
from solver.question import encode


def example_turn(spec: Any = ORIFLAMME, number: int = 12) -> tuple[Position, History]:
    for index, turn in enumerate(turns(spec)):
        if index == number:
            return turn
    raise AssertionError("the game is too short")


def example_record(spec: Any = ORIFLAMME, number: int = 20) -> Record:
    """Return the beginning of a game up to a position at which a player has a choice."""
    position = new_game(*spec).deal(5)
    record = Record(position)
    while len(record.actions) < number or (position.to_act or 0) < 0 or len(position.legal_actions()) < 3:
        action = position.legal_actions()[len(record.actions) % len(position.legal_actions())]
        record = Record(record.start, (*record.actions, str(action)))
        position = position.play(action)
    return record


def view_at_end(record: Record) -> View:
    end = record.end
    assert isinstance(end, Position)
    return view_of(end)


# --- bytes ----------------------------------------------------------------------------------------------------


def test_seed_and_limits_change_only_their_own_bytes_and_clocks_change_none() -> None:
    position, history = example_turn()
    view = view_of(position)
    plain = encode(SearchQuestion(view, Budget(iterations=500), history=history))
    seeds = encode(SearchQuestion(view, Budget(iterations=500), history=history, seed=2**64 - 1))
    assert (seeds.content, seeds.limits) == (plain.content, plain.limits)
    assert seeds.seed != plain.seed
    for budget in (
        Budget(iterations=501),
        Budget(iterations=500, memory_mb=1.0),
        Budget(iterations=500, confidence=0.9),
        Budget(time_ms=10),
    ):
        other = encode(SearchQuestion(view, budget, history=history))
        assert (other.content, other.seed) == (plain.content, plain.seed)
        assert other.limits != plain.limits
    for budget in (Budget(iterations=500, time_ms=10), Budget(iterations=500, thread_time_ms=0.5)):
        assert encode(SearchQuestion(view, budget, history=history)) == plain
    with_shares = encode(SearchQuestion(view, Budget(iterations=500), history=history, share_iterations=[500]))
    assert with_shares.content == plain.content
    assert with_shares.limits != plain.limits


def variants(view: View, history: History) -> Iterator[Question]:
    """Yield questions that all differ from each other."""
    legal = view.legal_actions()
    budget = Budget(iterations=500)
    yield SearchQuestion(view, budget)
    yield SearchQuestion(view, budget, history=history)
    yield SearchQuestion(view, budget, history=History(view.game))
    yield SearchQuestion(view, budget, shares=2)
    yield SearchQuestion(view, budget, lines=2)
    yield SearchQuestion(view, budget, config="plain")
    yield SearchQuestion(view, budget, config=Config("default"))
    yield SearchQuestion(view, budget, among=legal[:1])
    yield SearchQuestion(view, budget, models={(view.observer + 1) % 3: "noisy"})
    yield SearchQuestion(view, budget, models={(view.observer + 2) % 3: "noisy"})
    yield SearchQuestion(view.sample_world(3).view((view.observer + 1) % 3), budget)
    yield ComparisonQuestion(view, legal[:2], budget)
    yield ComparisonQuestion(view, legal[1::-1], budget)
    yield ComparisonQuestion(view, legal[:3], budget)
    yield InformationQuestion(view, budget)


def test_different_questions_have_different_bytes() -> None:
    position, history = example_turn()
    distinct = list(variants(view_of(position), history))
    assert len({encode(question).content for question in distinct}) == len(distinct)
    for question in distinct:
        assert [question == other for other in distinct].count(True) == 1


def test_equal_questions_from_different_arguments_have_equal_bytes() -> None:
    record = example_record()
    view = view_at_end(record)
    seat = view.observer
    log = History(record.game)
    for table, action in zip(record.tables(), record.actions, strict=False):
        assert isinstance(table, Position)
        log.add(table, table.seen(action, seat))
    moves = view.legal_actions()[:2]
    texts = [str(action) for action in moves]
    others = [number for number in range(3) if number != seat]
    equal: list[Question] = []
    for history, among, keys in (
        (record, moves, others),
        (record.seen_from(seat), moves[::-1], others[::-1]),
        (log, texts, ["abc"[number] for number in others]),
    ):
        models: dict[int | str, Model] = dict.fromkeys(keys, "noisy")
        equal.append(SearchQuestion(view, Budget(iterations=60), history=history, models=models, among=among))
    equal.append(decode_job(encode_job(equal[0])))
    equal[1].prepare()
    compute_here(equal[2])
    assert len({encode(question) for question in equal}) == 1
    assert all(question == equal[0] and hash(question) == hash(equal[0]) for question in equal)
    assert len({repr(essence(compute_here(question))) for question in equal}) == 1


def test_the_bytes_of_a_history_are_the_actions_as_its_player_saw_them() -> None:
    record = example_record()
    view = view_at_end(record)
    seen = record.seen_from(view.observer).actions
    assert seen != record.actions
    question = SearchQuestion(view, Budget(iterations=60), history=record)
    assert question.history is not None
    assert question.history.actions == seen
    content = encode(question).content.decode("latin-1")
    assert all(f'"{action}"' in content for action in seen)
    # The cards that other players placed face down are in no question.
    assert any(hidden not in seen for hidden in record.actions)
    assert not any(f'"{hidden}"' in content for hidden in set(record.actions) - set(seen))


def test_bytes_hold_nothing_that_is_derived() -> None:
    for spec in (ORIFLAMME, ("oriflamme_prototype", "prototype", 2)):
        position, history = example_turn(spec)
        logged = bytes(history)
        assert any(logged)
        question = SearchQuestion(view_of(position), Budget(iterations=60), history=history)
        before = encode(question)
        compute_here(question)
        assert encode(question) == before
        assert logged not in b"".join(before)
        assert logged.rstrip(b"\0") not in b"".join(before)


def test_with_seed_and_with_belief_of_return_new_questions() -> None:
    position, history = example_turn()
    question = SearchQuestion(view_of(position), Budget(iterations=60), history=history)
    belief = question.belief
    assert question.with_seed(7).seed == 7
    assert question.seed == 0
    assert question.with_seed(7).belief is belief
    fresh = SearchQuestion(view_of(position), Budget(iterations=60), history=history)
    assert fresh.with_belief_of(question).belief is belief
    assert fresh.belief is not belief


def test_a_question_copies_its_history() -> None:
    position, history = example_turn()
    question = SearchQuestion(view_of(position), Budget(iterations=60), history=history)
    before = encode(question)
    history.add(position, position.legal_actions()[0])
    assert encode(question) == before


def test_equal_numbers_of_different_types_have_equal_bytes() -> None:
    view = view_of(example_turn()[0])
    whole, fraction = (
        SearchQuestion(
            view, Budget(iterations=60, memory_mb=256 * one), config=replace(CONFIGS["plain"], exploration=one)
        )
        for one in (1, 1.0)
    )
    assert whole == fraction
    assert encode(whole) == encode(fraction)


def test_arguments_that_a_question_has_cannot_be_passed_beside_it() -> None:
    question = SearchQuestion(view_of(example_turn()[0]), Budget(iterations=60))
    assert solve(question).iterations == 60
    for options in ({"seed": 9}, {"budget": Budget(iterations=5)}):
        with pytest.raises(InvalidQuestionError, match="cannot be combined with a question"):
            solve(question, **options)


# --- work -----------------------------------------------------------------------------------------------------


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the beliefs that questions build and the records that they replay."""
    counts: Counter[str] = Counter()

    def count_belief(*arguments: Any) -> Belief:
        counts["belief"] += 1
        return Belief(*arguments)

    class CountingHistory(History):
        @staticmethod
        def of(record: Record) -> History:
            counts["replay"] += 1
            return History.of(record)

    monkeypatch.setattr("solver.question.Belief", count_belief)
    monkeypatch.setattr("solver.question.History", CountingHistory)
    return counts


def test_a_question_builds_one_belief_and_replays_its_record_once(calls: Counter[str]) -> None:
    record = example_record()
    view = view_at_end(record)
    reports: list[Any] = []
    with Threads(2) as threads:
        question = SearchQuestion(view, Budget(iterations=60_000), shares=3, history=record)
        assert calls == {"replay": 1}
        answer = threads.submit(question, Control(lambda report: reports.append(report.beliefs), 5)).result()
        assert answer.beliefs is not None
        assert reports
        assert all(beliefs == answer.beliefs for beliefs in reports)
    assert calls == {"replay": 1, "belief": 1}


@pytest.mark.parametrize("shape", ["search", "comparison", "information"])
def test_every_shape_builds_one_belief_and_a_worker_replays_no_record(shape: str, calls: Counter[str]) -> None:
    records = (example_record(number=number) for number in range(10, 40))
    record, view = next((record, view) for record in records if own_spots(view := view_at_end(record)))
    options: Any = {"history": record, "shares": 3}
    factories: dict[str, Any] = {
        "search": lambda: SearchQuestion(view, Budget(iterations=90), **options),
        "comparison": lambda: ComparisonQuestion(view, view.legal_actions()[:3], Budget(iterations=900), **options),
        "information": lambda: InformationQuestion(view, Budget(iterations=90), history=record),
    }
    question = factories[shape]()
    assert question.n_parts
    compute_here(question)
    assert calls == {"replay": 1, "belief": 1}
    compute_here(decode_job(encode_job(question)))  # the worker replays nothing
    assert calls == {"replay": 1, "belief": 2}


# --- checks ---------------------------------------------------------------------------------------------------


def test_shares_that_exceed_the_memory_are_refused_with_the_number_that_fits() -> None:
    position, _ = example_turn(("oriflamme", "en-2019", 5))
    view, small = view_of(position), Budget(time_ms=5, memory_mb=0.1)
    moves = view.legal_actions()[:8]

    def search(shares: int) -> Question:
        return SearchQuestion(view, small, shares=shares)

    def comparison(shares: int) -> Question:
        return ComparisonQuestion(view, moves, small, shares=shares)

    for make, trees in ((search, 1), (comparison, len(moves))):
        with pytest.raises(InvalidQuestionError) as refusal:
            make(256)
        error = refusal.value
        assert (error.field, error.value) == ("shares", 256)
        n_fitting = int(error.accepted.removeprefix("1.."))
        assert f"{256 * trees} trees need a memory budget of " in error.problem
        assert f" MB; {n_fitting} shares fit" in error.problem
        assert 0 < n_fitting < 256
        assert make(n_fitting).shares == n_fitting
        with pytest.raises(InvalidQuestionError, match=f"{n_fitting} shares fit"):
            make(n_fitting + 1)
    # 220 trees fit into 0.1 MB.
    answer = compute_here(SearchQuestion(view, Budget(iterations=220, memory_mb=0.1), shares=220))
    assert answer.iterations == 220
    assert SearchQuestion(view, Budget(time_ms=5), shares=256).shares == 256


def test_the_trees_of_all_shares_stay_within_the_memory_budget() -> None:
    view = view_of(example_turn()[0])
    for shares in (1, 3):
        answer = compute_here(SearchQuestion(view, Budget(iterations=60_000, memory_mb=0.75), shares=shares))
        assert answer.iterations == 60_000
        assert answer.tree_bytes <= 0.75 * 2**20


def test_shares_of_a_comparison_without_iterations_need_no_memory() -> None:
    view = view_of(example_turn()[0])
    question = ComparisonQuestion(
        view, view.legal_actions()[:3], Budget(iterations=300, memory_mb=0.5), shares=256, config="plain"
    )
    assert question.n_trees == 2 * 3
    assert compute_here(question).worlds == 300


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        (lambda record: History(new_game("oriflamme", "de-2019", 3)), "history: it belongs to .*, but the view to"),
        (lambda record: Record(record.start), "history: the record ends at '.*', not at '.*'"),
        (lambda record: record.seen_from(0), "history: the record ends at '.*', not at '.*'"),
    ],
)
def test_histories_of_other_games_or_positions_are_refused(history: Any, problem: str) -> None:
    record = example_record()
    view = next(end.view(1) for end in [record.end] if isinstance(end, Position))
    with pytest.raises(InvalidQuestionError, match=problem):
        SearchQuestion(view, Budget(iterations=5), history=history(record))


def test_the_parts_of_a_question_sum_to_its_iterations() -> None:
    for question in questions(ORIFLAMME, every=4):
        total = question.budget.iterations
        assert total is not None
        iterations = [question.iterations_of(number) for number in range(question.n_parts)]
        if isinstance(question, SearchQuestion):
            assert sum(iterations) == total
            assert max(iterations) - min(iterations) <= 1
        elif isinstance(question, ComparisonQuestion):
            arms = [iterations[arm :: len(question.actions)] for arm in range(len(question.actions))]
            assert all(arm == arms[0] and sum(arm) == total for arm in arms)
        else:
            assert iterations == [total] * len(iterations)
