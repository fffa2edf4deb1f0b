"""Protobuf's bytes: the few steps that writing them is made of."""
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    VARINT = 0
    DOUBLE = 1
    PART = 2                  # bytes: a text, a message or a packed list


cdef inline uint8_t* write_varint(uint8_t* at, uint64_t value) noexcept nogil:
    while value >= 0x80:
        at[0] = <uint8_t>(value & 0x7F | 0x80)
        value >>= 7
        at += 1
    at[0] = <uint8_t>value
    return at + 1


cdef inline uint8_t* write_number(uint8_t* at, int field, uint64_t value) noexcept nogil:
    """A number, unless it is 0, which is left unsaid."""
    if not value:
        return at
    return write_varint(write_varint(at, field << 3 | VARINT), value)


cdef inline uint8_t* write_bits(uint8_t* at, double value) noexcept nogil:
    """The eight bytes of a number, the lowest first."""
    cdef uint64_t bits
    cdef int i

    memcpy(&bits, &value, 8)
    for i in range(8):
        at[i] = <uint8_t>(bits >> 8 * i & 0xFF)
    return at + 8


cdef inline uint8_t* write_double(uint8_t* at, int field, double value) noexcept nogil:
    return write_bits(write_varint(at, field << 3 | DOUBLE), value)


cdef inline uint8_t* write_part(uint8_t* at, int field, const uint8_t* part, size_t length) noexcept nogil:
    at = write_varint(write_varint(at, field << 3 | PART), length)
    memcpy(at, part, length)
    return at + length
