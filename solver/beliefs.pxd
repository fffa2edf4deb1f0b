"""What an observer thinks of the others' secrets, as plain data."""
from libc.stdint cimport uint32_t

from engine_cy.game cimport View
from engine_cy.game_api cimport MAX_KINDS, MAX_PLAYERS, MAX_SPOTS, Suspicion
from engine_cy.rng cimport rng_t


# One player's secrets and how much they weigh. Cards that are `left` are a set of bits: one for each kind, and above
# these one more for each kind that he may have twice.
cdef struct Secrets:
    Suspicion suspicion
    uint32_t all                              # the cards that may be anywhere
    double spot_weights[MAX_SPOTS][MAX_KINDS]
    double hand_weights[MAX_KINDS]
    double* ways                              # by what is left: of all ways to fill the other spots and the hand
    double* hands                             # ... and the cards in hand still to be taken; NULL until one draws


cdef class Belief:
    cdef readonly View view
    cdef readonly double trust
    cdef Secrets secrets[MAX_PLAYERS]
    cdef bint pretends                        # the world that was drawn last does not fit the view, on purpose

    cdef void draw(self, void* world, rng_t* rng) noexcept nogil


cdef class Veiled(Belief):
    cdef Suspicion seen                       # the observer's secrets, as everybody else sees them
    cdef int number                           # of the card that the others do not know, among the spots
    cdef int true                             # the number of its kind
    cdef double chances[MAX_KINDS]            # how likely it is of each kind, to them
    cdef readonly double guessed              # how likely the truth is to them
    cdef rng_t side
