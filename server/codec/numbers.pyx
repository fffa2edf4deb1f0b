# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What the contract's numbers are in the engine."""
from libc.stdint cimport uint8_t
from libc.string cimport memset

from server.codec.wire cimport UNSAID, Part, read_packed


cdef class Numbers:
    def __init__(self, dict kinds, dict asks):
        memset(self.kinds, UNSAID, sizeof(self.kinds))
        memset(self.asks, UNSAID, sizeof(self.asks))
        for number, kind in kinds.items():
            self.kinds[<uint8_t>number] = kind
        for number, ask in asks.items():
            self.asks[<uint8_t>number] = ask

    cdef bint known(self, uint8_t* cards, int n) noexcept nogil:
        cdef int i

        for i in range(n):
            cards[i] = self.kinds[cards[i]]
            if cards[i] == UNSAID:
                return False
        return True

    cdef int cards_in(self, Part* part, uint8_t* cards, int most) noexcept nogil:
        cdef int n = read_packed(part, cards, most)

        return n if n >= 0 and self.known(cards, n) else -1
