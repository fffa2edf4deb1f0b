"""Declare an observer's belief about the others' secrets, as plain data."""
from libc.stdint cimport uint8_t, uint32_t

from engine_cy.families cimport FamilyDeal
from engine_cy.values cimport View
from engine_cy.game_api cimport MAX_KINDS, ActionEvidence, SecretEvidence
from engine_cy.action_log cimport History
from engine_cy.support.rng cimport rng_t
from solver.marginals cimport Chances, Weights


# One player's secrets and their weights in one of the sums over deals. A set of cards `left` to place is a bit mask:
# a bit for each kind, and above these one for each further card of a kind, of which the lowest is placed first.
cdef struct SecretTables:
    SecretEvidence evidence
    uint32_t all                              # all hidden cards
    uint32_t more[MAX_KINDS]                  # by kind: the bits of its further cards
    uint8_t dealt[MAX_KINDS]                  # by kind: the most cards that the player can have been dealt
    bint are_weighed                          # False: no secrets, or too many for the tables
    Weights weights
    int n_deals                               # sums over the deals
    FamilyDeal deal
    bint even                                 # all factors of the deal are 1
    double* ways                              # by cards left: weight of all ways to fill the other spots and the hand
    double* hands                             # by cards left and hand size: weight of all hands


cdef class WorldSampler:
    cdef readonly View view
    cdef bint pretends                        # the world drawn last does not fit the view, on purpose: see SecretCard

    cpdef int prepare(self) except -1
    cdef void draw(self, void* world, rng_t* rng) noexcept nogil


cdef class Belief(WorldSampler):
    cdef readonly double trust
    cdef History history
    cdef int n_players
    cdef SecretTables* secrets                     # DEALS_MAX for each player, of which the first n_deals are used
    cdef bint is_sampled                      # some player's secrets are too many to weigh: the game samples them

    cdef SecretTables* secrets_of(self, int player) noexcept nogil
    cdef void weigh_at(self, const void* view, int observer, const ActionEvidence* logged) noexcept nogil
    cdef void free_tables(self) noexcept nogil
    cdef int fill_tables(self) noexcept nogil
    cdef bint chances_of(self, int player, Chances* chances) except -1


cdef class SecretCard(WorldSampler):
    cdef Belief belief
    cdef SecretEvidence seen                       # the observer's secrets, as all other players see them
    cdef int number                           # index of the secret card among the spots
    cdef int true                             # index of its kind
    cdef double chances[MAX_KINDS]            # the others' probability of each kind
    cdef readonly double guessed              # the others' probability of its true kind
    cdef rng_t side                           # for worlds that pretend; the rest come as from the belief alone
