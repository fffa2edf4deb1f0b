"""What a search found, as messages. Writing cannot fail."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from eminence.v1 import solver_pb2 as pb
from engine_cy import Game, View
from engine_cy.oriflamme.api import Oriflamme
from engine_cy.oriflamme.cards import Card
from engine_cy.seats import SEATS
from server.codec import oriflamme
from server.codec.views import write_action, write_seen
from server.codec.words import CARDS, Words, write_seat
from solver.abreast import Abreast
from solver.analysis import Beliefs, Estimate, Move, SeatBelief, expect
from solver.information import Information
from solver.merge import Share
from solver.review import Verdict
from solver.running import Found

GRADES = Words(pb.Grade)


def write_found(found: Found, view: View, lines: int) -> pb.Suggestion:
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
    if found.beliefs is not None:
        message.beliefs.extend(write_beliefs(found.beliefs, view))
        message.effective_sample_size = found.beliefs.effective_worlds
        message.fitting_worlds = float(found.beliefs.worlds)
    analysis = found.analysis
    if analysis is not None:
        message.best.CopyFrom(write_action(analysis.best))
        moves = analysis.moves[:lines] if lines else analysis.moves
        message.candidates.extend(map(write_candidate, moves))
        for action, probability in analysis.mix:
            message.mix.add(action=write_action(action), probability=probability)
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


def write_beliefs(beliefs: Beliefs, view: View) -> list[pb.SeatBelief]:
    game = view.game
    kinds = _Kinds(_cards_by_name(game.cards) if isinstance(game, Oriflamme) else {})
    return [_write_belief(belief, view, kinds) for belief in beliefs.seats]


def _write_belief(belief: SeatBelief, view: View, kinds: _Kinds) -> pb.SeatBelief:
    game = view.game
    message = pb.SeatBelief(seat=write_seat(belief.seat), hand=kinds.write(belief.hand))
    if not isinstance(game, Oriflamme):
        for card in belief.cards:  # the selected one
            message.selected.extend(kinds.write(card.kinds))
        return message
    slots = view.table.slots
    for card in sorted(belief.cards, key=lambda card: (card.place["slot"], card.place["under"])):
        slot, depth = int(card.place["slot"]), int(card.place["under"])
        spot = message.face_down.add(slot=slot, depth=depth, nth=slots[slot][depth].nth or 0)
        spot.cards.extend(kinds.write(card.kinds))
    return message


class _Kinds:
    """The kinds of cards that a belief names: Oriflamme's by their names, else values."""

    def __init__(self, cards: dict[str, Any]) -> None:
        self._cards = cards

    def write(self, chances: dict[str, float]) -> list[pb.CardProbability]:
        cards = self._cards
        if cards:
            return [pb.CardProbability(oriflamme=cards[name], probability=chance) for name, chance in chances.items()]
        return [pb.CardProbability(value=int(name), probability=chance) for name, chance in chances.items()]


@cache
def _cards_by_name(cards: tuple[Card, ...]) -> dict[str, Any]:
    return {card.name: CARDS.write(card.id) for card in cards}


def write_information(found: Sequence[Information], game: Game) -> list[pb.CardInformation]:
    assert isinstance(game, Oriflamme)
    written = []
    for card in found:
        # The worth of the secret is what showing it would lose.
        shown = Estimate(-card.worth.mean, card.worth.error, card.worth.spread)
        message = pb.CardInformation(
            card=oriflamme.write_shown(game, [card.card])[0],
            slot=int(card.place["slot"]),
            depth=int(card.place["under"]),
            win_if_shown=write_estimate(shown),
        )
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
