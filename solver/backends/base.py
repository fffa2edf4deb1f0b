"""A job and its shares: what every backend computes alike, whatever it runs on."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from engine_cy import CHANCE, Action, View
from engine_cy.history import History
from engine_cy.seats import CHANCE_SEAT, SEATS
from solver.beliefs import Belief
from solver.config import ITERATIONS_MAX, Budget, Config, Model
from solver.merge import Share, Tally
from solver.search import Searcher
from solver.sure import is_sure, next_look

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


def run_share(share: Started) -> Share:
    """Search one share to the end of its budget."""
    job, _, searcher = share
    milliseconds = job.budget.thread_time_ms or job.budget.time_ms or 0
    nanoseconds, thread_time = int(milliseconds * 1e6), job.budget.thread_time_ms is not None
    if job.budget.confidence is None:
        why = searcher.run(share.iterations, nanoseconds, thread_time)
    else:
        why = _run_until_sure(searcher, share.iterations, nanoseconds, thread_time, job)
    return sum_up(share, why)


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


def _run_until_sure(searcher: Searcher, iterations: int, nanoseconds: int, thread_time: bool, job: Job) -> str:
    """Search in bursts, each a quarter of all before it, and ask after each whether the best is the best."""
    assert job.budget.confidence is not None
    clock = time.thread_time_ns if thread_time else time.monotonic_ns
    deadline = clock() + nanoseconds
    while True:
        left = deadline - clock()
        if nanoseconds and left <= 0:
            return "time"
        until = min(next_look(searcher.iterations), iterations)
        why = searcher.run(until - searcher.iterations, max(left, 1) if nanoseconds else 0, thread_time)
        if why != "iterations" or searcher.iterations >= iterations:
            return why
        if is_sure([Tally(*sums) for sums in searcher.results()], job.view.observer, job.budget.confidence):
            return "confidence"
