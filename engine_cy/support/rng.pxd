"""The random generator: xoshiro256++ in 32 plain bytes, always passed by pointer.

No state of a game contains a generator, because a planner could read the future in it. Equal seeds give equal numbers
on every machine, as the generator uses integers only.
"""
from libc.stdint cimport uint32_t, uint64_t


cdef struct rng_t:
    uint64_t s[4]


# Streams of one seed are unrelated: a caller may use one seed for a deal and for a world. A deal uses stream 0. The
# shares of a search use two streams each, from 0 on, all below these.
cdef enum:
    SECRET_STREAM = 1 << 20     # worlds in which another card replaces a hidden one
    LINE_STREAM = 1 << 21       # the world of a line
    WORLD_STREAM = 1 << 22      # worlds for callers


cdef inline uint64_t splitmix(uint64_t* x) noexcept nogil:
    """Step `x` and return 64 well mixed bits; makes a good generator state from any seed, also 0."""
    x[0] += <uint64_t>0x9E3779B97F4A7C15
    cdef uint64_t z = x[0]
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)


cdef inline void seed_rng(rng_t* rng, uint64_t seed, uint64_t stream) noexcept nogil:
    """Start the generator at (`seed`, `stream`); different streams of one seed are unrelated."""
    cdef uint64_t x = stream
    x = seed ^ splitmix(&x)
    rng.s[0] = splitmix(&x)
    rng.s[1] = splitmix(&x)
    rng.s[2] = splitmix(&x)
    rng.s[3] = splitmix(&x)


cdef inline uint64_t rotate(uint64_t x, int k) noexcept nogil:
    return (x << k) | (x >> (64 - k))


cdef inline uint64_t next_bits(rng_t* rng) noexcept nogil:
    """Return the next 64 random bits."""
    cdef uint64_t* s = rng.s
    cdef uint64_t result = rotate(s[0] + s[3], 23) + s[0]
    cdef uint64_t t = s[1] << 17
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = rotate(s[3], 45)
    return result


cdef inline uint32_t below(rng_t* rng, uint32_t n) noexcept nogil:
    """Draw from 0..n-1 for a small n, without a division (Lemire 2019); probabilities deviate by n / 2**32 at most."""
    return <uint32_t>(((next_bits(rng) >> 32) * n) >> 32)


cdef inline uint64_t below64(rng_t* rng, uint64_t n) noexcept nogil:
    """Draw from 0..n-1 for any n > 0, exactly uniformly: reject draws from the incomplete last block."""
    cdef uint64_t reject_from = <uint64_t>0 - (<uint64_t>0 - n) % n   # largest multiple of n, modulo 2**64
    cdef uint64_t x = next_bits(rng)
    while reject_from and x >= reject_from:
        x = next_bits(rng)
    return x % n


cdef inline double uniform(rng_t* rng) noexcept nogil:
    """Draw uniformly from [0, 1)."""
    return <double>(next_bits(rng) >> 11) / 9007199254740992.0


cdef class Rng:
    cdef rng_t raw
    cdef readonly object seed
    cdef readonly object stream
