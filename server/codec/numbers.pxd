"""What the contract's numbers are in the engine."""
from libc.stdint cimport uint8_t

from server.codec.wire cimport Part


# By those of the contract, the engine's numbers of cards and of questions; UNSAID: it has none.
cdef class Numbers:
    cdef uint8_t kinds[256]
    cdef uint8_t asks[256]

    # Make kinds of cards; False: one is none of this game.
    cdef bint known(self, uint8_t* cards, int n) noexcept nogil
    # How many cards are listed; -1: they are not well written.
    cdef int cards_in(self, Part* part, uint8_t* cards, int most) noexcept nogil
