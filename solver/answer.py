"""Turn the sums of a search's shares into its answer: moves and expectations, each with its standard error."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import NamedTuple

from engine_cy import CHANCE, Action, Position, Rng, View
from engine_cy.seats import CHANCE_SEAT, SEATS
from solver.calibration import Row, Shares, calibrated_share, calibrated_shares, calibration_of, slope
from solver.expected_signature import signature_of
from solver.merge import Share, Tally, empty_share, merge
from solver.mistakes import DRAWS, misjudged_best
from solver.named_beliefs import Beliefs
from solver.numbers import shrink_chances
from solver.question import MEGABYTE, Question, SearchQuestion
from solver.search import Searcher

# A near-equal move has at least 1/NEAR_VISITS of the best move's visits.
NEAR_VISITS = 4
# Two moves win alike if all playouts of both paid the same within SAME_WIN, over at least SAME_AFTER visits.
SAME_WIN = 1e-4
SAME_AFTER = 100
# A move that wins alike is not near-equal if its lead is smaller by more than this.
LESS_LEAD = 0.5


@dataclass(frozen=True, slots=True)
class Estimate:
    """Hold a mean over playouts, its standard error, and the standard deviation of a single playout.

    If the mean is calibrated, `raw` is the one of the playouts, and the error that of the calibrated mean.
    """

    mean: float
    error: float
    spread: float
    raw: float | None = None

    @property
    def of_playouts(self) -> float:
        """The mean of the playouts, calibrated or not."""
        return self.mean if self.raw is None else self.raw


class LineStep(NamedTuple):
    """Hold one decision of a line of play, as the observer would see it, and the seat that takes it, or CHANCE."""

    seat: int
    action: Action

    def __str__(self) -> str:
        return f"{CHANCE_SEAT if self.seat == CHANCE else SEATS[self.seat]} {self.action}"


class SampledStep(NamedTuple):
    """Hold one decision in a sampled world: its seat, or CHANCE, what the observer sees of it, and their view after it.

    `seen` names the cards that the decision shows in this world.
    """

    seat: int
    seen: str
    view: View


@dataclass(frozen=True, slots=True)
class SampledLine:
    """Hold a likely continuation in one world that fits the observer's view. In the game, hidden cards may differ."""

    observer: int
    # The positions before the actions.
    positions: tuple[Position, ...]
    actions: tuple[Action, ...]

    @classmethod
    def of(cls, view: View, world: bytes, codes: Sequence[tuple[int, ...]]) -> SampledLine:
        positions = [view.game.position_from_bytes(world)]
        actions = [view.game.action_from_steps(code) for code in codes]
        for action in actions[:-1]:
            positions.append(positions[-1].play(action))
        return cls(view.observer, tuple(positions), tuple(actions))

    def without_hidden_cards(self) -> tuple[LineStep, ...]:
        """Return the decisions as the observer would see them, without the cards that they show."""
        return tuple(
            [
                LineStep(_seat_of(before), before.seen_action(action, self.observer))
                for before, action in zip(self.positions, self.actions, strict=True)
            ]
        )

    def steps(self) -> Iterator[SampledStep]:
        """Yield what the observer sees of the decisions in this world."""
        for before, action in zip(self.positions, self.actions, strict=True):
            after = before.play(action).view(self.observer)
            yield SampledStep(_seat_of(before), before.seen(action, self.observer), after)


def _seat_of(position: Position) -> int:
    return CHANCE if position.to_act is None else position.to_act


@dataclass(frozen=True, slots=True)
class Move:
    """Hold the search's estimates for one decision of the player to act.

    `win` is their expected share of the win (in a toy, of chips); `points` and `lead` (over the best opponent) are the
    means at the end of the game. `ranks` are the probabilities that they come first, second, ...; `seats` is the
    expected payoff of every seat. All but `lead` are calibrated if `Answer.calibration` names a fit; the order of moves
    is that of the playouts. A move without visits has no estimates. A move whose playouts all stopped at an
    evaluation, before the end of the game, has no points, lead and ranks.
    """

    action: Action
    visits: int
    # The visits whose playouts reached the end of the game: `points`, `lead` and `ranks` come from these alone.
    ended: int
    win: Estimate | None
    points: Estimate | None
    lead: float | None
    ranks: tuple[float, ...]
    seats: tuple[float, ...]
    # The likely continuation, starting with this move. Only the `lines` most visited moves have one, and only in games
    # that define what a seat sees of an action.
    line: tuple[LineStep, ...] = ()
    # The same continuation in the world that the search sampled for it. Worlds have long texts.
    sample: SampledLine | None = field(default=None, repr=False)


