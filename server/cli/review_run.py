"""A game as it was judged: what the table, the graph and the report of a review tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eminence.v1 import solver_pb2 as pb
from engine_cy.record import Record
from engine_cy.seats import SEATS
from server.cli.connection import AnyClient
from server.cli.options import SearchOptions
from server.codec import records
from server.codec.fields import write_seat
from server.messages.answers import GRADES
from solver.config import Config
from solver.review import Decision, decisions

# The grades, best first, with the signs that players of chess know.
SIGNS = {"best": "", "fine": "", "inaccuracy": "?!", "mistake": "?", "blunder": "??"}
BAD = ("inaccuracy", "mistake", "blunder")


@dataclass(frozen=True, slots=True)
class Judged:
    """A decision, and what is said of it."""

    decision: Decision
    told: pb.ReviewedDecision

    @property
    def seat(self) -> int:
        return self.decision.seat

    @property
    def letter(self) -> str:
        return SEATS[self.decision.seat]

    @property
    def number(self) -> int:
        """Of the action, from 1."""
        return self.decision.index + 1

    @property
    def round(self) -> int:
        found: int = self.decision.view.table.round
        return found

    @property
    def grade(self) -> str:
        return GRADES.read(self.told.grade, "grade")

    @property
    def is_best(self) -> bool:
        """Whether nothing better is known than what was played."""
        return bool(self.told.played.action.text == self.told.best.action.text)

    @property
    def value(self) -> float | None:
        """The share of the win that the seat could expect; None if nothing was searched."""
        return self.told.best.win.mean if self.told.best.HasField("win") else None

    @property
    def loss(self) -> float:
        return self.told.win_loss.mean

    @property
    def value_after(self) -> float | None:
        """The share of the win after the loss; 0 where that, measured in other worlds, is the larger one."""
        return None if self.value is None else max(self.value - self.loss, 0.0)

    @property
    def luck(self) -> float | None:
        return self.told.luck if self.told.HasField("luck") else None


@dataclass(frozen=True, slots=True)
class Review:
    """A game, judged; `config` says how."""

    record: Record
    decisions: Sequence[Judged]
    summary: pb.ReviewSummary
    config: Config

    @property
    def chosen(self) -> list[Judged]:
        """The decisions where there was something to choose."""
        return [judged for judged in self.decisions if not judged.told.forced]


class Judging:
    """Has the decisions of a seat, or of all, judged."""

    def __init__(self, client: AnyClient, record: Record, seat: int | None, thinking: SearchOptions) -> None:
        self.decisions = list(decisions(record, seat))
        self._client, self._record, self._seat, self._thinking = client, record, seat, thinking
        self._judged: list[Judged] = []
        self._summary = pb.ReviewSummary()

    def run(self) -> Iterator[Judged]:
        """Each decision in the order of the game, as soon as it is judged. Who leaves early ends the searches."""
        message, budget = records.write(self._record), self._thinking.budget()
        options = self._thinking.options(self._record.game)
        with self._client.review(message, budget, options, seat=write_seat(self._seat)) as responses:
            for decision, response in zip(self.decisions, responses, strict=False):
                self._judged.append(Judged(decision, response.decision))
                yield self._judged[-1]
            self._summary = next(responses).summary

    @property
    def review(self) -> Review:
        """All of it, after the end."""
        return Review(self._record, self._judged, self._summary, self._thinking.chosen_config())
