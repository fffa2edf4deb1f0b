from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.castle_village_port.state cimport State
from engine_cy.game_api cimport action_t
from engine_cy.support.rng cimport rng_t


cdef void clear(const Rules* rules, State* state, int first) noexcept nogil
cdef int legal_actions(const Rules* rules, const State* state, action_t* actions) noexcept nogil
cdef void apply(const Rules* rules, State* state, action_t action) noexcept nogil
cdef void payoffs(const Rules* rules, const State* state, double* per_seat) noexcept nogil
cdef int play_out(const Rules* rules, State* state, rng_t* rng) noexcept nogil
# Walk the rows from `location` on at the end of a round, up to the next question.
cdef void end_round_from(const Rules* rules, State* state, int location) noexcept nogil