class SeatExpectation(NamedTuple):
    """Hold the expected share of the win and the expected final points of one seat.

    `points` is None if no playout reached the end of the game.
    """

    win: Estimate
    points: Estimate | None


@dataclass(frozen=True)
class Answer:
    """Hold the answer to a search question: the moves, best first, each seat's expectation, and the search's effort."""

    question: SearchQuestion
    # The move to play; None if the observer is not to act. A weaker strength level may play another than the best.
    best: Action | None
    moves: tuple[Move, ...]
    # Near-equal moves, with the frequency to play each: a player who always plays the best is predictable.
    mix: tuple[tuple[Action, float], ...]
    # By seat; empty if nothing was searched.
    seats: tuple[SeatExpectation, ...]
    # The sum of all shares, and the iterations of each; no share if nothing was searched.
    total: Share
    share_iterations: tuple[int, ...]
    elapsed_ms: float
    # Whether a session continued in the tree of an earlier answer.
    continued: bool = False

    @property
    def view(self) -> View:
        return self.question.view

    @property
    def signature(self) -> str:
        """The signature of engine, search and knowledge for this ruleset: equal signatures give equal answers."""
        return signature_of(self.view.game)

    @property
    def iterations(self) -> int:
        return self.total.iterations

    @property
    def worlds(self) -> int:
        return self.total.worlds

    @property
    def nodes(self) -> int:
        return self.total.nodes

    @property
    def tree_bytes(self) -> int:
        return self.total.tree_bytes

    @property
    def stopped_by(self) -> str:
        """The limit that ended the search; empty while it runs.

        One of "iterations", "time", "confidence", "stopped", "forced"; "lost" if workers were lost before any of these.
        """
        return self.total.stopped_by

    @property
    def missing(self) -> int:
        """The number of shares that did not finish, because their worker was lost or late."""
        return self.total.missing

    @property
    def note(self) -> str:
        """A sentence about anything unusual in this search; usually empty."""
        return self.total.note

    @property
    def reproducible(self) -> bool:
        """Whether the same question gets the same answer again, to the last digit, under the same signature."""
        return self.stopped_by in REPRODUCIBLE and not self.missing and not self.continued

    @property
    def knowledge(self) -> str:
        """The game whose knowledge guided the search besides the rules, or "none"."""
        return knowledge_of(self.question)

    @property
    def calibration(self) -> str:
        """The fit that calibrated the shares of the win, points and ranks, such as "oriflamme en-2019 3", or "none"."""
        fit = calibration_of(self.question)
        return fit.name if fit else "none"

    @property
    def beliefs(self) -> Beliefs | None:
        """The observer's beliefs about hidden cards; None if the game has no model of them."""
        return self.question.beliefs

    def move(self, action: Action | str) -> Move:
        """Return the estimates of one move."""
        text = str(action)
        for move in self.moves:
            if str(move.action) == text:
                return move
        raise KeyError(f"action: {text!r} is not one of {', '.join(str(move.action) for move in self.moves)}")

    def _repr_html_(self) -> str:
        from solver.notebook import answer_html  # not above: only notebooks need it

        return answer_html(self)

    def __str__(self) -> str:
        head = f"{self.iterations} iterations, {self.worlds} worlds, {self.elapsed_ms:.0f} ms"
        if self.best is None:
            seats = zip(self.view.game.seats, self.seats, strict=False)
            return "\n".join([head, *(f"  {seat} win {_percent(chance.win)}" for seat, chance in seats)])
        lines = [f"{self.best}  ({head})"]
        for move in self.moves[:8]:
            if move.win is not None and move.points is not None:
                win = f"win {_percent(move.win)}"
                lines.append(f"  {move.action!s:24} {win}   points {move.points.mean:5.1f}   visits {move.visits}")
        return "\n".join(lines)


# The values of `stopped_by` that leave an answer reproducible.
REPRODUCIBLE = ("iterations", "confidence", "forced")


def knowledge_of(question: Question) -> str:
    return question.view.game.id if question.config.knows else "none"


def _percent(win: Estimate) -> str:
    return f"{100 * win.mean:5.1f} % ± {100 * win.error:.1f}"


# --- from shares to an answer ---------------------------------------------------------------------------------


