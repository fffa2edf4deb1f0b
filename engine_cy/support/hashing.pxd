"""A 64-bit hash of plain bytes, equal on every machine. It is not cryptographic."""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy


cdef inline uint64_t mix(uint64_t h, uint64_t word) noexcept nogil:
    h = (h ^ word) * <uint64_t>0x9E3779B97F4A7C15
    return h ^ (h >> 29)


cdef extern from *:
    """
    #include <stdint.h>

    static inline uint64_t eminence_fold(uint64_t a, uint64_t b) {
        unsigned __int128 product = (unsigned __int128)a * b;
        return (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    """
    # Return the exclusive or of both halves of the 128-bit product.
    uint64_t fold "eminence_fold" (uint64_t a, uint64_t b) noexcept nogil


cdef inline uint64_t fold_bytes(const void* data, size_t size, size_t behind) noexcept nogil:
    """Return the share of `size` bytes, a multiple of 16, in the hash of a message where `behind` bytes precede them.

    The share is a sum of products of two words, each word under a mask of its own, so that a processor computes the
    products in parallel.
    """
    cdef const char* at = <const char*>data
    cdef uint64_t sum = 0
    cdef uint64_t words[2]
    cdef uint64_t i

    for i in range(0, size, 16):
        memcpy(words, at + i, 16)
        sum += fold(words[0] ^ (<uint64_t>0x94D049BB133111EB + (behind + i) * <uint64_t>0x9E3779B97F4A7C15),
                    words[1] ^ (<uint64_t>0xBF58476D1CE4E5B9 + (behind + i) * <uint64_t>0xD1B54A32D192ED03))
    return sum


cdef inline uint64_t finish_hash(uint64_t sum, size_t size, uint64_t seed) noexcept nogil:
    """Return the hash of a message of `size` bytes whose shares have the sum `sum`."""
    return mix(sum + mix(seed, size), size)


cdef inline uint64_t hash_bytes(const void* data, size_t size, uint64_t seed) noexcept nogil:
    """Hash `size` bytes, a multiple of 16."""
    return finish_hash(fold_bytes(data, size, 0), size, seed)
