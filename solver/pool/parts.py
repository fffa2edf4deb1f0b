"""Compute the parts of a question, one tree each. Every pool runs this on its threads, processes or machines."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from solver.answer import answer_of
from solver.compare import Differences, comparison_of
from solver.control import NEVER_NS, Control
from solver.merge import Share, Tally, empty_share, why_ended
from solver.question import BURST, PAYOFF_BYTES, ComparisonQuestion, Question, SearchQuestion
from solver.search import Searcher
from solver.stopping import is_sure, next_look

# The length of a turn when one thread computes several parts round-robin. With little time it is shorter, so that each
# part has at least TURNS_LEAST turns.
TURN_NS = 10_000_000
TURN_LEAST_NS = 100_000
TURNS_LEAST = 4
SUMMED_UP = 8  # parts that are summed up early, to learn the time that all need
LINE_LENGTH = 8  # decisions of a line, the first one included
# Freeing a larger tree takes milliseconds.
FREED_AT_ONCE_BYTES = 2**20


def begin_part(question: Question, number: int) -> Searcher:
    """Create the searcher of a part, with an empty tree."""
    part, iterations = question.part(number), question.iterations_of(number)
    bytes_max = question.bytes_of_part - (PAYOFF_BYTES * iterations if question.keeps_payoffs else 0)
    settings = question.config.settings(None if question.budget.iterations is None else iterations, question.models)
    return Searcher(
        question.view,
        settings,
        bytes_max,
        question.seed,
        part.stream,
        part.only,
        part.worlds,
        part.among,
        question.keeps_payoffs,
    )


class Progress:
    """Hold the latest shares of a question, finished or not; any thread may write.

    `report`, if set, is called with them every `interval_ms`, from the first result on, one call at a time.
    """

    def __init__(
        self, question: Question, report: Callable[[list[Share]], None] | None = None, interval_ms: float = 250.0
    ) -> None:
        nothing = empty_share(question.n_tallies, question.view.game.n_players, stopped_by="")
        self.shares = [nothing] * question.n_parts
        self.reports = report is not None
        self.interval_ns = max(int(interval_ms * 1e6), 1_000_000) if report else NEVER_NS
        self._report = report
        self._reporting = Lock()
        self._due_ns = time.monotonic_ns() + self.interval_ns

    @property
    def is_due(self) -> bool:
        return time.monotonic_ns() >= self._due_ns

    def put(self, number: int, share: Share) -> None:
        self.shares[number] = share

    def report_if_due(self) -> None:
        with self._reporting:
            if self.is_due:
                self._report_now()

    def report(self) -> None:
        with self._reporting:
            self._report_now()

    def _report_now(self) -> None:
        self._due_ns = time.monotonic_ns() + self.interval_ns
        # Between the end of the last share and the answer there is nothing more to report.
        if self._report and any(share.iterations for share in self.shares) and not why_ended(self.shares):
            self._report(list(self.shares))


def progress_to(control: Control, question: Question) -> Progress:
    """Return a progress that reports to the control of a search or comparison, as answers."""
    report: Any = control.report
    started = time.perf_counter()
    if report is None:
        return Progress(question)
    elif isinstance(question, ComparisonQuestion):

        def report_comparison(shares: list[Share]) -> None:
            if (comparison := comparison_of(question, shares, started)).worlds:
                report(comparison)

        return Progress(question, report_comparison, control.interval_ms)
    elif isinstance(question, SearchQuestion):
        return Progress(question, lambda shares: report(answer_of(question, shares, started)), control.interval_ms)
    return Progress(question)


def run_parts(
    question: Question,
    numbers: Sequence[int],
    control: Control,
    progress: Progress | None = None,
    searcher: Searcher | None = None,
) -> list[Share]:
    """Compute some parts on this thread until their budgets end; return their shares."""
    return [run.share() for run in search_parts(question, numbers, control, progress, searcher)]


def search_parts(
    question: Question,
    numbers: Sequence[int],
    control: Control,
    progress: Progress | None = None,
    searcher: Searcher | None = None,
) -> list[PartRun]:
    """Compute some parts on this thread until their budgets end; `searcher`, if set, continues in its tree.

    Under a time limit, parts run round-robin, so they are equally far at its end, and their large trees are freed
    together with the returned runs: a caller can answer first. Neither turns nor reports affect results.
    """
    progress = progress or progress_to(control, question)
    until_ns = _end_of(question, control)
    runs = [PartRun(question, number, until_ns, searcher) for number in numbers]
    is_timed = until_ns != NEVER_NS or question.budget.thread_time_ms is not None
    with control.stopping(*[run.stop for run in runs]):
        if question.in_lockstep:
            _run_in_lockstep(question, runs, control, until_ns, progress)
        else:
            grows = progress.reports and isinstance(question, ComparisonQuestion)  # all moves at the same time
            for group in [runs] if is_timed or grows else [[run] for run in runs]:
                _run_round_robin(group, progress)
                for run in group:
                    progress.put(run.number, run.share())
    return runs


def _end_of(question: Question, control: Control) -> int:
    if question.budget.time_ms is None:
        return control.until_ns
    return min(control.until_ns, time.monotonic_ns() + int(question.budget.time_ms * 1e6))


def _run_round_robin(runs: Sequence[PartRun], progress: Progress) -> None:
    turn_ns = min(_turn_ns(runs), progress.interval_ns)
    began_ns, began_cpu_ns = time.monotonic_ns(), time.thread_time_ns()
    is_first = len(runs) > 1
    while active := [run for run in runs if not run.ended_by]:
        for run in active:
            run.run_turn(turn_ns)
        _note_progress(runs, progress)
        if is_first:
            waiting = (time.monotonic_ns() - began_ns) / max(time.thread_time_ns() - began_cpu_ns, 1)
            _leave_time_to_end(runs, waiting)
            is_first = False


def _turn_ns(runs: Sequence[PartRun]) -> int:
    """Return the length of a turn. With many parts and little time it is shorter, so that each part has several."""
    if len(runs) == 1:
        return NEVER_NS
    return max(min(TURN_NS, runs[0].left_ns // (TURNS_LEAST * len(runs))), TURN_LEAST_NS)


def _leave_time_to_end(runs: Sequence[PartRun], waiting: float) -> None:
    """End runs with a time limit earlier, by the time to sum up their results: milliseconds with many shares.

    `waiting` is the time that passes for each second of CPU time, more than 1 on busy cores.
    """
    began_ns = time.thread_time_ns()
    for run in runs[:SUMMED_UP]:
        run.share()
    cost_ns = (time.thread_time_ns() - began_ns) / len(runs[:SUMMED_UP])
    # Every part is summed up once, and its sums are added to those of the others; threads do that in turns.
    for run in runs:
        run.leave(int(4 * run.n_parts * cost_ns * max(waiting, 1)))


def _note_progress(runs: Sequence[PartRun], progress: Progress) -> None:
    if progress.reports and progress.is_due:
        for run in runs:
            progress.put(run.number, run.share())
        progress.report_if_due()


def _run_in_lockstep(
    question: Question, runs: Sequence[PartRun], control: Control, until_ns: int, progress: Progress
) -> None:
    """Compute a comparison with a confidence limit: check it whenever all arms have finished a burst of worlds.

    The first burst ignores the time limit, as there would be no answer without it.
    """
    assert isinstance(question, ComparisonQuestion)
    assert question.budget.confidence is not None
    differences, turn, reason = Differences(len(question.actions)), 0, "iterations"
    thread_ms = question.budget.thread_time_ms
    thread_until_ns = NEVER_NS if thread_ms is None else time.thread_time_ns() + int(thread_ms * 1e6)
    n_arms = len(question.actions)
    left = sum(question.iterations_of(share * n_arms) for share in range(question.shares))
    while left:
        if turn and (time.monotonic_ns() >= until_ns or time.thread_time_ns() >= thread_until_ns):
            reason = "time"
            break
        arms = [run for run in runs if run.number // n_arms == turn % question.shares]
        burst = min(BURST, left)
        payoffs = [array("d", arm.run_worlds(burst, until_ns if turn else NEVER_NS)) for arm in arms]
        if min(map(len, payoffs)) < burst:
            reason = "stopped" if control.stopped else "time"
            break
        differences.add(payoffs, 0, burst)
        _note_progress(runs, progress)
        left -= burst
        turn += 1
        if differences.are_sure(question.budget.confidence):
            reason = "confidence"
            break
    for run in runs:
        run.end(reason)


class PartRun:
    """Run a part until its budget ends.

    The tree is created when the run starts. It is freed when the run ends, but a large one under a time limit only with
    the run itself.
    """

    def __init__(self, question: Question, number: int, until_ns: int, searcher: Searcher | None = None) -> None:
        budget = question.budget
        self.number = number
        self.n_parts = question.n_parts
        self.ended_by = ""
        self._question = question
        self._searcher = searcher
        self._stopped = False
        self._share = empty_share(question.n_tallies, question.view.game.n_players, stopped_by="")
        done = searcher.iterations if searcher else 0
        self._goal = done + question.iterations_of(number)
        # Comparisons check their confidence in lockstep.
        self._confidence = question.confidence if isinstance(question, SearchQuestion) else None
        self._look_at = self._goal if self._confidence is None else next_look(done)
        self._until_ns = until_ns
        # Parts that come to their first turn later do not start: there may be more of them than the time allows.
        self._starts_until_ns = until_ns if until_ns == NEVER_NS else until_ns - self.left_ns // 2
        # Whether the limit is on the CPU time of this thread.
        self._by_thread = budget.thread_time_ms is not None
        self._left_ns = int((budget.thread_time_ms or 0) * 1e6)
        self._is_timed = until_ns != NEVER_NS or self._by_thread
        self._started = False
        if self._goal == done:
            self.end("iterations")

    def stop(self) -> None:
        """End the run soon; any thread may call this, even before the run starts."""
        self._stopped = True
        if (searcher := self._searcher) is not None:
            searcher.stop()

    @property
    def left_ns(self) -> int:
        """The time left before the time limit."""
        return self._until_ns if self._until_ns == NEVER_NS else max(self._until_ns - time.monotonic_ns(), 0)

    def leave(self, nanoseconds: int) -> None:
        """End this much before the time limit, but leave at least half of the remaining time."""
        if self._until_ns != NEVER_NS:
            self._until_ns -= min(nanoseconds, self.left_ns // 2)

    def run_turn(self, nanoseconds: int) -> None:
        """Search for at most this long."""
        if self._stopped and self._searcher is None:
            self.end("stopped")
            return
        started_ns = time.thread_time_ns() if self._by_thread else 0
        left_ns = self._left_ns if self._by_thread else self._until_ns - time.monotonic_ns()
        is_late = left_ns <= 0 or (not self._started and time.monotonic_ns() > self._starts_until_ns)
        if is_late and (self._started or not self._question.always_runs(self.number)):
            self.end("time")
            return
        self._started = True
        searcher = self._ensure_searcher()
        until = min(self._look_at, self._goal)
        reason = searcher.run(until - searcher.counted, max(min(nanoseconds, left_ns), 1), self._by_thread)
        if self._by_thread:
            self._left_ns -= time.thread_time_ns() - started_ns
        if reason == "stopped" or (reason == "iterations" and searcher.counted >= self._goal):
            self.end(reason)
        elif reason == "iterations" and self._confidence is not None:
            if is_sure(tallies_of(searcher), searcher.observer, self._confidence):
                self.end("confidence")
            self._look_at = next_look(searcher.counted)

    def run_worlds(self, worlds: int, until_ns: int) -> bytes:
        """Search in this many more worlds, as time permits; return the observer's payoff in each."""
        searcher = self._ensure_searcher()
        begin = searcher.counted
        searcher.run(worlds, max(until_ns - time.monotonic_ns(), 1))
        return searcher.recorded_payoffs(begin)

    def end(self, reason: str) -> None:
        """Store the final share."""
        if not self.ended_by:
            self._share = replace(self.share(), stopped_by=reason)
            self.ended_by = reason
            if not self._is_timed or (self._searcher and self._searcher.tree_bytes <= FREED_AT_ONCE_BYTES):
                self._searcher = None

    def share(self) -> Share:
        """Return the final share, or the share so far."""
        if self.ended_by or self._searcher is None:
            return self._share
        return sum_up(self._question, self.number, self._searcher, "")

    def _ensure_searcher(self) -> Searcher:
        if self._searcher is None:
            self._searcher = begin_part(self._question, self.number)
            if self._stopped:  # while the searcher was created
                self._searcher.stop()
        return self._searcher


