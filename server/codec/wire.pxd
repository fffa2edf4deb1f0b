"""Protobuf's bytes: the few steps that reading and writing them is made of.

Read is what nearly all write: fields in the order of their numbers, lists of numbers packed, each message once. All
else is malformed here, and left to the library.
"""
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

cdef enum:
    VARINT = 0
    DOUBLE = 1
    PART = 2                  # bytes: a text, a message or a packed list

    SMALL_MAX = 254           # of the numbers in a table hardly any is higher
    UNSAID = SMALL_MAX + 1    # no seat, or no such number


cdef struct Part:
    const uint8_t* at
    const uint8_t* end


cdef struct Field:
    int number
    uint64_t value            # of a number
    Part part                 # of all else
    bint is_part


cdef inline Part part_of(bytes raw):
    cdef Part part

    part.at = <const uint8_t*><const char*>raw
    part.end = part.at + len(raw)
    return part


cdef inline bint read_varint(Part* part, uint64_t* value) noexcept nogil:
    """False: there is none."""
    cdef int shift = 0
    cdef uint8_t byte

    value[0] = 0
    while part.at < part.end and shift < 64:
        byte = part.at[0]
        part.at += 1
        value[0] |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            return True
        shift += 7
    return False


cdef inline int next_field(Part* message, Field* field, uint64_t parts, uint64_t lists) noexcept nogil:
    """Read a field, after the one that `field` holds: 1, or 0 at the end, or -1 where it is malformed. Sets of bits say
    by number which fields are parts, and which of these may come again."""
    cdef uint64_t tag
    cdef int number

    if message.at == message.end:
        return 0
    if not read_varint(message, &tag) or not 8 <= tag < 64 << 3:
        return -1
    number = <int>(tag >> 3)
    if number < field.number or (number == field.number and not lists >> number & 1):
        return -1
    field.number = number
    field.is_part = parts >> number & 1
    if <int>(tag & 7) != (PART if field.is_part else VARINT) or not read_varint(message, &field.value):
        return -1
    if field.is_part:
        if field.value > <uint64_t>(message.end - message.at):
            return -1
        field.part.at = message.at
        message.at += field.value
        field.part.end = message.at
    return 1


cdef inline bint read_small(uint64_t value, uint8_t* small) noexcept nogil:
    small[0] = <uint8_t>value
    return value <= SMALL_MAX


cdef inline bint read_smalls(Part* message, uint8_t* numbers, int n) noexcept nogil:
    """Read a message that has small numbers only, its fields 1 to `n`; what is left out is 0."""
    cdef Field field
    cdef int found

    memset(&field, 0, sizeof(field))
    memset(numbers, 0, n)
    while True:
        found = next_field(message, &field, 0, 0)
        if found <= 0:
            return found == 0
        if field.number > n or not read_small(field.value, &numbers[field.number - 1]):
            return False


cdef inline bint read_list(Part* message, Part* numbers) noexcept nogil:
    """Read a message whose only field, 1, is a packed list, which may be left out."""
    cdef Field field
    cdef int found

    memset(&field, 0, sizeof(field))
    found = next_field(message, &field, 1 << 1, 0)
    numbers[0] = field.part if found > 0 else message[0]
    return found >= 0 and field.number <= 1 and message.at == message.end


cdef inline bint read_seat(const Field* field, uint8_t* seat) noexcept nogil:
    """A seat, from 0; UNSAID is nobody."""
    if not read_small(field.value, seat):
        return False
    seat[0] = UNSAID if not seat[0] else seat[0] - 1
    return True


cdef inline bint read_sides(Part* view, uint8_t* observer, Part* table, Part* own) noexcept nogil:
    """Whether a view has all that each game's has: who sees, what all see, and what only he does."""
    cdef Field field
    cdef int found

    memset(&field, 0, sizeof(field))
    table.at = table.end = own.at = own.end = NULL
    observer[0] = UNSAID
    while True:
        found = next_field(view, &field, 1 << 2 | 1 << 3, 0)
        if found <= 0:
            return found == 0 and table.at != NULL and own.at != NULL
        if field.number == 1:
            if not read_seat(&field, observer):
                return False
        elif field.number == 2:
            table[0] = field.part
        elif field.number == 3:
            own[0] = field.part
        else:
            return False


cdef inline int read_packed(Part* part, uint8_t* numbers, int most) noexcept nogil:
    """How many numbers are in the list, which are written to `numbers`; -1: it is malformed, or too long."""
    cdef uint64_t value
    cdef int n = 0

    while part.at < part.end:
        if n == most or not read_varint(part, &value) or not read_small(value, &numbers[n]):
            return -1
        n += 1
    return n


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
