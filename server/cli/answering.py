"""Who answers many positions: the processes of this machine, a cluster, or a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from eminence.v1 import solver_pb2 as pb
from engine_cy.seats import SEATS
from server.cli.asking import Thinking
from server.cli.cluster import open_cluster
from server.cli.failing import Failure
from server.cli.reading import UNREADABLE
from server.cli.remote import Remote, greet, here_only, rpc_error, server_failure
from server.cli.results import Key
from server.cli.rows import STOPPED_BY, Position
from server.messages.answers import write_suggestion
from server.messages.requests import Asked
from solver.config import InvalidQuestionError
from solver.pool import cores
from solver.pool.base import Pool, answer_many
from solver.pool.processes import Processes
from solver.pool.threads import Threads
from solver.question import MEGABYTE, Question
from solver.version import SIGNATURE

if TYPE_CHECKING:
    from server.client import Client

# Positions that a server has at a time: enough for all of its threads, and few enough to be kept.
UNDER_WAY_MAX = 256
# What cannot be asked, whoever answers.
REFUSED = (*UNREADABLE, InvalidQuestionError)

Refuse = Callable[[Key, Exception], None]


class Answering(Protocol):
    """Answers positions in any order. Those that have no answer are handed to `refuse`."""

    @property
    def engine(self) -> str:
        """The signature of who searches: equal ones answer alike."""

    def answers(self, positions: Iterator[Position], refuse: Refuse) -> Iterator[tuple[Position, pb.Suggestion]]: ...


@contextmanager
def open_answering(
    thinking: Thinking, workers: int | None, ray_address: str | None, remote: Remote | None
) -> Iterator[Answering]:
    """Who was chosen to answer."""
    if remote is not None:
        here_only(workers=workers, ray_address=ray_address, config=thinking.config)
        with remote.client() as client:
            yield There(client, remote.address, thinking)
    elif ray_address is not None:
        with open_cluster(ray_address, workers) as cluster:
            yield Here(cluster, thinking)
    else:
        n = workers or cores()
        pool: Pool = Threads(1) if n == 1 else Processes(n)
        try:
            yield Here(pool, thinking)
        finally:
            pool.close()


def _thinking_of(thinking: Thinking, position: Position) -> Thinking:
    """How the observer plays is the search's own matter."""
    observer = SEATS[position.seen.view.observer]
    return replace(thinking, models=tuple(said for said in thinking.models if not said.upper().startswith(observer)))


# --- processes of this machine, and clusters --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Here:
    """A pool, whose answers are written in this process."""

    pool: Pool
    thinking: Thinking
    engine: str = SIGNATURE

    def answers(self, positions: Iterator[Position], refuse: Refuse) -> Iterator[tuple[Position, pb.Suggestion]]:
        under_way: dict[int, tuple[Position, Asked]] = {}

        def questions() -> Iterator[Question]:
            for position in positions:
                try:
                    asked = self._asked(position)
                except REFUSED as error:
                    refuse(position.key, error)
                    continue
                under_way[begun()] = position, asked
                assert asked.question is not None  # the game is not over
                yield asked.question

        begun = count().__next__
        for answered in answer_many(questions(), self.pool, in_order=False):
            position, asked = under_way.pop(answered.number)
            if answered.error is not None:
                refuse(position.key, answered.error)
            else:
                yield position, write_suggestion(answered.answer, asked)

    def _asked(self, position: Position) -> Asked:
        thinking = _thinking_of(self.thinking, position)
        return thinking.search(position.seen, thinking.options(position.seen.game))


