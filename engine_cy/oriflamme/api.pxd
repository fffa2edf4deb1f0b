"""What other compiled modules may ask of Oriflamme's game."""
from libc.stdint cimport uint32_t

from engine_cy.game cimport Game
from engine_cy.oriflamme.state cimport State


cdef class Oriflamme(Game):
    cdef readonly tuple cards
    cdef readonly object frame

    # Where a card lies in the queue: its slot, and how many cards cover it.
    cdef bint find(self, const State* state, int card_id, int* slot, int* depth) noexcept
    cdef int kind(self, name) except -1
    cdef uint32_t packed_hand(self, kinds) except? 0
    cdef kinds_in(self, uint32_t hand)
    cdef name(self, int kind)
    cdef fill(self, State* state, table)
    cdef list shown_ids(self, const State* state, tuple steps)
