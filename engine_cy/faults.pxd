"""The faults that a game's validator finds in the bytes of a state."""
from libc.stdint cimport uint8_t

cdef enum:
    MAX_FAULTS = 64

# A broken rule, and the place. Each game numbers its rules; its table of sentences says what `at` and `index` count.
cdef struct Breach:
    int rule
    int at            # seat, slot or row
    int index         # place within it
    int value         # the value found
    int bound         # the accepted value, or the highest

cdef struct Breaches:
    int n
    Breach found[MAX_FAULTS]      # in the order of the checks


cdef inline void report(Breaches* breaches, int rule, int at, int index, int value, int bound) noexcept nogil:
    if breaches.n < MAX_FAULTS:
        breaches.found[breaches.n] = Breach(rule, at, index, value, bound)
        breaches.n += 1


cdef inline uint8_t byte(value) except? 255:
    """Return a number as a byte; 255, which no field accepts, if it is None or does not fit."""
    return value if value is not None and 0 <= value < 255 else 255
