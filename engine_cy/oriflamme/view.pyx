# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What a player sees. The only place that decides what is hidden."""
from libc.stdint cimport uint8_t, uint64_t

from engine_cy.copying cimport copy_state
from engine_cy.hashing cimport hash_bytes
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport FACE_UP, FAMILY, UNKNOWN_HAND, State
from engine_cy.oriflamme.vocab cimport UNKNOWN_KIND


cdef void observe(const Rules* rules, const State* state, int observer, State* view) noexcept nogil:
    """`state` without what `observer` does not see: the others' hands and the kinds of their face-down cards.

    What they set aside is no part of a state: it is what is in neither hand, queue nor pile.
    """
    cdef uint8_t own = <uint8_t>(observer << 4)
    cdef uint8_t card
    cdef int i

    copy_state(view, state, sizeof(State))
    for i in range(32):
        card = view.cards[i]
        view.cards[i] = card | <uint8_t>(UNKNOWN_KIND * ((card & FACE_UP == 0) & (card & FAMILY != own)))
    for i in range(rules.n_players):
        if i != observer:
            view.hands[i] = UNKNOWN_HAND


cdef uint64_t key(const Rules* rules, const State* state, int observer) noexcept nogil:
    cdef State view

    observe(rules, state, observer, &view)
    return hash_bytes(&view, sizeof(State), observer)
