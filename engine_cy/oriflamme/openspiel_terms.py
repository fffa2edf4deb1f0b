"""Oriflamme and its prototype in OpenSpiel's terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, combinations
from typing import Any

from engine_cy.openspiel_terms import Deal, GameTerms, Registration, Step
from engine_cy.oriflamme.actions import ACTIONS
from engine_cy.oriflamme.editions import editions_of
from engine_cy.oriflamme.table import kinds_in_queue
from engine_cy.seats import SEATS
from engine_cy.values import Game, Position


class OriflammeTerms(GameTerms):
    """Oriflamme: the outcomes of the deal are the cards that each family sets aside."""

    def __init__(self, game: Game, first: int) -> None:
        shape: Any = game.shape  # type: ignore[attr-defined]
        n, slots = shape.n_players, shape.n_players * shape.cards_each
        self.n_families: int = shape.n_families
        self.all_cards = shape.all_cards()
        self.kinds = {card.id: kind for kind, card in enumerate(shape.cards)}
        self.names = [card.name for card in shape.cards]
        # Cards of one kind make several outcomes alike, so that all outcomes are equally likely.
        family = [kind for kind, card in enumerate(shape.cards) for _ in range(card.copies)]
        self.asides = list(combinations(family, len(family) - shape.hand_size // shape.n_families))
        self.aside_numbers = {kinds: number for number, kinds in enumerate(self.asides)}
        self.deal_size = self.max_chances = n * shape.n_families
        self.max_outcomes = len(self.asides)
        # At each slot, the cursor asks at most three questions: whether to reveal, the card to copy, and the choice of
        # its effect. It returns to a card that was moved on by a Decree or a copy of one; each does so once.
        visits = sum(n * shape.cards_per_turn * r for r in range(1, shape.n_rounds + 1)) + shape.n_rounds * 2 * n
        self.max_decisions = slots + 3 * visits
        # Placements come first, grouped by card: `rebuild` depends on it.
        self.n_placements = len(list(ACTIONS.texts(shape, "place")))
        self.n_places = self.n_placements // len(self.names)
        # The numbers of actions stay those of earlier versions: moves into gaps come before moves onto cards.
        texts = [[*ACTIONS.texts(shape, verb)] for verb in ACTIONS.verbs]
        texts[[*ACTIONS.verbs].index("move")].sort(key=lambda text: " on " in text)
        super().__init__(game, first, list(chain.from_iterable(texts)))

    def outcomes(self, deal: Deal) -> Sequence[int]:
        return range(len(self.asides))

    def outcome_text(self, deal: Deal, outcome: int) -> str:
        return f"aside {SEATS[len(deal) // self.n_families]} {','.join(self.aside([outcome]))}"

    def aside(self, outcomes: Sequence[int]) -> list[str]:
        return [self.names[kind] for outcome in outcomes for kind in self.asides[outcome]]

    def start(self, deal: Deal) -> Position:
        return self.game.start([self.aside(own) for own in self.by_seat(deal)], self.first)

    def by_seat(self, deal: Deal) -> list[Deal]:
        return [deal[seat * self.n_families :][: self.n_families] for seat in range(self.game.n_players)]

    def deal_text(self, deal: Deal, player: int) -> str:
        # If one hand holds two families, no player knows from which family a card was set aside.
        own = sorted(kind for outcome in self.by_seat(deal)[player] for kind in self.asides[outcome])
        return f"aside {SEATS[player]} {','.join(self.names[kind] for kind in own)}"

    def rebuild(self, deal: Deal, steps: list[Step], world: Position, player: int) -> tuple[Deal, list[int]]:
        # Cards that left the queue are public; cards in the queue are those of `world`.
        in_queue = self.in_queue(world)
        placed = Counter[int]()
        numbers = []
        for seat, number in steps:
            if number < self.n_placements:
                placed[seat] += 1
                kind = in_queue.get((seat, placed[seat]), number // self.n_places)
                number = kind * self.n_places + number % self.n_places
            numbers.append(number)
        rebuilt = [
            own if seat == player else self.split(self.left_over(world, seat))
            for seat, own in enumerate(self.by_seat(deal))
        ]
        return tuple(outcome for own in rebuilt for outcome in own), numbers

    def in_queue(self, world: Position) -> dict[tuple[int, int], int]:
        """Return the kind of each card in the queue by its seat and number."""
        return {
            (slot.family, card.nth): self.kinds[kind]
            for slot, kinds in zip(world.table.slots, kinds_in_queue(world.parts), strict=True)
            for card, kind in zip(slot.cards, kinds, strict=True)
        }

    def left_over(self, world: Position, seat: int) -> Counter[int]:
        """Return the cards that `seat` must have set aside."""
        left = Counter({self.kinds[card]: count for card, count in self.all_cards.items()})
        left.subtract(self.kinds[card] for card in (*world.parts.secrets[seat].hand, *world.table.piles[seat]))
        left.subtract(kind for (family, _), kind in self.in_queue(world).items() if family == seat)
        return left

    def split(self, aside: Counter[int]) -> Deal:
        """Split the cards set aside between the families; one of each pair goes to each family."""
        if self.n_families == 1:
            return (self.aside_numbers[tuple(sorted(aside.elements()))],)
        pairs = [kind for kind, count in aside.items() for _ in range(count // 2)]
        once = [kind for kind, count in aside.items() if count % 2]
        half = len(once) // 2
        return tuple(self.aside_numbers[tuple(sorted([*pairs, *part]))] for part in (once[:half], once[half:]))


REGISTRATIONS = {
    "oriflamme": Registration(OriflammeTerms, "Oriflamme", editions_of("oriflamme")[0], 3, 3, 5),
    "oriflamme_prototype": Registration(
        OriflammeTerms, "Oriflamme, the prototype", editions_of("oriflamme_prototype")[0], 3, 2, 4
    ),
}
