"""How likely each card of one player is where, as plain data."""
from engine_cy.game_api cimport MAX_KINDS, MAX_SPOTS, Suspicion


# What a card of each kind weighs in each spot, and in hand. The chance of a whole secret is in proportion to the
# product of its cards' weights.
cdef struct Weights:
    double spots[MAX_SPOTS][MAX_KINDS]
    double hand[MAX_KINDS]


# How likely each kind is in each spot, and how many of it are in hand in the mean.
cdef struct Chances:
    double spots[MAX_SPOTS][MAX_KINDS]
    double hand[MAX_KINDS]


cdef void weigh(const Suspicion* suspicion, double trust, Weights* weights) noexcept nogil
# Fill in the chances; return how much all secrets weigh, -1 if there is no memory to tell.
cdef double expect(const Suspicion* suspicion, const Weights* weights, Chances* chances) noexcept nogil
# How many secrets, all as likely, would leave as much open; -1 if there is no memory to tell.
cdef double effective_secrets(const Suspicion* suspicion, const Weights* weights) noexcept nogil
