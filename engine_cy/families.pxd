"""Weights for the cards of a player who holds two families: in proportion to the number of deals that lead to them.

A family has one card of each kind, and the player sets aside equally many cards of each family. If a player was dealt
s kinds once, C(s, s/2) deals lead to these cards. If they were dealt both cards of a kind and placed one, it is either
of the two: 2 ways. C(s, s/2) is the mean of (2 cos a)^s over the angles of 15, 45 and 75 degrees, for every even s up
to 10, because roots of unity pick the middle coefficient of (1 + x)^s. A sum over all deals is therefore the sum of
three terms, each of which is a sum of products over the kinds.
"""

cdef enum:
    DEALS_MAX = 3


# The factors of one of the three terms. With one family there is one term, and all factors are 1.
cdef struct Deal:
    double once       # for a kind of which the player was dealt one card
    double twice      # ... of which they were dealt both and placed one


cdef inline int list_deals(bint two_families, Deal* deals) noexcept nogil:
    """Write the factors of each term; return the number of terms."""
    if not two_families:
        deals[0] = Deal(1, 1)
        return 1
    deals[0] = Deal(1.9318516525781366, 2)      # 2 cos 15 degrees
    deals[1] = Deal(1.4142135623730951, 2)
    deals[2] = Deal(0.5176380902050415, 2)
    return DEALS_MAX


cdef inline double share_of_kind(const Deal* deal, int placed, int in_hand) noexcept nogil:
    """Return the factor of a kind of which the player placed `placed` cards and holds `in_hand`."""
    if placed + in_hand == 1:
        return deal.once
    return deal.twice if placed and in_hand + placed == 2 else 1
