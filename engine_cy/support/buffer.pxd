"""A buffer of bytes that grows."""
from libc.stdlib cimport realloc
from libc.string cimport memcpy


# The owner frees `data`.
cdef struct Buffer:
    char* data
    size_t size
    size_t room


cdef inline bint extend(Buffer* buffer, const void* data, size_t size) noexcept nogil:
    """Append to a buffer; return whether there was memory for it."""
    cdef size_t room = buffer.room
    cdef char* grown

    if buffer.size + size > room:
        room = 2 * (buffer.size + size) + 4096
        grown = <char*>realloc(buffer.data, room)
        if grown == NULL:
            return False
        buffer.data = grown
        buffer.room = room
    memcpy(buffer.data + buffer.size, data, size)
    buffer.size += size
    return True


cdef inline bytes bytes_of(const Buffer* buffer):
    return buffer.data[:buffer.size] if buffer.size else b""
