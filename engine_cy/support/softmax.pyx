# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The table of noise for choices."""
from engine_cy.support.portable_math cimport logarithm


cdef void fill_noise() noexcept:
    cdef int i

    for i in range(NOISES):
        NOISE[i] = <float>-logarithm(-logarithm((i + 0.5) / NOISES))

fill_noise()
