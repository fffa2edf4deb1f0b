# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Fill the tables of the selection formulas."""
from libc.math cimport sqrt
from libc.stdint cimport uint64_t

from solver.numbers cimport log_of
from solver.selection cimport GROWTHS, PUCT_GROWTH, UCB_GROWTH


cdef void fill_growths() noexcept:
    cdef uint64_t available
    cdef int exponent, i

    for i in range(GROWTHS):
        exponent = i >> 6
        available = (<uint64_t>(64 + i % 64) << exponent) >> 6
        UCB_GROWTH[i] = <float>sqrt(log_of(available))
        PUCT_GROWTH[i] = <float>sqrt(<double>available)

fill_growths()
