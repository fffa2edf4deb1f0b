"""Declare the marginals of one player's hidden cards, as plain data."""
from engine_cy.game_api cimport MAX_KINDS, MAX_SPOTS, SecretEvidence


# The weight of a card of each kind in each spot, and in hand. The probability of a whole secret is proportional to the
# product of its cards' weights.
cdef struct Weights:
    double spots[MAX_SPOTS][MAX_KINDS]
    double hand[MAX_KINDS]


# The probability of each kind in each spot, and the expected number of its cards in hand.
cdef struct Chances:
    double spots[MAX_SPOTS][MAX_KINDS]
    double hand[MAX_KINDS]


# Return the most cards of a kind that the player can have been dealt.
cdef int dealt_most(const SecretEvidence* evidence, int kind) noexcept nogil
cdef void weigh(const SecretEvidence* evidence, double trust, Weights* weights) noexcept nogil
# Fill in the chances; return the total weight of all secrets, or -1 if out of memory.
cdef double expect(const SecretEvidence* evidence, const Weights* weights, Chances* chances) noexcept nogil
# Return the effective number of secrets, 1 / the sum of their squared probabilities, or -1 if out of memory.
cdef double effective_secrets(const SecretEvidence* evidence, const Weights* weights) noexcept nogil
