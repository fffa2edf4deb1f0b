# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The generator as a Python object, for callers that draw several times from one seed."""
from engine_cy.support.rng cimport below64, next_bits, seed_rng


cdef class Rng:
    """A seeded random generator; equal seeds give equal draws on every machine."""

    def __init__(self, seed=0, stream=0):
        self.seed = int(seed)
        self.stream = int(stream)
        seed_rng(&self.raw, self.seed & 0xFFFFFFFFFFFFFFFF, self.stream & 0xFFFFFFFFFFFFFFFF)

    def bits(self):
        """Return 64 random bits."""
        return next_bits(&self.raw)

    def below(self, n):
        """Draw from 0..n-1, exactly uniformly."""
        if not 0 < n < 1 << 64:
            raise ValueError(f"n: {n!r} is not in 1..2**64-1")
        return below64(&self.raw, n)

    def __repr__(self):
        return f"Rng({self.seed}, {self.stream})"
