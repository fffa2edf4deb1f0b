"""What a search found, as messages. Writing cannot fail.

What is part of an answer is written in its place: a message that is copied into another takes twice as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from engine_cy import Action, Game
from engine_cy.castle_village_port.api import CastleVillagePort
from engine_cy.oriflamme.api import Oriflamme
from engine_cy.seats import SEATS
from server.codec import oriflamme
from server.codec.views import ACTIONS_KEPT, write_action, write_seen
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
        iterations=total.iterations,
        share_iterations=found.share_iterations,
        worlds=total.worlds,
        nodes=total.nodes,
        memory_bytes=total.tree_bytes,
        reproducible=found.reproducible,
    )
    add_seats(message, total)
    analysis = found.analysis
    if analysis is not None:
        message.best.CopyFrom(write_action(analysis.best))
        moves = analysis.moves[:lines] if lines else analysis.moves
        for move in moves:
            write_candidate(message.candidates.add(), move)
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


def write_candidate(message: pb.Candidate, move: Move) -> None:
    message.action.CopyFrom(write_action(move.action))
    message.visits = move.visits
    message.rank_probabilities.extend(move.ranks)
    if move.win is not None:
        write_estimate(message.win, move.win)
    if move.points is not None:
        write_estimate(message.points, move.points)
    if move.lead is not None:
        message.lead.mean = move.lead
    game = move.action.game
    message.principal_variation.extend([write_decision(game, decision) for decision in move.line])


def write_estimate(message: pb.Estimate, found: Estimate) -> None:
    message.mean, message.standard_error, message.spread = found.mean, found.error, found.spread


@lru_cache(ACTIONS_KEPT)
def write_decision(game: Game, decision: str) -> view_pb2.SeenAction:
    """A decision such as `B place ? front`, with its seat or chance's sign. The message is everybody's, as that of an
    action is."""
    letter, _, text = decision.partition(" ")
    return write_seen(game, SEATS.index(letter) if letter in SEATS else None, text)


def add_seats(message: pb.Suggestion, total: Share) -> None:
    """Add what the game is worth to each seat, over all playouts, if there were any."""
    if not any(tally.visits for tally in total.tallies):
        return
    for seat, (win, points) in enumerate(zip(*expect(total), strict=True)):
        value = message.seats.add(seat=write_seat(seat))
        write_estimate(value.win, win)
        if points is not None:
            write_estimate(value.points, points)


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
        card.probability = probability


@lru_cache
def _numbers(game: Game) -> tuple[str, dict[str, Any]]:
    """The field that says a card, and its number there by the card's name. A card that the contract has no number for
    is UNSPECIFIED: without it, the others would not add up to 1."""
    if isinstance(game, Oriflamme):
        return "oriflamme", {card.name: CARDS.write_if_known(card.id) for card in game.cards}
    assert isinstance(game, CastleVillagePort)
    return "value", {str(value): value for value in game.frame.values}


def write_information(found: Sequence[Information], game: Game) -> list[pb.CardInformation]:
    written = []
    for card in found:
        # The worth of the secret is what showing it would lose.
        shown = Estimate(-card.worth.mean, card.worth.error, card.worth.spread)
        message = pb.CardInformation()
        write_estimate(message.win_if_shown, shown)
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
                write_estimate(getattr(written, name), estimate)
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
