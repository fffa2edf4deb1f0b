"""One question spread over Ray's workers: its answer is there in time, whatever becomes of them."""

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

LATE_MS = 45.0  # how much longer than its budget a group may take before it is given up
WAY_MS = 10.0  # the time of a message on its way, where an answer must not be late
STOPPING_MS = 100.0  # how long groups may take to stop
PEEKS, PEEKS_FROM_MS = 4, 100.0  # how often workers note what they have found, in searches of at least this long
PEEKS_MOST_MS = 60_000.0  # between two of these
LEAST_MS = 5.0  # a group is not begun again for less
KILLS_MAX = 2  # workers that one group may cost: one may have been killed by anything
APART_MS = 2_000.0  # how much later a search may end whose only result comes from a process that has to begin

REPLACED = "a worker was lost; its share was begun again on another"
HERE = "Ray is not there; this was searched on threads here"
MISSING = "a worker was lost or late"


class SpreadSearch:
    """The parts of one question in groups, a call each: those under way, those found, and until when to wait."""

    def __init__(self, pool: RayPool, question: Question, control: Control, width: int) -> None:
        self.control = control
        self._pool = pool
        self._question = question
        self._job = b""
        self._began = time.perf_counter()
        self._inbox: SimpleQueue[Frame | None] = SimpleQueue()
        self._n_groups = 1 if question.meets else max(min(width, question.n_parts), 1)
        self._under_way: dict[int, int] = {}  # call -> number of the group
        self._found: dict[int, Share] = {}  # by part
        self._progress = progress_to(control, question)
        self._kills = [0] * self._n_groups
        self._here: list[int] = []  # groups that no worker computes
        self._apart: dict[int, Control] = {}  # calls of processes apart, numbered below 0
        self._note = ""
        now, budget = time.monotonic(), question.budget
        self._ends = min(now + budget.time_ms / 1000 if budget.time_ms else float("inf"), _seconds(control.until_ns))
        answer_by = _seconds(control.answer_by_ns)
        self._ends = min(self._ends, answer_by - min(WAY_MS / 1000, max(answer_by - now, 0) / 2))
        # No group is waited for any longer.
        self._last = min(self._ends + LATE_MS / 1000, answer_by)
        self._interval = self._interval_ms()
        self._due = now + self._interval / 1000 if self._interval else float("inf")
        self._peeks = 0

    def run(self) -> Any:
        """Wait for all groups and return the answer. Where a part is missing, it holds what was last known of it.

        A group whose worker was lost is begun again for the rest of its time: on another worker, or else in a process
        apart. If nothing is found, WorkersLostError is raised, or SearchLostError if that is the search's own fault.
        """
        answer = answer_without_parts(self._question, self._began)
        if answer is not None:
            return answer
        self._job = encode_job(self._question)
        with self.control.stopping(lambda: self._inbox.put(None)):
            try:
                self._begin(FrameKind.SEARCH, range(self._n_groups))
                while self._under_way and self._step():
                    pass
                self._search_apart()
            finally:
                # Late ones, and all of them after an interrupt or an error, so that their workers are free.
                for call in self._under_way:
                    self._stop_call(call)
                    self._pool.forget(call)
            self._search_here()
        if self._pool.is_closed:
            raise CancelledError
        return answer_from(self._question, self._all(), self._began)

    def _numbers(self, group: int) -> range:
        return range(group, self._question.n_parts, self._n_groups)

    def _interval_ms(self) -> float:
        """Return how often workers note what they have found: at the interval of reports; else some times before the
        end, since that counts if they are lost or late afterwards. 0: never."""
        if self._progress.reports:
            return max(self.control.interval_ms, 1.0)
        time_ms = (self._ends - time.monotonic()) * 1000
        return min(time_ms / PEEKS, PEEKS_MOST_MS) if PEEKS_FROM_MS <= time_ms < float("inf") else 0.0

    def _begin(self, kind: FrameKind, groups: Sequence[int]) -> None:
        terms = GroupOptions(self._n_groups, int(self._interval), max((self._ends - time.monotonic()) * 1000, 0.0))
        message = write_groups(groups, terms, self._job)
        calls = self._pool.begin(kind, message, self._inbox.put, len(groups))
        self._under_way.update(zip(calls, groups, strict=True))

    def _begin_apart(self, group: int) -> None:
        """Have a process of this machine compute a group that may have killed its worker, for want of another one."""
        call = -1 - len(self._apart)
        control = self._apart[call] = Control(until_ns=_nanoseconds(self._ends))
        self._under_way[call] = group
        self._pool.apart.submit_parts(self._job, self._numbers(group), control).add_done_callback(
            lambda done: self._inbox.put(_frame_of(call, done))
        )

    def _step(self) -> bool:
        """Wait for the next event; return whether there is anything left to wait for."""
        now = time.monotonic()
        if now >= self._due:
            self._peek()
            self._due = now + self._interval / 1000
        if now >= self._last:
            return False
        until = min(self._last, self._due) - now
        try:
            frame = self._inbox.get(timeout=None if until == float("inf") else max(until, 0.0))
        except Empty:
            return True
        if frame is None:
            self._stop()
        elif frame.call in self._under_way:
            self._take(frame, self._under_way[frame.call])
        return True

    def _take(self, frame: Frame, group: int) -> None:
        if frame.kind == FrameKind.PART:
            self._put(group, frame.payload)
            self._peeks -= 1
            if self._peeks == 0:
                self._progress.report()
            return
        del self._under_way[frame.call]
        if frame.kind == FrameKind.FOUND:
            self._found.update(self._put(group, read_answer(frame.payload)))
        elif frame.kind == FrameKind.LOST:
            self._kills[group] += 1
            if self._may_begin_again(group):
                self._note = REPLACED
                self._begin(FrameKind.AGAIN, [group])
        elif not self._kills[group]:
            self._here.append(group)
        elif frame.call > 0 and self._may_begin_again(group):
            self._begin_apart(group)

    def _put(self, group: int, packed: bytes) -> dict[int, Share]:
        """Note the shares of a group, if there are any yet."""
        shares = dict(zip(self._numbers(group), map(decode_share, unpack(packed)), strict=bool(packed)))
        for number, share in shares.items():
            self._progress.put(number, share)
        return shares

    def _may_begin_again(self, group: int) -> bool:
        return self._is_time_left and self._kills[group] < KILLS_MAX

    @property
    def _is_time_left(self) -> bool:
        return not self.control.stopped and self._ends - time.monotonic() >= LEAST_MS / 1000

    def _stop_call(self, call: int) -> None:
        if call in self._apart:
            self._apart[call].stop()
        else:
            self._pool.send(FrameKind.STOP, call)

    def _stop(self) -> None:
        for call in self._under_way:
            self._stop_call(call)
        self._last = min(self._last, time.monotonic() + STOPPING_MS / 1000)

    def _peek(self) -> None:
        if self._peeks > 0:
            self._progress.report()  # a worker did not answer the last time
        self._peeks = len(self._under_way)
        for call in self._under_way:
            self._pool.send(FrameKind.PEEK, call)

    def _search_here(self) -> None:
        """Compute the groups that no worker could, unless they cost one: they might cost this process, too."""
        if self.control.stopped or self._pool.is_closed:
            return
        if self._is_time_left:
            self._compute_here(self._parts_of(self._here), self._ends)
        elif self._is_empty:
            # There has to be an answer, however late all workers were. One tree of a search makes one.
            numbers = self._parts_of([group for group, kills in enumerate(self._kills) if not kills])
            most = 1 if isinstance(self._question, SearchQuestion) else len(numbers)
            self._compute_here(numbers[:most], time.monotonic() + LEAST_MS / 1000)

    def _search_apart(self) -> None:
        """Compute the least that makes an answer where every group has lost a worker and found nothing in its time."""
        groups = [group for group, kills in enumerate(self._kills) if 0 < kills < KILLS_MAX]
        if self.control.stopped or self._pool.is_closed or len(groups) < self._n_groups or not self._is_empty:
            return
        self._last = min(time.monotonic() + APART_MS / 1000, _seconds(self.control.answer_by_ns))
        for group in groups[:1] if isinstance(self._question, SearchQuestion) else groups:
            if group not in self._under_way.values():
                self._begin_apart(group)
        while self._under_way.keys() & self._apart.keys() and self._step():
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
        question.get_ready()
        control = Control(until_ns=_nanoseconds(ends))
        n = 1 if question.meets else min(cores(), len(numbers))
        groups = [numbers[i::n] for i in range(n)]
        with self.control.stopping(control.stop):
            others = [self._pool.here.call(run_parts, question, group, control, self._progress) for group in groups[1:]]
            try:
                found = [run_parts(question, groups[0], control, self._progress)]
                found += [other.result() for other in others]
            except BaseException:
                control.stop()
                wait(others)
                raise
        for group, shares in zip(groups, found, strict=True):
            self._found.update(zip(group, shares, strict=True))

    def _all(self) -> list[Share]:
        """Return all parts in their order."""
        late = {number for group in self._under_way.values() for number in self._numbers(group)}
        shares = [
            self._found.get(number) or self._missing(number, number in late) for number in range(self._question.n_parts)
        ]
        is_lost = all(share.missing and not share.iterations for share in shares)
        if isinstance(self._question, InformationQuestion):
            is_lost = is_lost or max(self._kills) >= KILLS_MAX  # the other shares answer nothing
        if is_lost and not self.control.stopped:
            kind = SearchLostError if max(self._kills) >= KILLS_MAX else WorkersLostError
            raise kind(f"shares of a search were lost, and {sum(self._kills)} workers")
        if self._note:
            shares[0] = replace(shares[0], note=self._note)
        return shares

    def _missing(self, number: int, is_late: bool) -> Share:
        """Return what stands for a part that did not end."""
        stopped = self.control.stopped and not is_late
        if not stopped:
            self._note = self._note or MISSING
        why = "stopped" if self.control.stopped else "lost"
        return replace(self._progress.shares[number], stopped_by=why, missing=0 if stopped else 1)


def _seconds(moment_ns: int) -> float:
    return float("inf") if moment_ns == NEVER_NS else moment_ns / 1e9


def _nanoseconds(moment: float) -> int:
    return NEVER_NS if moment == float("inf") else int(moment * 1e9)


def _frame_of(call: int, done: Future[bytes]) -> Frame:
    """Tell how a call of a process apart ended, as Ray's driver would."""
    match done.exception():
        case None:
            return Frame(FrameKind.FOUND, call, done.result())
        case WorkerLostError():
            return Frame(FrameKind.LOST, call, b"")
    return Frame(FrameKind.GONE, call, b"")
