"""Answers as messages. Writing cannot fail.

Parts of an answer are written in place: a message that is copied into another takes twice as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from engine_cy import Game
from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.oriflamme.binding import Oriflamme
from server.codec import oriflamme
from server.codec.fields import CARDS, Words, write_seat
from server.codec.views import ACTIONS_KEPT, write_action
from server.messages.requests import Asked, AskedReview, write_budget
from solver.answer import Answer, Chance, Estimate, LineStep, Move
from solver.compare import Comparison
from solver.expected_signature import signature_of
from solver.named_beliefs import Beliefs
from solver.review import ScoreKeeper, SeatScore, Verdict
from solver.secrecy import Information

GRADES = Words(pb.Grade)


REASONS = {
    "": pb.STOP_REASON_UNSPECIFIED,
    "iterations": pb.STOP_REASON_ITERATIONS,
    "time": pb.STOP_REASON_TIME,
    "confidence": pb.STOP_REASON_CONFIDENCE,
    "forced": pb.STOP_REASON_FORCED,
    "lost": pb.STOP_REASON_LOST,
}


def write_suggestion(
    answer: Answer, asked: Asked, stopped_for: Any = pb.STOP_REASON_UNSPECIFIED, by_deadline: bool = False
) -> pb.Suggestion:
    """Write the answer to a search, so far or in all; without the time that it took."""
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
        budget=budget_of(asked),
        seed=asked.seed,
        shares=asked.shares,
        engine_signature=answer.signature,
    )
    add_seats(message, answer.seats)
    if answer.best is not None:
        message.best.CopyFrom(write_action(answer.best))
        moves = answer.moves[: asked.candidates] if asked.candidates and not forced else answer.moves
        for move in moves:
            write_candidate(message.candidates.add(), move)
        for action, probability in answer.mix:
            message.mix.add(action=write_action(action), probability=probability)
    add_beliefs(message, answer.beliefs, answer.view.game)
    return message


def write_game_over(asked: Asked) -> pb.Suggestion:
    """Write the answer at the end of a game, where nothing is left to find out."""
    view = asked.view
    message = pb.Suggestion(
        stop_reason=pb.STOP_REASON_GAME_OVER,
        budget=budget_of(asked),
        seed=asked.seed,
        shares=asked.shares,
        engine_signature=signature_of(view.game),
        reproducible=True,
        knowledge="none",
    )
    for seat, (share, points) in enumerate(zip(view.payoffs, view.scores, strict=True)):
        value = message.seats.add(seat=write_seat(seat))
        value.win.mean, value.points.mean = share, points
    return message


def reason_of(stopped_by: str, stopped_for: Any, by_deadline: bool) -> Any:
    """Why a search ended, as the contract has it."""
    if stopped_by == "stopped":
        return stopped_for
    if stopped_by == "time" and by_deadline:
        return pb.STOP_REASON_DEADLINE
    return REASONS[stopped_by]


def budget_of(asked: Asked) -> pb.Budget:
    """The budget that was granted."""
    return write_budget(asked.budget, asked.share_iterations)


def set_elapsed(message: Any, arrival_ns: int) -> None:
    elapsed = message.elapsed
    elapsed.seconds, elapsed.nanos = divmod(time.monotonic_ns() - arrival_ns, 10**9)


def timed_report(
    report: Callable[[pb.Suggestion], None] | None, arrival_ns: int
) -> Callable[[pb.Suggestion], None] | None:
    """Return a function that sets the time of an answer so far and reports it; None without a report."""
    if report is None:
        return None

    def tell(so_far: pb.Suggestion) -> None:
        set_elapsed(so_far, arrival_ns)
        report(so_far)

    return tell


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


@lru_cache(ACTIONS_KEPT)
def write_step(game: Game, step: LineStep) -> Any:
    """The message is everybody's, as that of an action is."""
    return view_pb2.SeenAction(seat=write_seat(step.seat), action=write_action(step.action))


def add_seats(message: pb.Suggestion, seats: Sequence[Chance]) -> None:
    """Add what the game is worth to each seat."""
    for seat, chance in enumerate(seats):
        value = message.seats.add(seat=write_seat(seat))
        write_estimate(value.win, chance.win)
        if chance.points is not None:
            write_estimate(value.points, chance.points)


