"""Castle, Village, Port in OpenSpiel's terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine_cy.castle_village_port.actions import ACTIONS
from engine_cy.castle_village_port.cards import LOCATIONS
from engine_cy.castle_village_port.editions import EDITIONS
from engine_cy.openspiel_terms import Deal, GameTerms, Registration, Step
from engine_cy.seats import CHANCE, SEATS
from engine_cy.values import Game, Position


class CastleTerms(GameTerms):
    """Castle, Village, Port: each deck is dealt from the top, before the first draw; its last card is implied."""

    def __init__(self, game: Game, first: int) -> None:
        shape: Any = game.shape  # type: ignore[attr-defined]
        n = shape.n_players
        self.shape = shape
        self.values: list[int] = sorted(shape.values)
        self.number_of = {value: number for number, value in enumerate(self.values)}
        self.each = len(self.values) - 1
        self.deal_size = n * self.each
        self.max_outcomes = len(self.values)
        plays = n * shape.n_rounds * shape.n_turns
        # A card acts when it is placed, and at the end of a round at most once in each location. It asks at most two
        # questions, the card to copy and the choice of its effect, or one and one of chance.
        acts = plays * (1 + shape.n_rounds * len(LOCATIONS))
        self.max_chances = self.deal_size + acts
        self.max_decisions = 2 * plays + 2 * acts
        # Selections come first, then placements, then swaps: `rebuild` depends on it.
        self.n_selections = len(self.values)
        self.first_swap = len(self.values) + len(LOCATIONS) * plays
        verbs = ("select", "place", "swap", "rob", "order", "copy", "discard", "move")
        super().__init__(game, first, list(ACTIONS.texts(shape, *verbs)), list(ACTIONS.texts(shape, "replace")))

    def outcomes(self, deal: Deal) -> Sequence[int]:
        own = deal[len(deal) // self.each * self.each :]
        return [number for number in range(len(self.values)) if number not in own]

    def outcome_text(self, deal: Deal, outcome: int) -> str:
        return f"deck {SEATS[len(deal) // self.each]} {self.values[outcome]}"

    def deck(self, deal: Deal, seat: int) -> list[int]:
        """Return the numbers of a seat's cards dealt so far, top first, with the last one once it is implied."""
        own = deal[seat * self.each :][: self.each]
        return [*own, *(set(range(len(self.values))) - set(own) if len(own) == self.each else ())]

    def start(self, deal: Deal) -> Position:
        decks = [[self.values[number] for number in self.deck(deal, seat)] for seat in range(self.game.n_players)]
        return self.game.start(decks, self.first)

    def deal_text(self, deal: Deal, player: int) -> str:
        hand = sorted(self.deck(deal, player)[: self.shape.drawn(1)], reverse=True)
        return f"hand {SEATS[player]} {','.join(str(self.values[number]) for number in hand)}"

    def rebuild(self, deal: Deal, steps: list[Step], world: Position, player: int) -> tuple[Deal, list[int]]:
        numbers = [step.number for step in steps]
        rebuilt: list[int] = []
        for seat, turns in enumerate(self.turns(steps)):
            own = world.parts.secrets[seat]
            deck = [self.number_of[value] for value in world.parts.decks[seat]]
            if seat == player:
                drawn = self.deck(deal, seat)[: len(self.values) - len(deck)]
            else:
                # Draw the revealed cards first: that is always early enough.
                selected = [own.selected] if own.selected else []
                drawn = [steps[turn[-1]].number for turn in (turns[:-1] if selected else turns)]
                drawn += [self.number_of[value] for value in (*selected, *own.hand)]
                self.reselect(numbers, turns, drawn)
            rebuilt += [*drawn, *deck][: self.each]
        return tuple(rebuilt), numbers

    def turns(self, steps: list[Step]) -> list[list[list[int]]]:
        """Return, for each seat and turn, the indices of the steps that set its selected card.

        The first is the selection; each replacement by chance adds one.
        """
        turns: list[list[list[int]]] = [[] for _ in range(self.game.n_players)]
        victim = 0
        for i, (seat, number) in enumerate(steps):
            if seat == CHANCE:
                turns[victim][-1].append(i)
            elif number < self.n_selections:
                turns[seat].append([i])
            elif self.first_swap <= number < self.first_swap + self.game.n_players:
                victim = number - self.first_swap
        return turns

    def reselect(self, numbers: list[int], turns: list[list[int]], drawn: list[int]) -> None:
        """Change the steps of a seat so that each turn ends with the card played: the turns play `drawn` in order.

        A selection before a Courtesan's swap stays as it was if possible.
        """
        for t, turn in enumerate(turns):
            held = drawn[t : self.shape.drawn(1 + t // self.shape.n_turns)]
            later = drawn[t]
            numbers[turn[-1]] = later
            for i in reversed(turn[:-1]):
                if numbers[i] == later or numbers[i] not in held:
                    numbers[i] = next(number for number in held if number != later)
                later = numbers[i]


REGISTRATIONS = {
    "castle_village_port": Registration(CastleTerms, "Castle, Village, Port", next(iter(EDITIONS)), 3, 3, 5),
}
