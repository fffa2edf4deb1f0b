"""Compute the same results on every machine: nothing here depends on libm."""
from libc.stdint cimport uint64_t

cdef enum:
    LOG_TABLE = 4096

cdef double LOGS[LOG_TABLE]     # natural logarithms of 1, 2, ...; filled by numbers.pyx


cdef double log_of(uint64_t n) noexcept nogil
