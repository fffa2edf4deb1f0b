"""Oriflamme and its prototype in OpenSpiel's terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from engine_cy.openspiel_terms import Deal, GameTerms, Registration, Step
from engine_cy.oriflamme.editions import editions_of
from engine_cy.seats import SEATS
from engine_cy.values import Game, Position


class OriflammeTerms(GameTerms):
    """Oriflamme: the outcomes of the deal are the cards that each family sets aside."""

    def __init__(self, game: Game, first: int) -> None:
        frame: Any = game.frame  # type: ignore[attr-defined]
        n, slots = frame.n_players, frame.n_players * frame.cards_each
        self.copies: int = frame.copies
        self.kinds = {card.id: kind for kind, card in enumerate(frame.cards)}
        self.names = [card.name for card in frame.cards]
        aside = len(frame.cards) - frame.hand_size // frame.copies
        self.asides = list(combinations(range(len(frame.cards)), aside))
        self.aside_numbers = {kinds: number for number, kinds in enumerate(self.asides)}
        self.deal_size = self.max_chances = n * frame.copies
        self.max_outcomes = len(self.asides)
        # At each slot, the cursor asks at most three questions: whether to reveal, the card to copy, and the choice of
        # its effect. It returns to a card that was moved on by a Decree or a copy of one; each does so once.
        visits = sum(n * frame.cards_per_turn * r for r in range(1, frame.n_rounds + 1)) + frame.n_rounds * 2 * n
        self.max_decisions = slots + 3 * visits
        # Placements come first, grouped by card: `rebuild` depends on it.
        places = ["front", "back", *(f"on {slot}" for slot in range(slots))]
        self.n_places = len(places)
        self.n_placements = len(places) * len(self.names)
        super().__init__(
            game,
            first,
            [
                *(f"place {name} {place}" for name in self.names for place in places),
                *("reveal", "keep"),
                *(f"target {slot}" for slot in range(slots)),
                *(f"rob {seat}" for seat in game.seats),
                *(f"copy {slot}" for slot in range(slots)),
                *(f"move {slot} to {gap}" for slot in range(slots) for gap in range(slots + 1)),
                *(f"move {slot} on {other}" for slot in range(slots) for other in range(slots)),
                *(f"pair {near} {far}" for near, far in combinations(range(slots), 2)),
            ],
        )

    def outcomes(self, deal: Deal) -> Sequence[int]:
        return range(len(self.asides))

    def outcome_text(self, deal: Deal, outcome: int) -> str:
        return f"aside {SEATS[len(deal) // self.copies]} {','.join(self.aside([outcome]))}"

    def aside(self, outcomes: Sequence[int]) -> list[str]:
        return [self.names[kind] for outcome in outcomes for kind in self.asides[outcome]]

    def start(self, deal: Deal) -> Position:
        return self.game.start([self.aside(own) for own in self.by_seat(deal)], self.first)

    def by_seat(self, deal: Deal) -> list[Deal]:
        return [deal[seat * self.copies :][: self.copies] for seat in range(self.game.n_players)]

    def deal_text(self, deal: Deal, player: int) -> str:
        # If one hand holds two families, no player knows from which family a card was set aside.
        own = sorted(kind for outcome in self.by_seat(deal)[player] for kind in self.asides[outcome])
        return f"aside {SEATS[player]} {','.join(self.names[kind] for kind in own)}"

    def rebuild(self, deal: Deal, steps: list[Step], world: Position, player: int) -> tuple[Deal, list[int]]:
        table = world.table
        # Cards that left the queue are public; cards in the queue are those of `world`.
        in_queue = {(card.family, card.nth): self.kinds[card.card] for slot in table.slots for card in slot}
        placed = Counter[int]()
        numbers = []
        for seat, number in steps:
            if number < self.n_placements:
                placed[seat] += 1
                kind = in_queue.get((seat, placed[seat]), number // self.n_places)
                number = kind * self.n_places + number % self.n_places
            numbers.append(number)
        rebuilt = [
            own if seat == player else self.split(self.left_over(table, seat))
            for seat, own in enumerate(self.by_seat(deal))
        ]
        return tuple(outcome for own in rebuilt for outcome in own), numbers

    def left_over(self, table: Any, seat: int) -> Counter[int]:
        """Return the cards that `seat` must have set aside."""
        left = Counter(dict.fromkeys(self.kinds.values(), self.copies))
        left.subtract(self.kinds[card] for card in (*table.hands[seat], *table.piles[seat]))
        left.subtract(self.kinds[card.card] for slot in table.slots for card in slot if card.family == seat)
        return left

    def split(self, aside: Counter[int]) -> Deal:
        """Split the cards set aside between the families; one of each pair goes to each family."""
        if self.copies == 1:
            return (self.aside_numbers[tuple(sorted(aside.elements()))],)
        twice = [kind for kind, count in aside.items() if count == 2]
        once = [kind for kind, count in aside.items() if count == 1]
        half = len(once) // 2
        return tuple(self.aside_numbers[tuple(sorted([*twice, *part]))] for part in (once[:half], once[half:]))


REGISTRATIONS = {
    "oriflamme": Registration(OriflammeTerms, "Oriflamme", editions_of("oriflamme")[0], 3, 3, 5),
    "oriflamme_prototype": Registration(
        OriflammeTerms, "Oriflamme, the prototype", editions_of("oriflamme_prototype")[0], 3, 2, 4
    ),
}
