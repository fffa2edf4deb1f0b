"""Sums of a search -> an answer that people understand: numbers with their errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

from engine_cy import Action, View
from solver.beliefs import Belief
from solver.config import Budget
from solver.merge import Share, Tally

# A move with less than one visit for so many of the best one's is no near-equal.
NEAR_VISITS = 4
# Two moves win alike if all playouts of both paid the same, to this much, and there were so many.
SAME_WIN = 1e-4
SAME_AFTER = 100
# Between moves that win alike, so much more of a lead counts.
LESS_LEAD = 0.5


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over playouts, the standard error of it, and the spread of a single one."""

    mean: float
    error: float
    spread: float


@dataclass(frozen=True, slots=True)
class Move:
    """What the search found of one decision. `win` is the expected share of the win (in a toy, of chips), `points` and
    `lead` (over the best of the others) are those at the end of the game; all for the player to act.

    `ranks` says how likely he comes first, second, ...; `seats` what every seat is expected to be paid. A move without
    visits has none of these; one that was only ever evaluated, not played to the end, has no points, lead and ranks.
    """

    action: Action
    visits: int
    win: Estimate | None
    points: Estimate | None
    lead: float | None
    ranks: tuple[float, ...]
    seats: tuple[float, ...]
    # How play is likely to go on, from this move on, each decision with its seat as the observer would see it: for as
    # many of the most tried moves as lines were asked for, in games that say what a seat sees of an action.
    line: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HiddenCard:
    """A face-down card of another player: where it lies, in the game's own terms, and how likely it is of each kind."""

    place: dict[str, int | str]
    kinds: dict[str, float]


@dataclass(frozen=True, slots=True)
class SeatBelief:
    """What a player hides: his face-down cards, and how many of each kind are in his hand in the mean."""

    seat: int
    cards: tuple[HiddenCard, ...]
    hand: dict[str, float]


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What the observer thinks of what he does not see.

    `worlds` fit his view; `effective_worlds`, all as likely, would leave as much open as they do, weighed by what
    opponents did. A seat is left out whose secrets are too many to be weighed.
    """

    seats: tuple[SeatBelief, ...]
    worlds: int
    effective_worlds: float


@dataclass(frozen=True, slots=True)
class Analysis:
    """An answer: the moves, best first, and how they were found."""

    view: View
    # The move to play, and all of them, best first. A weaker strength level may play another than the best.
    best: Action
    moves: tuple[Move, ...]
    # What each seat may expect to be paid.
    values: tuple[float, ...]
    # None: the game has no words for it, as toys.
    beliefs: Beliefs | None
    # Moves too close to the best to tell, with how often to play each: who always plays the best is easy to read.
    mix: tuple[tuple[Action, float], ...]
    config: str
    knowledge: str  # "none", or whose
    iterations: int
    worlds: int
    nodes: int
    tree_bytes: int
    elapsed_ms: float
    # "iterations", "time", "confidence", "stopped" or "forced"; "lost" if workers were before any of these.
    stopped_by: str
    # As it was searched with, limits that were left out filled in.
    budget: Budget
    seed: int
    workers: int
    # Whether the same question has the same answer again, to the last digit, under the same signature.
    reproducible: bool
    # Of the engine, the search and what they know: equal ones answer alike.
    signature: str
    # Shares of the search that did not come to their end, as their worker was lost or late.
    missing: int = 0
    # What is unusual about how this answer came about, as a sentence; empty: nothing.
    note: str = ""

    def move(self, action: Action | str) -> Move:
        """What was found of one decision."""
        wanted = str(action)
        for move in self.moves:
            if str(move.action) == wanted:
                return move
        raise KeyError(f"action: {wanted!r} is none of {', '.join(str(move.action) for move in self.moves)}")

    def __str__(self) -> str:
        lines = [f"{self.best}  ({self.iterations} iterations, {self.worlds} worlds, {self.elapsed_ms:.0f} ms)"]
        for move in self.moves[:8]:
            if move.win is not None and move.points is not None:
                win = f"win {100 * move.win.mean:5.1f} % ± {100 * move.win.error:.1f}"
                lines.append(f"  {move.action!s:24} {win}   points {move.points.mean:5.1f}   visits {move.visits}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What each seat may expect, as one player sees it: for who is not asked to move. `values` are shares of the win,
    `points` those at the end (None: no playout went there); the rest is as in an Analysis."""

    view: View
    values: tuple[Estimate, ...]
    points: tuple[Estimate | None, ...]
    beliefs: Beliefs | None
    config: str
    knowledge: str
    iterations: int
    worlds: int
    elapsed_ms: float
    stopped_by: str
    budget: Budget
    seed: int
    workers: int
    reproducible: bool
    signature: str


