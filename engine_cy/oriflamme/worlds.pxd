from libc.stdint cimport uint8_t, uint32_t, uint64_t

from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport State
from engine_cy.support.rng cimport rng_t

cdef enum:
    LIMIT = 13              # at most 12 cards of a player are hidden in the queue
    SUMS_MAX = 13 * 21      # numbers of cards hidden there and in hand, at most 32 in all
    TABLE_KINDS = 10        # the tables of `deal_pairs` have room for ten kinds and 12 cards in hand
    TABLE_DEALS = 3


# The hidden cards of one opponent.
cdef struct Hidden:
    uint8_t ids[LIMIT]      # face-down cards in the queue
    int n_ids
    int n_hand
    uint32_t pool           # the cards that these may be, as a hand


# Fill `hidden`. It is not returned by value: the copy would read widely after narrow writes, and stall.
cdef void find_hidden(const Rules* rules, const State* world, int opponent, Hidden* hidden) noexcept nogil
cdef uint64_t count_secrets(const Rules* rules, const State* world, int observer, int opponent) noexcept nogil
cdef void write_secret(const Rules* rules, State* world, int observer, int opponent, uint64_t index) noexcept nogil
cdef void sample(const Rules* rules, const State* view, int observer, State* world, rng_t* rng) noexcept nogil
# Return the cards of `opponent` that have never been face up, as a hand.
cdef uint32_t unseen(const Rules* rules, const State* world, int opponent) noexcept nogil
