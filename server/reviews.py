"""What a Review asks, and what it comes to in the end."""

from __future__ import annotations

from dataclasses import dataclass

from eminence.v1 import solver_pb2 as pb
from engine_cy.record import Record
from server.codec import records
from server.codec.suggestions import write_seat_score, write_verdict
from server.codec.words import read_seat_if_said, required
from server.limits import Caps, Chosen, Granted, derived_seed, read_budget, read_options
from server.refusals import Refusal
from solver.review import Decision, Score, Verdict, decisions
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


class Reviewed:
    """What was judged, as messages."""

    def __init__(self, asked: ReviewQuestion) -> None:
        self._asked = asked
        self._score = Score(asked.record)
        self._reproducible = True

    def add(self, verdict: Verdict) -> pb.ReviewedDecision:
        """One more decision; the message that tells it."""
        message = write_verdict(verdict)
        luck = self._score.add(verdict)
        if luck is not None:
            message.luck = luck
        self._reproducible = self._reproducible and verdict.reproducible
        return message

    def summary(self) -> pb.ReviewSummary:
        asked = self._asked
        message = pb.ReviewSummary(
            luck_known=asked.record.observer is None,
            seed=asked.seed,
            budget=asked.budget.message,
            engine_signature=SIGNATURE,
            reproducible=self._reproducible,
        )
        message.seats.extend(map(write_seat_score, self._score.seats()))
        return message
