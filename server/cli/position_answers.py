"""Answers to many positions, from calls of `AnalyzeBatch`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from queue import SimpleQueue

from eminence.v1 import solver_pb2 as pb
from engine_cy import Game
from server.cli.connection import AnyClient, Connection, greet
from server.cli.exit_codes import Failure
from server.cli.inputs import UNREADABLE
from server.cli.options import SearchFlags
from server.cli.results.files import Key
from server.cli.results.row import STOPPED_BY, InputPosition
from server.client.refusals import Refused, refused_with
from solver.config import InvalidQuestionError
from solver.question import MEGABYTE

# Limit of in-flight positions: enough for all threads of a server, and few enough to keep in memory.
IN_FLIGHT_MAX = 256
# Errors of an invalid question.
REFUSED = (*UNREADABLE, InvalidQuestionError)
# Status codes of calls that were cut off and may be retried.
CUT = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED")

Answered = tuple[InputPosition, pb.Suggestion]
Refuse = Callable[[Key, Exception], None]


@dataclass(slots=True)
class PositionAnswers:
    """Answers to positions, in any order; positions without an answer go to `refuse`.

    Servers close long connections, and may restart: a call that was cut off is retried with its unanswered positions.
    A call without a single answer is not, so the program ends if the server is gone.
    """

    connection: Connection
    client: AnyClient
    flags: SearchFlags
    _in_flight: dict[str, InputPosition] = field(default_factory=dict)
    _names: Iterator[str] = field(default_factory=lambda: map(str, count()))
    _n_done: int = 0

    def answers(self, positions: Iterator[InputPosition], refuse: Refuse) -> Iterator[Answered]:
        while True:
            n_done = self._n_done
            try:
                yield from self._call(positions, refuse)
            except Refused as refused:
                self._wait_or_raise(refused, has_answered=self._n_done > n_done)
                continue
            if not self._in_flight:
                return
            if self._n_done == n_done:
                raise Failure(f"{self.connection.address}: the server stops its searches before they are complete")

    def _call(self, positions: Iterator[InputPosition], refuse: Refuse) -> Iterator[Answered]:
        """Make one call; it ends with the last answer, or when the server ends it."""
        requests: SimpleQueue[pb.AnalyzeBatchRequest | None] = SimpleQueue()
        for name, position in self._in_flight.items():
            requests.put(self._request(name, position))
        self._fill(requests, positions, refuse)
        if not self._in_flight:
            return
        is_cut = False
        with self.client.analyze_batch(iter(requests.get, None)) as responses:
            try:
                for response in responses:
                    refused = refused_with(response.error) if response.HasField("error") else None
                    if refused and refused.code == "RESOURCE_EXHAUSTED" and refused.retry_after is not None:
                        time.sleep(refused.retry_after)
                        requests.put(self._request(response.id, self._in_flight[response.id]))
                    elif (refused.code in CUT) if refused else (response.suggestion.stop_reason not in STOPPED_BY):
                        is_cut = True  # the search got less than its budget: the server or the call ends
                    else:
                        position = self._in_flight.pop(response.id)
                        self._n_done += 1
                        if refused:
                            refuse(position.key, Failure(refused.message.removeprefix("item.")))
                        else:
                            yield position, response.suggestion
                    if not is_cut:
                        self._fill(requests, positions, refuse)
                    if is_cut or not self._in_flight:
                        requests.put(None)
            finally:
                requests.put(None)  # ends the request stream

    def _fill(
        self, requests: SimpleQueue[pb.AnalyzeBatchRequest | None], positions: Iterator[InputPosition], refuse: Refuse
    ) -> None:
        """Send positions until `IN_FLIGHT_MAX` are in flight."""
        while len(self._in_flight) < IN_FLIGHT_MAX:
            position = next(positions, None)
            if position is None:
                return
            name = next(self._names)
            try:
                requests.put(self._request(name, position))
            except REFUSED as error:
                refuse(position.key, error)
            else:
                self._in_flight[name] = position

    def _request(self, name: str, position: InputPosition) -> pb.AnalyzeBatchRequest:
        observation, flags = position.observation, self.flags
        options = flags.options(observation.game, observer=observation.view.observer)
        item = pb.BatchItem(id=name, view=observation.message, budget=flags.budget(), options=options)
        return pb.AnalyzeBatchRequest(item=item)

    def _wait_or_raise(self, refused: Refused, *, has_answered: bool) -> None:
        """Wait as long as the server asks for; raise if neither that nor another call can help."""
        if refused.code == "RESOURCE_EXHAUSTED" and refused.retry_after is not None:
            time.sleep(refused.retry_after)
        elif not (has_answered and refused.code in CUT):
            hint = "; the same command resumes this run"
            raise self.connection.failure(refused, hint) from None


def open_answers(connection: Connection, client: AnyClient, flags: SearchFlags, game: Game) -> PositionAnswers:
    """Check that the client grants the whole budget, since results record the requested one."""
    budget, options = flags.budget(), flags.options(game, observer=0)
    granted = greet(client, game, budget, options).budget
    shortened = {
        "time-ms": budget.HasField("time") and granted.time.ToMicroseconds() < budget.time.ToMicroseconds(),
        "iterations": not flags.level and granted.iterations < budget.iterations,
        "memory-mb": granted.memory_bytes < budget.memory_bytes,
    }
    most = {
        "time-ms": granted.time.ToMicroseconds() / 1000,
        "iterations": granted.iterations,
        "memory-mb": granted.memory_bytes / MEGABYTE,
    }
    for flag, is_shortened in shortened.items():
        if is_shortened:
            raise Failure(f"{flag}: {connection.address} grants {most[flag]:.15g} at most")
    return PositionAnswers(connection, client, flags)
