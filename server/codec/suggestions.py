"""What a search found, as messages. Writing cannot fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from eminence.v1 import solver_pb2 as pb
from engine_cy import Action, Game
from engine_cy.oriflamme.api import Oriflamme
from engine_cy.oriflamme.cards import Card
from engine_cy.seats import SEATS
from server.codec import oriflamme
from server.codec.views import write_action, write_seen
from server.codec.words import CARDS, Words, write_seat
from solver.abreast import Abreast
from solver.analysis import Beliefs, Estimate, Move, expect
from solver.found import Found
from solver.information import Information
from solver.merge import Share
from solver.review import SeatScore, Verdict

GRADES = Words(pb.Grade)


def write_found(found: Found, game: Game, lines: int) -> pb.Suggestion:
    """The answer, without what the server alone knows of it: budget, elapsed, why it ended."""
    total = found.total
    message = pb.Suggestion(
        seats=write_seats(total),
        iterations=total.iterations,
        share_iterations=found.share_iterations,
        worlds=total.worlds,
        nodes=total.nodes,
        memory_bytes=total.tree_bytes,
        reproducible=found.reproducible,
    )
    analysis = found.analysis
    if analysis is not None:
        message.best.CopyFrom(write_action(analysis.best))
        moves = analysis.moves[:lines] if lines else analysis.moves
        message.candidates.extend(map(write_candidate, moves))
        for action, probability in analysis.mix:
            message.mix.add(action=write_action(action), probability=probability)
    add_beliefs(message, found.beliefs, game)
    return message


def write_forced(action: Action, beliefs: Beliefs | None) -> pb.Suggestion:
    """What is found where there is one move, and no search."""
    message = pb.Suggestion(reproducible=True, stop_reason=pb.STOP_REASON_FORCED, best=write_action(action))
    message.candidates.add(action=message.best)
    message.mix.add(probability=1, action=message.best)
    add_beliefs(message, beliefs, action.game)
    return message


def write_candidate(move: Move) -> pb.Candidate:
    message = pb.Candidate(action=write_action(move.action), visits=move.visits, rank_probabilities=move.ranks)
    if move.win is not None:
        message.win.CopyFrom(write_estimate(move.win))
    if move.points is not None:
        message.points.CopyFrom(write_estimate(move.points))
    if move.lead is not None:
        message.lead.mean = move.lead
    message.principal_variation.extend(write_line(move.action.game, move.line))
    return message


def write_estimate(found: Estimate) -> pb.Estimate:
    return pb.Estimate(mean=found.mean, standard_error=found.error, spread=found.spread)


def write_line(game: Game, line: Sequence[str]) -> list[Any]:
    """Decisions such as `B place ? front`, each with its seat or chance's sign."""
    written = []
    for decision in line:
        letter, _, text = decision.partition(" ")
        written.append(write_seen(game, SEATS.index(letter) if letter in SEATS else None, text))
    return written


def write_seats(total: Share) -> list[pb.SeatValue]:
    """What the game is worth to each seat, over all playouts; empty if there were none."""
    if not any(tally.visits for tally in total.tallies):
        return []
    written = []
    for seat, (win, points) in enumerate(zip(*expect(total), strict=True)):
        value = pb.SeatValue(seat=write_seat(seat), win=write_estimate(win))
        if points is not None:
            value.points.CopyFrom(write_estimate(points))
        written.append(value)
    return written


def add_beliefs(message: pb.Suggestion, beliefs: Beliefs | None, game: Game) -> None:
    """Add what is believed to an answer; None: the game has no words for it."""
    if beliefs is None:
        return
    message.effective_sample_size, message.fitting_worlds = beliefs.effective_worlds, beliefs.worlds
    for belief in beliefs.seats:
        written = message.beliefs.add(seat=write_seat(belief.seat))
        if isinstance(game, Oriflamme):
            numbers = _numbers(game.cards)
            for card in sorted(belief.cards, key=lambda card: (card.place["slot"], card.place["under"])):
                slot, depth, nth = card.place["slot"], card.place["under"], card.place["nth"]
                _add_cards(written.face_down.add(slot=slot, depth=depth, nth=nth).cards, card.kinds, numbers)
            _add_cards(written.hand, belief.hand, numbers)
        else:
            for card in belief.cards:
                _add_values(written.selected, card.kinds)
            _add_values(written.hand, belief.hand)


def _add_cards(written: Any, kinds: Mapping[str, float], numbers: Mapping[str, Any]) -> None:
    for name, probability in kinds.items():
        written.add(oriflamme=numbers[name], probability=probability)


def _add_values(written: Any, kinds: Mapping[str, float]) -> None:
    for value, probability in kinds.items():
        written.add(value=int(value), probability=probability)


@lru_cache
def _numbers(cards: tuple[Card, ...]) -> dict[str, Any]:
    """The contract's numbers of an edition's cards, by their names. A card that the contract has no number for is
    UNSPECIFIED: without it, the others would not add up to 1."""
    return {card.name: CARDS.write_if_known(card.id) for card in cards}


def write_information(found: Sequence[Information], game: Game) -> list[pb.CardInformation]:
    written = []
    for card in found:
        # The worth of the secret is what showing it would lose.
        shown = Estimate(-card.worth.mean, card.worth.error, card.worth.spread)
        message = pb.CardInformation(win_if_shown=write_estimate(shown))
        if isinstance(game, Oriflamme):
            message.card = oriflamme.write_shown(game, [card.card])[0]
            message.slot, message.depth = int(card.place["slot"]), int(card.place["under"])
        else:
            message.value = int(card.card)
        for seat, probability in card.guessed.items():
            message.guesses.add(seat=write_seat(seat), probability=probability)
        written.append(message)
    return written


def write_compared(found: Abreast) -> pb.Comparison:
    message = pb.Comparison(worlds=found.worlds)
    for compared in found.actions:
        written = message.actions.add(action=write_action(compared.action))
        for name in ("win", "points", "win_difference", "points_difference"):
            estimate = getattr(compared, name)
            if estimate is not None:
                getattr(written, name).CopyFrom(write_estimate(estimate))
    return message


def write_verdict(verdict: Verdict) -> pb.ReviewedDecision:
    message = pb.ReviewedDecision(
        index=verdict.decision.index,
        seat=write_seat(verdict.decision.seat),
        played=write_candidate(verdict.played),
        best=write_candidate(verdict.best),
        grade=GRADES.write(verdict.grade),
        win_loss=write_estimate(verdict.win_loss),
        forced=verdict.forced,
    )
    if verdict.points_loss is not None:
        message.points_loss.CopyFrom(write_estimate(verdict.points_loss))
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
