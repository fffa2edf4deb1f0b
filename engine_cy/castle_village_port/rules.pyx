# cython: language_level=3
"""Pack a ruleset for the rules code."""
from libc.string cimport memset

from engine_cy.castle_village_port.cards import LOCATIONS as NAMES


cdef void pack(Rules* rules, object numbers) except *:
    """Fill `rules` from the numbers of editions.py."""
    cdef int location, rank
    cdef Effect* effect

    memset(rules, 0, sizeof(Rules))
    for card in numbers.cards:
        effect = &rules.effects[<int>card.value]
        effect.when = card.when
        effect.deed = card.deed
        effect.amount = card.amount
        effect.below = card.below
        effect.where = NAMES.index(card.where) if card.where else 0
        effect.factor = card.factor
        effect.driven_by = sum([1 << other.value for other in numbers.cards if card.who and other.name == card.who])
        rules.values |= 1 << card.value
    for location in range(LOCATIONS):
        rules.n_ranks[location] = len(numbers.rewards[location])
        for rank, entry in enumerate(numbers.rewards[location]):
            rules.ranks[location][rank].reward = entry.kind
            rules.ranks[location][rank].amount = entry.amount
    rules.n_cards = len(numbers.cards)
    rules.n_players = numbers.n_players
    rules.hand_size = numbers.hand_size
    rules.n_rounds = numbers.n_rounds
    rules.n_turns = numbers.n_turns
    rules.start_gold = numbers.starting_gold
