# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Compute the same results on every machine: nothing here depends on libm."""
from libc.stdint cimport uint64_t

from engine_cy.support cimport portable_math


cdef void fill_logs() noexcept:
    """Fill the table by ln(n) = ln(n - 1) + 2 artanh(1 / (2n - 1)): sums, products, quotients in a fixed order."""
    cdef int n, k
    cdef double x, power, term

    LOGS[0] = 0
    for n in range(2, LOG_TABLE + 1):
        x = 1.0 / (2 * n - 1)
        power = x
        term = 0
        for k in range(1, 60, 2):
            term += power / k
            power *= x * x
        LOGS[n - 1] = LOGS[n - 2] + 2 * term

fill_logs()


cdef double log_of(uint64_t n) noexcept nogil:
    """Return the natural logarithm of n >= 1; above the table, of n rounded down to its first twelve bits."""
    cdef int halvings = 0

    while n > LOG_TABLE:
        n >>= 1
        halvings += 1
    return LOGS[n - 1] + halvings * LOGS[1]


def log(n):
    """Return the natural logarithm of n >= 1, with n > 4096 rounded down to its first twelve bits."""
    if n < 1:
        raise ValueError(f"n: {n!r} is less than 1")
    return log_of(n)


def log_odds(double share):
    """Return the natural logarithm of share / (1 - share), for a share between 0 and 1, both excluded."""
    return portable_math.logarithm(share) - portable_math.logarithm(1 - share)


def power(double base, double exponent):
    """Return `base`, 0 or more, to the power of `exponent`, more than 0."""
    return portable_math.power(exponent * portable_math.logarithm(base)) if base > 0 else 0.0


def exp(double x):
    """Return e to the power of x."""
    return portable_math.power(x)


def sum_differences(const double[::1] ones, const double[::1] others, Py_ssize_t begin, Py_ssize_t end):
    """Return the sums of `ones[i] - others[i]` and of its square for i in `begin`..`end` - 1, added in order."""
    cdef double total = 0
    cdef double squares = 0
    cdef double difference
    cdef Py_ssize_t i

    if not 0 <= begin <= end <= min(len(ones), len(others)):
        raise IndexError(f"begin, end: {begin} and {end} are not in 0..{min(len(ones), len(others))}")
    for i in range(begin, end):
        difference = ones[i] - others[i]
        total += difference
        squares += difference * difference
    return total, squares