# --- servers -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class There:
    """A server, asked by `AnalyzeBatch`.

    A server ends long connections, and may be begun anew: a call that was cut off is made again, and what it had not
    answered is asked again, unless it had not answered anything. So nobody waits for a server that is gone.
    """

    client: Client
    address: str
    thinking: Thinking
    engine: str = field(init=False)
    _under_way: dict[str, Position] = field(default_factory=dict)
    _names: Iterator[str] = field(default_factory=lambda: map(str, count()))
    _n_done: int = 0

    def __post_init__(self) -> None:
        self.engine = self._greet()

    def answers(self, positions: Iterator[Position], refuse: Refuse) -> Iterator[tuple[Position, pb.Suggestion]]:
        while True:
            n_done = self._n_done
            try:
                yield from self._call(positions, refuse)
            except rpc_error() as error:
                self._bear(error, has_answered=self._n_done > n_done)
                continue
            if not self._under_way:
                return
            if self._n_done == n_done:
                raise Failure(f"{self.address}: the server ends its searches before they are done")

    def _greet(self) -> str:
        """Its engine, if it grants what is asked for: results say what was asked, and must not mean less."""
        asked = self.thinking.budget()
        try:
            said = greet(self.client, asked, pb.Options(level=self.thinking.level or 0, shares=self.thinking.shares))
        except rpc_error() as error:
            raise server_failure(self.address, error) from None
        granted = said.budget
        shortened = {
            "time-ms": asked.HasField("time") and granted.time.ToMicroseconds() < asked.time.ToMicroseconds(),
            "iterations": not self.thinking.level and granted.iterations < asked.iterations,
            "memory-mb": granted.memory_bytes < asked.memory_bytes,
        }
        most = {
            "time-ms": granted.time.ToMicroseconds() / 1000,
            "iterations": granted.iterations,
            "memory-mb": granted.memory_bytes / MEGABYTE,
        }
        for flag, is_shortened in shortened.items():
            if is_shortened:
                raise Failure(f"{flag}: {self.address} grants {most[flag]:.15g} at most")
        return said.engine_signature

    def _call(self, positions: Iterator[Position], refuse: Refuse) -> Iterator[tuple[Position, pb.Suggestion]]:
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
                    pause = _pause_after(response)
                    if pause is not None:
                        time.sleep(pause)
                        requests.put(self._request(response.id, self._under_way[response.id]))
                    elif _is_cut(response):
                        is_cut = True
                    else:
                        position = self._under_way.pop(response.id)
                        self._n_done += 1
                        if response.HasField("error"):
                            refuse(position.key, Failure(response.error.message.removeprefix("item.")))
                        else:
                            self._check_engine(response.suggestion)
                            yield position, response.suggestion
                    if not is_cut:
                        self._fill(requests, positions, refuse)
                    if is_cut or not self._under_way:
                        requests.put(None)
            finally:
                requests.put(None)  # whoever reads them waits no more

    def _fill(
        self, requests: SimpleQueue[pb.AnalyzeBatchRequest | None], positions: Iterator[Position], refuse: Refuse
    ) -> None:
        """Give the server as many positions as it may have."""
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

    def _request(self, name: str, position: Position) -> pb.AnalyzeBatchRequest:
        seen, thinking = position.seen, _thinking_of(self.thinking, position)
        item = pb.BatchItem(
            id=name,
            view=seen.message,
            budget=thinking.budget(),
            options=thinking.options(seen.game),
        )
        return pb.AnalyzeBatchRequest(item=item)

    def _bear(self, error: Any, *, has_answered: bool) -> None:
        """Wait, where the server says that this helps; else go on with another call, if the last one led anywhere."""
        from server.client import refusal_of

        refusal = refusal_of(error)
        if refusal.code.name == "RESOURCE_EXHAUSTED" and refusal.retry_after is not None:
            time.sleep(refusal.retry_after)
        elif not (has_answered and refusal.code.name in CUT):
            raise server_failure(self.address, error, "; the same command goes on where this one was") from None

    def _check_engine(self, found: pb.Suggestion) -> None:
        if found.engine_signature != self.engine:
            why = f"its engine is {found.engine_signature} now, and was {self.engine}"
            raise Failure(f"{self.address}: {why}: other answers, which belong into a file of their own")


# Statuses with which calls end that were going well.
CUT = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED")


def _pause_after(response: pb.AnalyzeBatchResponse) -> float | None:
    """Where the server has no room for a position: the seconds after which it may have."""
    from google.rpc import code_pb2, error_details_pb2

    retry = error_details_pb2.RetryInfo()
    if response.error.code != code_pb2.RESOURCE_EXHAUSTED or not any(d.Unpack(retry) for d in response.error.details):
        return None
    milliseconds: int = retry.retry_delay.ToMilliseconds()
    return milliseconds / 1000


def _is_cut(response: pb.AnalyzeBatchResponse) -> bool:
    """Whether a position got less than was asked for, through no fault of its own: the server or the call ends."""
    from google.rpc import code_pb2

    if response.HasField("error"):
        return response.error.code in [code_pb2.Code.Value(name) for name in CUT]
    return response.suggestion.stop_reason not in STOPPED_BY
