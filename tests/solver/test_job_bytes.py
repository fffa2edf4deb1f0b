"""Questions and shares cross as bytes: both ends have the same ones, and bytes that are not ours are refused."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest
from questions import ORIFLAMME, essence, questions
from tables import ALL_IDS, ALL_SPECS

from engine_cy import NoWorldError
from solver import CONFIGS, Budget, Control, InvalidQuestionError, Question, SearchQuestion
from solver.merge import Share, empty_share
from solver.pool import job_bytes
from solver.pool.base import compute_here
from solver.pool.job_bytes import (
    JobBytesError,
    WorkerError,
    decode_job,
    decode_share,
    encode_job,
    encode_share,
    read_answer,
    unpack,
    write_answer,
)
from solver.pool.parts import run_parts
from solver.question import pack


def a_question() -> SearchQuestion:
    question = next(questions(ORIFLAMME))
    assert isinstance(question, SearchQuestion)
    return question


def shares_of(question: Question) -> list[Share]:
    question.get_ready()
    return run_parts(question, range(question.n_parts), Control())


@pytest.mark.parametrize("spec", ALL_SPECS, ids=ALL_IDS)
def test_both_ends_have_the_same_question(spec: tuple[str, Any, int]) -> None:
    sent = list(questions(spec))
    assert {question.shape for question in sent} >= {"search", "comparison"}
    for question in sent:
        received = decode_job(encode_job(question))
        assert received == question
        assert type(received) is type(question)
        assert encode_job(received) == encode_job(question)
        assert essence(compute_here(received)) == essence(compute_here(question))
        for share in shares_of(question):
            assert decode_share(encode_share(share)) == share


def test_the_account_of_a_history_crosses_and_no_table_does() -> None:
    """So that no worker replays it."""
    histories = 0
    for question in questions(("castle_village_port", "house", 3), every=3):
        received = decode_job(encode_job(question))
        if question.history is not None and question.history.actions:
            histories += 1
            assert received.history is not None
            assert bytes(received.history) == bytes(question.history)
            assert received.history.actions == question.history.actions
            assert received.history.end is None
    assert histories > 3


def with_config(config: Any) -> SearchQuestion:
    question = a_question()
    question.config = config
    return question


def test_every_configuration_and_limit_is_kept() -> None:
    question = a_question()
    for config in CONFIGS.values():
        assert decode_job(encode_job(with_config(config))).config == config
    for budget in (Budget(time_ms=0.1), Budget(thread_time_ms=1e6 / 3), Budget(iterations=10**12, memory_mb=0.1)):
        timed = SearchQuestion(question.view, budget)
        assert decode_job(encode_job(timed)).budget == timed.budget == budget


def test_iterations_of_each_share_are_kept() -> None:
    view = a_question().view
    question = SearchQuestion(view, shares=3, share_iterations=(7, 0, 10**12))
    received = decode_job(encode_job(question))
    assert received == question
    assert isinstance(received, SearchQuestion)
    assert received.share_iterations == (7, 0, 10**12)
    for wrong in ((1, 2), (1, 2, -1), (1, 2, 10**12 + 1), (1, 2, 3.0)):
        with pytest.raises(InvalidQuestionError, match="share_iterations"):
            SearchQuestion(view, shares=3, share_iterations=wrong)  # type: ignore[arg-type]
        with pytest.raises(JobBytesError, match="share_iterations"):
            decode_job(changed(question, "share_iterations", list(wrong)))


def test_a_lost_share_crosses_with_its_note() -> None:
    share = replace(empty_share(3, 4), stopped_by="lost", missing=1, note="ein Rechner fiel aus: é")
    assert decode_share(encode_share(share)) == share


def test_bytes_that_were_changed_on_the_way_are_refused() -> None:
    draw = random.Random(5)
    question = a_question()
    share = shares_of(question)[0]
    readers: list[tuple[bytes, Callable[[bytes], object]]] = [
        (encode_job(question), decode_job),
        (encode_share(share), decode_share),
    ]
    for good, read in readers:
        for _ in range(2000):
            bad = bytearray(good)
            for _ in range(draw.randint(1, 4)):
                bad[draw.randrange(len(bad))] ^= draw.randint(1, 255)
            if draw.random() < 0.2:
                del bad[draw.randrange(len(bad)) :]
            if bytes(bad) != good:
                with pytest.raises(JobBytesError):
                    read(bytes(bad))
        for bad_bytes in (b"", good[:7], pickle.dumps(question.seed), good + b"\0"):
            with pytest.raises(JobBytesError):
                read(bad_bytes)


def test_bytes_with_a_right_checksum_are_read_or_refused() -> None:
    """Never with another error."""
    draw = random.Random(6)
    refused = accepted = 0
    for question in questions(ORIFLAMME, every=3):
        body = encode_job(question)[8:]
        for _ in range(150):
            bad = bytearray(body)
            for _ in range(draw.randint(1, 3)):
                bad[draw.randrange(len(bad))] = draw.choice([0, 1, 255, 48 + draw.randrange(10), draw.randrange(256)])
            try:
                received = decode_job(job_bytes._seal(job_bytes.JOB, bytes(bad)))
                accepted += 1
                assert decode_job(encode_job(received)) == received or received.history is not None  # NaN != NaN
            except JobBytesError:
                refused += 1
    assert min(refused, accepted) > 100
    body = encode_share(shares_of(a_question())[0])[8:]
    for _ in range(3000):
        bad = bytearray(body)
        bad[draw.randrange(min(len(bad), 80))] = draw.randrange(256)
        try:
            decode_share(job_bytes._seal(job_bytes.SHARE, bytes(bad)))
        except JobBytesError:
            refused += 1


def test_shares_whose_parts_do_not_add_up_are_refused() -> None:
    share = empty_share(3, 4)
    more = empty_share(1, 5).tallies
    cut = replace(share.tallies[0], sums=share.tallies[0].sums[1:])
    for bad in (
        replace(share, tallies=()),
        replace(share, tallies=(*share.tallies, cut)),
        replace(share, tallies=share.tallies + more),
        # As many numbers as four players have.
        replace(share, tallies=(replace(share.tallies[0], players=-9),)),
        replace(share, stopped_by="boredom"),
        replace(share, payoffs=bytes(7)),
        replace(share, iterations=1.5),  # type: ignore[arg-type]
        replace(share, tallies=(replace(share.tallies[0], sums=("1",)),)),  # type: ignore[arg-type]
    ):
        with pytest.raises(JobBytesError, match=r"^share: "):
            decode_share(encode_share(bad))


def changed(question: Question, field: str, value: Any) -> bytes:
    """A job with another value in one field of its heads."""
    asked, seed, limits, clocks, account = unpack(job_bytes._unseal(job_bytes.JOB, encode_job(question)))
    common, own, view = unpack(asked)
    heads = [json.loads(head) for head in (common, own, limits)]
    assert any(field in head for head in heads)
    for head in heads:
        if field in head:
            head[field] = value
    common, own, limits = (json.dumps(head).encode() for head in heads)
    return job_bytes._seal(job_bytes.JOB, pack([pack([common, own, view]), seed, limits, clocks, account]))


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("shape", "prophecy", "'prophecy' - at `\\$.shape`"),
        ("shares", 0, "shares"),
        ("shares", True, "shares"),
        ("lines", -1, "lines"),
        ("models", ["evil", "me", "me"], "models"),
        ("models", ["me"], "models"),
        ("observer", 7, "observer"),
        ("observer", 2**70, "Overflow"),
        ("among", [[1, 2, 3]], "steps|among"),
        ("among", [7], "array.*among"),
        ("history", [7], "str.*history"),
        ("history", "place Heir front", "array.*history"),
        ("game", ["chess", None, 3], "chess"),
        ("game", "oriflamme", "array.*game"),
        ("config", {}, "name.*config"),
        ("config", {"name": "plain"}, "config: its fields are name, how, "),
        ("config", asdict(CONFIGS["plain"]) | {"depth": 1}, "config: its fields are name, how, "),
        ("iterations", -1, "iterations"),
        ("memory_mb", "much", "memory_mb"),
        ("confidence", 2, "confidence"),
    ],
)
def test_a_field_that_makes_no_sense_is_named(field: str, value: Any, problem: str) -> None:
    message = changed(a_question(), field, value)
    for _ in range(2):  # what was refused once is refused again
        with pytest.raises(JobBytesError, match=problem):
            decode_job(message)


@pytest.mark.parametrize(
    ("field", "value"), [("nodes", "all"), ("worlds", 1.5), ("flat", 1), ("trust", "NaN"), ("horizon", True)]
)
def test_a_knob_that_makes_no_sense_is_named(field: str, value: Any) -> None:
    with pytest.raises(JobBytesError, match=rf"\$\.config\.{field}"):
        decode_job(encode_job(with_config(replace(a_question().config, **{field: value}))))


def test_a_game_of_another_process_is_not_sent() -> None:
    openspiel = pytest.importorskip("solver.openspiel.openspiel_in_ours")
    game = openspiel.from_openspiel("kuhn_poker")
    state = game.spiel.new_initial_state()
    state.apply_action(0)
    state.apply_action(1)
    with pytest.raises(JobBytesError, match=r"game: 'openspiel:.*' is unknown to other processes"):
        encode_job(SearchQuestion(game.at(state).view(0), Budget(iterations=10), config="plain"))


def test_errors_cross_by_their_names() -> None:
    def fail(error: Exception) -> Callable[[], bytes]:
        def compute() -> bytes:
            raise error

        return compute

    assert read_answer(write_answer(lambda: b"yes")) == b"yes"
    for error in (
        NoWorldError("no world"),
        InvalidQuestionError("budget.iterations", "0 is too few", reason="CONTRADICTION", accepted="1..9"),
        JobBytesError("bytes"),
        MemoryError("full"),
    ):
        with pytest.raises(type(error), match=str(error)) as raised:
            read_answer(write_answer(fail(error)))
        for attribute in ("reason", "accepted", "field"):
            assert getattr(raised.value, attribute, "") == getattr(error, attribute, "")
    with pytest.raises(WorkerError, match="ZeroDivisionError: by zero"):
        read_answer(write_answer(fail(ZeroDivisionError("by zero"))))
    for bad in (b"", b"\2", b"\1nonsense", b"\1[1]", b'\1["InvalidQuestionError", "a: b", "c"]'):
        with pytest.raises(JobBytesError):
            read_answer(bad)
