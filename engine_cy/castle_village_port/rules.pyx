# cython: language_level=3
"""Pack a ruleset for the rules code."""
from libc.string cimport memset

from engine_cy.castle_village_port.cards import LOCATIONS as NAMES
from engine_cy.castle_village_port.words import Deed, Role, When

# The time of each deed in the house's table, and the role of a card that has both; other cards are strange.
ROLES = {
    Deed.LEAVE_IF_PRESENT: (When.END, Role.KING),
    Deed.PAY_OTHERS: (When.END, Role.PRINCESS),
    Deed.MOVE_NEIGHBOUR: (When.IMMEDIATE, Role.GUARD),
    Deed.ROB_NEIGHBOUR: (When.IMMEDIATE, Role.THIEF),
    Deed.COPY_NEIGHBOUR: (When.IMMEDIATE, Role.ALCHEMIST),
    Deed.SWAP_SELECTED: (When.IMMEDIATE, Role.COURTESAN),
    Deed.ORDER_LOCATION: (When.IMMEDIATE, Role.STRATEGIST),
    Deed.PAY_FROM_RIGHT: (When.END, Role.TRAITOR),
    Deed.GAIN_PER_LOW: (When.IMMEDIATE, Role.MERCHANT),
    Deed.DISCARD_NEIGHBOUR: (When.IMMEDIATE, Role.WARRIOR),
    Deed.FETCH: (When.IMMEDIATE, Role.BARD),
    Deed.DOUBLE_REWARD: (When.END, Role.SAILOR),
    Deed.DISCARD_HIGHEST: (When.END, Role.HUNTER),
}


def role_of_card(card):
    """Return the role of a card of editions.py."""
    if card.when == When.NEVER or card.deed == Deed.NO_DEED:
        return Role.PLAIN
    when, role = ROLES.get(card.deed, (None, Role.STRANGE))
    return role if card.when == when else Role.STRANGE


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
        rules.roles[<int>card.value] = role_of_card(card)
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
