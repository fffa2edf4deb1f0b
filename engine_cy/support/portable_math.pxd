"""Functions with equal bits on every machine: without libm, and with every sum in a fixed order."""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy


cdef inline double power(double x) noexcept nogil:
    """Return e to the x, from additions and multiplications only."""
    cdef double y
    cdef int64_t whole
    cdef uint64_t bits
    cdef double r

    x = max(-600.0, min(600.0, x))
    whole = <int64_t>(x * 1.4426950408889634 + (0.5 if x >= 0 else -0.5))
    r = x - whole * 0.6931471805599453
    y = 1 + r * (1 + r / 2 * (1 + r / 3 * (1 + r / 4 * (1 + r / 5 * (1 + r / 6 * (1 + r / 7 * (1 + r / 8)))))))
    bits = <uint64_t>(whole + 1023) << 52
    memcpy(&r, &bits, sizeof(r))
    return y * r


cdef inline double logarithm(double x) noexcept nogil:
    """Return the y with power(y) = x, by Halley's method."""
    cdef double y = 0
    cdef double before
    cdef int _i

    for _i in range(100):
        before = y
        y += 2 * (x - power(y)) / (x + power(y))
        if y == before:
            break
    return y
