"""Weights for the cards of a player: in proportion to the number of deals and placements that lead to them.

A family has m cards of a kind; the player sets some cards of it aside, at random. Of a kind with m cards, d are dealt
in C(m, d) ways: the coefficient of y^d in (1 + y)^m. A player who was dealt d cards of a kind placed p of them in
d! / (d - p)! orders.

A player with two families sets aside equally many cards of each, so the deals of all kinds are not independent. With a
factor x for each card of the first family and 1 / x for each of the second, a kind has the coefficient of y^d in
(1 + x y)^m (1 + y / x)^m, and the coefficient of x^0 of the product over the kinds counts the deals. It is the mean
over roots of unity x = exp(ia), with the factors (1 + 2 cos(a) y + y^2)^m. The exponents of x are even and at most the
number of cards in a family, so angles of 15, 45 and 75 degrees suffice for families of up to eleven cards, four angles
for up to fifteen and five for nineteen. A sum over all deals is therefore the sum of a few terms, each of which is a
sum of products over the kinds.
"""

cdef enum:
    COPIES_MAX = 4            # the most cards of a kind of a player, in all their families
    DEALS_MAX = 5


# The factors of one of the terms, by the number of cards of a kind in a family, and by how many of the dealt ones the
# player placed and holds.
cdef struct FamilyDeal:
    double shares[COPIES_MAX + 1][COPIES_MAX + 1][COPIES_MAX + 1]


cdef inline int list_deals(int n_families, int family_size, FamilyDeal* deals) noexcept nogil:
    """Write the factors of each term; return the number of terms. Without families, all factors are 1."""
    cdef int n_deals = 1 if n_families < 2 else max(family_size // 4 + 1, 3)
    cdef double cosines[DEALS_MAX]          # twice the cosine of each angle
    cdef int n

    if n_deals < 4:
        cosines[:] = [1.9318516525781366, 1.4142135623730951, 0.5176380902050415, 0, 0]
    elif n_deals == 4:
        cosines[:] = [1.9615705608064609, 1.6629392246050905, 1.1111404660392046, 0.39018064403225666, 0]
    else:
        cosines[:] = [
            1.9753766811902755, 1.7820130483767358, 1.4142135623730951, 0.9079809994790936, 0.31286893008046185,
        ]
    for n in range(n_deals):
        fill_shares(n_families, cosines[n], &deals[n])
    return n_deals


cdef inline void fill_shares(int n_families, double cosine, FamilyDeal* deal) noexcept nogil:
    """Write the factors for a term of the angle whose cosine is half of `cosine`."""
    cdef double ways[COPIES_MAX + 1]        # by the number of dealt cards
    cdef double product
    cdef int m, d, placed, _family

    ways[:] = [1, 0, 0, 0, 0]
    for m in range(COPIES_MAX + 1):
        if m and n_families == 1:
            for d in range(COPIES_MAX, 0, -1):
                ways[d] += ways[d - 1]
        elif m and n_families == 2:
            for d in range(COPIES_MAX, 0, -1):
                ways[d] += cosine * ways[d - 1] + (ways[d - 2] if d > 1 else 0)
        for d in range(COPIES_MAX + 1):
            product = ways[d]
            for placed in range(d + 1):
                deal.shares[m][placed][d - placed] = product if n_families else 1
                product *= d - placed
