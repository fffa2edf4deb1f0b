"""A game as it was judged, here or by a server: what the table, the graph and the report of a review tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from eminence.v1 import solver_pb2 as pb
from engine_cy.record import Record
from engine_cy.seats import SEATS
from server.cli.asking import Thinking
from server.cli.remote import Remote, here_only
from server.codec import records
from server.codec.words import write_seat
from server.messages import answers
from server.messages.answers import GRADES
from solver.config import Config
from solver.pool import cores
from solver.pool.threads import Threads
from solver.review import Decision, judge_all

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
    """Judges the decisions of a seat, or of all, in this process or at a server."""

    def __init__(self, record: Record, seat: int | None, thinking: Thinking, remote: Remote | None) -> None:
        self._record, self._seat, self._thinking, self._remote = record, seat, thinking, remote
        self._options = thinking.options(record.game)
        self._asked = thinking.review(record, seat, self._options)
        self.decisions = self._asked.decisions
        self._found: list[Judged] = []
        self._summary = pb.ReviewSummary()

    def run(self) -> Iterator[Judged]:
        """Each decision in the order of the game, as soon as it is judged. Who leaves early ends the searches."""
        steps = self._here() if self._remote is None else self._at(self._remote)
        for decision, step in zip(self.decisions, steps, strict=True):
            self._found.append(Judged(decision, step))
            yield self._found[-1]

    @property
    def review(self) -> Review:
        """All of it, after the end."""
        return Review(self._record, self._found, self._summary, self._asked.judge.config)

    def _here(self) -> Iterator[pb.ReviewedDecision]:
        asked = self._asked
        reviewed = answers.Reviewed(asked)
        with Threads(cores()) as pool:
            at_once = max(pool.width // asked.shares, 1)
            with closing(judge_all(asked.judge, asked.decisions, pool, at_once=at_once)) as verdicts:
                for verdict in verdicts:
                    yield reviewed.add(verdict)
        self._summary = reviewed.summary()

    def _at(self, remote: Remote) -> Iterator[pb.ReviewedDecision]:
        from server.client import seconds_for

        here_only(config=self._thinking.config)
        budget = self._thinking.budget()
        record = records.write(self._record)
        seconds = len(self.decisions) * seconds_for(budget)
        with (
            remote.client() as client,
            client.review(record, budget, self._options, seat=write_seat(self._seat), seconds=seconds) as responses,
        ):
            for response in responses:
                if response.HasField("decision"):
                    yield response.decision
                else:
                    self._summary = response.summary
