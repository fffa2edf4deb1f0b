"""The answers to many positions, asked of a client by `AnalyzeBatch`."""

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
from server.cli.options import SearchOptions
from server.cli.results.files import Key
from server.cli.results.row import STOPPED_BY, InputPosition
from server.client.refusals import Refused, refused_with
from solver.config import InvalidQuestionError
from solver.question import MEGABYTE

# Positions that a client has at a time: enough for all threads of a server, and few enough to be kept.
UNDER_WAY_MAX = 256
# What cannot be asked.
REFUSED = (*UNREADABLE, InvalidQuestionError)
# Codes with which calls end that were going well.
CUT = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED")

Answered = tuple[InputPosition, pb.Suggestion]
Refuse = Callable[[Key, Exception], None]


@dataclass(slots=True)
class PositionAnswers:
    """Answers positions in any order. Those that have no answer are handed to `refuse`.

    A server ends long connections, and may be begun anew: a call that was cut off is made again, and what it had not
    answered is asked again, unless it had not answered anything. So nobody waits for a server that is gone.
    """

    connection: Connection
    client: AnyClient
    thinking: SearchOptions
    _under_way: dict[str, InputPosition] = field(default_factory=dict)
    _names: Iterator[str] = field(default_factory=lambda: map(str, count()))
    _n_done: int = 0

    def answers(self, positions: Iterator[InputPosition], refuse: Refuse) -> Iterator[Answered]:
        while True:
            n_done = self._n_done
            try:
                yield from self._call(positions, refuse)
            except Refused as refused:
                self._bear(refused, has_answered=self._n_done > n_done)
                continue
            if not self._under_way:
                return
            if self._n_done == n_done:
                raise Failure(f"{self.connection.address}: the server ends its searches before they are done")

    def _call(self, positions: Iterator[InputPosition], refuse: Refuse) -> Iterator[Answered]:
        """One call, until all is answered or the server ends it."""
        requests: SimpleQueue[pb.AnalyzeBatchRequest | None] = SimpleQueue()
        for name, position in self._under_way.items():
            requests.put(self._request(name, position))
        self._fill(requests, positions, refuse)
        if not self._under_way:
            return
        is_cut = False
        with self.client.analyze_batch(iter(requests.get, None)) as responses:
            try:
                for response in responses:
                    refused = refused_with(response.error) if response.HasField("error") else None
                    if refused and refused.code == "RESOURCE_EXHAUSTED" and refused.retry_after is not None:
                        time.sleep(refused.retry_after)
                        requests.put(self._request(response.id, self._under_way[response.id]))
                    elif (refused.code in CUT) if refused else (response.suggestion.stop_reason not in STOPPED_BY):
                        is_cut = True  # it got less than was asked for: the server or the call ends
                    else:
                        position = self._under_way.pop(response.id)
                        self._n_done += 1
                        if refused:
                            refuse(position.key, Failure(refused.message.removeprefix("item.")))
                        else:
                            yield position, response.suggestion
                    if not is_cut:
                        self._fill(requests, positions, refuse)
                    if is_cut or not self._under_way:
                        requests.put(None)
            finally:
                requests.put(None)  # whoever reads them waits no more

    def _fill(
        self, requests: SimpleQueue[pb.AnalyzeBatchRequest | None], positions: Iterator[InputPosition], refuse: Refuse
    ) -> None:
        """Ask about as many positions as may be under way."""
        while len(self._under_way) < UNDER_WAY_MAX:
            position = next(positions, None)
            if position is None:
                return
            name = next(self._names)
            try:
                requests.put(self._request(name, position))
            except REFUSED as error:
                refuse(position.key, error)
            else:
                self._under_way[name] = position

    def _request(self, name: str, position: InputPosition) -> pb.AnalyzeBatchRequest:
        observation, thinking = position.observation, self.thinking
        options = thinking.options(observation.game, observer=observation.view.observer)
        item = pb.BatchItem(id=name, view=observation.message, budget=thinking.budget(), options=options)
        return pb.AnalyzeBatchRequest(item=item)

    def _bear(self, refused: Refused, *, has_answered: bool) -> None:
        """Wait, where the server says that this helps; else go on with another call, if the last one led anywhere."""
        if refused.code == "RESOURCE_EXHAUSTED" and refused.retry_after is not None:
            time.sleep(refused.retry_after)
        elif not (has_answered and refused.code in CUT):
            hint = "; the same command goes on where this one was"
            raise self.connection.failure(refused, hint) from None


def open_answers(connection: Connection, client: AnyClient, thinking: SearchOptions, game: Game) -> PositionAnswers:
    """Ask what the client grants before anything else: results say what was asked, and must not mean less."""
    asked, options = thinking.budget(), thinking.options(game, observer=0)
    granted = greet(client, game, asked, options).budget
    shortened = {
        "time-ms": asked.HasField("time") and granted.time.ToMicroseconds() < asked.time.ToMicroseconds(),
        "iterations": not thinking.level and granted.iterations < asked.iterations,
        "memory-mb": granted.memory_bytes < asked.memory_bytes,
    }
    most = {
        "time-ms": granted.time.ToMicroseconds() / 1000,
        "iterations": granted.iterations,
        "memory-mb": granted.memory_bytes / MEGABYTE,
    }
    for flag, is_shortened in shortened.items():
        if is_shortened:
            raise Failure(f"{flag}: {connection.address} grants {most[flag]:.15g} at most")
    return PositionAnswers(connection, client, thinking)