def answer_at_once(question: SearchQuestion) -> Share | None:
    """Return an empty share where no search is due: for a forced move, or a configuration that does not search."""
    n_players = question.view.game.n_players
    if question.decides and question.view.forced_action is not None:
        return empty_share(1, n_players, stopped_by="forced")
    return None if question.config.how == "search" else empty_share(len(question.decisions), n_players)


def answer_without_search(question: SearchQuestion, share: Share, started: float) -> Answer:
    """Return the answer made of a share of `answer_at_once`. `started` is the question's start, by `perf_counter`."""
    answer = _answer(question, share, (), started)
    if share.stopped_by == "forced":
        return answer
    best = _move_without_search(question)
    return replace(answer, best=best, mix=((best, 1.0),))


def answer_of(question: SearchQuestion, shares: Sequence[Share], started: float) -> Answer:
    """Return the answer made of all shares, finished or not. `started` is the search's start, by `perf_counter`."""
    return _answer(question, merge(shares), tuple(share.iterations for share in shares), started)


def _answer(question: SearchQuestion, total: Share, share_iterations: tuple[int, ...], started: float) -> Answer:
    view, config = question.view, question.config
    moves = judge(view, question.decisions, total) if question.decides else ()
    best = moves[0].action if moves else None
    mix = recommend(moves) if moves else ()
    if len(moves) > 1 and config.how == "search" and config.misjudgement:
        best = misjudged_best(question, total.tallies)
        mix = ((best, 1.0),)
    seats = expect(total) if any(tally.visits for tally in total.tallies) else ()
    # The choices above are those of the playouts; from here on, the numbers are those that come true.
    if seats and (fit := calibration_of(question)):
        effort = _effort(total, share_iterations)
        row = fit.row(view.round, effort)
        moves = tuple([_calibrated_move(move, view.observer, row, effort) for move in moves])
        seats = _calibrated_seats(seats, view.observer, row.seats if question.decides else row.onlooker, effort)
    return Answer(
        question=question,
        best=best,
        moves=moves,
        mix=mix,
        seats=seats,
        total=total,
        share_iterations=share_iterations,
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )


def _move_without_search(question: SearchQuestion) -> Action:
    view, config = question.view, question.config
    if config.how == "random":
        # Seeded by the view, too: with one seed for a whole game, each move has random numbers of its own.
        return question.decisions[Rng(question.seed ^ view.key, DRAWS).below(len(question.decisions))]
    searcher = Searcher(view, config.settings(None), MEGABYTE, question.seed, 0)
    return view.game.action_from_steps(searcher.heuristic_decision())


def expect(total: Share) -> tuple[SeatExpectation, ...]:
    """Return the expectation of each seat over all playouts."""
    whole = reduce(lambda a, b: a + b, total.tallies)
    wins = zip(whole.payoffs, whole.squares, strict=True)
    points = zip(whole.scores, whole.score_squares, strict=True)
    return tuple(
        SeatExpectation(
            estimate(whole.visits, paid, squares),
            estimate(whole.ended, scored, score_squares) if whole.ended else None,
        )
        for (paid, squares), (scored, score_squares) in zip(wins, points, strict=True)
    )


# --- calibrated numbers -----------------------------------------------------------------------------------------


def calibrated_loss(answer: Answer, best: Move, loss: Estimate) -> Estimate:
    """Return the loss against a move of an answer in the shares of that answer.

    `loss`, more than 0, is a difference of means of playouts. The result is the fall of the move's calibrated share if
    its mean falls by the loss; it is less than the share. Without a calibrated share, the loss remains.
    """
    fit = calibration_of(answer.question)
    if fit is None or best.win is None or best.win.raw is None:
        return loss
    effort = _effort(answer.total, answer.share_iterations)
    left = max(best.win.raw - loss.mean, 0.0)
    mean = best.win.mean - calibrated_share(left, fit.row(answer.view.round, effort).move, effort)
    return Estimate(mean, loss.error * mean / loss.mean, loss.spread, raw=loss.mean)


def _effort(total: Share, share_iterations: Sequence[int]) -> int:
    """Return the iterations of one tree."""
    return total.iterations // max(len(share_iterations), 1)


def _calibrated_move(move: Move, observer: int, row: Row, effort: int) -> Move:
    """Return a move with calibrated numbers; where all playouts paid the same, the game is decided, and they stay."""
    if move.win is None or is_decided(move.win, move.visits):
        return move
    shares = calibrated_shares(move.seats, observer, row.move, effort)
    return replace(
        move,
        win=_calibrated_win(move.win, shares[observer], row.move.temperature, effort),
        points=_calibrated_points(move.points, row.move.own_points, row.move.own_spread),
        ranks=shrink_chances(move.ranks, *row.ranks) if move.ranks else (),
        seats=shares,
    )


