"""Spread one question over Ray's workers, and answer by its deadline even if they fail."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, wait
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from solver.control import NEVER_NS, Control
from solver.merge import Share
from solver.pool import cores
from solver.pool.base import SearchLostError, WorkerLostError, WorkersLostError, answer_from, answer_without_parts
from solver.pool.driver_channel import Frame, FrameKind, GroupOptions, write_groups
from solver.pool.job_bytes import decode_share, encode_job, read_answer, unpack
from solver.pool.parts import progress_to, run_parts
from solver.question import InformationQuestion, Question, SearchQuestion

if TYPE_CHECKING:
    from solver.pool.ray_pool import RayPool

LATE_MS = 45.0  # overrun of its budget after which a group is given up
LATENCY_MS = 10.0  # latency of a message, reserved before `answer_by_ns`
STOPPING_MS = 100.0  # timeout for groups to stop
PEEKS, PEEKS_FROM_MS = 4, 100.0  # progress snapshots per search, and the shortest search that has any
PEEKS_MOST_MS = 60_000.0  # longest interval between them
LEAST_MS = 5.0  # a group with less time left is not restarted
KILLS_MAX = 2  # workers that one group may lose: a single loss may have any cause
PROCESS_MS = 2_000.0  # overrun allowed to a search whose only result comes from a process that has to start

REPLACED = "a worker was lost; its share was restarted on another"
HERE = "Ray is unavailable; local threads searched"
MISSING = "a worker was lost or late"


class SpreadSearch:
    """Compute the parts of one question in groups, one call each: track groups in flight, results and deadlines."""

    def __init__(self, pool: RayPool, question: Question, control: Control, width: int) -> None:
        self.control = control
        self._pool = pool
        self._question = question
        self._job = b""
        self._started = time.perf_counter()
        self._inbox: SimpleQueue[Frame | None] = SimpleQueue()
        self._n_groups = 1 if question.in_lockstep else max(min(width, question.n_parts), 1)
        self._in_flight: dict[int, int] = {}  # call -> number of the group
        self._shares: dict[int, Share] = {}  # finished parts, by number
        self._progress = progress_to(control, question)
        self._kills = [0] * self._n_groups
        self._without_worker: list[int] = []  # groups without a worker
        self._process_calls: dict[int, Control] = {}  # calls of local processes, with negative numbers
        self._note = ""
        now, budget = time.monotonic(), question.budget
        self._end = min(now + budget.time_ms / 1000 if budget.time_ms else float("inf"), _seconds(control.until_ns))
        answer_by = _seconds(control.answer_by_ns)
        self._end = min(self._end, answer_by - min(LATENCY_MS / 1000, max(answer_by - now, 0) / 2))
        # The deadline of waiting for groups.
        self._wait_until = min(self._end + LATE_MS / 1000, answer_by)
        self._interval = self._interval_ms()
        self._due = now + self._interval / 1000 if self._interval else float("inf")
        self._peeks = 0

    def run(self) -> Any:
        """Wait for all groups and return the answer. A missing part is represented by its last snapshot.

        A group that loses its worker is restarted for the rest of its time, on another worker or else in a local
        process. Without any result, raise WorkersLostError, or SearchLostError if the search killed its workers.
        """
        answer = answer_without_parts(self._question, self._started)
        if answer is not None:
            return answer
        self._job = encode_job(self._question)
        with self.control.stopping(lambda: self._inbox.put(None)):
            try:
                self._begin(FrameKind.SEARCH, range(self._n_groups))
                while self._in_flight and self._step():
                    pass
                self._search_in_processes()
            finally:
                # Stop late groups, or all of them after an interrupt or an error, to free their workers.
                for call in self._in_flight:
                    self._stop_call(call)
                    self._pool.forget(call)
            self._search_on_threads()
        if self._pool.is_closed:
            raise CancelledError
        return answer_from(self._question, self._all(), self._started)

    def _numbers(self, group: int) -> range:
        return range(group, self._question.n_parts, self._n_groups)

    def _interval_ms(self) -> float:
        """Return the interval of workers' progress snapshots; 0: none.

        It is the interval of reports; without reports, a fraction of the time budget, as the last snapshot counts if a
        worker is lost or late.
        """
        if self._progress.reports:
            return max(self.control.interval_ms, 1.0)
        time_ms = (self._end - time.monotonic()) * 1000
        return min(time_ms / PEEKS, PEEKS_MOST_MS) if PEEKS_FROM_MS <= time_ms < float("inf") else 0.0

    def _begin(self, kind: FrameKind, groups: Sequence[int]) -> None:
        options = GroupOptions(self._n_groups, int(self._interval), max((self._end - time.monotonic()) * 1000, 0.0))
        message = write_groups(groups, options, self._job)
        calls = self._pool.begin(kind, message, self._inbox.put, len(groups))
        self._in_flight.update(zip(calls, groups, strict=True))

    def _begin_in_process(self, group: int) -> None:
        """Start a group that may have killed its worker in a local process, as no other worker is available."""
        call = -1 - len(self._process_calls)
        control = self._process_calls[call] = Control(until_ns=_nanoseconds(self._end))
        self._in_flight[call] = group
        self._pool.local_processes.submit_parts(self._job, self._numbers(group), control).add_done_callback(
            lambda done: self._inbox.put(_frame_of(call, done))
        )

    def _step(self) -> bool:
        """Wait for the next event and handle it; return False after the deadline."""
        now = time.monotonic()
        if now >= self._due:
            self._peek()
            self._due = now + self._interval / 1000
        if now >= self._wait_until:
            return False
        until = min(self._wait_until, self._due) - now
        try:
            frame = self._inbox.get(timeout=None if until == float("inf") else max(until, 0.0))
        except Empty:
            return True
        if frame is None:
            self._stop()
        elif frame.call in self._in_flight:
            self._take(frame, self._in_flight[frame.call])
        return True

    def _take(self, frame: Frame, group: int) -> None:
        if frame.kind == FrameKind.PROGRESS:
            self._put(group, frame.payload)
            self._peeks -= 1
            if self._peeks == 0:
                self._progress.report()
            return
        del self._in_flight[frame.call]
        if frame.kind == FrameKind.RESULT:
            self._shares.update(self._put(group, read_answer(frame.payload)))
        elif frame.kind == FrameKind.LOST:
            self._kills[group] += 1
            if self._may_retry(group):
                self._note = REPLACED
                self._begin(FrameKind.RETRY, [group])
        elif not self._kills[group]:
            self._without_worker.append(group)
        elif frame.call > 0 and self._may_retry(group):
            self._begin_in_process(group)

    def _put(self, group: int, packed: bytes) -> dict[int, Share]:
        """Store the shares of a group in the progress, if there are any yet, and return them by part."""
        shares = dict(zip(self._numbers(group), map(decode_share, unpack(packed)), strict=bool(packed)))
        for number, share in shares.items():
            self._progress.put(number, share)
        return shares

    def _may_retry(self, group: int) -> bool:
        return self._is_time_left and self._kills[group] < KILLS_MAX

    @property
    def _is_time_left(self) -> bool:
        return not self.control.stopped and self._end - time.monotonic() >= LEAST_MS / 1000

    def _stop_call(self, call: int) -> None:
        if call in self._process_calls:
            self._process_calls[call].stop()
        else:
            self._pool.send(FrameKind.STOP, call)

    def _stop(self) -> None:
        for call in self._in_flight:
            self._stop_call(call)
        self._wait_until = min(self._wait_until, time.monotonic() + STOPPING_MS / 1000)

    def _peek(self) -> None:
        if self._peeks > 0:
            self._progress.report()  # some worker has not answered the last peek
        self._peeks = len(self._in_flight)
        for call in self._in_flight:
            self._pool.send(FrameKind.PEEK, call)

    def _search_on_threads(self) -> None:
        """Compute groups without a worker on local threads, except those that lost one and might kill this process."""
        if self.control.stopped or self._pool.is_closed:
            return
        if self._is_time_left:
            self._compute_here(self._parts_of(self._without_worker), self._end)
        elif self._is_empty:
            # Late, but every search must have an answer: one tree of a SearchQuestion is enough for that.
            numbers = self._parts_of([group for group, kills in enumerate(self._kills) if not kills])
            most = 1 if isinstance(self._question, SearchQuestion) else len(numbers)
            self._compute_here(numbers[:most], time.monotonic() + LEAST_MS / 1000)

    def _search_in_processes(self) -> None:
        """Compute the minimum for an answer in local processes, if every group lost a worker and none has a result."""
        groups = [group for group, kills in enumerate(self._kills) if 0 < kills < KILLS_MAX]
        if self.control.stopped or self._pool.is_closed or len(groups) < self._n_groups or not self._is_empty:
            return
        self._wait_until = min(time.monotonic() + PROCESS_MS / 1000, _seconds(self.control.answer_by_ns))
        for group in groups[:1] if isinstance(self._question, SearchQuestion) else groups:
            if group not in self._in_flight.values():
                self._begin_in_process(group)
        while self._in_flight.keys() & self._process_calls.keys() and self._step():
            pass

    @property
    def _is_empty(self) -> bool:
        return not any(share.iterations for share in self._progress.shares)

    def _parts_of(self, groups: Sequence[int]) -> list[int]:
        return sorted(number for group in groups for number in self._numbers(group))

    def _compute_here(self, numbers: Sequence[int], ends: float) -> None:
        if not numbers:
            return
        self._note, question = HERE, self._question
        question.prepare()
        control = Control(until_ns=_nanoseconds(ends))
        n = 1 if question.in_lockstep else min(cores(), len(numbers))
        groups = [numbers[i::n] for i in range(n)]
        with self.control.stopping(control.stop):
            others = [
                self._pool.local_threads.call(run_parts, question, group, control, self._progress)
                for group in groups[1:]
            ]
            try:
                results = [run_parts(question, groups[0], control, self._progress)]
                results += [other.result() for other in others]
            except BaseException:
                control.stop()
                wait(others)
                raise
        for group, shares in zip(groups, results, strict=True):
            self._shares.update(zip(group, shares, strict=True))

    def _all(self) -> list[Share]:
        """Return all parts in their order."""
        late = {number for group in self._in_flight.values() for number in self._numbers(group)}
        shares = [
            self._shares.get(number) or self._missing(number, number in late)
            for number in range(self._question.n_parts)
        ]
        is_lost = all(share.missing and not share.iterations for share in shares)
        if isinstance(self._question, InformationQuestion):
            is_lost = is_lost or max(self._kills) >= KILLS_MAX  # the other shares are no answer
        if is_lost and not self.control.stopped:
            kind = SearchLostError if max(self._kills) >= KILLS_MAX else WorkersLostError
            raise kind(f"shares of a search and {sum(self._kills)} workers were lost")
        if self._note:
            shares[0] = replace(shares[0], note=self._note)
        return shares

    def _missing(self, number: int, is_late: bool) -> Share:
        """Return the last snapshot of a part that did not finish, as its share."""
        stopped = self.control.stopped and not is_late
        if not stopped:
            self._note = self._note or MISSING
        stopped_by = "stopped" if self.control.stopped else "lost"
        return replace(self._progress.shares[number], stopped_by=stopped_by, missing=0 if stopped else 1)


def _seconds(moment_ns: int) -> float:
    return float("inf") if moment_ns == NEVER_NS else moment_ns / 1e9


def _nanoseconds(moment: float) -> int:
    return NEVER_NS if moment == float("inf") else int(moment * 1e9)


def _frame_of(call: int, done: Future[bytes]) -> Frame:
    """Return the frame that Ray's driver would send for a call of a local process that has ended."""
    match done.exception():
        case None:
            return Frame(FrameKind.RESULT, call, done.result())
        case WorkerLostError():
            return Frame(FrameKind.LOST, call, b"")
    return Frame(FrameKind.NO_WORKER, call, b"")
