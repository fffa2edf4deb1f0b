"""Questions and shares as bytes: they are read back unchanged, and other bytes are refused."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest
from liars_dice import LiarsDice
from questions import ORIFLAMME, essence, questions
from tables import ALL_IDS, ALL_SPECS, mostly_slow

from engine_cy import NoWorldError, new_game, python_game
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
from solver.search import CHECKED


def example_question() -> SearchQuestion:
    question = next(questions(ORIFLAMME))
    assert isinstance(question, SearchQuestion)
    return question


def shares_of(question: Question) -> list[Share]:
    question.prepare()
    return run_parts(question, range(question.n_parts), Control())


@pytest.mark.parametrize("spec", mostly_slow(ALL_SPECS, ALL_IDS))
def test_a_question_and_its_shares_are_read_back_from_their_bytes(spec: tuple[str, Any, int]) -> None:
    sent_questions = list(questions(spec))
    assert {question.shape for question in sent_questions} >= {"search", "comparison"}
    for question in sent_questions:
        received = decode_job(encode_job(question))
        assert received == question
        assert type(received) is type(question)
        assert encode_job(received) == encode_job(question)
        assert essence(compute_here(received)) == essence(compute_here(question))
        for share in shares_of(question):
            assert decode_share(encode_share(share)) == share


def test_a_history_is_sent_with_its_log_but_without_its_end() -> None:
    """The log spares workers the replay."""
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
    question = example_question()
    question.config = config
    return question


def test_every_configuration_and_limit_is_read_back() -> None:
    question = example_question()
    for config in CONFIGS.values():
        assert decode_job(encode_job(with_config(config))).config == config
    for budget in (Budget(time_ms=0.1), Budget(thread_time_ms=1e6 / 3), Budget(iterations=10**12, memory_mb=0.1)):
        timed = SearchQuestion(question.view, budget)
        assert decode_job(encode_job(timed)).budget == timed.budget == budget


def test_iterations_of_each_share_are_read_back() -> None:
    view = example_question().view
    question = SearchQuestion(view, shares=3, share_iterations=(7, 0, 10**12))
    received = decode_job(encode_job(question))
    assert received == question
    assert isinstance(received, SearchQuestion)
    assert received.share_iterations == (7, 0, 10**12)
    for iterations in ((1, 2), (1, 2, -1), (1, 2, 10**12 + 1), (1, 2, 3.0)):
        with pytest.raises(InvalidQuestionError, match="share_iterations"):
            SearchQuestion(view, shares=3, share_iterations=iterations)  # type: ignore[arg-type]
        with pytest.raises(JobBytesError, match="share_iterations"):
            decode_job(job_with(question, "share_iterations", list(iterations)))


def test_a_lost_share_is_read_back_with_its_note() -> None:
    share = replace(empty_share(3, 4), stopped_by="lost", missing=1, note="ein Rechner fiel aus: é")
    assert decode_share(encode_share(share)) == share


def test_damaged_bytes_are_refused() -> None:
    draw = random.Random(5)
    question = example_question()
    share = shares_of(question)[0]
    readers: list[tuple[bytes, Callable[[bytes], object]]] = [
        (encode_job(question), decode_job),
        (encode_share(share), decode_share),
    ]
    for intact, read in readers:
        for _ in range(2000):
            damaged = bytearray(intact)
            for _ in range(draw.randint(1, 4)):
                damaged[draw.randrange(len(damaged))] ^= draw.randint(1, 255)
            if draw.random() < 0.2:
                del damaged[draw.randrange(len(damaged)) :]
            if bytes(damaged) != intact:
                with pytest.raises(JobBytesError):
                    read(bytes(damaged))
        for bad_bytes in (b"", intact[:7], pickle.dumps(question.seed), intact + b"\0"):
            with pytest.raises(JobBytesError):
                read(bad_bytes)


def test_damaged_bytes_with_a_correct_checksum_raise_no_other_error() -> None:
    draw = random.Random(6)
    refused = accepted = 0
    for question in questions(ORIFLAMME, every=3):
        body = encode_job(question)[8:]
        for _ in range(150):
            damaged = bytearray(body)
            for _ in range(draw.randint(1, 3)):
                place = draw.randrange(len(damaged))
                damaged[place] = draw.choice((0, 1, 255, ord("0") + draw.randrange(10), draw.randrange(256)))
            try:
                received = decode_job(job_bytes._seal(job_bytes.JOB, bytes(damaged)))
                accepted += 1
                assert decode_job(encode_job(received)) == received or received.history is not None  # NaN != NaN
            except JobBytesError:
                refused += 1
    assert min(refused, accepted) > 100
    body = encode_share(shares_of(example_question())[0])[8:]
    for _ in range(3000):
        damaged = bytearray(body)
        damaged[draw.randrange(min(len(damaged), 80))] = draw.randrange(256)
        try:
            decode_share(job_bytes._seal(job_bytes.SHARE, bytes(damaged)))
        except JobBytesError:
            refused += 1


def test_inconsistent_shares_are_refused() -> None:
    share = empty_share(3, 4)
    more = empty_share(1, 5).tallies
    cut = replace(share.tallies[0], sums=share.tallies[0].sums[1:])
    for inconsistent in (
        replace(share, tallies=()),
        replace(share, tallies=(*share.tallies, cut)),
        replace(share, tallies=share.tallies + more),
        # Its sums are those of four players.
        replace(share, tallies=(replace(share.tallies[0], players=-9),)),
        replace(share, stopped_by="boredom"),
        replace(share, payoffs=bytes(7)),
        replace(share, iterations=1.5),  # type: ignore[arg-type]
        replace(share, tallies=(replace(share.tallies[0], sums=("1",)),)),  # type: ignore[arg-type]
    ):
        with pytest.raises(JobBytesError, match=r"^share: "):
            decode_share(encode_share(inconsistent))


def job_with(question: Question, field: str, value: Any) -> bytes:
    """Return a job with another value in one field."""
    content, seed, limits, clocks, logged = unpack(job_bytes._unseal(job_bytes.JOB, encode_job(question)))
    common, shape_fields, view = unpack(content)
    heads = [json.loads(head) for head in (common, shape_fields, limits)]
    assert any(field in head for head in heads)
    for head in heads:
        if field in head:
            head[field] = value
    common, shape_fields, limits = (json.dumps(head).encode() for head in heads)
    return job_bytes._seal(job_bytes.JOB, pack([pack([common, shape_fields, view]), seed, limits, clocks, logged]))


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
def test_an_invalid_field_is_named(field: str, value: Any, problem: str) -> None:
    message = job_with(example_question(), field, value)
    for _ in range(2):  # a cache must not accept it the second time
        with pytest.raises(JobBytesError, match=problem):
            decode_job(message)


@pytest.mark.parametrize(
    ("field", "value"), [("nodes", "all"), ("worlds", 1.5), ("flat", 1), ("trust", "NaN"), ("horizon", True)]
)
def test_an_invalid_setting_of_a_configuration_is_named(field: str, value: Any) -> None:
    with pytest.raises(JobBytesError, match=rf"\$\.config\.{field}"):
        decode_job(encode_job(with_config(replace(example_question().config, **{field: value}))))


def test_a_game_without_an_id_is_not_sent() -> None:
    view = python_game(LiarsDice, "1x4", 2).view("1 ?, first A | seen by A")
    with pytest.raises(JobBytesError, match=r"game: 'liars_dice:LiarsDice' is unknown to other processes"):
        encode_job(SearchQuestion(view, Budget(iterations=10)))


@pytest.mark.skipif(CHECKED, reason="OpenSpiel's games have no view of a spectator, which checked searches compare")
def test_a_game_of_openspiel_is_sent_by_its_id() -> None:
    view = new_game("openspiel:kuhn_poker").position("0 1").view(0)
    question = SearchQuestion(view, Budget(iterations=100), config="plain")
    sent = decode_job(encode_job(question))
    assert sent.view == view
    assert essence(compute_here(sent)) == essence(compute_here(question))


def test_errors_of_workers_are_raised_by_name() -> None:
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
        with pytest.raises(type(error), match=str(error)) as error_info:
            read_answer(write_answer(fail(error)))
        for attribute in ("reason", "accepted", "field"):
            assert getattr(error_info.value, attribute, "") == getattr(error, attribute, "")
    with pytest.raises(WorkerError, match="ZeroDivisionError: by zero"):
        read_answer(write_answer(fail(ZeroDivisionError("by zero"))))
    for damaged in (b"", b"\2", b"\1nonsense", b"\1[1]", b'\1["InvalidQuestionError", "a: b", "c"]'):
        with pytest.raises(JobBytesError):
            read_answer(damaged)
