"""Choose which of a node's actions to try next, by UCB1 or PUCT.

Both formulas have the form

    mean + width * growth(available)

where PUCT multiplies the width by the prior of the action. The mean and the width of an edge change only when an
iteration passes it. The growth depends on how often its action was legal and changes at every visit of its node. Square
roots and quotients are therefore computed once per edge passed; the cost per edge of a visited node is a table look-up,
a product or two and a sum.
"""
from libc.math cimport sqrtf
from libc.stdint cimport uint32_t
from libc.string cimport memcpy

cdef enum:
    GROWTHS = 33 << 6       # an entry for each exponent and first six mantissa bits of a 32-bit number

# Indexed by `growth_index`; filled by selection.pyx.
cdef float UCB_GROWTH[GROWTHS]      # sqrt(ln(available))
cdef float PUCT_GROWTH[GROWTHS]     # sqrt(available)


cdef inline uint32_t growth_index(uint32_t available) noexcept nogil:
    """Return the table index for `available` >= 1, rounded down to its first seven bits: exact up to 128.

    A float has the exponent and the first mantissa bits side by side.
    """
    cdef float as_float = <float>available
    cdef uint32_t bits

    memcpy(&bits, &as_float, 4)
    return (bits >> 17) - (127 << 6)


cdef inline float ucb_width(uint32_t visits, float c) noexcept nogil:
    """Return the width of UCB1 with the availability as the number of trials (Cowling, Powley, Whitehouse 2012).

    Actions that are rarely legal are thus not explored more for being rare.
    """
    return c / sqrtf(<float>visits)


cdef inline float puct_width(uint32_t visits, float c) noexcept nogil:
    """Return the width of PUCT for a prior of 1."""
    return c / (1 + <float>visits)
