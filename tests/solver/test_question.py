"""Questions: checked where they are asked, equal or not, as bytes, and computed without building anything twice."""

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


def a_turn(spec: Any = ORIFLAMME, number: int = 12) -> tuple[Position, History]:
    for at, turn in enumerate(turns(spec)):
        if at == number:
            return turn
    raise AssertionError("the game is too short")


def a_record(spec: Any = ORIFLAMME, number: int = 20) -> Record:
    """The beginning of a game, whose end somebody has a choice at."""
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


def test_asked_does_not_change_with_seed_or_limits_nor_limits_with_clocks() -> None:
    position, history = a_turn()
    view = view_of(position)
    plain = encode(SearchQuestion(view, Budget(iterations=500), history=history))
    seeds = encode(SearchQuestion(view, Budget(iterations=500), history=history, seed=2**64 - 1))
    assert (seeds.asked, seeds.limits) == (plain.asked, plain.limits)
    assert seeds.seed != plain.seed
    for budget in (
        Budget(iterations=501),
        Budget(iterations=500, memory_mb=1.0),
        Budget(iterations=500, confidence=0.9),
        Budget(time_ms=10),
    ):
        other = encode(SearchQuestion(view, budget, history=history))
        assert (other.asked, other.seed) == (plain.asked, plain.seed)
        assert other.limits != plain.limits
    for budget in (Budget(iterations=500, time_ms=10), Budget(iterations=500, thread_time_ms=0.5)):
        assert encode(SearchQuestion(view, budget, history=history)) == plain
    each = encode(SearchQuestion(view, Budget(iterations=500), history=history, share_iterations=[500]))
    assert each.asked == plain.asked
    assert each.limits != plain.limits


def variants(view: View, history: History) -> Iterator[Question]:
    """Questions of which no two ask the same."""
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


def test_questions_that_ask_something_else_have_other_bytes() -> None:
    position, history = a_turn()
    many = list(variants(view_of(position), history))
    assert len({encode(question).asked for question in many}) == len(many)
    for one in many:
        assert [one == other for other in many].count(True) == 1


def test_equal_questions_are_written_equally_whatever_they_were_made_of() -> None:
    record = a_record()
    view = view_at_end(record)
    seat = view.observer
    log = History(record.game)
    for table, action in zip(record.tables(), record.actions, strict=False):
        assert isinstance(table, Position)
        log.add(table, table.seen(action, seat))
    moves = view.legal_actions()[:2]
    texts = [str(action) for action in moves]
    others = [number for number in range(3) if number != seat]
    same: list[Question] = []
    for history, among, keys in (
        (record, moves, others),
        (record.seen_from(seat), moves[::-1], others[::-1]),
        (log, texts, ["abc"[number] for number in others]),
    ):
        models: dict[int | str, Model] = dict.fromkeys(keys, "noisy")
        same.append(SearchQuestion(view, Budget(iterations=60), history=history, models=models, among=among))
    same.append(decode_job(encode_job(same[0])))
    same[1].get_ready()
    compute_here(same[2])
    assert len({encode(question) for question in same}) == 1
    assert all(question == same[0] and hash(question) == hash(same[0]) for question in same)
    assert len({repr(essence(compute_here(question))) for question in same}) == 1


def test_a_history_is_written_as_the_actions_that_its_player_saw() -> None:
    record = a_record()
    view = view_at_end(record)
    seen = record.seen_from(view.observer).actions
    assert seen != record.actions
    question = SearchQuestion(view, Budget(iterations=60), history=record)
    assert question.history is not None
    assert question.history.actions == seen
    asked = encode(question).asked.decode("latin-1")
    assert all(f'"{action}"' in asked for action in seen)
    # The cards that others placed face down are in no question.
    assert any(hidden not in seen for hidden in record.actions)
    assert not any(f'"{hidden}"' in asked for hidden in set(record.actions) - set(seen))


def test_nothing_derived_is_written() -> None:
    for spec in (ORIFLAMME, ("oriflamme_prototype", "prototype", 2)):
        position, history = a_turn(spec)
        account = bytes(history)
        assert any(account)
        question = SearchQuestion(view_of(position), Budget(iterations=60), history=history)
        before = encode(question)
        compute_here(question)
        assert encode(question) == before
        assert account not in b"".join(before)
        assert account.rstrip(b"\0") not in b"".join(before)


def test_the_same_question_with_another_seed_or_belief_is_another_object() -> None:
    position, history = a_turn()
    question = SearchQuestion(view_of(position), Budget(iterations=60), history=history)
    belief = question.belief
    assert question.with_seed(7).seed == 7
    assert question.seed == 0
    assert question.with_seed(7).belief is belief
    fresh = SearchQuestion(view_of(position), Budget(iterations=60), history=history)
    assert fresh.with_belief_of(question).belief is belief
    assert fresh.belief is not belief


def test_a_question_keeps_its_history_whatever_becomes_of_the_one_it_was_given() -> None:
    position, history = a_turn()
    question = SearchQuestion(view_of(position), Budget(iterations=60), history=history)
    before = encode(question)
    history.add(position, position.legal_actions()[0])
    assert encode(question) == before