def expect(share: Share) -> tuple[tuple[Estimate, ...], tuple[Estimate | None, ...]]:
    """What each seat may expect to win and to own, over all playouts."""
    total = reduce(lambda a, b: a + b, share.tallies)
    values = tuple(
        estimate(total.visits, paid, squares) for paid, squares in zip(total.payoffs, total.squares, strict=True)
    )
    points = tuple(
        estimate(total.ended, scored, squares) if total.ended else None
        for scored, squares in zip(total.scores, total.score_squares, strict=True)
    )
    return values, points


def believe(belief: Belief) -> Beliefs:
    """A belief in the words of its game."""
    view = belief.view
    seats = []
    for seat in range(view.game.n_players):
        chances = None if seat == view.observer else belief.chances(seat, named=True)
        if chances is None:
            continue
        spots, hand = chances
        cards = tuple([HiddenCard(view.place_of(spot), kinds) for spot, kinds in spots.items()])
        seats.append(SeatBelief(seat, cards, hand))
    return Beliefs(tuple(seats), view.count_worlds(), belief.effective_worlds)


def mean_values(moves: tuple[Move, ...]) -> tuple[float, ...]:
    """What each seat may expect, over all playouts; empty if there were none."""
    visited = [move for move in moves if move.visits]
    total = sum(move.visits for move in visited)
    return tuple(
        sum(move.visits * value for move, value in zip(visited, column, strict=True)) / total
        for column in zip(*(move.seats for move in visited), strict=True)
    )


def recommend(moves: tuple[Move, ...]) -> tuple[tuple[Action, float], ...]:
    """The near-equal moves, best first, and how often to play each: as often as the search tried it.

    A move is near-equal if it had a fair share of the visits and the bounds of one standard error overlap, unless it
    wins alike and leaves less.
    """
    best = moves[0]
    if best.win is None:
        return ((best.action, 1.0),)
    low = best.win.mean - best.win.error
    near = [m for m in moves if m.win and m.visits * NEAR_VISITS >= best.visits and m.win.mean + m.win.error >= low]
    near = [m for m in near if not (_wins_alike(m, best) and _lead(m) < _lead(best) - LESS_LEAD)]
    total = sum(move.visits for move in near)
    return tuple((move.action, move.visits / total) for move in near)


def judge(view: View, actions: list[Action], share: Share) -> tuple[Move, ...]:
    """The moves, best first: by visits, which a search gives to what it trusts; then by win, lead, and as listed.

    Where the game is decided whatever is played, visits say nothing: moves that win as the best one does come by lead.
    """
    lines = dict(share.lines)
    moves = [
        _move(view.observer, action, tally, lines.get(i, ()))
        for i, (action, tally) in enumerate(zip(actions, share.tallies, strict=True))
    ]
    moves.sort(key=_worth, reverse=True)
    best = moves[0]
    alike = sorted((move for move in moves if _wins_alike(move, best)), key=_lead, reverse=True)
    return (*alike, *(move for move in moves if not _wins_alike(move, best)))


def _worth(move: Move) -> tuple[float, float, float]:
    return move.visits, move.win.mean if move.win else -math.inf, _lead(move)


def _lead(move: Move) -> float:
    return -math.inf if move.lead is None else move.lead


def _wins_alike(move: Move, best: Move) -> bool:
    """Whether both are known to win equally often: their playouts all paid the same."""
    if move.win is None or best.win is None or move.visits < max(SAME_AFTER, best.visits // 100):
        return False
    return max(move.win.spread, best.win.spread, abs(move.win.mean - best.win.mean)) <= SAME_WIN


def _move(player: int, action: Action, tally: Tally, line: tuple[str, ...]) -> Move:
    n, ended = tally.visits, tally.ended
    return Move(
        action=action,
        visits=n,
        win=estimate(n, tally.payoffs[player], tally.squares[player]) if n else None,
        points=estimate(ended, tally.scores[player], tally.score_squares[player]) if ended else None,
        lead=tally.leads[player] / ended if ended else None,
        ranks=tuple(count / ended for count in tally.ranks[player]) if ended else (),
        seats=tuple(payoff / n for payoff in tally.payoffs) if n else (),
        line=line,
    )


def estimate(n: int, total: float, squares: float) -> Estimate:
    """The mean of `n` numbers by their sum and sum of squares."""
    mean = total / n
    # Of one playout nothing is known of the spread but what the unit allows.
    variance = max(squares / n - mean * mean, 0.0) * n / (n - 1) if n > 1 else 1.0
    return Estimate(mean, math.sqrt(variance / n), math.sqrt(variance))