def _calibrated_seats(
    seats: tuple[SeatExpectation, ...], observer: int, numbers: Shares, effort: int
) -> tuple[SeatExpectation, ...]:
    """Return the seats' expectations calibrated, as those of the player to act or of an onlooker."""
    if is_decided(seats[observer].win, effort):
        return seats
    shares = calibrated_shares([seat.win.mean for seat in seats], observer, numbers, effort)
    return tuple(
        SeatExpectation(
            _calibrated_win(expected.win, share, numbers.temperature if seat == observer else numbers.others, effort),
            _calibrated_points(expected.points, *_points_of(numbers, seat == observer)),
        )
        for seat, (expected, share) in enumerate(zip(seats, shares, strict=True))
    )


def is_decided(win: Estimate, visits: int) -> bool:
    """Return whether all of many playouts paid the same."""
    return visits >= SAME_AFTER and win.spread <= SAME_WIN


def _points_of(numbers: Shares, is_own: bool) -> tuple[float, float]:
    return (numbers.own_points, numbers.own_spread) if is_own else (numbers.other_points, numbers.other_spread)


def _calibrated_win(win: Estimate, share: float, temperature: float, effort: int) -> Estimate:
    factor = slope(win.mean, share, temperature, effort)
    return Estimate(share, factor * win.error, win.spread, raw=win.mean)


def _calibrated_points(points: Estimate | None, shift: float, factor: float) -> Estimate | None:
    if points is None:
        return None
    return Estimate(points.mean + shift, points.error, factor * points.spread, raw=points.mean)


# --- the order of moves -----------------------------------------------------------------------------------------


def recommend(moves: tuple[Move, ...]) -> tuple[tuple[Action, float], ...]:
    """Return the near-equal moves, best first, and the frequency to play each, in proportion to its visits.

    A move is near-equal if it had enough visits and its interval of one standard error overlaps that of the best,
    unless it wins alike with a smaller lead.
    """
    best = moves[0]
    if best.win is None:
        return ((best.action, 1.0),)
    low = best.win.mean - best.win.error
    near = [m for m in moves if m.win and m.visits * NEAR_VISITS >= best.visits and m.win.mean + m.win.error >= low]
    near = [m for m in near if not (_wins_alike(m, best) and _lead(m) < _lead(best) - LESS_LEAD)]
    total = sum(move.visits for move in near)
    return tuple((move.action, move.visits / total) for move in near)


def judge(view: View, actions: Sequence[Action], share: Share) -> tuple[Move, ...]:
    """Return the moves, best first: by visits, then by win, lead, and the order of `actions`.

    In a decided game every move wins alike and visits mean nothing: moves that win like the best are ordered by lead.
    """
    samples = {number: SampledLine.of(view, world, codes) for number, world, codes in share.lines}
    moves = [
        _move(view.observer, action, tally, samples.get(i))
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
    """Return whether both moves are known to win equally often: their playouts all paid the same."""
    if move.win is None or best.win is None or move.visits < max(SAME_AFTER, best.visits // 100):
        return False
    return max(move.win.spread, best.win.spread, abs(move.win.mean - best.win.mean)) <= SAME_WIN


def _move(player: int, action: Action, tally: Tally, sample: SampledLine | None) -> Move:
    n, ended = tally.visits, tally.ended
    return Move(
        action=action,
        visits=n,
        ended=ended,
        win=estimate(n, tally.payoffs[player], tally.squares[player]) if n else None,
        points=estimate(ended, tally.scores[player], tally.score_squares[player]) if ended else None,
        lead=tally.leads[player] / ended if ended else None,
        ranks=tuple(count / ended for count in tally.ranks[player]) if ended else (),
        seats=tuple(payoff / n for payoff in tally.payoffs) if n else (),
        line=sample.without_hidden_cards() if sample else (),
        sample=sample,
    )


def estimate(n: int, total: float, squares: float) -> Estimate:
    """Return the mean of `n` numbers, given their sum and their sum of squares."""
    mean = total / n
    # A single playout has no sample variance: assume 1, the range of payoffs.
    variance = max(squares / n - mean * mean, 0.0) * n / (n - 1) if n > 1 else 1.0
    return Estimate(mean, math.sqrt(variance / n), math.sqrt(variance))
