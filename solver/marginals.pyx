# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Compute the exact marginals of one player's hidden cards from the scores of the evidence.

A forward-backward pass sums over all secrets without enumerating them. Its steps are the kinds; its states are the
set of spots filled by the kinds so far and the number of their cards in hand.
"""
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from engine_cy.support.portable_math cimport power
from engine_cy.families cimport COPIES_MAX, DEALS_MAX, FamilyDeal, list_deals
from engine_cy.game_api cimport SecretEvidence

# The least weight of a card, relative to the likeliest in its place: tables are learned from some players, not all.
cdef double LEAST = 0.001


cdef void weigh(const SecretEvidence* evidence, double trust, Weights* weights) noexcept nogil:
    """Fill in the weight of each card; the likeliest in each place has weight 1."""
    cdef int spot

    for spot in range(evidence.n_spots):
        weigh_place(evidence.in_spot[spot], evidence.n_kinds, trust, weights.spots[spot])
    weigh_place(evidence.in_hand, evidence.n_kinds, trust, weights.hand)


cdef void weigh_place(const float* scores, int n, double trust, double* weights) noexcept nogil:
    cdef float best = -1e30
    cdef int i

    for i in range(n):
        best = max(best, scores[i])
    for i in range(n):
        weights[i] = max(power(trust * (scores[i] - best)), LEAST)


cdef int dealt_most(const SecretEvidence* evidence, int kind) noexcept nogil:
    """Return the most cards of a kind that the player can have been dealt."""
    return evidence.n_families * evidence.family[kind] if evidence.n_families else evidence.held[kind]


# --- sums over all secrets ------------------------------------------------------------------------------------

# The step over one kind. Sums are indexed by the set of filled spots, then by the number of cards in hand.
cdef struct DealWalk:
    const SecretEvidence* evidence
    const Weights* weights
    const FamilyDeal* deal
    Chances* chances              # NULL in the forward pass
    int kind
    double* before                # forward sums over the earlier kinds
    double* after                 # ... and this one
    double* to_come               # backward sums over the later kinds
    double* all_to_come           # ... and this one


cdef inline void step(const DealWalk* walk, int filled, int spots, int copies, double weight) noexcept nogil:
    """Place the kind in a set of `spots`, and in hand in every number of the `copies` that are left."""
    cdef int last = walk.evidence.n_hand
    cdef int filled_after = (filled | spots) * (last + 1)
    # By the number of cards in hand. A card that is not hidden counts as placed.
    cdef const double* shares = &walk.deal.shares[walk.evidence.family[walk.kind]][
        dealt_most(walk.evidence, walk.kind) - copies][0]

    filled *= last + 1
    if walk.chances == NULL:
        add_forward(walk.before + filled, walk.after + filled_after, last, copies, weight,
                    walk.weights.hand[walk.kind], shares)
    else:
        add_backward(walk, filled, filled_after, spots, copies, weight, walk.weights.hand[walk.kind], shares)


cdef inline void add_forward(const double* before, double* after, int last, int copies, double weight, double hand,
                             const double* shares) noexcept nogil:
    cdef double share
    cdef int taken, j

    for taken in range(min(copies, last) + 1):
        share = weight * shares[taken]
        for j in range(last - taken + 1):
            after[j + taken] += share * before[j]
        weight *= hand


cdef inline void add_backward(const DealWalk* walk, int filled, int filled_after, int spots, int copies,
                              double weight, double hand, const double* shares) noexcept nogil:
    cdef const double* before = walk.before + filled
    cdef const double* to_come = walk.to_come + filled_after
    cdef double* all_to_come = walk.all_to_come + filled
    cdef int last = walk.evidence.n_hand
    cdef double all_ways = 0
    cdef double ways, share
    cdef int spot = 0
    cdef int taken, j

    for taken in range(min(copies, last) + 1):
        ways = 0
        share = weight * shares[taken]
        for j in range(last - taken + 1):
            all_to_come[j] += share * to_come[j + taken]
            ways += before[j] * to_come[j + taken]
        ways *= share
        walk.chances.hand[walk.kind] += taken * ways
        all_ways += ways
        weight *= hand
    while spots:
        if spots & 1:
            walk.chances.spots[spot][walk.kind] += all_ways
        spots >>= 1
        spot += 1


cdef void take_steps(const DealWalk* walk) noexcept nogil:
    """Take every step of the kind."""
    cdef int filled

    for filled in range(1 << walk.evidence.n_spots):
        take_steps_from(walk, filled, 0, walk.evidence.n_spots, walk.evidence.held[walk.kind], 1)


cdef void take_steps_from(const DealWalk* walk, int filled, int spots, int before, int copies,
                          double weight) noexcept nogil:
    """Take the step with the kind in these spots, then those with more of its cards in spots before `before`."""
    cdef int spot

    step(walk, filled, spots, copies, weight)
    if copies:
        for spot in range(before):
            if not filled >> spot & 1:
                take_steps_from(walk, filled, spots | 1 << spot, spot, copies - 1,
                                weight * walk.weights.spots[spot][walk.kind])


cdef int size_of(const SecretEvidence* evidence) noexcept nogil:
    """Return the number of sums at one kind."""
    return (1 << evidence.n_spots) * (evidence.n_hand + 1)


cdef double add_up(const SecretEvidence* evidence, const Weights* weights, const FamilyDeal* deal,
                   double* sums) noexcept nogil:
    """Fill in the forward sums over no kind, the first, the first two ...; return the total weight of all secrets."""
    cdef int size = size_of(evidence)
    cdef DealWalk walk

    memset(sums, 0, (evidence.n_kinds + 1) * size * sizeof(double))
    sums[0] = 1
    walk.evidence, walk.weights, walk.deal, walk.chances = evidence, weights, deal, NULL
    for walk.kind in range(evidence.n_kinds):
        walk.before = sums
        sums += size
        walk.after = sums
        take_steps(&walk)
    return sums[size - 1]


cdef double expect(const SecretEvidence* evidence, const Weights* weights, Chances* chances) noexcept nogil:
    cdef double* sums = <double*>malloc((evidence.n_kinds + 3) * size_of(evidence) * sizeof(double))
    cdef FamilyDeal deals[DEALS_MAX]
    cdef int n_deals = list_deals(evidence.n_families, evidence.family_size, deals)
    cdef double total = 0
    cdef int n

    if sums == NULL:
        return -1
    memset(chances, 0, sizeof(Chances))
    for n in range(n_deals):
        total += add_up(evidence, weights, &deals[n], sums)
    for n in range(n_deals):
        if n_deals > 1:
            add_up(evidence, weights, &deals[n], sums)
        add_chances(evidence, weights, &deals[n], sums, total, chances)
    free(sums)
    return total


cdef void add_chances(const SecretEvidence* evidence, const Weights* weights, const FamilyDeal* deal, double* sums,
                      double total, Chances* chances) noexcept nogil:
    """Add the marginals of one deal by a backward pass over its forward sums; `total` is the weight of all deals."""
    cdef int size = size_of(evidence)
    cdef int kind = evidence.n_kinds
    cdef DealWalk walk

    walk.evidence, walk.weights, walk.deal, walk.chances = evidence, weights, deal, chances
    walk.to_come, walk.all_to_come = sums + (kind + 1) * size, sums + (kind + 2) * size
    memset(walk.to_come, 0, size * sizeof(double))
    walk.to_come[size - 1] = 1 / total
    while kind > 0:
        kind -= 1
        walk.kind = kind
        walk.before = sums + kind * size
        memset(walk.all_to_come, 0, size * sizeof(double))
        take_steps(&walk)
        walk.to_come, walk.all_to_come = walk.all_to_come, walk.to_come


cdef double effective_secrets(const SecretEvidence* evidence, const Weights* weights) noexcept nogil:
    cdef double* sums = <double*>malloc((evidence.n_kinds + 1) * size_of(evidence) * sizeof(double))
    cdef int elsewhere = -evidence.n_spots - evidence.n_hand
    cdef Weights squares
    cdef FamilyDeal deals[DEALS_MAX]
    cdef FamilyDeal both
    cdef int n_deals = list_deals(evidence.n_families, evidence.family_size, deals)
    cdef double total = 0
    cdef double of_squares = 0
    cdef int spot, kind, n, m, dealt, placed, taken

    if sums == NULL:
        return -1
    for kind in range(evidence.n_kinds):
        elsewhere += evidence.held[kind]
        squares.hand[kind] = weights.hand[kind] * weights.hand[kind]
        for spot in range(evidence.n_spots):
            squares.spots[spot][kind] = weights.spots[spot][kind] * weights.spots[spot][kind]
    for n in range(n_deals):
        total += add_up(evidence, weights, &deals[n], sums)
        for m in range(n_deals):
            for dealt in range(COPIES_MAX + 1):
                for placed in range(COPIES_MAX + 1):
                    for taken in range(COPIES_MAX + 1 - placed):
                        both.shares[dealt][placed][taken] = (
                            deals[n].shares[dealt][placed][taken] * deals[m].shares[dealt][placed][taken])
            of_squares += add_up(evidence, &squares, &both, sums)
    total *= total / of_squares
    free(sums)
    if evidence.ordered:
        for kind in range(2, elsewhere + 1):
            total *= kind
    return total


def weigh_secrets(list held, int n_hand, list in_spot, list in_hand, list family=None, int n_families=0,
                  int family_size=0):
    """Return the marginals in each spot, the expected hand, and the total weight of all secrets, for training.

    The scores are log-weights; the likeliest kind in each place has weight 1. `family` lists the cards of each kind in
    a family of the player; without families, all secrets are equally likely before the evidence.
    """
    cdef SecretEvidence evidence
    cdef Weights weights
    cdef Chances chances
    cdef double total
    cdef int i, kind

    memset(&evidence, 0, sizeof(evidence))
    evidence.n_kinds = len(held)
    evidence.n_spots = len(in_spot)
    evidence.n_hand = n_hand
    evidence.n_families = n_families
    evidence.family_size = family_size
    for kind in range(len(held)):
        evidence.held[kind] = held[kind]
        evidence.family[kind] = family[kind] if n_families else 0
        evidence.in_hand[kind] = in_hand[kind]
        for i in range(len(in_spot)):
            evidence.in_spot[i][kind] = in_spot[i][kind]
    weigh(&evidence, 1.0, &weights)
    total = expect(&evidence, &weights, &chances)
    if total < 0:
        raise MemoryError
    return ([[chances.spots[i][kind] for kind in range(len(held))] for i in range(len(in_spot))],
            [chances.hand[kind] for kind in range(len(held))], total)
