"""A ruleset for one number of players, packed: the tables of cards.py and editions.py as bytes."""
from libc.stdint cimport int8_t, uint8_t, uint16_t

from engine_cy.castle_village_port.words cimport LOCATIONS, MAX_RANKS, MAX_VALUE


cdef struct Effect:
    uint8_t when          # When
    uint8_t deed          # Deed
    uint8_t amount
    uint8_t below
    uint8_t where         # a location
    uint8_t factor
    uint16_t driven_by    # the values of the cards with the name that drives this one out, a bit each


cdef struct Rank:
    uint8_t reward        # Reward
    int8_t amount


cdef struct Rules:
    Effect effects[MAX_VALUE + 1]     # by value
    uint8_t roles[MAX_VALUE + 1]      # Role, by value
    Rank ranks[LOCATIONS][MAX_RANKS]
    uint8_t n_ranks[LOCATIONS]
    uint16_t values                   # the cards that each player has, a bit each
    uint8_t n_cards
    uint8_t n_players
    uint8_t hand_size
    uint8_t n_rounds
    uint8_t n_turns                   # in a round
    uint8_t start_gold


cdef void pack(Rules* rules, object numbers) except *
