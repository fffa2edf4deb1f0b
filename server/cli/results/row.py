"""Rows of results: a position that was asked about, and what was answered, by this machine, a cluster or a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from eminence.v1 import solver_pb2 as pb
from engine_cy import Game
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.record import write_ruleset
from engine_cy.seats import SEATS
from server.cli import formatting
from server.cli.options import Observation
from server.cli.results.files import SCHEMA, Key, Row
from server.codec.fields import CARDS
from server.messages.answers import REASONS

# Why a search ended that was not cut short, in the words of the column.
STOPPED_BY = {reason: word for word, reason in REASONS.items() if word}


class InputPosition(NamedTuple):
    """A position of the input: its key, what is asked, and how much of the input it is."""

    key: Key
    digest: str
    observation: Observation
    played: str | None
    share: float


def row_of(position: InputPosition, settings: str, found: pb.Suggestion) -> Row:
    """What is kept of an answer. Nothing in it depends on who answered, or when."""
    view = position.observation.view
    best = next(move for move in found.candidates if move.action.text == found.best.text)
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
        "best": found.best.text,
        **_figures(best),
        "seats": [seat.win.mean for seat in found.seats],
        "moves": [_move(move) for move in found.candidates],
        "beliefs": list(_beliefs(found, view.game)),
        "worlds_fitting": found.fitting_worlds or None,
        "worlds_effective": found.effective_sample_size or None,
        "iterations": found.iterations,
        "worlds": found.worlds,
        "nodes": found.nodes,
        "tree_bytes": found.memory_bytes,
        "stopped_by": STOPPED_BY[found.stop_reason],
        "seed": str(found.seed),
        "reproducible": found.reproducible,
        "knowledge": found.knowledge,
    }


def _figures(move: pb.Candidate) -> Row:
    """The win and the points of a move, with their errors."""
    win, points = move.HasField("win"), move.HasField("points")
    return {
        "win": move.win.mean if win else None,
        "win_error": move.win.standard_error if win else None,
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


def _beliefs(found: pb.Suggestion, game: Game) -> Iterator[Row]:
    # Cards as text notation has them.
    names = {card.id: card.name for card in game.cards} if isinstance(game, Oriflamme) else {}
    for belief in found.beliefs:
        seat = SEATS[belief.seat - 1]
        places: list[tuple[str, Iterable[Any]]] = [
            (f"slot {card.slot} under {card.depth} nth {card.nth}", card.cards) for card in belief.face_down
        ]
        for place, cards in [*places, ("at selected", belief.selected), ("hand", belief.hand)]:
            for card in cards:
                name = names[CARDS.read(card.oriflamme, "card")] if card.oriflamme else card.name or str(card.value)
                yield {"seat": seat, "place": place, "card": name, "chance": card.probability}
