from libc.stdint cimport uint64_t

from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.castle_village_port.state cimport State


cdef void observe(const Rules* rules, const State* state, int observer, State* view) noexcept nogil
cdef uint64_t key(const Rules* rules, const State* state, int observer) noexcept nogil
