from libc.stdint cimport int32_t, uint8_t

from engine_cy.game_api cimport action_t
from engine_cy.kuhn_leduc.rules cimport Rules
from engine_cy.kuhn_leduc.state cimport State
from engine_cy.support.rng cimport rng_t


cdef void clear(State* state, int first) noexcept nogil
cdef int legal_actions(const Rules* rules, const State* state, action_t* actions) noexcept nogil
cdef void apply(const Rules* rules, State* state, action_t action) noexcept nogil
cdef void deal_card(State* state, uint8_t card) noexcept nogil
cdef void bet(const Rules* rules, State* state, uint8_t move) noexcept nogil
cdef int play_out(const Rules* rules, State* state, rng_t* rng) noexcept nogil
cdef void scores(const Rules* rules, const State* state, int32_t* per_seat) noexcept nogil
cdef void payoffs(const Rules* rules, const State* state, double* per_seat) noexcept nogil
