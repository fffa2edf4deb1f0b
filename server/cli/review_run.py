"""The graded decisions of a game, for the table, the graph and the report of a review."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eminence.v1 import solver_pb2 as pb
from engine_cy.record import Record
from engine_cy.seats import SEATS
from server.cli.connection import AnyClient
from server.cli.options import SearchFlags
from server.codec import records
from server.codec.fields import write_seat
from server.games import adapter_of
from server.messages.answers import GRADES
from solver.config import Config
from solver.review import Decision, decisions

# The grades, best first, with the signs of chess notation.
SIGNS = {"best": "", "fine": "", "inaccuracy": "?!", "mistake": "?", "blunder": "??"}
BAD = ("inaccuracy", "mistake", "blunder")


@dataclass(frozen=True, slots=True)
class JudgedDecision:
    """A decision and its grade."""

    decision: Decision
    message: pb.ReviewedDecision

    @property
    def seat(self) -> int:
        return self.decision.seat

    @property
    def letter(self) -> str:
        return SEATS[self.decision.seat]

    @property
    def number(self) -> int:
        """The number of the action, from 1."""
        return self.decision.index + 1

    @property
    def round(self) -> int:
        view = self.decision.view
        return adapter_of(view.game.id).round_of(view)

    @property
    def grade(self) -> str:
        return GRADES.read(self.message.grade, "grade")

    @property
    def is_best(self) -> bool:
        """Whether the player chose the best known move."""
        return bool(self.message.played.action.text == self.message.best.action.text)

    @property
    def value(self) -> float | None:
        """The share of the win that the seat could expect; None without a search."""
        return self.message.best.win.mean if self.message.best.HasField("win") else None

    @property
    def loss(self) -> float:
        return self.message.win_loss.mean

    @property
    def value_after(self) -> float | None:
        """The share of the win after the loss; at least 0, although the loss is measured in other worlds."""
        return None if self.value is None else max(self.value - self.loss, 0.0)

    @property
    def luck(self) -> float | None:
        return self.message.luck if self.message.HasField("luck") else None


@dataclass(frozen=True, slots=True)
class Review:
    """A reviewed game; `config` is the configuration of the searches."""

    record: Record
    decisions: Sequence[JudgedDecision]
    summary: pb.ReviewSummary
    config: Config

    @property
    def chosen(self) -> list[JudgedDecision]:
        """The decisions with a choice."""
        return [judged for judged in self.decisions if not judged.message.forced]


class Reviewer:
    """Reviewer of the decisions of a seat, or of all seats (None)."""

    def __init__(self, client: AnyClient, record: Record, seat: int | None, flags: SearchFlags) -> None:
        self.decisions = list(decisions(record, seat))
        self._client, self._record, self._seat, self._flags = client, record, seat, flags
        self._judged: list[JudgedDecision] = []
        self._summary = pb.ReviewSummary()

    def run(self) -> Iterator[JudgedDecision]:
        """Yield each decision once it is graded, in game order. Closing the iterator cancels the searches."""
        message, budget = records.write(self._record), self._flags.budget()
        options = self._flags.options(self._record.game)
        with self._client.review(message, budget, options, seat=write_seat(self._seat)) as responses:
            for decision, response in zip(self.decisions, responses, strict=False):
                self._judged.append(JudgedDecision(decision, response.decision))
                yield self._judged[-1]
            self._summary = next(responses).summary

    @property
    def review(self) -> Review:
        """The whole review; complete once `run` has ended."""
        return Review(self._record, self._judged, self._summary, self._flags.chosen_config())
