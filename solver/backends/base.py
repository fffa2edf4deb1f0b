"""A job and its shares: what every backend computes alike, whatever it runs on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from engine_cy import CHANCE, Action, View
from engine_cy.history import History
from engine_cy.seats import CHANCE_SEAT, SEATS
from solver.beliefs import Belief
from solver.config import ITERATIONS_MAX, Budget, Config, Model
from solver.merge import Share, Tally, empty_share
from solver.search import Searcher
from solver.sure import is_sure, next_look
from solver.watch import NEVER_NS, Progress, Watch

# Where one thread searches several shares in turn, each goes on for so long.
TURN_NS = 10_000_000
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
    # How many iterations each share has; equal parts of the budget's, if nothing is said.
    share_iterations: tuple[int, ...] = ()

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
    """Computes all shares of a job, in their order; followed by a watch, if there is one."""

    def run(self, job: Job, watch: Watch | None = None) -> list[Share]: ...


class Started(NamedTuple):
    """A share that is ready to be searched."""

    job: Job
    number: int
    searcher: Searcher

    @property
    def iterations(self) -> int:
        """How many it has: as equal parts as there are, unless the job says otherwise."""
        return part_of(self.job, self.number)


def part_of(job: Job, number: int) -> int:
    if job.share_iterations:
        return job.share_iterations[number]
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
    """Search one share to the end of its budget. What is reported is of this share alone."""
    return run_in_turn([share], watch or Watch(), progress_of(share.job, watch))[0]


def progress_of(job: Job, watch: Watch | None) -> Progress:
    """Of a search that begins."""
    # Of what others may do, if it is their turn, there is one tally.
    nothing = empty_share(len(job.decisions) or 1, job.view.game.n_players, stopped_by="")
    return Progress(nothing, job.shares, watch or Watch())


def run_in_turn(shares: Sequence[Started], watch: Watch, progress: Progress) -> list[Share]:
    """Search some shares of a job on this thread, to the ends of their budgets; where they are several, in turns, so
    that they are equally far when time is up. When turns end, and where searches pause to report, changes nothing that
    they find."""
    courses = [_Course(share, watch.until_ns) for share in shares]
    turn_ns = min(TURN_NS if len(shares) > 1 else NEVER_NS, watch.interval_ns)
    with watch.stopping(*[share.searcher.stop for share in shares]):
        while going := [course for course in courses if not course.ended_by]:
            for course in going:
                course.go_on(turn_ns)
            if watch.report and progress.is_due:
                for course in courses:
                    progress.put(course.share.number, course.found)
                progress.tell_if_due()
    return [course.found for course in courses]


class _Course:
    """A share on its way to the end of its budget."""

    def __init__(self, share: Started, until_ns: int) -> None:
        budget, done = share.job.budget, share.searcher.iterations
        self.share = share
        self.ended_by = "" if share.iterations else "iterations"
        self._goal = done + share.iterations
        self._confidence = budget.confidence
        self._look_at = self._goal if budget.confidence is None else next_look(done)
        self._until_ns = until_ns
        if budget.time_ms is not None:
            self._until_ns = min(until_ns, time.monotonic_ns() + int(budget.time_ms * 1e6))
        # Of the time of this thread, if it is that which is limited.
        self._of_thread = budget.thread_time_ms is not None
        self._begun = False
        self._left_ns = int((budget.thread_time_ms or 0) * 1e6)

    @property
    def found(self) -> Share:
        """So far, or in all."""
        return sum_up(self.share, self.ended_by)

    def go_on(self, nanoseconds: int) -> None:
        """Search for no longer than this."""
        searcher = self.share.searcher
        began_ns = time.thread_time_ns() if self._of_thread else 0
        left_ns = self._left_ns if self._of_thread else self._until_ns - time.monotonic_ns()
        if left_ns <= 0 and self._begun:
            self.ended_by = "time"
            return
        self._begun = True  # however little time there is, there has to be an answer
        until = min(self._look_at, self._goal)
        why = searcher.run(until - searcher.iterations, max(min(nanoseconds, left_ns), 1), self._of_thread)
        if self._of_thread:
            self._left_ns -= time.thread_time_ns() - began_ns
        if why == "stopped" or (why == "iterations" and searcher.iterations >= self._goal):
            self.ended_by = why
        elif why == "iterations" and self._confidence is not None:
            if is_sure(tallies_of(searcher), searcher.observer, self._confidence):
                self.ended_by = "confidence"
            self._look_at = next_look(searcher.iterations)


def tallies_of(searcher: Searcher) -> tuple[Tally, ...]:
    players = searcher.game.n_players
    return tuple(Tally(players, sums) for sums in searcher.results())


def sum_up(share: Started, why: str) -> Share:
    """What a share has found so far, or in all."""
    job, number, searcher = share
    job.view.game.check()
    tallies = tallies_of(searcher)
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
        if len(found) < len(decisions):
            position = position.play(action)
    return tuple(found)