def tallies_of(searcher: Searcher) -> tuple[Tally, ...]:
    players = searcher.game.n_players
    nothing = empty_share(1, players).tallies[0]
    return tuple([Tally(players, sums) if sums[0] else nothing for sums in searcher.results()])


def sum_up(question: Question, number: int, searcher: Searcher, stopped_by: str) -> Share:
    """Return the share of a part, finished or not."""
    question.view.game.check()
    tallies = tallies_of(searcher)
    return Share(
        tallies=tallies,
        iterations=searcher.iterations,
        worlds=searcher.worlds,
        nodes=searcher.nodes,
        tree_bytes=searcher.tree_bytes,
        stopped_by=stopped_by,
        payoffs=searcher.recorded_payoffs(),
        # Lines come from the first tree only.
        lines=lines_of(question, searcher, tallies) if number == 0 and isinstance(question, SearchQuestion) else (),
    )


def lines_of(
    question: SearchQuestion, searcher: Searcher, tallies: tuple[Tally, ...]
) -> tuple[tuple[int, bytes, tuple[tuple[int, ...], ...]], ...]:
    """Return the likely continuations after the most visited decisions, by the decisions' numbers."""
    if not question.lines or not question.decides or not question.view.game.has_history:
        return ()
    most_visited = sorted(range(len(tallies)), key=lambda i: -tallies[i].visits)[: question.lines]
    lines = []
    for i in most_visited:
        world, decisions = searcher.line(question.decisions[i].code, LINE_LENGTH, question.seed)
        lines.append((i, world, tuple(decisions)))
    return tuple(lines)
