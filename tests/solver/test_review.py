"""Reviews: luck is all that happens between a seat's decisions, those included that left it no choice."""

from __future__ import annotations

import time

import pytest
from program import random_record

from solver import Budget
from solver.backends.serial import Serial
from solver.review import Judging, Score, Verdict, decisions


def test_luck_is_counted_between_forced_decisions_too():
    """Where others do not see that a move is forced, it is searched: so what the seat could expect then is known."""
    record = random_record("oriflamme_prototype", None, 4, 0)
    verdicts = [
        Judging(decision, Budget(iterations=40), until_ns=time.monotonic_ns() + 10**11).run(Serial())
        for decision in decisions(record)
    ]
    score = Score(record)
    told = [score.add(verdict) for verdict in verdicts]
    assert [luck is None for luck in told] == [verdict.value is None for verdict in verdicts]
    assert any(luck for verdict, luck in zip(verdicts, told, strict=True) if verdict.forced)
    for seat in score.seats():
        stood, summed = 1 / 4, 0.0
        mine = [(verdict, luck) for verdict, luck in zip(verdicts, told, strict=True) if _seat(verdict) == seat.seat]
        for verdict, luck in mine:
            if verdict.value is not None:
                assert luck == pytest.approx(verdict.value - stood)
                stood, summed = verdict.value - verdict.win_loss.mean, summed + verdict.value - stood
        assert seat.luck == pytest.approx(summed + record.end.payoffs[seat.seat] - stood)
        assert seat.grades.total() == sum(not verdict.forced for verdict, _ in mine)


def _seat(verdict: Verdict) -> int:
    return verdict.decision.seat