def test_numbers_that_are_equal_are_written_alike() -> None:
    view = view_of(a_turn()[0])
    whole, fraction = (
        SearchQuestion(view, Budget(iterations=60, memory_mb=memory), config=replace(CONFIGS["plain"], exploration=one))
        for memory, one in ((256, 1), (256.0, 1.0))
    )
    assert whole == fraction
    assert encode(whole) == encode(fraction)


def test_nothing_stands_beside_a_question_that_has_it() -> None:
    question = SearchQuestion(view_of(a_turn()[0]), Budget(iterations=60))
    assert solve(question).iterations == 60
    for options in ({"seed": 9}, {"budget": Budget(iterations=5)}):
        with pytest.raises(InvalidQuestionError, match="cannot be combined with a question"):
            solve(question, **options)


# --- once -----------------------------------------------------------------------------------------------------


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often questions build a belief and replay a record."""
    counted: Counter[str] = Counter()

    def belief(*arguments: Any) -> Belief:
        counted["belief"] += 1
        return Belief(*arguments)

    class Counted(History):
        @staticmethod
        def of(record: Record) -> History:
            counted["replay"] += 1
            return History.of(record)

    monkeypatch.setattr("solver.question.Belief", belief)
    monkeypatch.setattr("solver.question.History", Counted)
    return counted


def test_a_belief_is_built_and_a_record_replayed_once_for_each_question(calls: Counter[str]) -> None:
    record = a_record()
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
def test_so_it_is_for_every_shape_and_on_the_other_side_of_a_job(shape: str, calls: Counter[str]) -> None:
    records = (a_record(number=number) for number in range(10, 40))
    record, view = next((record, view) for record in records if own_spots(view := view_at_end(record)))
    thinking: Any = {"history": record, "shares": 3}
    made: dict[str, Any] = {
        "search": lambda: SearchQuestion(view, Budget(iterations=90), **thinking),
        "comparison": lambda: ComparisonQuestion(view, view.legal_actions()[:3], Budget(iterations=900), **thinking),
        "information": lambda: InformationQuestion(view, Budget(iterations=90), history=record),
    }
    question = made[shape]()
    assert question.n_parts
    compute_here(question)
    assert calls == {"replay": 1, "belief": 1}
    compute_here(decode_job(encode_job(question)))  # nothing is replayed there
    assert calls == {"replay": 1, "belief": 2}


# --- checks ---------------------------------------------------------------------------------------------------


def test_shares_that_do_not_fit_are_refused_with_the_number_that_fits() -> None:
    position, _ = a_turn(("oriflamme", "en-2019", 5))
    view, small = view_of(position), Budget(time_ms=5, memory_mb=0.1)
    moves = view.legal_actions()[:8]

    def search(shares: int) -> Question:
        return SearchQuestion(view, small, shares=shares)

    def comparison(shares: int) -> Question:
        return ComparisonQuestion(view, moves, small, shares=shares)

    for make, trees in ((search, 1), (comparison, len(moves))):
        with pytest.raises(InvalidQuestionError) as refused:
            make(256)
        error = refused.value
        assert (error.field, error.value) == ("shares", 256)
        fit = int(error.accepted.removeprefix("1.."))
        assert f"{256 * trees} trees need a memory budget of " in error.problem
        assert f" MB; {fit} shares fit" in error.problem
        assert 0 < fit < 256
        assert make(fit).shares == fit
        with pytest.raises(InvalidQuestionError, match=f"{fit} shares fit"):
            make(fit + 1)
    # There the trees begin, each with its part of the memory.
    answer = compute_here(SearchQuestion(view, Budget(iterations=220, memory_mb=0.1), shares=220))
    assert answer.iterations == 220
    assert SearchQuestion(view, Budget(time_ms=5), shares=256).shares == 256


def test_trees_of_many_shares_stay_within_the_memory() -> None:
    view = view_of(a_turn()[0])
    for shares in (1, 3):
        answer = compute_here(SearchQuestion(view, Budget(iterations=60_000, memory_mb=0.75), shares=shares))
        assert answer.iterations == 60_000
        assert answer.tree_bytes <= 0.75 * 2**20


def test_a_comparison_of_few_iterations_needs_no_memory_for_shares_without_any() -> None:
    view = view_of(a_turn()[0])
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
def test_histories_of_something_else_are_refused(history: Any, problem: str) -> None:
    record = a_record()
    view = next(at.view(1) for at in [record.end] if isinstance(at, Position))
    with pytest.raises(InvalidQuestionError, match=problem):
        SearchQuestion(view, Budget(iterations=5), history=history(record))


def test_the_parts_of_a_question_have_all_of_its_iterations() -> None:
    for question in questions(ORIFLAMME, every=4):
        total = question.budget.iterations
        assert total is not None
        each = [question.iterations_of(number) for number in range(question.n_parts)]
        if isinstance(question, SearchQuestion):
            assert sum(each) == total
            assert max(each) - min(each) <= 1
        elif isinstance(question, ComparisonQuestion):
            arms = [each[arm :: len(question.actions)] for arm in range(len(question.actions))]
            assert all(arm == arms[0] and sum(arm) == total for arm in arms)
        else:
            assert each == [total] * len(each)
