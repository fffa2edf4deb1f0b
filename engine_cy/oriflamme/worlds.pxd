from libc.stdint cimport uint8_t, uint32_t, uint64_t

from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport State
from engine_cy.support.rng cimport rng_t

cdef enum:
    LIMIT = 13      # no player hides more than 12 cards in the queue, or holds more than 12


# What one opponent hides.
cdef struct Hidden:
    uint8_t ids[LIMIT]      # face-down cards in the queue
    int n_ids
    int n_hand
    uint32_t pool           # the cards they can be, as a hand


# Written in place: to return it would copy small writes by wide reads, which have to wait for them.
cdef void find_hidden(const Rules* rules, const State* world, int opponent, Hidden* hidden) noexcept nogil
cdef uint64_t count_secrets(const Rules* rules, const State* world, int observer, int opponent) noexcept nogil
cdef void write_secret(const Rules* rules, State* world, int observer, int opponent, uint64_t index) noexcept nogil
cdef void sample(const Rules* rules, const State* view, int observer, State* world, rng_t* rng) noexcept nogil
# The cards of `opponent`, as a hand, that have never been face up.
cdef uint32_t unseen(const Rules* rules, const State* world, int opponent) noexcept nogil
