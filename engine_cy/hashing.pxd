"""A 64-bit hash of plain bytes: the same on every machine, not meant to withstand an enemy."""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy


cdef inline uint64_t mix(uint64_t h, uint64_t word) noexcept nogil:
    h = (h ^ word) * <uint64_t>0x9E3779B97F4A7C15
    return h ^ (h >> 29)


cdef inline uint64_t hash_bytes(const void* data, size_t size, uint64_t seed) noexcept nogil:
    """Hash `size` bytes, a multiple of 16; two lanes run side by side."""
    cdef const char* at = <const char*>data
    cdef uint64_t one = mix(seed, size)
    cdef uint64_t other = ~one
    cdef uint64_t words[2]
    cdef size_t i

    for i in range(0, size, 16):
        memcpy(words, at + i, 16)
        one = mix(one, words[0])
        other = mix(other, words[1])
    return mix(mix(one, other), one >> 32)
