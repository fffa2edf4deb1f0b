"""A game as it was judged: what the table, the graph and the report of a review tell."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from engine_cy.record import Record
from solver.config import Budget, Config
from solver.review import Decision, Judging, Score, SeatScore, Verdict, decisions
from solver.running import NEVER_NS

# The grades, best first, with the signs that players of chess know.
SIGNS = {"best": "=", "fine": "", "inaccuracy": "?!", "mistake": "?", "blunder": "??"}
BAD = ("inaccuracy", "mistake", "blunder")


@dataclass(frozen=True, slots=True)
class Judged:
    """A decision, what became of it, and what luck did to its seat since the one before; None: nobody knows."""

    verdict: Verdict
    luck: float | None
    round: int

    @property
    def decision(self) -> Decision:
        return self.verdict.decision

    @property
    def seat(self) -> int:
        return self.verdict.decision.seat


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A game, judged."""

    record: Record
    config: Config
    budget: Budget
    seed: int
    decisions: list[Judged] = field(default_factory=list)
    seats: list[SeatScore] = field(default_factory=list)

    @property
    def chosen(self) -> list[Judged]:
        """The decisions where there was something to choose."""
        return [judged for judged in self.decisions if not judged.verdict.forced]

    @property
    def reproducible(self) -> bool:
        return all(judged.verdict.reproducible for judged in self.decisions)


class Reviewing:
    """Judges every decision of a seat, or of all, several at a time. Equal ones are judged alike, whatever their
    number."""

    def __init__(
        self, record: Record, seat: int | None, budget: Budget, config: Config, *, seed: int = 0, workers: int = 0
    ) -> None:
        self.decisions = list(decisions(record, seat))
        self._workers = workers or len(os.sched_getaffinity(0))
        self._running: list[Judging] = []
        self._is_stopped = False
        self._score = Score(record)
        self.reviewed = Reviewed(record, config, budget, seed)

    def run(self) -> Iterator[Judged]:
        """Each decision in the order of the game, as soon as it is judged. Who leaves early ends the searches."""
        pool = ThreadPoolExecutor(self._workers)
        try:
            for verdict in pool.map(self._judge, self.decisions):
                judged = Judged(verdict, self._score.add(verdict), verdict.decision.view.table.round)
                self.reviewed.decisions.append(judged)
                yield judged
            self.reviewed.seats.extend(self._score.seats())
        finally:
            self._is_stopped = True
            for judging in self._running:
                judging.stop()
            pool.shutdown(cancel_futures=True)

    def _judge(self, decision: Decision) -> Verdict:
        asked = self.reviewed
        limit = asked.budget.time_ms
        until_ns = NEVER_NS if limit is None else time.monotonic_ns() + int(limit * 1e6)
        judging = Judging(decision, asked.budget, config=asked.config, seed=asked.seed, until_ns=until_ns)
        self._running.append(judging)
        if self._is_stopped:
            judging.stop()
        return judging.run()
