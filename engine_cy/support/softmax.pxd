"""Softmax and choice by preferences, with equal results on every machine: without libm."""
from libc.stdint cimport uint64_t

from engine_cy.support.portable_math cimport power
from engine_cy.support.rng cimport next_bits, rng_t

cdef enum:
    NOISES = 1024

# Equally likely values of a Gumbel variable, the noise of choices; filled by softmax.pyx.
cdef float NOISE[NOISES]


cdef inline void soften(const float* preferences, int n, float* shares) noexcept nogil:
    """Write the softmax of `n` preferences."""
    cdef float best = -1e30
    cdef double total = 0
    cdef int i

    for i in range(n):
        best = max(best, preferences[i])
    for i in range(n):
        shares[i] = <float>power(preferences[i] - best)
        total += shares[i]
    for i in range(n):
        shares[i] = <float>(shares[i] / total)


cdef inline int best_shaken(const float* preferences, int n, float shake, rng_t* rng) noexcept nogil:
    """Return the index of the greatest of `n` preferences plus Gumbel noise times `shake`."""
    cdef uint64_t bits = 0
    cdef float best = -1e30
    cdef float value
    cdef int draws_left = 0
    cdef int pick = 0
    cdef int i

    for i in range(n):
        if draws_left == 0:
            bits = next_bits(rng)
            draws_left = 6
        draws_left -= 1
        value = preferences[i] + shake * NOISE[bits & (NOISES - 1)]
        bits >>= 10
        if value > best:
            best = value
            pick = i
    return pick


cdef inline void share_out(const double* standings, int n, double* per_seat) noexcept nogil:
    """Write the softmax of the standings of `n` seats."""
    cdef double best = standings[0]
    cdef double total = 0
    cdef int player

    for player in range(1, n):
        best = max(best, standings[player])
    for player in range(n):
        per_seat[player] = power(standings[player] - best)
        total += per_seat[player]
    for player in range(n):
        per_seat[player] /= total
