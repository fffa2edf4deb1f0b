"""Selection formulas: which of a node's actions to try next.

UCB1 and PUCT are both

    mean + width * growth(available)

The mean and the width of an edge change only when it is passed; the growth, with how often its action was legal, at
every visit of its node. So the square roots and quotients are done once for each edge passed, and what is done for
every edge of a node is a table look-up, a product and a sum.
"""
from libc.math cimport sqrtf
from libc.stdint cimport uint32_t
from libc.string cimport memcpy

cdef enum:
    GROWTHS = 33 << 6       # any 32-bit number, by its exponent and its first six bits behind the leading one

# By `growth_index`; filled by selection.pyx.
cdef float UCB_GROWTH[GROWTHS]      # sqrt(ln(available))
cdef float PUCT_GROWTH[GROWTHS]     # sqrt(available)


cdef inline uint32_t growth_index(uint32_t available) noexcept nogil:
    """Where the growth for `available`, at least 1, stands: it is rounded down to its first seven bits, which is exact
    up to 128. A float keeps a number's exponent and first bits side by side."""
    cdef float as_float = <float>available
    cdef uint32_t bits

    memcpy(&bits, &as_float, 4)
    return (bits >> 17) - (127 << 6)


cdef inline float ucb_width(uint32_t visits, float c) noexcept nogil:
    """UCB1 with availability for the number of trials (Cowling, Powley, Whitehouse 2012): an action that was seldom
    legal is not explored as if it had been passed over."""
    return c / sqrtf(<float>visits)


cdef inline float puct_width(uint32_t visits, float prior, float c) noexcept nogil:
    return c * prior / (1 + <float>visits)
