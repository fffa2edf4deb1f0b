"""Rows of results: a position of the input and its answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from eminence.v1 import solver_pb2 as pb
from engine_cy import Game
from engine_cy.record import write_ruleset
from engine_cy.seats import SEATS
from server.cli import formatting
from server.cli.options import Observation
from server.cli.results.files import SCHEMA, Key, Row
from server.messages.answers import REASONS

# Values of the column `stopped_by`: the stop reasons of complete searches.
STOPPED_BY = {reason: word for word, reason in REASONS.items() if word}


class InputPosition(NamedTuple):
    """A position of the input. `share` is its part of the input, in characters."""

    key: Key
    digest: str
    observation: Observation
    played: str | None
    share: float


def row_of(position: InputPosition, settings: str, answer: pb.Suggestion) -> Row:
    """Make the row of an answer. It depends neither on the machine that answered nor on the time."""
    view = position.observation.view
    best = next(move for move in answer.candidates if move.action.text == answer.best.text)
    return {
        "schema": SCHEMA,
        **position.key._asdict(),
        "input": position.digest,
        "settings": settings,
        "game": view.game.id,
        "ruleset": write_ruleset(view.game),
        "players": view.game.n_players,
        "observer": SEATS[view.observer],
        "view": str(view),
        "played": position.played,
        "best": answer.best.text,
        **_figures(best),
        "seats": [seat.win.mean for seat in answer.seats],
        "moves": [_move(move) for move in answer.candidates],
        "beliefs": list(_beliefs(answer, view.game)),
        "worlds_fitting": answer.fitting_worlds or None,
        "worlds_effective": answer.effective_sample_size or None,
        "iterations": answer.iterations,
        "worlds": answer.worlds,
        "nodes": answer.nodes,
        "tree_bytes": answer.memory_bytes,
        "stopped_by": STOPPED_BY[answer.stop_reason],
        "seed": str(answer.seed),
        "reproducible": answer.reproducible,
        "knowledge": answer.knowledge,
        "calibration": answer.calibration,
    }


def _figures(move: pb.Candidate) -> Row:
    """Return the win and the points of a move, with their standard errors."""
    win, points = move.HasField("win"), move.HasField("points")
    return {
        "win": move.win.mean if win else None,
        "win_error": move.win.standard_error if win else None,
        "win_raw": (move.win.raw_mean if move.win.HasField("raw_mean") else move.win.mean) if win else None,
        "points": move.points.mean if points else None,
        "points_error": move.points.standard_error if points else None,
    }


def _move(move: pb.Candidate) -> Row:
    return {
        "move": move.action.text,
        "visits": move.visits,
        **_figures(move),
        "lead": move.lead.mean if move.HasField("lead") else None,
        "ranks": list(move.rank_probabilities),
        "line": formatting.line(move.principal_variation),
    }


def _beliefs(answer: pb.Suggestion, game: Game) -> Iterator[Row]:
    for belief in answer.beliefs:
        seat = SEATS[belief.seat - 1]
        places: list[tuple[str, Iterable[Any]]] = [(card.spot.text, card.cards) for card in belief.face_down]
        for place, cards in [*places, ("hand", belief.hand)]:
            for card in cards:
                yield {"seat": seat, "place": place, "card": card.card.name, "chance": card.probability}
