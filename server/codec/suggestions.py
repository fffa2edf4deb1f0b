"""What a search found, as messages. Writing cannot fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eminence.v1 import solver_pb2 as pb
from engine_cy import Game, View
from engine_cy.oriflamme.api import Oriflamme
from engine_cy.seats import SEATS
from server.codec import oriflamme
from server.codec.views import write_action, write_seen
from server.codec.words import write_seat
from solver.analysis import Beliefs, Estimate, Move, estimate
from solver.information import Information
from solver.merge import Share
from solver.running import Found


def write_found(found: Found, view: View, lines: int) -> pb.Suggestion:
    """The answer, without what the server alone knows of it: budget, elapsed, why it ended."""
    total = found.total
    message = pb.Suggestion(
        seats=write_seats(total, view.game.n_players),
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


def write_seats(total: Share, n_players: int) -> list[pb.SeatValue]:
    """What the game is worth to each seat, over all playouts; empty if there were none."""
    visits = sum(tally.visits for tally in total.tallies)
    ended = sum(tally.ended for tally in total.tallies)
    if not visits:
        return []
    values = []
    for seat in range(n_players):
        sums = [sum(column) for column in zip(*(_sums(tally, seat) for tally in total.tallies), strict=True)]
        value = pb.SeatValue(seat=write_seat(seat), win=write_estimate(estimate(visits, sums[0], sums[1])))
        if ended:
            value.points.CopyFrom(write_estimate(estimate(ended, sums[2], sums[3])))
        values.append(value)
    return values


def _sums(tally: Any, seat: int) -> tuple[float, float, float, float]:
    return tally.payoffs[seat], tally.squares[seat], tally.scores[seat], tally.score_squares[seat]


def write_beliefs(beliefs: Beliefs, view: View) -> list[pb.SeatBelief]:
    game = view.game
    assert isinstance(game, Oriflamme)  # no other has suspicions
    slots = view.table.slots
    written = []
    for belief in beliefs.seats:
        message = pb.SeatBelief(seat=write_seat(belief.seat))
        cards = sorted(belief.cards, key=lambda card: (card.place["slot"], card.place["under"]))
        for card in cards:
            slot, depth = int(card.place["slot"]), int(card.place["under"])
            spot = message.face_down.add(slot=slot, depth=depth, nth=slots[slot][depth].nth or 0)
            spot.cards.extend(_chances(game, card.kinds))
        message.hand.extend(_chances(game, belief.hand))
        written.append(message)
    return written


def _chances(game: Oriflamme, chances: dict[str, float]) -> list[pb.CardProbability]:
    names = list(chances)
    return [
        pb.CardProbability(oriflamme=card, probability=chances[name])
        for name, card in zip(names, oriflamme.write_shown(game, names), strict=True)
    ]


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
