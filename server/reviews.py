"""What a Review asks, and what it comes to in the end."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from eminence.v1 import solver_pb2 as pb
from engine_cy import Position
from engine_cy.record import Record
from server.codec import records
from server.codec.suggestions import GRADES, write_verdict
from server.codec.words import read_seat_if_said, required, write_seat
from server.limits import Caps, Chosen, Granted, derived_seed, read_budget, read_options
from server.refusals import Refusal
from solver.review import Decision, Verdict, decisions
from solver.version import SIGNATURE


@dataclass(frozen=True, slots=True)
class ReviewQuestion:
    """What is asked, as it is granted."""

    record: Record
    decisions: list[Decision]
    options: Chosen
    budget: Granted
    seed: int


def read_review(request: pb.ReviewRequest, caps: Caps) -> ReviewQuestion:
    required(request, "record", "")
    record = records.read(request.record)
    game = record.game
    seat = read_seat_if_said(request.seat, game.n_players, "seat")
    if seat is not None and record.observer not in (None, seat):
        raise Refusal("CONTRADICTION", "seat", "the record was seen by another seat, whose decisions alone it tells")
    options = read_options(request.options, game, None, refused=("restrict_to", "information"))
    budget = read_budget(request.budget, options, caps)
    if budget.share_iterations:
        raise Refusal("CONTRADICTION", "budget.share_iterations", "a review has `iterations` for each decision")
    seed = derived_seed(str(record).encode()) if options.seed is None else options.seed
    return ReviewQuestion(record, list(decisions(record, seat)), options, budget, seed)


@dataclass(slots=True)
class _Seat:
    """How a seat did so far. `stands_at` is what it could expect after its last decision."""

    stands_at: float
    grades: Counter[str] = field(default_factory=Counter)
    losses: list[tuple[float, float]] = field(default_factory=list)
    points: list[tuple[float, float]] = field(default_factory=list)
    luck: float = 0.0


class Score:
    """Adds up what was judged."""

    def __init__(self, asked: ReviewQuestion) -> None:
        self._asked = asked
        self._knows_luck = asked.record.observer is None
        n = asked.record.game.n_players
        # Before the deal, all are alike.
        self._seats = {seat: _Seat(1 / n) for seat in range(n) if asked.record.observer in (None, seat)}
        self._judged: set[int] = set()
        self._reproducible = True

    def add(self, verdict: Verdict) -> pb.ReviewedDecision:
        """One more decision; the message that tells it."""
        message = write_verdict(verdict)
        number = verdict.decision.seat
        seat = self._seats[number]
        self._judged.add(number)
        self._reproducible = self._reproducible and verdict.reproducible
        if not verdict.forced:
            seat.grades[verdict.grade] += 1
            seat.losses.append((verdict.win_loss.mean, verdict.win_loss.error))
            if verdict.points_loss is not None:
                seat.points.append((verdict.points_loss.mean, verdict.points_loss.error))
        if verdict.value is not None:
            if self._knows_luck:
                message.luck = verdict.value - seat.stands_at
                seat.luck += message.luck
            seat.stands_at = verdict.value - verdict.win_loss.mean
        return message

    def summary(self) -> pb.ReviewSummary:
        asked = self._asked
        message = pb.ReviewSummary(
            luck_known=self._knows_luck,
            seed=asked.seed,
            budget=asked.budget.message,
            engine_signature=SIGNATURE,
            reproducible=self._reproducible,
        )
        end = asked.record.end
        for number in sorted(self._judged):
            seat = self._seats[number]
            told = message.seats.add(seat=write_seat(number), decisions=seat.grades.total())
            for grade, count in sorted(seat.grades.items(), key=lambda item: GRADES.write(item[0])):
                told.grades.add(grade=GRADES.write(grade), count=count)
            _add_up(told.win_loss, seat.losses)
            _add_up(told.points_loss, seat.points)
            if self._knows_luck:
                # What came after the last decision is luck, too.
                last = end.payoffs[number] - seat.stands_at if isinstance(end, Position) and end.is_over else 0.0
                told.luck = seat.luck + last
        return message


def _add_up(message: Any, parts: list[tuple[float, float]]) -> None:
    message.mean = sum(mean for mean, _ in parts)
    message.standard_error = math.sqrt(sum(error * error for _, error in parts))
