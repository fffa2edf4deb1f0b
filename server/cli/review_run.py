"""The reviews that commands run."""

from __future__ import annotations

from collections.abc import Iterator

from eminence.v1 import solver_pb2 as pb
from engine_cy.record import Record
from server.cli.connection import AnyClient
from server.cli.options import SearchFlags
from server.codec import records
from server.codec.fields import write_seat
from server.report.review import JudgedDecision, Review
from solver.review import decisions


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
        return Review(self._record, self._judged, self._summary, self._flags.chosen_config(), self._seat)
