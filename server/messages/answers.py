"""The conversion of answers into messages, which cannot fail.

Parts of an answer are written in place: copying a message into another takes twice as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from engine_cy import Game
from server.codec import views
from server.codec.fields import Words, write_seat
from server.codec.views import ACTIONS_KEPT, write_action
from server.games import adapter_of
from server.messages.requests import Grant, ReviewGrant, write_budget
from solver.answer import Answer, Estimate, LineStep, Move, SampledLine, SeatExpectation
from solver.compare import Comparison
from solver.expected_signature import signature_of
from solver.named_beliefs import Beliefs
from solver.review import Luck, Prospect, ScoreKeeper, SeatScore, Verdict
from solver.secrecy import Information

M = TypeVar("M", pb.Suggestion, pb.Comparison)

GRADES = Words(pb.Grade)
# Luck is written in multiples of 1/LUCK_UNITS.
LUCK_UNITS = 2**40


REASONS = {
    "": pb.STOP_REASON_UNSPECIFIED,
    "iterations": pb.STOP_REASON_ITERATIONS,
    "time": pb.STOP_REASON_TIME,
    "confidence": pb.STOP_REASON_CONFIDENCE,
    "forced": pb.STOP_REASON_FORCED,
    "lost": pb.STOP_REASON_LOST,
}


def write_suggestion(
    answer: Answer, grant: Grant, stopped_for: Any = pb.STOP_REASON_UNSPECIFIED, by_deadline: bool = False
) -> pb.Suggestion:
    """Write the answer to a search, final or so far, without its elapsed time."""
    total = answer.total
    forced = answer.stopped_by == "forced"
    message = pb.Suggestion(
        iterations=total.iterations,
        share_iterations=answer.share_iterations,
        worlds=total.worlds,
        nodes=total.nodes,
        memory_bytes=total.tree_bytes,
        missing_shares=total.missing,
        note=total.note,
        stop_reason=reason_of(answer.stopped_by, stopped_for, by_deadline),
        reproducible=answer.reproducible,
        knowledge=answer.knowledge,
        calibration=answer.calibration,
        budget=budget_of(grant),
        seed=grant.seed,
        shares=grant.shares,
        engine_signature=answer.signature,
    )
    add_seats(message, answer.seats)
    if answer.best is not None:
        message.best.CopyFrom(write_action(answer.best))
        moves = answer.moves if forced else answer.moves[: grant.candidates or None]
        add_candidates(message, moves, grant.samples, with_views=bool(answer.stopped_by))
        for action, probability in answer.mix:
            message.mix.add(action=write_action(action), probability=probability)
    add_beliefs(message, answer.beliefs, answer.view.game)
    return message


def write_game_over(grant: Grant) -> pb.Suggestion:
    """Write the answer at the end of a game: its result."""
    view = grant.view
    message = pb.Suggestion(
        stop_reason=pb.STOP_REASON_GAME_OVER,
        budget=budget_of(grant),
        seed=grant.seed,
        shares=grant.shares,
        engine_signature=signature_of(view.game),
        reproducible=True,
        knowledge="none",
        calibration="none",
    )
    for seat, (share, points) in enumerate(zip(view.payoffs, view.scores, strict=True)):
        value = message.seats.add(seat=write_seat(seat))
        value.win.mean, value.points.mean = share, points
    return message


def reason_of(stopped_by: str, stopped_for: Any, by_deadline: bool) -> Any:
    """Return the contract's reason why a search ended."""
    if stopped_by == "stopped":
        return stopped_for
    if stopped_by == "time" and by_deadline:
        return pb.STOP_REASON_DEADLINE
    return REASONS[stopped_by]


def budget_of(grant: Grant) -> pb.Budget:
    """Return the message of the granted budget."""
    return write_budget(grant.budget, grant.share_iterations)


def set_elapsed(message: Any, arrival_ns: int) -> None:
    elapsed = message.elapsed
    elapsed.seconds, elapsed.nanos = divmod(time.monotonic_ns() - arrival_ns, 10**9)


def timed_report(report: Callable[[M], None] | None, arrival_ns: int) -> Callable[[M], None] | None:
    """Return a function that sets the elapsed time of an answer before it reports it; None without a report."""
    if report is None:
        return None

    def set_elapsed_and_report(so_far: M) -> None:
        set_elapsed(so_far, arrival_ns)
        report(so_far)

    return set_elapsed_and_report


