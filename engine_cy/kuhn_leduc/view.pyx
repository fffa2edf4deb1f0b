# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The view of a player. Only this module decides what is hidden."""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from engine_cy.kuhn_leduc.rules cimport Rules
from engine_cy.kuhn_leduc.state cimport State, is_secret
from engine_cy.kuhn_leduc.words cimport UNKNOWN_CARD
from engine_cy.support.hashing cimport hash_bytes


cdef void observe(const Rules* rules, const State* state, int observer, State* view) noexcept nogil:
    cdef int seat

    memcpy(view, state, sizeof(State))
    for seat in range(2):
        if seat != observer and is_secret(state, seat):
            view.cards[seat] = UNKNOWN_CARD


cdef uint64_t key(const Rules* rules, const State* state, int observer) noexcept nogil:
    cdef State view

    observe(rules, state, observer, &view)
    return hash_bytes(&view, sizeof(State), observer)
