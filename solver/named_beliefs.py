"""Describe beliefs about hidden cards by the names of cards and places, for people and messages."""

from __future__ import annotations

from dataclasses import dataclass

from engine_cy import View
from engine_cy.action_log import History
from solver.beliefs import Belief
from solver.config import Config


@dataclass(frozen=True, slots=True)
class HiddenCard:
    """Hold the marginal of another player's face-down card: its place, in the game's terms, and each kind's chance."""

    place: dict[str, int | str]
    kinds: dict[str, float]


@dataclass(frozen=True, slots=True)
class SeatBelief:
    """Hold the marginals of a player's hidden cards: face-down cards, and the expected number of each kind in hand."""

    seat: int
    cards: tuple[HiddenCard, ...]
    hand: dict[str, float]


@dataclass(frozen=True, slots=True)
class Beliefs:
    """Hold the observer's beliefs about all hidden cards.

    `worlds` is the number of worlds that fit the view; `effective_worlds` is their effective number,
    1 / the sum of their squared posterior probabilities. A seat with too many secrets to weigh is left out.
    """

    seats: tuple[SeatBelief, ...]
    worlds: int
    effective_worlds: float


def name_beliefs(belief: Belief) -> Beliefs:
    """Return a belief with the names of its game's cards and places."""
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
    """Return the beliefs at a view, without a search; None if the game has no model of hidden cards."""
    return name_beliefs(Belief(view, history, config.trust)) if view.game.has_beliefs else None
