# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Compute the same results on every machine: nothing here depends on libm."""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

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


cdef double log_of_real(double x) noexcept nogil:
    """Return the natural logarithm of x = m 2^k > 0 with m near 1, where ln m = 2 artanh((m - 1) / (m + 1))."""
    cdef uint64_t bits
    cdef double square, term, total
    cdef int halvings, k

    memcpy(&bits, &x, sizeof(x))
    halvings = <int>(bits >> 52) - 1023
    bits = (bits & <uint64_t>0xFFFFFFFFFFFFF) | <uint64_t>1023 << 52
    memcpy(&x, &bits, sizeof(x))
    if x > 1.4142135623730951:
        x /= 2
        halvings += 1
    x = (x - 1) / (x + 1)
    square = x * x
    term = x
    total = 0
    for k in range(1, 26, 2):
        total += term / k
        term *= square
    return halvings * LOGS[1] + 2 * total


cdef inline double raised(double base, double exponent) noexcept nogil:
    """Return `base`, 0 or more, to the power of `exponent`, more than 0."""
    return portable_math.power(exponent * log_of_real(base)) if base > 1e-300 else 0


def temper_share(double share, double temperature, double offset):
    """Return the share whose log-odds are those of `share` times the temperature, plus the offset.

    `share` is between 0 and 1, both excluded.
    """
    cdef double odds = log_of_real(share) - log_of_real(1 - share)

    return 1 / (1 + portable_math.power(-(temperature * odds + offset)))


def divide_rest(raw, int observer, double own, double exponent):
    """Return shares of which the observer's is `own`; the others divide the rest by their raw shares to a power."""
    cdef list powers = [0.0 if seat == observer else raised(share, exponent) for seat, share in enumerate(raw)]
    cdef double total = 0
    cdef double part
    cdef int seat

    for part in powers:
        total += part
    if total <= 0:      # no other seat ever won a playout
        return tuple([own if seat == observer else (1 - own) / (len(powers) - 1) for seat in range(len(powers))])
    return tuple([own if seat == observer else (1 - own) * <double>powers[seat] / total for seat in range(len(powers))])


def shrink_chances(raw, double trust, double tilt):
    """Return chances in proportion to `trust` times the raw ones and an equal part of the rest, tilted.

    The chance of number k is multiplied by e to the power of `tilt` times k.
    """
    cdef double even = (1 - trust) / len(raw)
    cdef list parts = [(trust * chance + even) * portable_math.power(tilt * i) for i, chance in enumerate(raw)]
    cdef double total = 0
    cdef double part

    for part in parts:
        total += part
    return tuple([<double>part / total for part in parts])


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
