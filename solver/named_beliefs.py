"""Beliefs about hidden cards by the names of cards and places: for people and messages."""

from __future__ import annotations

from dataclasses import dataclass

from engine_cy import View
from engine_cy.action_log import History
from solver.beliefs import Belief
from solver.config import Config


@dataclass(frozen=True, slots=True)
class HiddenCard:
    """A face-down card of another player: where it lies, in the game's own terms, and how likely it is of each kind."""

    place: dict[str, int | str]
    kinds: dict[str, float]


@dataclass(frozen=True, slots=True)
class SeatBelief:
    """What a player hides: his face-down cards, and how many of each kind are in his hand in the mean."""

    seat: int
    cards: tuple[HiddenCard, ...]
    hand: dict[str, float]


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What the observer thinks of what he does not see.

    `worlds` fit his view; `effective_worlds`, all as likely, would leave as much open as they do, weighed by what
    opponents did. A seat is left out whose secrets are too many to be weighed.
    """

    seats: tuple[SeatBelief, ...]
    worlds: int
    effective_worlds: float


def believe(belief: Belief) -> Beliefs:
    """A belief in the words of its game."""
    view = belief.view
    seats = []
    for seat in range(view.game.n_players):
        chances = None if seat == view.observer else belief.chances(seat, named=True)
        if chances is None:
            continue
        spots, hand = chances
        cards = tuple([HiddenCard(view.place_of(spot), kinds) for spot, kinds in spots.items()])
        seats.append(SeatBelief(seat, cards, hand))
    return Beliefs(tuple(seats), view.count_worlds(), belief.effective_worlds)


def beliefs_of(view: View, history: History | None, config: Config) -> Beliefs | None:
    """Return the beliefs at a view without a search; None if the game has no model of hidden cards."""
    return believe(Belief(view, history, config.trust)) if view.game.has_suspicions else None
