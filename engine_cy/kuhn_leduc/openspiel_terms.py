"""Kuhn and Leduc poker in OpenSpiel's terms."""

from __future__ import annotations

from engine_cy.kuhn_leduc.editions import VARIANTS
from engine_cy.openspiel_terms import Deal, GameTerms, Registration, Step
from engine_cy.values import Game, Position


class PokerTerms(GameTerms):
    """Poker: the engine deals by actions of chance, and a view contains the history."""

    deal_size = 0
    remembers = True
    shares = False

    def __init__(self, game: Game, first: int) -> None:
        variant = VARIANTS[game.id]
        rounds = len(variant.raise_sizes)
        self.cards = {name: number for number, name in enumerate(variant.cards)}
        self.max_outcomes = len(variant.cards)
        self.max_decisions = rounds * (2 + variant.raises_max)
        self.max_chances = 1 + rounds
        self.stake = 1 + variant.raises_max * sum(variant.raise_sizes)
        moves = ("pass", "bet") if variant.pass_or_bet else ("fold", "call", "raise")
        super().__init__(game, first, moves, [f"deal {name}" for name in variant.cards])

    @property
    def utility_range(self) -> tuple[float, float]:
        return -self.stake, self.stake

    def start(self, deal: Deal) -> Position:
        return self.game.deal(0, self.first)

    def rebuild(self, deal: Deal, steps: list[Step], world: Position, player: int) -> tuple[Deal, list[int]]:
        numbers = [step.number for step in steps]
        # Seat A's card is dealt first, then seat B's.
        for seat, card in enumerate(world.parts.cards):
            if seat < len(numbers):
                numbers[seat] = self.cards[card]
        return (), numbers


REGISTRATIONS = {
    "kuhn_poker": Registration(PokerTerms, "Kuhn poker of Eminence", "standard", 2, 2, 2),
    "leduc_poker": Registration(PokerTerms, "Leduc poker of Eminence", "standard", 2, 2, 2),
}