def add_beliefs(message: pb.Suggestion, beliefs: Beliefs | None, game: Game) -> None:
    """Add what is believed to an answer; None: the game has no words for it."""
    if beliefs is None:
        return
    message.effective_sample_size, message.fitting_worlds = beliefs.effective_worlds, beliefs.worlds
    field, numbers = _numbers(game)
    for belief in beliefs.seats:
        written = message.beliefs.add(seat=write_seat(belief.seat))
        _add_cards(written.hand, belief.hand, field, numbers)
        if not isinstance(game, Oriflamme):
            for card in belief.cards:
                _add_cards(written.selected, card.kinds, field, numbers)
            continue
        for card in sorted(belief.cards, key=lambda card: (card.place["slot"], card.place["under"])):
            place = card.place
            spot = written.face_down.add(slot=place["slot"], depth=place["under"], nth=place["nth"])
            _add_cards(spot.cards, card.kinds, field, numbers)


def _add_cards(written: Any, kinds: Mapping[str, float], field: str, numbers: Mapping[str, Any]) -> None:
    for name, probability in kinds.items():
        card = written.add()
        setattr(card, field, numbers[name])
        if not numbers[name]:
            card.name = name
        card.probability = probability


@lru_cache
def _numbers(game: Game) -> tuple[str, dict[str, Any]]:
    """The field that says a card, and its number there by the card's name. A card that the contract has no number for
    is UNSPECIFIED, and named."""
    if isinstance(game, Oriflamme):
        return "oriflamme", {card.name: CARDS.write_if_known(card.id) for card in game.cards}
    assert isinstance(game, CastleVillagePort)
    return "value", {str(value): value for value in game.frame.values}


def write_information(found: Sequence[Information], game: Game) -> list[pb.CardInformation]:
    """Write what own cards are worth as secrets."""
    written = []
    for card in found:
        # The worth of the secret is what showing it would lose.
        shown = Estimate(-card.worth.mean, card.worth.error, card.worth.spread)
        message = pb.CardInformation()
        write_estimate(message.win_if_shown, shown)
        if isinstance(game, Oriflamme):
            message.card = oriflamme.write_shown(game, [card.card])[0]
            message.name = "" if message.card else card.card
            message.slot, message.depth = int(card.place["slot"]), int(card.place["under"])
        else:
            message.value = int(card.card)
        for seat, probability in card.guessed.items():
            message.guesses.add(seat=write_seat(seat), probability=probability)
        written.append(message)
    return written


def write_comparison(
    comparison: Comparison, asked: Asked, stopped_for: Any = pb.STOP_REASON_UNSPECIFIED, by_deadline: bool = False
) -> pb.Comparison:
    """Write the answer to a comparison; without the time that it took."""
    message = pb.Comparison(
        worlds=comparison.worlds,
        stop_reason=reason_of(comparison.stopped_by, stopped_for, by_deadline),
        budget=budget_of(asked),
        seed=asked.seed,
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


class Reviewed:
    """The verdicts of a review, as messages."""

    def __init__(self, asked: AskedReview) -> None:
        self._asked = asked
        self._score = ScoreKeeper(asked.record)
        self._reproducible = True

    def add(self, verdict: Verdict) -> pb.ReviewedDecision:
        """Write one more decision."""
        message = write_verdict(verdict)
        luck = self._score.add(verdict)
        if luck is not None:
            message.luck = luck
        self._reproducible = self._reproducible and verdict.reproducible
        return message

    def summary(self) -> pb.ReviewSummary:
        asked = self._asked
        message = pb.ReviewSummary(
            luck_known=asked.record.observer is None,
            seed=asked.seed,
            budget=write_budget(asked.judge.budget),
            engine_signature=signature_of(asked.record.game),
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
        luck=score.luck,
    )
    for grade, count in sorted(score.grades.items(), key=lambda item: GRADES.write(item[0])):
        message.grades.add(grade=GRADES.write(grade), count=count)
    return message


def _write_sum(found: Estimate) -> pb.Estimate:
    # Of a sum, the spread of a single playout says nothing.
    return pb.Estimate(mean=found.mean, standard_error=found.error)
