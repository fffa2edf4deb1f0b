"""A job and its shares: what every backend computes alike, whatever it runs on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple, Protocol

from engine_cy import CHANCE, Action, View
from engine_cy.history import History
from engine_cy.seats import CHANCE_SEAT, SEATS
from solver.beliefs import Belief
from solver.config import ITERATIONS_MAX, Budget, Config, Model
from solver.merge import Share, Tally, merge
from solver.search import Searcher
from solver.sure import is_sure, next_look

# As `Searcher.run`: so many iterations more, nanoseconds (0: no limit), and by which clock; why it ended.
Run = Callable[[int, int, bool], str]
LINE_LENGTH = 8  # decisions of a line, the first one included


@dataclass(frozen=True, slots=True)
class Job:
    """A search that means the same in a thread, a process or a test."""

    view: View
    config: Config
    budget: Budget
    seed: int
    shares: int = 1
    models: tuple[Model, ...] = ()
    history: History | None = None
    lines: int = 0
    # The decisions that are considered, each legal; all that are, if none is named.
    among: tuple[Action, ...] = ()

    @property
    def decisions(self) -> list[Action]:
        """What the observer may decide here, as far as it is considered: the order of all tallies."""
        return list(self.among) or self.view.legal_actions()

    @property
    def belief(self) -> Belief | None:
        """How likely the worlds are; None: all alike."""
        if self.config.trust and self.view.game.has_suspicions:
            return Belief(self.view, self.history, self.config.trust)
        return None


class Backend(Protocol):
    """Computes all shares of a job, in their order."""

    def run(self, job: Job) -> list[Share]: ...


class Watch:
    """Follows a search from outside, and ends it.

    `report`, if there is one, is told every `interval_ms` what was found so far; the search waits for it, so it should
    be quick. `stop` ends the search soon; from any thread, also before the search has begun.
    """

    def __init__(self, report: Callable[[Share], None] | None = None, interval_ms: float = 250.0) -> None:
        self.report = report
        self.interval_ms = interval_ms
        self.stopped = False
        self._lock = Lock()
        self._stops: list[Callable[[], None]] = []

    def stop(self) -> None:
        with self._lock:
            self.stopped = True
            stops = list(self._stops)
        for stop in stops:
            stop()

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Have `stop` called when this watch is told to stop; at once if it was already."""
        with self._lock:
            self._stops.append(stop)
            stopped = self.stopped
        if stopped:
            stop()
        try:
            yield
        finally:
            with self._lock:
                self._stops.remove(stop)


class Followable(Protocol):
    """A backend whose searches can be followed."""

    def run(self, job: Job, watch: Watch | None = None) -> list[Share]: ...


class Followed(NamedTuple):
    """A backend, for `solve`, that is followed by a watch."""

    backend: Followable
    watch: Watch

    def run(self, job: Job) -> list[Share]:
        return self.backend.run(job, self.watch)


class Parts:
    """What is known so far of each share of a search; written by as many threads as there are shares."""

    def __init__(self, shares: int) -> None:
        self.found: list[Share | None] = [None] * shares

    def put(self, number: int, part: Share) -> None:
        self.found[number] = part

    def report_to(self, watch: Watch) -> None:
        """Say what all shares found so far, if any of them found something."""
        known = [part for part in self.found if part is not None]
        if known and watch.report:
            watch.report(merge(known))


class Started(NamedTuple):
    """A share that is ready to be searched."""

    job: Job
    number: int
    searcher: Searcher

    @property
    def iterations(self) -> int:
        """How many it has: as equal parts as there are."""
        return part_of(self.job, self.number)


def part_of(job: Job, number: int) -> int:
    total = job.budget.iterations
    return ITERATIONS_MAX if total is None else total // job.shares + (number < total % job.shares)


def start_share(job: Job, number: int) -> Started:
    """One share with a tree of its own."""
    bytes_max = int(job.budget.memory_mb * 2**20 / job.shares)
    iterations = None if job.budget.iterations is None else part_of(job, number)
    settings = job.config.settings(iterations, job.models)
    among = tuple(action.code for action in job.among)
    searcher = Searcher(job.view, settings, bytes_max, job.seed, number, belief=job.belief, among=among)
    return Started(job, number, searcher)


