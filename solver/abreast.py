"""Several decisions side by side in the same worlds."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from engine_cy import Action, View
from engine_cy.history import History
from engine_cy.record import Record
from solver.analysis import Estimate, estimate
from solver.backends.base import Job, tallies_of
from solver.config import Budget, Config, Model, fit_config, read_config, read_models
from solver.merge import Tally
from solver.search import Searcher
from solver.solve import read_history
from solver.sure import SURE_AFTER
from solver.watch import Watch

MEGABYTE = 2**20
# Worlds that each pair goes through before the next pair has its turn.
BURST = 256


@dataclass(frozen=True, slots=True)
class Compared:
    """A decision beside the first one: what it wins, and how much more, in the same worlds.

    Points are only known of the playouts that went to the end, which are not the same ones for both, so the error of
    their difference is that of two means.
    """

    action: Action
    win: Estimate | None
    points: Estimate | None
    win_difference: Estimate | None
    points_difference: Estimate | None


@dataclass(frozen=True, slots=True)
class Abreast:
    actions: tuple[Compared, ...]
    worlds: int
    iterations: int
    stopped_by: str  # "iterations", "time", "confidence" or "stopped"


class Comparing:
    """Searches on behind each of several decisions.

    The budget's iterations are for each decision. With a confidence it ends when it is so sure of each difference from
    the first that it is none of chance. Shares are searches of their own that take turns.
    """

    def __init__(
        self,
        view: View,
        actions: Sequence[Action],
        budget: Budget,
        *,
        config: str | Config = "default",
        seed: int = 0,
        shares: int = 1,
        models: Mapping[int | str, Model] | None = None,
        history: History | Record | None = None,
    ) -> None:
        chosen = fit_config(read_config(config), view.game)
        self._actions, self._budget = tuple(actions), budget
        job = Job(view, chosen, budget, seed, 1, read_models(models or {}, view), read_history(history, view))
        self._observer = view.observer
        self._game = view.game
        bytes_max = int(budget.memory_mb * MEGABYTE / (2 * shares * (len(actions) - 1)))
        settings = chosen.settings(budget.iterations, job.models)

        def searchers(action: Action) -> list[Searcher]:
            return [
                Searcher(view, settings, bytes_max, seed, share, action.code, belief=job.belief)
                for share in range(shares)
            ]

        # The first decision is searched beside every other one. Of one seed, its searches are all alike.
        self._pairs = [_Pair(searchers(other), searchers(actions[0])) for other in actions[1:]]

    def run(self, watch: Watch | None = None) -> Abreast:
        """Compare; a watch ends it, and is told nothing on the way."""
        watch = watch or Watch()
        with watch.stopping(self._stop):
            why = self._run(watch)
        self._game.check()
        player = self._observer
        base, zero = _tally(self._pairs[0].firsts), Estimate(0.0, 0.0, 0.0)
        found = [Compared(self._actions[0], _win(base, player), _points(base, player), zero, zero)]
        for action, pair in zip(self._actions[1:], self._pairs, strict=True):
            tally, other = _tally(pair.ones), _tally(pair.firsts)
            points, others = _points(tally, player), _points(other, player)
            found.append(
                Compared(
                    action=action,
                    win=_win(tally, player),
                    points=points,
                    win_difference=pair.difference if pair.worlds else None,
                    points_difference=_minus(points, others) if points and others else None,
                )
            )
        worlds = min(pair.worlds for pair in self._pairs)
        return Abreast(tuple(found), worlds, worlds * len(self._actions), why)

    def _stop(self) -> None:
        for pair in self._pairs:
            pair.stop()

    def _run(self, watch: Watch) -> str:
        budget, done = self._budget, 0
        assert budget.iterations is not None
        while done < budget.iterations:
            if done and time.monotonic_ns() >= watch.until_ns:
                return "time"
            burst = min(BURST, budget.iterations - done)
            for pair in self._pairs:
                pair.go_on(burst)
            done += burst
            if watch.stopped:
                return "stopped"
            if budget.confidence is not None and done >= SURE_AFTER and self._is_sure(budget.confidence):
                return "confidence"
        return "iterations"

    def _is_sure(self, confidence: float) -> bool:
        """Whether every other decision differs from the first by more than so many of its errors that chance is ruled
        out: by Chebyshev's inequality, which holds whatever the playouts pay; shared among the pairs."""
        errors = math.sqrt(len(self._pairs) / (1 - confidence))
        return all(abs(pair.difference.mean) > errors * pair.difference.error for pair in self._pairs)


class _Pair:
    def __init__(self, ones: list[Searcher], firsts: list[Searcher]) -> None:
        self.ones, self.firsts = ones, firsts
        self._total = self._squares = 0.0
        self._bursts = 0

    def stop(self) -> None:
        for one in self.ones:
            one.stop()

    @property
    def worlds(self) -> int:
        return sum(one.iterations for one in self.ones)

    @property
    def difference(self) -> Estimate:
        return estimate(max(self.worlds, 1), self._total, self._squares)

    def go_on(self, worlds: int) -> None:
        turn = self._bursts % len(self.ones)
        total, squares = self.ones[turn].run_beside(self.firsts[turn], worlds)
        self._total += total
        self._squares += squares
        self._bursts += 1


def _tally(searchers: list[Searcher]) -> Tally:
    """Of the one decision that was taken."""
    taken = [max(tallies_of(one), key=lambda tally: tally.visits) for one in searchers]
    return reduce(lambda a, b: a + b, taken)


def _win(tally: Tally, player: int) -> Estimate | None:
    return estimate(tally.visits, tally.payoffs[player], tally.squares[player]) if tally.visits else None


def _points(tally: Tally, player: int) -> Estimate | None:
    return estimate(tally.ended, tally.scores[player], tally.score_squares[player]) if tally.ended else None


def _minus(one: Estimate, other: Estimate) -> Estimate:
    return Estimate(one.mean - other.mean, math.hypot(one.error, other.error), math.hypot(one.spread, other.spread))
