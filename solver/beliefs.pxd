"""What an observer thinks of the others' secrets, as plain data."""
from libc.stdint cimport uint32_t

from engine_cy.families cimport Deal
from engine_cy.values cimport View
from engine_cy.game_api cimport MAX_KINDS, Suspicion
from engine_cy.action_log cimport History
from engine_cy.support.rng cimport rng_t
from solver.marginals cimport Chances, Weights


# One player's secrets and how much they weigh in one of the sums over deals. Cards that are `left` are a set of bits:
# one for each kind, and above these one more for each kind that the player may have twice.
cdef struct Secrets:
    Suspicion suspicion
    uint32_t all                              # the cards that may be anywhere
    bint are_weighed                          # else they are too many, or none
    Weights weights
    Deal deal
    double* ways                              # by what is left: of all ways to fill the other spots and the hand
    double* hands                             # ... and the cards in hand still to be taken


cdef class WorldSampler:
    cdef readonly View view
    cdef bint pretends                        # the world that was drawn last does not fit the view, on purpose

    cpdef int get_ready(self) except -1
    cdef void draw(self, void* world, rng_t* rng) noexcept nogil


cdef class Belief(WorldSampler):
    cdef readonly double trust
    cdef History history
    cdef int n_players
    cdef Secrets* secrets                     # DEALS_MAX for each of them; with one family the first alone is used
    cdef bint is_sampled                      # whether some are too many to be weighed

    cdef Secrets* secrets_of(self, int player) noexcept nogil
    cdef bint chances_of(self, int player, Chances* chances) except -1


cdef class SecretCard(WorldSampler):
    cdef Belief belief
    cdef Suspicion seen                       # the observer's secrets, as everybody else sees them
    cdef int number                           # of the card that the others do not know, among the spots
    cdef int true                             # the number of its kind
    cdef double chances[MAX_KINDS]            # how likely it is of each kind, to them
    cdef readonly double guessed              # how likely the truth is to them
    cdef rng_t side
