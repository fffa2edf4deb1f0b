"""What a search found, as messages. Writing cannot fail."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from struct import Struct, calcsize
from typing import Any

from google.protobuf.message import Message

from eminence.v1 import solver_pb2 as pb
from engine_cy import Action, Game
from engine_cy.oriflamme.api import Oriflamme
from engine_cy.oriflamme.cards import PROTOTYPE, PUBLISHED
from engine_cy.seats import SEATS
from server.codec import oriflamme
from server.codec.views import write_action, write_seen
from server.codec.words import CARDS, Words, write_seat
from solver.abreast import Abreast
from solver.analysis import Beliefs, Estimate, HiddenCard, Move, SeatBelief, expect
from solver.information import Information
from solver.merge import Share
from solver.review import Verdict
from solver.running import Found

GRADES = Words(pb.Grade)


def write_found(found: Found, lines: int) -> pb.Suggestion:
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
    _add_beliefs(message, found.beliefs)
    analysis = found.analysis
    if analysis is not None:
        message.best.CopyFrom(write_action(analysis.best))
        moves = analysis.moves[:lines] if lines else analysis.moves
        message.candidates.extend(map(write_candidate, moves))
        for action, probability in analysis.mix:
            message.mix.add(action=write_action(action), probability=probability)
    return message


def write_forced(action: Action, beliefs: Beliefs | None) -> pb.Suggestion:
    """The same where there is one move, and nothing was searched for."""
    message, written = pb.Suggestion(reproducible=True), write_action(action)
    message.best.CopyFrom(written)
    message.candidates.add().action.CopyFrom(written)
    message.mix.add(probability=1).action.CopyFrom(written)
    _add_beliefs(message, beliefs)
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


def _add_beliefs(message: pb.Suggestion, beliefs: Beliefs | None) -> None:
    if beliefs is None:
        return
    for belief in beliefs.seats:
        _fill_belief(message.beliefs.add(seat=write_seat(belief.seat)), belief)
    message.effective_sample_size = beliefs.effective_worlds
    message.fitting_worlds = float(beliefs.worlds)


def _fill_belief(message: pb.SeatBelief, belief: SeatBelief) -> None:
    _add_chances(message, "hand", belief.hand)
    cards = belief.cards
    for card in sorted(cards, key=_spot_of) if len(cards) > 1 else cards:
        if "slot" in card.place:
            slot, depth = _spot_of(card)
            spot = message.face_down.add(slot=slot, depth=depth, nth=int(card.place["nth"]))
            _add_chances(spot, "cards", card.kinds)
        else:  # the selected one
            _add_chances(message, "selected", card.kinds)


def _spot_of(card: HiddenCard) -> tuple[int, int]:
    return int(card.place["slot"]), int(card.place["under"])


def _add_chances(message: Message, field: str, chances: dict[str, float]) -> None:
    """Add how likely each kind is. There are so many of these that they are added as bytes."""
    if chances:
        layout, heads = _layout(type(message), field, tuple(chances))
        parts: list[Any] = [None] * (2 * len(heads))
        parts[::2], parts[1::2] = heads, chances.values()
        message.MergeFromString(layout.pack(*parts))


@cache
def _layout(kind_of_message: type[Message], field: str, names: tuple[str, ...]) -> tuple[Struct, list[bytes]]:
    """How a message's bytes say the probabilities of named kinds: what stands before each number, which comes last."""
    heads = []
    for name in names:
        one = pb.CardProbability(probability=1, **_card(name))
        heads.append(kind_of_message(**{field: [one]}).SerializeToString()[: -calcsize("<d")])
    return Struct("<" + "".join(f"{len(head)}sd" for head in heads)), heads


_ORIFLAMME = {card.name: CARDS.write(card.id) for card in PUBLISHED + PROTOTYPE}


def _card(name: str) -> dict[str, Any]:
    """A card that a belief names: Oriflamme's by their names, else values."""
    return {"oriflamme": _ORIFLAMME[name]} if name in _ORIFLAMME else {"value": int(name)}


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