def add_candidates(
    message: pb.Suggestion | pb.ReviewedDecision, moves: Sequence[Move], samples: int, *, with_views: bool
) -> None:
    """Add moves; the first `samples` of those with a line have its steps in a sampled world."""
    for move in moves:
        candidate = message.candidates.add()
        write_candidate(candidate, move)
        if samples and move.sample is not None:
            samples -= 1
            _add_steps(candidate, move.sample, with_views)


def _add_steps(message: pb.Candidate, sample: SampledLine, with_views: bool) -> None:
    for step in sample.steps():
        written = message.sample_variation.add()
        written.action.CopyFrom(views.write_seen(step.view.game, step.seat, step.seen))
        if with_views:
            written.view.CopyFrom(views.write_view(step.view))


def write_candidate(message: pb.Candidate, move: Move) -> None:
    message.action.CopyFrom(write_action(move.action))
    message.visits = move.visits
    message.ended = move.ended
    message.rank_probabilities.extend(move.ranks)
    if move.win is not None:
        write_estimate(message.win, move.win)
    if move.points is not None:
        write_estimate(message.points, move.points)
    if move.lead is not None:
        message.lead.mean = move.lead
    message.principal_variation.extend([write_step(step.action.game, step) for step in move.line])


def write_estimate(message: pb.Estimate, estimate: Estimate) -> None:
    message.mean, message.standard_error, message.spread = estimate.mean, estimate.error, estimate.spread
    if estimate.raw is not None:
        message.raw_mean = estimate.raw


@lru_cache(ACTIONS_KEPT)
def write_step(game: Game, step: LineStep) -> Any:
    """Write a step of a line of play. The message is cached and shared, so do not change it."""
    return view_pb2.SeenAction(seat=write_seat(step.seat), action=write_action(step.action))


def add_seats(message: pb.Suggestion | pb.ReviewedDecision, seats: Sequence[SeatExpectation]) -> None:
    """Add the estimated result of each seat."""
    for seat, chance in enumerate(seats):
        value = message.seats.add(seat=write_seat(seat))
        write_estimate(value.win, chance.win)
        if chance.points is not None:
            write_estimate(value.points, chance.points)


def add_beliefs(message: pb.Suggestion, beliefs: Beliefs | None, game: Game) -> None:
    """Add the beliefs about hidden cards, if the game has a model of them."""
    if beliefs is not None:
        message.effective_sample_size, message.fitting_worlds = beliefs.effective_worlds, beliefs.worlds
        add_seat_beliefs(message, beliefs, game)


def add_seat_beliefs(message: pb.Suggestion | pb.ReviewedDecision, beliefs: Beliefs, game: Game) -> None:
    """Add the beliefs about each seat's hidden cards."""
    adapter = adapter_of(game.id)
    for belief in beliefs.seats:
        written = message.beliefs.add(seat=write_seat(belief.seat))
        _add_cards(written.hand, belief.hand, game)
        for card in sorted(belief.cards, key=lambda card: tuple(card.place.values())):
            spot = written.face_down.add(spot=adapter.write_spot(card.place))
            _add_cards(spot.cards, card.kinds, game)


def _add_cards(written: Any, cards: Mapping[str, float], game: Game) -> None:
    for name, probability in cards.items():
        written.add(probability=probability).card.CopyFrom(_write_card(game, name))


@lru_cache(ACTIONS_KEPT)
def _write_card(game: Game, name: str) -> view_pb2.Card:
    return adapter_of(game.id).write_card(game, name)


def write_information(cards: Sequence[Information], game: Game) -> list[pb.CardInformation]:
    """Write the value of keeping each own card secret."""
    written = []
    for card in cards:
        # Showing a card loses the value of its secret.
        shown = Estimate(-card.worth.mean, card.worth.error, card.worth.spread)
        message = pb.CardInformation(card=_write_card(game, card.card), spot=adapter_of(game.id).write_spot(card.place))
        write_estimate(message.win_if_shown, shown)
        for seat, probability in card.guessed.items():
            message.guesses.add(seat=write_seat(seat), probability=probability)
        written.append(message)
    return written


