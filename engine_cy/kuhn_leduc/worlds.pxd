from libc.stdint cimport uint64_t

from engine_cy.kuhn_leduc.rules cimport Rules
from engine_cy.kuhn_leduc.state cimport State
from engine_cy.support.rng cimport rng_t


cdef uint64_t count_secrets(const Rules* rules, const State* world, int observer, int opponent) noexcept nogil
cdef void write_secret(const Rules* rules, State* world, int observer, int opponent, uint64_t index) noexcept nogil
cdef void sample(const Rules* rules, const State* view, int observer, State* world, rng_t* rng) noexcept nogil