def run_share(share: Started, watch: Watch | None = None) -> Share:
    """Search one share to the end of its budget."""
    if watch is None:
        return sum_up(share, _search(share, share.searcher.run))
    with watch.stopping(share.searcher.stop):
        return sum_up(share, _search(share, _reporting(share, watch) if watch.report else share.searcher.run))


def _search(share: Started, run: Run) -> str:
    job = share.job
    milliseconds = job.budget.thread_time_ms or job.budget.time_ms or 0
    nanoseconds, thread_time = int(milliseconds * 1e6), job.budget.thread_time_ms is not None
    if job.budget.confidence is None:
        return run(share.iterations, nanoseconds, thread_time)
    return _run_until_sure(share, run, nanoseconds, thread_time)


def _reporting(share: Started, watch: Watch) -> Run:
    """As the searcher's own `run`, but with a report now and then. Where it pauses changes nothing that it finds."""
    pause = max(int(watch.interval_ms * 1e6), 1_000_000)
    due = time.monotonic_ns() + pause

    def run(iterations: int, nanoseconds: int = 0, thread_time: bool = False) -> str:
        nonlocal due
        clock = time.thread_time_ns if thread_time else time.monotonic_ns
        deadline = clock() + nanoseconds
        end = share.searcher.iterations + iterations
        while True:
            left = deadline - clock() if nanoseconds else pause
            if left <= 0:
                return "time"
            why = share.searcher.run(end - share.searcher.iterations, min(left, pause), thread_time)
            if why != "time":
                return why
            if watch.report and time.monotonic_ns() >= due:
                watch.report(sum_up(share, why))
                due = time.monotonic_ns() + pause

    return run


def sum_up(share: Started, why: str) -> Share:
    """What a share has found so far, or in all."""
    job, number, searcher = share
    job.view.game.check()
    tallies = tuple(Tally(*sums) for sums in searcher.results())
    return Share(
        tallies=tallies,
        iterations=searcher.iterations,
        worlds=searcher.worlds,
        nodes=searcher.nodes,
        tree_bytes=searcher.tree_bytes,
        stopped_by=why,
        # The first tree speaks for all of them.
        lines=_lines(job, searcher, tallies) if number == 0 and job.lines and job.view.game.can_be_followed else (),
    )


def _lines(job: Job, searcher: Searcher, tallies: tuple[Tally, ...]) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """How play is likely to go on behind the most tried decisions, in the words of what the observer would see."""
    decisions = job.decisions
    if not decisions:
        return ()
    most_tried = sorted(range(len(tallies)), key=lambda i: -tallies[i].visits)[: job.lines]
    found = []
    for i in most_tried:
        world, steps = searcher.line(decisions[i].code, LINE_LENGTH, job.seed)
        found.append((i, _as_seen(job.view, world, steps)))
    return tuple(found)


def _as_seen(view: View, world: bytes, decisions: list[tuple[int, ...]]) -> tuple[str, ...]:
    game = view.game
    position = game.position_from_bytes(world)
    found = []
    for steps in decisions:
        action = game.action_from_steps(steps)
        seat = CHANCE_SEAT if position.to_act == CHANCE else SEATS[position.to_act or 0]
        # Cards that only this world shows are nobody's to know.
        seen, _, _ = position.seen(action, view.observer).partition(" = ")
        found.append(f"{seat} {seen}")
        position = position.play(action)
    return tuple(found)


def _run_until_sure(share: Started, run: Run, nanoseconds: int, thread_time: bool) -> str:
    """Search in bursts, each a quarter of all before it, and ask after each whether the best is the best."""
    job, searcher, iterations = share.job, share.searcher, share.iterations
    assert job.budget.confidence is not None
    clock = time.thread_time_ns if thread_time else time.monotonic_ns
    deadline = clock() + nanoseconds
    while True:
        left = deadline - clock()
        if nanoseconds and left <= 0:
            return "time"
        until = min(next_look(searcher.iterations), iterations)
        why = run(until - searcher.iterations, max(left, 1) if nanoseconds else 0, thread_time)
        if why != "iterations" or searcher.iterations >= iterations:
            return why
        if is_sure([Tally(*sums) for sums in searcher.results()], job.view.observer, job.budget.confidence):
            return "confidence"