def write_comparison(
    comparison: Comparison, grant: Grant, stopped_for: Any = pb.STOP_REASON_UNSPECIFIED, by_deadline: bool = False
) -> pb.Comparison:
    """Write the answer to a comparison, without its elapsed time."""
    message = pb.Comparison(
        worlds=comparison.worlds,
        stop_reason=reason_of(comparison.stopped_by, stopped_for, by_deadline),
        budget=budget_of(grant),
        seed=grant.seed,
        engine_signature=comparison.signature,
        reproducible=comparison.reproducible,
        knowledge=comparison.knowledge,
    )
    for move in comparison.moves:
        written = message.actions.add(action=write_action(move.action))
        for name in ("win", "points", "win_difference", "points_difference"):
            estimate = getattr(move, name)
            if estimate is not None:
                write_estimate(getattr(written, name), estimate)
    return message


class ReviewWriter:
    """The writer of a review: it converts verdicts to messages, and sums them up."""

    def __init__(self, grant: ReviewGrant) -> None:
        self._grant = grant
        self._score = ScoreKeeper(grant.record, grant.seat)
        self._reproducible = True

    def begun(self) -> pb.ReviewBegun | None:
        """Return the extent of the review; None if the request did not ask for details."""
        return pb.ReviewBegun(decisions=self._grant.decisions) if self._grant.decisions is not None else None

    def add(self, judged: Verdict | Prospect) -> pb.ReviewedDecision | None:
        """Write the next decision; return None for a chance check, which only counts in sums."""
        self._reproducible = self._reproducible and judged.reproducible
        if isinstance(judged, Prospect):
            self._score.check(judged)
            return None
        message = write_verdict(judged)
        if self._grant.has_details:
            options = self._grant.options
            add_candidates(message, judged.moves[: options.candidates or None], options.samples, with_views=True)
            add_seats(message, judged.seats)
            if judged.beliefs is not None:
                add_seat_beliefs(message, judged.beliefs, judged.decision.view.game)
        _add_luck(message, self._score.add(judged))
        return message

    def summary(self) -> pb.ReviewSummary:
        grant = self._grant
        message = pb.ReviewSummary(
            luck_known=grant.record.observer is None,
            seed=grant.seed,
            budget=write_budget(grant.judge.budget),
            engine_signature=signature_of(grant.record.game),
            reproducible=self._reproducible,
        )
        message.seats.extend(map(write_seat_score, self._score.seats()))
        return message


def write_verdict(verdict: Verdict) -> pb.ReviewedDecision:
    message = pb.ReviewedDecision(
        index=verdict.decision.index,
        seat=write_seat(verdict.decision.seat),
        grade=GRADES.write(verdict.grade),
        forced=verdict.forced,
    )
    write_candidate(message.played, verdict.played)
    write_candidate(message.best, verdict.best)
    write_estimate(message.win_loss, verdict.win_loss)
    if verdict.points_loss is not None:
        write_estimate(message.points_loss, verdict.points_loss)
    return message


def write_seat_score(score: SeatScore) -> pb.SeatReview:
    message = pb.SeatReview(
        seat=write_seat(score.seat),
        decisions=score.grades.total(),
        win_loss=_write_sum(score.win_loss),
        points_loss=_write_sum(score.points_loss),
        outcome=None if score.outcome is None else float(score.outcome),
    )
    _add_luck(message, score.luck)
    for grade, count in sorted(score.grades.items(), key=lambda item: GRADES.write(item[0])):
        message.grades.add(grade=GRADES.write(grade), count=count)
    return message


def _add_luck(message: pb.ReviewedDecision | pb.SeatReview, luck: Luck | None) -> None:
    """Add luck and its parts, in units whose sums are exact in floating point: the parts add up to the last bit."""
    if luck is None:
        return
    total, chance = _in_units(luck.total), _in_units(luck.chance)
    opponents = None if luck.opponents is None else _in_units(luck.opponents)
    message.luck = total
    message.luck_parts.chance, message.luck_parts.hidden = chance, total - chance - (opponents or 0.0)
    if opponents is not None:
        message.luck_parts.opponents = opponents


def _in_units(part: Fraction) -> float:
    return round(part * LUCK_UNITS) / LUCK_UNITS


def _write_sum(total: Estimate) -> pb.Estimate:
    # No spread: that of a single playout means nothing for a sum of decisions.
    return pb.Estimate(mean=total.mean, standard_error=total.error)
