from libc.stdint cimport uint64_t

from engine_cy.kuhn_leduc.rules cimport Rules
from engine_cy.kuhn_leduc.state cimport State


cdef void observe(const Rules* rules, const State* state, int observer, State* view) noexcept nogil
cdef uint64_t key(const Rules* rules, const State* state, int observer) noexcept nogil
