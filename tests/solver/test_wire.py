"""Jobs and shares cross as bytes: what comes out is what went in, and what is not one of ours is refused."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from tables import ALL_IDS, ALL_SPECS, random_game

from engine_cy import NoWorldError, new_game
from engine_cy.history import History
from solver import CONFIGS, Budget, InvalidBudgetError
from solver.backends import wire
from solver.backends.base import Job
from solver.backends.serial import Serial
from solver.backends.wire import (
    WireError,
    WorkerError,
    answered,
    decode_job,
    decode_share,
    encode_job,
    encode_share,
    read_answer,
)
from solver.merge import empty_share, merge
from solver.solve import make_job


def jobs(spec: tuple[str, Any, int], seed: int = 1, every: int = 7) -> Iterator[Job]:
    """Jobs of all kinds along a random game, with its history."""
    game = new_game(*spec)
    history = History(game)
    draw = random.Random(seed)
    for number, (position, action) in enumerate(random_game(game, seed)):
        if action is not None and (position.to_act or 0) >= 0 and number % every == 0:
            options = position.legal_actions()
            yield make_job(
                position.view(position.to_act or 0),
                draw.choice([Budget(iterations=60), Budget(iterations=60, memory_mb=1.5, confidence=0.75)]),
                config=draw.choice(["plain", "default", "pimc", "level-3"]),
                seed=draw.choice([0, 2**64 - 1, draw.randrange(2**64)]),
                workers=draw.choice([1, 3]),
                models={((position.to_act or 0) + 1) % game.n_players: "noisy"},
                history=draw.choice([history.copy(), None]),
                lines=draw.choice([0, 2]),
                among=draw.choice([(), options[::2]]),
            )
        if action is not None:
            history.add(position, action)


@pytest.mark.parametrize("spec", ALL_SPECS, ids=ALL_IDS)
def test_what_goes_in_comes_out(spec: tuple[str, Any, int]) -> None:
    sent = list(jobs(spec))
    assert sent
    for job in sent:
        received = decode_job(encode_job(job))
        assert received == job
        assert encode_job(received) == encode_job(job)
        share = merge(Serial().run(job))
        assert merge(Serial().run(received)) == share == decode_share(encode_share(share))


def test_every_configuration_and_limit_is_kept() -> None:
    job = next(jobs(("oriflamme", "en-2019", 3)))
    for config in CONFIGS.values():
        assert decode_job(encode_job(replace(job, config=config))).config == config
    for budget in (Budget(time_ms=0.1), Budget(thread_time_ms=1e6 / 3), Budget(iterations=10**12, memory_mb=0.1)):
        assert decode_job(encode_job(replace(job, budget=budget))).budget == budget


def test_iterations_of_each_share_are_kept() -> None:
    job = replace(next(jobs(("oriflamme", "en-2019", 3))), shares=3, share_iterations=(7, 0, 10**12))
    assert decode_job(encode_job(job)) == job
    for wrong in ((1, 2), (1, 2, -1), (1, 2, 10**12 + 1), (1, 2, 3.0)):
        with pytest.raises(WireError):
            decode_job(encode_job(replace(job, share_iterations=wrong)))  # type: ignore[arg-type]


def test_a_share_that_was_lost_is_told_from_others() -> None:
    share = replace(empty_share(3, 4), stopped_by="lost", missing=1, note="ein Rechner fiel aus: é")
    assert decode_share(encode_share(share)) == share


def test_bytes_that_were_changed_on_the_way_are_refused() -> None:
    draw = random.Random(5)
    job = next(jobs(("oriflamme", "en-2019", 3)))
    share = merge(Serial().run(job))
    readers: list[tuple[bytes, Callable[[bytes], object]]] = [
        (encode_job(job), decode_job),
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
                with pytest.raises(WireError):
                    read(bytes(bad))
        for bad_bytes in (b"", good[:7], pickle.dumps(job.seed), good + b"\0"):
            with pytest.raises(WireError):
                read(bad_bytes)


def test_bytes_with_a_right_checksum_are_read_or_refused() -> None:
    """Never with another error, whatever they say; of those that are read, some are searched."""
    draw = random.Random(6)
    refused = accepted = 0
    for job in jobs(("oriflamme", "en-2019", 3), every=3):
        body = encode_job(job)[8:]
        for _ in range(300):
            bad = bytearray(body)
            for _ in range(draw.randint(1, 3)):
                bad[draw.randrange(len(bad))] = draw.choice([0, 1, 255, 48 + draw.randrange(10), draw.randrange(256)])
            try:
                read = decode_job(wire._seal(wire.JOB, bytes(bad)))
                accepted += 1
                assert decode_job(encode_job(read)) == read or read.history is not None  # NaN differs from itself
            except WireError:
                refused += 1
    assert min(refused, accepted) > 100
    share = merge(Serial().run(next(jobs(("oriflamme", "en-2019", 3)))))
    body = encode_share(share)[8:]
    for _ in range(3000):
        bad = bytearray(body)
        bad[draw.randrange(min(len(bad), 80))] = draw.randrange(256)
        try:
            decode_share(wire._seal(wire.SHARE, bytes(bad)))
        except WireError:
            refused += 1


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("seed", -1, "seed"),
        ("seed", 2**64, "seed"),
        ("seed", True, "type int"),
        ("shares", 0, "shares"),
        ("lines", -1, "lines"),
        ("models", ["evil", "me", "me"], "models"),
        ("models", ["me"], "models"),
        ("observer", 7, "observer"),
        ("observer", 2**70, "Overflow"),
        ("among", [[1, 2, 3]], "steps|among"),
        ("among", [7], "type list"),
        ("game", ["chess", None, 3], "chess"),
        ("game", "oriflamme", "type list"),
        ("config", {}, "Config"),
        ("budget", {"iterations": -1}, "Budget"),
    ],
)
def test_a_field_that_makes_no_sense_is_named(field: str, value: Any, said: str) -> None:
    *lines, view, account = wire.unpack(wire._unseal(wire.JOB, encode_job(next(jobs(("oriflamme", "en-2019", 3))))))
    told = [json.loads(line) for line in lines]
    for line in told:
        if field in line:
            line[field] = value
    packed = wire.pack([*(json.dumps(line).encode() for line in told), view, account])
    for _ in range(2):  # what was refused once is refused again
        with pytest.raises(WireError, match=said):
            decode_job(wire._seal(wire.JOB, packed))


@pytest.mark.parametrize(
    ("field", "value"), [("nodes", "all"), ("worlds", 1.5), ("flat", 1), ("trust", "NaN"), ("horizon", True)]
)
def test_a_knob_that_makes_no_sense_is_named(field: str, value: Any) -> None:
    job = next(jobs(("oriflamme", "en-2019", 3)))
    with pytest.raises(WireError, match=f"Config.{field}"):
        decode_job(encode_job(replace(job, config=replace(job.config, **{field: value}))))


def test_a_game_of_another_process_is_not_sent() -> None:
    openspiel = pytest.importorskip("solver.bridges.from_openspiel")
    game = openspiel.from_openspiel("kuhn_poker")
    state = game.spiel.new_initial_state()
    state.apply_action(0)
    state.apply_action(1)
    with pytest.raises(WireError, match="game"):
        encode_job(make_job(game.at(state).view(0), Budget(iterations=10), config="plain"))


def test_errors_cross_by_their_names() -> None:
    def fail(error: Exception) -> Callable[[], bytes]:
        def compute() -> bytes:
            raise error

        return compute

    assert read_answer(answered(lambda: b"yes")) == b"yes"
    for error in (NoWorldError("no world"), InvalidBudgetError("budget"), WireError("bytes"), MemoryError("full")):
        with pytest.raises(type(error), match=str(error)):
            read_answer(answered(fail(error)))
    with pytest.raises(WorkerError, match="ZeroDivisionError: by zero"):
        read_answer(answered(fail(ZeroDivisionError("by zero"))))
    for bad in (b"", b"\2", b"\1nonsense", b"\1[1]"):
        with pytest.raises(WireError):
            read_answer(bad)
