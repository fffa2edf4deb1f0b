"""How likely a player who holds two families was dealt these cards: what each kind of card weighs.

A family has one card of each kind, and of both families as many are set aside. Cards with s kinds once can come of
C(s, s/2) deals, and where both cards of a kind were dealt and one was placed, it may be either: 2 ways. C(s, s/2) is
the mean of (2 cos a)^s over the angles of 15, 45 and 75 degrees, for every even s up to 10: roots of unity pick the
middle coefficient of (1 + x)^s. So a sum over all deals is made of three sums of products over the kinds.
"""

cdef enum:
    DEALS_MAX = 3


# One of the sums. With one family there is one, and nothing weighs anything.
cdef struct Deal:
    double once       # of a kind of which the player was dealt one card
    double twice      # ... both, and has placed one


cdef inline int list_deals(bint two_families, Deal* deals) noexcept nogil:
    """Write the sums that make up all deals; return how many they are."""
    if not two_families:
        deals[0] = Deal(1, 1)
        return 1
    deals[0] = Deal(1.9318516525781366, 2)      # 2 cos 15 degrees
    deals[1] = Deal(1.4142135623730951, 2)
    deals[2] = Deal(0.5176380902050415, 2)
    return DEALS_MAX


cdef inline double share_of_kind(const Deal* deal, int placed, int in_hand) noexcept nogil:
    """Return what a kind weighs of which so many cards were placed and so many are in hand."""
    if placed + in_hand == 1:
        return deal.once
    return deal.twice if placed and in_hand + placed == 2 else 1
