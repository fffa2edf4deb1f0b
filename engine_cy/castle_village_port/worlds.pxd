from libc.stdint cimport uint8_t, uint64_t

from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.castle_village_port.state cimport State
from engine_cy.castle_village_port.words cimport MAX_VALUE
from engine_cy.support.rng cimport rng_t


# The cards that one player hides from an observer.
cdef struct Hidden:
    uint8_t cards[MAX_VALUE]    # the cards that may be anywhere, by value
    int n_cards
    int n_ordered               # how many of them lie in order: selected, or in the deck
    bint with_selected


cdef Hidden hidden_of(const Rules* rules, const State* world, int observer, int player) noexcept nogil
cdef uint64_t count_secrets(const Rules* rules, const State* world, int observer, int player) noexcept nogil
cdef void write_secret(const Rules* rules, State* world, int observer, int player, uint64_t index) noexcept nogil
cdef void sample(const Rules* rules, const State* view, int observer, State* world, rng_t* rng) noexcept nogil
